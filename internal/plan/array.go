package plan

import (
	"fmt"

	G "gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/gcn-layerwise/gcn/internal/device"
)

// Array is the value of a node on a GPU: float32, row-major. A plain op computes its
// value on the host. A value moves between host and GPU only when an op on the other
// side reads it.
//
// Gorgonia sees a scalar without memory, so it neither copies nor frees the array.
type Array struct {
	d      *device.Device
	sizes  tensor.Shape // of this run; empty for a scalar
	at     device.Pointer
	host   G.Value        // nil: the value is only on the device
	copied *device.Buffer // holds the copy of host on the device
	absent bool           // see Result.Absent
}

var _ G.Value = (*Array)(nil)

// The methods up to Format implement Gorgonia's Value.

// Shape is a scalar's, for any sizes.
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

// pointer returns the array's address on the device. It copies a host value there
// first.
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

// value returns the array on the host. It waits for the device if the array is there.
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
}

// Matrix returns the sizes and the address of the array. The error wraps ErrShape if
// it is not a matrix, and names the op as what.
func (a *Array) Matrix(what string) (rows, cols int, at device.Pointer, err error) {
	if len(a.sizes) != 2 {
		return 0, 0, 0, fmt.Errorf("ops: %s: input is of shape %v, want a matrix: %w", what, a.sizes, ErrShape)
	}
	at, err = a.pointer()
	return a.sizes[0], a.sizes[1], at, err
}

// Vector returns the address of the array. The error wraps ErrShape if it is not a
// vector of n values.
func (a *Array) Vector(what string, n int) (device.Pointer, error) {
	if len(a.sizes) != 1 || a.sizes[0] != n {
		return 0, fmt.Errorf("ops: %s: input is of shape %v, want a vector of %d: %w", what, a.sizes, n, ErrShape)
	}
	return a.pointer()
}

// Scalar returns the address of the array. The error wraps ErrShape if it has more or
// fewer than one value.
func (a *Array) Scalar(what string) (device.Pointer, error) {
	if a.Elements() != 1 {
		return 0, fmt.Errorf("ops: %s: upstream gradient is of shape %v, want a scalar: %w", what, a.sizes, ErrShape)
	}
	return a.pointer()
}

// Result is the array in which a kernel returns the value of its node.
type Result struct {
	Array
	Over bool // the op may overwrite the input that its Memory names

	buffer *device.Buffer  // nil: fixed is the place
	fixed  device.Pointer  // place of the gradient, or of the overwritten input; 0: buffer
	scalar *device.Pointer // place of a scalar output in this run; nil or 0: as any other
}

// Matrix sets the result's sizes and returns its address. The elements are not
// initialised; if the result overwrites an input, they are that input's.
func (r *Result) Matrix(rows, cols int) (*Array, device.Pointer, error) {
	return r.shaped(append(r.sizes[:0], rows, cols))
}

// Vector is Matrix for a vector of n elements.
func (r *Result) Vector(n int) (*Array, device.Pointer, error) {
	return r.shaped(append(r.sizes[:0], n))
}

// Scalar is Matrix for one number.
func (r *Result) Scalar() (*Array, device.Pointer, error) { return r.shaped(r.sizes[:0]) }

// Absent sets the result's sizes but gives it no memory. Use it only if every reader
// takes the numbers from elsewhere, as Propagate gathers features by itself.
func (r *Result) Absent(rows, cols int) *Array {
	r.sizes, r.absent = append(r.sizes[:0], rows, cols), true
	return &r.Array
}

// At makes a rows×cols matrix in the op's own memory the result.
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
