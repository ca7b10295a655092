package datasets

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"

	"github.com/gcn-layerwise/gcn/graph"
	"github.com/gcn-layerwise/gcn/internal/atomicfile"
	"github.com/gcn-layerwise/gcn/internal/filelock"
	"github.com/gcn-layerwise/gcn/internal/memory"
)

// streamSource is an undirected data set whose edges and features can be made in pieces. It
// gives the same each time.
type streamSource interface {
	// identity changes if the data change.
	identity() (string, error)
	sizes() streamSizes

	// edges calls put for all edges of the steps from first on, in any order. It calls
	// done(k) when all edges of the steps before k are put. It may call put concurrently,
	// but not done.
	edges(ctx context.Context, first int64, put func([]graph.Edge) error, done func(step int64) error) error

	// bare returns the data without entries of the graph and values of the features.
	bare(ctx context.Context, report graph.Report) (*Data, error)

	// features calls put for the features of the nodes from first on, whole rows at a time.
	// first is 0, or the first node after rows that were put before.
	features(ctx context.Context, first int, put func(rows []float32) error) error
}

// streamSizes are the sizes of a streamSource.
type streamSizes struct {
	nodes, width int
	edges        int64 // as listed: at least as many as the graph has
	steps        int64
	memory       int64 // bytes that the source takes itself

	mapped *Data // the data, if the source is a store: then it has no edges to put
	other  int64 // bytes of the store's other sections
}

// half reports whether the features are in half precision.
func (s streamSizes) half() bool { return s.mapped != nil && s.mapped.Features.Half != nil }

// fit reports whether graph and features can be read into memory, to compute P·X there.
func (s streamSizes) fit() bool {
	const edge = 24 // both directions, while the graph is built
	features, edges := memory.Product(int64(s.nodes), int64(s.width), 4), memory.Product(edge, s.edges)
	return features >= 0 && edges >= 0 && uint64(features)+uint64(edges) <= memory.Limit()/2
}

// streamState is the file state.json of a conversion. It says which contents of the other
// files are whole: a killed conversion goes on from there.
type streamState struct {
	Version  int          `json:"version"`
	Identity string       `json:"identity"`
	Scratch  string       `json:"scratch"` // folder of the buckets; "": beside the state
	Buckets  *bucketState `json:"buckets"`
	Filled   bool         `json:"filled"` // all edges are in buckets

	Sections []uint32 `json:"sections"` // checksums of the store's first sections
	Rows     int      `json:"rows"`     // of the section of features, or of P·X, that is being written
	Checksum uint32   `json:"checksum"` // of these rows
	Complete bool     `json:"complete"` // the store needs only its name
}

const streamVersion = 1

// streamer converts a streamSource to a store in bounded memory:
//
//	edges ─▶ buckets ─▶ sorted rows ─▶ .NAME.convert/store ─▶ NAME
//	                      features, drawn or read ──▲
//	                           P·X of the store so far ─▲
//
// The files of rows are removed before the features are written, so that a conversion
// seldom needs more disk space than its result.
type streamer struct {
	source    streamSource
	path      string // of the store; links are followed
	name      string // of the data, for messages
	precision Precision
	options   Options

	work    string // folder of the state and of the growing store
	buckets edgeBuckets
	state   streamState
}

// streamToStore converts a data set to a store without holding its graph or its features
// in memory. The result is the store that writeStoreAs makes of the data in memory, byte
// for byte. After an error, a cancellation or the end of the process, the same call goes on
// where the last one stopped.
func streamToStore(ctx context.Context, source streamSource, name, path string, o Options) error {
	target, err := filepath.EvalSymlinks(path)
	if err != nil {
		target = path // no file, or a link without a target
	}
	s := &streamer{source: source, path: target, name: name, precision: o.Precision, options: o}
	if source.sizes().half() && s.precision == "" {
		s.precision = Float16
	}
	s.work = workFolder(target)
	if err := s.run(ctx); err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return fmt.Errorf("datasets: %s: %w", path, err)
	}
	return nil
}

// workFolder returns the folder of the files of an unfinished conversion to a store.
func workFolder(store string) string {
	return filepath.Join(filepath.Dir(store), "."+filepath.Base(store)+".convert")
}

