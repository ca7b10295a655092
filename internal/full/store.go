package full

import (
	"errors"
	"fmt"
	"runtime/debug"
	"sync"

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
func (b Bound) bytes() int64 {
	if b.Memory > 0 {
		return b.Memory
	}
	const usual = 8 << 30
	return int64(min(memory.Limit()/2, usual))
}

// check returns an error if b is too small for a call on a graph of so many nodes.
func (b Bound) check(nodes int) error {
	if bytes := b.bytes(); bytes <= fixed(nodes) {
		return fmt.Errorf("inference takes more than %s of memory for %d nodes, and may take %s: %w",
			memory.Text(uint64(fixed(nodes))), nodes, memory.Text(uint64(max(bytes, 0))), memory.ErrTooLarge)
	}
	return nil
}

// fixed returns the bytes of the scales of P, and of a level's nodes and their rows.
func fixed(nodes int) int64 { return 12 * int64(nodes) }

// store is the memory of levels' values.
type store struct {
	set     Bound
	most    int64           // bytes of values and of P·X; 0: no bound
	memory  [2][]float32    // of the levels of even and of odd numbers
	files   [2]func() error // frees what lies in a file in place of memory; nil: nothing
	spilled int             // files so far
	passes  int             // over features in the order of their file, so far
	product kernel.InOrder
}

// bound makes p keep to the bound of c. It drops memory of calls with another bound, which may
// be larger.
func (p *pass) bound(c *Call) {
	b := c.Bound
	if c.few() {
		b = Bound{}
	}
	if b != p.set {
		p.store, p.stages = store{set: b}, nil
	}
	if b != (Bound{}) {
		p.most = b.bytes() - fixed(c.P.Nodes())
	} else if !c.few() {
		p.memory = p.Spare.swap([2][]float32{})
	}
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
		at.At, err = p.Device.Scratch(scratch{"values", l}).Floats(n)
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
		at.Data, p.files[l], err = memory.Spilled(p.set.Scratch, n)
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

// Spare is memory for values of levels, which models share. Their calls may be concurrent: one
// of them takes it. Calls with a bound, or for a few nodes, do not use it.
type Spare struct {
	mutex  sync.Mutex
	memory [2][]float32
}

// swap stores memory in s, and returns the memory that was there.
func (s *Spare) swap(memory [2][]float32) [2][]float32 {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	memory, s.memory = s.memory, memory
	return memory
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
	if p.set == (Bound{}) && !few {
		m.Spare.swap(p.memory)
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
