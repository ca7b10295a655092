package npy

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
	"unique"
	"unsafe"

	"github.com/gcn-layerwise/gcn/internal/half"
	"github.com/gcn-layerwise/gcn/internal/memory"
)

// ErrFormat is wrapped by every error about a damaged file. Errors of reading, and of
// another kind of array than wanted, do not wrap it.
var ErrFormat = errors.New("not a valid NumPy file")

// Header describes the array of a file.
type Header struct {
	Descr   string // element type in NumPy's notation, such as "<f4"
	Fortran bool   // columns first
	Shape   []int  // empty for a scalar
}

// Len returns the number of elements.
func (h *Header) Len() int {
	n := 1
	for _, d := range h.Shape {
		n *= d
	}
	return n
}

// Mask tells whether the elements are booleans.
func (h *Header) Mask() bool { return h.Descr[1] == 'b' }

// Text tells whether the elements are texts: Python's str, such as "<U8", or bytes, such as
// "|S8".
func (h *Header) Text() bool { return h.Descr[1] == 'U' || h.Descr[1] == 'S' }

// Reader reads the values of one array, once. It is not safe for concurrent
// use. Close it after use.
type Reader struct {
	Header

	name  string // file, and member of an archive
	file  io.Reader
	width int // bytes of an element
	read  int // elements read
	piece []byte
}

// Open opens a .npy file. The error names the file. It wraps ErrFormat if the file is
// not a .npy file, or has another size than its header claims.
func Open(path string) (*Reader, error) {
	return open(path, func(f *os.File, size int64) (*Reader, error) { return NewReader(path, f, size) })
}

// NewReader reads an array from a file of size bytes, which it owns. Errors start with
// the name.
func NewReader(name string, file io.Reader, size int64) (*Reader, error) {
	h, read, err := readHeader(file)
	if err != nil {
		return nil, closing(file, fmt.Errorf("npy: %s: %w", name, err))
	}
	return NewValues(name, h, file, size-read)
}

// NewValues is NewReader for an array whose header lies elsewhere.
func NewValues(name string, h Header, file io.Reader, size int64) (r *Reader, err error) {
	r = &Reader{Header: h, name: name, file: file}
	if !regexp.MustCompile(`^([<>|](f[248]|[iu][1248]|b1)|[<|]U[1-9]\d{0,5}|\|S[1-9]\d{0,5})$`).MatchString(h.Descr) {
		reason := "is not one of f2 f4 f8 i1 i2 i4 i8 u1 u2 u4 u8 b1 <U |S"
		if strings.Contains(h.Descr, "O") {
			reason = `is of Python objects, which are not read: save numbers, or names as np.array(["" if v is None else str(v) for v in y])`
		}
		return nil, closing(file, fmt.Errorf("npy: %s: element type %q %s", name, h.Descr, reason))
	}
	r.width, _ = strconv.Atoi(h.Descr[2:]) // of digits
	if h.Descr[1] == 'U' {
		r.width *= 4
	}
	want := int64(r.width)
	for _, d := range h.Shape {
		want = memory.Product(want, int64(d))
	}
	switch {
	case want < 0:
		err = fmt.Errorf("npy: %s: shape %v is too large: %w", name, h.Shape, ErrFormat)
	case want != size:
		err = fmt.Errorf("npy: %s: holds %d bytes of data, but %s of shape %v takes %d: %w",
			name, size, h.Descr, h.Shape, want, ErrFormat)
	default:
		return r, nil
	}
	return nil, closing(file, err)
}

const magic = "\x93NUMPY"

