// Package store writes and maps stores: safetensors files of the arrays of one data set, with
// checksums.
//
//	uint64   length of the header
//	JSON     the header: {"__metadata__": {"format", "crc32c", "data"}, NAME: {…}, …}
//	arrays   without gaps; types of 8 bytes first, then 4, 2 and 1, so that all are aligned
//
// "crc32c" holds CRC-32C sums of eight hexadecimal digits each: of the header, with zeros in
// the place of this sum, and of each array in the order of the file. "data" is a text of the
// caller. Numbers are little-endian, as in memory: an array is used where it lies.
package store

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unsafe"

	"github.com/edsrzf/mmap-go"

	"github.com/gcn-layerwise/gcn/graph"
	"github.com/gcn-layerwise/gcn/internal/memory"
	"github.com/gcn-layerwise/gcn/internal/parallel"
	"github.com/gcn-layerwise/gcn/internal/regularfile"
)

// File is an open store. Its arrays are valid until Close.
type File struct {
	Path  string
	Data  string // as given to Write
	Large bool   // the file is more than half as large as the memory limit

	modified time.Time
	bytes    mmap.MMap
	start    int64 // of the arrays
	arrays   []Array
	sums     []string // of the arrays, hexadecimal
}

// Open maps a store and checks its header, but not its arrays. Errors name the file, and
// those about its content wrap ErrFormat.
func Open(path string) (*File, error) {
	f, err := regularfile.Open(path)
	if err != nil {
		return nil, fmt.Errorf("datasets: %w", err)
	}
	defer f.Close() // it was only read
	s := &File{Path: path}
	if err := s.open(f); err != nil {
		s.Close() // nothing was written
		return nil, fmt.Errorf("datasets: %s: %w", path, err)
	}
	return s, nil
}

func (s *File) open(f *os.File) error {
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if s.modified = info.ModTime(); info.Size() > 0 { // nothing cannot be mapped
		if s.bytes, err = mmap.Map(f, mmap.RDONLY, 0); err != nil {
			return err
		}
	}
	const least = int64(8 + len(begin) + sumDigits)
	size := int64(len(s.bytes))
	if size < least {
		return fmt.Errorf("%d bytes are too few: %w", size, ErrFormat)
	}
	length := binary.LittleEndian.Uint64(s.bytes)
	if length < uint64(least-8) || length > uint64(min(size-8, mostHeader)) || !bytes.HasPrefix(s.bytes[8:], []byte(begin)) {
		return fmt.Errorf("does not begin like a store: %w", ErrFormat)
	}
	if err := s.decode(bytes.Clone(s.bytes[:8+length]), size); err != nil {
		return fmt.Errorf("%w: %w", err, ErrFormat)
	}
	s.Large = uint64(size) > memory.Limit()/2
	return nil
}

// decode reads the header of a file of some size, and checks its checksum and the places of the
// arrays.
func (s *File) decode(header []byte, size int64) error {
	s.start = int64(len(header))
	own := header[8+len(begin):][:sumDigits]
	recorded := string(own)
	copy(own, strings.Repeat("0", sumDigits))
	if recorded != fmt.Sprintf("%08x", crc32.Checksum(header, castagnoli())) {
		return fmt.Errorf("header and its checksum differ")
	}
	arrays, texts, err := DecodeHeader(header[8:], size-s.start)
	if err != nil {
		return err
	}
	sums := strings.Fields(texts["crc32c"])
	if len(sums) != len(arrays)+1 {
		return fmt.Errorf("%d checksums of %d arrays", len(sums)-1, len(arrays))
	}
	s.arrays, s.sums, s.Data = arrays, sums[1:], texts["data"]
	return nil
}

// Close unmaps the store.
func (s *File) Close() error { return s.bytes.Unmap() }

// place returns the first byte of an array, and the byte after its last one.
func (s *File) place(a Array) (from, to int64) { return s.start + a.Offsets[0], s.start + a.Offsets[1] }

// Check reports an array whose content and checksum differ. It reads on all cores, until ctx is
// done.
func (s *File) Check(ctx context.Context) error {
	const piece = 1 << 24
	return parallel.Chunks(ctx, len(s.arrays), func(k int) error {
		from, to := s.place(s.arrays[k])
		sum := uint32(0)
		for part := range slices.Chunk(s.bytes[from:to], piece) {
			if err := ctx.Err(); err != nil {
				return err
			}
			sum = crc32.Update(sum, castagnoli(), part)
		}
		if fmt.Sprintf("%08x", sum) != s.sums[k] {
			return fmt.Errorf("datasets: %s: %s: content and checksum differ: %w",
				s.Path, s.arrays[k].Name, ErrFormat)
		}
		return nil
	})
}

