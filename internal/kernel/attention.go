package kernel

import (
	"math"

	"gonum.org/v1/gonum/blas/gonum"

	"github.com/gcn-layerwise/gcn/internal/parallel"
)

// LeakySlope is the slope of LeakyReLU below 0 in an attention's scores.
const LeakySlope = 0.2

// Edges is the pattern of an attention: the columns that each row attends to. Entry k
// is one of Ptr[i] to Ptr[i+1] of its row i.
type Edges struct {
	Ptr    []int64   // one per row and one more
	Idx    []int32   // column of each entry
	Weight []float32 // of each entry, at least 0; nil: 1
	Own    []int32   // column of each row's own node

	// The same by columns, for the gradient. Column j has the places ColPtr[j] to
	// ColPtr[j+1], in ascending order of their rows.
	Cols   int
	ColPtr []int32
	Entry  []int32 // entry at each place
	Row    []int32 // row at each place
}

// Rows returns the number of rows.
func (e *Edges) Rows() int { return len(e.Own) }

// weight returns the weight of entry k.
func (e *Edges) weight(k int64) float32 {
	if e.Weight == nil {
		return 1
	}
	return e.Weight[k]
}

// Attention is an attention of several heads (Veličković et al. 2018). Row j of Z holds
// Heads vectors of Width numbers, z_j. Row i attends to column j with
//
//	q_ij = s_j + t_own(i),   e_ij = LeakyReLU(q_ij),
//	α_ij = w_ij exp(e_ij) / Σ_k w_ik exp(e_ik),
//
// for each head, and its output is Σ_j mask(α_ij) z_j. An array of scores has Heads
// numbers for each row, one of coefficients Heads for each entry.
//
// Row ranges run in parallel, and every sum has one order, so results have the same
// bits for any number of cores.
type Attention struct {
	Edges
	Heads, Width int
	Average      bool    // the output is the mean of the heads, not their concatenation
	Dropout      Dropout // of the coefficients
}

// columns returns the length of a row of Z.
func (a *Attention) columns() int { return a.Heads * a.Width }

// Out returns the length of a row of the output.
func (a *Attention) Out() int {
	if a.Average {
		return a.Width
	}
	return a.columns()
}

// factor returns the factor of a kept coefficient of one head in the output.
func (a *Attention) factor() float32 {
	_, keep := a.Dropout.Threshold()
	if a.Average {
		keep *= 1 / float32(a.Heads)
	}
	return keep
}

// heads returns the numbers of row or entry k of x, one for each head.
func (a *Attention) heads(x []float32, k int64) []float32 { return x[int(k)*a.Heads:][:a.Heads] }

// perRow is the grain of a loop over n rows that handle all entries together.
func (a *Attention) perRow(n int) int {
	return grain((4 + len(a.Idx)/max(n, 1)) * a.columns())
}

// AttentionScores sets dst[j][h] to z_j·v for head h, v the head's part of vector.
func AttentionScores(dst, z, vector []float32, rows, heads, width int) {
	columns := heads * width
	checkLen("AttentionScores", "dst", len(dst), rows*heads)
	checkLen("AttentionScores", "z", len(z), rows*columns)
	checkLen("AttentionScores", "vector", len(vector), columns)
	parallel.For(rows, grain(columns), func(lo, hi int) {
		for j := lo; j < hi; j++ {
			headDots(dst[j*heads:][:heads], vector[:columns], z[j*columns:][:columns], width)
		}
	})
}

// Coefficients sets alpha to α, and to −α where dropout drops the entry. s and t are the
// scores of all columns.
func (a *Attention) Coefficients(alpha, s, t []float32) {
	checkLen("Attention.Coefficients", "alpha", len(alpha), len(a.Idx)*a.Heads)
	threshold, _ := a.Dropout.Threshold()
	parallel.For(a.Rows(), a.perRow(a.Rows()), func(lo, hi int) {
		for i := lo; i < hi; i++ {
			for h := range a.Heads {
				a.softmax(alpha, s, t, i, h)
			}
			if threshold == 0 {
				continue
			}
			key := rowKey(a.Dropout.Seed, i)
			row := alpha[int(a.Ptr[i])*a.Heads : int(a.Ptr[i+1])*a.Heads]
			for at, c := range row {
				if dropHash(key, at) < threshold {
					row[at] = -c
				}
			}
		}
	})
}

