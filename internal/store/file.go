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
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"hash/crc32"
	"io"
	"math"
	"os"
	"path/filepath"
	"strconv"
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

	size              int64
	modified, changed time.Time // see lastChange
	digest            string    // SHA-256 of the header, which holds the checksums

	bytes  mmap.MMap
	start  int64 // of the arrays
	arrays []Array
	sums   []uint32 // of the arrays
}

// Is tells whether the file at path begins like a store, or is empty.
func Is(path string) (bool, error) {
	f, err := regularfile.Open(path)
	if err != nil {
		return false, err
	}
	defer f.Close() // it was only read
	head := make([]byte, 8+len(begin))
	n, err := io.ReadFull(f, head)
	if err == io.EOF || err == io.ErrUnexpectedEOF {
		return n == 0, nil
	}
	return string(head[8:]) == begin, err
}

// Open maps a store and checks its header, but not its arrays. Errors name the file, and
// those about its content wrap ErrFormat.
func Open(path string) (*File, error) {
	f, err := regularfile.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close() // it was only read
	s := &File{Path: path}
	if err := s.open(f); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return s, nil
}

func (s *File) open(f *os.File) error {
	info, err := f.Stat()
	if err != nil {
		return err
	}
	s.size, s.modified = info.Size(), info.ModTime()
	if s.changed, err = lastChange(f); err != nil {
		return err
	}
	if err := checkByteOrder(); err != nil {
		return err
	}
	head := make([]byte, 8+len(begin)+sumDigits)
	if s.size < int64(len(head)) || s.size > math.MaxInt {
		return fmt.Errorf("%d bytes are too few: %w", s.size, ErrFormat)
	}
	if _, err := f.ReadAt(head, 0); err != nil {
		return err
	}
	length := binary.LittleEndian.Uint64(head)
	if !strings.HasPrefix(string(head[8:]), begin) || length < uint64(len(head)-8) {
		return fmt.Errorf("does not begin like a store: %w", ErrFormat)
	}
	if length > uint64(min(s.size-8, mostHeader)) {
		return fmt.Errorf("a header of %d bytes in a file of %d: %w", length, s.size, ErrFormat)
	}
	header := make([]byte, 8+length)
	if _, err := f.ReadAt(header, 0); err != nil {
		return err
	}
	if err := s.decode(header); err != nil {
		return fmt.Errorf("%w: %w", err, ErrFormat)
	}
	if s.bytes, err = mmap.Map(f, mmap.RDONLY, 0); err != nil {
		return err
	}
	if int64(len(s.bytes)) != s.size {
		s.Close() // nothing was written
		return fmt.Errorf("changed while being opened: %w", ErrFormat)
	}
	s.Large = uint64(s.size) > memory.Limit()/2
	return nil
}

// decode reads the header, and checks its checksum and the places of the arrays.
func (s *File) decode(header []byte) error {
	s.start = int64(len(header))
	sum := sha256.Sum256(header)
	s.digest = hex.EncodeToString(sum[:])
	own := header[8+len(begin):][:sumDigits]
	recorded := string(own)
	copy(own, strings.Repeat("0", sumDigits))
	if recorded != fmt.Sprintf("%08x", crc32.Checksum(header, castagnoli())) {
		return fmt.Errorf("header and its checksum differ")
	}
	arrays, texts, err := DecodeHeader(header[8:], s.size-s.start)
	if err != nil {
		return err
	}
	sums := strings.Fields(texts["crc32c"])
	if len(sums) != len(arrays)+1 {
		return fmt.Errorf("%d checksums of %d arrays", len(sums)-1, len(arrays))
	}
	for _, text := range sums[1:] {
		sum, err := strconv.ParseUint(text, 16, 32)
		if err != nil {
			return fmt.Errorf("checksum %.20q: want eight hexadecimal digits", text)
		}
		s.sums = append(s.sums, uint32(sum))
	}
	s.arrays, s.Data = arrays, texts["data"]
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
		for b := s.bytes[from:to]; len(b) > 0; b = b[min(piece, len(b)):] {
			if err := ctx.Err(); err != nil {
				return err
			}
			sum = crc32.Update(sum, castagnoli(), b[:min(piece, len(b))])
		}
		if sum != s.sums[k] {
			return fmt.Errorf("%s: %s: content and checksum differ: %w", s.Path, s.arrays[k].Name, ErrFormat)
		}
		return nil
	})
}

