package ops

import (
	"cmp"
	"fmt"

	"github.com/gcn-layerwise/gcn/graph"
	"github.com/gcn-layerwise/gcn/internal/device"
	"github.com/gcn-layerwise/gcn/internal/kernel"
	"github.com/gcn-layerwise/gcn/internal/plan"
	G "gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// Propagate returns P̃·H for the sampled matrix P̃ of slot's block and a float32 matrix H
// of shape (len(Src), f). The result has shape (len(Dst), f), and
// ∂L/∂H = P̃ᵀ·∂L/∂out. If h is the result of Features for the same slot, Propagate reads
// the rows of the features in place.
//
// If the slot keeps histories and the block has a Control, the result is
// P̃·H + (P−P̃)·H̄ with the History H̄. The gradient does not change, since H̄ is constant.
//
// The error wraps ErrShape if H's nominal rows are not the slot's. Cost: O(NNZ·f), where
// NNZ counts the entries of the matrix and of the control.
func Propagate(slot *Slot, h *G.Node) (*G.Node, error) {
	if err := checkSlot("Propagate", slot, h); err != nil {
		return nil, err
	}
	if h.Shape()[0] != slot.src {
		return nil, fmt.Errorf("ops: Propagate: H has %d rows, its slot %d input nodes: %w", h.Shape()[0], slot.src, ErrShape)
	}
	op := &propagate{base: base{name: "propagate", slot: slot, parts: partMatrix, rows: plan.PropagatedRows}}
	shape := tensor.Shape{slot.dst, h.Shape()[1]}
	if op.history = slot.newHistory(h.Shape()[1]); op.history != nil {
		if op.commits() {
			op.memory.Access = plan.Keeps // the history reads the rows of H after the run
		}
		return apply(op, shape, h)
	}
	if source, ok := h.Op().(*features); ok && source.slot == slot && source.rows == plan.InputRows && source.x.Half == nil {
		op.source = source
	}
	op.below = h.Op()
	return apply(op, shape, h)
}

// propagate multiplies by a block's matrix.
type propagate struct {
	base
	source  *features // the op of H, if its rows can be gathered here; or nil
	below   G.Op      // of H, without a history
	history *History  // nil: the slot keeps none
}

// propagateRun is the state of a propagation in a run.
type propagateRun struct {
	set rowSet // rows of the output that depend on H

	product kernel.SparseProduct // of sparse features
	mixed   graph.CSR            // P̃·X, if the features are sparse
	crowded bool                 // P̃·X is only dense
}

func (op *propagate) of(r *plan.Run) *propagateRun { return plan.StateOf[propagateRun](r, op) }

// Operations counts the product with the block, and that of its gradient.
func (op *propagate) Operations(w plan.Work) float64 {
	columns := float64(op.shape[1])
	if op.source != nil {
		columns *= filled(op.source.x)
	}
	return w.Passes(op.wanted...) * w.Sparse * columns
}

// commits reports whether steps write to op's history.
func (op *propagate) commits() bool { return op.history != nil && !op.history.refreshed }

func (op *propagate) Place(r *plan.Run) error {
	if op.history != nil && !r.Inference {
		if err := op.history.place(r); err != nil {
			return err
		}
	}
	return op.base.Place(r)
}

func (op *propagate) Compute(c *plan.Call) error {
	slot, b := op.slot.of(c)
	rows, inner := len(b.Dst), len(b.Src)
	full := slot.full.P != nil && b.Matrix.Rows == 0 // rows of P, in place of entries
	if !full && b.Matrix.Rows != rows {
		return c.Sizes("its slot has the rows of Slot.SetRows and no matrix: call Slot.Set before the run")
	}
	var x *graph.Features // whose rows op gathers
	ids, h := b.Src, plan.Matrix{Rows: inner}
	if op.source != nil && (gathered(c.Run, op.source.node, c.Device != nil) || c.Device == nil && op.source.x.Sparse != nil) {
		x = plan.In(c.Run, op.source.x)
		h.Cols, ids = x.Cols, op.source.of(c.Run).places // the op of H has checked them
	} else {
		h = c.Matrix(0)
	}
	switch {
	case h.Rows != inner:
		return c.Sizes("%d×%d matrix times %d×%d", rows, inner, h.Rows, h.Cols)
	case op.history != nil && b.Control != nil && h.Cols != op.history.width:
		return c.Sizes("values of width %d for a history of width %d", h.Cols, op.history.width)
	}
	if slot.observed && !full {
		c.Fail(slot.observe(c.Device, x, ids, h))
	}
	var to plan.Matrix
	sparse := x != nil && x.Sparse != nil && c.Device == nil
	if !sparse {
		to = c.OutMatrix(rows, h.Cols)
	}
	return c.On(func() error {
		return op.onDevice(c, slot, x, h, to)
	}, func() {
		if !full {
			op.keepRows(c.Run, &b.Matrix)
		}
		switch {
		case sparse:
			op.propagateSparse(c, slot, x.Sparse)
		case full:
			kernel.PropagateRows(to.Data, slot.full.P, b.Dst, h.Data, h.Cols, slot.full.Place)
		case x != nil:
			kernel.SpMMGather(to.Data, &b.Matrix, ids, x.Data, x.Cols)
		case op.history == nil || b.Control == nil:
			kernel.SpMM(to.Data, &b.Matrix, h.Data, h.Cols)
		default:
			kept := op.history
			values := kept.Values() // or, after this call, halves
			kernel.SpMMControl(to.Data, &b.Matrix, h.Data, kernel.Control{Matrix: b.Control, Rows: values, Half: kept.halves}, h.Cols)
			if op.commits() && slot == op.slot { // a slot for one run alone leaves nothing to commit
				kept.ids = append(kept.ids[:0], b.Src...)
				kept.rows = append(kept.rows[:0], op.committed(c.Run, h.Floats).Data...)
			}
		}
	})
}

// committed returns the rows that the history takes, for the input h: before dropout.
func (op *propagate) committed(r *plan.Run, h plan.Floats) plan.Floats {
	if below, ok := op.inputs[0].Op().(*activate); ok {
		return plan.StateOf[activateRun](r, below).whole.Floats
	}
	return h
}

// onDevice computes op on c's device.
func (op *propagate) onDevice(c *plan.Call, slot *Slot, x *graph.Features, h, to plan.Matrix) error {
	q := slotOf(c.Run, op.slot)
	local := slot.full.Local
	var ids device.Pointer
	var err error
	if x != nil {
		local, ids = 0, q.src
		if h.At, err = c.Device.Features(x); err != nil {
			return err
		}
	}
	if l := slot.full.Laplacian; l != nil {
		return c.Device.Propagate(to.At, l, slot.full.Nodes, 0, to.Rows, h.At, local, to.Cols)
	}
	if err := c.Device.SpMM(to.At, q.matrix, ids, h.At, to.Cols); err != nil || op.history == nil || c.Inference || q.block.Control == nil {
		return err
	}
	s := op.history.placed
	err = cmp.Or(s.current(), c.Device.AddSpMM(to.At, q.control, s.at, to.Cols))
	if err == nil && op.commits() && slot == op.slot {
		s.rows = op.committed(c.Run, h.Floats).At
		s.ids = q.src
		s.count = len(q.block.Src)
	}
	return err
}

// propagateSparse computes P̃·X of sparse features on the CPU. The product is a sparse matrix
// unless it is crowded. It is a dense one too if a consumer cannot read the sparse one.
func (op *propagate) propagateSparse(c *plan.Call, slot *Slot, x *graph.CSR) {
	s, b := op.of(c.Run), slot.block
	a := &b.Matrix
	rows, entries := a.Rows, a.NNZ()
	if p := slot.full.P; p != nil { // one decision for all rows: a row has the same bits in any block
		rows = p.Nodes()
		entries = p.Adjacency.NNZ() + int64(p.Nodes())
	}
	if s.crowded = kernel.Crowded(rows, entries, x); !s.crowded {
		s.product.Multiply(&s.mixed, a, b.Src, x)
		if gathered(c.Run, op.node, false) {
			c.OutMatrix(1, x.Cols) // for Gorgonia's own machines, which need some value
			return
		}
	}
	to := c.OutMatrix(a.Rows, x.Cols)
	kernel.SpMMSparse(to.Data, a, b.Src, x)
}

// keepRows finds the rows of the output that depend on H: the rows of A with an entry for a row of H
// that may differ from zero. A history fills the others.
func (op *propagate) keepRows(r *plan.Run, a *graph.CSR) {
	below := nonzero(r, op.below, false)
	op.of(r).set.collect(a.Rows, func(i int) bool {
		for _, j := range a.Row(i) {
			if below == nil || below.has[j] {
				return true
			}
		}
		return false
	})
}

func (op *propagate) differentiate(d *gradients, _, grad *G.Node) {
	back := op.backward("Back", op.back)
	back.slot, back.parts = op.slot, partTransposed
	d.add(0, back, grad)
}

func (op *propagate) back(c *plan.Call) error {
	_, b := op.slot.of(c)
	grad := c.Matrix(0)
	if grad.Rows != b.Transposed.Cols {
		return c.Sizes("gradient of %d rows, its block has %d output nodes", grad.Rows, b.Transposed.Cols)
	}
	to := c.OutMatrix(b.Transposed.Rows, grad.Cols)
	return c.On(func() error {
		return c.Device.SpMM(to.At, slotOf(c.Run, op.slot).transposed, 0, grad.At, grad.Cols)
	}, func() {
		kernel.SpMM(to.Data, &b.Transposed, grad.Data, grad.Cols)
	})
}
