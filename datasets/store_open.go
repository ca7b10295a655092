package datasets

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"time"
	"unsafe"

	"github.com/gcn-layerwise/gcn/graph"
	"github.com/gcn-layerwise/gcn/internal/memory"
	"github.com/gcn-layerwise/gcn/internal/parallel"
	"github.com/gcn-layerwise/gcn/internal/regularfile"
)

// storeScheme opens a store. A store that was found valid before, or was written
// here, is mapped in milliseconds; see docs/adr/0009-store.md.
func storeScheme(o Options) Scheme {
	return Scheme{
		Name: "store", Path: "FILE", builtin: true,
		Summary: "this program's own file, opened in milliseconds; gcn datasets convert writes it",
		Keys:    fileKeys(),
		Open: func(ctx context.Context, spec *Spec) (*Data, error) {
			d, err := openStore(ctx, spec.Path, o, false)
			return adjusted(ctx, d, spec, err)
		},
	}
}

// adjusted applies the keys of a SPEC to data from a store, unless opening it
// failed. On an error it closes the data.
func adjusted(ctx context.Context, d *Data, spec *Spec, err error) (*Data, error) {
	if err != nil {
		return nil, err
	}
	if err := adjust(ctx, d, spec); err != nil {
		d.Close() // the SPEC is wrong, not the store
		return nil, err
	}
	return d, nil
}

func adjust(ctx context.Context, d *Data, spec *Spec) error {
	own, err := ownSplit(spec)
	if err != nil {
		return err
	}
	d.Name = spec.String()
	if !own {
		if err := splitFromSpec(ctx, d, spec); err != nil {
			return err
		}
	}
	if how, given := spec.Values["normalize"]; given && how != "none" {
		// The mapping cannot be written to.
		if err := d.copyFeatures(); err != nil {
			return err
		}
	}
	if err := finish(ctx, d, spec, "none"); err != nil {
		return err
	}
	if len(spec.Values) > 0 {
		return d.validateNodes(ctx)
	}
	return nil
}

// copyFeatures makes the features d's own, in single precision.
func (d *Data) copyFeatures() error {
	x := d.Features
	d.Propagated = nil // it is of the features as they were
	if m := x.Sparse; m != nil {
		own := *m // Ptr and Idx do not change
		own.Val = slices.Clone(m.Val)
		d.Features = &graph.Features{Rows: x.Rows, Cols: x.Cols, Sparse: &own}
		return nil
	}
	what := fmt.Sprintf("datasets: %s: a copy of the features", d.title())
	if err := memory.Check(what, memory.Product(int64(x.Rows), int64(x.Cols), 4)); err != nil {
		return err
	}
	data := x.Float32s()
	if x.Half == nil {
		data = slices.Clone(data)
	}
	d.Features = &graph.Features{Rows: x.Rows, Cols: x.Cols, Data: data}
	return nil
}

// Close unmaps the store of d. The arrays of d, and slices of them, must not be used
// afterwards. Without Close they last as long as the process. Close does nothing
// for data that do not come from a store, or the second time.
//
// The file of an open store must not be changed or shortened: reading a lost page
// ends the process. It may be removed, or replaced by another file, as WriteStore
// does.
func (d *Data) Close() error {
	if d == nil || d.unmap == nil {
		return nil
	}
	unmap := d.unmap
	d.unmap = nil
	if err := unmap(); err != nil {
		return fmt.Errorf("datasets: %s: %w", d.title(), err)
	}
	return nil
}

// Release gives the memory of a mapped store back to the system; the next reads load it
// from the file again. It is for a program that will read only few of the data for a
// while. For data that do not come from a store it does nothing.
func (d *Data) Release() {
	if d.pages != nil && d.unmap != nil {
		d.pages()
	}
}

