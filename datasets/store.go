package datasets

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/gcn-layerwise/gcn/graph"
	"github.com/gcn-layerwise/gcn/internal/atomicfile"
	"github.com/gcn-layerwise/gcn/internal/half"
	"github.com/gcn-layerwise/gcn/internal/kernel"
	"github.com/gcn-layerwise/gcn/internal/memory"
	"github.com/gcn-layerwise/gcn/internal/store"
)

// ErrFormat is wrapped by errors about a file that is a damaged or incomplete store, or not a
// store.
var ErrFormat = store.ErrFormat

// storeMeta is the part of a store that is not arrays.
type storeMeta struct {
	Schema Schema   `json:"schema"`
	Metric Metric   `json:"metric"`
	Notes  []string `json:"notes"`
	graph.Report
	Directed bool `json:"directed,omitempty"`
}

// slices returns the arrays of a store that are slices of Data. Empty ones are left out of it. Dense
// features are not among them: feat, and P·X, propagated, are float32 or float16, nodes × features.
func (d *Data) slices() []store.Array {
	a, y, s := d.Graph, d.Labels, &d.Split
	x, names := cmp.Or(d.Features.Sparse, new(graph.CSR)), cmp.Or(d.NodeNames, new(graph.Names))
	labels := store.Vector("labels", &y.Class)
	if y.Tasks > 0 {
		labels = store.Vector("labels", &y.Multi)
		labels.Shape = []int{len(y.Multi) / y.Tasks, y.Tasks}
	}
	return []store.Array{
		store.Vector("indptr", &a.Ptr),
		store.Vector("indices", &a.Idx),
		store.Vector("data", &a.Val), // absent where all are 1
		labels,
		store.Vector("train", &s.Train),
		store.Vector("valid", &s.Valid),
		store.Vector("test", &s.Test),
		store.Vector("feat_indptr", &x.Ptr), // of sparse features
		store.Vector("feat_indices", &x.Idx),
		store.Vector("feat_data", &x.Val),
		store.Vector("names", &names.Text),
		store.Vector("name_ends", &names.Ends), // the end of each name in the text
	}
}

// WriteStore validates a data set and writes it as a store, without changing the
// precision of the features. The file appears whole or not at all: an existing file
// is replaced only once the new one is complete, and processes that have the old one
// open keep it. Data without labels are an error. Cost: one pass over the data to check
// them, one to write them, and 8 bytes of memory a node.
func WriteStore(ctx context.Context, path string, d *Data) error {
	if d == nil || d.file == nil { // else opening the store has checked it
		if err := d.validate(ctx); err != nil {
			return err
		}
	}
	return writeStore(ctx, path, d, nil, &Options{})
}

// rowSource calls put for the values of features, row by row. It may read the arrays before
// them from the store that is being written.
type rowSource func(w *store.Writer, put rowSink) error

// rowSink takes the values of whole rows.
type rowSink = func(rows []float32) error

// writeStore writes valid data as a store, with the precision and P·X of the options. It
// takes the features from the given source, or from d if that is nil.
func writeStore(ctx context.Context, path string, d *Data, features rowSource, o *Options) error {
	if d.unlabelled {
		return d.fail("data without labels are not written: they could not be opened again")
	}
	x := d.Features
	if o.Half && x.Sparse != nil {
		return fmt.Errorf("datasets: %s: float16 is for dense features, and these are sparse: leave it out, or add sparse=0 to the SPEC", path)
	}
	if features == nil {
		features = func(_ *store.Writer, put rowSink) error { return put(x.Data) }
	}
	notes := slices.Clone(d.Notes)
	if d.file == nil && d.Name != "" {
		notes = append([]string{"made from " + d.Name}, notes...)
	}
	if o.Half && x.Half == nil {
		notes = append(notes, "features rounded to float16")
	}
	text, err := json.Marshal(storeMeta{*d.Schema(), d.Metric, notes, d.Report, d.Directed})
	if err != nil {
		return err
	}
	asHalf := o.Half || x.Half != nil
	feat := d.matrix("feat", asHalf, features)
	if x.Half != nil {
		feat.Write = store.Vector("feat", &x.Half).Write
	}
	arrays := append([]store.Array{feat}, d.slices()...)
	if o.Propagated {
		arrays = append(arrays, d.matrix("propagated", asHalf, func(w *store.Writer, put rowSink) error {
			return propagate(ctx, w, d, put, o)
		}))
	}
	arrays = slices.DeleteFunc(arrays, func(a store.Array) bool {
		return slices.Contains(a.Shape, 0) || a.Name == "feat" && x.Sparse != nil
	})
	err = atomicfile.WriteFile(path, func(f *os.File) error { return store.Write(ctx, f, string(text), arrays) })
	return cmp.Or(ctx.Err(), d.named(err))
}

// matrix returns an array of the size of the features.
func (d *Data) matrix(name string, asHalf bool, source rowSource) store.Array {
	const piece = 1 << 20 // features rounded at a time
	cols := d.Features.Cols
	m := store.Array{Name: name, Type: "F32", Shape: []int{d.Nodes(), cols}}
	if asHalf {
		m.Type = "F16"
	}
	m.Write = func(w *store.Writer) error {
		at, halves := 0, make([]uint16, piece)
		return source(w, func(values []float32) error {
			if !asHalf {
				return store.Put(w, values)
			}
			for part := range slices.Chunk(values, piece) {
				halves = halves[:len(part)]
				if k := half.Narrow(halves, part); k >= 0 {
					return fmt.Errorf("feature %d of node %d is %v, beyond the ±%d of float16: %w", (at+k)%cols, (at+k)/cols, part[k], half.Most, graph.ErrInvalid)
				}
				at += len(part)
				if err := store.Put(w, halves); err != nil {
					return err
				}
			}
			return nil
		})
	}
	return m
}

