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
	featureHint         string   // how to add features
	byDegree            bool     // without features, nodes have their degrees

	matrix bool // the graph is a sparse matrix, whose values can be weights
	twoWay bool // the source has no directions

	ownSplits bool // split=K is the number of one of the source's own splits, from 0

	read func(ctx context.Context, path string, o formats.Options) (*formats.Set, error)
}

// fileSchemes returns the schemes that read files, in the order of the manual.
func fileSchemes(o Options) []Scheme {
	all := []fileScheme{
		{
			name: "npy", path: "DIR", summary: "NumPy files: indptr, indices, feat, labels, train, valid, test (.npy; feat also SciPy's .npz); data: the edges' weights; names: the nodes' ids",
			keys: []string{"edges", "lists"}, labelHint: " (labels.npy)", featureHint: " (feat.npy)", read: formats.NPYFolder,
		},
		{
			name: "planetoid", path: "DIR/NAME", summary: "Planetoid's pickles ind.NAME.{x,y,tx,ty,allx,ally,graph,test.index} with their public split",
			twoWay: true, read: formats.Planetoid,
		},
		{
			name: "ogb", path: "DIR", summary: "an unzipped OGB node-property folder (raw/, split/)",
			read: formats.OGB,
		},
		{
			name: "edges", path: "FILE", summary: "a table of edges, with features=FILE and labels=FILE beside it (CSV, TSV, Parquet, JSON, .npy, SciPy's .npz)",
			keys: []string{
				"labels", "weights", "ids", "nodes", "header", "labels-header", "features-header", "nodes-header", "columns", "labels-columns", "features-columns", "nodes-columns",
				"sep", "comments", "decimal", "missing", "unlabelled", "lists",
			},
			labelHint: " (labels=FILE)", byDegree: true, read: formats.EdgeList,
		},
		{
			name: "saint", path: "DIR", summary: "GraphSAINT's adj_full.npz, feats.npy, role.json, class_map.json; features standardised",
			metric: MicroF1, normalize: "standardize",
			matrix: true, labelHint: " (class_map.json)", featureHint: " (feats.npy)", read: formats.SAINT,
		},
		{
			name: "sage", path: "PREFIX", summary: "GraphSAGE's PREFIX-G.json, -id_map.json, -class_map.json, -feats.npy; features standardised",
			keys: []string{"links"}, metric: MicroF1, normalize: "standardize", byDegree: true,
			twoWay: true, read: formats.SAGE,
		},
		{
			name: "dgl-reddit", path: "DIR", summary: "DGL's reddit_data.npz and reddit_graph.npz",
			metric: MicroF1,
			matrix: true, read: formats.DGLReddit,
		},
		{
			name: "npz", path: "FILE", summary: "one archive, gnn-benchmark's layout or the heterophilous graphs' (split=K picks its K-th split)",
			keys: []string{"lists"}, matrix: true, ownSplits: true, labelHint: " (labels)", read: formats.NPZ,
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
	read := formats.Options{
		Split: !splitAsked(spec), Direction: formats.Direction(strings.Trim(spec.Text("directed", ""), "0")), Weights: f.matrix && spec.Text("weights", "") == "1",
		Lists: spec.Text("lists", ""), Links: spec.Text("links", ""), NoEdges: spec.Text("edges", "") == "none", Keys: spec.Values,
	}
	if madeOfGraph(spec.Text("features", "")) {
		read.Keys = maps.Clone(spec.Values)
		delete(read.Keys, "features")
	}
	if text, given := spec.Values["split"]; f.ownSplits && given && strings.Trim(text, "+-0123456789") == "" {
		number, err := spec.Int("split", 0, 0, math.MaxInt32)
		if err != nil {
			return nil, fmt.Errorf("%w, shares such as %s, or a file", err, defaultSplit)
		}
		read.Split, read.Number = true, int(number)
	}
	if o.Schema != nil && o.Schema.columnNames() != nil {
		read.Columns = o.Schema.Columns
	}
	set, err := f.read(ctx, spec.Path, read)
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
	if err := d.makeFeatures(ctx, spec, f.featureHint, f.byDegree); err != nil {
		return nil, err
	}
	if d.Labels == nil {
		return d, d.withoutLabels(ctx, spec, f.normalize, o.Schema)
	}
	if d.Metric == "" {
		d.Metric = metricFor(d.Labels)
	}
	if set.Split != nil {
		d.Split = Split(*set.Split)
	}
	if err := splitFromSpec(ctx, d, spec, set.Split != nil); err != nil {
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
