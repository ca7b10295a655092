package datasets

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/gcn-layerwise/gcn/graph"
	"github.com/gcn-layerwise/gcn/internal/formats"
	"github.com/gcn-layerwise/gcn/internal/memory"
	"github.com/gcn-layerwise/gcn/internal/store"
)

// Convert writes the data set of a SPEC to a store: see WriteStore, o.Half and
// o.Propagated. It returns the SPEC of the result.
//
// Convert never holds P·X, or the features of generated data and of OGB's binary layout, in memory
// whole. It builds the graphs of these two in nameless files, which lie in o.Scratch, or in the folder
// of the store. P·X is of the
// features as the store holds them. A conversion that is killed leaves a hidden file, which the
// next one to the same path removes.
//
// Convert replaces a store; anything else at the path is an error and stays.
func Convert(ctx context.Context, spec, path string, o Options) (string, error) {
	from, scheme, err := parse(spec, o)
	if err != nil {
		return "", SpecError{err}
	}
	if err = replaceable(path); err == nil {
		err = scheme.convert(ctx, from, path, o, "", nil)
	}
	if err != nil {
		return "", err
	}
	d, err := openStore(ctx, path, o, true)
	return "store:" + path, cmp.Or(err, d.Close())
}

// replaceable reports a path at which no store can be written, or something at it that Convert
// must not replace: now, and not after the hours that a large conversion takes.
func replaceable(path string) error {
	if _, err := os.Stat(filepath.Dir(path)); err != nil {
		return fmt.Errorf("datasets: %w", err)
	}
	f, err := store.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	} else if err != nil {
		return fmt.Errorf("%w: it is there already, and is not replaced", err)
	}
	return f.Close()
}

// convert writes the data of a SPEC to a store. name, unless it is "", is the data set that the
// files were downloaded for, and notes say where they come from.
func (s *scheme) convert(ctx context.Context, spec *Spec, path string, o Options, name string, notes []string) error {
	named := func(d *Data) {
		d.Name, d.Notes = cmp.Or(name, d.Name, spec.String()), append(notes, d.Notes...)
	}
	if s.source != nil {
		pieces, err := s.source(ctx, spec)
		if err != nil {
			return err
		}
		if pieces != nil {
			return o.convertSource(ctx, path, cmp.Or(name, spec.String()), pieces, named)
		}
	}
	if !o.Propagated && (o.Memory > 0 || o.Scratch != "") {
		return fmt.Errorf("datasets: %q is converted in memory: only synth:, OGB's binary folders without keys, and P·X are converted within a number of bytes", spec)
	}
	d, err := s.load(ctx, spec, o)
	if err != nil {
		return err
	}
	defer d.Close() // it was only read
	named(d)
	return writeStore(ctx, path, d, nil, &o)
}

// source is a data set whose edges and features come in pieces, so that it need not fit in
// memory. Its graph is undirected.
type source struct {
	nodes  int
	most   int64 // edges
	memory int64 // bytes that it takes itself

	edges    func(ctx context.Context, yield func([]graph.Edge) error) error
	rest     func(ctx context.Context, a *graph.CSR, r graph.Report) (*Data, error) // with the graph a, without the values of the features
	features func(ctx context.Context, yield rowSink) error
}

// sourceBuffer is the number of features in memory at a time: 64 MB.
const sourceBuffer = 1 << 24

// ogbSource returns the source of a folder in OGB's binary layout without keys, or nil for all other
// data.
func ogbSource(ctx context.Context, spec *Spec) (*source, error) {
	if len(spec.Values) > 0 {
		return nil, nil
	}
	f, err := formats.OpenOGBBinary(ctx, spec.Path, formats.Options{Split: true})
	if f == nil || err != nil {
		return nil, err
	}
	return &source{
		nodes: f.Nodes, most: f.Edges, memory: int64(f.Nodes) * int64(4*max(f.Labels.Tasks, 1)+4),
		edges: f.EachEdges, features: f.EachFeatures,
		rest: func(_ context.Context, a *graph.CSR, r graph.Report) (*Data, error) {
			return &Data{
				Graph: a, Report: r, Features: &graph.Features{Rows: f.Nodes, Cols: f.Width},
				Labels: f.Labels, Split: newSplit(*f.Split), Metric: metricFor(f.Labels),
				Notes: append(f.Notes, formats.Symmetrised),
			}, nil
		},
	}, nil
}

// convertSource writes a store without holding the data in memory: edges and rows of the graph lie
// in files meanwhile. The store has the same bytes as one that is made in memory.
func (o *Options) convertSource(ctx context.Context, path, name string, s *source, named func(*Data)) (err error) {
	const buffers, least = 4 * sourceBuffer, 16 << 20
	budget := memory.Budget(o.Memory)
	window := (budget - (s.memory + 8*int64(s.nodes) + buffers)) / 2 // the files have pages in memory, too
	if window < least {
		return fmt.Errorf("datasets: %s: converting it takes at least %s of memory, and may take %s: %w",
			path, memory.Text(budget-2*window+2*least), memory.Text(budget), memory.ErrTooLarge)
	}
	b, err := graph.NewBuilder(s.nodes)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, b.Close()) }()
	dir := cmp.Or(o.Scratch, filepath.Dir(path))
	err = cmp.Or(os.MkdirAll(dir, 0o777), b.Spill(dir, s.most))
	if err == nil {
		done := int64(0)
		err = s.edges(ctx, func(edges []graph.Edge) error {
			done += int64(len(edges))
			o.values(name, "edges", 2*done, 2*s.most)
			return b.AddEdges(edges)
		})
	}
	var a *graph.CSR
	var report graph.Report
	if err == nil {
		a, report, err = b.BuildSpilled(ctx, cmp.Or(o.window, window), func(done, all int64) { o.values(name, "rows", done, all) })
	}
	if err != nil {
		return cmp.Or(ctx.Err(), fmt.Errorf("datasets: %s: %w", path, err))
	}
	d, err := s.rest(ctx, a, report)
	if err != nil {
		return err
	}
	named(d)
	if err := d.validateLabels(); err != nil {
		return err
	}
	return writeStore(ctx, path, d, func(_ *store.Writer, put rowSink) error {
		done, all := int64(0), int64(s.nodes)*int64(d.Features.Cols)
		return s.features(ctx, func(rows []float32) error {
			done += int64(len(rows))
			o.values(name, "features", done, all)
			return put(rows)
		})
	}, o)
}