// propagate computes P·X of the features that a growing store holds, and so of rounded ones if
// it rounds them. It computes as many rows at a time as take half of the memory, or 16 MiB if that is
// more. For each such block it reads dense features once: see kernel.InOrder.
func propagate(ctx context.Context, w *store.Writer, d *Data, put rowSink, o *Options) error {
	p, x, n, cols := d.Laplacian(), d.Features, d.Nodes(), d.Features.Cols
	report := func(rows float64) {
		o.values(d.title(), "propagate", int64(float64(cols)*rows), int64(n)*int64(cols))
	}
	if x.Sparse != nil {
		return kernel.PropagateFeatures(ctx, p, x, func(lo int, rows []float32) error {
			report(float64(lo + len(rows)/cols))
			return put(rows)
		})
	}
	written, err := w.Written()
	if err != nil {
		return fmt.Errorf("P·X needs a mapped file: %w", err)
	}
	defer written.Close() // it was only read
	if x, err = written.Matrix("feat"); err != nil {
		return err
	}
	block := cmp.Or(o.block, max((memory.Budget(o.Memory)-8*int64(n))/2, 16<<20))
	row := kernel.InOrderBytes(int(p.Adjacency.NNZ())/n) + 4*int64(cols)
	rows := int(max(min(block/row, int64(n)), 1))
	var product kernel.InOrder
	values, ids := memory.Large[float32](rows*cols), make([]int32, rows)
	for lo := 0; lo < n; lo += rows {
		ids = ids[:min(rows, n-lo)]
		for k := range ids {
			ids[k] = int32(lo + k)
		}
		result := values[:len(ids)*cols]
		err := product.Propagate(ctx, result, p, ids, x, func(share float64) { report(float64(lo) + float64(len(ids))*share) })
		if err == nil {
			err = put(result)
		}
		if err != nil {
			return err
		}
	}
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
	if d == nil || d.file == nil {
		return nil
	}
	file := d.file
	d.file = nil
	return d.named(file.Close())
}

// openStore opens a store. It reads and checks all of it, unless a record says that the store
// was found valid before, or this process has just written it: the data were validated
// before.
func openStore(ctx context.Context, path string, o Options, written bool) (*Data, error) {
	f, err := store.Open(path)
	if err != nil {
		return nil, err
	}
	cache, _ := o.cacheDir() // "" without one: stores are read whole each time
	record := f.RecordPath(cache)
	_, missing := os.Stat(record)
	isNew := missing != nil || cache == ""
	d, err := storedData(f)
	if err == nil && !written && (o.Verify || isNew) {
		if err = f.Check(ctx); err == nil {
			if err = d.validate(ctx); err != nil {
				err = fmt.Errorf("%w: %w", err, ErrFormat)
			}
		}
	}
	if err != nil {
		if !isNew && ctx.Err() == nil {
			os.Remove(record)
		}
		f.Close() // nothing was written
		return nil, cmp.Or(ctx.Err(), err)
	}
	if isNew && cache != "" { // without a record the next opening takes longer
		_ = cmp.Or(os.MkdirAll(filepath.Dir(record), 0o755), os.WriteFile(record, nil, 0o644))
	}
	return d, nil
}

// storedData returns the data set in a store. Its arrays are not checked.
func storedData(f *store.File) (*Data, error) {
	var meta storeMeta
	if err := json.Unmarshal([]byte(f.Data), &meta); err != nil {
		return nil, fmt.Errorf("datasets: %s: description: %w: %w", f.Path, err, ErrFormat)
	}
	s, a, sparse := &meta.Schema, new(graph.CSR), new(graph.CSR)
	d := &Data{
		Name: "store:" + f.Path, file: f, ownSplit: true, encoding: *s,
		Directed: meta.Directed, Metric: meta.Metric, Notes: meta.Notes, Report: meta.Report,
		Graph: a, Features: &graph.Features{Sparse: sparse}, NodeNames: new(graph.Names),
		Labels: &graph.Labels{Classes: s.Classes, Tasks: s.Tasks, Names: s.Names},
	}
	for _, s := range d.slices() {
		if err := s.Read(f); err != nil {
			return nil, err
		}
	}
	n := len(a.Ptr) - 1
	a.Rows, a.Cols = n, n
	_, a.Prefetch = f.Rows(a, "indices", "data")
	if len(d.NodeNames.Ends)+len(d.NodeNames.Text) == 0 {
		d.NodeNames = nil
	}
	x, err := f.Matrix("feat")
	if x == nil {
		sparse.Rows, sparse.Cols = n, s.Features
		x = &graph.Features{Rows: n, Cols: s.Features, Sparse: sparse}
		x.Release, x.Prefetch = f.Rows(sparse, "feat_indices", "feat_data")
	}
	d.Features = x
	if err == nil {
		d.Propagated, err = f.Matrix("propagated")
	}
	return d, err
}
