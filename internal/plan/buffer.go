package plan

import (
	"unsafe"

	"gorgonia.org/tensor"
)

// memory holds values that are not alive at the same time, and grows to the
// largest of them.
type memory struct{ data []float32 }

func (m *memory) grow(n int) []float32 {
	if cap(m.data) < n {
		m.data = make([]float32, n)
	}
	m.data = m.data[:n]
	return m.data
}

// Buffer is where an op puts its result on the CPU. The zero value has memory of
// its own; a plan's buffers share memory. A value is good until the next one of
// the same memory. The tensor around it is made again only when its place or
// shape changes, so that steps over batches of one size allocate nothing.
type Buffer struct {
	own    memory
	shared *memory // nil: own
	header *tensor.Dense
	at     *float32 // where the header's data lie
}

// Matrix returns a rows×cols value in the buffer, and its elements, which are
// unspecified.
func (b *Buffer) Matrix(rows, cols int) (*tensor.Dense, []float32) {
	data := b.grow(rows * cols)
	// A plain node may have reshaped the header in place: only its own word counts.
	if b.header == nil || b.header.Dims() != 2 || b.header.Shape()[0] != rows || b.header.Shape()[1] != cols {
		b.header = tensor.New(tensor.WithShape(rows, cols), tensor.WithBacking(data))
	}
	return b.header, data
}

// Vector is Matrix for a value of one dimension.
func (b *Buffer) Vector(n int) (*tensor.Dense, []float32) {
	data := b.grow(n)
	if b.header == nil || b.header.Dims() != 1 || b.header.Shape()[0] != n {
		b.header = tensor.New(tensor.WithShape(n), tensor.WithBacking(data))
	}
	return b.header, data
}

func (b *Buffer) grow(n int) []float32 {
	m := b.shared
	if m == nil {
		m = &b.own
	}
	data := m.grow(n)
	if at := unsafe.SliceData(data); at != b.at {
		b.at, b.header = at, nil
	}
	return data
}
