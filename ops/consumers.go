package ops

import (
	"slices"

	"github.com/gcn-layerwise/gcn/graph"
	"github.com/gcn-layerwise/gcn/internal/plan"
	G "gorgonia.org/gorgonia"
)

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

// gathered reports whether all readers of n in r take its rows from where they are stored, and r is
// not given them: n's op then need not make a matrix of them. propagated asks whether all of them
// are Propagate: on a device, only these can.
func gathered(r *plan.Run, n *G.Node, propagated bool) bool {
	return !slices.Contains(r.Given, n) && r.ReadOnlyBy(n, func(reader *G.Node) bool {
		switch op := reader.Op().(type) {
		case *propagate:
			return n.Op() == G.Op(op.source)
		case *product:
			return n.Op() == G.Op(op.source) && !propagated
		}
		return false
	})
}
