package full

import (
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"sync"
	"unsafe"

	"github.com/gcn-layerwise/gcn/internal/kernel"
	"github.com/gcn-layerwise/gcn/internal/memory"
	G "gorgonia.org/gorgonia"
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
	most    int64                     // bytes of values and of P·X; 0: no bound
	used    [][]float32               // memory of values
	spare   [][]float32               // memory that no level uses now
	files   map[*float32]func() error // memory of values that lies in files
	spilled int                       // matrices that were put into files so far
	passes  int                       // over features in the order of their file, so far
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
		p.store, p.need, p.workers = store{set: b}, nil, nil
	}
	if b != (Bound{}) {
		p.most = b.bytes() - fixed(c.P.Nodes())
	} else if !c.few() {
		p.spare = p.Spare.swap(nil)
	}
}

// left returns the bytes that values and P·X may still take, with a bound.
func (p *pass) left() int64 {
	taken := 0
	for _, v := range slices.Concat(p.used, p.spare) {
		taken += cap(v)
	}
	for _, level := range p.data {
		for _, d := range level {
			taken += cap(d.px)
		}
	}
	return p.most - 4*int64(taken)
}

// values returns memory for n values of a level, which are not initialised.
func (p *pass) values(n int) ([]float32, error) {
	if k := slices.IndexFunc(p.spare, func(s []float32) bool { return cap(s) >= n }); k >= 0 {
		values := p.spare[k][:n]
		p.spare, p.used = slices.Delete(p.spare, k, k+1), append(p.used, values)
		return values, nil
	}
	if len(p.spare) > 0 { // too small for these nodes
		if p.spare = nil; !p.few() {
			debug.FreeOSMemory() // else the garbage stays beside the new values
		}
	}
	bytes := memory.Product(int64(n), 4)
	if p.most > 0 && memory.Product(2, bytes) > p.left() { // two levels have values at a time
		values, free, err := memory.Spilled(p.set.Scratch, n)
		if err != nil {
			return nil, err
		}
		if p.spilled++; p.files == nil {
			p.files = make(map[*float32]func() error)
		}
		p.files[unsafe.SliceData(values)] = free
		return values, nil
	}
	if err := memory.Check("the values of a layer", bytes); err != nil {
		return nil, err
	}
	values := memory.Large(n)
	p.used = append(p.used, values)
	return values, nil
}

// release takes back the memory of nodes' values.
func (p *pass) release(nodes G.Nodes) error {
	var err error
	for _, n := range nodes {
		at := unsafe.SliceData(p.given[n].Data)
		if k := slices.IndexFunc(p.used, func(v []float32) bool { return unsafe.SliceData(v) == at }); k >= 0 {
			p.spare, p.used = append(p.spare, p.used[k]), slices.Delete(p.used, k, k+1)
		} else if free, ok := p.files[at]; ok {
			delete(p.files, at)
			err = errors.Join(err, free())
		}
	}
	return err
}

// free ends a call: it frees the memory that lies in files.
func (s *store) free() error {
	var err error
	for _, free := range s.files {
		err = errors.Join(err, free())
	}
	s.files, s.used = nil, nil
	return err
}

// Spare is memory for values of levels, which models share. Their calls may be concurrent: one
// of them takes it. Calls with a bound, or for a few nodes, do not use it.
type Spare struct {
	mutex  sync.Mutex
	values [][]float32
}

// swap stores memory in s, and returns the memory that was there.
func (s *Spare) swap(values [][]float32) [][]float32 {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	values, s.values = s.values, values
	return values
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

// give keeps the memory of p for a later call.
func (m *Model) give(p *pass) {
	few, device := p.few(), p.Device
	if p.set == (Bound{}) && !few {
		m.Spare.swap(p.spare)
		p.spare = nil
	}
	p.Call, p.given = Call{P: p.P}, nil
	if few && device == nil {
		m.small.Put(p)
	} else {
		m.large.Store(p)
	}
}

// Close frees what calls have left on a device. m may be used again.
func (m *Model) Close() error {
	if p := m.large.Swap(nil); p != nil {
		return p.close()
	}
	return nil
}
