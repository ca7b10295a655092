package datasets

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"slices"

	"github.com/gcn-layerwise/gcn/graph"
	"github.com/gcn-layerwise/gcn/internal/atomicfile"
	"github.com/gcn-layerwise/gcn/internal/half"
	"github.com/gcn-layerwise/gcn/internal/kernel"
	"github.com/gcn-layerwise/gcn/internal/memory"
	"github.com/gcn-layerwise/gcn/internal/store"
)

// The arrays of a store. Empty ones are left out.
const (
	arrayPtr        = "indptr"     // int64, row offsets: nodes+1
	arrayIdx        = "indices"    // int32, columns
	arrayVal        = "data"       // float32, weights; absent where all are 1
	arrayFeatures   = "feat"       // float32 or float16, nodes × features
	arrayLabels     = "labels"     // int32, class of each node; or float32, nodes × tasks
	arrayTrain      = "train"      // int32, node ids
	arrayValid      = "valid"      //
	arrayTest       = "test"       //
	arrayPropagated = "propagated" // P·X, as feat
	arrayNames      = "names"      // bytes, text of the nodes' names
	arrayNameEnds   = "name_ends"  // int64, the end of each name in the text

	// Sparse features, in place of feat, as the graph.
	arraySparsePtr = "feat_indptr"
	arraySparseIdx = "feat_indices"
	arraySparseVal = "feat_data"
)

// ErrFormat is wrapped by errors about a file that is a damaged or incomplete store, or not a
// store.
var ErrFormat = store.ErrFormat

// storeMeta is the part of a store that is not arrays.
type storeMeta struct {
	Source string   `json:"source"` // SPEC of the stored data
	Schema *Schema  `json:"schema"`
	Metric Metric   `json:"metric"`
	Notes  []string `json:"notes"`
	graph.Report
	Directed bool `json:"directed,omitempty"`
}

// storeExtension ends the names of stores in the cache. Elsewhere the content decides.
const storeExtension = ".safetensors"

// Precision is the number format of features.
type Precision string

// The precisions. Float16 is IEEE 754 half precision: half the bytes, about three
// decimal digits, magnitudes up to 65,504.
const (
	Float32 Precision = "float32"
	Float16 Precision = "float16"
)

// check reports a text that is neither a precision nor "", which changes nothing.
func (p Precision) check() error {
	if p != "" && p != Float32 && p != Float16 {
		return fmt.Errorf("datasets: features as %q: want %s or %s", string(p), Float32, Float16)
	}
	return nil
}

// WriteStore validates a data set and writes it as a store, without changing the
// precision of the features. The file appears whole or not at all: an existing file
// is replaced only once the new one is complete, and processes that have the old one
// open keep it. Data without labels are an error. Cost: one pass over the data to check
// them, one to write them, and 8 bytes of memory a node.
func WriteStore(ctx context.Context, path string, d *Data) error {
	if err := d.checkWritable(ctx); err != nil {
		return err
	}
	return writeStore(ctx, path, d, nil, &Options{})
}