// softmax sets alpha to α of row i and head h.
func (a *Attention) softmax(alpha, s, t []float32, i, h int) {
	own := t[int(a.Own[i])*a.Heads+h]
	top := float32(math.Inf(-1))
	for k := a.Ptr[i]; k < a.Ptr[i+1]; k++ {
		if a.weight(k) > 0 {
			e := s[int(a.Idx[k])*a.Heads+h] + own
			e = max(e, LeakySlope*e)
			alpha[int(k)*a.Heads+h] = e
			if !(e <= top) { // NaN too
				top = e
			}
		}
	}
	var total float64
	for k := a.Ptr[i]; k < a.Ptr[i+1]; k++ {
		at, w := int(k)*a.Heads+h, a.weight(k)
		if !(w > 0) {
			alpha[at] = 0
			continue
		}
		power, _ := expNeg(alpha[at] - top)
		alpha[at] = w * power
		total += float64(alpha[at])
	}
	inverse := float32(1 / total)
	for k := a.Ptr[i]; k < a.Ptr[i+1]; k++ {
		if at := int(k)*a.Heads + h; alpha[at] != 0 {
			alpha[at] *= inverse
		}
	}
}

// Attend sets dst to the output for the coefficients alpha, plus bias in each row; bias
// may be nil. A row without entries of positive weight gets the bias alone.
func (a *Attention) Attend(dst, alpha, z, bias []float32) {
	out, columns := a.Out(), a.columns()
	checkLen("Attention.Attend", "dst", len(dst), a.Rows()*out)
	keep := a.factor()
	parallel.For(a.Rows(), a.perRow(a.Rows()), func(lo, hi int) {
		for i := lo; i < hi; i++ {
			y := dst[i*out:][:out]
			clear(y)
			for k := a.Ptr[i]; k < a.Ptr[i+1]; k++ {
				headSum(y, a.heads(alpha, k), keep, z[int(a.Idx[k])*columns:][:columns], a.Width)
			}
			if bias != nil {
				add(y, 1, bias[:out])
			}
		}
	})
}

// Slopes sets dq to the gradient with respect to q of each entry, for the upstream
// gradient grad, and dt to the gradient with respect to the scores t of the columns.
func (a *Attention) Slopes(dq, dt, grad, alpha, s, t, z []float32) {
	out, columns := a.Out(), a.columns()
	checkLen("Attention.Slopes", "dq", len(dq), len(a.Idx)*a.Heads)
	checkLen("Attention.Slopes", "dt", len(dt), a.Cols*a.Heads)
	clear(dt[:a.Cols*a.Heads]) // a column that is no row's own
	keep := a.factor()
	parallel.For(a.Rows(), a.perRow(a.Rows()), func(lo, hi int) {
		means, sums := make([]float64, a.Heads), make([]float64, a.Heads)
		for i := lo; i < hi; i++ {
			clear(means) // Σ α ∂L/∂α
			clear(sums)
			g := grad[i*out:][:out]
			for k := a.Ptr[i]; k < a.Ptr[i+1]; k++ {
				d := a.heads(dq, k)
				headDots(d, g, z[int(a.Idx[k])*columns:][:columns], a.Width)
				for h, c := range a.heads(alpha, k) {
					if kept(c) {
						d[h] *= keep
						means[h] += float64(c) * float64(d[h])
					} else {
						d[h] = 0
					}
				}
			}
			own := a.heads(t, int64(a.Own[i]))
			for k := a.Ptr[i]; k < a.Ptr[i+1]; k++ {
				other, d := a.heads(s, int64(a.Idx[k])), a.heads(dq, k)
				for h, c := range a.heads(alpha, k) {
					d[h] = float32(math.Abs(float64(c))) * (d[h] - float32(means[h]))
					if !(other[h]+own[h] > 0) {
						d[h] *= LeakySlope
					}
					sums[h] += float64(d[h])
				}
			}
			for h, sum := range sums {
				dt[int(a.Own[i])*a.Heads+h] = float32(sum)
			}
		}
	})
}

