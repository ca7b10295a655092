package ops

import (
	"fmt"

	"github.com/chewxy/hm"
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
	if slot == nil {
		return nil, fmt.Errorf("ops: Propagate needs a slot")
	}
	if err := checkMatrix("Propagate", h); err != nil {
		return nil, err
	}
	if h.Shape()[0] != slot.src {
		return nil, fmt.Errorf("ops: Propagate: H has %d rows, its slot %d input nodes: %w", h.Shape()[0], slot.src, ErrShape)
	}
	op := &propagate{base: newBase(h.Graph(), "propagate", 1), slot: slot, wanted: variable(h)}
	if op.history = slot.newHistory(h.Shape()[1]); op.history != nil {
		if below, ok := h.Op().(*activate); ok && !slot.refreshed {
			below.keepActivations, op.activations = true, below
		}
		return apply(op, h)
	}
	if source, ok := h.Op().(*features); ok && source.slot == slot && !source.outputs && source.x.Half == nil {
		op.source = source
	}
	op.below = sparseOf(h)
	n, err := apply(op, h)
	op.node = n
	return n, err
}

// propagate multiplies by a block's matrix, or by its transpose.
type propagate struct {
	base
	consumers
	slot       *Slot
	transposed bool
	wanted     bool      // H gets a gradient
	source     *features // the op of H, if its rows can be gathered here; or nil

	below sparse // the op of H, if it is sparse; or nil
	set   rowSet // rows of the output that may differ from zero
	live  []bool // rows of H that may differ from zero

	product kernel.SparseProduct // of sparse features
	mixed   graph.CSR            // P̃·X of the last run on the CPU, if the features are sparse
	crowded bool                 // P̃·X of the last run is only dense

	history     *History  // nil: the slot keeps none
	drawn       rowSet    // with a history, the rows of the matrix with an entry
	activations *activate // the op of H, if the history takes its rows before dropout
}

var _ gatherer = (*propagate)(nil)

func (op *propagate) gathers(source G.Op) bool { return op.source != nil && source == G.Op(op.source) }

func (op *propagate) sparseRows() *graph.CSR {
	if op.crowded {
		return nil
	}
	return &op.mixed
}

func (op *propagate) Type() hm.Type { return hm.NewFnType(matrixType(), matrixType()) }

func (op *propagate) InferShape(in ...G.DimSizer) (tensor.Shape, error) {
	cols, err := nominal(in, 0, 1)
	if op.transposed {
		return tensor.Shape{op.slot.src, cols}, err
	}
	return tensor.Shape{op.slot.dst, cols}, err
}

func (op *propagate) Do(in ...G.Value) (G.Value, error) { return op.Compute(&op.own, false, in...) }

// Memory: a history may read the rows of H after the run, unless its owner fills it.
func (op *propagate) Memory() plan.Memory {
	return plan.Memory{Result: plan.InBuffer, KeepsInputs: op.history != nil && !op.history.refreshed}
}

func (op *propagate) Compute(out *plan.Buffer, _ bool, in ...G.Value) (G.Value, error) {
	b, err := op.slot.current("Propagate")
	if err != nil {
		return nil, err
	}
	if err := op.checkBlock(b); err != nil {
		return nil, err
	}
	a := &b.Matrix
	if op.transposed {
		a = &b.Transposed
	}
	if f := op.source; f != nil && f.x.Sparse != nil {
		return op.propagateSparse(out, b), nil
	}
	if f := op.source; f != nil && f.skipped(f) { // f has checked the ids
		value, data := out.Matrix(a.Rows, f.x.Cols)
		op.keepRows(a)
		ids := b.Src
		if f.x.Share != nil {
			ids = f.places
		}
		kernel.SpMMGather(data, a, ids, f.x.Data, f.x.Cols)
		if op.slot.observed {
			op.slot.observeFeatures(f.x, ids)
		}
		return value, nil
	}
	h, err := matrixOf("Propagate", in[0])
	if err != nil {
		return nil, err
	}
	if h.rows != a.Cols {
		return nil, fmt.Errorf("ops: Propagate: %d×%d matrix times %d×%d: %w", a.Rows, a.Cols, h.rows, h.cols, ErrShape)
	}
	if !op.transposed {
		op.keepRows(a)
		if op.slot.observed {
			op.slot.observeRows(h.data, h.cols)
		}
	}
	value, data := out.Matrix(a.Rows, h.cols)
	if op.history == nil || b.Control == nil {
		kernel.SpMM(data, a, h.data, h.cols)
		return value, nil
	}
	rows := h.data
	if op.activations != nil {
		rows = op.activations.activations
	}
	return value, op.history.propagate(b, data, h.data, rows, h.cols)
}

// checkBlock returns an error if b has no matrix.
func (op *propagate) checkBlock(b *graph.Block) error {
	if b.Matrix.Rows != len(b.Dst) {
		return fmt.Errorf("ops: Propagate: its slot has the rows of Slot.SetRows and no matrix: call Slot.Set before the run: %w", ErrShape)
	}
	return nil
}