// writeStore writes valid data as a store, with the precision and P·X of the options. It
// takes the features from the given source, or from d if that is nil.
func writeStore(ctx context.Context, path string, d *Data, features func(put func([]float32) error) error, o *Options) error {
	if err := d.checkLabelled(); err != nil {
		return err
	}
	x := d.Features
	if o.Precision == Float16 && x.Sparse != nil {
		return fmt.Errorf("datasets: %s: float16 is for dense features, and these are sparse: leave it out, or add sparse=0 to the SPEC", path)
	}
	meta := storeMeta{
		Source: cmp.Or(d.source, d.Name), Schema: d.Schema(), Metric: d.Metric, Notes: d.Notes, Report: d.Report, Directed: d.Directed,
	}
	if d.source == "" && d.Name != "" {
		meta.Notes = append([]string{"made from " + d.Name}, d.Notes...)
	}
	asHalf := o.Precision == Float16 || o.Precision == "" && x.Half != nil
	if asHalf && x.Half == nil {
		meta.Notes = append(slices.Clone(meta.Notes), "features rounded to float16")
	}
	names, labels := cmp.Or(d.NodeNames, &graph.Names{}), store.Of(arrayLabels, d.Labels.Class)
	if tasks := d.Labels.Tasks; tasks > 0 {
		labels = store.Of(arrayLabels, d.Labels.Multi, len(d.Labels.Multi)/tasks, tasks)
	}
	arrays := []store.Output{
		store.Of(arrayPtr, d.Graph.Ptr), store.Of(arrayNameEnds, names.Ends),
		{}, // features
		store.Of(arrayIdx, d.Graph.Idx[:d.Graph.NNZ()]), store.Of(arrayVal, d.Graph.Val), labels,
		store.Of(arrayTrain, d.Split.Train), store.Of(arrayValid, d.Split.Valid), store.Of(arrayTest, d.Split.Test),
	}
	matrix := func(name string, write func(w *store.Writer, put func([]float32) error) error) store.Output {
		m := store.Output{Name: name, Type: "F32", Shape: []int{d.Nodes(), x.Cols}}
		if asHalf {
			m.Type = "F16"
		}
		m.Write = func(w *store.Writer) error {
			at, halves := 0, []uint16(nil)
			return write(w, func(values []float32) error {
				first := at
				at += len(values)
				if !asHalf {
					return store.Put(w, values)
				}
				halves = slices.Grow(halves[:0], len(values))[:len(values)]
				if k := graph.Narrow(halves, values); k >= 0 {
					return fmt.Errorf("feature %d of node %d is %v, beyond the ±%d of float16: %w", (first+k)%x.Cols, (first+k)/x.Cols, values[k], half.Most, graph.ErrInvalid)
				}
				return store.Put(w, halves)
			})
		}
		return m
	}
	if x.Sparse != nil {
		arrays[2] = store.Of(arraySparsePtr, x.Sparse.Ptr)
		arrays = append(arrays, store.Of(arraySparseIdx, x.Sparse.Idx[:x.Sparse.NNZ()]), store.Of(arraySparseVal, x.Sparse.Val))
	} else {
		arrays[2] = matrix(arrayFeatures, func(_ *store.Writer, put func([]float32) error) error {
			if features != nil {
				return features(put)
			}
			return eachPiece(x, put)
		})
	}
	if o.Propagated {
		arrays = append(arrays, matrix(arrayPropagated, func(w *store.Writer, put func([]float32) error) error { return propagate(ctx, w, d, put, o) }))
	}
	arrays = append(arrays, store.Of(arrayNames, names.Text))
	arrays = slices.DeleteFunc(arrays, func(a store.Output) bool { return slices.Contains(a.Shape, 0) })
	text, err := json.Marshal(meta)
	if err != nil {
		return err
	}
	err = atomicfile.WriteFile(path, func(f *os.File) error { return store.Write(ctx, f, string(text), arrays) })
	if err != nil && ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil {
		return fmt.Errorf("datasets: %w", err)
	}
	return nil
}

const featurePiece = 1 << 20 // features converted at a time

// eachPiece calls put for the values of dense features, row by row, a piece at a time.
func eachPiece(x *graph.Features, put func([]float32) error) error {
	rows := max(featurePiece/x.Cols, 1)
	var wide []float32
	for lo := 0; lo < x.Rows; lo += rows {
		hi := min(lo+rows, x.Rows)
		if x.Half == nil {
			wide = x.Data[lo*x.Cols : hi*x.Cols]
		} else {
			wide = slices.Grow(wide[:0], (hi-lo)*x.Cols)[:(hi-lo)*x.Cols]
			kernel.Widen(wide, x.Half[lo*x.Cols:hi*x.Cols])
		}
		if err := put(wide); err != nil {
			return err
		}
	}
	return nil
}

// leastBlock is the least memory for a block of P·X.
const leastBlock = 16 << 20