// Gradient sets dz to the gradient with respect to Z, and ds to that with respect to the
// scores s. dq and dt are the results of Slopes, source and target the vectors of s and t.
func (a *Attention) Gradient(dz, ds, grad, alpha, dq, dt, source, target []float32) {
	out, columns := a.Out(), a.columns()
	checkLen("Attention.Gradient", "dz", len(dz), a.Cols*columns)
	checkLen("Attention.Gradient", "ds", len(ds), a.Cols*a.Heads)
	keep := a.factor()
	parallel.For(a.Cols, a.perRow(a.Cols), func(lo, hi int) {
		sums := make([]float64, a.Heads)
		for j := lo; j < hi; j++ {
			d := dz[j*columns:][:columns]
			clear(d)
			clear(sums)
			for p := a.ColPtr[j]; p < a.ColPtr[j+1]; p++ {
				g := grad[int(a.Row[p])*out:][:out]
				k := int64(a.Entry[p])
				headSum(d, a.heads(alpha, k), keep, g, a.Width)
				for h, slope := range a.heads(dq, k) {
					sums[h] += float64(slope)
				}
			}
			for h, sum := range sums {
				ds[j*a.Heads+h] = float32(sum)
				add(d[h*a.Width:][:a.Width], float32(sum), source[h*a.Width:][:a.Width])
				add(d[h*a.Width:][:a.Width], dt[j*a.Heads+h], target[h*a.Width:][:a.Width])
			}
		}
	})
}

// kept reports whether a coefficient counts: it is neither 0 nor dropped. NaN is kept.
func kept(c float32) bool { return !(c <= 0) }

// HeadSums sets dst to the gradient with respect to the vector of AttentionScores: for
// column c of head h, Σ_j d[j][h]·z[j][c], in float64 from the first row to the last.
func HeadSums(dst, d, z []float32, rows, heads, width int) {
	columns := heads * width
	checkLen("HeadSums", "dst", len(dst), columns)
	checkLen("HeadSums", "d", len(d), rows*heads)
	checkLen("HeadSums", "z", len(z), rows*columns)
	tiles := (width + columnTile - 1) / columnTile // of a head
	parallel.For(heads*tiles, grain(rows*columnTile/4), func(lo, hi int) {
		for tile := lo; tile < hi; tile++ {
			h, first := tile/tiles, tile%tiles*columnTile
			columnSums(dst, z, from(d, h), heads, rows, columns, h*width+first, h*width+min(first+columnTile, width))
		}
	})
}

// headDotsGo is the portable form of headDots.
func headDotsGo(dst, x, y []float32, width int) {
	for h := range len(y) / width {
		dst[h] = dot(headOf(x, y, h, width), rowOf(y, h, width))
	}
}

// headSumGo is the portable form of headSum.
func headSumGo(y, c []float32, scale float32, x []float32, width int) {
	for h, v := range c {
		if kept(v) {
			add(headOf(y, x, h, width), scale*v, headOf(x, y, h, width))
		}
	}
}

// headOf returns the vector of head h in x. x has a vector for each head, or, if it is shorter
// than other, one vector for all heads.
func headOf(x, other []float32, h, width int) []float32 {
	if len(x) < len(other) {
		return x[:width]
	}
	return rowOf(x, h, width)
}

// narrow is the width below which a plain loop is faster than a call of gonum's.
const narrow = 24

// dot returns Σ x·y, for slices of one length.
func dot(x, y []float32) float32 {
	if len(x) >= narrow {
		return gonum.Implementation{}.Sdot(len(x), x, 1, y, 1)
	}
	var sum float32
	y = y[:len(x)]
	for j, v := range x {
		sum += v * y[j]
	}
	return sum
}

// add adds alpha·x to y, for slices of one length.
func add(y []float32, alpha float32, x []float32) {
	if len(y) >= narrow {
		axpy(y, alpha, x)
		return
	}
	x = x[:len(y)]
	for j := range y {
		y[j] += alpha * x[j]
	}
}
