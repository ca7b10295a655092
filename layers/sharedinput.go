package layers

import (
	"context"
	"fmt"

	"github.com/gcn-layerwise/gcn/graph"
	"github.com/gcn-layerwise/gcn/internal/kernel"
	"github.com/gcn-layerwise/gcn/internal/memory"
	"github.com/gcn-layerwise/gcn/internal/parallel"
)

// panelWidth is the number of columns of features that each rank holds whole while P·X is
// computed from features that the ranks hold together. It is a multiple of the vectors of
// the kernels, so that a column has the same bits as in a product of all columns.
const panelWidth = 32

// propagateShared sets dst to rows of P·X, for features x that several ranks hold together.
// All ranks call it, each with its own rows. The columns of X are gathered a panel at a
// time: each rank receives X once and holds one panel of it.
func propagateShared(ctx context.Context, p *graph.Laplacian, x *graph.Features, rows []int32, dst []float32) error {
	n := x.Rows
	panel := make([]float32, n*min(panelWidth, x.Cols))
	parts := make([][]float32, len(x.Share.Bounds)-1)
	const chunk = 4096
	mixed := make([]float32, min(chunk, len(rows))*panelWidth)
	lo, hi := x.Share.Own()
	for from := 0; from < x.Cols; from += panelWidth {
		width := min(panelWidth, x.Cols-from)
		for rank := range parts {
			parts[rank] = panel[x.Share.Bounds[rank]*width : x.Share.Bounds[rank+1]*width]
		}
		parallel.For(hi-lo, chunk, func(first, last int) {
			for i := first; i < last; i++ {
				copy(parts[x.Share.Rank][i*width:(i+1)*width], x.Row(i)[from:])
			}
		})
		if err := x.Share.Gather(ctx, parts); err != nil {
			return err
		}
		for at := 0; at < len(rows); at += chunk {
			if err := ctx.Err(); err != nil {
				return err
			}
			part := rows[at:min(at+chunk, len(rows))]
			kernel.PropagateRows(mixed, p, part, panel, width, nil)
			for i := range part {
				copy(dst[(at+i)*x.Cols+from:(at+i)*x.Cols+from+width], mixed[i*width:(i+1)*width])
			}
		}
	}
	return nil
}

// checkShared reports a P·X of some rows, or a panel of x, that does not fit in memory.
func checkShared(x *graph.Features, rows int) error {
	values := memory.Product(int64(rows), int64(x.Cols), 4) + memory.Product(int64(x.Rows), int64(min(panelWidth, x.Cols)), 4)
	return memory.Check(fmt.Sprintf("P·X of %d rows with %d features, and %d columns of X", rows, x.Cols, min(panelWidth, x.Cols)), values)
}

// fill computes this rank's rows of P·X, from features that several ranks hold together,
// unless they are there.
func (k *keptInput) fill(r *inference) error {
	rows, width := k.rows[0], r.features.Cols
	lo, hi := r.mine(len(rows), r.ChunkRows(max(r.model.layers[0].in, r.model.layers[0].out)))
	if k.px != nil && k.base == lo && k.filled == hi {
		return nil
	}
	if err := checkShared(r.features, hi-lo); err != nil {
		return err
	}
	k.base, k.from, k.filled = lo, lo, hi
	k.px, k.sums = make([]float32, (hi-lo)*width), make([]float32, hi-lo)
	for i, v := range rows[lo:hi] {
		k.sums[i] = float32(r.p.RowSum(int(v)))
	}
	return propagateShared(r.ctx, r.p, r.features, rows[lo:hi], k.px)
}
