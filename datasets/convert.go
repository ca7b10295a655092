package datasets

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/gcn-layerwise/gcn/graph"
	"github.com/gcn-layerwise/gcn/internal/formats"
	"github.com/gcn-layerwise/gcn/internal/memory"
	"github.com/gcn-layerwise/gcn/internal/store"
	"github.com/gcn-layerwise/gcn/internal/synth"
)

// Convert writes the data set of a SPEC to a store. If the path ends in a slash, it writes
// a folder of NumPy files. See WriteStore, o.Precision, o.Propagated and WriteNumPy. It returns
// the SPEC of the result.
//
// Convert never holds P·X, or the features of generated data, in memory whole. It builds two
// kinds of graphs in nameless files: one of OGB's binary layout, and a generated one that does
// not fit in o.Memory. The files lie in o.Scratch, or in the folder of the store. P·X is of the
// features as the store holds them. A conversion that is killed leaves a hidden file, which the
// next one to the same path removes.
//
// ogbn-papers100M is downloaded first if it is not in the cache; its unpacked files then stay in
// the cache. Convert replaces a store by a store and a folder by a folder; anything else at the
// path is an error and stays.
func Convert(ctx context.Context, spec, path string, o Options) (string, error) {
	if err := checkContext(ctx); err != nil {
		return "", err
	}
	if err := o.Precision.check(); err != nil {
		return "", err
	}
	folder := strings.HasSuffix(path, "/") || strings.HasSuffix(path, string(filepath.Separator))
	switch {
	case folder && o.Precision == Float16:
		return "", fmt.Errorf("datasets: %s: NumPy files hold features as float32; float16 is for a store", path)
	case folder && o.Propagated:
		return "", fmt.Errorf("datasets: %s: NumPy files have no place for propagated features; a store has", path)
	}
	if err := replaceable(path, folder); err != nil {
		return "", err
	}
	if folder {
		d, err := Open(ctx, spec, o)
		if err != nil {
			return "", err
		}
		defer d.Close() // it was only read
		return d.writtenSpec(path), WriteNumPy(ctx, path, d)
	}
	if err := convertToStore(ctx, spec, path, o); err != nil {
		return "", err
	}
	d, err := openStore(ctx, path, o, true)
	if err != nil {
		return "", err
	}
	return "store:" + path, d.Close()
}

// writtenSpec returns the SPEC that reads d from the folder to which it was written.
func (d *Data) writtenSpec(dir string) string {
	var keys []string
	if d.Metric != metricFor(d.Labels) {
		keys = append(keys, "metric="+string(d.Metric))
	}
	if d.Directed {
		keys = append(keys, "directed=out") // rows of the graph as they are
	}
	if formats.OneHot(d.Labels.Multi, d.Labels.Tasks) != nil {
		keys = append(keys, "lists=tasks")
	}
	spec := "npy:" + filepath.Clean(dir)
	if len(keys) > 0 {
		spec += "?" + strings.Join(keys, "&")
	}
	return spec
}

// replaceable reports something at path that Convert must not replace.
func replaceable(path string, folder bool) error {
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		if folder {
			return nil
		}
		// Known now, and not after the hours that a large conversion takes.
		if _, err = os.Stat(filepath.Dir(path)); err == nil {
			return nil
		}
	}
	is := folder
	if err == nil && !folder && info.Mode().IsRegular() {
		is, err = store.Is(path)
	}
	switch {
	case err != nil:
		return fmt.Errorf("datasets: %w", err)
	case folder && !info.IsDir():
		return fmt.Errorf("datasets: %s: there already, and not a folder", path)
	case !is:
		return fmt.Errorf("datasets: %s: there already, and not a store: not replaced; a path that ends in a slash is a folder of NumPy files", path)
	}
	return nil // the other files of a folder stay
}

func convertToStore(ctx context.Context, text, path string, o Options) error {
	spec, scheme, err := parse(text, o)
	if err != nil {
		return err
	}
	if done, err := newFetcher(o).convertMissing(ctx, spec, path); done || err != nil {
		return err
	}
	switch {
	case scheme.own:
	case scheme.name == "synth":
		m, err := synthFromSpec(spec)
		if err != nil {
			return err
		}
		return convertSynth(ctx, m, text, path, &o)
	case scheme.name == "ogb" && len(spec.Values) == 0:
		folder, err := formats.OpenOGBBinary(ctx, spec.Path, formats.Options{Split: true})
		if err != nil {
			return err
		}
		if folder != nil {
			return convertOGB(ctx, folder, &Data{Name: text}, path, &o)
		}
	}
	if !o.Propagated && (o.Memory > 0 || o.Scratch != "") {
		return fmt.Errorf("datasets: %q is converted in memory: only synth:, OGB's binary folders without keys, and P·X are converted within a number of bytes", spec)
	}
	d, err := scheme.load(ctx, spec, o)
	if err != nil {
		return err
	}
	defer d.Close() // it was only read
	return writeStore(ctx, path, d, nil, &o)
}

// synthBuffer is the number of features in memory at a time: 64 MB.
const synthBuffer = 1 << 24

