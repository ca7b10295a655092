package ops

import (
	"fmt"

	"github.com/gcn-layerwise/gcn/graph"
	"github.com/gcn-layerwise/gcn/internal/half"
	"github.com/gcn-layerwise/gcn/internal/memory"
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
// the noise of the dropout: see graph.Block.NoiseScale.
//
// A refreshed history (Slot.KeepRefreshed) has rows that its owner fills and numbers, such
// as H̄ of some nodes followed by P·H̄ of others; a block's Control refers to them. Steps do
// not change it. It may be in half precision: the estimate then uses the rounded
// rows.
//
// A history belongs to one op. Runs side by side may read it after a first call of Values, if
// nothing changes it meanwhile, and different rows may be set side by side after a first call
// of SetRows.
type History struct {
	nodes, width int
	refreshed    bool      // filled by its owner: Commit changes nothing
	half         bool      // refreshed, and kept in halves, not in values
	values       []float32 // nodes×width; nil before the first use
	halves       []uint16

	// Rows of the last run, for Commit.
	ids  []int32
	rows []float32

	placed *placedHistory // nil: the rows are only on the host
}

// Width returns the length of a row.
func (h *History) Width() int { return h.width }

// Bytes returns the size of the rows.
func (h *History) Bytes() int64 {
	size := int64(4)
	if h.half {
		size = 2
	}
	return size * int64(h.nodes) * int64(h.width)
}

// SetRows sets rows from the first one on, rounded if the history is in half precision.
// A GPU copies the changed history at the next run.
func (h *History) SetRows(first int, rows []float32) {
	at, values := first*h.width, h.Values()
	if !h.half {
		copy(values[at:][:len(rows)], rows)
		return
	}
	for k, v := range rows {
		h.halves[at+k] = half.FromFloat32(v)
	}
}

// Row returns row k in single precision, which must not be changed.
func (h *History) Row(k int) []float32 {
	rows := graph.Features{Cols: h.width, Data: h.Values(), Half: h.halves}
	return rows.Row(k)
}

// Values returns the rows, nodes×width, row-major. Writing to them changes the
// history; a checkpoint is restored in this way. A history in half precision has none.
//
// If the model is on a GPU, the rows lie there: Values waits and copies them to the
// host. The caller may write to them until the next run.
func (h *History) Values() []float32 {
	switch {
	case h.values != nil || h.halves != nil:
	case h.half:
		h.halves = make([]uint16, h.nodes*h.width)
	case h.refreshed: // all rows are written
		h.values = memory.Large[float32](h.nodes * h.width)
	default:
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

// KeepHistory makes the slot accept blocks with a Control, in a graph of the given
// number of nodes; 0 means none. Every later Propagate over the slot then keeps a History and adds
// (P−P̃)·H̄. Without KeepHistory such blocks are an error, since the estimate without the
// control is a different one.
func (s *Slot) KeepHistory(nodes int) { s.history = History{nodes: nodes} }

// KeepRefreshed is KeepHistory for histories of the given number of rows, which their owner
// fills by History.SetRows. The columns of a block's Control are these rows. With half they
// are kept in half precision, on the CPU only.
func (s *Slot) KeepRefreshed(rows int, half bool) {
	s.history = History{nodes: rows, refreshed: true, half: half}
}

// KeepsHistory reports whether KeepHistory or KeepRefreshed was called.
func (s *Slot) KeepsHistory() bool { return s.history.nodes > 0 }

// Histories returns the histories of the Propagate ops over the slot, in the order of
// construction.
func (s *Slot) Histories() []*History { return s.histories }

// newHistory returns a history of the given width, or nil if the slot keeps none.
func (s *Slot) newHistory(width int) *History {
	if !s.KeepsHistory() {
		return nil
	}
	h := s.history
	h.width = width
	s.histories = append(s.histories, &h)
	return &h
}

// checkControl returns an error if b's control does not fit the slot and the block.
func (s *Slot) checkControl(b *graph.Block) error {
	m := b.Control
	if m == nil {
		return nil
	}
	switch {
	case !s.KeepsHistory():
		return fmt.Errorf("ops: block has a control, but its slot keeps no history: %w", graph.ErrInvalid)
	case m.Rows != len(b.Dst) || m.Cols != s.history.nodes:
		return fmt.Errorf("ops: block of %d output nodes has a %d×%d control, for a history of %d rows: %w", len(b.Dst), m.Rows, m.Cols, s.history.nodes, graph.ErrInvalid)
	}
	for k, node := range b.Src {
		if !s.history.refreshed && (node < 0 || int(node) >= s.history.nodes) { // else its rows are not numbered as nodes
			return fmt.Errorf("ops: input node %d of the block is %d, outside [0, %d): %w", k, node, s.history.nodes, graph.ErrInvalid)
		}
	}
	if err := m.Validate(); err != nil {
		return fmt.Errorf("ops: block control: %w", err)
	}
	return nil
}
