package full

import (
	"errors"
	"runtime/debug"

	"github.com/gcn-layerwise/gcn/internal/device"
	"github.com/gcn-layerwise/gcn/internal/kernel"
	"github.com/gcn-layerwise/gcn/internal/memory"
	"github.com/gcn-layerwise/gcn/internal/plan"
)

// Bound bounds the memory of a call. The zero value sets no bound. The result has the same
// bits with any bound.
type Bound struct {
	// Memory is the number of bytes that a call of more than Few nodes may take, beside the
	// logits and the lists of nodes; 0 means half of the memory, at most 8 GiB. A mapped store
	// does not count. Values of a level that do not fit lie in a file in the folder Scratch, ""
	// for the system's folder of temporary files, until the call ends.
	Memory  int64
	Scratch string
}

// bytes returns the bound.
func (b Bound) bytes() int64 { return memory.Budget(b.Memory) }

// store is the memory of levels' values.
type store struct {
	bound   Bound
	on      *device.Device  // of the runs
	most    int64           // bytes of values and of P·X; 0: no bound
	memory  [2][]float32    // of the levels of even and of odd numbers
	files   [2]func() error // frees what lies in a file in place of memory; nil: nothing
	spilled int             // files so far
	passes  int             // over features in the order of their file, so far
	product kernel.InOrder
}

// set makes p keep to the bound and the device of c. It drops memory of calls with others, which
// may be larger.
func (p *pass) set(c *Call) error {
	b, few := c.Bound, c.few()
	if few {
		b = Bound{}
	}
	if b != p.bound || c.Device != p.on {
		if err := p.close(); err != nil {
			return err
		}
		p.store = store{bound: b, on: c.Device}
	}
	if b != (Bound{}) {
		p.most = c.room()
	} else if !few {
		if spare := p.Spare.Swap(nil); spare != nil {
			p.memory = *spare
		}
	}
	return nil
}

// left returns the bytes that values and P·X may still take, with a bound.
func (p *pass) left() int64 {
	taken := cap(p.memory[0]) + cap(p.memory[1])
	for _, s := range p.stages {
		for _, d := range s.data {
			taken += cap(d.px)
		}
	}
	return p.most - 4*int64(taken)
}

// values returns memory for n values of level l, which are not initialised. Those of the level
// before the last one are gone.
func (p *pass) values(l, n int) (at plan.Floats, err error) {
	if l %= 2; p.Device != nil {
		at.At, err = p.Device.Scratch([2]any{"values", l}).Floats(n)
		return at, err
	}
	if err := p.free(l); err != nil {
		return at, err
	}
	at.Data = p.memory[l]
	if cap(at.Data) >= n {
		at.Data = at.Data[:n]
		return at, nil
	}
	if p.memory[l] = nil; at.Data != nil && !p.few() {
		at.Data = nil
		debug.FreeOSMemory() // else the garbage stays beside the new values
	}
	bytes := memory.Product(int64(n), 4)
	if p.most > 0 && memory.Product(2, bytes) > p.left() { // two levels have values at a time
		p.spilled++
		at.Data, p.files[l], err = memory.Spilled(p.bound.Scratch, n)
		return at, err
	}
	if err := memory.Check("the values of a layer", bytes); err != nil {
		return at, err
	}
	at.Data = memory.Large(n)
	p.memory[l] = at.Data
	return at, nil
}

// free frees the values of levels of even or of odd numbers that lie in a file.
func (s *store) free(parity int) error {
	free := s.files[parity]
	if s.files[parity] = nil; free == nil {
		return nil
	}
	return free()
}

// take returns the memory of an earlier call, or new memory, for c.
func (m *Model) take(c *Call) *pass {
	var p *pass
	if c.few() && c.Device == nil {
		p, _ = m.small.Get().(*pass)
	} else {
		p = m.large.Swap(nil)
	}
	if p == nil {
		p = &pass{Model: m}
	}
	return p
}

// give keeps the memory of p for a later call, or drops it after the error err. It returns that
// error, or one of giving back files.
func (m *Model) give(p *pass, err error) error {
	if err = errors.Join(err, p.free(0), p.free(1)); err != nil {
		return errors.Join(err, p.close())
	}
	few := p.few()
	if p.bound == (Bound{}) && !few {
		spare := p.memory
		m.Spare.Store(&spare)
		p.memory = [2][]float32{}
	}
	device := p.Device
	p.Call, p.given = Call{P: p.P}, nil
	if few && device == nil {
		m.small.Put(p)
	} else {
		m.large.Store(p)
	}
	return nil
}

// Close frees what calls have left on a device. m may be used again.
func (m *Model) Close() error {
	if p := m.large.Swap(nil); p != nil {
		return p.close()
	}
	return nil
}
