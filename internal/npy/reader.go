package npy

import (
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"os"
	"slices"

	"github.com/gcn-layerwise/gcn/internal/half"
	"github.com/gcn-layerwise/gcn/internal/memory"
)

// Reader reads the values of one array, once. It is not safe for concurrent
// use.
type Reader struct {
	Header

	name     string // file, and member of an archive
	r        io.Reader
	capacity int // elements to allocate before the first is read
	close    func() error

	read  int64  // elements read by ReadFloat32s, ReadInt32s and Skip
	piece []byte // their buffer
}

// Open opens a .npy file. The error names the file. It wraps ErrFormat if the file is
// not a .npy file, or has another size than its header claims. Close the reader after
// use.
func Open(path string) (*Reader, error) {
	return openFile(path, func(f *os.File, size int64) (*Reader, error) {
		r, err := newReader(path, f, size, size)
		if err == nil {
			r.close = f.Close
		}
		return r, err
	})
}

// NewReader reads an array from r, which holds size bytes. Errors start with
// the name.
func NewReader(name string, r io.Reader, size int64) (*Reader, error) {
	return newReader(name, r, size, size)
}

// mostRatio is the greatest compression ratio of deflate, the method of archives.
const mostRatio = 1032

// newReader returns a reader of size bytes, which take stored bytes in the file. It
// allocates at once only a size that is usual for that many stored bytes.
func newReader(name string, r io.Reader, size, stored int64) (*Reader, error) {
	h, read, err := readHeader(r)
	if err != nil {
		return nil, fmt.Errorf("npy: %s: %w", name, err)
	}
	width, err := h.numbers()
	if err != nil {
		return nil, fmt.Errorf("npy: %s: %w", name, err)
	}
	want, have := int64(h.Len())*int64(width), size-read
	if want != have {
		return nil, fmt.Errorf("npy: %s: holds %d bytes of data, but %s of shape %v takes %d: %w", name, have, h.Descr, h.Shape, want, ErrFormat)
	}
	if want/mostRatio > stored {
		return nil, fmt.Errorf("npy: %s: %d bytes cannot hold the %d of shape %v: %w", name, stored, want, h.Shape, ErrFormat)
	}
	const usualRatio = 64 // of compression
	capacity := min(want, usualRatio*stored+1<<20) / int64(width)
	return &Reader{Header: h, name: name, r: r, capacity: int(capacity), close: func() error { return nil }}, nil
}

// Name returns the name of the file, and of the member in an archive.
func (r *Reader) Name() string { return r.name }

// Close closes the file or member.
func (r *Reader) Close() error { return r.close() }

// Float32s returns the values of a numeric or boolean array, in C order. Values
// beyond float32's range become infinite; NaNs stay. The caller owns the values. When
// ctx is done, the error is the context's. It wraps memory.ErrTooLarge, and nothing is
// allocated, if the values do not fit in memory.
func (r *Reader) Float32s(ctx context.Context) ([]float32, error) {
	decode, err := r.floatDecoder()
	if err != nil {
		return nil, err
	}
	return readAll(ctx, r, func(b []byte) (float32, bool) { return float32(decode(b)), true })
}

// Int64s returns the values of an integer or boolean array, in C order. Beside the
// errors of Float32s, it reports an element that does not fit.
func (r *Reader) Int64s(ctx context.Context) ([]int64, error) {
	return integers[int64](ctx, r, math.MinInt64, math.MaxInt64)
}

// Int32s is Int64s for int32.
func (r *Reader) Int32s(ctx context.Context) ([]int32, error) {
	return integers[int32](ctx, r, math.MinInt32, math.MaxInt32)
}

// Mask tells whether the elements are booleans. Callers that read numbers of nodes would
// take them for nodes 0 and 1.
func (r *Reader) Mask() bool {
	kind, _, err := r.element()
	return err == nil && kind == boolean
}

