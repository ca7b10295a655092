//go:build cuda

package ops

import (
	"fmt"

	"github.com/gcn-layerwise/gcn/internal/device"
	G "gorgonia.org/gorgonia"
)

// placedTargets is the labels and weights of the present batch on the device.
type placedTargets struct {
	of      *Targets
	weights []float32 // of each row's loss; for binary tasks, of each label's

	class, multi, weight device.Pointer
}

// targetsFor returns what stands for t, of which a model has one.
func (p *Placement) targetsFor(t *Targets) (*placedTargets, error) {
	if p.targets == nil {
		p.targets = &placedTargets{of: t}
	}
	if p.targets.of != t {
		return nil, fmt.Errorf("ops: a model on a device can have targets of one batch only")
	}
	return p.targets, nil
}

// send copies them. The mean's share of a row is worked out here.
func (q *placedTargets) send(u *device.Uploader) error {
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
		for i := range q.weights {
			if q.weights[i] = float32(1 / float64(max(labelled, 1))); t.weights != nil {
				q.weights[i] = t.weights[i]
			}
		}
		device.Add(u, &q.class, t.class)
	}
	device.Add(u, &q.weight, q.weights)
	return nil
}

// shares sets the weight of each row's labels: of the mean over all labels, or
// the row's weight of the mean over its own.
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

// placedLoss is what a loss shares with its gradient.
type placedLoss struct {
	wanted bool    // the gradient is placed
	atOnce *result // it comes with the loss, its upstream being 1

	rowMemory, memory *device.Buffer
	probs             device.Pointer // softmax, or for binary tasks the logits
	rows, cols        int
}

func (op *loss) place(p *Placement, n *G.Node) (func([]*array) (*array, error), error) {
	out, s := p.result(n), stateOf[placedLoss](p, op)
	s.rowMemory, s.memory = p.buffer(), p.buffer()
	t, err := p.targetsFor(op.targets)
	if err != nil {
		return nil, err
	}
	return func(in []*array) (*array, error) {
		rows, cols, z, err := in[0].matrix(op.name)
		if err != nil {
			return nil, err
		}
		if rows != op.targets.rows || cols != op.targets.labels.Outputs() {
			return nil, fmt.Errorf("ops: %s: logits are %d×%d, targets %d×%d: %w", op.name, rows, cols, op.targets.rows, op.targets.labels.Outputs(), ErrShape)
		}
		s.rows, s.cols = rows, cols
		rowLoss, err := s.rowMemory.Bytes(8 * int64(rows))
		if err != nil {
			return nil, err
		}
		var gradient device.Pointer
		s.probs = 0
		switch {
		case s.atOnce != nil:
			_, gradient, err = s.atOnce.shaped(rows, cols)
		case s.wanted && op.binary:
			s.probs = z
		case s.wanted:
			s.probs, err = s.memory.Floats(rows * cols)
		}
		if err != nil {
			return nil, err
		}
		if op.binary {
			err = p.d.BCELoss(gradient, rowLoss, z, t.multi, t.weight, 0, rows, cols)
		} else {
			err = p.d.SoftmaxLoss(s.probs, gradient, rowLoss, z, t.class, t.weight, rows, cols)
		}
		if err != nil {
			return nil, err
		}
		a, to, err := out.shaped()
		if err != nil {
			return nil, err
		}
		return a, p.d.Total(to, rowLoss, rows)
	}, nil
}

func (op *lossBack) place(p *Placement, n *G.Node) (func([]*array) (*array, error), error) {
	out, s := p.result(n), stateOf[placedLoss](p, op.forward)
	s.wanted = true
	if upstream := childrenOf(n)[2]; isOne(upstream) {
		s.atOnce = out
		return func([]*array) (*array, error) { return &out.array, nil }, nil
	}
	t, err := p.targetsFor(op.forward.targets)
	if err != nil {
		return nil, err
	}
	return func(in []*array) (*array, error) {
		upstream, err := in[2].scalar(op.name)
		if err != nil {
			return nil, err
		}
		a, to, err := out.shaped(s.rows, s.cols)
		if err != nil {
			return nil, err
		}
		if op.forward.binary {
			return a, p.d.BCELoss(to, 0, s.probs, t.multi, t.weight, upstream, s.rows, s.cols)
		}
		return a, p.d.SoftmaxGradient(to, s.probs, t.class, t.weight, upstream, s.rows, s.cols)
	}, nil
}

// isOne reports whether n is the constant 1, as the upstream gradient of a loss by
// itself is.
func isOne(n *G.Node) bool {
	if n.Op() == nil || len(childrenOf(n)) > 0 || n.Value() == nil {
		return false
	}
	one, ok := n.Value().(*G.F32)
	return ok && *one == 1
}
