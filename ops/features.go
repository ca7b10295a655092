package ops

import (
	"fmt"

	"github.com/gcn-layerwise/gcn/graph"
	"github.com/gcn-layerwise/gcn/internal/kernel"
	"github.com/gcn-layerwise/gcn/internal/plan"
	G "gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// Features returns the features of the input nodes of slot's block: a
// (len(Src), x.Cols) matrix whose row k is row Src[k] of x. It is a constant: no
// gradient flows into it. If only Propagate over the same slot reads it, Propagate
// gathers the rows and no copy is made, except from half precision.
//
// Sparse features stay sparse on the CPU in MatMul, in Affine, and in Propagate over the
// same slot where only MatMul or Affine reads its result. Any other reader, and a GPU,
// gets a dense matrix.
//
// x must not change while the graph is in use. The error wraps ErrShape if x's sizes
// do not fit together.
func Features(g *G.ExprGraph, x *graph.Features, slot *Slot) (*G.Node, error) {
	return newFeatures(g, x, slot, false)
}

// OutputFeatures is Features for the output nodes of slot's block: a (len(Dst), x.Cols)
// matrix. A skip connection needs it, since a sampled block's output nodes need not be
// among its input nodes.
func OutputFeatures(g *G.ExprGraph, x *graph.Features, slot *Slot) (*G.Node, error) {
	return newFeatures(g, x, slot, true)
}

func newFeatures(g *G.ExprGraph, x *graph.Features, slot *Slot, outputs bool) (*G.Node, error) {
	if g == nil || x == nil || slot == nil {
		return nil, fmt.Errorf("ops: Features needs a graph, features and a slot")
	}
	if x.Cols <= 0 || !x.Sized() {
		return nil, fmt.Errorf("ops: Features: %d×%d features hold %d values: %w", x.Rows, x.Cols, x.Len(), ErrShape)
	}
	// Gorgonia's ops need an input: this constant is ignored.
	source := g.AddNode(G.NewConstant(float32(0), G.WithName("gcn/ops.source")))
	op := &features{base: base{name: "features"}, x: x, slot: slot, outputs: outputs}
	rows := slot.src
	if outputs {
		rows = slot.dst
	}
	return applyConstant(op, tensor.Shape{rows, x.Cols}, source)
}

type features struct {
	base
	x       *graph.Features
	slot    *Slot
	outputs bool
}

// featuresRun is the state of Features in a run on the CPU.
type featuresRun struct {
	gathered   bool      // by all readers
	propagated bool      // by Propagate alone, which selects sparse rows by itself
	places     []int32   // memory of the rows' places, if x is shared by ranks
	rows       graph.CSR // the rows, if x is sparse
}

func (op *features) of(r *plan.Run) *featuresRun {
	return plan.StateOf(r, op, func(s *featuresRun) {
		s.gathered, s.propagated = gathered(r.Plan, op.node, false), gathered(r.Plan, op.node, true)
	})
}

// in returns the features that r reads.
func (op *features) in(r *plan.Run) *graph.Features { return plan.In(r, op.x) }

func (op *features) sparseRows(r *plan.Run) *graph.CSR { return &op.of(r).rows }

func (op *features) Compute(r *plan.Run, out *plan.Buffer, _ ...G.Value) (G.Value, error) {
	slot, s, x := plan.In(r, op.slot), op.of(r), op.in(r)
	b, err := slot.current("Features")
	if err != nil {
		return nil, err
	}
	ids, err := op.ids(b, x)
	if err != nil {
		return nil, err
	}
	if x.Prefetch != nil && !slot.prefetched {
		x.Prefetch(ids)
	}
	if ids, err = x.Places(s.places, ids); err != nil {
		return nil, fmt.Errorf("ops: Features: %w", err)
	}
	if x.Share != nil {
		s.places = ids // also for a Propagate that gathers
	}
	if x.Sparse != nil && !s.propagated {
		kernel.SelectRows(&s.rows, x.Sparse, ids)
	}
	if s.gathered {
		value, _ := out.Matrix(1, x.Cols) // a machine needs some value
		return value, nil
	}
	value, data := out.Matrix(len(ids), x.Cols)
	if x.Sparse != nil {
		kernel.GatherSparse(data, x.Sparse, ids)
	} else if x.Half != nil {
		kernel.GatherHalf(data, x.Half, ids, x.Cols)
	} else {
		kernel.Gather(data, x.Data, ids, x.Cols)
	}
	return value, nil
}

// ids returns the nodes to gather. The error wraps ErrShape if one has no features.
func (op *features) ids(b *graph.Block, x *graph.Features) ([]int32, error) {
	ids := b.Src
	if op.outputs {
		ids = b.Dst
	}
	for k, v := range ids {
		if v < 0 || int(v) >= x.Rows {
			return nil, fmt.Errorf("ops: Features: node %d of the block is %d, outside the %d rows of features: %w", k, v, x.Rows, ErrShape)
		}
	}
	return ids, nil
}

// Rows says which nodes' rows op gives.
func (op *features) Rows() (slot any, rows plan.RowKind) {
	if op.outputs {
		return op.slot, plan.OutputRows
	}
	return op.slot, plan.InputRows
}

// Table returns the features.
func (op *features) Table() *graph.Features { return op.x }

// Place gathers the rows, unless every consumer does so by itself.
func (op *features) Place(p *plan.Placement) (plan.Kernel, error) {
	q, skipped := slotOf(p, op.slot), gathered(p.Plan, op.node, true)
	if !skipped {
		q.needs.dst = q.needs.dst || op.outputs
		q.needs.src = q.needs.src || !op.outputs
	}
	return func(_ []*plan.Array, out *plan.Result) (*plan.Array, error) {
		source := op.in(p.Run)
		ids, err := op.ids(q.block, source)
		if err != nil {
			return nil, err
		}
		x, err := p.Device().Features(source)
		if err != nil {
			return nil, err
		}
		if skipped {
			return out.Absent(len(ids), op.x.Cols), nil
		}
		at := q.src
		if op.outputs {
			at = q.dst
		}
		value, to, err := out.Matrix(len(ids), op.x.Cols)
		if err != nil {
			return nil, err
		}
		return value, p.Device().Gather(to, x, at, len(ids), op.x.Cols)
	}, nil
}
