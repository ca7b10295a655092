package kernel

import (
	"context"

	"github.com/gcn-layerwise/gcn/graph"
)

// propagatedValues is the number of values that PropagateFeatures computes at a time: 16 MiB.
const propagatedValues = 1 << 22

// PropagateFeatures computes P·X in chunks of rows. It calls f with the first row's number
// and the values of each chunk, in order. The values are valid until f returns. A row
// has the same bits as from PropagateRows. It returns f's error, or ctx's, which it checks at each
// chunk.
func PropagateFeatures(ctx context.Context, p *graph.Laplacian, x *graph.Features, f func(lo int, rows []float32) error) error {
	n := p.Nodes()
	chunk := min(max(propagatedValues/max(x.Cols, 1), 1), max(n, 1))
	ids, values := make([]int32, chunk), make([]float32, chunk*x.Cols)
	for lo := 0; lo < n; lo += chunk {
		if err := ctx.Err(); err != nil {
			return err
		}
		count := min(chunk, n-lo)
		for k := range ids[:count] {
			ids[k] = int32(lo + k)
		}
		part := values[:count*x.Cols]
		PropagateFeaturesInto(part, p, ids[:count], x)
		if err := f(lo, part); err != nil {
			return err
		}
	}
	return nil
}

// PropagateFeaturesInto sets dst, len(rows)×x.Cols, to the given rows of P·X.
func PropagateFeaturesInto(dst []float32, p *graph.Laplacian, rows []int32, x *graph.Features) {
	switch {
	case x.Sparse != nil:
		PropagateRowsSparse(dst, p, rows, x.Sparse)
	case x.Half != nil:
		PropagateRowsHalf(dst, p, rows, x.Half, x.Cols)
	default:
		PropagateRows(dst, p, rows, x.Data, x.Cols, nil)
	}
}

// PropagateChanged sets dst to a row of P·X of a changed graph, from the row of P. It has the bits
// of PropagateFeaturesInto on a graph that is built anew. Features of the base are read where they
// are, a run of columns at a time.
func PropagateChanged(dst []float32, o *graph.Overlay, row graph.PropagationRow) {
	_, x := o.Base()
	clear(dst)
	add := func(columns []int32, entries, values []float32, rows int) {
		spmmEntries(dst, &graph.CSR{Cols: rows, Idx: columns, Val: entries}, []int64{0}, []int64{int64(len(columns))}, true, nil, rows, values, len(dst))
	}
	at := 0
	for _, own := range row.Own {
		add(row.Columns[at:own], row.Entries[at:own], x.Data, x.Rows)
		add([]int32{0}, row.Entries[own:own+1], o.Features(row.Columns[own]), 1)
		at = own + 1
	}
	add(row.Columns[at:], row.Entries[at:], x.Data, x.Rows)
}
