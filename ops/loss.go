package ops

import (
	"cmp"
	"errors"
	"fmt"

	"github.com/gcn-layerwise/gcn/internal/device"
	"github.com/gcn-layerwise/gcn/internal/kernel"
	"github.com/gcn-layerwise/gcn/internal/plan"
	G "gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// Loss returns the scalar loss of the targets' labels, from a float32 matrix of logits of shape
// (nodes, classes or tasks). A batch without a label has loss 0. The error wraps ErrShape if the
// columns are not the labels' outputs.
//
// For classes it is the cross-entropy −Σᵢ wᵢ·log softmax(logitsᵢ)[classᵢ] over the labelled
// rows. The weights w are the targets'; without weights, w is 1/(number of labelled rows). Row
// maxima are subtracted first, so large logits do not overflow.
//
// For binary tasks it is the binary cross-entropy of independent tasks, the mean over the
// labelled entries. With weights it is Σᵢ wᵢ·(mean over the labelled tasks of row i).
func Loss(logits *G.Node, targets *Targets) (*G.Node, error) {
	if targets == nil || targets.labels == nil {
		return nil, errors.New("ops: Loss needs targets with labels")
	}
	y := targets.labels
	binary, name := y.Tasks > 0, "CrossEntropy"
	if binary {
		name = "BCEWithLogits"
	}
	if err := checkMatrix(name, logits); err != nil {
		return nil, err
	}
	if logits.Shape()[1] != y.Outputs() {
		return nil, fmt.Errorf("ops: %s: logits have %d columns for %d outputs: %w", name, logits.Shape()[1], y.Outputs(), ErrShape)
	}
	op := &loss{base: base{name: name}, targets: targets, binary: binary}
	return apply(op, tensor.ScalarShape(), logits)
}

type loss struct {
	base
	targets *Targets
	binary  bool
}

// lossRun is the state of a loss in a run.
type lossRun struct {
	// probs is the softmax, for the gradient. For binary tasks it is a copy of the logits,
	// since a plain node may overwrite them in place; on a device it is the logits.
	probs plan.Scratch

	// On a device:
	class, multi, share device.Pointer // of the current batch: classes or tasks, and weights
	ofRows              plan.Scratch   // as float64
}

// Place makes each run send the labels and the weights of the batch.
func (op *loss) Place(r *plan.Run) error {
	s := plan.StateOf[lossRun](r, op)
	r.AddInput(func(u *device.Uploader) error {
		t, err := op.targets.current(r)
		if err != nil {
			return err
		}
		device.Add(u, &s.class, t.class)
		device.Add(u, &s.multi, t.multi)
		device.Add(u, &s.share, t.shares)
		return nil
	})
	return nil
}

func (op *loss) Compute(c *plan.Call) error {
	z := c.Matrix(0)
	t := plan.In(c.Run, op.targets)
	s := plan.StateOf[lossRun](c.Run, op)
	if z.Rows == 0 || z.Rows != len(t.class) || z.Cols != t.labels.Outputs() {
		return c.Sizes("logits are %d×%d, targets %d×%d", z.Rows, z.Cols, len(t.class), t.labels.Outputs())
	}
	if t.score != NoScore {
		c.Fail(t.observe(c.Device, z))
	}
	if c.Device != nil {
		c.Scratch(&s.ofRows, 2*z.Rows)
	}
	if c.Device != nil && op.binary {
		s.probs.Floats = z.Floats
	} else {
		c.Scratch(&s.probs, z.Rows*z.Cols)
	}
	to := c.OutScalar()
	return c.On(func() error {
		var err error
		if op.binary {
			err = c.Device.BCELoss(0, s.ofRows.At, z.At, s.multi, s.share, 0, z.Rows, z.Cols)
		} else {
			err = c.Device.SoftmaxLoss(s.probs.At, s.ofRows.At, z.At, s.class, s.share, t.smoothing, z.Rows, z.Cols)
		}
		return cmp.Or(err, c.Device.Total(to.At, s.ofRows.At, z.Rows))
	}, func() {
		var value float64
		if op.binary {
			copy(s.probs.Data, z.Data)
			value = kernel.BCEWithLogits(z.Data, t.multi, z.Cols, t.shares)
		} else {
			value = kernel.SoftmaxCrossEntropy(s.probs.Data, z.Data, z.Cols, t.class, t.shares, t.smoothing)
		}
		to.Data[0] = float32(value)
	})
}

// differentiate makes the logits and the loss inputs of the gradient, for the shape and for the
// order: the upstream gradient is usually the constant 1.
func (op *loss) differentiate(d *gradients, out, grad *G.Node) {
	d.add(0, op.backward("Back", op.back), op.inputs[0], out, grad)
}

func (op *loss) back(c *plan.Call) error {
	t := plan.In(c.Run, op.targets)
	s := plan.StateOf[lossRun](c.Run, op)
	z := c.Matrix(0)
	if z.Rows != len(t.class) {
		return c.Sizes("targets changed during the run")
	}
	upstream, to := c.Scalar(2), c.OutLike(z)
	return c.On(func() error {
		if op.binary {
			return c.Device.BCELoss(to.At, 0, s.probs.At, s.multi, s.share, upstream.At, z.Rows, z.Cols)
		}
		return c.Device.SoftmaxGradient(to.At, s.probs.At, s.class, s.share, upstream.At, t.smoothing, z.Rows, z.Cols)
	}, func() {
		if op.binary {
			kernel.BCEWithLogitsGradient(to.Data, s.probs.Data, t.multi, z.Cols, t.shares, upstream.Data[0])
		} else {
			kernel.SoftmaxCrossEntropyGradient(to.Data, s.probs.Data, t.class, t.shares, upstream.Data[0], z.Cols, t.smoothing)
		}
	})
}