func (s *streamer) run(ctx context.Context) error {
	sizes := s.source.sizes()
	budget := s.options.memoryBudget()
	free := budget - sizes.memory
	if least := leastStreamMemory(); free < least {
		return fmt.Errorf("converting it takes at least %s of memory, and may take %s: %w",
			memory.Text(uint64(sizes.memory+least)), memory.Text(uint64(max(budget, 0))), memory.ErrTooLarge)
	}
	if err := os.MkdirAll(s.work, 0o777); err != nil {
		return err
	}
	lock, err := os.Create(filepath.Join(s.work, "lock"))
	if err != nil {
		return err
	}
	defer lock.Close()
	if err := filelock.Try(lock); err != nil && !errors.Is(err, errors.ErrUnsupported) {
		return err
	}
	if err := s.load(free); err != nil {
		return err
	}
	if s.state.Complete {
		return s.rename(lock)
	}
	if err := s.checkSpace(); err != nil {
		if _, there := os.Stat(s.statePath()); errors.Is(there, fs.ErrNotExist) { // nothing is lost
			err = errors.Join(err, s.remove(lock))
		}
		return err
	}
	if err := s.save(); err != nil { // where the buckets are
		return err
	}
	if len(s.state.Sections) == 0 && sizes.mapped == nil {
		if err := s.fill(ctx); err != nil {
			return err
		}
		if err := s.build(ctx, free); err != nil {
			return err
		}
	}
	if err := s.write(ctx); err != nil {
		return err
	}
	s.state.Complete = true
	if err := s.save(); err != nil {
		return err
	}
	return s.rename(lock)
}

// memoryBudget returns the bytes that a conversion may take.
func (o *Options) memoryBudget() int64 {
	if o.Memory > 0 {
		return o.Memory
	}
	const usual = 8 << 30
	return int64(min(memory.Limit()/2, usual))
}

// leastStreamMemory returns the bytes of the buffers of the buckets, the store and the
// features.
func leastStreamMemory() int64 {
	return mostBuckets*bucketEdges*bytesPerEdge + int64(runtime.GOMAXPROCS(0))<<22 + 3*4*synthBuffer/4
}

// load reads the state of an earlier run, or makes a new one.
func (s *streamer) load(free int64) error {
	identity, err := s.source.identity()
	if err != nil {
		return err
	}
	identity = fmt.Sprintf("%s\n%s", identity, s.precision)
	if s.options.Propagated {
		identity += "\nP·X"
	}
	sum := sha256.Sum256([]byte(identity))
	identity = hex.EncodeToString(sum[:16])
	sizes := s.source.sizes()
	text, err := os.ReadFile(s.statePath())
	switch {
	case errors.Is(err, fs.ErrNotExist):
		s.state = streamState{
			Version: streamVersion, Identity: identity,
			Buckets: newBucketState(sizes.nodes, sizes.edges, free/int64(runtime.GOMAXPROCS(0))),
		}
	case err != nil:
		return err
	default:
		err := json.Unmarshal(text, &s.state)
		if err != nil || s.state.Version != streamVersion || s.state.Identity != identity || !s.state.Buckets.check(sizes.nodes) {
			return fmt.Errorf("an unfinished conversion of other data, or with other options, is in %s: finish that one, or delete the folder", s.work)
		}
	}
	if err := s.place(text == nil); err != nil {
		return err
	}
	s.buckets = edgeBuckets{dir: cmp.Or(s.state.Scratch, s.work), nodes: sizes.nodes, state: s.state.Buckets}
	return os.MkdirAll(s.buckets.dir, 0o777)
}

// place chooses the folder of the buckets. An unfinished conversion keeps its own, and needs
// Options.Scratch no more: in another folder its files would be missing, and stay for ever.
func (s *streamer) place(begins bool) error {
	if s.options.Scratch == "" {
		return nil
	}
	dir, err := filepath.Abs(filepath.Join(s.options.Scratch, "gcn-convert-"+s.state.Identity))
	switch {
	case err != nil:
		return err
	case begins:
		s.state.Scratch = dir
	case s.state.Scratch != dir:
		return fmt.Errorf("an unfinished conversion has its temporary files in %s: finish it without another scratch folder, or delete that folder and %s", cmp.Or(s.state.Scratch, s.work), s.work)
	}
	return nil
}

func (s *streamer) statePath() string { return filepath.Join(s.work, "state.json") }

func (s *streamer) save() error {
	return atomicfile.Write(s.statePath(), func(w io.Writer) error { return json.NewEncoder(w).Encode(s.state) })
}

// storeBytes returns an upper bound of the store's size.
func (s streamSizes) storeBytes(p Precision) int64 {
	feature := int64(4)
	if p == Float16 {
		feature = 2
	}
	const node = 8 + 4 + 4 // offset, class, split
	return memory.Product(8, s.edges) + memory.Product(int64(s.nodes), node+int64(s.width)*feature) + s.other + 1<<20
}