// readHeader reads magic, version, length, and the Python dictionary. It has the keys descr,
// fortran_order and shape, once each, in any order. Python 2 wrote an L after large numbers.
func readHeader(file io.Reader) (h Header, size int64, err error) {
	start := make([]byte, 12)
	if err := fill(file, start, "the first 12 bytes"); err != nil {
		return h, 0, err
	}
	from := 10
	length := uint32(binary.LittleEndian.Uint16(start[8:]))
	if start[6] > 1 {
		from, length = 12, binary.LittleEndian.Uint32(start[8:])
	}
	if string(start[:6]) != magic || start[6] < 1 || start[6] > 3 || length < 2 || length > 1<<20 {
		return h, 0, fmt.Errorf("starts with %q, want %q and a version from 1 to 3: %w",
			start[:8], magic, ErrFormat)
	}
	text := append(start, make([]byte, from+int(length)-len(start))...)
	if err := fill(file, text[len(start):], "the header"); err != nil {
		return h, 0, err
	}
	entries := regexp.MustCompile(`^\s*\{(?:\s*(?:['"]descr['"]\s*:\s*['"]([^'"]*)['"]|['"]fortran_order['"]\s*:\s*(True|False)|['"]shape['"]\s*:\s*\(((?:\s*\d+L?\s*,)*(?:\s*\d+L?)?)\s*\))\s*,?){3}\s*\}\s*$`)
	dict := string(text[from:])
	at := entries.FindStringSubmatchIndex(dict)
	if at == nil || slices.Contains(at, -1) { // −1: a key is missing, and another is there twice
		return h, 0, fmt.Errorf("header %.100q: want the keys descr, of one element type, fortran_order and shape: %w", dict, ErrFormat)
	}
	h = Header{Descr: dict[at[2]:at[3]], Fortran: dict[at[4]:at[5]] == "True"}
	for _, field := range strings.FieldsFunc(dict[at[6]:at[7]], func(c rune) bool { return c < '0' || c > '9' }) {
		d, err := strconv.Atoi(field)
		if err != nil || len(h.Shape) == 32 {
			return h, 0, fmt.Errorf("shape (%.100s) is too large: %w", dict[at[6]:at[7]], ErrFormat)
		}
		h.Shape = append(h.Shape, d)
	}
	return h, int64(len(text)), nil
}

// fill reads as many bytes as b has. what names them in an error.
func fill(file io.Reader, b []byte, what string) error {
	_, err := io.ReadFull(file, b)
	if err == io.EOF || err == io.ErrUnexpectedEOF {
		err = fmt.Errorf("ends within %s: %w", what, ErrFormat)
	} else if err != nil {
		err = fmt.Errorf("reading %s: %w", what, err)
	}
	return err
}

// Name returns the name of the file, and of the member in an archive.
func (r *Reader) Name() string { return r.name }

// Close closes the file or member.
func (r *Reader) Close() error { return closing(r.file, nil) }

type number interface {
	float32 | float64 | int8 | int16 | int32 | int64 | uint8 | uint16 | uint32 | uint64
}

// All returns the values of a numeric or boolean array, in C order; integers are not read from
// floating-point numbers. Values beyond float32's range become infinite; NaNs stay. An integer
// that does not fit is an error that names the element. The caller owns the values. When ctx is
// done, the error is the context's. It wraps memory.ErrTooLarge, and nothing is allocated, if
// the values do not fit in memory.
func All[T number](ctx context.Context, r *Reader) ([]T, error) {
	var zero T
	if err := memory.Check(fmt.Sprintf("npy: %s: shape %v", r.name,
		r.Shape), memory.Product(int64(r.Len()), int64(binary.Size(zero)))); err != nil {
		return nil, err
	}
	values := make([]T, r.Len())
	if err := Read(ctx, r, values); err != nil || !r.Fortran || len(r.Shape) < 2 {
		return values, err
	}
	if len(r.Shape) > 2 {
		return nil, fmt.Errorf("npy: %s: Fortran order of %d dimensions, at most 2 are read",
			r.name, len(r.Shape))
	}
	rows := r.Shape[0]
	cols := r.Shape[1]
	byRows := make([]T, len(values))
	for k, v := range values {
		byRows[k%rows*cols+k/rows] = v
	}
	return byRows, nil
}

