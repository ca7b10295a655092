//go:build cuda

package ops

import (
	"fmt"

	"github.com/gcn-layerwise/gcn/internal/device"
)

// placedHistory is a History's rows on a device, which all placements of its op
// share. The rows there and those of the host are copied when the other side wants
// what one has newer.
type placedHistory struct {
	d       *Device
	of      *History
	memory  *device.Buffer
	at      device.Pointer
	holders int // placements that use it

	hostCounts  bool // the host's rows may be other than those here
	hostIsStale bool // rows were committed here since the host had them

	// What Commit takes: rows of the last run over a control.
	rows, ids device.Pointer
	count     int // 0: nothing
	by        *Placement
	sent      device.Sent

	err error // of a call that had nobody to tell
}

var _ historyOnDevice = (*placedHistory)(nil)

// history returns h's rows on the device, which take their memory now.
func (p *Placement) history(h *History) (*placedHistory, error) {
	s, ok := h.placed.(*placedHistory)
	if ok && s.d != p.d {
		return nil, fmt.Errorf("ops: a history cannot be on two devices")
	}
	if !ok {
		s = &placedHistory{d: p.d, of: h, memory: p.d.NewBuffer(), hostCounts: h.values != nil}
		var err error
		if s.at, err = s.memory.Bytes(max(h.Bytes(), 4)); err != nil {
			return nil, fmt.Errorf("ops: history of %d nodes, %d wide: %w", h.nodes, h.width, err)
		}
		if err := p.d.Clear(s.at, h.Bytes()); err != nil {
			return nil, firstError(err, s.memory.Free())
		}
		h.placed = s
	}
	s.holders++
	p.histories = append(p.histories, s)
	return s, nil
}

// add queues out += (P−P̃)·H̄ over q's block, and notes the rows to be committed,
// one for each of the block's input nodes. A block without a control leaves both
// as they are.
func (s *placedHistory) add(p *Placement, q *placedSlot, out, rows device.Pointer, width int) error {
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
	if err := p.d.AddSpMM(out, q.control, s.at, width); err != nil {
		return err
	}
	s.rows, s.ids, s.count, s.by, s.sent = rows, q.src, len(q.block.Src), p, p.upload.Sent()
	return nil
}

// drop forgets what p's last run left to be committed, which its next overwrites.
func (s *placedHistory) drop(p *Placement) {
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
	if s.err = s.d.Scatter(s.at, s.rows, s.ids, s.by.o.Status, n, s.of.width); s.err == nil {
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

// ReadHistories waits, and makes what the host has of the histories what Commit
// made of them.
func (p *Placement) ReadHistories() error {
	for _, s := range p.histories {
		if s.hostIsStale {
			s.of.Values()
		}
		if s.err != nil {
			return s.err
		}
	}
	return nil
}

// release ends p's use of the history; the last one moves the rows back to the
// host.
func (s *placedHistory) release(p *Placement) error {
	s.drop(p)
	if s.holders--; s.holders > 0 {
		return nil
	}
	if s.hostIsStale {
		s.of.Values()
	}
	s.of.placed = nil
	return firstError(s.err, s.memory.Free())
}
