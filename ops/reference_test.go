package ops

import (
	"math"

	"github.com/gcn-layerwise/gcn/graph"
	"github.com/gcn-layerwise/gcn/internal/reference"
)

// The forward ops again, in float64, written as their formulas.

type dense struct {
	rows, cols int
	data       []float64
}

func newDense(rows, cols int) dense { return dense{rows, cols, make([]float64, rows*cols)} }

func denseOf(rows, cols int, data []float32) dense {
	m := newDense(rows, cols)
	for k, v := range data {
		m.data[k] = float64(v)
	}
	return m
}

func (m dense) at(i, j int) float64 { return m.data[i*m.cols+j] }

func (m dense) each(f func(i, j int) float64) dense {
	out := newDense(m.rows, m.cols)
	for i := range m.rows {
		for j := range m.cols {
			out.data[i*m.cols+j] = f(i, j)
		}
	}
	return out
}

func refCSR(a *graph.CSR) dense {
	m := newDense(a.Rows, a.Cols)
	for i := range a.Rows {
		for k, j := range a.Row(i) {
			m.data[i*a.Cols+int(j)] += float64(a.RowValues(i)[k])
		}
	}
	return m
}

func refFeatures(x *graph.Features, ids []int32) dense {
	m := newDense(len(ids), x.Cols)
	return m.each(func(i, j int) float64 { return float64(x.Row(int(ids[i]))[j]) })
}

func refMul(a, b dense) dense {
	return newDense(a.rows, b.cols).each(func(i, j int) float64 {
		var sum float64
		for k := range a.cols {
			sum += a.at(i, k) * b.at(k, j)
		}
		return sum
	})
}

// refAffine is x·w + scale⊗b. A nil scale is 1.
func refAffine(x, w, b dense, scale []float32) dense {
	y := refMul(x, w)
	return y.each(func(i, j int) float64 {
		s := 1.0
		if scale != nil {
			s = float64(scale[i])
		}
		return y.at(i, j) + s*b.data[j]
	})
}

func refELU(x dense) dense {
	return x.each(func(i, j int) float64 { return reference.ELU(x.at(i, j)) })
}

func refGELU(x dense) dense {
	return x.each(func(i, j int) float64 { return x.at(i, j) * math.Erfc(-x.at(i, j)/math.Sqrt2) / 2 })
}

func refReLU(x dense) dense {
	return x.each(func(i, j int) float64 { return math.Max(x.at(i, j), 0) })
}

func refTimes(a, b dense) dense {
	return a.each(func(i, j int) float64 { return a.at(i, j) * b.at(i, j) })
}

func refAdd(a, b dense) dense {
	return a.each(func(i, j int) float64 { return a.at(i, j) + b.at(i, j) })
}

func refSum(a dense) float64 {
	var sum float64
	for _, v := range a.data {
		sum += v
	}
	return sum
}

func refLayerNorm(x, gain, shift dense) dense {
	out := newDense(x.rows, x.cols)
	n := float64(x.cols)
	for i := range x.rows {
		var mean, variance float64
		for j := range x.cols {
			mean += x.at(i, j) / n
		}
		for j := range x.cols {
			variance += (x.at(i, j) - mean) * (x.at(i, j) - mean) / n
		}
		for j := range x.cols {
			out.data[i*x.cols+j] = gain.data[j]*(x.at(i, j)-mean)/math.Sqrt(variance+1e-5) + shift.data[j]
		}
	}
	return out
}

func refBatchNorm(x, gain, shift, means, variances dense, training bool) dense {
	out := newDense(x.rows, x.cols)
	n := float64(x.rows)
	for j := range x.cols {
		mean, variance := means.data[j], variances.data[j]
		if training {
			mean, variance = 0, 0
			for i := range x.rows {
				mean += x.at(i, j) / n
			}
			for i := range x.rows {
				variance += (x.at(i, j) - mean) * (x.at(i, j) - mean) / n
			}
		}
		for i := range x.rows {
			out.data[i*x.cols+j] = gain.data[j]*(x.at(i, j)-mean)/math.Sqrt(variance+1e-5) + shift.data[j]
		}
	}
	return out
}

// refCrossEntropy is the weighted sum, or the mean over labelled rows.
func refCrossEntropy(z dense, class []int32, weights []float32) float64 {
	var total, labelled float64
	for i := range z.rows {
		if class[i] < 0 {
			continue
		}
		var sum float64
		for j := range z.cols {
			sum += math.Exp(z.at(i, j) - z.at(i, int(class[i])))
		}
		w := 1.0
		if weights != nil {
			w = float64(weights[i])
		}
		total += w * math.Log(sum)
		labelled++
	}
	if weights != nil || labelled == 0 {
		return total
	}
	return total / labelled
}

// refBCE is the mean over labelled entries, or Σ weight·(mean of the row).
func refBCE(z dense, target []float32, weights []float32) float64 {
	var all, total, labelled float64
	for i := range z.rows {
		var row, known float64
		for j := range z.cols {
			t := float64(target[i*z.cols+j])
			if math.IsNaN(t) {
				continue
			}
			p := 1 / (1 + math.Exp(-z.at(i, j)))
			row -= t*math.Log(p) + (1-t)*math.Log(1-p)
			known++
		}
		all += row
		labelled += known
		if weights != nil && known > 0 {
			total += float64(weights[i]) * row / known
		}
	}
	switch {
	case weights != nil:
		return total
	case labelled == 0:
		return 0
	}
	return all / labelled
}
