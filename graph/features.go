package graph

import (
	"context"
	"fmt"
	"math"

	"github.com/gcn-layerwise/gcn/internal/half"
)

// Features is a row-major matrix of node features, one row per node. It holds its values
// in one of three forms: dense in single precision, dense in half precision, or sparse. It
// is read-only in use and safe for concurrent reading. The values may lie in a
// memory-mapped file.
type Features struct {
	Rows, Cols int
	Data       []float32 // Rows·Cols values; nil with Half or Sparse

	// NonZero, if not 0, says that at most so many of the Rows·Cols values are not 0. Products with
	// weights on a CPU then leave the zeros out. P·X of layers.ExactInput says it.
	NonZero int

	// Half holds the values as IEEE 754 half-precision numbers if Data is nil:
	// half the bytes, at a relative error of 2⁻¹¹. Computations convert them to
	// float32.
	Half []uint16

	// Sparse holds the values that may differ from zero if Data and Half are nil. It is a
	// Rows×Cols matrix, and the columns of each row ascend. Products with it take time
	// for its entries only.
	Sparse *CSR

	// Release, if not nil, returns the memory of mapped values to the system;
	// reads then load them from the file again. A caller that has read most of the
	// values may call it if it does not need them for a while. The slices stay
	// valid, and reads on other goroutines only get slower.
	Release func()

	// Prefetch, if not nil, starts to read the given rows from disk, all at once,
	// and does not wait. Features larger than memory have it. Call it with the
	// rows of the next read. Calls may be concurrent.
	Prefetch func(rows []int32)

	// Share is not nil if several processes hold the rows together. The values are then
	// of some rows only: row i of the matrix is row Place[i] of the values, and is not
	// here if Place[i] < 0. The functions of this package work on whole matrices, except
	// Places and Bytes.
	Share *Share
	Place []int32
}

// Places returns the rows of the values that hold the given rows of x: rows itself, or, if
// x has a Share, their places in the memory of dst. The error wraps ErrInvalid and names a
// row that is not here.
func (x *Features) Places(dst, rows []int32) ([]int32, error) {
	if x.Share == nil {
		return rows, nil
	}
	dst = resize(dst, len(rows))
	for k, i := range rows {
		if dst[k] = x.Place[i]; dst[k] < 0 {
			return nil, fmt.Errorf("graph: the features of node %d are on another rank and were not fetched: %w", i, ErrInvalid)
		}
	}
	return dst, nil
}

// Sized reports whether x holds as many values as its sizes say.
func (x *Features) Sized() bool {
	if m := x.Sparse; m != nil {
		return m.Rows == x.Rows && m.Cols == x.Cols && x.Cols > 0 && len(m.Ptr) == x.Rows+1 && x.Share == nil
	}
	if x.Share != nil {
		return len(x.Place) == x.Rows && x.Cols > 0 && x.Len()%x.Cols == 0
	}
	return x.Len() == x.Rows*x.Cols
}

// Row returns the features of node i. The slice aliases x.Data; in half precision, and of
// sparse features, it is a copy.
func (x *Features) Row(i int) []float32 {
	if x.Sparse == nil && x.Half == nil {
		return x.Data[i*x.Cols : (i+1)*x.Cols]
	}
	row := make([]float32, x.Cols)
	if m := x.Sparse; m != nil {
		for k, j := range m.Row(i) {
			row[j] = float32(Weight(m.RowValues(i), k))
		}
		return row
	}
	for k, h := range x.Half[i*x.Cols : (i+1)*x.Cols] {
		row[k] = half.Float32(h)
	}
	return row
}

// Float32s returns all values in single precision: x.Data, or a copy of x.Half, or a copy
// of x.Sparse with its zeros.
func (x *Features) Float32s() []float32 {
	if x.Sparse == nil && x.Half == nil {
		return x.Data
	}
	values := make([]float32, 0, x.Rows*x.Cols)
	for i := range x.Rows {
		values = append(values, x.Row(i)...)
	}
	return values
}

// Len returns the number of values that x holds: Rows·Cols of valid dense features, the
// number of entries of sparse ones.
func (x *Features) Len() int {
	if x.Sparse != nil {
		return int(x.Sparse.NNZ())
	}
	return len(x.Data) + len(x.Half)
}

// Bytes returns the size of the values here.
func (x *Features) Bytes() int64 {
	bytes := 4*int64(len(x.Data)) + 2*int64(len(x.Half)) + 4*int64(len(x.Place))
	if x.Sparse != nil {
		bytes += x.Sparse.Bytes()
	}
	return bytes
}

// ToHalf returns x in half precision, each value rounded to nearest, ties to even; it
// returns x itself if x has half precision. The error wraps ErrInvalid and gives row
// and column of the first value that is not finite or rounds beyond ±65,504. Sparse features
// are an error.
func (x *Features) ToHalf() (*Features, error) {
	if x.Half != nil {
		return x, nil
	}
	if x.Sparse != nil {
		return nil, fmt.Errorf("graph: sparse features have no half precision: %w", ErrInvalid)
	}
	h := &Features{Rows: x.Rows, Cols: x.Cols, Half: make([]uint16, len(x.Data))}
	if k := half.Narrow(h.Half, x.Data); k >= 0 {
		return nil, fmt.Errorf("graph: feature %d of node %d is %v, beyond the ±%d of half precision: %w", k%x.Cols, k/x.Cols, x.Data[k], half.Most, ErrInvalid)
	}
	return h, nil
}

// Validate returns an error about the first fault of x: values in two forms, a
// number of values other than Rows·Cols, a value that is not finite, with its row
// and column, or a sparse matrix that is not valid or has columns that do not ascend. It reads
// the features on all cores, until ctx is done.
func (x *Features) Validate(ctx context.Context) error {
	switch m := x.Sparse; {
	case (x.Data != nil && x.Half != nil) || m != nil && (x.Data != nil || x.Half != nil):
		return fmt.Errorf("graph: features in two forms at once: %w", ErrInvalid)
	case x.Rows < 0 || x.Cols <= 0 || x.Rows > math.MaxInt/x.Cols || x.Share != nil || !x.Sized():
		return fmt.Errorf("graph: features %d×%d hold %d values: %w", x.Rows, x.Cols, x.Len(), ErrInvalid)
	case m != nil:
		err := m.Validate()
		if err == nil {
			err = eachRow(ctx, m.Rows, m.validateOrder)
		}
		if err != nil {
			return fmt.Errorf("graph: features: %w", err)
		}
		return nil
	}
	return eachRow(ctx, x.Rows, func(i int) error {
		for k, v := range x.Row(i) {
			if !finite(v) {
				return fmt.Errorf("graph: feature %d of node %d is %v, want finite: %w", k, i, v, ErrInvalid)
			}
		}
		return nil
	})
}
