package ops

import (
	"errors"
	"fmt"

	"github.com/gcn-layerwise/gcn/graph"
	"github.com/gcn-layerwise/gcn/internal/plan"
)

// Targets holds the labels of the current mini-batch's output nodes, and the weights of
// their losses.
//
// Like a Slot it belongs to one graph and to one goroutine.
type Targets struct {
	labels       *graph.Labels
	smoothing    float64
	classWeights []float32 // nil: all 1
	score        Score

	targetBatch
}

// targetBatch is the part of the targets that belongs to one batch.
type targetBatch struct {
	class  []int32   // the current nodes' classes; −1 if unknown, and for binary tasks
	multi  []float32 // the current nodes' tasks, if labels are binary tasks
	shares []float32 // the weight that each label of a node has in the loss: see TargetWeights

	scores []float32 // of the last run, if score is not NoScore
}

// For returns targets for r alone, without nodes: r reads them in place of t. See Slot.For.
func (t *Targets) For(r *plan.Run) *Targets {
	own := *t
	own.targetBatch = targetBatch{}
	plan.Use(r, t, &own)
	return &own
}

// current returns the targets that r reads in place of t. It is an error if they have no nodes.
func (t *Targets) current(r *plan.Run) (*Targets, error) {
	own := plan.In(r, t)
	if len(own.class) == 0 {
		return nil, errors.New("ops: targets have no nodes: call Targets.Set before the run")
	}
	return own, nil
}

// NewTargets returns targets over y without current nodes. y must not change while the
// targets are in use.
func NewTargets(y *graph.Labels) *Targets { return &Targets{labels: y} }

// Labels returns the labels of all nodes.
func (t *Targets) Labels() *graph.Labels { return t.labels }

// Smooth makes the loss smooth the labels: the target of a class is
// (1−rate)·onehot + rate/classes (Szegedy et al. 2016, arXiv:1512.00567), and of a binary
// task (1−rate)·label + rate/2. rate must be in [0, 1). Call it before Set.
func (t *Targets) Smooth(rate float64) error {
	if !(rate >= 0 && rate < 1) {
		return fmt.Errorf("ops: label smoothing %v, want a number in [0, 1)", rate)
	}
	t.smoothing = rate
	return nil
}

// WeighClasses multiplies the loss of a row by the weight of its class. weights has one
// number for each class, and must not change; nil means that all are 1. It is not for
// binary tasks. Call it before Set.
func (t *Targets) WeighClasses(weights []float32) error {
	if weights != nil && (t.labels == nil || len(weights) != t.labels.Classes) {
		return fmt.Errorf("ops: %d class weights do not fit the labels: %w", len(weights), ErrShape)
	}
	for c, w := range weights {
		if !(w >= 0) || w-w != 0 {
			return fmt.Errorf("ops: weight of class %d is %v, want at least 0", c, w)
		}
	}
	t.classWeights = weights
	return nil
}

// Set makes the labels of nodes the targets of the next runs: row i of the logits belongs
// to nodes[i]. With weights the loss is Σ weights[i]·loss of row i. Without weights (nil
// or empty) it is the mean over the labelled rows, or over the labelled entries of binary
// tasks. Unlabelled rows never count.
//
// Set copies the labels and the weights. The error wraps ErrShape if a node is outside the
// labels, or if the lengths differ. It wraps graph.ErrInvalid if a weight is not finite, or if a
// label is not a class. After an error the targets are unchanged.
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
	tasks, total := t.labels.Tasks, t.labels.Nodes()
	for i, v := range nodes {
		if v < 0 || int(v) >= total {
			return fmt.Errorf("ops: output node %d is %d, outside the %d labelled nodes: %w", i, v, total, ErrShape)
		}
		if tasks > 0 {
			continue
		}
		if c := t.labels.Class[v]; c < -1 || int(c) >= t.labels.Classes { // kernels use it as an index
			return fmt.Errorf("ops: label of node %d is %d, outside [0, %d): %w", v, c, t.labels.Classes, graph.ErrInvalid)
		}
	}
	t.multi = scratch(t.multi, len(nodes)*tasks)
	t.class = scratch(t.class, len(nodes))
	for i, v := range nodes {
		for k, y := range t.labels.Multi[int(v)*tasks:][:tasks] {
			t.multi[i*tasks+k] = y + float32(t.smoothing)*(0.5-y)
		}
		if t.class[i] = -1; tasks == 0 {
			t.class[i] = t.labels.Class[v]
		}
	}
	t.share(weights)
	return nil
}

// share sets shares, one element a node: the table of TargetWeights, without the zeros of unknown
// labels.
func (t *Targets) share(weights []float32) {
	t.shares = scratch(t.shares, len(t.class))
	tasks, total := t.labels.Tasks, 0
	for i := range t.shares {
		known := 0 // labels of the node
		if t.class[i] >= 0 {
			known = 1
		}
		for _, y := range t.multi[i*tasks:][:tasks] {
			if y == y {
				known++
			}
		}
		total += known
		if len(weights) > 0 {
			t.shares[i] = float32(float64(weights[i]) / float64(max(known, 1)))
		}
	}
	mean := float32(1 / float64(max(total, 1)))
	for i := range t.shares {
		if len(weights) == 0 {
			t.shares[i] = mean
		}
		if t.classWeights != nil && t.class[i] >= 0 {
			t.shares[i] *= t.classWeights[t.class[i]]
		}
	}
}
