package datasets

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"

	"github.com/gcn-layerwise/gcn/graph"
	"github.com/gcn-layerwise/gcn/internal/parallel"
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

	simple     bool // the graph is valid: it was checked, or built so
	unlabelled bool // Options.Unlabelled allowed them

	loading *atomic.Int64 // nanoseconds; see Loading
	source  string        // SPEC of the stored data; "" unless they come from a store
	unmap   func() error  // nil unless the data come from a store; see Close
	pages   func()        // gives the store's memory back to the system; nil: nothing to give

	indexOnce sync.Once
	index     map[string]int32 // of NodeNames

	laplacianOnce sync.Once
	laplacian     *graph.Laplacian
}

// Laplacian returns P = D̃^-½ (A+I) D̃^-½ of the graph, or P = D̃^-1 (A+I) of a directed
// one. The first call makes it, and
// all later calls share it. Cost of the first: O(nodes), or O(edges) for a weighted
// graph.
func (d *Data) Laplacian() *graph.Laplacian {
	d.laplacianOnce.Do(func() {
		if d.Directed {
			d.laplacian = graph.NewDirectedLaplacian(d.Graph)
		} else {
			d.laplacian = graph.NewLaplacian(d.Graph)
		}
	})
	return d.laplacian
}

func (d *Data) title() string {
	if d.Name == "" {
		return "data without a name"
	}
	return d.Name
}

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
	if d == nil || d.Graph == nil {
		return 0
	}
	if d.Directed {
		return d.Graph.NNZ()
	}
	return d.Graph.NNZ() / 2
}

// Validate reports the first fault of d: of the graph's structure, numbers of rows
// that disagree, features that are not finite, labels or split nodes out of range,
// a split that holds a node twice or a node without a label, an empty training set,
// a metric that does not fit the labels. Errors wrap graph.ErrInvalid. Cost:
// O(edges log(max degree) + features).
func (d *Data) Validate() error { return d.validate(context.Background()) }

// complete reports nil data, or a nil part of them.
func (d *Data) complete() error {
	if d == nil {
		return fmt.Errorf("datasets: no data: %w", graph.ErrInvalid)
	}
	if d.Graph == nil || d.Features == nil || d.Labels == nil {
		return fmt.Errorf("datasets: %s: graph, features or labels missing: %w", d.title(), graph.ErrInvalid)
	}
	return nil
}

// plausibleClasses tells whether n nodes may have so many classes. Far more classes
// than nodes mean a damaged file.
func plausibleClasses(classes, n int) bool { return classes <= max(n, 1<<16) }

