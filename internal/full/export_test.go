package full

import (
	"sync"
	"weak"
)

// Mixed tells which levels have one run.
func (m *Model) Mixed() []bool {
	var mixed []bool
	for _, level := range m.levels {
		mixed = append(mixed, level.Mixed)
	}
	return mixed
}

// Kept describes what a call of many nodes has left for the next one.
type Kept struct {
	Bytes  int64 // of values
	PX     int   // values of P·X
	Files  int   // matrices that were put into files
	Passes int   // over X in the order of its file
}

// Kept returns what the last call has left.
func (m *Model) Kept() (k Kept) {
	p := m.large.Load()
	k.Files, k.Passes = p.spilled, p.passes
	for _, all := range []*[2][]float32{&p.memory, m.Spare.Load()} {
		if all != nil {
			k.Bytes += 4 * int64(cap(all[0])+cap(all[1]))
		}
	}
	for _, s := range p.stages {
		for _, d := range s.data {
			k.PX += len(d.px)
		}
	}
	return k
}

// Drop drops the memory of values, and returns the values of one level.
func (m *Model) Drop() weak.Pointer[float32] {
	return weak.Make(&m.Spare.Swap(nil)[0][0])
}

// Forget drops the memory of earlier calls.
func (m *Model) Forget() {
	m.small = sync.Pool{}
	m.Spare.Store(nil)
	m.large.Store(nil)
}