// openStore opens a store. It reads all of it, unless a record says that the store
// was found valid before, or this process has just written it: the data were validated
// before.
func openStore(ctx context.Context, path string, o Options, written bool) (*Data, error) {
	s, err := loadStore(path, true)
	if err != nil {
		return nil, err
	}
	d, err := s.data(ctx)
	switch {
	case err == nil && written:
		o.record(s)
	case err == nil && (o.verify || !o.recorded(s)):
		if err = s.verify(ctx, d); err == nil {
			o.record(s)
		} else if ctx.Err() == nil {
			o.forget(path)
		}
	}
	if err != nil {
		s.unmap() // nothing was written
		return nil, err
	}
	return d, nil
}

type storeFile struct {
	path     string
	info     os.FileInfo
	changed  time.Time // see lastChange
	bytes    []byte
	mapped   bool // bytes are a mapping of the file
	large    bool // the file is more than half as large as the memory limit
	sections []section
	digest   string // SHA-256 of header and table, which hold the checksums
	unmap    func() error
}

// loadStore maps a store and checks its header. It reads the store into memory if
// mapped is false or the system cannot map it.
func loadStore(path string, mapped bool) (*storeFile, error) {
	f, err := regularfile.Open(path)
	if err != nil {
		return nil, fmt.Errorf("datasets: %w", err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, fmt.Errorf("datasets: %w", err)
	}
	changed, err := lastChange(f)
	if err != nil {
		return nil, fmt.Errorf("datasets: %w", err)
	}
	fail := func(err error) error { return fmt.Errorf("datasets: %s: %w", path, err) }
	if info.Size() < headerBytes || info.Size() > math.MaxInt {
		return nil, fail(fmt.Errorf("not a file of at least %d bytes: %w", headerBytes, ErrFormat))
	}
	// The header comes first: a file that is not a store is not worth reading whole.
	head := make([]byte, min(info.Size(), headerBytes+mostSections*entryBytes))
	if _, err := io.ReadFull(f, head); err != nil {
		return nil, fail(err)
	}
	s := &storeFile{path: path, info: info, changed: changed}
	if s.sections, err = decodeHeader(head, uint64(info.Size())); err != nil {
		return nil, fail(err)
	}
	sum := sha256.Sum256(head[:headerBytes+entryBytes*len(s.sections)])
	s.digest = hex.EncodeToString(sum[:])
	if mapped && littleEndian() {
		s.bytes, s.unmap, err = mapFile(f)
		s.mapped = err == nil
		s.large = uint64(info.Size()) > memory.Limit()/2
	}
	if s.bytes == nil {
		s.unmap = func() error { return nil }
		if err = memory.Check("reading it", info.Size()); err == nil {
			s.bytes, err = readAligned(f, info.Size())
		}
	}
	if err != nil {
		return nil, fail(err)
	}
	if int64(len(s.bytes)) != info.Size() {
		s.unmap() // nothing was written
		return nil, fail(fmt.Errorf("changed while being opened: %w", ErrFormat))
	}
	return s, nil
}

// readAligned reads a whole file to an address that is aligned for all numbers.
func readAligned(f *os.File, size int64) ([]byte, error) {
	words := make([]uint64, (size+7)/8)
	b := unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(words))), size)
	_, err := f.ReadAt(b, 0)
	return b, err
}

func (s *storeFile) fail(format string, args ...any) error {
	return fmt.Errorf("datasets: %s: %w: %w", s.path, fmt.Errorf(format, args...), ErrFormat)
}

func (s *storeFile) content(e section) []byte {
	return s.bytes[e.offset : e.offset+e.bytes : e.offset+e.bytes]
}

// checked reports a section whose bytes and checksum differ.
func (s *storeFile) checked(ctx context.Context, e section) error {
	const piece = 1 << 24
	sum := uint32(0)
	for b := s.content(e); len(b) > 0; b = b[min(piece, len(b)):] {
		if err := ctx.Err(); err != nil {
			return err
		}
		sum = crc32.Update(sum, castagnoli(), b[:min(piece, len(b))])
	}
	if sum != e.checksum {
		return s.fail("%v: content and checksum differ", e.kind)
	}
	return nil
}

