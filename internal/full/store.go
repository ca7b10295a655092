package full

import (
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"unsafe"

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
	most    int64                     // bytes; 0: no bound
	held    int64                     // bytes of values in memory, with spare
	spare   [][]float32               // memory that no level uses now
	files   map[*float32]func() error // the memory that lies in files
	spilled int                       // matrices that were put into files so far
	passes  int                       // over features in the order of their file, so far
	product kernel.InOrder
}

// bound makes p keep to the bound of c. It drops memory of calls with another bound, which may
// be larger.
func (p *pass) bound(c Call) {
	b := c.Bound
	if c.few() {
		b = Bound{}
	}
	if b != p.set {
		p.store, p.need, p.workers = store{set: b}, nil, nil
	}
	if b != (Bound{}) {
		p.most = b.bytes() - fixed(c.P.Nodes())
	}
}

// limit returns the bytes that a call may take in all.
func (s *store) limit() uint64 {
	if s.most > 0 {
		return uint64(s.most)
	}
	return memory.Limit()
}

// budget returns the bytes that P·X of some rows may take.
func (s *store) budget() int64 {
	if s.most > 0 {
		return (s.most - s.held) / 8 * 7
	}
	return int64(memory.Limit() / keptShare)
}

// values returns memory for n values of level l, which are not initialised.
func (p *pass) values(l, n int) ([]float32, error) {
	for k, s := range p.spare {
		if cap(s) >= n {
			p.spare = slices.Delete(p.spare, k, k+1)
			return s[:n], nil
		}
	}
	if len(p.spare) > 0 { // too small for these nodes
		p.held -= 4 * int64(cap(p.spare[0]))
		p.spare = p.spare[1:]
	}
	bytes := memory.Product(int64(n), 4)
	if p.most > 0 {
		left := p.most - p.held - p.propagated()
		large := memory.Product(2, bytes) > left
		if large || bytes > left-p.reserved(l) {
			values, free, err := memory.Spilled(p.set.Scratch, n)
			if err == nil {
				p.spilled++
				if p.files == nil {
					p.files = make(map[*float32]func() error)
				}
				p.files[unsafe.SliceData(values)] = free
				return values, nil
			}
			if large {
				return nil, err
			} // else it fits in memory, and the work takes longer
		}
	}
	if err := memory.Check("the values of a layer", bytes); err != nil {
		return nil, err
	}
	p.held += bytes
	return memory.Large(n), nil
}

// propagated returns the bytes of P·X that is there.
func (p *pass) propagated() (bytes int64) {
	for _, level := range p.data {
		for _, s := range level {
			bytes += 4 * int64(cap(s.px))
		}
	}
	return bytes
}

// reserved returns the bytes in which P·X at all rows of level l is computed in one pass over X,
// where X is read in the order of its file.
func (p *pass) reserved(l int) int64 {
	bytes := int64(0)
	for k := range p.data[l] {
		if s := &p.data[l][k]; s.Propagated && p.inFileOrder(s.X, p.need[l].nodes) {
			bytes += bytesOf(p.P, s.X, p.need[l].nodes, true) / 7 * 8
		}
	}
	return bytes
}

// release takes back memory of values.
func (s *store) release(values []plan.Floats) error {
	var err error
	for _, value := range values {
		v := value.Data
		if free, ok := s.files[unsafe.SliceData(v)]; ok {
			delete(s.files, unsafe.SliceData(v))
			err = errors.Join(err, free())
		} else if cap(v) > 0 {
			s.spare = append(s.spare, v)
		}
	}
	return err
}

// free frees the memory that lies in files.
func (s *store) free() error {
	var err error
	for _, free := range s.files {
		err = errors.Join(err, free())
	}
	s.files = nil
	return err
}

// memories are the memories of calls, reused from call to call: one of a large call, and those
// of calls for a few nodes, one for each call that ran at the same time. It is no sync.Pool,
// which may hold several memories, each as large as a level.
type memories struct {
	mutex sync.Mutex
	large *pass
	few   []*pass
}

// Spare is memory for values of levels, which models share. Their calls may be concurrent: one
// of them takes it. Calls with a bound, or for a few nodes, do not use it.
type Spare struct {
	mutex  sync.Mutex
	values [][]float32
}

// lend gives p all memory of s.
func (s *Spare) lend(p *pass) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	p.spare = append(p.spare, s.values...)
	for _, v := range s.values {
		p.held += 4 * int64(cap(v))
	}
	s.values = nil
}

// keep takes the memory of p that no level uses, in place of that of a call beside it.
func (s *Spare) keep(p *pass) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.values = p.spare
	for _, v := range p.spare {
		p.held -= 4 * int64(cap(v))
	}
	p.spare = nil
}

// take returns the memory of an earlier call, or new memory.
func (f *memories) take(m *Model, c *Call) *pass {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	var p *pass
	if !c.few() {
		p, f.large = f.large, nil
	} else if last := len(f.few) - 1; last >= 0 {
		p, f.few[last], f.few = f.few[last], nil, f.few[:last]
	}
	if p == nil {
		p = &pass{Model: m}
	}
	if m.Spare != nil && !c.few() && c.Bound == (Bound{}) {
		m.Spare.lend(p)
	}
	return p
}

// give takes the memory of p back. It drops a memory for a few nodes if there is one for every
// core, or if it is large.
func (f *memories) give(p *pass) {
	few := p.few()
	if p.Spare != nil && !few && p.set == (Bound{}) {
		p.Spare.keep(p)
	}
	p.Call = Call{P: p.P}
	f.mutex.Lock()
	defer f.mutex.Unlock()
	const small = 16 << 20
	switch {
	case !few:
		f.large = p
	case len(f.few) < runtime.GOMAXPROCS(0) && p.held <= small:
		f.few = append(f.few, p)
	}
}

// Close frees what calls have left on a device, and the rest of their memory. m may be used again.
func (m *Model) Close() (err error) {
	f := &m.memories
	f.mutex.Lock()
	defer f.mutex.Unlock()
	for _, p := range append(f.few, f.large) {
		if p != nil {
			err = errors.Join(err, p.close())
		}
	}
	f.few, f.large = nil, nil
	return err
}

// progress counts the rows that a call has computed.
type progress struct {
	mutex  *sync.Mutex
	report func(done, total int) // nil: nothing is counted
	total  int
	done   int
}

// add counts n rows. Calls may be concurrent.
func (p *progress) add(n int) {
	if p.report == nil {
		return
	}
	p.mutex.Lock()
	defer p.mutex.Unlock()
	p.done += n
	p.report(p.done, p.total)
}