// array returns the description of an array, of no bytes if the store has none of that name.
func (s *File) array(name string) Array {
	for _, a := range s.arrays {
		if a.Name == name {
			return a
		}
	}
	return Array{Offsets: []int64{0, 0}}
}

// Values returns the numbers of an array without copying them, nil if there are none. It is
// an error if the array is of another type.
func Values[T Number](s *File, name string) ([]T, error) {
	a := s.array(name)
	from, to := s.place(a)
	if from == to {
		return nil, nil
	}
	start := unsafe.Pointer(&s.bytes[from])
	size := int64(unsafe.Sizeof(*new(T)))
	if a.Type != typeOf[T]() || uintptr(start)%uintptr(size) != 0 {
		return nil, fmt.Errorf("datasets: %s: %s: numbers of type %s at byte %d, want %s at a multiple of %d: %w", s.Path, name, a.Type, from, typeOf[T](), size, ErrFormat)
	}
	return unsafe.Slice((*T)(start), (to-from)/size), nil
}

// Matrix returns an array as features without copying them: float32, or float16. It is nil
// if there is no such array.
func (s *File) Matrix(name string) (*graph.Features, error) {
	a := s.array(name)
	if a.Shape == nil {
		return nil, nil
	}
	if len(a.Shape) != 2 || a.Shape[0] > math.MaxInt32 || a.Shape[1] > math.MaxInt32 {
		return nil, fmt.Errorf("datasets: %s: %s: shape %v, want a matrix: %w",
			s.Path, name, a.Shape, ErrFormat)
	}
	x := &graph.Features{Rows: a.Shape[0], Cols: a.Shape[1]}
	var err error
	if a.Type == typeOf[uint16]() {
		x.Half, err = Values[uint16](s, name)
	} else {
		x.Data, err = Values[float32](s, name)
	}
	x.Release, x.Prefetch = s.advice([]string{name}, func(i int32) (first, last int64) {
		return int64(i) * int64(x.Cols), int64(i+1) * int64(x.Cols)
	})
	return x, err
}

// Rows gives a sparse matrix in the arrays named the calls that read its entries from disk.
func (s *File) Rows(m *graph.CSR, names ...string) (release func(), prefetch func(rows []int32)) {
	return s.advice(names, func(i int32) (first, last int64) { return m.Ptr[i], m.Ptr[i+1] })
}

// advice returns functions that give the pages of arrays back to the system, and that start
// to read rows. row returns the first number of a row, and the number after its last one. A
// function is nil if it would do nothing.
func (s *File) advice(names []string, row func(i int32) (first, last int64)) (release func(), prefetch func(rows []int32)) {
	var arrays []Array
	for _, name := range names {
		arrays = append(arrays, s.array(name))
	}
	release = func() {
		for _, a := range arrays {
			from, to := s.place(a)
			releasePages(s.bytes, from, to)
		}
	}
	if !s.Large {
		return release, nil
	}
	for _, a := range arrays {
		from, to := s.place(a)
		expectRandom(s.bytes, from, to)
	}
	return release, func(rows []int32) {
		for _, a := range arrays {
			start, _ := s.place(a)
			size := typeBytes(a.Type)
			fetchRows(s.bytes, rows, func(i int32) (from, to int64) {
				first, last := row(i)
				return start + size*first, start + size*last
			})
		}
	}
}

// RecordPath returns the path of the record in a cache that the store was found valid: an empty
// file in the user's own cache, while the store may come from anywhere. Its name is made of the path
// of the store, its time of modification, and its header, which holds the checksums of the rest.
func (s *File) RecordPath(cache string) string {
	absolute, _ := filepath.Abs(s.Path) // "" without it: the rest of the name still fits this store alone
	name := sha256.Sum256(fmt.Appendf(nil, "%s\n%d\n%s", absolute,
		s.modified.UnixNano(), s.bytes[:s.start]))
	return filepath.Join(cache, "verified", fmt.Sprintf("%x", name)[:32])
}