// workBytes returns the disk space that a conversion takes at most, the growing store
// included, if all of its files are on one disk.
func (s streamSizes) workBytes(p Precision) int64 {
	// The rows, half of the temporary files, are there until the graph is in the store.
	graphAndRows := memory.Product(16, s.edges) + 12*int64(s.nodes)
	return max(bucketBytes(s.nodes, s.edges), graphAndRows, s.storeBytes(p))
}

// checkSpace reports a disk that cannot hold the rest of the files.
func (s *streamer) checkSpace() error {
	sizes := s.source.sizes()
	if s.options.Propagated {
		value := int64(4)
		if s.precision == Float16 {
			value = 2
		}
		sizes.other += memory.Product(value, int64(sizes.nodes), int64(sizes.width))
	}
	store, temporary := sizes.storeBytes(s.precision), bucketBytes(sizes.nodes, sizes.edges)
	if len(s.state.Sections) > 0 {
		temporary = 0
	}
	check := func(dir string, bytes int64, work string) error {
		free, known := freeSpace(dir)
		if have := free + usedSpace(dir); known && uint64(bytes) > have {
			return fmt.Errorf("%s takes up to %s of disk space in %s, where %s are free", work, memory.Text(uint64(bytes)), dir, memory.Text(have))
		}
		return nil
	}
	if s.buckets.dir != s.work {
		if err := check(s.buckets.dir, temporary, "sorting its edges"); err != nil {
			return err
		}
		return check(s.work, store, "the store")
	}
	if sizes.mapped != nil || len(s.state.Sections) > 0 { // there are no temporary files
		return check(s.work, store, "the store")
	}
	return check(s.work, sizes.workBytes(s.precision), "the conversion")
}

// usedSpace returns the size of the files in a folder.
func usedSpace(dir string) uint64 {
	var sum uint64
	entries, err := os.ReadDir(dir)
	if err != nil {
		return 0
	}
	for _, e := range entries {
		if info, err := e.Info(); err == nil && info.Mode().IsRegular() {
			sum += uint64(info.Size())
		}
	}
	return sum
}

func (s *streamer) progress(stage string, done, total int64) {
	if s.options.Progress != nil {
		s.options.Progress(FetchProgress{Name: s.name, Stage: stage, Done: done, Total: total})
	}
}

// checkpoint returns the number of bytes between two savings of the state, of a stage that
// writes total bytes: a killed conversion repeats a sixteenth of a stage, and at most 2 GiB.
func (s *streamer) checkpoint(total int64) int64 {
	if s.options.checkpoint > 0 {
		return s.options.checkpoint
	}
	const least, most = 64 << 20, 2 << 30
	return min(max(total/16, least), most)
}

// fill puts the edges into buckets.
func (s *streamer) fill(ctx context.Context) error {
	if s.state.Filled {
		return nil
	}
	if err := s.buckets.open(); err != nil {
		return errors.Join(err, s.buckets.close())
	}
	sizes, b := s.source.sizes(), s.state.Buckets
	total := memory.Product(2*bytesPerEdge, sizes.edges)
	saved := b.Given
	err := s.source.edges(ctx, b.Step, s.buckets.put, func(step int64) error {
		s.progress("edges", int64(float64(total)*float64(step)/float64(max(sizes.steps, 1))), total)
		if 2*bytesPerEdge*(b.Given-saved) < s.checkpoint(total) {
			return nil
		}
		if err := s.buckets.sync(); err != nil {
			return err
		}
		saved, b.Step = b.Given, step
		return s.save()
	})
	if err == nil {
		err = s.buckets.sync()
	}
	if err = errors.Join(err, s.buckets.close()); err != nil {
		return err
	}
	s.state.Filled, b.Step = true, sizes.steps
	return s.save()
}

// build sorts the buckets into rows.
func (s *streamer) build(ctx context.Context, free int64) error {
	workers := runtime.GOMAXPROCS(0)
	total := int64(len(s.state.Buckets.Rows))
	return s.buckets.build(ctx, workers, free/2, func() error {
		done := int64(0)
		for _, entries := range s.state.Buckets.Rows {
			if entries >= 0 {
				done++
			}
		}
		share := memory.Product(bytesPerEdge, s.state.Buckets.Given)
		s.progress("rows", share/total*done, share)
		return s.save()
	})
}

