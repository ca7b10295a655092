package ops

import (
	"fmt"

	"github.com/gcn-layerwise/gcn/internal/device"
	"github.com/gcn-layerwise/gcn/internal/plan"
)

// placedTargets holds the labels and weights of the current batch on the device.
type placedTargets struct {
	of      *Targets
	weights []float32 // of each row's loss; for binary tasks, of each label of the row

	class, multi, weight device.Pointer
}

// targetsOf returns t on the device of p.
func targetsOf(p *plan.Placement, t *Targets) *placedTargets {
	q, made := plan.StateOf[placedTargets](p, t)
	if made {
		q.of = t
		p.AddInput(q)
	}
	return q
}

// Send adds the labels and the weights to the upload.
func (q *placedTargets) Send(u *device.Uploader) error {
	t := q.of
	if t.rows == 0 {
		return fmt.Errorf("ops: targets have no nodes: call Targets.Set before the run")
	}
	q.weights = scratch(q.weights, t.rows)
	if t.labels.Tasks > 0 {
		q.shares()
		device.Add(u, &q.multi, t.multi)
	} else {
		labelled := 0
		for _, c := range t.class {
			if c >= 0 {
				labelled++
			}
		}
		share := float32(1 / float64(max(labelled, 1)))
		for i := range q.weights {
			q.weights[i] = share
		}
		copy(q.weights, t.weights) // if there are any
		device.Add(u, &q.class, t.class)
	}
	device.Add(u, &q.weight, q.weights)
	return nil
}

// Sent does nothing.
func (q *placedTargets) Sent() {}

// shares sets the weight of each row's labels: 1/(number of labels of all rows), or with
// weights the row's weight divided by the number of its labels.
func (q *placedTargets) shares() {
	t := q.of
	tasks := t.labels.Tasks
	total := 0
	for i := range q.weights {
		labelled := 0
		for _, y := range t.multi[i*tasks : (i+1)*tasks] {
			if y == y {
				labelled++
			}
		}
		total += labelled
		if t.weights != nil {
			q.weights[i] = float32(float64(t.weights[i]) / float64(max(labelled, 1)))
		}
	}
	if t.weights != nil {
		return
	}
	for i := range q.weights {
		q.weights[i] = float32(1 / float64(max(total, 1)))
	}
}
