package ops

import (
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
	if slot == nil {
		return nil, fmt.Errorf("ops: Propagate needs a slot")
	}
	if err := checkMatrix("Propagate", h); err != nil {
		return nil, err
	}
	if h.Shape()[0] != slot.src {
		return nil, fmt.Errorf("ops: Propagate: H has %d rows, its slot %d input nodes: %w", h.Shape()[0], slot.src, ErrShape)
	}
	op := &propagate{base: base{name: "propagate"}, slot: slot}
	shape := tensor.Shape{slot.dst, h.Shape()[1]}
	if op.history = slot.newHistory(h.Shape()[1]); op.history != nil {
		if below, ok := h.Op().(*activate); ok && op.commits() {
			op.activations = below
		}
		return apply(op, shape, h)
	}
	if source, ok := h.Op().(*features); ok && source.slot == slot && !source.outputs && source.x.Half == nil {
		op.source = source
	}
	op.below = sparseOf(h)
	return apply(op, shape, h)
}

// propagate multiplies by a block's matrix, or by its transpose.
type propagate struct {
	base
	slot        *Slot
	transposed  bool
	source      *features // the op of H, if its rows can be gathered here; or nil
	below       sparse    // the op of H, if it is sparse; or nil
	history     *History  // nil: the slot keeps none
	activations *activate // the op of H, if the history takes its rows before dropout
}

// propagateRun is the state of a propagation in a run on the CPU.
type propagateRun struct {
	gathered bool   // by all readers
	set      rowSet // rows of the output that may differ from zero
	live     []bool // rows of H that may differ from zero
	drawn    rowSet // with a history, the rows of the matrix with an entry

	product kernel.SparseProduct // of sparse features
	mixed   graph.CSR            // P̃·X, if the features are sparse
	crowded bool                 // P̃·X is only dense
}

func (op *propagate) of(r *plan.Run) *propagateRun {
	return plan.StateOf(r, op, func(s *propagateRun) { s.gathered = gathered(r.Plan, op.node, false) })
}

// Rows says that op reads the input rows of its slot, and gives the output rows.
func (op *propagate) Rows() (any, plan.RowKind) { return op.slot, plan.PropagatedRows }

// commits reports whether steps write to op's history.
func (op *propagate) commits() bool { return op.history != nil && !op.history.refreshed }

var _ gatherer = (*propagate)(nil)

func (op *propagate) gathers(source G.Op) bool { return op.source != nil && source == G.Op(op.source) }

func (op *propagate) sparseRows(r *plan.Run) *graph.CSR {
	s := op.of(r)
	if s.crowded {
		return nil
	}
	return &s.mixed
}

// Memory: a history may read the rows of H after the run, unless its owner fills it.
func (op *propagate) Memory(*plan.Plan) plan.Memory {
	return plan.Memory{Result: plan.InBuffer, KeepsInputs: op.commits()}
}

