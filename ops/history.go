package ops

import (
	"fmt"

	"github.com/gcn-layerwise/gcn/graph"
	"github.com/gcn-layerwise/gcn/internal/kernel"
)

// History is H̄ of the control variate
//
//	P̃·H + (P − P̃)·H̄
//
// (Chen, Zhu & Song 2018, arXiv:1710.10568), with the remainder P − P̃ from the
// block's Control. It holds, for every node of the graph, the input row of a Propagate
// op at the node's last commit. Rows that were never committed are 0.
//
// As in the paper the rows are activations: the output of the layer below, after its
// nonlinearity. With dropout they are the activations before dropout. These are the
// expectation of the dropped ones given the layers below, so the estimate is unbiased
// given the masks, and the history holds no old masks. The paper's CVD also rescales
// the noise of the dropout; History does not.
//
// A refreshed history (Slot.KeepRefreshed) has rows that its owner fills and numbers, such
// as H̄ of some nodes followed by P·H̄ of others; a block's Control refers to them. Steps do
// not change it.
//
// A history belongs to one op and to the goroutine that runs its machine.
type History struct {
	nodes, width int
	refreshed    bool      // filled by its owner: Commit changes nothing
	values       []float32 // nodes×width; nil before the first use
	exact        []float32 // (P−P̃)·H̄ of the last run

	// Rows of the last run, for Commit.
	ids  []int32
	rows []float32

	placed historyOnDevice // nil: the rows are only on the host
}

// historyOnDevice holds a history's rows while its op is placed on a device.
type historyOnDevice interface {
	// toHost copies the rows to values if the device has newer ones. The host may
	// write to values afterwards. The next run returns the error.
	toHost(values []float32)
	// commit queues a Commit.
	commit()
}

// Width returns the length of a row.
func (h *History) Width() int { return h.width }

// Bytes returns the size of the rows.
func (h *History) Bytes() int64 { return 4 * int64(h.nodes) * int64(h.width) }

// Values returns the rows, nodes×width, row-major. Writing to them changes the
// history; a checkpoint is restored in this way.
//
// If the model is on a GPU, the rows lie there: Values waits and copies them to the
// host. The caller may write to them until the next run.
func (h *History) Values() []float32 {
	if h.values == nil {
		h.values = make([]float32, h.nodes*h.width)
	}
	if h.placed != nil {
		h.placed.toHost(h.values)
	}
	return h.values
}

// Commit stores the rows of the last run over a block with a control, one for each
// input node. A run alone does not change the history, so a step can be repeated or
// dropped. Cost: O(len(Src)·width). A GPU only queues it.
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

// add adds (P−P̃)·H̄ of block b to out, and keeps a copy of rows for Commit.
func (h *History) add(b *graph.Block, out, rows []float32, width int) error {
	if width != h.width || len(rows) != len(b.Src)*width {
		return fmt.Errorf("ops: Propagate: %d values of width %d for a history of width %d and %d nodes: %w", len(rows), width, h.width, len(b.Src), ErrShape)
	}
	h.exact = scratch(h.exact, len(out))
	kernel.SpMM(h.exact, &b.Control.Matrix, h.Values(), width)
	for k, v := range h.exact {
		out[k] += v
	}
	if !h.refreshed {
		h.ids = append(h.ids[:0], b.Src...)
		h.rows = append(h.rows[:0], rows...)
	}
	return nil
}

// KeepHistory makes the slot accept blocks with a Control, in a graph of the given
// number of nodes. Every later Propagate over the slot then keeps a History and adds
// (P−P̃)·H̄. Without KeepHistory such blocks are an error, since the estimate without the
// control is a different one.
func (s *Slot) KeepHistory(nodes int) { s.nodes = nodes }

// KeepRefreshed is KeepHistory for histories of the given number of rows, which their owner
// fills by History.Values. The columns of a block's Control are these rows.
func (s *Slot) KeepRefreshed(rows int) { s.nodes, s.refreshed = rows, true }

// KeepsHistory reports whether KeepHistory or KeepRefreshed was called.
func (s *Slot) KeepsHistory() bool { return s.nodes > 0 }

// Histories returns the histories of the Propagate ops over the slot, in the order of
// construction.
func (s *Slot) Histories() []*History { return s.histories }

// newHistory returns a history of the given width, or nil if the slot keeps none.
func (s *Slot) newHistory(width int) *History {
	if !s.KeepsHistory() {
		return nil
	}
	h := &History{nodes: s.nodes, width: width, refreshed: s.refreshed}
	s.histories = append(s.histories, h)
	return h
}

// checkControl returns an error if b's control does not fit the slot and the block.
func (s *Slot) checkControl(b *graph.Block) error {
	if b.Control == nil {
		return nil
	}
	m := &b.Control.Matrix
	switch {
	case !s.KeepsHistory():
		return fmt.Errorf("ops: block has a control, but its slot keeps no history: %w", graph.ErrInvalid)
	case m.Rows != len(b.Dst) || m.Cols != s.nodes:
		return fmt.Errorf("ops: block of %d output nodes has a %d×%d control, for a history of %d rows: %w", len(b.Dst), m.Rows, m.Cols, s.nodes, graph.ErrInvalid)
	}
	for k, node := range b.Src {
		if s.refreshed {
			break // its rows are not those of nodes
		}
		if node < 0 || int(node) >= s.nodes {
			return fmt.Errorf("ops: input node %d of the block is %d, outside [0, %d): %w", k, node, s.nodes, graph.ErrInvalid)
		}
	}
	if err := m.Validate(); err != nil {
		return fmt.Errorf("ops: block control: %w", err)
	}
	return nil
}