// write writes the store. It keeps the sections and features that an earlier run has saved.
func (s *streamer) write(ctx context.Context) error {
	d, err := s.source.bare(ctx, s.buckets.report())
	if err != nil {
		return err
	}
	sizes := s.source.sizes()
	parts := storeParts{entries: s.buckets.entries(), ptr: s.buckets.writePtr, idx: s.buckets.writeIdx, features: s.writeFeatures}
	if sizes.mapped != nil {
		d.Graph = sizes.mapped.Graph
		given := d.graphParts()
		parts.entries, parts.ptr, parts.idx = given.entries, given.ptr, given.idx
	} else {
		d.Graph = &graph.CSR{Rows: sizes.nodes, Cols: sizes.nodes}
	}
	if s.options.Propagated {
		parts.propagated = func(w *storeWriter) error { return s.writePropagated(w, d.Directed) }
	}
	d.Features = &graph.Features{Rows: sizes.nodes, Cols: sizes.width}
	d.simple = true
	if err := d.validateLabels(); err != nil {
		return err
	}
	f, err := os.OpenFile(filepath.Join(s.work, "store"), os.O_RDWR|os.O_CREATE, 0o666)
	if err != nil {
		return err
	}
	half := s.precision == Float16
	w := &storeWriter{ctx: ctx, file: f, half: half, rounded: half && !sizes.half(), cols: sizes.width, finished: s.state.Sections}
	w.written = func(kind sectionKind) error {
		if kind != sectionIdx && kind != sectionFeatures {
			return nil
		}
		if err := errors.Join(ctx.Err(), f.Sync()); err != nil {
			return err
		}
		if err := s.saveRows(w, 0); err != nil {
			return err
		}
		return s.buckets.removeRows()
	}
	err = w.writeAll(d, parts)
	if err == nil {
		err = f.Truncate(int64(w.at))
	}
	if err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}

// saveRows saves the state: w has finished its sections so far, and rows of the next one.
func (s *streamer) saveRows(w *storeWriter, rows int) error {
	s.state.Sections, s.state.Rows, s.state.Checksum = nil, rows, w.checksum
	for _, section := range w.sections {
		s.state.Sections = append(s.state.Sections, section.checksum)
	}
	return s.save()
}

// goOn moves w to the first row of a section of features that is not saved yet, and returns
// this row and the bytes of one.
func (s *streamer) goOn(w *storeWriter) (row int, stride int64, err error) {
	stride = int64(w.cols) * 4
	if w.half {
		stride /= 2
	}
	w.checksum = 0
	if len(w.sections) == len(s.state.Sections) && s.state.Rows > 0 { // of this section
		row, w.checksum = s.state.Rows, s.state.Checksum
	}
	w.at += uint64(stride * int64(row))
	_, err = w.file.Seek(int64(w.at), io.SeekStart)
	return row, stride, err
}

// writeFeatures writes the features from the last saved row on.
func (s *streamer) writeFeatures(w *storeWriter) error {
	sizes := s.source.sizes()
	row, stride, err := s.goOn(w)
	if err != nil {
		return err
	}
	saved, total := row, stride*int64(sizes.nodes)
	return s.source.features(w.ctx, row, func(rows []float32) error {
		if err := w.floats(rows, row*sizes.width); err != nil {
			return err
		}
		row += len(rows) / sizes.width
		s.progress("features", stride*int64(row), total)
		if stride*int64(row-saved) < s.checkpoint(total) {
			return nil
		}
		if err := w.file.Sync(); err != nil {
			return err
		}
		saved = row
		return s.saveRows(w, row)
	})
}

// rename gives the complete store its name and removes the other files.
func (s *streamer) rename(lock *os.File) error {
	part := filepath.Join(s.work, "store")
	err := os.Rename(part, s.path)
	if errors.Is(err, fs.ErrNotExist) {
		if _, there := os.Stat(s.path); there == nil {
			err = nil // an earlier run has renamed it
		}
	}
	if err != nil {
		return err
	}
	if dir, err := os.Open(filepath.Dir(s.path)); err == nil {
		_ = dir.Sync() // some systems cannot
		dir.Close()
	}
	return s.remove(lock)
}

// remove removes the temporary files.
func (s *streamer) remove(lock *os.File) (err error) {
	if s.buckets.dir != s.work {
		err = os.RemoveAll(s.buckets.dir)
	}
	lock.Close() // Windows cannot remove an open file
	return errors.Join(err, os.RemoveAll(s.work))
}
