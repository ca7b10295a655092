package ops

import (
	"slices"

	"github.com/gcn-layerwise/gcn/graph"
	"github.com/gcn-layerwise/gcn/internal/plan"
	G "gorgonia.org/gorgonia"
)

// gatherer is an op that can read the rows of a source, its first input, from where they
// are stored. The source then need not make a matrix of them.
type gatherer interface{ gathers(source G.Op) bool }

// sparseSource is an op whose value on the CPU can be a sparse matrix too.
type sparseSource interface {
	G.Op
	sparseRows(r *plan.Run) *graph.CSR // nil: the value is only dense
}

// sparseSourceOf returns n's op if its value can be a sparse matrix too, or nil.
func sparseSourceOf(n *G.Node) sparseSource {
	switch op := n.Op().(type) {
	case *features:
		if op.x.Sparse != nil {
			return op
		}
	case *propagate:
		if op.source != nil && op.source.x.Sparse != nil {
			return op
		}
	}
	return nil
}

// gathered reports whether all readers of n in p gather its rows by themselves, and p is not
// given them. On a device only Propagate does.
func gathered(p *plan.Plan, n *G.Node, onDevice bool) bool {
	return !slices.Contains(p.Given, n) && p.ReadOnlyBy(n, func(reader *G.Node) bool {
		g, ok := reader.Op().(gatherer)
		if _, propagates := g.(*propagate); onDevice && !propagates {
			return false
		}
		return ok && g.gathers(n.Op())
	})
}