// smallSection is the largest size of sections that are checked at every opening.
// The description is checked too, of any size.
const smallSection = 1 << 16

// data returns the data set in the sections. It checks that their sizes agree, and
// the contents of small sections.
func (s *storeFile) data(ctx context.Context) (*Data, error) {
	d := &Data{Name: "store:" + s.path, Graph: &graph.CSR{}, Features: &graph.Features{}, Labels: &graph.Labels{}, simple: true, unmap: s.unmap}
	var meta *storeMeta
	names, sparse := &graph.Names{}, &graph.CSR{}
	rows := map[sectionKind]uint64{}
	for _, e := range s.sections {
		if e.bytes <= smallSection || e.kind == sectionMeta {
			if err := s.checked(ctx, e); err != nil {
				return nil, err
			}
		}
		if e.rows > math.MaxInt32 && !slices.Contains([]sectionKind{sectionIdx, sectionVal, sectionPtr, sectionNames, sectionSparsePtr, sectionSparseIdx, sectionSparseVal}, e.kind) || e.cols > math.MaxInt32 {
			return nil, s.fail("%v: %d×%d, at most %d each", e.kind, e.rows, e.cols, math.MaxInt32)
		}
		rows[e.kind] = e.rows
		b := s.content(e)
		if !littleEndian() { // b is then a copy in memory, which may be changed
			if err := s.checked(ctx, e); err != nil {
				return nil, err
			}
			swapBytes(b, e.element.size())
		}
		var err error
		switch e.kind {
		case sectionMeta:
			if e.bytes > mostMeta {
				return nil, s.fail("description of %d bytes, at most %d are read", e.bytes, mostMeta)
			}
			meta = new(storeMeta)
			if err := json.Unmarshal(b, meta); err != nil {
				return nil, s.fail("description: %w", err)
			}
		case sectionPtr:
			d.Graph.Ptr, err = view[int64](b)
		case sectionIdx:
			d.Graph.Idx, err = view[int32](b)
		case sectionVal:
			d.Graph.Val, err = view[float32](b)
		case sectionFeatures:
			d.Features, err = s.features(e)
		case sectionPropagated:
			d.Propagated, err = s.features(e)
		case sectionClass:
			d.Labels.Class, err = view[int32](b)
		case sectionTasks:
			d.Labels.Multi, err = view[float32](b)
			rows[e.kind] *= e.cols
		case sectionTrain:
			d.Split.Train, err = view[int32](b)
		case sectionValid:
			d.Split.Valid, err = view[int32](b)
		case sectionTest:
			d.Split.Test, err = view[int32](b)
		case sectionNames:
			names.Text = b
		case sectionNameEnds:
			names.Ends, err = view[int64](b)
		case sectionSparsePtr:
			sparse.Ptr, err = view[int64](b)
		case sectionSparseIdx:
			sparse.Idx, err = view[int32](b)
		case sectionSparseVal:
			sparse.Val, err = view[float32](b)
		}
		if err != nil {
			return nil, s.fail("%v: %w", e.kind, err)
		}
	}
	if meta == nil || rows[sectionPtr] < 2 || rows[sectionPtr] > math.MaxInt32+1 {
		return nil, s.fail("no description, or no graph")
	}
	n := rows[sectionPtr] - 1
	if rows[sectionSparsePtr]+rows[sectionSparseIdx]+rows[sectionSparseVal] > 0 {
		if rows[sectionFeatures] > 0 || rows[sectionSparsePtr] != n+1 || meta.Columns < 1 || meta.Columns > math.MaxInt32 {
			return nil, s.fail("%d row offsets of sparse features with %d columns for %d nodes, or dense features too", rows[sectionSparsePtr], meta.Columns, n)
		}
		if sparse.Ptr[0] != 0 || uint64(sparse.Ptr[n]) != rows[sectionSparseIdx] || sparse.Val != nil && rows[sectionSparseVal] != rows[sectionSparseIdx] {
			return nil, s.fail("row offsets from %d to %d for %d columns and %d values of the features", sparse.Ptr[0], sparse.Ptr[n], rows[sectionSparseIdx], rows[sectionSparseVal])
		}
		sparse.Rows, sparse.Cols = int(n), meta.Columns
		d.Features = s.sparseFeatures(sparse)
		rows[sectionFeatures] = n
	}
	labels := rows[sectionClass]
	if meta.Tasks > 0 {
		if rows[sectionTasks]%uint64(meta.Tasks) != 0 {
			return nil, s.fail("%d labels for %d tasks", rows[sectionTasks], meta.Tasks)
		}
		labels = rows[sectionTasks] / uint64(meta.Tasks)
	}
	switch {
	case d.Graph.Ptr[0] != 0 || uint64(d.Graph.Ptr[n]) != rows[sectionIdx]:
		return nil, s.fail("row offsets from %d to %d for %d columns", d.Graph.Ptr[0], d.Graph.Ptr[n], rows[sectionIdx])
	case d.Graph.Val != nil && rows[sectionVal] != rows[sectionIdx]:
		return nil, s.fail("%d values for %d columns", rows[sectionVal], rows[sectionIdx])
	case rows[sectionFeatures] != n || labels != n || (d.Labels.Class == nil) == (d.Labels.Multi == nil):
		return nil, s.fail("%d nodes, features of %d, labels of %d", n, rows[sectionFeatures], labels)
	case d.Propagated != nil && (rows[sectionPropagated] != n || d.Propagated.Cols != d.Features.Cols):
		return nil, s.fail("propagated features of %d nodes × %d, want %d × %d", rows[sectionPropagated], d.Propagated.Cols, n, d.Features.Cols)
	case !plausibleClasses(meta.Classes, int(n)):
		return nil, s.fail("%d classes for %d nodes", meta.Classes, n)
	case rows[sectionTrain] == 0:
		return nil, s.fail("the training set is empty")
	case (len(names.Text) > 0 || len(names.Ends) > 0) && uint64(len(names.Ends)) != n:
		return nil, s.fail("%d names of %d nodes", len(names.Ends), n)
	}
	if len(names.Ends) > 0 {
		d.NodeNames = names
	}
	d.Graph.Rows, d.Graph.Cols = int(n), int(n)
	s.prefetchEntries(d.Graph)
	if s.mapped {
		d.pages = func() { releasePages(s.bytes, 0, uint64(len(s.bytes))) }
	}
	d.Labels.Classes, d.Labels.Tasks, d.Labels.Names = meta.Classes, meta.Tasks, meta.ClassNames
	d.Directed = meta.Directed
	d.Metric, d.Notes, d.source = meta.Metric, meta.Notes, meta.Source
	d.Report = graph.Report{Given: meta.Given, SelfLoops: meta.SelfLoops, Duplicates: meta.Duplicates, Edges: meta.Edges}
	return d, nil
}

