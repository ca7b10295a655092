package plan

import (
	"fmt"
	"unsafe"

	G "gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/gcn-layerwise/gcn/internal/device"
)

// Floats are float32 numbers on the processor of a run.
type Floats struct {
	Data []float32      // on the CPU
	At   device.Pointer // on a device
}

// Slice returns the numbers lo to hi−1 of f, if there are any.
func (f Floats) Slice(lo, hi int) Floats {
	if f.Data != nil {
		f.Data = f.Data[lo:hi:hi]
	}
	if f.At != 0 {
		f.At = device.Floats(f.At, lo)
	}
	return f
}

// Matrix is a row-major matrix on the processor of a run.
type Matrix struct {
	Rows, Cols int
	Floats
}

// Part returns the rows lo to hi−1 of m, if it has numbers.
func (m Matrix) Part(lo, hi int) Floats { return m.Slice(lo*m.Cols, hi*m.Cols) }

// Scratch is memory on the processor of a run, such as an op's state. It grows to the largest
// size requested. On a device, the run frees it. Floats are the numbers of the last request; an op
// may also set them to numbers elsewhere.
type Scratch struct {
	Floats
	buffer *device.Buffer
	n      int // of the last request
}

func (s *Scratch) floats(r *Run, n int) (Floats, error) {
	if s.n = n; r.Device != nil {
		if s.buffer == nil {
			s.buffer = r.Device.NewBuffer()
			r.buffers = append(r.buffers, s.buffer)
		}
		var err error
		s.At, err = s.buffer.Floats(max(n, 1))
		return s.Floats, err
	}
	if cap(s.Data) < n {
		s.Data = make([]float32, n)
	}
	s.Data = s.Data[:n]
	return s.Floats, nil
}

// Call is one computation of an op: its inputs, its result and its run. After the first error
// all methods do nothing, and On returns that error.
type Call struct {
	*Run
	Over bool // the op may overwrite the input that its Memory names

	in      []*Array
	result  Array
	inPlace *Array    // the input whose memory the result takes; nil: none
	fixed   Floats    // the place of a gradient, or see Executor.Put
	memory  *Scratch  // the place of other results
	host    []G.Value // the inputs of a plain op
	err     error
}

// Matrix returns input k, a matrix.
func (c *Call) Matrix(k int) Matrix {
	f := c.input(k, "a matrix", func(a *Array) bool { return len(a.sizes) == 2 })
	if c.err != nil {
		return Matrix{}
	}
	return Matrix{c.in[k].sizes[0], c.in[k].sizes[1], f}
}

// Vector returns input k, a vector of n numbers.
func (c *Call) Vector(k, n int) Floats {
	return c.input(k, "a vector of the width", func(a *Array) bool { return len(a.sizes) == 1 && a.sizes[0] == n })
}

// Scalar returns input k, one number.
func (c *Call) Scalar(k int) Floats {
	return c.input(k, "a scalar", func(a *Array) bool { return a.Elements() == 1 })
}

func (c *Call) input(k int, want string, fits func(*Array) bool) (f Floats) {
	if c.err != nil {
		return f
	}
	if a := c.in[k]; fits(a) {
		f, c.err = a.floats()
	} else {
		c.Sizes("input %d is of shape %v, want %s", k, a.sizes, want)
	}
	return f
}

// OutMatrix makes the result a matrix. Its elements are not initialised; if it overwrites an
// input, they are that input's.
func (c *Call) OutMatrix(rows, cols int) Matrix {
	return Matrix{rows, cols, c.out(rows, cols)}
}

// OutLike makes the result a matrix of m's sizes.
func (c *Call) OutLike(m Matrix) Matrix { return c.OutMatrix(m.Rows, m.Cols) }

// OutVector makes the result a vector.
func (c *Call) OutVector(n int) Floats { return c.out(n) }

// OutScalar makes the result one number.
func (c *Call) OutScalar() Floats {
	if c.Device != nil {
		return c.out()
	}
	v := G.NewF32(0)
	c.result.setHost(v)
	return Floats{Data: unsafe.Slice((*float32)(v), 1)}
}

func (c *Call) out(sizes ...int) (f Floats) {
	if c.err != nil {
		return f
	}
	n := tensor.Shape(sizes).TotalSize()
	switch {
	case c.inPlace != nil:
		f, c.err = c.inPlace.floats()
	case c.fixed.At != 0:
		f = c.fixed
	case c.Device == nil && cap(c.fixed.Data) >= max(n, 1):
		f.Data = c.fixed.Data[:n]
	default:
		f, c.err = c.memory.floats(c.Run, n)
	}
	c.result.set(f, sizes...)
	return f
}

// Scratch returns n numbers in the memory of s. They are not initialised.
func (c *Call) Scratch(s *Scratch, n int) (f Floats) {
	if c.err == nil {
		f, c.err = s.floats(c.Run, n)
	}
	return f
}

// Fail makes err the error of c, unless it is nil or there is one.
func (c *Call) Fail(err error) {
	if c.err == nil {
		c.err = err
	}
}

// Sizes fails, and returns the error of c. The error says which sizes do not fit, and wraps
// ErrShape.
func (c *Call) Sizes(format string, args ...any) error {
	c.Fail(fmt.Errorf(format+": %w", append(args, ErrShape)...))
	return c.err
}

// Dense records a dense product of the op, for benchmarks.
func (c *Call) Dense(p Product) {
	if p.K > 0 {
		c.products = append(c.products, p)
	}
}

// On runs the op's kernels on a device, or on the CPU. It returns the first error of c.
func (c *Call) On(gpu func() error, cpu func()) error {
	switch {
	case c.err != nil:
		return c.err
	case c.Device != nil:
		return gpu()
	}
	cpu()
	return c.err
}

// Do computes op for Gorgonia's own machines, in r, which is on the CPU.
func (c *Call) Do(r *Run, op Op, in ...G.Value) (G.Value, error) {
	if c.Run = r; c.memory == nil {
		c.memory = new(Scratch)
	}
	for len(c.in) < len(in) {
		c.in = append(c.in, new(Array))
	}
	for k, v := range in {
		c.in[k].setHost(v)
	}
	c.err, r.products = nil, r.products[:0]
	if err := op.Compute(c); err != nil {
		return nil, fmt.Errorf("op %v: %w", op, err)
	}
	return c.result.Value()
}

// plain computes an op that is not of this project, on the host.
func (c *Call) plain(op G.Op) error {
	c.host = c.host[:0]
	for _, a := range c.in {
		v, err := a.Value()
		if err != nil {
			return err
		}
		c.host = append(c.host, v)
	}
	v, err := op.Do(c.host...)
	if err == nil && (len(c.in) > 0 || v != c.result.host) { // a constant is sent once
		c.result.setHost(v)
	}
	return err
}
