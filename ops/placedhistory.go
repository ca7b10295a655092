package ops

import (
	"errors"
	"fmt"

	"github.com/gcn-layerwise/gcn/internal/device"
	"github.com/gcn-layerwise/gcn/internal/plan"
)

// placedHistory is a History's rows on a device, which all placements of its op
// share. The rows there and those of the host are copied when the other side wants
// what one has newer.
type placedHistory struct {
	d       *device.Device
	of      *History
	memory  *device.Buffer
	at      device.Pointer
	holders int // placements that use it

	hostCounts  bool // the host's rows may be other than those here
	hostIsStale bool // rows were committed here since the host had them

	// What Commit takes: rows of the last run over a control.
	rows, ids device.Pointer
	count     int // 0: nothing
	by        *plan.Placement
	sent      device.Sent

	err error // of a call that had nobody to tell
}

var _ historyOnDevice = (*placedHistory)(nil)

// placeHistory returns h's rows on the device of p. The first call takes their
// memory.
func placeHistory(p *plan.Placement, h *History) (*placedHistory, error) {
	d := p.Device()
	s, ok := h.placed.(*placedHistory)
	if ok && s.d != d {
		return nil, fmt.Errorf("ops: a history cannot be on two devices")
	}
	if !ok {
		s = &placedHistory{d: d, of: h, memory: d.NewBuffer(), hostCounts: h.values != nil}
		var err error
		if s.at, err = s.memory.Bytes(max(h.Bytes(), 4)); err != nil {
			return nil, fmt.Errorf("ops: history of %d nodes, %d wide: %w", h.nodes, h.width, err)
		}
		if err := d.Clear(s.at, h.Bytes()); err != nil {
			return nil, errors.Join(err, s.memory.Free())
		}
		h.placed = s
	}
	s.holders++
	p.AddResident(s)
	return s, nil
}

// add queues out += (P−P̃)·H̄ over q's block, and notes the rows to be committed,
// one for each of the block's input nodes. A block without a control leaves both
// as they are.
func (s *placedHistory) add(p *plan.Placement, q *placedSlot, out, rows device.Pointer, width int) error {
	if s.err != nil {
		return s.err
	}
	if q.block.Control == nil {
		return nil
	}
	if width != s.of.width {
		return fmt.Errorf("ops: Propagate: values of width %d for a history of width %d: %w", width, s.of.width, ErrShape)
	}
	if err := s.toDevice(); err != nil {
		return err
	}
	if err := s.d.AddSpMM(out, q.control, s.at, width); err != nil {
		return err
	}
	s.rows, s.ids, s.count, s.by, s.sent = rows, q.src, len(q.block.Src), p, p.Uploader().Sent()
	return nil
}

// Begin forgets the rows of p's last run that were not committed. The next run
// overwrites them.
func (s *placedHistory) Begin(p *plan.Placement) {
	if s.by == p {
		s.count = 0
	}
}

func (s *placedHistory) commit() {
	if s.count == 0 || s.err != nil {
		return
	}
	n := s.count
	s.count = 0
	if s.err = s.toDevice(); s.err != nil {
		return
	}
	s.hostIsStale = true
	if s.err = s.d.Scatter(s.at, s.rows, s.ids, s.by.Status(), n, s.of.width); s.err == nil {
		s.err = s.sent.Used()
	}
}

// toDevice makes the rows here those that count.
func (s *placedHistory) toDevice() error {
	if !s.hostCounts {
		return nil
	}
	err := device.Write(s.d, s.at, s.of.values)
	s.hostCounts = err != nil
	return err
}

func (s *placedHistory) toHost(values []float32) {
	s.hostCounts = true
	if !s.hostIsStale {
		return
	}
	s.hostIsStale = false
	if err := device.Read(s.d, values, s.at); s.err == nil {
		s.err = err
	}
}

// Pull waits, and makes the rows that the host has current.
func (s *placedHistory) Pull() error {
	if s.hostIsStale {
		s.of.Values()
	}
	return s.err
}

// Release ends p's use of the history. The last one moves the rows back to the
// host.
func (s *placedHistory) Release(p *plan.Placement) error {
	s.Begin(p)
	if s.holders--; s.holders > 0 {
		return nil
	}
	if s.hostIsStale {
		s.of.Values()
	}
	s.of.placed = nil
	return errors.Join(s.err, s.memory.Free())
}
