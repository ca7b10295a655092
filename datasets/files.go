package datasets

import (
	"context"
	"fmt"
	"math"
	"strconv"

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
			keys: []string{"edges"}, labelHint: " (labels.npy)", featureHint: " (feat.npy)", read: readNPYFolder,
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
			name: "edges", path: "FILE", summary: "an edge list, with features=FILE and labels=FILE beside it (CSV, TSV, JSON, .npy, SciPy's .npz)",
			keys:      []string{"labels", "weights", "ids", "nodes", "header", "labels-header", "features-header", "columns", "labels-columns", "features-columns", "sep", "lists"},
			labelHint: " (labels=FILE)", byDegree: true, read: readEdgeList,
		},
		{
			name: "saint", path: "DIR", summary: "GraphSAINT's adj_full.npz, feats.npy, role.json, class_map.json; features standardised",
			metric: MicroF1, normalize: "standardize",
			matrix: true, labelHint: " (class_map.json)", featureHint: " (feats.npy)", read: atPath(formats.SAINT),
		},
		{
			name: "sage", path: "PREFIX", summary: "GraphSAGE's PREFIX-G.json, -id_map.json, -class_map.json, -feats.npy; features standardised",
			metric: MicroF1, normalize: "standardize", byDegree: true,
			twoWay: true, read: atPath(formats.SAGE),
		},
		{
			name: "dgl-reddit", path: "DIR", summary: "DGL's reddit_data.npz and reddit_graph.npz",
			metric: MicroF1,
			matrix: true, read: atPath(formats.DGLReddit),
		},
		{
			name: "npz", path: "FILE", summary: "one archive, gnn-benchmark's layout or the heterophilous graphs' (split=K picks its K-th split)",
			matrix: true, labelHint: " (labels)", read: readArchive,
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
	read := formats.Options{Split: !splitAsked(spec), Direction: formats.Direction(direction)}
	if f.matrix {
		weights, err := spec.Choice("weights", "0", "1")
		if err != nil {
			return nil, err
		}
		read.Weights = weights == "1"
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
	}
	if err := d.makeFeatures(ctx, spec, f.featureHint, f.byDegree); err != nil {
		return nil, err
	}
	if d.Labels == nil {
		return d, d.withoutLabels(ctx, spec, f.normalize)
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
	return d, finish(ctx, d, spec, f.normalize)
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

// readEdgeList reads an edge list:
//
//	labels=FILE, features=FILE  see formats.EdgeList; features=degree|onehot|position is makeFeatures'
//	ids=from-0|from-1|names     the kind of node ids
//	nodes=FILE                  the names of all nodes, in the order of files without ids
//	weights=1                   a column or an attribute holds the edges' weights, 0: left out
//	header=1                    the edge list starts with a line of names, 0: it does not
//	labels-header=, features-header=  the same for the other CSV files
//	columns=FROM,TO             the columns to read by their names, with labels-columns= and features-columns=
//	sep=tab                     comma, tab, space or semicolon, tried first
//	lists=multi-hot             how JSON lists are read, or sets
//
// Without the keys, headers, separators and the form of lists are found in each file.
func readEdgeList(ctx context.Context, spec *Spec, o formats.Options) (*formats.Set, error) {
	if _, err := spec.Choice("ids", formats.IDsFrom0, formats.IDsFrom1, formats.IDsNames); err != nil {
		return nil, err
	}
	for _, key := range []string{"header", "labels-header", "features-header", "weights"} {
		if _, err := spec.Choice(key, "0", "1"); err != nil {
			return nil, err
		}
	}
	if _, err := spec.Choice("sep", "comma", "tab", "space", "semicolon"); err != nil {
		return nil, err
	}
	if _, err := spec.Choice("lists", "sets", "multi-hot"); err != nil {
		return nil, err
	}
	features := spec.Text("features", "")
	if madeOfGraph(features) {
		features = ""
	}
	return formats.EdgeList{
		Edges: spec.Path, Labels: spec.Text("labels", ""), Features: features,
		Direction: o.Direction, IDs: spec.Text("ids", ""), Nodes: spec.Text("nodes", ""),
		Weights: spec.Text("weights", ""), Separator: spec.Text("sep", ""), Lists: spec.Text("lists", ""),
		Header: spec.Text("header", ""), LabelsHeader: spec.Text("labels-header", ""), FeaturesHeader: spec.Text("features-header", ""),
		Columns: spec.Text("columns", ""), LabelsColumns: spec.Text("labels-columns", ""), FeaturesColumns: spec.Text("features-columns", ""),
	}.Read(ctx)
}

// readArchive reads an .npz archive. split=K is the number of one of its own
// splits, from 0; split=60/20/20 asks for a random one.
func readArchive(ctx context.Context, spec *Spec, o formats.Options) (*formats.Set, error) {
	if text, given := spec.Values["split"]; splitAsked(spec) && (!given || !isWhole(text)) {
		return formats.NPZ(ctx, spec.Path, -1, o)
	}
	k, err := spec.Int("split", 0, 0, math.MaxInt32)
	if err != nil {
		return nil, fmt.Errorf("%w, shares such as %s, or a file", err, defaultSplit)
	}
	return formats.NPZ(ctx, spec.Path, int(k), o)
}

// isWhole tells whether a text is a whole number, of either sign.
func isWhole(text string) bool {
	_, err := strconv.ParseInt(text, 10, 64)
	return err == nil
}
