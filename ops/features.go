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
	op := &features{
		base: base{name: "features", slot: slot, rows: plan.InputRows},
		x:    x,
	}
	rows := slot.src
	if outputs {
		rows, op.rows = slot.dst, plan.OutputRows
	}
	return applySource(g, op, tensor.Shape{rows, x.Cols})
}

type features struct {
	base
	x *graph.Features
}

// featuresRun is the state of Features in a run.
type featuresRun struct {
	places []int32   // of the rows in x, also for a Propagate that gathers
	rows   graph.CSR // the rows, if x is sparse, or of the last product if most values are 0
}

func (op *features) of(r *plan.Run) *featuresRun { return plan.StateOf[featuresRun](r, op) }

func (op *features) Compute(c *plan.Call) error {
	_, b := op.slot.of(c)
	s := op.of(c.Run)
	x := plan.In(c.Run, op.x)
	ids := b.Src
	if op.rows == plan.OutputRows {
		ids = b.Dst
	}
	for k, v := range ids {
		if v < 0 || int(v) >= x.Rows {
			return c.Sizes("node %d of the block is %d, outside the %d rows of features", k, v, x.Rows)
		}
	}
	if c.Device == nil {
		var err error
		if ids, err = x.Places(s.places, ids); err != nil {
			return fmt.Errorf("ops: Features: %w", err)
		}
		if x.Sparse != nil && !gathered(c.Run, op.node, true) { // Propagate selects them by itself
			kernel.SelectRows(&s.rows, x.Sparse, ids)
		}
	}
	s.places = append(s.places[:0], ids...) // ids may be the block's
	rows, absent := len(ids), gathered(c.Run, op.node, c.Device != nil)
	if absent {
		rows = 1 // for Gorgonia's own machines, which need some value
	}
	to := c.OutMatrix(rows, x.Cols)
	return c.On(func() error {
		table, err := c.Device.Features(x)
		if err != nil || absent {
			return err
		}
		q := slotOf(c.Run, op.slot)
		if op.rows == plan.OutputRows {
			return c.Device.Gather(to.At, table, q.dst, to.Rows, to.Cols)
		}
		return c.Device.Gather(to.At, table, q.src, to.Rows, to.Cols)
	}, func() {
		if !absent {
			kernel.GatherFeatures(to.Data, x, ids)
		}
	})
}

// Table returns the features.
func (op *features) Table() *graph.Features { return op.x }

// filled returns the share of the values of x that a product reads.
func filled(x *graph.Features) float64 {
	read := x.NonZero
	switch {
	case x.Sparse != nil:
		read = x.Len()
	case read == 0:
		return 1
	}
	return float64(read) / max(float64(x.Rows)*float64(x.Cols), 1)
}
