package ops

import (
	"fmt"

	"github.com/gcn-layerwise/gcn/internal/device"
	"github.com/gcn-layerwise/gcn/internal/plan"
	G "gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// TargetLabels returns the labels of the current output nodes as a float32 matrix of shape
// (nodes, classes or tasks), for a loss of your own. Row i of classes is 1 at the node's
// class and 0 elsewhere, or all 0 for a node without a label. Binary tasks are 0 and 1, and 0
// where unknown: TargetWeights is 0 there. Labels are smoothed if Targets.Smooth says so.
//
// rows is the nominal number of nodes; a batch may have any other. The node is a constant: no
// gradient flows into it. Set the targets before each run. Cost: O(nodes·columns).
func TargetLabels(g *G.ExprGraph, targets *Targets, rows int) (*G.Node, error) {
	return newTargetValues("TargetLabels", g, targets, rows, (*Targets).smoothed)
}

// TargetWeights returns the weight of each entry of TargetLabels in the loss, in the same
// shape. Multiply it by a matrix of losses, an element for each entry: the sum is the loss of
// the batch, weighted as by Loss. All entries of row i have one weight:
//
//	classes, with the weights w of Targets.Set     w[i], times the weight of its class
//	classes, without                               1/(number of labelled nodes), times the same
//	binary tasks, with weights                     w[i]/(number of the node's known tasks)
//	binary tasks, without                          1/(number of known entries of the batch)
//
// An unknown entry has weight 0.
func TargetWeights(g *G.ExprGraph, targets *Targets, rows int) (*G.Node, error) {
	return newTargetValues("TargetWeights", g, targets, rows, (*Targets).entryWeight)
}

// newTargetValues adds a node that has, for the label of each entry of row i, value's result for it,
// and 0 where the label is unknown. The label of a class is 1 at the class and 0 elsewhere.
func newTargetValues(name string, g *G.ExprGraph, targets *Targets, rows int, value func(t *Targets, i int, label float32) float32) (*G.Node, error) {
	switch {
	case g == nil || targets == nil || targets.labels == nil || targets.labels.Outputs() < 1:
		return nil, fmt.Errorf("ops: %s needs a graph, and targets with labels", name)
	case rows < 1:
		return nil, fmt.Errorf("ops: %s of %d rows: %w", name, rows, ErrShape)
	}
	return applySource(g, &targetValues{base: base{name: name}, targets: targets, value: value}, tensor.Shape{rows, targets.labels.Outputs()})
}

type targetValues struct {
	base
	targets *Targets
	value   func(t *Targets, i int, label float32) float32
}

// Rows names no slot: labels are not read over full neighbourhoods.
func (op *targetValues) Rows() (any, plan.RowKind) { return nil, plan.OutputRows }

// Compute makes a device wait for the values.
func (op *targetValues) Compute(c *plan.Call) error {
	t, err := op.targets.current(c.Run)
	if err != nil {
		return err
	}
	to := c.OutMatrix(len(t.class), t.labels.Outputs())
	return c.On(func() error {
		values := make([]float32, to.Rows*to.Cols)
		t.fill(values, op.value)
		return device.Write(c.Device, to.At, values)
	}, func() {
		t.fill(to.Data, op.value)
	})
}

// fill writes the values of the current nodes, row-major.
func (t *Targets) fill(to []float32, value func(t *Targets, i int, label float32) float32) {
	clear(to)
	tasks := t.labels.Tasks
	for i, class := range t.class {
		for j, label := range t.multi[i*tasks:][:tasks] {
			if label == label {
				to[i*tasks+j] = value(t, i, label)
			}
		}
		if class < 0 {
			continue
		}
		row := to[i*t.labels.Classes:][:t.labels.Classes]
		for j := range row {
			row[j] = value(t, i, 0)
		}
		row[class] = value(t, i, 1)
	}
}

// smoothed is the label. Those of tasks are smoothed already.
func (t *Targets) smoothed(_ int, label float32) float32 {
	if t.labels.Tasks > 0 {
		return label
	}
	return float32(t.smoothing/float64(t.labels.Classes)) + label*float32(1-t.smoothing)
}

// entryWeight is the weight in the loss.
func (t *Targets) entryWeight(i int, _ float32) float32 { return t.shares[i] }
