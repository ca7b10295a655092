//go:build cuda

package ops

import (
	"fmt"

	"github.com/gcn-layerwise/gcn/internal/device"
	G "gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// array is the value of a node on a device: float32, row-major, in memory that the
// node owns. What a plain node of Gorgonia computes is made on the host; it comes
// to the device when a kernel wants it, and the other way round.
//
// To Gorgonia an array is a scalar without memory: it neither copies nor frees it.
type array struct {
	d      *Device
	shape  tensor.Shape // of this run; empty for a scalar
	at     device.Pointer
	host   G.Value        // nil: only on the device
	copied *device.Buffer // where the host's value goes
	empty  bool           // its consumers read what it stands for elsewhere
}

var _ G.Value = (*array)(nil)

func (a *array) Shape() tensor.Shape { return tensor.ScalarShape() }
func (a *array) Size() int           { return 1 }
func (a *array) Data() any           { return nil }
func (a *array) Dtype() tensor.Dtype { return tensor.Float32 }
func (a *array) Uintptr() uintptr    { return uintptr(a.at) }
func (a *array) MemSize() uintptr    { return 0 }
func (a *array) Format(s fmt.State, _ rune) {
	fmt.Fprintf(s, "%v on the device", a.shape)
}

// elements returns the number of values.
func (a *array) elements() int {
	n := 1
	for _, d := range a.shape {
		n *= d
	}
	return n
}

// pointer returns where the array is on the device.
func (a *array) pointer() (device.Pointer, error) {
	if a.at != 0 || a.host == nil {
		return a.at, nil
	}
	data, err := floatsOf(a.host)
	if err != nil {
		return 0, err
	}
	if a.at, err = a.copied.Floats(len(data)); err != nil {
		return 0, err
	}
	return a.at, device.Write(a.d, a.at, data)
}

// value returns the array on the host, waiting for it.
func (a *array) value() (G.Value, error) {
	if a.host != nil {
		return a.host, nil
	}
	data := make([]float32, a.elements())
	if err := device.Read(a.d, data, a.at); err != nil {
		return nil, err
	}
	if len(a.shape) == 0 {
		return G.NewF32(data[0]), nil
	}
	return tensor.New(tensor.WithShape(a.shape.Clone()...), tensor.WithBacking(data)), nil
}

// setHost makes v, on the host, the array's value.
func (a *array) setHost(v G.Value) {
	a.host, a.at, a.shape = v, 0, v.Shape().Clone()
	if len(a.shape) == 1 && v.Size() == 1 {
		if _, scalar := v.(G.Scalar); scalar {
			a.shape = nil
		}
	}
}

// matrix returns the array's sizes and place, which must be a matrix.
func (a *array) matrix(what string) (rows, cols int, at device.Pointer, err error) {
	if len(a.shape) != 2 {
		return 0, 0, 0, fmt.Errorf("ops: %s: input is of shape %v, want a matrix: %w", what, a.shape, ErrShape)
	}
	at, err = a.pointer()
	return a.shape[0], a.shape[1], at, err
}

// vector returns the place of the array, which must be a vector of n values.
func (a *array) vector(what string, n int) (device.Pointer, error) {
	if len(a.shape) != 1 || a.shape[0] != n {
		return 0, fmt.Errorf("ops: %s: input is of shape %v, want a vector of %d: %w", what, a.shape, n, ErrShape)
	}
	return a.pointer()
}

// scalar returns the place of the array, which must be a single value.
func (a *array) scalar(what string) (device.Pointer, error) {
	if a.elements() != 1 {
		return 0, fmt.Errorf("ops: %s: upstream gradient is of shape %v, want a scalar: %w", what, a.shape, ErrShape)
	}
	return a.pointer()
}

// floatsOf returns the elements of a float32 value on the host, row-major.
func floatsOf(v G.Value) ([]float32, error) {
	switch x := v.(type) {
	case *G.F32:
		return []float32{float32(*x)}, nil
	case *tensor.Dense:
		if x.Dtype() != tensor.Float32 {
			break
		}
		if x.RequiresIterator() || x.DataOrder().IsColMajor() {
			m, ok := x.Materialize().(*tensor.Dense)
			if !ok || m.DataOrder().IsColMajor() {
				break
			}
			x = m
		}
		if n := x.Shape().TotalSize(); len(x.Float32s()) >= n {
			return x.Float32s()[:n], nil
		}
	}
	return nil, fmt.Errorf("ops: a %T of shape %v cannot go to a device, which takes float32: %w", v, shapeOf(v), ErrShape)
}
