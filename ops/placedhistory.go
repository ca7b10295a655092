package ops

import (
	"errors"
	"fmt"

	"github.com/gcn-layerwise/gcn/internal/device"
	"github.com/gcn-layerwise/gcn/internal/plan"
)

// placedHistory holds a History's rows on the device of one run. It copies rows between host and
// device when one side needs the other's newer rows.
type placedHistory struct {
	run    *plan.Run
	of     *History
	memory *device.Buffer
	at     device.Pointer

	deviceIsStale bool // the host may have written its rows
	hostIsStale   bool // rows were committed on the device since the last copy to the host

	// The rows of the run's last computation over a control, for Commit.
	rows, ids device.Pointer
	count     int // 0: no rows

	err error // of a call that cannot return one
}

// place puts h's rows on the device of r, which only one run may do at a time.
func (h *History) place(r *plan.Run) error {
	switch {
	case h.half:
		return fmt.Errorf("ops: a history in half precision is for the CPU: keep it in single precision on a GPU")
	case h.placed != nil:
		return fmt.Errorf("ops: a history is on a GPU already, for another run: close that run first")
	}
	s := &placedHistory{run: r, of: h, memory: r.Device.NewBuffer(), deviceIsStale: true}
	var err error
	if s.at, err = s.memory.Bytes(max(h.Bytes(), 4)); err != nil {
		return fmt.Errorf("ops: history of %d nodes, %d wide: %w", h.nodes, h.width, err)
	}
	h.placed = s
	r.AddResident(s)
	return nil
}

// on returns the rows in single precision on the processor of c.
func (h *History) on(c *plan.Call) plan.Floats {
	if c.Device == nil {
		return plan.Floats{Data: h.Values()}
	}
	c.Fail(h.placed.current())
	return plan.Floats{At: h.placed.at}
}

// current copies the host's rows to the device if they may be newer.
func (s *placedHistory) current() error {
	if s.err != nil || !s.deviceIsStale {
		return s.err
	}
	err := device.Write(s.run.Device, s.at, s.of.Values())
	s.deviceIsStale = err != nil
	return err
}

// Begin drops the rows of the last computation, which the next one overwrites.
func (s *placedHistory) Begin() { s.count = 0 }

// commit queues a Commit, before the next run is Done: the upload keeps ids until then.
func (s *placedHistory) commit() {
	n := s.count
	if s.count = 0; n == 0 {
		return
	}
	if s.err = s.current(); s.err != nil {
		return
	}
	s.hostIsStale = true
	s.err = s.run.Device.Scatter(s.at, s.rows, s.ids, s.run.Status, n, s.of.width)
}

// toHost copies the rows to values if the device has newer ones. The host may write to values
// afterwards. The next run returns the error. After a first call, calls side by side change
// nothing.
func (s *placedHistory) toHost(values []float32) {
	if !s.deviceIsStale {
		s.deviceIsStale = true
	}
	if !s.hostIsStale {
		return
	}
	s.hostIsStale = false
	if err := device.Read(s.run.Device, values, s.at); s.err == nil {
		s.err = err
	}
}

// Pull waits and brings the host's rows up to date.
func (s *placedHistory) Pull() error {
	if s.hostIsStale {
		s.of.Values()
	}
	return s.err
}

// Release moves the rows back to the host.
func (s *placedHistory) Release() error {
	err := s.Pull()
	s.of.placed = nil
	return errors.Join(err, s.memory.Free())
}
