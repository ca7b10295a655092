package full

import (
	"context"
	"fmt"

	"github.com/gcn-layerwise/gcn/graph"
	"github.com/gcn-layerwise/gcn/internal/plan"
)

// farCost is plan.SparseCost of a product over the whole graph.
const farCost = 24

// StepOperations returns about the number of operations of a training step over the blocks of the
// model's slots, without the optimiser's: see plan.Level.Operations.
func (m *Model) StepOperations(blocks []*graph.Block) (sum float64) {
	known := len(m.slots) - len(blocks) // slots of rows of P·X
	for l, level := range m.levels {
		w := plan.Work{Rows: float64(len(blocks[0].Src)), Training: true}
		if l > known {
			b := blocks[l-known-1]
			w.Rows = float64(len(b.Dst))
			w.Entries = float64(b.Matrix.NNZ())
			w.Sparse = plan.SparseCost * w.Entries
			if b.Control != nil {
				w.Sparse += farCost * float64(b.Control.NNZ())
			}
		}
		sum += level.Operations(w)
	}
	return sum
}

// Operations returns the number of operations of a call of Infer, in the unit of StepOperations,
// if an earlier call had the same nodes.
func (m *Model) Operations(ctx context.Context, p *graph.Laplacian, nodes []int32) (sum float64, err error) {
	if p.Share != nil {
		return 0, fmt.Errorf("several ranks hold the graph together: one alone cannot count the operations of an inference")
	}
	pass := &pass{Model: m, Call: Call{P: p, Nodes: nodes}}
	if err := pass.lists(ctx); err != nil {
		return 0, err
	}
	for _, s := range pass.stages {
		w := plan.Work{Rows: float64(len(s.nodes))}
		for _, v := range s.nodes {
			w.Entries += float64(p.RowNNZ(int(v)))
		}
		w.Sparse = farCost * w.Entries
		sum += s.Operations(w)
	}
	return sum, nil
}