// convertSynth draws data straight into a store. The store equals, byte for byte, a store of the
// data drawn in memory.
func convertSynth(ctx context.Context, m *synth.Model, spec, path string, o *Options) error {
	s := m.Source()
	return o.convertLarge(ctx, path, largeGraph{
		name: spec, nodes: m.Nodes, edges: m.Edges, memory: m.TableBytes(),
		put: func(b *graph.Builder) error {
			return s.Edges(ctx, b.AddEdges, func(share float64) {
				o.progress(FetchProgress{Name: spec, Stage: "edges", Done: int64(share * 8 * float64(m.Edges)), Total: 8 * m.Edges})
			})
		},
	}, func(a *graph.CSR, _ graph.Report) error {
		d, err := synthNodes(ctx, s)
		if err != nil {
			return err
		}
		d.Name, d.Graph = spec, a
		return o.convert(ctx, path, d, func(put func([]float32) error) error { return s.Features(ctx, synthBuffer, put) })
	})
}

// convertOGB converts a folder in OGB's binary layout. d has its name, source and first notes.
func convertOGB(ctx context.Context, f *formats.OGBBinary, d *Data, path string, o *Options) error {
	return o.convertLarge(ctx, path, largeGraph{
		name: d.Name, nodes: f.Nodes, edges: f.Edges, memory: int64(f.Nodes) * int64(4*max(f.Labels.Tasks, 1)+4),
		put: func(b *graph.Builder) error {
			done := int64(0)
			return f.EachEdges(ctx, func(edges []graph.Edge) error {
				done += int64(len(edges))
				o.progress(FetchProgress{Name: d.Name, Stage: "edges", Done: 8 * done, Total: 8 * f.Edges})
				return b.AddEdges(edges)
			})
		},
	}, func(a *graph.CSR, report graph.Report) error {
		d.Graph, d.Report, d.Features = a, report, &graph.Features{Rows: f.Nodes, Cols: f.Width}
		d.Labels, d.Split, d.Metric = f.Labels, Split(*f.Split), metricFor(f.Labels)
		d.Notes = slices.Concat(d.Notes, []string{formats.Symmetrised}, f.Notes)
		return o.convert(ctx, path, d, func(put func([]float32) error) error { return f.EachFeatures(ctx, put) })
	})
}

// convert writes data whose features come from a source, and reports the progress.
func (o *Options) convert(ctx context.Context, path string, d *Data, features func(put func([]float32) error) error) error {
	if err := d.validateLabels(); err != nil {
		return err
	}
	done, total := int64(0), 4*int64(d.Nodes())*int64(d.Features.Cols)
	return writeStore(ctx, path, d, func(put func([]float32) error) error {
		return features(func(rows []float32) error {
			done += 4 * int64(len(rows))
			o.progress(FetchProgress{Name: d.Name, Stage: "features", Done: done, Total: total})
			return put(rows)
		})
	}, o)
}

// largeGraph is a graph that need not fit in memory.
type largeGraph struct {
	name   string
	nodes  int
	edges  int64 // at most
	memory int64 // bytes that the source takes itself
	put    func(*graph.Builder) error
}

// convertLarge builds an undirected graph, with its edges and its rows in files unless they fit in
// memory and no folder for them is given, and calls write with it.
func (o *Options) convertLarge(ctx context.Context, path string, g largeGraph, write func(*graph.CSR, graph.Report) error) (err error) {
	fail := func(err error) error {
		if err == nil || ctx.Err() != nil {
			return cmp.Or(ctx.Err(), err)
		}
		return fmt.Errorf("datasets: %s: %w", path, err)
	}
	const buffers, least = 4 * synthBuffer, 16 << 20
	budget, fixed := o.memoryBudget(), g.memory+8*int64(g.nodes)+buffers
	b, err := graph.NewBuilder(g.nodes)
	if err != nil {
		return fail(err)
	}
	const edge = 16 // bytes in the builder, and in both rows
	if o.window == 0 && o.Scratch == "" && g.edges < math.MaxInt64/edge && fixed+8*int64(g.nodes)+edge*g.edges+least <= budget {
		if err := g.put(b); err != nil {
			return fail(err)
		}
		return write(b.Build())
	}
	window := budget - fixed
	if window < least {
		return fail(fmt.Errorf("converting it takes at least %s of memory, and may take %s: %w", memory.Text(uint64(fixed+least)), memory.Text(uint64(max(budget, 0))), memory.ErrTooLarge))
	}
	dir := cmp.Or(o.Scratch, filepath.Dir(path))
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return fail(err)
	}
	if err := b.Spill(dir, g.edges); err != nil {
		return fail(err)
	}
	if err := g.put(b); err != nil {
		return fail(errors.Join(err, b.Discard()))
	}
	a, report, free, err := b.BuildSpilled(ctx, cmp.Or(o.window, window), func(done, all int64) {
		o.progress(FetchProgress{Name: g.name, Stage: "rows", Done: 4 * done, Total: 4 * all})
	})
	if err != nil {
		return fail(err)
	}
	defer func() { err = errors.Join(err, free()) }()
	return write(a, report)
}

// memoryBudget returns the bytes that a conversion may take.
func (o *Options) memoryBudget() int64 {
	if o.Memory > 0 {
		return o.Memory
	}
	const usual = 8 << 30
	return int64(min(memory.Limit()/2, usual))
}