// features returns the matrix in a section, without copying it.
func (s *storeFile) features(e section) (*graph.Features, error) {
	x := &graph.Features{Rows: int(e.rows), Cols: int(e.cols)}
	var err error
	if e.element == elementFloat16 {
		x.Half, err = view[uint16](s.content(e))
	} else {
		x.Data, err = view[float32](s.content(e))
	}
	if s.mapped {
		x.Release = func() { releasePages(s.bytes, e.offset, e.offset+e.bytes) }
	}
	if s.mapped && s.large && e.rows > 0 {
		expectRandom(s.bytes, e.offset, e.offset+e.bytes)
		stride := e.bytes / e.rows
		x.Prefetch = func(rows []int32) {
			fetchRows(s.bytes, rows, func(i int32) (from, to uint64) {
				return e.offset + uint64(i)*stride, e.offset + uint64(i+1)*stride
			})
		}
	}
	return x, err
}

// prefetchEntries makes m, whose entries are in the store, start to read them from disk.
func (s *storeFile) prefetchEntries(m *graph.CSR) {
	if !s.mapped || !s.large {
		return
	}
	m.Prefetch = func(rows []int32) {
		for _, e := range s.sections {
			if e.kind == sectionIdx || e.kind == sectionVal {
				fetchRows(s.bytes, rows, func(i int32) (from, to uint64) {
					return e.offset + 4*uint64(m.Ptr[i]), e.offset + 4*uint64(m.Ptr[i+1])
				})
			}
		}
	}
}

