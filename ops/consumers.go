package ops

import (
	"slices"

	"github.com/gcn-layerwise/gcn/graph"
	"github.com/gcn-layerwise/gcn/internal/plan"
	G "gorgonia.org/gorgonia"
)

// sparseRows returns the value of op in r as a sparse matrix, which only the CPU makes, or nil if it
// is only dense.
func sparseRows(r *plan.Run, op G.Op) *graph.CSR {
	switch op := op.(type) {
	case *features:
		if op.x.Sparse != nil {
			return &op.of(r).rows
		}
	case *propagate:
		if s := op.of(r); op.source != nil && op.source.x.Sparse != nil && !s.crowded {
			return &s.mixed
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
			return !propagated && !op.transB && n == op.inputs[0] && sparseRows(r, n.Op()) != nil
		}
		return false
	})
}
