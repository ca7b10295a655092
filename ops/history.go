package ops

import (
	"fmt"

	"github.com/gcn-layerwise/gcn/graph"
	"github.com/gcn-layerwise/gcn/internal/kernel"
)

// History keeps, for every node of the graph, the row of H that a Propagate op
// took for it when it was last committed: H̄ of the control variate
//
//	P̃·H + (P − P̃)·H̄
//
// (Chen, Zhu & Song 2018, arXiv:1710.10568), with the remainder P − P̃ from the
// block's Control. Rows that were never committed are 0.
//
// As in the paper the rows are activations: what comes out of the layer below,
// after its nonlinearity, since that is what P multiplies. With dropout they
// are the activations before it, which are the expectation of those after,
// given the layers below; so the estimate stays unbiased given the masks, and
// the history carries no masks of the past. The paper's CVD also rescales the
// dropout's own noise; that is left out.
//
// A history belongs to one op and to the goroutine that runs its machine.
type History struct {
	nodes, width int
	values       []float32 // nodes×width; made when first needed
	exact        []float32 // (P−P̃)·H̄ of the last run

	// Rows of the last run, to be committed.
	ids  []int32
	rows []float32

	placed historyOnDevice // nil: the rows are here alone
}

// historyOnDevice is where a history's rows lie while its op is placed on a device.
type historyOnDevice interface {
	// toHost makes the host's rows those that count, and lets them be written to.
	// An error is that of the next run.
	toHost(values []float32)
	// commit queues what Commit does.
	commit()
}

// Width returns the length of a row.
func (h *History) Width() int { return h.width }

// Bytes returns the memory of the rows that are kept.
func (h *History) Bytes() int64 { return 4 * int64(h.nodes) * int64(h.width) }

// Values returns the rows, nodes×width, row-major. Writing to them changes the
// history, as restoring a checkpoint does.
//
// While a program runs on a device the rows lie there, and Values waits for it and
// copies them; they may be written to until the next run.
func (h *History) Values() []float32 {
	if h.values == nil {
		h.values = make([]float32, h.nodes*h.width)
	}
	if h.placed != nil {
		h.placed.toHost(h.values)
	}
	return h.values
}

// Commit keeps the rows of the last run over a block with a control, those of
// its input nodes. Until then the history is as it was, so that a step can be
// run again, or dropped. Cost: O(len(Src)·width); on a device it is only queued.
func (h *History) Commit() {
	if h.placed != nil {
		h.placed.commit()
	}
	if len(h.ids) == 0 {
		return
	}
	values := h.Values()
	for k, node := range h.ids {
		copy(values[int(node)*h.width:][:h.width], h.rows[k*h.width:])
	}
	h.ids = h.ids[:0]
}

// add adds (P−P̃)·H̄ of block b to out, and notes the rows to be committed.
func (h *History) add(b *graph.Block, out, rows []float32, width int) error {
	if width != h.width || len(rows) != len(b.Src)*width {
		return fmt.Errorf("ops: Propagate: %d values of width %d for a history of width %d and %d nodes: %w", len(rows), width, h.width, len(b.Src), ErrShape)
	}
	h.exact = scratch(h.exact, len(out))
	kernel.SpMM(h.exact, &b.Control.Matrix, h.Values(), width)
	for k, v := range h.exact {
		out[k] += v
	}
	h.ids = append(h.ids[:0], b.Src...)
	h.rows = append(h.rows[:0], rows...)
	return nil
}

// KeepHistory lets blocks with a Control be set, in a graph of the given number
// of nodes: every Propagate made over the slot afterwards keeps a History, and
// adds what the Control stands for. Without it such blocks are an error, since
// leaving the control out would be another estimate.
func (s *Slot) KeepHistory(nodes int) { s.nodes = nodes }

// KeepsHistory reports whether KeepHistory was called.
func (s *Slot) KeepsHistory() bool { return s.nodes > 0 }

// Histories returns those of the Propagate ops over the slot, in the order of
// their making.
func (s *Slot) Histories() []*History { return s.histories }

// newHistory returns a history of rows of the given width, nil where the slot
// keeps none.
func (s *Slot) newHistory(width int) *History {
	if !s.KeepsHistory() {
		return nil
	}
	h := &History{nodes: s.nodes, width: width}
	s.histories = append(s.histories, h)
	return h
}

// checkControl reports a control that is not one for this slot and block.
func (s *Slot) checkControl(b *graph.Block) error {
	if b.Control == nil {
		return nil
	}
	m := &b.Control.Matrix
	switch {
	case !s.KeepsHistory():
		return fmt.Errorf("ops: block has a control, but its slot keeps no history: %w", graph.ErrInvalid)
	case m.Rows != len(b.Dst) || m.Cols != s.nodes:
		return fmt.Errorf("ops: block of %d output nodes has a %d×%d control, in a graph of %d nodes: %w", len(b.Dst), m.Rows, m.Cols, s.nodes, graph.ErrInvalid)
	}
	for k, node := range b.Src {
		if node < 0 || int(node) >= s.nodes {
			return fmt.Errorf("ops: block's input node %d is %d, outside [0, %d): %w", k, node, s.nodes, graph.ErrInvalid)
		}
	}
	if err := m.Validate(); err != nil {
		return fmt.Errorf("ops: block control: %w", err)
	}
	return nil
}
