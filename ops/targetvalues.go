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
	return newTargetValues("TargetLabels", g, targets, rows, (*Targets).fillLabels)
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
	return newTargetValues("TargetWeights", g, targets, rows, (*Targets).fillWeights)
}

// TargetInputs returns labels of the current nodes as inputs of a model, in the shape of
// TargetLabels. Row i of classes is weights[i] of Targets.Set at the node's class and 0
// elsewhere; weights of nil are 1. An entry of binary tasks is weights[i] for a label 1,
// −weights[i] for a label 0, and 0 where unknown. A weight of 0 hides the labels of a node.
// The rest is as for TargetLabels.
func TargetInputs(g *G.ExprGraph, targets *Targets, rows int) (*G.Node, error) {
	return newTargetValues("TargetInputs", g, targets, rows, (*Targets).fillInputs)
}

func newTargetValues(name string, g *G.ExprGraph, targets *Targets, rows int, fill func(*Targets, []float32)) (*G.Node, error) {
	switch {
	case g == nil || targets == nil || targets.labels == nil || targets.labels.Outputs() < 1:
		return nil, fmt.Errorf("ops: %s needs a graph, and targets with labels", name)
	case rows < 1:
		return nil, fmt.Errorf("ops: %s of %d rows: %w", name, rows, ErrShape)
	}
	return applySource(g, &targetValues{base: base{name: name}, targets: targets, fill: fill}, tensor.Shape{rows, targets.labels.Outputs()})
}

type targetValues struct {
	base
	targets *Targets
	fill    func(t *Targets, to []float32)
}

// Rows says that the rows are those of the targets.
func (op *targetValues) Rows() (any, plan.RowKind) { return op.targets, plan.TargetRows }

// targetValuesRun holds the values on the device.
type targetValuesRun struct {
	values []float32
	at     device.Pointer
}

func (op *targetValues) of(r *plan.Run) *targetValuesRun {
	return plan.StateOf[targetValuesRun](r, op, nil)
}

func (op *targetValues) Place(r *plan.Run) error {
	q := op.of(r)
	r.AddInput(func(u *device.Uploader) error {
		t, err := op.targets.current(r)
		if err != nil {
			return err
		}
		q.values = scratch(q.values, t.rows*t.labels.Outputs())
		op.fill(t, q.values)
		device.Add(u, &q.at, q.values)
		return nil
	})
	return nil
}

func (op *targetValues) Compute(c *plan.Call) error {
	t, err := op.targets.current(c.Run)
	if err != nil {
		return err
	}
	to := c.OutMatrix(t.rows, t.labels.Outputs())
	return c.On(func(d *device.Device) error {
		return d.Copy(to.At, op.of(c.Run).at, to.Rows*to.Cols)
	}, func() { op.fill(t, to.Data) })
}

// fillLabels writes the labels of the current nodes, row-major.
func (t *Targets) fillLabels(to []float32) {
	if t.labels.Tasks > 0 {
		for k, y := range t.multi {
			if y != y {
				y = 0
			}
			to[k] = y
		}
		return
	}
	clear(to)
	classes := t.labels.Classes
	for i, c := range t.class {
		if c < 0 {
			continue
		}
		row := to[i*classes : (i+1)*classes]
		for j := range row {
			row[j] = float32(t.smoothing / float64(classes))
		}
		row[c] += float32(1 - t.smoothing)
	}
}

// fillInputs writes the labels of the current nodes times their weights, row-major.
func (t *Targets) fillInputs(to []float32) {
	clear(to)
	cols := t.labels.Outputs()
	for i := range t.rows {
		w := float32(1)
		if t.weights != nil {
			w = t.weights[i]
		}
		if t.labels.Tasks == 0 {
			if c := t.class[i]; c >= 0 {
				to[i*cols+int(c)] = w
			}
			continue
		}
		for k := i * cols; k < (i+1)*cols; k++ {
			if y := t.multi[k]; y == y {
				to[k] = w * (2*y - 1)
			}
		}
	}
}

// fillWeights writes the weight of each entry of fillLabels.
func (t *Targets) fillWeights(to []float32) {
	cols := t.labels.Outputs()
	for i, w := range t.shares() {
		for j := range cols {
			k := i*cols + j
			to[k] = w
			if t.labels.Tasks > 0 && t.multi[k] != t.multi[k] || t.labels.Tasks == 0 && t.class[i] < 0 {
				to[k] = 0
			}
		}
	}
}
