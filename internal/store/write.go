package store

import (
	"cmp"
	"context"
	"fmt"
	"hash/crc32"
	"io"
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
	return map[string]string{"int64": "I64", "int32": "I32", "float32": "F32",
		"uint16": "F16", "uint8": "U8"}[fmt.Sprintf("%T", *new(T))]
}

// Vector returns the array of a slice, from which it is written and into which it is read.
func Vector[T Number](name string, values *[]T) Array {
	return Array{
		Name: name, Type: typeOf[T](), Shape: []int{len(*values)},
		Write: func(w *Writer) error { return Put(w, *values) },
		Read: func(f *File) (err error) {
			*values, err = Values[T](f, name)
			return err
		},
	}
}

// Writer writes the arrays of a store, one after the other.
type Writer struct {
	ctx      context.Context
	file     *os.File
	arrays   []Array
	start    int64 // of the arrays
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
)

func castagnoli() *crc32.Table { return crc32.MakeTable(crc32.Castagnoli) }

// Write writes a store to an empty file. It sorts the caller's slice in place by the bytes of a
// number, the largest first. It writes the header last: a file without a header is not a store. It
// checks ctx every 4 MiB.
func Write(ctx context.Context, file *os.File, data string, arrays []Array) error {
	slices.SortStableFunc(arrays, func(a, b Array) int { return cmp.Compare(typeBytes(b.Type), typeBytes(a.Type)) })
	sums := slices.Repeat([]string{strings.Repeat("0", sumDigits)}, len(arrays)+1)
	head := func() ([]byte, error) {
		return EncodeHeader(metadata{format, strings.Join(sums, " "),
			data}, arrays, 64) // bytes of a cache line
	}
	header, err := head()
	if err != nil {
		return err
	}
	if len(header) > mostHeader {
		return fmt.Errorf("notes and names of %d bytes, at most %d are stored", len(data), mostHeader)
	}
	w := &Writer{ctx: ctx, file: file, arrays: arrays, start: int64(len(header))}
	if _, err := file.Seek(w.start, 0); err != nil {
		return err
	}
	for k, a := range arrays {
		w.checksum = 0
		if err := a.Write(w); err != nil {
			return err
		}
		if at, err := file.Seek(0, io.SeekCurrent); err != nil || at != w.start+a.Offsets[1] {
			return cmp.Or(err, fmt.Errorf("array %s: it wrote up to byte %d of the file, want %d", a.Name, at, w.start+a.Offsets[1]))
		}
		sums[k+1] = fmt.Sprintf("%08x", w.checksum)
	}
	header, _ = head() // with the sums, which do not change its length
	copy(header[8+len(begin):], fmt.Sprintf("%08x", crc32.Checksum(header, castagnoli())))
	_, err = file.WriteAt(header, 0)
	return err
}

// Put adds numbers to the current array.
func Put[T Number](w *Writer, values []T) error {
	const piece = 1 << 22
	b := unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(values))), len(values)*int(unsafe.Sizeof(*new(T))))
	for part := range slices.Chunk(b, piece) {
		if err := w.ctx.Err(); err != nil {
			return err
		}
		w.checksum = crc32.Update(w.checksum, castagnoli(), part)
		if _, err := w.file.Write(part); err != nil {
			return err
		}
	}
	return nil
}

// Written maps the file, to read the arrays that are complete. Close it before the store is
// complete.
func (w *Writer) Written() (*File, error) {
	mapped, err := mmap.Map(w.file, mmap.RDONLY, 0)
	return &File{
		Path:   w.file.Name(),
		start:  w.start,
		arrays: w.arrays,
		Large:  true,
		bytes:  mapped,
	}, err
}