// propagate computes P·X of the features that a growing store holds, and so of rounded ones if
// it rounds them. It computes as many rows at a time as fit in memory, and reads dense features
// once for each such block: see kernel.InOrder.
func propagate(ctx context.Context, w *store.Writer, d *Data, put func([]float32) error, o *Options) error {
	p, x, n, cols := d.Laplacian(), d.Features, d.Nodes(), d.Features.Cols
	total := 4 * int64(n) * int64(cols)
	report := func(done int64) {
		o.progress(FetchProgress{Name: d.title(), Stage: "propagate", Done: done, Total: total})
	}
	if x.Sparse != nil {
		return kernel.PropagateFeatures(ctx, p, x, func(lo int, rows []float32) error {
			report(4 * int64(lo*cols+len(rows)))
			return put(rows)
		})
	}
	written, err := w.Written()
	if err != nil {
		return fmt.Errorf("P·X needs a mapped file: %w", err)
	}
	defer written.Close() // it was only read
	if x, err = written.Matrix(arrayFeatures); err != nil {
		return err
	}
	block := o.block
	if block == 0 {
		// An eighth is left to the collector, and to blocks that are larger than the first.
		budget, fixed := o.memoryBudget(), 8*int64(n)+leastBlock
		if block = (budget - fixed) / 8 * 7; block < leastBlock {
			return fmt.Errorf("P·X takes at least %s of memory, and may take %s: %w",
				memory.Text(uint64(fixed+leastBlock/7*8)), memory.Text(uint64(max(budget, 0))), memory.ErrTooLarge)
		}
	}
	var product kernel.InOrder
	var ids []int32
	var values []float32
	for row := 0; row < n; row += len(ids) {
		ids = ids[:0]
		bytes := int64(0)
		for i := row; i < n; i++ {
			if bytes += kernel.InOrderBytes(p.Adjacency.Degree(i)) + 4*int64(cols); i > row && bytes > block {
				break
			}
			ids = append(ids, int32(i))
		}
		if len(values) < len(ids)*cols { // a later block has about as many rows
			values = nil
			values = memory.Large(min(len(ids)+len(ids)/16, n-row) * cols)
		}
		result := values[:len(ids)*cols]
		err := product.Propagate(ctx, result, p, ids, x, func(share float64) {
			report(int64(4 * float64(cols) * (float64(row) + float64(len(ids))*share)))
		})
		if err == nil {
			err = put(result)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// adjusted applies the keys of a SPEC to data from a store, unless opening it
// failed. On an error it closes the data.
func adjusted(ctx context.Context, d *Data, spec *Spec, s *Schema, err error) (*Data, error) {
	if err != nil {
		return nil, err
	}
	d.Name = spec.String()
	err = splitFromSpec(ctx, d, spec, !splitAsked(spec))
	if err == nil {
		err = finish(ctx, d, spec, "none", s)
	}
	if err == nil && len(spec.Values) > 0 {
		err = d.validateNodes(ctx)
	}
	if err != nil {
		d.Close() // the SPEC is wrong, not the store
		return nil, err
	}
	return d, nil
}

// copyFeatures makes the features d's own, in single precision.
func (d *Data) copyFeatures() error {
	x := d.Features
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
	if d == nil || d.file == nil {
		return nil
	}
	file := d.file
	d.file = nil
	if err := file.Close(); err != nil {
		return fmt.Errorf("datasets: %s: %w", d.title(), err)
	}
	return nil
}

// Release gives the memory of a mapped store back to the system; the next reads load it
// from the file again. It is for a program that will read only few of the data for a
// while. For data that do not come from a store it does nothing.
func (d *Data) Release() {
	if d.file != nil {
		d.file.Release()
	}
}

// openStore opens a store. It reads all of it, unless a record says that the store
// was found valid before, or this process has just written it: the data were validated
// before.
func openStore(ctx context.Context, path string, o Options, written bool) (*Data, error) {
	f, err := store.Open(path, true)
	if err != nil {
		return nil, fmt.Errorf("datasets: %w", err)
	}
	cache, noCache := o.cacheDir() // without a cache, stores are read whole each time
	d, err := storedData(ctx, f)
	if err == nil && !written && (o.verify || noCache != nil || !f.Recorded(cache)) {
		if err = f.Check(ctx, math.MaxInt64); err != nil {
			err = fmt.Errorf("datasets: %w", err)
		}
		err = cmp.Or(err, d.validate(ctx))
	}
	if err != nil {
		if noCache == nil && ctx.Err() == nil {
			os.Remove(store.RecordPath(cache, path)) // there may be none
		}
		f.Close() // nothing was written
		return nil, cmp.Or(ctx.Err(), err)
	}
	if noCache == nil && !f.Recorded(cache) {
		f.Record(cache)
	}
	return d, nil
}

// smallArray is the largest size in bytes of arrays that are checked at every opening.
const smallArray = 1 << 16

// storedData returns the data set in a store. It checks that the sizes of the arrays agree, and
// the contents of small ones.
func storedData(ctx context.Context, f *store.File) (*Data, error) {
	if err := f.Check(ctx, smallArray); err != nil {
		return nil, fmt.Errorf("datasets: %w", err)
	}
	fail := func(err error) (*Data, error) { return nil, fmt.Errorf("datasets: %s: %w: %w", f.Path, err, ErrFormat) }
	var meta storeMeta
	if err := json.Unmarshal([]byte(f.Data), &meta); err != nil {
		return fail(fmt.Errorf("description: %w", err))
	}
	if meta.Schema == nil {
		return fail(errors.New("no schema: convert the data again"))
	}
	a, sparse, names := &graph.CSR{}, &graph.CSR{}, &graph.Names{}
	y := &graph.Labels{Classes: meta.Schema.Classes, Tasks: meta.Schema.Tasks, Names: meta.Schema.Names}
	d := &Data{
		Name: "store:" + f.Path, Graph: a, Labels: y, file: f, encoding: *meta.Schema, source: meta.Source,
		Directed: meta.Directed, Metric: meta.Metric, Notes: meta.Notes, Report: meta.Report,
	}
	var wrong [3]error
	d.Features, wrong[0] = f.Matrix(arrayFeatures)
	d.Propagated, wrong[1] = f.Matrix(arrayPropagated)
	if y.Tasks > 0 {
		wrong[2] = take(f, arrayLabels, &y.Multi)
	} else {
		wrong[2] = take(f, arrayLabels, &y.Class)
	}
	err := cmp.Or(wrong[0], wrong[1], wrong[2],
		take(f, arrayPtr, &a.Ptr), take(f, arrayIdx, &a.Idx), take(f, arrayVal, &a.Val),
		take(f, arrayTrain, &d.Split.Train), take(f, arrayValid, &d.Split.Valid), take(f, arrayTest, &d.Split.Test),
		take(f, arrayNames, &names.Text), take(f, arrayNameEnds, &names.Ends),
		take(f, arraySparsePtr, &sparse.Ptr), take(f, arraySparseIdx, &sparse.Idx), take(f, arraySparseVal, &sparse.Val))
	if err != nil {
		return nil, fmt.Errorf("datasets: %w", err)
	}
	n, cols := len(a.Ptr)-1, meta.Schema.Features
	if names.Text != nil || names.Ends != nil {
		d.NodeNames = names
	}
	_, a.Prefetch = f.Rows(a, arrayIdx, arrayVal)
	err = cmp.Or(d.sized("graph", a, n, n), d.check(len(d.Split.Train) > 0, "the training set is empty"))
	if err == nil && sparse.Ptr != nil && d.Features == nil {
		err = d.sized("sparse features", sparse, n, cols)
		d.Features = &graph.Features{Rows: n, Cols: cols, Sparse: sparse}
		d.Features.Release, d.Features.Prefetch = f.Rows(sparse, arraySparseIdx, arraySparseVal)
	}
	if err = cmp.Or(err, d.complete()); err == nil {
		err = d.validateSizes()
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", err, ErrFormat)
	}
	return d, nil
}

// take sets values to an array of a store.
func take[T store.Number](f *store.File, name string, values *[]T) (err error) {
	*values, err = store.Values[T](f, name)
	return err
}

// sized sets the sizes of a matrix. It returns an error if its parts have others.
func (d *Data) sized(what string, m *graph.CSR, rows, cols int) error {
	m.Rows, m.Cols = rows, cols
	good := min(rows, cols) > 0 && max(rows, cols) <= math.MaxInt32 && len(m.Ptr) == rows+1 && m.Ptr[0] == 0 && m.Ptr[rows] == int64(len(m.Idx))
	return d.check(good && (m.Val == nil || len(m.Val) == len(m.Idx)),
		"%s of %d×%d: %d row offsets, %d columns, %d values", what, rows, cols, len(m.Ptr), len(m.Idx), len(m.Val))
}