func (op *propagate) Compute(r *plan.Run, out *plan.Buffer, in ...G.Value) (G.Value, error) {
	slot := plan.In(r, op.slot)
	b, err := slot.current("Propagate")
	if err != nil {
		return nil, err
	}
	if rows := slot.rowsOf; rows.P != nil {
		return op.propagateRows(out, b, rows, in[0])
	}
	if err := op.checkBlock(b); err != nil {
		return nil, err
	}
	a := &b.Matrix
	if op.transposed {
		a = &b.Transposed
	}
	if f := op.source; f != nil && f.x.Sparse != nil {
		return op.propagateSparse(r, out, slot), nil
	}
	if f := op.source; f != nil && f.of(r).gathered { // f has checked the ids
		x := f.in(r)
		value, data := out.Matrix(a.Rows, x.Cols)
		op.keepRows(r, a)
		ids := b.Src
		if x.Share != nil {
			ids = f.of(r).places
		}
		kernel.SpMMGather(data, a, ids, x.Data, x.Cols)
		if slot.observed {
			slot.observeFeatures(x, ids)
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
		op.keepRows(r, a)
		if slot.observed {
			slot.observeRows(h.data, h.cols)
		}
	}
	value, data := out.Matrix(a.Rows, h.cols)
	if op.history == nil || b.Control == nil {
		kernel.SpMM(data, a, h.data, h.cols)
		return value, nil
	}
	if err := op.history.propagate(b, data, h.data, h.cols); err != nil {
		return nil, err
	}
	if op.commits() && slot == op.slot { // a slot for one run alone leaves nothing to commit
		rows := h.data
		if op.activations != nil {
			rows = op.activations.of(r).whole
		}
		op.history.keep(b.Src, rows)
	}
	return value, nil
}

// propagateRows computes rows of P·H over full neighbourhoods.
func (op *propagate) propagateRows(out *plan.Buffer, b *graph.Block, rows RowsOf, in G.Value) (G.Value, error) {
	h, err := matrixOf("Propagate", in)
	if err != nil {
		return nil, err
	}
	if h.rows != len(b.Src) {
		return nil, fmt.Errorf("ops: Propagate: %d rows of P times %d×%d, want %d rows: %w", len(b.Dst), h.rows, h.cols, len(b.Src), ErrShape)
	}
	value, data := out.Matrix(len(b.Dst), h.cols)
	kernel.PropagateRows(data, rows.P, b.Dst, h.data, h.cols, rows.Place)
	return value, nil
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
func (op *propagate) propagateSparse(r *plan.Run, out *plan.Buffer, slot *Slot) *tensor.Dense {
	s, b, features := op.of(r), slot.block, op.source.in(r)
	a, x := &b.Matrix, features.Sparse
	op.keepRows(r, a)
	if slot.observed {
		slot.observeFeatures(features, b.Src)
	}
	rows, entries := a.Rows, a.NNZ()
	if p := slot.full; p != nil { // one decision for all rows: a row has the same bits in any block
		rows, entries = p.Nodes(), p.Adjacency.NNZ()+int64(p.Nodes())
	}
	if s.crowded = kernel.Crowded(rows, entries, x); !s.crowded {
		s.product.Multiply(&s.mixed, a, b.Src, x)
		if s.gathered {
			value, _ := out.Matrix(1, x.Cols) // a machine needs some value
			return value
		}
	}
	value, data := out.Matrix(a.Rows, x.Cols)
	kernel.SpMMSparse(data, a, b.Src, x)
	return value
}

func (op *propagate) Place(p *plan.Placement) (plan.Kernel, error) {
	q, d := slotOf(p, op.slot), p.Device()
	var history *placedHistory
	if op.history != nil && !p.Plan.Inference {
		var err error
		if history, err = placeHistory(p, op.history); err != nil {
			return nil, err
		}
		q.needs.control, q.needs.src = true, q.needs.src || op.commits()
	}
	gathers := op.source != nil && gathered(p.Plan, op.source.node, true)
	q.needs.src = q.needs.src || gathers
	q.needs.matrix = q.needs.matrix || !op.transposed
	q.needs.transposed = q.needs.transposed || op.transposed
	return func(in []*plan.Array, out *plan.Result) (*plan.Array, error) {
		full := q.rows.Laplacian != nil
		if !full {
			if err := op.checkBlock(q.block); err != nil {
				return nil, err
			}
		}
		m, ids, from, cols := q.matrix, device.Pointer(0), device.Pointer(0), 0
		if op.transposed {
			m = q.transposed
		}
		if full {
			m.Rows, m.Cols = len(q.block.Dst), len(q.block.Src)
		}
		if gathers {
			var err error
			if from, err = d.Features(op.source.in(p.Run)); err != nil {
				return nil, err
			}
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
		if slot := plan.In(p.Run, op.slot); slot.observed && !op.transposed {
			if gathers {
				slot.observeFeatures(op.source.x, q.block.Src)
			} else if err := slot.observePlaced(d, from, m.Cols, cols); err != nil {
				return nil, err
			}
		}
		value, to, err := out.Matrix(m.Rows, cols)
		if err != nil {
			return nil, err
		}
		if full {
			local := q.rows.Local
			if gathers {
				local = 0
			}
			return value, d.Propagate(to, q.rows.Laplacian, q.rows.Nodes, 0, m.Rows, from, local, cols)
		}
		if err := d.SpMM(to, m, ids, from, cols); err != nil || history == nil {
			return value, err
		}
		rows := from
		if op.activations != nil {
			rows = op.activations.of(p.Run).placed.whole
		}
		return value, history.add(p, q, to, rows, cols)
	}, nil
}

// keepRows finds the rows of the output that may differ from zero: the rows of A with an
// entry for such a row of H.
func (op *propagate) keepRows(r *plan.Run, a *graph.CSR) {
	s := op.of(r)
	filled := func(i int) bool { return a.Ptr[i] < a.Ptr[i+1] }
	if op.history != nil {
		s.set.all = true
		s.drawn.collect(a.Rows, filled)
		return
	}
	var below []int32
	if op.below != nil {
		below = op.below.nonzero(r)
	}
	if below == nil {
		s.set.collect(a.Rows, filled)
		return
	}
	s.live = scratch(s.live, a.Cols)
	clear(s.live)
	for _, j := range below {
		s.live[j] = true
	}
	s.set.collect(a.Rows, func(i int) bool {
		for _, j := range a.Row(i) {
			if s.live[j] {
				return true
			}
		}
		return false
	})
}

func (op *propagate) nonzero(r *plan.Run) []int32 {
	if op.transposed {
		return nil
	}
	return op.of(r).set.nonzero()
}

// propagatedRows are the rows of a propagation with a history that depend on H. The history
// fills the others, so that they may differ from zero, but their gradient is not read.
type propagatedRows struct{ op *propagate }

func (p propagatedRows) nonzero(r *plan.Run) []int32 { return p.op.of(r).drawn.nonzero() }

func (op *propagate) SymDiff(_ G.Nodes, _, grad *G.Node) (G.Nodes, error) {
	d := op.gradients()
	d.add(0, &propagate{base: base{name: "propagateBack"}, slot: op.slot, transposed: !op.transposed}, grad)
	return d.nodes, d.err
}