// sparseFeatures returns features over the sections of a sparse matrix.
func (s *storeFile) sparseFeatures(m *graph.CSR) *graph.Features {
	x := &graph.Features{Rows: m.Rows, Cols: m.Cols, Sparse: m}
	if !s.mapped {
		return x
	}
	type part struct{ offset, end, width uint64 }
	var parts []part
	for _, e := range s.sections {
		if e.kind == sectionSparseIdx || e.kind == sectionSparseVal {
			parts = append(parts, part{e.offset, e.offset + e.bytes, e.element.size()})
		}
	}
	x.Release = func() {
		for _, p := range parts {
			releasePages(s.bytes, p.offset, p.end)
		}
	}
	if s.large {
		for _, p := range parts {
			expectRandom(s.bytes, p.offset, p.end)
		}
		x.Prefetch = func(rows []int32) {
			for _, p := range parts {
				fetchRows(s.bytes, rows, func(i int32) (from, to uint64) {
					return p.offset + p.width*uint64(m.Ptr[i]), p.offset + p.width*uint64(m.Ptr[i+1])
				})
			}
		}
	}
	return x
}

// verify reads the whole store. It checks the checksums, and that the data set is
// valid, which the kernels rely on.
func (s *storeFile) verify(ctx context.Context, d *Data) error {
	err := parallel.Chunks(ctx, len(s.sections), func(k int) error {
		if littleEndian() { // else data has checked it, before it swapped the bytes
			return s.checked(ctx, s.sections[k])
		}
		return nil
	})
	if err != nil {
		return err
	}
	if err := d.validateStructure(ctx); err != nil {
		return err
	}
	return d.validateNodes(ctx)
}

// A record says that a store was found valid. It is a small file in the cache: the
// store may come from anywhere, but the cache is the user's own. It holds the path,
// the size, the times of modification and change, and the digest of the header,
// which holds the checksums of the rest. It counts only while all of them are as
// they were. Without a cache, stores are read whole each time they are opened.

func (o *Options) recordPath(path string) (string, error) {
	cache, err := o.cacheDir()
	if err != nil {
		return "", err
	}
	path, err = filepath.Abs(path)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256([]byte(path))
	return filepath.Join(cache, "verified", hex.EncodeToString(sum[:16])), nil
}

func (s *storeFile) recordText() string {
	path, err := filepath.Abs(s.path)
	if err != nil {
		path = s.path
	}
	return fmt.Sprintf("store found valid, 2\n%q\n%d bytes\n%d\n%d\n%s\n", path, s.info.Size(), s.info.ModTime().UnixNano(), s.changed.UnixNano(), s.digest)
}

func (o *Options) recorded(s *storeFile) bool {
	path, err := o.recordPath(s.path)
	if err != nil {
		return false
	}
	text, err := os.ReadFile(path)
	return err == nil && string(text) == s.recordText()
}

// record writes the record of a valid store. It ignores errors: without a record
// the next opening takes longer.
func (o *Options) record(s *storeFile) {
	path, err := o.recordPath(s.path)
	if err != nil || os.MkdirAll(filepath.Dir(path), 0o755) != nil {
		return
	}
	// A later change within the same tick of the file system's clock would not show.
	const tick = 20 * time.Millisecond
	if age := time.Since(s.changed); age >= 0 && age < tick {
		time.Sleep(tick - age)
	}
	_ = os.WriteFile(path, []byte(s.recordText()), 0o644) // an incomplete record matches no store
}

func (o *Options) forget(path string) {
	if path, err := o.recordPath(path); err == nil {
		os.Remove(path) // there may be none
	}
}
