package graph

import (
	"fmt"
	"math"

	"github.com/gcn-layerwise/gcn/internal/half"
)

// Features is a dense row-major matrix of node features, one row a node, in
// single or in half precision. It is read-only in use and safe for concurrent
// reading; what holds the values may lie in a memory-mapped file.
type Features struct {
	Rows, Cols int
	Data       []float32 // Rows·Cols values; nil where Half holds them

	// Half holds the values as IEEE 754 half-precision numbers, where Data is
	// nil: half the bytes, at a relative error of 2⁻¹¹. Readers compute in
	// float32 with the numbers it stands for.
	Half []uint16

	// Release, where not nil, may be called by a reader of most of the values
	// that will not need them for a while: what a mapping holds in memory goes
	// back to the system, and is read from the file again when it is needed. The
	// slices stay valid; readers on other goroutines are slowed down, not
	// disturbed.
	Release func()

	// Prefetch, where not nil, says that the values lie on disk and are more
	// than fits in memory, and is to be told the rows that are read next: they
	// come all at once then, instead of one after the other. It does not wait.
	Prefetch func(rows []int32)
}

// Row returns the features of node i. The slice aliases x.Data; of features in
// half precision it is a copy.
func (x *Features) Row(i int) []float32 {
	if x.Half != nil {
		return widen(x.Half[i*x.Cols : (i+1)*x.Cols])
	}
	return x.Data[i*x.Cols : (i+1)*x.Cols]
}

// Float32s returns all values in single precision: x.Data, or a copy where they
// are in half precision.
func (x *Features) Float32s() []float32 {
	if x.Half != nil {
		return widen(x.Half)
	}
	return x.Data
}

func widen(halves []uint16) []float32 {
	values := make([]float32, len(halves))
	for k, h := range halves {
		values[k] = half.Float32(h)
	}
	return values
}

// Len returns the number of values that are there: Rows·Cols if x is valid.
func (x *Features) Len() int {
	if x.Half != nil {
		return len(x.Half)
	}
	return len(x.Data)
}

// Bytes returns what the values take.
func (x *Features) Bytes() int64 { return 4*int64(len(x.Data)) + 2*int64(len(x.Half)) }

// ToHalf returns x in half precision, each value rounded to the nearest half, to
// even between two; x itself if it is that already. The error wraps ErrInvalid
// and names, by row and column, the first value that is beyond ±65,504 or not
// finite.
func (x *Features) ToHalf() (*Features, error) {
	if x.Half != nil {
		return x, nil
	}
	h := &Features{Rows: x.Rows, Cols: x.Cols, Half: make([]uint16, len(x.Data))}
	if k := Narrow(h.Half, x.Data); k >= 0 {
		return nil, fmt.Errorf("graph: feature %d of node %d is %v, beyond the ±%d of half precision: %w", k%x.Cols, k/x.Cols, x.Data[k], half.Most, ErrInvalid)
	}
	return h, nil
}

// Narrow rounds values to half precision, as ToHalf does, up to the first that
// has no finite half, whose place it returns; −1 if there is none. dst must be
// as long as values.
func Narrow(dst []uint16, values []float32) int {
	dst = dst[:len(values)]
	for k, v := range values {
		h := half.FromFloat32(v)
		if infinite(h) {
			return k
		}
		dst[k] = h
	}
	return -1
}

// infinite tells halves that are infinite or not numbers.
func infinite(h uint16) bool { return h&0x7c00 == 0x7c00 }

// Validate reports the first thing wrong with x: values in both precisions, a
// number of them that is not Rows·Cols, or one that is not finite, named by row
// and column.
func (x *Features) Validate() error {
	if x.Data != nil && x.Half != nil {
		return fmt.Errorf("graph: features in single and in half precision at once: %w", ErrInvalid)
	}
	if x.Rows < 0 || x.Cols <= 0 || x.Rows > math.MaxInt/x.Cols || x.Len() != x.Rows*x.Cols {
		return fmt.Errorf("graph: features %d×%d hold %d values: %w", x.Rows, x.Cols, x.Len(), ErrInvalid)
	}
	bad := func(k int, v float32) error {
		return fmt.Errorf("graph: feature %d of node %d is %v, want finite: %w", k%x.Cols, k/x.Cols, v, ErrInvalid)
	}
	for k, v := range x.Data {
		if !finite(v) {
			return bad(k, v)
		}
	}
	for k, h := range x.Half {
		if infinite(h) {
			return bad(k, half.Float32(h))
		}
	}
	return nil
}