// Read fills dst with the next values of an array of numbers, in the order of the file. Use Read and
// Skip for an array that is larger than memory. Read returns the same errors as All.
func Read[T number](ctx context.Context, r *Reader, dst []T) error {
	var zero T
	_, isFloat := any(zero).(float32)
	if r.Text() || r.Descr[1] == 'f' && !isFloat {
		return fmt.Errorf("npy: %s: elements are %s, want %s", r.name, r.Descr,
			map[bool]string{true: "numbers", false: "integers"}[isFloat])
	}
	return map[string]func(context.Context, *Reader, []T, bool) error{
		"f2": read[uint16, T], "f4": read[float32, T], "f8": read[float64, T], "b1": read[uint8, T],
		"i1": read[int8, T], "i2": read[int16, T], "i4": read[int32, T], "i8": read[int64, T],
		"u1": read[uint8, T], "u2": read[uint16, T], "u4": read[uint32, T], "u8": read[uint64, T],
	}[r.Descr[1:]](ctx, r, dst, isFloat)
}

// read is Read for numbers of type F in the file. Half-precision numbers are read as uint16.
func read[F, T number](ctx context.Context, r *Reader, dst []T, isFloat bool) error {
	isHalf := r.Descr[1:] == "f2"
	for len(dst) > 0 {
		b, err := r.next(ctx, int64(len(dst)))
		if err != nil {
			return err
		}
		if r.Descr[0] == '>' { // machines are little-endian
			for element := range slices.Chunk(b, r.width) {
				slices.Reverse(element)
			}
		}
		from := unsafe.Slice((*F)(unsafe.Pointer(unsafe.SliceData(b))), len(b)/r.width)
		for k, v := range from {
			x := T(v)
			if isHalf {
				x = T(half.Float32(uint16(v)))
			} else if !isFloat && (F(x) != v || (x < 0) != (v < 0)) {
				return fmt.Errorf("npy: %s: element %d is too large: %w",
					r.name, r.read-len(from)+k, ErrFormat)
			}
			dst[k] = x
		}
		dst = dst[len(from):]
	}
	return nil
}

// next returns the bytes of the next elements, n at most. They are valid until the next call.
func (r *Reader) next(ctx context.Context, n int64) ([]byte, error) {
	if r.piece == nil {
		r.piece = make([]byte, min(max(1<<16/r.width, 1), max(r.Len(), 1))*r.width)
	}
	b := r.piece[:min(n, int64(len(r.piece)/r.width))*int64(r.width)]
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if err := fill(r.file, b, "the data"); err != nil {
		return nil, fmt.Errorf("npy: %s: after element %d: %w", r.name, r.read, err)
	}
	if r.read += len(b) / r.width; r.read == r.Len() { // an archive compares its checksum
		if n, err := r.file.Read(make([]byte, 1)); n > 0 || err != io.EOF {
			return nil, fmt.Errorf("npy: %s: after the array: %w", r.name, cmp.Or(err, ErrFormat))
		}
	}
	return b, nil
}

// Texts returns the elements of an array of texts, in the order of the file, without the zeros
// at their ends. Equal texts lie in memory once. The error about an element that is not Unicode
// names it, and wraps ErrFormat. When ctx is done, the error is the context's.
func (r *Reader) Texts(ctx context.Context) (texts []string, err error) {
	if !r.Text() {
		return nil, fmt.Errorf("npy: %s: elements are %s, want texts", r.name, r.Descr)
	}
	var text []byte
	for len(texts) < r.Len() {
		part, err := r.next(ctx, int64(r.Len()-len(texts)))
		if err != nil {
			return nil, err
		}
		for element := range slices.Chunk(part, r.width) {
			if r.Descr[1] == 'U' {
				text = text[:0]
				for code := range slices.Chunk(element, 4) {
					letter := rune(binary.LittleEndian.Uint32(code))
					if text = utf8.AppendRune(text, letter); !utf8.ValidRune(letter) {
						text = append(text, 0xff) // no UTF-8
					}
				}
				element = text
			}
			if element = bytes.TrimRight(element, "\x00"); !utf8.Valid(element) {
				return nil, fmt.Errorf("npy: %s: element %d: not Unicode text: %w",
					r.name, len(texts), ErrFormat)
			}
			texts = append(texts, unique.Make(string(element)).Value())
		}
	}
	return texts, nil
}

// Skip reads over the next n elements.
func (r *Reader) Skip(ctx context.Context, n int64) error {
	for n > 0 {
		b, err := r.next(ctx, n)
		if err != nil {
			return err
		}
		n -= int64(len(b) / r.width)
	}
	return nil
}