func integers[T int32 | int64](ctx context.Context, r *Reader, least, most int64) ([]T, error) {
	kind, size, err := r.element()
	if err != nil {
		return nil, err
	}
	if kind != signed && kind != unsigned && kind != boolean {
		return nil, fmt.Errorf("npy: %s: elements are %s, want integers: %w", r.name, r.Descr, ErrFormat)
	}
	// The common widths have their own decoders, since a file often has hundreds of
	// millions of indices.
	var decode func(b []byte) (T, bool)
	switch {
	case kind == signed && size == 4:
		decode = func(b []byte) (T, bool) { return T(int32(binary.LittleEndian.Uint32(b))), true }
	case kind == signed && size == 8:
		decode = func(b []byte) (T, bool) {
			v := int64(binary.LittleEndian.Uint64(b))
			return T(v), v >= least && v <= most
		}
	default:
		decode = func(b []byte) (T, bool) {
			v, fits := integer(kind, b)
			return T(v), fits && v >= least && v <= most
		}
	}
	return readAll(ctx, r, decode)
}

// integer decodes a little-endian integer of len(b) bytes; fits is false beyond
// int64.
func integer(k kind, b []byte) (v int64, fits bool) {
	var u uint64
	for i := len(b) - 1; i >= 0; i-- {
		u = u<<8 | uint64(b[i])
	}
	if k == signed {
		shift := 64 - 8*len(b)
		return int64(u<<shift) >> shift, true
	}
	return int64(u), u <= math.MaxInt64
}

func (r *Reader) floatDecoder() (func(b []byte) float64, error) {
	kind, size, err := r.element()
	switch {
	case err != nil:
		return nil, err
	case kind == float && size == 4:
		return func(b []byte) float64 { return float64(math.Float32frombits(binary.LittleEndian.Uint32(b))) }, nil
	case kind == float && size == 2:
		return func(b []byte) float64 { return float64(half.Float32(binary.LittleEndian.Uint16(b))) }, nil
	case kind == float:
		return func(b []byte) float64 { return math.Float64frombits(binary.LittleEndian.Uint64(b)) }, nil
	case kind == unsigned && size == 8:
		return func(b []byte) float64 { return float64(binary.LittleEndian.Uint64(b)) }, nil
	case kind == signed || kind == unsigned || kind == boolean:
		return func(b []byte) float64 {
			v, _ := integer(kind, b)
			return float64(v)
		}, nil
	}
	return nil, fmt.Errorf("npy: %s: elements are %s, want numbers: %w", r.name, r.Descr, ErrFormat)
}

// readAll decodes all elements and returns them in C order. It allocates memory for
// at most r.capacity elements before it has read that many.
func readAll[T any](ctx context.Context, r *Reader, decode func(b []byte) (T, bool)) ([]T, error) {
	_, size, err := r.element()
	if err != nil {
		return nil, err
	}
	n, copies := r.Len(), 1
	if r.Fortran && len(r.Shape) > 1 {
		if copies = 2; len(r.Shape) > 2 {
			return nil, fmt.Errorf("npy: %s: Fortran order of %d dimensions, at most 2 are read: %w", r.name, len(r.Shape), ErrFormat)
		}
	}
	var zero T
	if err := memory.Check(fmt.Sprintf("npy: %s: shape %v", r.name, r.Shape), memory.Product(int64(n), int64(binary.Size(zero)), int64(copies))); err != nil {
		return nil, err
	}
	values := make([]T, 0, min(n, r.capacity))
	buffer := make([]byte, min(n, 1<<13)*size)
	for len(values) < n {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if len(values) == r.capacity {
			values = slices.Grow(values, n-len(values))
		}
		piece := buffer[:min(n-len(values), 1<<13)*size]
		if _, err := io.ReadFull(r.r, piece); err != nil {
			return nil, fmt.Errorf("npy: %s: element %d: %w", r.name, len(values), cutShort(err, "the data"))
		}
		for k := 0; k < len(piece); k += size {
			v, fits := decode(piece[k : k+size])
			if !fits {
				return nil, fmt.Errorf("npy: %s: element %d is too large: %w", r.name, len(values), ErrFormat)
			}
			values = append(values, v)
		}
	}
	if err := r.End(); err != nil {
		return nil, err
	}
	if copies == 1 || n == 0 {
		return values, nil
	}
	return transposed(ctx, values, r.Shape[0], r.Shape[1])
}

// End reports data after the array, or in an archive a wrong checksum. Call it after the
// last element that ReadFloat32s, ReadInt32s or Skip has read.
func (r *Reader) End() error {
	var one [1]byte
	switch n, err := r.r.Read(one[:]); {
	case n > 0:
		return fmt.Errorf("npy: %s: data goes on after the array: %w", r.name, ErrFormat)
	case err != nil && err != io.EOF:
		return fmt.Errorf("npy: %s: %w", r.name, err)
	}
	return nil
}