// validateNodes is Validate without the graph's structure.
func (d *Data) validateNodes(ctx context.Context) error {
	if err := d.validateFeatures(ctx, d.Features); err != nil {
		return err
	}
	if px := d.Propagated; px != nil {
		if px.Rows != d.Features.Rows || px.Cols != d.Features.Cols {
			return fmt.Errorf("datasets: %s: propagated features %d×%d of features %d×%d: %w", d.title(), px.Rows, px.Cols, d.Features.Rows, d.Features.Cols, graph.ErrInvalid)
		}
		if err := d.validateFeatures(ctx, px); err != nil {
			return err
		}
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	return d.validateLabels()
}

// validateLabels is validateNodes without the values of the features.
func (d *Data) validateLabels() error {
	n := d.Nodes()
	if err := d.Labels.Validate(); err != nil && !d.validUnlabelled() {
		return fmt.Errorf("datasets: %s: %w", d.title(), err)
	}
	if d.NodeNames != nil {
		if err := d.NodeNames.Validate(); err != nil {
			return fmt.Errorf("datasets: %s: %w", d.title(), err)
		}
		if d.NodeNames.Len() != n {
			return fmt.Errorf("datasets: %s: %d names of %d nodes: %w", d.title(), d.NodeNames.Len(), n, graph.ErrInvalid)
		}
	}
	if d.Features.Rows != n || d.Labels.Nodes() != n {
		return fmt.Errorf("datasets: %s: graph of %d nodes, features of %d, labels of %d: %w", d.title(), n, d.Features.Rows, d.Labels.Nodes(), graph.ErrInvalid)
	}
	if !plausibleClasses(d.Labels.Classes, n) {
		return fmt.Errorf("datasets: %s: %d classes for %d nodes: %w", d.title(), d.Labels.Classes, n, graph.ErrInvalid)
	}
	switch multi := d.Labels.Multi != nil; {
	case d.Metric != Accuracy && d.Metric != MicroF1 && d.Metric != ROCAUC:
		return fmt.Errorf("datasets: %s: metric %q: want %s, %s or %s: %w", d.title(), d.Metric, Accuracy, MicroF1, ROCAUC, graph.ErrInvalid)
	case d.Metric == Accuracy && multi || d.Metric == ROCAUC && !multi:
		return fmt.Errorf("datasets: %s: metric %s does not fit labels of %d classes and %d tasks: %w", d.title(), d.Metric, d.Labels.Classes, d.Labels.Tasks, graph.ErrInvalid)
	}
	if d.validUnlabelled() {
		return nil
	}
	return d.validateSplit()
}

// validUnlabelled tells whether d are data that Options.Unlabelled allowed.
func (d *Data) validUnlabelled() bool {
	known := func(class int32) bool { return class != -1 }
	return d.unlabelled && d.Unlabelled() && !slices.ContainsFunc(d.Labels.Class, known) && len(d.Split.Train)+len(d.Split.Valid)+len(d.Split.Test) == 0
}

// validateFeatures is graph.Features.Validate on all cores, until ctx is done.
func (d *Data) validateFeatures(ctx context.Context, x *graph.Features) error {
	fail := func(err error) error { return fmt.Errorf("datasets: %s: %w", d.title(), err) }
	if x.Sparse != nil {
		if err := x.Validate(); err != nil {
			return fail(err)
		}
		if !plausibleColumns(x) {
			return fail(fmt.Errorf("%d columns of features with %d entries: too sparse to learn from: %w", x.Cols, x.Len(), graph.ErrInvalid))
		}
		return ctx.Err()
	}
	if x.Cols <= 0 || x.Rows < 0 || x.Rows > math.MaxInt/x.Cols || x.Len() != x.Rows*x.Cols || x.Data != nil && x.Half != nil {
		return fail(x.Validate())
	}
	rows := max(1<<20/x.Cols, 1)
	return parallel.Chunks(ctx, (x.Rows+rows-1)/rows, func(chunk int) error {
		lo, hi := chunk*rows, min((chunk+1)*rows, x.Rows)
		part := &graph.Features{Rows: hi - lo, Cols: x.Cols}
		if x.Half != nil {
			part.Half = x.Half[lo*x.Cols : hi*x.Cols]
		} else {
			part.Data = x.Data[lo*x.Cols : hi*x.Cols]
		}
		if part.Validate() == nil {
			return nil
		}
		for k, v := range part.Float32s() {
			if v-v != 0 { // NaN or infinite
				return fail(fmt.Errorf("feature %d of node %d is %v, want finite: %w", k%x.Cols, lo+k/x.Cols, v, graph.ErrInvalid))
			}
		}
		return nil
	})
}

func (d *Data) validateSplit() error {
	if len(d.Split.Train) == 0 {
		return fmt.Errorf("datasets: %s: the training set is empty: %w", d.title(), graph.ErrInvalid)
	}
	const unused = 0
	n := d.Nodes()
	part := make([]uint8, n) // of each node: the index of its part, plus 1
	names := [...]string{"", "train", "valid", "test"}
	for p, ids := range d.Split.parts() {
		for k, id := range ids {
			if id < 0 || int(id) >= n {
				return fmt.Errorf("datasets: %s: %s node %d is %d, outside [0, %d): %w", d.title(), names[p+1], k, id, n, graph.ErrInvalid)
			}
			switch before := part[id]; {
			case int(before) == p+1:
				return fmt.Errorf("datasets: %s: %s node %d (id %d) is there twice: %w", d.title(), names[p+1], k, id, graph.ErrInvalid)
			case before != unused:
				return fmt.Errorf("datasets: %s: %s node %d (id %d) is in the %s set too: %w", d.title(), names[p+1], k, id, names[before], graph.ErrInvalid)
			}
			part[id] = uint8(p + 1)
			if !d.labelled(int(id)) {
				return fmt.Errorf("datasets: %s: %s node %d (id %d) has no label: %w", d.title(), names[p+1], k, id, graph.ErrInvalid)
			}
		}
	}
	return nil
}

// labelled tells whether a node has a class, or at least one known task.
func (d *Data) labelled(i int) bool {
	y := d.Labels
	if y.Class != nil {
		return y.Class[i] >= 0
	}
	for _, v := range y.Multi[i*y.Tasks : (i+1)*y.Tasks] {
		if !math.IsNaN(float64(v)) {
			return true
		}
	}
	return false
}

func (s *Split) parts() [3][]int32 { return [3][]int32{s.Train, s.Valid, s.Test} }