// Array returns the description of an array. ok is false if the store has none of that name.
func (s *File) Array(name string) (a Array, ok bool) {
	for _, a := range s.arrays {
		if a.Name == name {
			return a, true
		}
	}
	return Array{}, false
}

// Values returns the numbers of an array without copying them, nil if there are none. It is
// an error if the array is of another type.
func Values[T Number](s *File, name string) ([]T, error) {
	a, ok := s.Array(name)
	from, to := int64(0), int64(0)
	if ok {
		from, to = s.place(a)
	}
	if from == to {
		return nil, nil
	}
	start := unsafe.Pointer(&s.bytes[from])
	size := int64(unsafe.Sizeof(*new(T)))
	if a.Type != typeOf[T]() || uintptr(start)%uintptr(size) != 0 {
		return nil, fmt.Errorf("%s: %s: numbers of type %s at byte %d, want %s at a multiple of %d: %w", s.Path, name, a.Type, from, typeOf[T](), size, ErrFormat)
	}
	return unsafe.Slice((*T)(start), (to-from)/size), nil
}

// Matrix returns an array as features without copying them: float32, or float16. It is nil
// if there is no such array.
func (s *File) Matrix(name string) (*graph.Features, error) {
	a, ok := s.Array(name)
	if !ok {
		return nil, nil
	}
	if len(a.Shape) != 2 || a.Shape[0] > math.MaxInt32 || a.Shape[1] > math.MaxInt32 {
		return nil, fmt.Errorf("%s: %s: shape %v, want a matrix: %w", s.Path, name, a.Shape, ErrFormat)
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
		if a, ok := s.Array(name); ok {
			arrays = append(arrays, a)
		}
	}
	release = func() {
		for _, a := range arrays {
			from, to := s.place(a)
			releasePages(s.bytes, uint64(from), uint64(to))
		}
	}
	if !s.Large {
		return release, nil
	}
	for _, a := range arrays {
		from, to := s.place(a)
		expectRandom(s.bytes, uint64(from), uint64(to))
	}
	return release, func(rows []int32) {
		for _, a := range arrays {
			start, _ := s.place(a)
			size := typeBytes(a.Type)
			fetchRows(s.bytes, rows, func(i int32) (from, to uint64) {
				first, last := row(i)
				return uint64(start + size*first), uint64(start + size*last)
			})
		}
	}
}

// Release gives the memory of the whole mapping back to the system.
func (s *File) Release() {
	releasePages(s.bytes, 0, uint64(len(s.bytes)))
}

// A record says that a store was found valid. It is a small file in the user's own cache,
// while the store may come from anywhere. It holds the path, the size, the times of
// modification and change, and the digest of the header, which holds the checksums of the
// rest. It counts only while all of them are as they were.

// RecordPath returns the path of a store's record in a cache.
func RecordPath(cache, path string) string {
	sum := sha256.Sum256([]byte(absolute(path)))
	return filepath.Join(cache, "verified", hex.EncodeToString(sum[:16]))
}

func absolute(path string) string {
	if abs, err := filepath.Abs(path); err == nil {
		return abs
	}
	return path
}

func (s *File) recordText() string {
	return fmt.Sprintf("store found valid, 4\n%q\n%d bytes\n%d\n%d\n%s\n", absolute(s.Path), s.size, s.modified.UnixNano(), s.changed.UnixNano(), s.digest)
}

// Recorded tells whether the cache records the store as valid.
func (s *File) Recorded(cache string) bool {
	text, err := os.ReadFile(RecordPath(cache, s.Path))
	return err == nil && string(text) == s.recordText()
}

// Record writes the record of a valid store. It ignores errors: without a record the next
// opening takes longer.
func (s *File) Record(cache string) {
	path := RecordPath(cache, s.Path)
	if os.MkdirAll(filepath.Dir(path), 0o755) != nil {
		return
	}
	// A later change within the same tick of the file system's clock would not show.
	const tick = 20 * time.Millisecond
	if age := time.Since(s.changed); age >= 0 && age < tick {
		time.Sleep(tick - age)
	}
	_ = os.WriteFile(path, []byte(s.recordText()), 0o644) // an incomplete record matches no store
}
