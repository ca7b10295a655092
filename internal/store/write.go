package store

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"os"
	"slices"
	"strings"
	"unsafe"

	"github.com/edsrzf/mmap-go"
)

// Number is a type of the numbers of an array. uint16 holds float16.
type Number interface {
	byte | uint16 | int32 | int64 | float32
}

func typeOf[T Number]() string {
	switch any(*new(T)).(type) {
	case int64:
		return "I64"
	case int32:
		return "I32"
	case float32:
		return "F32"
	case uint16:
		return "F16"
	}
	return "U8"
}

// Output is an array of a store to write.
type Output struct {
	Name, Type string
	Shape      []int
	Write      func(*Writer) error // writes all values, by Put
}

// Slice is an array whose values are in memory, where they are written from and read to.
type Slice[T Number] struct {
	Name   string
	Values *[]T
	Cols   int // of a matrix; 0: a vector
}

// Output returns the array to write.
func (s Slice[T]) Output() Output {
	shape := []int{len(*s.Values)}
	if s.Cols > 0 {
		shape = []int{len(*s.Values) / s.Cols, s.Cols}
	}
	return Output{s.Name, typeOf[T](), shape, func(w *Writer) error { return Put(w, *s.Values) }}
}

// Read reads the values from a store.
func (s Slice[T]) Read(f *File) (err error) {
	*s.Values, err = Values[T](f, s.Name)
	return err
}

// Writer writes the arrays of a store, one after the other.
type Writer struct {
	ctx      context.Context
	file     *os.File
	arrays   []Array
	start    int64 // of the arrays
	at       int64 // of the next byte
	checksum uint32
}

// metadata is what the header says about the file, in this order.
type metadata struct {
	Format string `json:"format"`
	CRC32C string `json:"crc32c"`
	Data   string `json:"data"`
}

const (
	format = "gcn store 1"
	// A store begins with this text, and the checksum of its header, after the length.
	begin     = `{"__metadata__":{"format":"` + format + `","crc32c":"`
	sumDigits = 8

	mostHeader = 1 << 26 // bytes
	cacheLine  = 64      // bytes
)

func castagnoli() *crc32.Table { return crc32.MakeTable(crc32.Castagnoli) }

// checkByteOrder returns an error on a big-endian machine: stores are little-endian.
func checkByteOrder() error {
	if binary.NativeEndian.Uint16([]byte{1, 0}) != 1 {
		return errors.New("stores are little-endian and are used as they are, and this machine is big-endian")
	}
	return nil
}

// Write writes a store to an empty file. Arrays of 8 bytes a number come first, then those
// of 4, 2 and 1; the order is otherwise that of outputs. The header is written last, so that
// an incomplete file is not a store. It checks ctx every 4 MiB.
func Write(ctx context.Context, file *os.File, data string, outputs []Output) error {
	if err := checkByteOrder(); err != nil {
		return err
	}
	outputs = slices.Clone(outputs)
	slices.SortStableFunc(outputs, func(a, b Output) int { return cmp.Compare(typeBytes(b.Type), typeBytes(a.Type)) })
	w := &Writer{ctx: ctx, file: file}
	for _, o := range outputs {
		w.arrays = append(w.arrays, Array{Name: o.Name, Type: o.Type, Shape: o.Shape})
	}
	zeros := strings.Repeat("0", sumDigits)
	sums := []string{zeros}
	head := func() ([]byte, error) {
		sums = append(sums, slices.Repeat([]string{zeros}, len(outputs)+1-len(sums))...)
		return EncodeHeader(metadata{format, strings.Join(sums, " "), data}, w.arrays, cacheLine)
	}
	header, err := head()
	if err != nil {
		return err
	}
	if len(header) > mostHeader {
		return fmt.Errorf("notes and names of %d bytes, at most %d are stored", len(data), mostHeader)
	}
	w.start = int64(len(header))
	w.at = w.start
	if _, err := file.Seek(w.at, 0); err != nil {
		return err
	}
	sums = sums[:1]
	for k, o := range outputs {
		w.checksum = 0
		if err := o.Write(w); err != nil {
			return err
		}
		if want := w.start + w.arrays[k].Offsets[1]; w.at != want {
			return fmt.Errorf("%s: written to byte %d, want %d", o.Name, w.at, want)
		}
		sums = append(sums, fmt.Sprintf("%08x", w.checksum))
	}
	if header, err = head(); err != nil {
		return err
	}
	copy(header[8+len(begin):], fmt.Sprintf("%08x", crc32.Checksum(header, castagnoli())))
	_, err = file.WriteAt(header, 0)
	return err
}

// Put adds numbers to the current array.
func Put[T Number](w *Writer, values []T) error {
	const piece = 1 << 22
	for b := byteView(values); len(b) > 0; b = b[min(piece, len(b)):] {
		if err := w.ctx.Err(); err != nil {
			return err
		}
		part := b[:min(piece, len(b))]
		w.checksum = crc32.Update(w.checksum, castagnoli(), part)
		n, err := w.file.Write(part)
		w.at += int64(n)
		if err != nil {
			return err
		}
	}
	return nil
}

// Written maps the arrays that are complete. Close it before the store is complete.
func (w *Writer) Written() (*File, error) {
	f, err := os.Open(w.file.Name())
	if err != nil {
		return nil, err
	}
	defer f.Close() // it was only read
	s := &File{Path: w.file.Name(), start: w.start, Large: true}
	for _, a := range w.arrays {
		if w.start+a.Offsets[1] <= w.at {
			s.arrays = append(s.arrays, a)
		}
	}
	s.bytes, err = mmap.Map(f, mmap.RDONLY, 0)
	return s, err
}

// byteView returns the bytes of numbers, without a copy.
func byteView[T Number](values []T) []byte {
	if len(values) == 0 {
		return nil
	}
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(values))), len(values)*int(unsafe.Sizeof(values[0])))
}
