package full

// Mixed tells which levels have one run.
func (m *Model) Mixed() []bool {
	var mixed []bool
	for _, level := range m.levels {
		mixed = append(mixed, level.Mixed)
	}
	return mixed
}

// HasConstants reports whether a call computes values that depend on no rows.
func (m *Model) HasConstants() bool { return m.constants != nil }

// Kept describes what a call of many nodes has left for the next one.
type Kept struct {
	Bytes  int64  // of values
	PX     int    // values of P·X
	Blocks []bool // of each level: its rows of P are kept
	Files  int    // matrices that were put into files
	Passes int    // over X in the order of its file
}

// Kept returns what the last call has left.
func (m *Model) Kept() (k Kept) {
	p := m.memories.large
	k.Bytes, k.Files, k.Passes = p.held, p.spilled, p.passes
	if m.Spare != nil {
		for _, v := range m.Spare.values {
			k.Bytes += 4 * int64(cap(v))
		}
	}
	for l := range p.need {
		k.Blocks = append(k.Blocks, p.need[l].kept != nil)
		for _, s := range p.data[l] {
			k.PX += len(s.px)
		}
	}
	return k
}

// Forget drops the memory of earlier calls.
func (m *Model) Forget() {
	m.memories = memories{}
	if m.Spare != nil {
		m.Spare.values = nil
	}
}
