package samplers

import "sync"

// scratchPool keeps scratch memory between calls; concurrent calls each get their
// own. The zero value is empty.
type scratchPool[S any] struct{ pool sync.Pool }

// get returns memory that an earlier call put back, or new memory.
func (p *scratchPool[S]) get() *S {
	if scratch, ok := p.pool.Get().(*S); ok {
		return scratch
	}
	return new(S)
}

func (p *scratchPool[S]) put(scratch *S) { p.pool.Put(scratch) }
