package plan

import (
	"fmt"

	G "gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/gcn-layerwise/gcn/internal/device"
)

// Array is the value of a node on a GPU: float32, row-major. A plain op's value
// is made on the host; it goes to the GPU when a kernel wants it, and the other
// way round.
//
// To Gorgonia an array is a scalar without memory: it neither copies nor frees it.
type Array struct {
	d      *device.Device
	sizes  tensor.Shape // of this run; empty for a scalar
	at     device.Pointer
	host   G.Value        // nil: only on the device
	copied *device.Buffer // where the host's value goes
	empty  bool           // every reader reads elsewhere what the array stands for
}

var _ G.Value = (*Array)(nil)

// Shape is Gorgonia's view of the array, as are Size, Data, Dtype, Uintptr, MemSize
// and Format.
func (a *Array) Shape() tensor.Shape { return tensor.ScalarShape() }
func (a *Array) Size() int           { return 1 }
func (a *Array) Data() any           { return nil }
func (a *Array) Dtype() tensor.Dtype { return tensor.Float32 }
func (a *Array) Uintptr() uintptr    { return uintptr(a.at) }
func (a *Array) MemSize() uintptr    { return 0 }
func (a *Array) Format(s fmt.State, _ rune) {
	fmt.Fprintf(s, "%v on the device", a.sizes)
}

// Elements returns the number of values.
func (a *Array) Elements() int {
	n := 1
	for _, d := range a.sizes {
		n *= d
	}
	return n
}

// pointer returns where the array lies on the device.
func (a *Array) pointer() (device.Pointer, error) {
	if a.at != 0 || a.host == nil {
		return a.at, nil
	}
	data, err := FloatsOf(a.host)
	if err != nil {
		return 0, err
	}
	if a.at, err = a.copied.Floats(len(data)); err != nil {
		return 0, err
	}
	return a.at, device.Write(a.d, a.at, data)
}

// value returns the array on the host, and waits for it.
func (a *Array) value() (G.Value, error) {
	if a.host != nil {
		return a.host, nil
	}
	data := make([]float32, a.Elements())
	if err := device.Read(a.d, data, a.at); err != nil {
		return nil, err
	}
	if len(a.sizes) == 0 {
		return G.NewF32(data[0]), nil
	}
	return tensor.New(tensor.WithShape(a.sizes.Clone()...), tensor.WithBacking(data)), nil
}

// setHost makes v, on the host, the array's value.
func (a *Array) setHost(v G.Value) {
	a.host, a.at, a.sizes = v, 0, v.Shape().Clone()
	if len(a.sizes) == 1 && v.Size() == 1 {
		if _, scalar := v.(G.Scalar); scalar {
			a.sizes = nil
		}
	}
}

// Matrix returns the sizes and the place of the array, which must be a matrix;
// what names the op in the error.
func (a *Array) Matrix(what string) (rows, cols int, at device.Pointer, err error) {
	if len(a.sizes) != 2 {
		return 0, 0, 0, fmt.Errorf("ops: %s: input is of shape %v, want a matrix: %w", what, a.sizes, ErrShape)
	}
	at, err = a.pointer()
	return a.sizes[0], a.sizes[1], at, err
}

// Vector returns the place of the array, which must be a vector of n values.
func (a *Array) Vector(what string, n int) (device.Pointer, error) {
	if len(a.sizes) != 1 || a.sizes[0] != n {
		return 0, fmt.Errorf("ops: %s: input is of shape %v, want a vector of %d: %w", what, a.sizes, n, ErrShape)
	}
	return a.pointer()
}

// Scalar returns the place of the array, which must be a single value.
func (a *Array) Scalar(what string) (device.Pointer, error) {
	if a.Elements() != 1 {
		return 0, fmt.Errorf("ops: %s: upstream gradient is of shape %v, want a scalar: %w", what, a.sizes, ErrShape)
	}
	return a.pointer()
}

// Result is where a kernel puts the value of its node.
type Result struct {
	Array
	Over bool // the op may overwrite the input that its Memory names

	buffer *device.Buffer  // nil: a gradient's place, or that of an overwritten input
	fixed  device.Pointer  // the gradient's place
	scalar *device.Pointer // where a scalar output goes; it differs from run to run
}

// Matrix gives the result its sizes and returns its place. The elements are
// unspecified, unless the result overwrites an input.
func (r *Result) Matrix(rows, cols int) (*Array, device.Pointer, error) {
	return r.shaped(append(r.sizes[:0], rows, cols))
}

// Vector is Matrix for a vector of n elements.
func (r *Result) Vector(n int) (*Array, device.Pointer, error) {
	return r.shaped(append(r.sizes[:0], n))
}

// Scalar is Matrix for a single number.
func (r *Result) Scalar() (*Array, device.Pointer, error) { return r.shaped(r.sizes[:0]) }

// Absent gives the result its sizes but no place: every reader must read what it
// stands for elsewhere.
func (r *Result) Absent(rows, cols int) *Array {
	r.sizes, r.empty = append(r.sizes[:0], rows, cols), true
	return &r.Array
}

// At makes a rows×cols matrix at a place of the op's own the result.
func (r *Result) At(at device.Pointer, rows, cols int) *Array {
	r.sizes, r.at = append(r.sizes[:0], rows, cols), at
	return &r.Array
}

func (r *Result) shaped(sizes tensor.Shape) (*Array, device.Pointer, error) {
	r.sizes = sizes
	switch {
	case r.fixed != 0:
		r.at = r.fixed
		return &r.Array, r.at, nil
	case r.scalar != nil && *r.scalar != 0 && len(sizes) == 0:
		r.at = *r.scalar
		return &r.Array, r.at, nil
	}
	var err error
	r.at, err = r.buffer.Floats(max(r.Elements(), 1))
	return &r.Array, r.at, err
}
