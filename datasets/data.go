// Package datasets opens data sets for training graph neural networks: an
// adjacency matrix, node features, labels and a split of the nodes. They come from
// files or from seeded synthetic models.
//
//	.npy .npz csv.gz pickle … ─▶ internal/formats ─┐
//	store (mapped), downloads                     ─┤
//	synth:NAME (no files)                         ─┴▶ datasets.Open ─▶ Data{Graph, Features, Labels, Split} ─▶ samplers, train
//
// A SPEC names a data set: SCHEME:PATH?key=value&key=value, such as "synth:demo",
// "npz:tolokers.npz?split=3" or "planetoid:planetoid/cora". List has the schemes with
// their keys. A SPEC without a scheme is the name of a data set that is downloaded once
// and kept in a cache; see Fetch. Options.Schemes adds a program's own schemes.
//
// Convert writes any data set as a store, a file that is mapped into memory when
// it is opened. See WriteStore, and Data.Close for how long its arrays live.
//
// # Promises of the readers
//
// Graphs come out undirected, unless a SPEC says directed=in or directed=out, and
// simple: symmetrised, de-duplicated, without self-loops (the propagation matrix adds its
// own). Data.Report counts these changes, Data.Notes names all others, and there are no
// more. Every value is checked: node ids in range, features finite, labels in range,
// splits disjoint and the training set not empty. A file that is damaged, cut short or of
// an unexpected kind gives one error that names the file and the place in it. Sizes that a
// file claims are checked against its length before memory is allocated. Readers do not
// panic. Pickles construct only arrays, sparse matrices, lists and dictionaries.
//
// # Out of scope
//
// Edge features, heterogeneous graphs of more than one node type, and edge- or
// graph-level tasks.
package datasets

import (
	"cmp"
	"fmt"
	"strconv"
	"sync"

	"github.com/gcn-layerwise/gcn/graph"
	"github.com/gcn-layerwise/gcn/internal/formats"
	"github.com/gcn-layerwise/gcn/internal/store"
)

// Metric names the score of a data set. Higher is better.
type Metric string

// The metrics, as the evaluators of the data sets' authors define them.
const (
	// Accuracy is the share of nodes whose highest-scored class is right.
	Accuracy Metric = "accuracy"
	// MicroF1 is F1 over all (node, task) pairs together. A task is predicted
	// where its logit is positive. With one class a node it equals accuracy.
	MicroF1 Metric = "micro-f1"
	// ROCAUC is the area under the ROC curve, averaged over the tasks that
	// have both labels among the scored nodes.
	ROCAUC Metric = "rocauc"
)

// Split holds the ids of the training, validation and test nodes, in the order of
// the source. The three are disjoint, and each holds a node at most once. They need
// not cover the graph.
type Split struct {
	Train, Valid, Test []int32
}

// Data is one data set in memory. After Validate it is read-only and safe for
// concurrent reading. It must not be copied.
type Data struct {
	Name     string          // its SPEC
	Graph    *graph.CSR      // A: symmetric unless Directed, no self-loops, values nil where all are 1
	Features *graph.Features // one row a node; dense or sparse
	Labels   *graph.Labels   // one entry or row a node; Labels.Names names the classes

	// Directed says that A need not be symmetric: row i of A has the nodes that node i
	// reads.
	Directed bool

	// NodeNames holds the id that the source gives each node, such as "alice" or
	// "10.1000/182"; NodeNames.At(i) also works on nil. nil means that the ids are the
	// nodes' numbers from 0.
	NodeNames *graph.Names

	// Propagated is P·X of the Laplacian and the features, if a store holds it, in
	// single or half precision; else nil. A change of the features must drop it.
	Propagated *graph.Features

	Split  Split
	Metric Metric
	Notes  []string     // changes to the source, a sentence each
	Report graph.Report // edges dropped while the graph was built; zero for synthetic graphs

	encoding Schema // of the features; the rest is empty

	table formats.Table // features in tables until finish joins them; nil: there are none

	ownSplit   bool // the source has a split
	unlabelled bool // Options.Unlabelled allowed them

	file *store.File // nil unless the data come from a store; see Close

	indexOnce sync.Once
	index     map[string]int32 // of NodeNames

	laplacianOnce sync.Once
	laplacian     *graph.Laplacian
}

// Laplacian returns P = D̃^-½ (A+I) D̃^-½ of the graph, or P = D̃^-1 (A+I) of a directed
// graph. The first call makes it, and all later calls share it. Cost of the first: O(nodes),
// or O(edges) for a weighted graph.
func (d *Data) Laplacian() *graph.Laplacian {
	build := graph.NewLaplacian
	if d.Directed {
		build = graph.NewDirectedLaplacian
	}
	d.laplacianOnce.Do(func() { d.laplacian = build(d.Graph) })
	return d.laplacian
}

// note adds a sentence to the notes.
func (d *Data) note(format string, args ...any) {
	d.Notes = append(d.Notes, fmt.Sprintf(format, args...))
}

func (d *Data) title() string { return cmp.Or(d.Name, "data without a name") }

// Node returns the node with an id of the source. The first call for data with names of
// nodes makes an index of about 100 bytes a name, which later calls share.
func (d *Data) Node(id string) (int32, error) {
	v, known := int32(-1), false
	if d.NodeNames == nil {
		number, err := strconv.ParseUint(id, 10, 31)
		v, known = int32(number), err == nil && int(number) < d.Nodes()
	} else {
		d.indexOnce.Do(func() { d.index = d.NodeNames.Index() })
		v, known = d.index[id]
	}
	if !known {
		return -1, fmt.Errorf("datasets: node %.40q is not among the %d of the graph", id, d.Nodes())
	}
	return v, nil
}

// Nodes returns the number of nodes, 0 where there is no graph.
func (d *Data) Nodes() int {
	if d == nil || d.Graph == nil {
		return 0
	}
	return d.Graph.Rows
}

// Edges returns the number of edges, undirected ones each counted once.
func (d *Data) Edges() int64 {
	if d.Nodes() == 0 {
		return 0
	}
	if d.Directed {
		return d.Graph.NNZ()
	}
	return d.Graph.NNZ() / 2
}

func (s *Split) parts() [3]*[]int32 { return [3]*[]int32{&s.Train, &s.Valid, &s.Test} }

func newSplit(parts [3][]int32) Split { return Split{parts[0], parts[1], parts[2]} }
