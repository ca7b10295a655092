package plan

import (
	"unsafe"

	"gorgonia.org/tensor"
)

// memory holds values one at a time. It grows to the size of the largest.
type memory struct{ data []float32 }

func (m *memory) grow(n int) []float32 {
	if cap(m.data) < n {
		m.data = make([]float32, n)
	}
	m.data = m.data[:n]
	return m.data
}

// Buffer holds an op's result on the CPU. The zero value has memory of its own;
// buffers of a plan share memory. A value is valid until the next value in the same
// memory. Matrix and Vector make a new tensor only when address or shape changes,
// so steps over batches of equal size allocate nothing.
type Buffer struct {
	Over   bool    // the op may overwrite the input that its Memory names
	memory *memory // nil before the first value, for memory of its own
	header *tensor.Dense
	at     *float32 // address of the header's data
}

// Matrix returns a rows×cols tensor in the buffer, and its elements in row-major
// order. They are not initialised.
func (b *Buffer) Matrix(rows, cols int) (*tensor.Dense, []float32) {
	data := b.grow(rows * cols)
	// Ask the header for its shape: a plain node may have reshaped it in place.
	if b.header == nil || b.header.Dims() != 2 || b.header.Shape()[0] != rows || b.header.Shape()[1] != cols {
		b.header = tensor.New(tensor.WithShape(rows, cols), tensor.WithBacking(data))
	}
	return b.header, data
}

// Vector is Matrix for a vector of n elements.
func (b *Buffer) Vector(n int) (*tensor.Dense, []float32) {
	data := b.grow(n)
	if b.header == nil || b.header.Dims() != 1 || b.header.Shape()[0] != n {
		b.header = tensor.New(tensor.WithShape(n), tensor.WithBacking(data))
	}
	return b.header, data
}

func (b *Buffer) grow(n int) []float32 {
	if b.memory == nil {
		b.memory = new(memory)
	}
	data := b.memory.grow(n)
	if at := unsafe.SliceData(data); at != b.at {
		b.at, b.header = at, nil
	}
	return data
}
