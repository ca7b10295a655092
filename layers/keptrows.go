package layers

import (
	"context"
	"slices"

	"github.com/gcn-layerwise/gcn/graph"
	"github.com/gcn-layerwise/gcn/internal/kernel"
	"github.com/gcn-layerwise/gcn/internal/parallel"
)

// keptRows are the rows that inference needs for some nodes. They follow from the graph and
// the nodes alone, and are kept for the next call with the same ones.
type keptRows struct {
	p     *graph.Laplacian
	nodes []int32     // a copy; nil: all nodes
	rows  [][]int32   // of each layer
	sums  [][]float32 // row sums of P at these rows, when they were needed
	few   bool        // of useFew
	again bool        // there was a second call

	limit     uint64                  // bytes of memory
	matrices  []*kernel.LaplacianRows // of the rows of each layer, from the second call on
	histories bool                    // of a control need these rows, on each rank
	parts     []*rankRows             // of each layer, the rows that this rank holds; nil: not known
	divided   [][]int                 // of each layer, the shares of its rows that ranks compute; nil: not known
	orders    []bool                  // of the products, for parts and divided
	inputs    []int32                 // the nodes whose features are read, if the first layer computes X·W of few; nil: all

	// If ranks hold X together:
	x    *graph.Features
	px   []float32 // P·X at this rank's part of rows[0]; nil: not computed
	base int       // the first row of this part
}

// use makes k the rows for these arguments. It keeps the rows of equal arguments.
func (k *keptRows) use(ctx context.Context, p *graph.Laplacian, nodes []int32, layers int) (err error) {
	if k.p == p && len(k.rows) == layers && (k.nodes == nil) == (nodes == nil) && slices.Equal(k.nodes, nodes) {
		k.again = true
		return nil
	}
	// Free the old memory before the new is allocated.
	*k = keptRows{p: p, limit: k.limit, nodes: slices.Clone(nodes), sums: make([][]float32, layers), matrices: make([]*kernel.LaplacianRows, layers)}
	if k.rows, err = new(nodeSet).neededRows(ctx, nil, p, k.nodes, layers); err != nil {
		*k = keptRows{limit: k.limit}
	}
	return err
}

// useFew makes k the rows for a few nodes. It keeps nothing but the memory of the lists.
func (m *inferenceMemory) useFew(ctx context.Context, p *graph.Laplacian, nodes []int32, layers int, inputs bool) (err error) {
	k := &m.kept
	k.p, k.nodes, k.few, k.inputs, k.divided = p, nodes, true, nil, nil
	if !inputs {
		k.rows, err = m.set.neededRows(ctx, k.rows, p, nodes, layers)
		return err
	}
	rows, err := m.set.neededRows(ctx, append([][]int32{k.inputs}, k.rows...), p, nodes, layers+1)
	if err == nil {
		k.inputs, k.rows = rows[0], rows[1:]
	}
	return err
}

// forget drops the caller's nodes.
func (k *keptRows) forget() {
	k.nodes = nil
	if top := len(k.rows) - 1; top >= 0 {
		k.rows[top] = nil
	}
}

// whole reports whether the rows of layer l list every node in order.
func (k *keptRows) whole(l int) bool {
	return len(k.rows[l]) == k.p.Nodes() && (l < len(k.rows)-1 || k.nodes == nil)
}

// rowSums returns the row sums of P at the rows of layer l.
func (k *keptRows) rowSums(ctx context.Context, l int) ([]float32, error) {
	if rows := k.rows[l]; k.sums[l] == nil {
		sums := make([]float32, len(rows))
		err := graph.EachPart(ctx, rows, k.p.Adjacency.Prefetch, func(lo, hi int) error {
			rowSums(sums[lo:hi], k.p, rows[lo:hi])
			return nil
		})
		if err != nil {
			return nil, err
		}
		k.sums[l] = sums
	}
	return k.sums[l], nil
}

// rowSums sets sums to the row sums of P at rows.
func rowSums(sums []float32, p *graph.Laplacian, rows []int32) {
	parallel.For(len(rows), 1024, func(lo, hi int) {
		for i := lo; i < hi; i++ {
			sums[i] = float32(p.RowSum(int(rows[i])))
		}
	})
}

// matrix returns the rows of P that layer l needs, written out over the rows of the layer
// below, as writeOut does.
func (k *keptRows) matrix(l int) *kernel.LaplacianRows {
	if len(k.matrices) == 0 {
		return nil
	}
	if k.matrices[l] == nil {
		k.matrices[l] = k.writeOut(k.rows[l], 0, len(k.rows[l]), k.rows[l-1])
	}
	return k.matrices[l]
}

// writeOut returns the rows first to last−1 of P, of the list rows, written out over the rows
// below; nil in the first call, and if they would take a large part of the memory.
func (k *keptRows) writeOut(rows []int32, first, last int, below []int32) *kernel.LaplacianRows {
	if !k.again || k.few || k.p.Share != nil {
		return nil
	}
	entries := 0
	for _, v := range rows[first:last] {
		entries += k.p.RowNNZ(int(v))
	}
	if 8*uint64(entries) > k.bytes()/(8*keptShare) {
		return nil
	}
	return kernel.NewLaplacianRows(k.p, rows, first, last, below)
}
