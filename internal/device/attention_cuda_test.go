//go:build cuda

package device

import (
	"testing"

	"github.com/gcn-layerwise/gcn/internal/kernel"
)

// edges returns a random pattern of rows that attend to columns, most with more entries
// than a warp has threads, and a row without entries if there are several.
func (b *fixture) edges(rows int) kernel.Edges {
	cols := rows + 150
	a := b.csr(rows, cols)
	e := kernel.Edges{Ptr: a.Ptr, Idx: a.Idx, Cols: cols, ColPtr: make([]int32, 1, cols+1)}
	for _, j := range b.rng.Perm(cols)[:rows] {
		e.Own = append(e.Own, int32(j))
	}
	for _, v := range a.Val {
		e.Weight = append(e.Weight, max(v, 0)) // half of them are 0
	}
	for j := range cols {
		for i := range rows {
			for k := a.Ptr[i]; k < a.Ptr[i+1]; k++ {
				if int(a.Idx[k]) == j {
					e.Entry, e.Row = append(e.Entry, int32(k)), append(e.Row, int32(i))
				}
			}
		}
		e.ColPtr = append(e.ColPtr, int32(len(e.Entry)))
	}
	return e
}

// All steps of an attention agree with package kernel's, for widths near the sizes of tiles.
func TestAttention(t *testing.T) {
	b := newFixture(t)
	for _, c := range []struct {
		rows, heads, width int
		average            bool
		rate               float32
		weighted           bool
	}{
		{1, 1, 1, false, 0, true}, {3, 2, 3, true, 0.4, true}, {20, 3, 50, false, 0.3, true},
		{20, 2, 65, true, 0, false}, {9, 1, 128, false, 0.5, false}, {5, 4, 33, true, 0.2, true},
	} {
		a := kernel.Attention{Edges: b.edges(c.rows), Heads: c.heads, Width: c.width, Average: c.average, Dropout: kernel.Dropout{Rate: c.rate, Seed: 3}}
		if !c.weighted {
			a.Weight = nil
		}
		columns, cols, entries := c.heads*c.width, a.Cols, len(a.Idx)*c.heads
		z, source, target, bias, grad := b.floats(cols*columns), b.floats(columns), b.floats(columns), b.floats(a.Out()), b.floats(c.rows*a.Out())
		for k := range z {
			z[k] /= float32(c.width) // scores near 1
		}
		s, u, alpha := make([]float32, cols*c.heads), make([]float32, cols*c.heads), make([]float32, entries)
		out, dq, dt := make([]float32, c.rows*a.Out()), make([]float32, entries), make([]float32, cols*c.heads)
		dz, ds, dsource := make([]float32, cols*columns), make([]float32, cols*c.heads), make([]float32, columns)
		kernel.AttentionScores(s, z, source, cols, c.heads, c.width)
		kernel.AttentionScores(u, z, target, cols, c.heads, c.width)
		a.Coefficients(alpha, s, u)
		a.Attend(out, alpha, z, bias)
		a.Slopes(dq, dt, grad, alpha, s, u, z)
		a.Gradient(dz, ds, grad, alpha, dq, dt, source, target)
		kernel.HeadSums(dsource, ds, z, cols, c.heads, c.width)

		on := Edges{
			Ptr: put(b, narrow(a.Ptr)), Idx: put(b, a.Idx), Own: put(b, a.Own),
			ColPtr: put(b, a.ColPtr), Entry: put(b, a.Entry), Row: put(b, a.Row),
		}
		if c.weighted {
			on.Weight = put(b, a.Weight)
		}
		scores, targets, coefficients := b.room(len(s)), b.room(len(u)), b.room(entries)
		result, slopes, byTarget := b.room(len(out)), b.room(entries), b.room(len(dt))
		toZ, bySource, toVector := b.room(len(dz)), b.room(len(ds)), b.room(columns)
		zAt, sourceAt, targetAt, gradAt := put(b, z), put(b, source), put(b, target), put(b, grad)
		b.must(b.d.AttentionScores(scores, zAt, sourceAt, cols, c.heads, c.width))
		b.must(b.d.AttentionScores(targets, zAt, targetAt, cols, c.heads, c.width))
		b.must(b.d.Attend(&a, on, result, coefficients, scores, targets, zAt, put(b, bias)))
		b.must(b.d.AttentionGradient(&a, on, toZ, slopes, bySource, byTarget, gradAt, coefficients, scores, targets, zAt, sourceAt, targetAt))
		b.must(b.d.HeadSums(toVector, bySource, zAt, cols, c.heads, c.width))
		for _, v := range []struct {
			what string
			at   Pointer
			want []float32
		}{
			{"scores", scores, s}, {"coefficients", coefficients, alpha}, {"output", result, out}, {"slopes", slopes, dq},
			{"gradient of target scores", byTarget, dt}, {"gradient of source scores", bySource, ds},
			{"gradient of z", toZ, dz}, {"gradient of source", toVector, dsource},
		} {
			b.same(v.what, v.at, v.want, 1e-5)
		}
		b.must(b.d.Attend(&a, on, result, coefficients, scores, targets, zAt, 0))
		a.Attend(out, alpha, z, nil)
		b.same("output without bias", result, out, 1e-5)
	}
}