// transposed returns a matrix in C order from values in Fortran order. rows and cols
// are positive.
func transposed[T any](ctx context.Context, values []T, rows, cols int) ([]T, error) {
	ordered := make([]T, len(values))
	stride := max(1<<16/rows, 1)
	for j := range cols {
		if j%stride == 0 && ctx.Err() != nil {
			return nil, ctx.Err()
		}
		for i, v := range values[j*rows : (j+1)*rows] {
			ordered[i*cols+j] = v
		}
	}
	return ordered, nil
}

// ReadFloat32s fills dst with the next values of a numeric array, in the order of the
// file. Use it, ReadInt32s and Skip instead of Float32s for an array that is larger than
// memory, and End after the last value. The error wraps ErrFormat if the data end before.
func (r *Reader) ReadFloat32s(dst []float32) error {
	decode, err := r.floatDecoder()
	if err != nil {
		return err
	}
	if r.Descr == "<f4" {
		return readPieces(r, dst, func(dst []float32, b []byte) int {
			for k := range dst {
				dst[k] = math.Float32frombits(binary.LittleEndian.Uint32(b[4*k:]))
			}
			return -1
		})
	}
	return readPieces(r, dst, func(dst []float32, b []byte) int {
		size := len(b) / len(dst)
		for k := range dst {
			dst[k] = float32(decode(b[k*size : (k+1)*size]))
		}
		return -1
	})
}

// ReadInt32s is ReadFloat32s for an array of integers. It reports an element that does not
// fit.
func (r *Reader) ReadInt32s(dst []int32) error {
	kind, _, err := r.element()
	if err != nil {
		return err
	}
	if kind != signed && kind != unsigned {
		return fmt.Errorf("npy: %s: elements are %s, want integers: %w", r.name, r.Descr, ErrFormat)
	}
	if r.Descr == "<i8" {
		return readPieces(r, dst, func(dst []int32, b []byte) int {
			for k := range dst {
				v := int64(binary.LittleEndian.Uint64(b[8*k:]))
				if dst[k] = int32(v); int64(dst[k]) != v {
					return k
				}
			}
			return -1
		})
	}
	return readPieces(r, dst, func(dst []int32, b []byte) int {
		size := len(b) / len(dst)
		for k := range dst {
			v, fits := integer(kind, b[k*size:(k+1)*size])
			if dst[k] = int32(v); !fits || int64(dst[k]) != v {
				return k
			}
		}
		return -1
	})
}

// readPieces decodes the next len(dst) elements. decode returns the index of an element
// that does not fit, or −1.
func readPieces[T any](r *Reader, dst []T, decode func(dst []T, b []byte) int) error {
	_, size, err := r.element()
	if err != nil {
		return err
	}
	const piece = 1 << 13
	for len(dst) > 0 {
		part := dst[:min(len(dst), piece)]
		dst = dst[len(part):]
		if r.piece == nil {
			r.piece = make([]byte, piece*size)
		}
		b := r.piece[:len(part)*size]
		if _, err := io.ReadFull(r.r, b); err != nil {
			return fmt.Errorf("npy: %s: after element %d: %w", r.name, r.read, cutShort(err, "the data"))
		}
		if k := decode(part, b); k >= 0 {
			return fmt.Errorf("npy: %s: element %d is too large: %w", r.name, r.read+int64(k), ErrFormat)
		}
		r.read += int64(len(part))
	}
	return nil
}

// Skip reads over the next n elements. It decompresses them, so that End can compare the
// checksum of an archive.
func (r *Reader) Skip(ctx context.Context, n int64) error {
	_, size, err := r.element()
	if err != nil {
		return err
	}
	const piece = 1 << 22
	for n > 0 {
		if err := ctx.Err(); err != nil {
			return err
		}
		part := min(n, piece)
		if _, err := io.CopyN(io.Discard, r.r, part*int64(size)); err != nil {
			return fmt.Errorf("npy: %s: after element %d: %w", r.name, r.read, cutShort(err, "the data"))
		}
		r.read += part
		n -= part
	}
	return nil
}
