package datasets

import (
	"context"
	"maps"
	"strconv"
	"strings"

	"github.com/gcn-layerwise/gcn/graph"
	"github.com/gcn-layerwise/gcn/internal/formats"
	"github.com/gcn-layerwise/gcn/internal/synth"
)

// scheme is one way to get a data set. Its name is the part of a SPEC before the colon.
type scheme struct {
	Scheme
	ownKeys bool // it has not the keys that all schemes of files and stores have

	// source is for Convert, beside Open or read. It may return nil.
	source func(ctx context.Context, spec *Spec) (*source, error)

	// read reads files, in place of Open. The rest is for it.
	read        func(ctx context.Context, path string, o formats.Options) (*formats.Set, error)
	metric      Metric // "" is the usual one of the labels
	normalize   string // default of the key normalize; "" is none
	labelHint   string // how to add labels
	featureHint string // how to add features
	ownSplits   bool   // split=K is the number of one of the source's own splits, from 0
}

// Keys that several schemes have.
const (
	storeKeys  = " split seed train valid test normalize=none|row|standardize metric sparse=0|1"
	twoWayKeys = storeKeys + " features=" + degreeKey + "|" + positionKey // of sources without directions
	edgeKeys   = " directed=0|out|in"
	fileKeys   = twoWayKeys + edgeKeys     // of other files
	matrixKeys = fileKeys + " weights=0|1" // of a sparse matrix, whose values can be weights
	listsKey   = "lists=sets|multi-hot|tasks"
)

// schemes returns all schemes, in the order of the manual.
func schemes() []scheme {
	keys := strings.Fields
	return []scheme{
		{
			Scheme:  Scheme{"synth", "NAME", "generated from a seed, no files: communities that edges, features and labels follow", keys("nodes edges features classes seed homophily noise"), openSynth},
			ownKeys: true,
			source: func(_ context.Context, spec *Spec) (*source, error) {
				return synthSource(spec, (*synth.Model).TableBytes, sourceBuffer)
			},
		},
		{
			Scheme:    Scheme{"npy", "DIR", "NumPy files: indptr, indices, feat, labels, train, valid, test (.npy; feat also SciPy's .npz); data: the edges' weights; names: the nodes' ids", keys(listsKey + fileKeys), nil},
			labelHint: " (labels.npy)", featureHint: " (feat.npy)", read: formats.NPYFolder,
		},
		{
			Scheme: Scheme{"planetoid", "DIR/NAME", "Planetoid's pickles ind.NAME.{x,y,tx,ty,allx,ally,graph,test.index} with their public split", keys(twoWayKeys), nil},
			read:   formats.Planetoid,
		},
		{
			Scheme: Scheme{"ogb", "DIR", "an unzipped OGB node-property folder (raw/, split/)", keys(fileKeys), nil},
			read:   formats.OGB, source: ogbSource,
		},
		{
			Scheme: Scheme{"edges", "FILE", "a table of edges, with features=FILE and labels=FILE beside it (CSV, TSV, Parquet, JSON, .npy, SciPy's .npz)", keys("labels weights=0|1 ids=from-0|from-1|names nodes" +
				" header=0|1 labels-header=0|1 features-header=0|1 nodes-header=0|1 columns labels-columns features-columns nodes-columns" +
				" sep=comma|tab|space|semicolon comments=0|1 decimal=comma|point missing unlabelled " + listsKey + storeKeys + " features" + edgeKeys), nil},
			labelHint: " (labels=FILE)", featureHint: " (features=FILE)", read: formats.EdgeList,
		},
		{
			Scheme: Scheme{"saint", "DIR", "GraphSAINT's adj_full.npz, feats.npy, role.json, class_map.json; features standardised", keys(matrixKeys), nil},
			metric: MicroF1, normalize: "standardize",
			labelHint: " (class_map.json)", featureHint: " (feats.npy)", read: formats.SAINT,
		},
		{
			Scheme: Scheme{"sage", "PREFIX", "GraphSAGE's PREFIX-G.json, -id_map.json, -class_map.json, -feats.npy; features standardised", keys("links=ids|order" + twoWayKeys), nil},
			metric: MicroF1, normalize: "standardize", featureHint: " (-feats.npy)", read: formats.SAGE,
		},
		{
			Scheme: Scheme{"dgl-reddit", "DIR", "DGL's reddit_data.npz and reddit_graph.npz", keys(matrixKeys), nil},
			metric: MicroF1, read: formats.DGLReddit,
		},
		{
			Scheme:    Scheme{"npz", "FILE", "one archive, gnn-benchmark's layout or the heterophilous graphs' (split=K picks its K-th split)", keys(listsKey + matrixKeys), nil},
			ownSplits: true, labelHint: " (labels)", read: formats.NPZ,
		},
		{
			Scheme: Scheme{"store", "FILE", "this program's own file, opened in milliseconds; gcn datasets convert writes it", keys(storeKeys), func(ctx context.Context, spec *Spec, o Options) (*Data, error) {
				return openStore(ctx, spec.Path, o, false)
			}},
		},
	}
}

// openFiles reads the files, and applies the keys that all schemes of files share.
func (s *scheme) openFiles(ctx context.Context, spec *Spec, o Options) (*Data, error) {
	read := formats.Options{Split: !splitAsked(spec), Keys: spec.Values}
	if madeOfGraph(spec.Values["features"]) {
		read.Keys = maps.Clone(spec.Values)
		delete(read.Keys, "features")
	}
	if number, err := strconv.ParseUint(spec.Values["split"], 10, 31); err == nil && s.ownSplits {
		read.Split, read.Number = true, int(number)
	}
	if o.Schema != nil && o.Schema.columnNames() != nil {
		read.Columns = o.Schema.Columns
	}
	set, err := s.read(ctx, spec.Path, read)
	if err != nil {
		return nil, err
	}
	if set.Labels == nil && !o.Unlabelled {
		return nil, spec.fail("no labels, which training needs%s; a trained model predicts without: gcn predict --run DIR --data SPEC", s.labelHint)
	}
	d := &Data{
		Graph: set.Graph, Report: set.Report, Features: set.Features, Labels: set.Labels,
		NodeNames: set.NodeNames, Directed: set.Direction != "", Notes: set.Notes, Metric: s.metric,
		table: set.Table,
	}
	if set.Split != nil {
		d.Split, d.ownSplit = newSplit(*set.Split), true
	}
	return d, d.makeFeatures(ctx, spec, s.featureHint, o.Schema)
}

// metricFor returns the usual metric of labels whose source names none.
func metricFor(y *graph.Labels) Metric {
	if y.Tasks > 0 {
		return ROCAUC
	}
	return Accuracy
}
