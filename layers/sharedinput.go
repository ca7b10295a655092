package layers

import (
	"context"
	"fmt"

	"github.com/gcn-layerwise/gcn/graph"
	"github.com/gcn-layerwise/gcn/internal/kernel"
	"github.com/gcn-layerwise/gcn/internal/memory"
	"github.com/gcn-layerwise/gcn/internal/parallel"
	"github.com/gcn-layerwise/gcn/internal/plan"
)

// panelWidth is the number of columns of features that each rank holds whole while P·X is
// computed from features that the ranks hold together. It is a multiple of the vectors of
// the kernels, so that a column has the same bits as in a product of all columns.
const panelWidth = 32

// panels calls f with all rows of the columns from to from+width−1 of x, which several ranks
// hold together, panel after panel. Each rank receives x once and holds one panel of it.
// All ranks call it.
func panels(ctx context.Context, x *graph.Features, f func(from, width int, panel []float32) error) error {
	all := make([]float32, x.Rows*min(panelWidth, x.Cols))
	parts := make([][]float32, len(x.Share.Bounds)-1)
	lo, hi := x.Share.Own()
	for from := 0; from < x.Cols; from += panelWidth {
		width := min(panelWidth, x.Cols-from)
		for rank := range parts {
			parts[rank] = all[x.Share.Bounds[rank]*width : x.Share.Bounds[rank+1]*width]
		}
		own := parts[x.Share.Rank]
		parallel.For(hi-lo, 1<<12, func(first, last int) {
			for i := first; i < last; i++ {
				copy(own[i*width:(i+1)*width], x.Row(i)[from:])
			}
		})
		if err := x.Share.Gather(ctx, parts); err != nil {
			return err
		}
		if err := f(from, width, all[:x.Rows*width]); err != nil {
			return err
		}
	}
	return nil
}

// propagatePanel sets the columns from to from+width−1 of dst to rows of P times a panel.
// mixed is scratch of width values a row.
func propagatePanel(dst []float32, p *graph.Laplacian, rows []int32, panel, mixed []float32, cols, from, width int) {
	kernel.PropagateRows(mixed, p, rows, panel, width, nil)
	for i := range rows {
		copy(dst[i*cols+from:i*cols+from+width], mixed[i*width:(i+1)*width])
	}
}

// checkShared reports a P·X of some rows, or a panel of x, that does not fit in memory.
func checkShared(x *graph.Features, rows int) error {
	values := memory.Product(int64(rows), int64(x.Cols), 4) + memory.Product(int64(x.Rows), int64(min(panelWidth, x.Cols)), 4)
	return memory.Check(fmt.Sprintf("P·X of %d rows with %d features, and %d columns of X", rows, x.Cols, min(panelWidth, x.Cols)), values)
}

// propagateShared computes P·X at this rank's part of rows[0], from features that several
// ranks hold together, unless it is there.
func (k *keptRows) propagateShared(r *inference) error {
	rows, layer := k.rows[0], r.model.layers[0]
	width := max(layer.in, layer.out)
	shares := r.even(len(rows), width)
	lo, hi := r.mine(shares)
	if k.x == r.features && k.base == lo && len(k.px) == (hi-lo)*layer.in {
		return nil
	}
	k.x, k.px = nil, nil
	if err := checkShared(r.features, hi-lo); err != nil {
		return err
	}
	px := make([]float32, (hi-lo)*layer.in)
	bring := r.bringRows(rows)
	err := panels(r.ctx, r.features, func(from, columns int, panel []float32) error {
		return r.chunks(shares, width, bring, func(part *inference, at, n int) error {
			mixed, err := part.Scratch(plan.Mixed, n*columns)
			if err != nil {
				return err
			}
			propagatePanel(px[(at-lo)*layer.in:], r.p, rows[at:at+n], panel, mixed.Host(), layer.in, from, columns)
			return nil
		})
	})
	if err == nil {
		k.x, k.px, k.base = r.features, px, lo
	}
	return err
}
