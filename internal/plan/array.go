package plan

import (
	"errors"
	"fmt"
	"unsafe"

	G "gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/gcn-layerwise/gcn/internal/device"
)

// Array is the value of a node in a run: float32, row-major, on the run's processor. A plain op
// computes its value on the host. A value moves between host and GPU only when an op on the
// other side reads it.
//
// In the graph of a device's run, Gorgonia sees a scalar without memory, so it neither copies
// nor frees the array.
type Array struct {
	r      *Run
	sizes  tensor.Shape // of this run; empty for a scalar
	at     Floats
	there  bool    // the numbers are at at
	host   G.Value // the value on the host, if plain
	plain  bool    // host is the value, and at a copy
	copied Scratch // holds the copy of host on a device
}

// The methods up to Format implement Gorgonia's Value.

// Shape is a scalar's, for any sizes.
func (a *Array) Shape() tensor.Shape { return tensor.ScalarShape() }
func (a *Array) Size() int           { return 1 }
func (a *Array) Data() any           { return nil }
func (a *Array) Dtype() tensor.Dtype { return tensor.Float32 }
func (a *Array) Uintptr() uintptr    { return uintptr(a.at.At) }
func (a *Array) MemSize() uintptr    { return 0 }
func (a *Array) Format(s fmt.State, _ rune) {
	fmt.Fprintf(s, "%v on the device", a.sizes)
}

// Elements returns the number of values.
func (a *Array) Elements() int { return a.sizes.TotalSize() }

// set makes numbers on the processor the value.
func (a *Array) set(at Floats, sizes ...int) {
	a.sizes = append(a.sizes[:0], sizes...)
	a.at = at
	a.there = true
	a.plain = false
}

// setHost makes v, on the host, the value.
func (a *Array) setHost(v G.Value) {
	a.host = v
	a.plain = true
	a.there = false
	a.sizes = append(a.sizes[:0], v.Shape()...)
}

// forget drops the value.
func (a *Array) forget() { a.host, a.there, a.at = nil, false, Floats{} }

// floats returns the numbers on the processor. It copies a host value to a device first.
func (a *Array) floats() (Floats, error) {
	if a.there {
		return a.at, nil
	}
	data, err := FloatsOf(a.host)
	if err != nil {
		return Floats{}, err
	}
	a.at = Floats{Data: data}
	if a.r != nil && a.r.Device != nil {
		if a.at, err = a.copied.floats(a.r, len(data)); err == nil {
			err = device.Write(a.r.Device, a.at.At, data)
		}
	}
	a.there = err == nil
	return a.at, err
}

// Value returns the value on the host. It waits for a device if it is there.
func (a *Array) Value() (G.Value, error) {
	if a.plain {
		return a.host, nil
	}
	data := a.at.Data
	if a.r != nil && a.r.Device != nil {
		data = make([]float32, a.Elements())
		if err := device.Read(a.r.Device, data, a.at.At); err != nil {
			return nil, err
		}
		if len(a.sizes) == 0 {
			return G.NewF32(data[0]), nil
		}
	}
	return tensor.New(tensor.WithShape(a.sizes.Clone()...), tensor.WithBacking(data)), nil
}

// Append waits for a device and appends the numbers to dst.
func (a *Array) Append(dst []float32) ([]float32, error) {
	v, err := a.Value()
	if err != nil {
		return dst, err
	}
	data, err := FloatsOf(v)
	return append(dst, data...), err
}

// Matrix returns the value, a matrix on the processor.
func (a *Array) Matrix() (m Matrix, err error) {
	if len(a.sizes) != 2 {
		return m, fmt.Errorf("a value of shape %v, want a matrix: %w", a.sizes, ErrShape)
	}
	m.Rows, m.Cols = a.sizes[0], a.sizes[1]
	m.Floats, err = a.floats()
	return m, err
}

// FloatsOf returns the elements of a float32 value on the host, in row-major order.
// They are v's own memory, or a copy where v is a view that is not contiguous. The
// error wraps ErrShape if v is not float32, or column-major.
func FloatsOf(v G.Value) ([]float32, error) {
	switch x := v.(type) {
	case nil:
		return nil, errors.New("there is no value")
	case *G.F32:
		return unsafe.Slice((*float32)(x), 1), nil
	case *tensor.Dense:
		if x.Dtype() != tensor.Float32 {
			break
		}
		if x.RequiresIterator() || x.DataOrder().IsColMajor() {
			m, ok := x.Materialize().(*tensor.Dense) // a view, such as a slice or a lazy transpose
			if !ok || m.DataOrder().IsColMajor() {
				break
			}
			x = m
		}
		if n := x.Shape().TotalSize(); len(x.Float32s()) >= n {
			return x.Float32s()[:n], nil
		}
	}
	return nil, fmt.Errorf("a %T of shape %v, want row-major float32: %w", v, v.Shape(), ErrShape)
}
