package ops

import (
	"fmt"

	"github.com/chewxy/hm"
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
	op := &features{base: newBase(g, "features", 1), x: x, slot: slot, outputs: outputs}
	n, err := apply(op, source)
	if err != nil {
		return nil, err
	}
	op.node = n
	return n, nil
}

type features struct {
	base
	consumers
	x       *graph.Features
	slot    *Slot
	outputs bool

	places []int32   // memory of rows
	rows   graph.CSR // of the last run on the CPU, if x is sparse
}

func (op *features) sparseRows() *graph.CSR { return &op.rows }

func (op *features) Type() hm.Type { return hm.NewFnType(scalarType(), matrixType()) }

func (op *features) InferShape(...G.DimSizer) (tensor.Shape, error) {
	if op.outputs {
		return tensor.Shape{op.slot.dst, op.x.Cols}, nil
	}
	return tensor.Shape{op.slot.src, op.x.Cols}, nil
}

func (op *features) Do(in ...G.Value) (G.Value, error) { return op.Compute(&op.own, false, in...) }

func (op *features) Memory() plan.Memory { return plan.Memory{Result: plan.InBuffer} }

func (op *features) Compute(out *plan.Buffer, _ bool, _ ...G.Value) (G.Value, error) {
	b, err := op.slot.current("Features")
	if err != nil {
		return nil, err
	}
	ids, err := op.ids(b)
	if err != nil {
		return nil, err
	}
	if op.x.Prefetch != nil && !op.slot.prefetched {
		op.x.Prefetch(ids)
	}
	if ids, err = op.x.Places(op.places, ids); err != nil {
		return nil, fmt.Errorf("ops: Features: %w", err)
	}
	if op.x.Share != nil {
		op.places = ids // also for a Propagate that gathers
	}
	if op.x.Sparse != nil {
		kernel.SelectRows(&op.rows, op.x.Sparse, ids)
	}
	if op.skipped(op) {
		value, _ := out.Matrix(1, op.x.Cols) // a machine needs some value
		return value, nil
	}
	value, data := out.Matrix(len(ids), op.x.Cols)
	if op.x.Sparse != nil {
		kernel.GatherSparse(data, op.x.Sparse, ids)
	} else if op.x.Half != nil {
		kernel.GatherHalf(data, op.x.Half, ids, op.x.Cols)
	} else {
		kernel.Gather(data, op.x.Data, ids, op.x.Cols)
	}
	return value, nil
}

// ids returns the nodes to gather. The error wraps ErrShape if one has no features.
func (op *features) ids(b *graph.Block) ([]int32, error) {
	ids := b.Src
	if op.outputs {
		ids = b.Dst
	}
	for k, v := range ids {
		if v < 0 || int(v) >= op.x.Rows {
			return nil, fmt.Errorf("ops: Features: node %d of the block is %d, outside the %d rows of features: %w", k, v, op.x.Rows, ErrShape)
		}
	}
	return ids, nil
}

// Place gathers the rows, unless every consumer does so by itself.
func (op *features) Place(p *plan.Placement, _ *G.Node) (plan.Kernel, error) {
	x, err := p.Device().Features(op.x)
	if err != nil {
		return nil, err
	}
	q, skipped := slotOf(p, op.slot), op.skippedOnDevice(op)
	if !skipped {
		q.needs.dst = q.needs.dst || op.outputs
		q.needs.src = q.needs.src || !op.outputs
	}
	return func(_ []*plan.Array, out *plan.Result) (*plan.Array, error) {
		ids, err := op.ids(q.block)
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
