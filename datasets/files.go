package datasets

import (
	"context"
	"fmt"
	"maps"
	"math"
	"strings"

	"github.com/gcn-layerwise/gcn/graph"
	"github.com/gcn-layerwise/gcn/internal/formats"
)

type fileScheme struct {
	name, path, summary string
	keys                []string // besides the keys of all file schemes
	metric              Metric   // "" is the usual one of the labels
	normalize           string   // default of the key normalize; "" is none
	labelHint           string   // how to add labels
	featureHint         string   // the same of features

	matrix bool // the graph is a sparse matrix, whose values can be weights
	twoWay bool // the source has no directions

	read func(ctx context.Context, spec *Spec, o formats.Options) (*formats.Set, error)
}

// atPath adapts a reader that needs nothing of the SPEC but its path.
func atPath(read func(ctx context.Context, path string, o formats.Options) (*formats.Set, error)) func(context.Context, *Spec, formats.Options) (*formats.Set, error) {
	return func(ctx context.Context, spec *Spec, o formats.Options) (*formats.Set, error) {
		return read(ctx, spec.Path, o)
	}
}

// fileSchemes returns the schemes that read files, in the order of the manual.
func fileSchemes(o Options) []Scheme {
	all := []fileScheme{
		{
			name: "npy", path: "DIR", summary: "NumPy files: indptr, indices, feat, labels, train, valid, test (.npy; feat also SciPy's .npz); data: the edges' weights; names: the nodes' ids",
			keys: []string{"edges", "lists"}, labelHint: " (labels.npy)", featureHint: " (feat.npy)", read: readNPYFolder,
		},
		{
			name: "planetoid", path: "DIR/NAME", summary: "Planetoid's pickles ind.NAME.{x,y,tx,ty,allx,ally,graph,test.index} with their public split",
			twoWay: true, read: atPath(formats.Planetoid),
		},
		{
			name: "ogb", path: "DIR", summary: "an unzipped OGB node-property folder (raw/, split/)",
			read: atPath(formats.OGB),
		},
		{
			name: "edges", path: "FILE", summary: "a table of edges, with features=FILE and labels=FILE beside it (CSV, TSV, Parquet, JSON, .npy, SciPy's .npz)",
			keys: []string{
				"labels", "weights", "ids", "nodes", "header", "labels-header", "features-header", "nodes-header", "columns", "labels-columns", "features-columns", "nodes-columns",
				"sep", "comments", "decimal", "missing", "unlabelled", "lists",
			},
			labelHint: " (labels=FILE)", featureHint: " (features=FILE)", read: readEdgeList,
		},
		{
			name: "saint", path: "DIR", summary: "GraphSAINT's adj_full.npz, feats.npy, role.json, class_map.json; features standardised",
			metric: MicroF1, normalize: "standardize",
			matrix: true, labelHint: " (class_map.json)", featureHint: " (feats.npy)", read: atPath(formats.SAINT),
		},
		{
			name: "sage", path: "PREFIX", summary: "GraphSAGE's PREFIX-G.json, -id_map.json, -class_map.json, -feats.npy; features standardised",
			keys: []string{"links"}, metric: MicroF1, normalize: "standardize", featureHint: " (-feats.npy)",
			twoWay: true, read: atPath(formats.SAGE),
		},
		{
			name: "dgl-reddit", path: "DIR", summary: "DGL's reddit_data.npz and reddit_graph.npz",
			metric: MicroF1,
			matrix: true, read: atPath(formats.DGLReddit),
		},
		{
			name: "npz", path: "FILE", summary: "one archive, gnn-benchmark's layout or the heterophilous graphs' (split=K picks its K-th split)",
			keys: []string{"lists"}, matrix: true, labelHint: " (labels)", read: readArchive,
		},
	}
	schemes := make([]Scheme, len(all))
	for k, f := range all {
		schemes[k] = Scheme{builtin: true, Name: f.name, Path: f.path, Summary: f.summary, Keys: f.allKeys(), Open: func(ctx context.Context, spec *Spec) (*Data, error) { return f.open(ctx, spec, o) }}
	}
	return schemes
}

// allKeys returns the keys of the scheme.
func (f fileScheme) allKeys() []string {
	keys := append(fileKeys(f.keys...), "features")
	if !f.twoWay {
		keys = append(keys, "directed")
	}
	if f.matrix {
		keys = append(keys, "weights")
	}
	return keys
}

