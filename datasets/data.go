package datasets

import (
	"context"
	"fmt"
	"math"
	"sync"

	"github.com/gcn-layerwise/gcn/graph"
	"github.com/gcn-layerwise/gcn/internal/parallel"
)

// Metric names the score that a data set is judged by, higher being better.
type Metric string

// The metrics, as the evaluators of the data sets' authors define them.
const (
	// Accuracy is the share of nodes whose highest-scored class is right.
	Accuracy Metric = "accuracy"
	// MicroF1 is F1 over all (node, task) pairs together, a task being
	// predicted where its logit is positive; with one class a node it equals
	// accuracy.
	MicroF1 Metric = "micro-f1"
	// ROCAUC is the area under the ROC curve, averaged over the tasks that
	// have both labels among the nodes scored.
	ROCAUC Metric = "rocauc"
)

// Split holds the nodes to train on, to choose the best weights with, and to
// report. The three are disjoint and each holds a node at most once, in the
// order of the source; they need not cover the graph.
type Split struct {
	Train, Valid, Test []int32
}

// Data is one data set in memory. It is read-only once Validate passed, safe
// for concurrent reading, and must not be copied.
type Data struct {
	Name     string          // the SPEC it was opened by
	Graph    *graph.CSR      // A: symmetric, no self-loops, values nil where all are 1
	Features *graph.Features // one row a node
	Labels   *graph.Labels   // one entry or row a node
	Split    Split
	Metric   Metric
	Notes    []string     // what was done to the source, a sentence each
	Report   graph.Report // what building the graph dropped; zero for synthetic graphs

	simple bool // the graph passed ValidateAdjacency, or was built to

	source string       // of Data from a store: the SPEC that was stored
	unmap  func() error // of Data from a store; see Close

	laplacianOnce sync.Once
	laplacian     *graph.Laplacian
}

// Laplacian returns P = D̃^-½ (A+I) D̃^-½ over the graph, made at the first call
// and shared by all later ones. Cost of the first: O(nodes), or O(edges) for a
// weighted graph.
func (d *Data) Laplacian() *graph.Laplacian {
	d.laplacianOnce.Do(func() { d.laplacian = graph.NewLaplacian(d.Graph) })
	return d.laplacian
}

// title is what errors call d.
func (d *Data) title() string {
	if d.Name == "" {
		return "data without a name"
	}
	return d.Name
}

// Nodes returns the number of nodes, 0 where there is no graph.
func (d *Data) Nodes() int {
	if d == nil || d.Graph == nil {
		return 0
	}
	return d.Graph.Rows
}

// Edges returns the number of undirected edges, each counted once.
func (d *Data) Edges() int64 {
	if d == nil || d.Graph == nil {
		return 0
	}
	return d.Graph.NNZ() / 2
}

// Validate reports the first thing wrong with d, as the package promises it:
// the graph's structure, numbers of rows that disagree, features that are not
// finite, labels or split nodes out of range, a node that is in a split twice
// or has no label there, an empty training set, a metric that does not fit the
// labels. Errors wrap graph.ErrInvalid. Cost: O(edges log(max degree) +
// features).
func (d *Data) Validate() error {
	if err := d.complete(); err != nil {
		return err
	}
	if err := d.Graph.ValidateAdjacency(); err != nil {
		return fmt.Errorf("datasets: %s: %w", d.title(), err)
	}
	return d.validateNodes(context.Background())
}

// complete reports a part of d that is nil, or d itself.
func (d *Data) complete() error {
	if d == nil {
		return fmt.Errorf("datasets: no data: %w", graph.ErrInvalid)
	}
	if d.Graph == nil || d.Features == nil || d.Labels == nil {
		return fmt.Errorf("datasets: %s: graph, features or labels missing: %w", d.title(), graph.ErrInvalid)
	}
	return nil
}

// plausibleClasses tells whether there may be so many classes of n nodes: a
// number far above that of the nodes is of a damaged file.
func plausibleClasses(classes, n int) bool { return classes <= max(n, 1<<16) }

// validateNodes is Validate less the graph's structure.
func (d *Data) validateNodes(ctx context.Context) error {
	if err := d.validateFeatures(ctx); err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := d.Labels.Validate(); err != nil {
		return fmt.Errorf("datasets: %s: %w", d.title(), err)
	}
	n := d.Nodes()
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
	return d.validateSplit()
}

// validateFeatures is graph.Features.Validate on all cores, until ctx is done.
func (d *Data) validateFeatures(ctx context.Context) error {
	x := d.Features
	fail := func(err error) error { return fmt.Errorf("datasets: %s: %w", d.title(), err) }
	if x.Cols <= 0 || x.Rows < 0 || x.Rows > math.MaxInt/x.Cols || x.Len() != x.Rows*x.Cols || x.Data != nil && x.Half != nil {
		return fail(x.Validate()) // which says what is wrong
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
	part := make([]uint8, n) // 1+index of the part that holds the node
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

// labelled tells whether a node has a class, or at least one task known.
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
