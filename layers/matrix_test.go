package layers

import (
	"math"

	G "gorgonia.org/gorgonia"
)

// matrix is plain float64 arithmetic, the reference of the tests.
type matrix struct {
	rows, cols int
	data       []float64
}

func matrixOf(rows, cols int, data []float32) matrix {
	m := matrix{rows, cols, make([]float64, rows*cols)}
	for k, v := range data {
		m.data[k] = float64(v)
	}
	return m
}

// parameterOf returns a parameter's value; a vector is one row.
func parameterOf(n *G.Node) matrix {
	data := n.Value().Data().([]float32)
	if n.Dims() == 1 {
		return matrixOf(1, len(data), data)
	}
	return matrixOf(n.Shape()[0], n.Shape()[1], data)
}

func (m matrix) at(i, j int) float64 { return m.data[i*m.cols+j] }

func (m matrix) each(f func(i, j int) float64) matrix {
	out := matrix{m.rows, m.cols, make([]float64, len(m.data))}
	for i := range m.rows {
		for j := range m.cols {
			out.data[i*m.cols+j] = f(i, j)
		}
	}
	return out
}

func (m matrix) times(b matrix) matrix {
	out := matrix{m.rows, b.cols, make([]float64, m.rows*b.cols)}
	for i := range m.rows {
		for k := range m.cols {
			if v := m.at(i, k); v != 0 {
				for j := range b.cols {
					out.data[i*b.cols+j] += v * b.at(k, j)
				}
			}
		}
	}
	return out
}

func (m matrix) transposed() matrix {
	out := matrix{m.cols, m.rows, make([]float64, len(m.data))}
	return out.each(func(i, j int) float64 { return m.at(j, i) })
}

func (m matrix) normalised(gain, shift matrix) matrix {
	return m.each(func(i, j int) float64 {
		var mean, variance float64
		for k := range m.cols {
			mean += m.at(i, k) / float64(m.cols)
		}
		for k := range m.cols {
			variance += math.Pow(m.at(i, k)-mean, 2) / float64(m.cols)
		}
		return gain.data[j]*(m.at(i, j)-mean)/math.Sqrt(variance+1e-5) + shift.data[j]
	})
}