// open reads the files, and applies the keys that all file schemes share.
func (f fileScheme) open(ctx context.Context, spec *Spec, o Options) (*Data, error) {
	direction, err := spec.Choice("directed", "0", string(formats.Out), string(formats.In))
	if err != nil {
		return nil, err
	}
	if direction == "0" {
		direction = string(formats.Undirected)
	}
	read := formats.Options{Split: !splitAsked(spec), Direction: formats.Direction(direction), Lists: spec.Text("lists", ""), Links: spec.Text("links", "")}
	if f.matrix {
		weights, err := spec.Choice("weights", "0", "1")
		if err != nil {
			return nil, err
		}
		read.Weights = weights == "1"
	}
	if o.Schema != nil && o.Schema.columnNames() != nil {
		read.Columns = o.Schema.Columns
	}
	set, err := f.read(ctx, spec, read)
	if err != nil {
		return nil, err
	}
	if set.Labels == nil && !o.Unlabelled {
		return nil, fmt.Errorf("datasets: %q: no labels, which training needs%s; a trained model predicts without: gcn predict --run DIR --data SPEC", spec, f.labelHint)
	}
	d := &Data{
		Graph: set.Graph, Report: set.Report, Features: set.Features, Labels: set.Labels,
		NodeNames: set.NodeNames, Directed: set.Direction != formats.Undirected, Notes: set.Notes, Metric: f.metric, simple: true,
		table: set.Table,
	}
	if err := d.makeFeatures(ctx, spec, f.featureHint, o.Schema); err != nil {
		return nil, err
	}
	if d.Labels == nil {
		return d, d.withoutLabels(ctx, spec, f.normalize, o.Schema)
	}
	if d.Metric == "" {
		d.Metric = metricFor(d.Labels)
	}
	if set.Split != nil {
		if err := checkNoSeed(spec); err != nil {
			return nil, err
		}
		d.Split = Split(*set.Split)
	} else if err := splitFromSpec(ctx, d, spec); err != nil {
		return nil, err
	}
	return d, finish(ctx, d, spec, f.normalize, o.Schema)
}

// metricFor returns the usual metric of labels whose source names none.
func metricFor(y *graph.Labels) Metric {
	if y.Tasks > 0 {
		return ROCAUC
	}
	return Accuracy
}

// readNPYFolder reads a folder of NumPy files. With edges=none it needs no graph.
func readNPYFolder(ctx context.Context, spec *Spec, o formats.Options) (*formats.Set, error) {
	edges, err := spec.Choice("edges", "", "none")
	if err != nil {
		return nil, err
	}
	return formats.NPYFolder(ctx, spec.Path, o, edges == "none")
}

// readEdgeList reads an edge list. docs/data.md describes the keys.
func readEdgeList(ctx context.Context, spec *Spec, o formats.Options) (*formats.Set, error) {
	for _, choice := range []struct {
		key     string
		allowed []string
	}{
		{"ids", []string{formats.IDsFrom0, formats.IDsFrom1, formats.IDsNames}},
		{"sep", []string{"comma", "tab", "space", "semicolon"}},
		{"decimal", []string{"comma", "point"}},
		{"lists", []string{"sets", "multi-hot", "tasks"}},
		{"header", nil}, {"labels-header", nil}, {"features-header", nil}, {"nodes-header", nil}, {"weights", nil}, {"comments", nil},
	} {
		if choice.allowed == nil {
			choice.allowed = []string{"0", "1"}
		}
		if _, err := spec.Choice(choice.key, choice.allowed...); err != nil {
			return nil, err
		}
	}
	keys := spec.Values
	if madeOfGraph(keys["features"]) {
		keys = maps.Clone(keys)
		delete(keys, "features")
	}
	return formats.EdgeList(ctx, spec.Path, keys, o)
}

// readArchive reads an .npz archive. split=K is the number of one of its own
// splits, from 0; split=60/20/20 asks for a random one.
func readArchive(ctx context.Context, spec *Spec, o formats.Options) (*formats.Set, error) {
	if text, given := spec.Values["split"]; splitAsked(spec) && (!given || strings.Trim(text, "+-0123456789") != "") {
		return formats.NPZ(ctx, spec.Path, -1, o)
	}
	k, err := spec.Int("split", 0, 0, math.MaxInt32)
	if err != nil {
		return nil, fmt.Errorf("%w, shares such as %s, or a file", err, defaultSplit)
	}
	return formats.NPZ(ctx, spec.Path, int(k), o)
}
