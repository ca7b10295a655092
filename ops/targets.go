package ops

import (
	"fmt"

	"github.com/gcn-layerwise/gcn/graph"
)

// Targets carries what the current mini-batch is to predict: the labels of its
// output nodes and the weight of each one's loss.
//
// Like a Slot it belongs to one graph and to one goroutine.
type Targets struct {
	labels  *graph.Labels
	class   []int32   // of the current nodes, where the labels are classes
	multi   []float32 // of the current nodes, where the labels are binary tasks
	weights []float32 // nil: the mean
	rows    int
}

// NewTargets returns targets over y, with no nodes set. Labels must not change
// while the targets are in use.
func NewTargets(y *graph.Labels) *Targets { return &Targets{labels: y} }

// Labels returns the labels of all nodes.
func (t *Targets) Labels() *graph.Labels { return t.labels }

// Set makes the labels of nodes the targets of the next runs, row i of the
// logits belonging to nodes[i]. With weights the loss is Σ weights[i]·loss of
// row i; without (nil or empty), it is the mean over the labelled rows, or
// over the labelled entries of binary tasks. Unlabelled rows never count.
//
// Both slices are read here; weights are kept until the next Set. The error,
// for a node outside the labels or a number of weights that is not the number
// of nodes, wraps ErrShape, and graph.ErrInvalid for a weight that is not
// finite or a label that is no class; the targets are then those from before.
func (t *Targets) Set(nodes []int32, weights []float32) error {
	if t.labels == nil {
		return fmt.Errorf("ops: targets have no labels: %w", ErrShape)
	}
	if len(weights) > 0 && len(weights) != len(nodes) {
		return fmt.Errorf("ops: %d loss weights for %d output nodes: %w", len(weights), len(nodes), ErrShape)
	}
	for i, w := range weights {
		if w-w != 0 {
			return fmt.Errorf("ops: loss weight of output node %d is %v, not finite: %w", i, w, graph.ErrInvalid)
		}
	}
	total := t.labels.Nodes()
	for i, v := range nodes {
		if v < 0 || int(v) >= total {
			return fmt.Errorf("ops: output node %d is %d, outside the %d labelled nodes: %w", i, v, total, ErrShape)
		}
		if t.labels.Tasks > 0 {
			continue
		}
		if c := t.labels.Class[v]; c < -1 || int(c) >= t.labels.Classes { // kernels index by it
			return fmt.Errorf("ops: label of node %d is %d, outside [0, %d): %w", v, c, t.labels.Classes, graph.ErrInvalid)
		}
	}
	if tasks := t.labels.Tasks; tasks > 0 {
		t.multi = scratch(t.multi, len(nodes)*tasks)
		for i, v := range nodes {
			copy(t.multi[i*tasks:(i+1)*tasks], t.labels.Multi[int(v)*tasks:])
		}
	} else {
		if cap(t.class) < len(nodes) {
			t.class = make([]int32, len(nodes))
		}
		t.class = t.class[:len(nodes)]
		for i, v := range nodes {
			t.class[i] = t.labels.Class[v]
		}
	}
	t.weights = nil
	if len(weights) > 0 {
		t.weights = weights
	}
	t.rows = len(nodes)
	return nil
}