// propagateSparse computes P̃·X of sparse features. The product is a sparse matrix unless it
// is crowded. It is a dense one too if a consumer cannot read the sparse one.
func (op *propagate) propagateSparse(out *plan.Buffer, b *graph.Block) *tensor.Dense {
	x, a := op.source.x.Sparse, &b.Matrix
	op.keepRows(a)
	if op.slot.observed {
		op.slot.observeFeatures(op.source.x, b.Src)
	}
	if op.crowded = kernel.Crowded(a.Rows, a.NNZ(), x); !op.crowded {
		op.product.Multiply(&op.mixed, a, b.Src, x)
		if op.skipped(op) {
			value, _ := out.Matrix(1, x.Cols) // a machine needs some value
			return value
		}
	}
	value, data := out.Matrix(a.Rows, x.Cols)
	kernel.SpMMSparse(data, a, b.Src, x)
	return value
}

func (op *propagate) Place(p *plan.Placement, _ *G.Node) (plan.Kernel, error) {
	q, d := slotOf(p, op.slot), p.Device()
	var history *placedHistory
	if op.history != nil {
		var err error
		if history, err = placeHistory(p, op.history); err != nil {
			return nil, err
		}
		q.needs.control, q.needs.src = true, q.needs.src || !op.history.refreshed
	}
	var x device.Pointer
	gathers := op.source != nil && op.source.skippedOnDevice(op.source)
	if gathers {
		var err error
		if x, err = d.Features(op.source.x); err != nil {
			return nil, err
		}
		q.needs.src = true
	}
	q.needs.matrix = q.needs.matrix || !op.transposed
	q.needs.transposed = q.needs.transposed || op.transposed
	return func(in []*plan.Array, out *plan.Result) (*plan.Array, error) {
		if err := op.checkBlock(q.block); err != nil {
			return nil, err
		}
		m, ids, from, cols := q.matrix, device.Pointer(0), x, 0
		if op.transposed {
			m = q.transposed
		}
		if gathers {
			ids, cols = q.src, op.source.x.Cols
		} else {
			rows, width, at, err := in[0].Matrix("Propagate")
			if err != nil {
				return nil, err
			}
			if rows != m.Cols {
				return nil, fmt.Errorf("ops: Propagate: %d×%d matrix times %d×%d: %w", m.Rows, m.Cols, rows, width, ErrShape)
			}
			from, cols = at, width
		}
		if op.slot.observed && !op.transposed {
			if gathers {
				op.slot.observeFeatures(op.source.x, q.block.Src)
			} else if err := op.slot.observePlaced(d, from, m.Cols, cols); err != nil {
				return nil, err
			}
		}
		value, to, err := out.Matrix(m.Rows, cols)
		if err != nil {
			return nil, err
		}
		if err := d.SpMM(to, m, ids, from, cols); err != nil || history == nil {
			return value, err
		}
		rows := from
		if op.activations != nil {
			below, _ := plan.StateOf[placedActivate](p, op.activations)
			rows = below.whole
		}
		return value, history.add(p, q, to, rows, cols)
	}, nil
}

// keepRows finds the rows of the output that may differ from zero: the rows of A with an
// entry for such a row of H.
func (op *propagate) keepRows(a *graph.CSR) {
	filled := func(i int) bool { return a.Ptr[i] < a.Ptr[i+1] }
	if op.history != nil {
		op.set.all = true
		op.drawn.collect(a.Rows, filled)
		return
	}
	var below []int32
	if op.below != nil {
		below = op.below.nonzero()
	}
	if below == nil {
		op.set.collect(a.Rows, filled)
		return
	}
	op.live = scratch(op.live, a.Cols)
	clear(op.live)
	for _, j := range below {
		op.live[j] = true
	}
	op.set.collect(a.Rows, func(i int) bool {
		for _, j := range a.Row(i) {
			if op.live[j] {
				return true
			}
		}
		return false
	})
}

func (op *propagate) nonzero() []int32 {
	if op.transposed {
		return nil
	}
	return op.set.nonzero()
}

// propagatedRows are the rows of a propagation with a history that depend on H. The history
// fills the others, so that they may differ from zero, but their gradient is not read.
type propagatedRows struct{ op *propagate }

func (r propagatedRows) nonzero() []int32 { return r.op.drawn.nonzero() }

func (op *propagate) DiffWRT(int) []bool { return []bool{op.wanted} }

func (op *propagate) SymDiff(in G.Nodes, _, grad *G.Node) (G.Nodes, error) {
	back := &propagate{base: newBase(grad.Graph(), "propagateBack", 1), slot: op.slot, transposed: !op.transposed}
	dh, err := apply(back, grad)
	return G.Nodes{dh}, err
}
