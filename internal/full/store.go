package full

import (
	"context"
	"errors"
	"maps"
	"runtime/debug"
	"slices"

	"github.com/gcn-layerwise/gcn/internal/memory"
	"github.com/gcn-layerwise/gcn/internal/plan"
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

// take returns a pass for c. That of the last call has the lists of nodes and P·X already, if it
// was for the same nodes and data. Calls for a few nodes only use its memory again.
func (m *Model) take(ctx context.Context, c Call) (p *pass, err error) {
	c.Nodes = slices.Clone(c.Nodes) // to compare them with the next call's
	few := c.few()
	if few {
		p, _ = m.small.Get().(*pass)
		c.Bound, c.Progress = Bound{}, nil
	} else if p = m.large.Swap(nil); p != nil {
		if p.again = p.serves(&c); !p.again {
			kept := p.products()
			p = &pass{Model: m, memory: p.memory} // with a bound: else m.Spare has it
			if kept > large {
				debug.FreeOSMemory() // else the garbage stays beside the new values
			}
		}
	}
	if p == nil {
		p = &pass{Model: m}
	}
	p.Call = c
	p.given, p.done = make(map[*G.Node]plan.Matrix), 0
	p.rank, p.ranks = 0, 1
	if c.Ranks != nil {
		p.rank, p.ranks = c.Ranks.Rank(), c.Ranks.Size()
	}
	if !p.again {
		if err := p.lists(ctx); err != nil {
			return nil, err
		}
	}
	if c.Bound != (Bound{}) {
		p.most = memory.Budget(c.Bound.Memory) - c.fixed()
	} else if !few {
		if spare := m.Spare.Swap(nil); spare != nil {
			p.memory = *spare
		}
	}
	return p, nil
}

// serves reports whether c can use the lists and P·X of p: both have equal nodes, data and bounds.
func (p *pass) serves(c *Call) bool {
	return p.P == c.P && p.Bound == c.Bound && p.Device == c.Device && maps.Equal(p.Sources, c.Sources) &&
		(p.Nodes == nil) == (c.Nodes == nil) && slices.Equal(p.Nodes, c.Nodes)
}

// give keeps the memory of p for a later call, or drops it after the error err. It returns that
// error, or one of giving back files.
func (m *Model) give(p *pass, err error) error {
	if err = errors.Join(err, p.free(0), p.free(1)); err != nil {
		return err
	}
	few := p.few()
	if p.Bound == (Bound{}) && !few {
		spare := p.memory
		m.Spare.Store(&spare)
		p.memory = [2][]float32{}
	}
	p.given, p.Wanted, p.Progress, p.Sums, p.Ranks = nil, nil, nil, nil, nil // the caller's
	if few {
		m.small.Put(p)
	} else {
		m.large.Store(p)
	}
	return nil
}

// Close frees what calls have left on a device. m may be used again.
func (m *Model) Close() (err error) {
	for _, idle := range m.idle {
		for more := true; more; {
			select {
			case r := <-idle:
				err = errors.Join(err, r.Close())
			default:
				more = false
			}
		}
	}
	return err
}

// left returns the bytes that values and P·X may still take, with a bound.
func (p *pass) left() int64 {
	return p.most - 4*int64(cap(p.memory[0])+cap(p.memory[1])+p.products())
}

// products returns the number of values that there is memory for in the P·X kept.
func (p *pass) products() (n int) {
	for _, s := range p.stages {
		for _, d := range s.data {
			n += cap(d.px)
		}
	}
	return n
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
	if p.most > 0 && cap(p.memory[l]) < n {
		if p.memory[l] = nil; memory.Product(8, n) > p.left() { // two levels have values at a time
			p.spilled++
			at.Data, p.files[l], err = memory.Spilled(p.Bound.Scratch, n)
			return at, err
		}
	}
	at.Data, err = reserve(&p.memory[l], n, "the values of a layer")
	return at, err
}

// large is a number of values whose memory goes back to the system at once.
const large = 1 << 24

// reserve returns n values, which are not initialised, in the memory of s. Larger memory takes its
// place where that is too small.
func reserve(s *[]float32, n int, what string) ([]float32, error) {
	if cap(*s) < n {
		freed := cap(*s) > large
		if *s = nil; freed {
			debug.FreeOSMemory() // else the garbage stays beside the new values
		}
		if err := memory.Check(what, memory.Product(4, n)); err != nil {
			return nil, err
		}
		*s = memory.Large[float32](n)
	}
	return (*s)[:n], nil
}

// free frees the values of levels of even or of odd numbers that lie in a file.
func (p *pass) free(parity int) error {
	free := p.files[parity]
	if p.files[parity] = nil; free == nil {
		return nil
	}
	return free()
}
