package ops

import (
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
	return apply(&loss{base: base{name: name}, targets: targets, binary: binary}, tensor.ScalarShape(), logits)
}

type loss struct {
	base
	targets *Targets
	binary  bool
}

// lossRun is the state of a loss in a run.
type lossRun struct {
	rows, cols int

	// probs is the softmax, for the gradient; for binary tasks a copy of the logits,
	// since a plain node may overwrite them in place.
	probs []float32

	placed struct { // on a device
		rowMemory, memory *device.Buffer
		probs             device.Pointer // for binary tasks the logits themselves
		gradient          device.Pointer // if fused
	}
}

func (op *loss) of(r *plan.Run) *lossRun { return plan.StateOf[lossRun](r, op, nil) }

func (op *loss) Memory(*plan.Plan) plan.Memory { return plan.Memory{Result: plan.Elsewhere} }

func (op *loss) Compute(r *plan.Run, _ *plan.Buffer, in ...G.Value) (G.Value, error) {
	z, err := matrixOf(op.name, in[0])
	if err != nil {
		return nil, err
	}
	t, s := plan.In(r, op.targets), op.of(r)
	if t.rows == 0 || z.rows != t.rows || z.cols != t.labels.Outputs() {
		return nil, fmt.Errorf("ops: %s: logits are %d×%d, targets %d×%d: %w", op.name, z.rows, z.cols, t.rows, t.labels.Outputs(), ErrShape)
	}
	s.rows, s.cols = z.rows, z.cols
	if t.score != NoScore {
		t.observe(z.data, z.cols)
	}
	s.probs = scratch(s.probs, len(z.data))
	var value float64
	if op.binary {
		copy(s.probs, z.data)
		value = kernel.BCEWithLogits(z.data, t.multi, z.cols, t.weights)
	} else {
		value = kernel.SoftmaxCrossEntropy(s.probs, z.data, z.cols, t.class, t.weights, t.smoothing)
	}
	return G.NewF32(float32(value)), nil
}

func (op *loss) Place(p *plan.Placement) (plan.Kernel, error) {
	s := op.of(p.Run)
	state := &s.placed
	state.rowMemory, state.memory = p.Buffer(), p.Buffer()
	t, d := targetsOf(p, op.targets), p.Device()
	wanted, fused := false, false
	for _, reader := range p.Readers(op.node) {
		if back, ok := reader.Op().(*lossBack); ok {
			wanted, fused = true, fused || back.fused()
		}
	}
	return func(in []*plan.Array, out *plan.Result) (*plan.Array, error) {
		rows, cols, z, err := in[0].Matrix(op.name)
		if err != nil {
			return nil, err
		}
		targets := plan.In(p.Run, op.targets)
		if rows != targets.rows || cols != targets.labels.Outputs() {
			return nil, fmt.Errorf("ops: %s: logits are %d×%d, targets %d×%d: %w", op.name, rows, cols, targets.rows, targets.labels.Outputs(), ErrShape)
		}
		s.rows, s.cols = rows, cols
		if targets.score != NoScore {
			if err := targets.observePlaced(d, z, cols); err != nil {
				return nil, err
			}
		}
		rowLoss, err := state.rowMemory.Bytes(8 * int64(rows))
		if err != nil {
			return nil, err
		}
		switch {
		case fused:
			state.gradient, err = state.memory.Floats(rows * cols)
		case wanted && op.binary:
			state.probs = z
		case wanted:
			state.probs, err = state.memory.Floats(rows * cols)
		}
		if err != nil {
			return nil, err
		}
		if op.binary {
			err = d.BCELoss(state.gradient, rowLoss, z, t.multi, t.weight, 0, rows, cols)
		} else {
			err = d.SoftmaxLoss(state.probs, state.gradient, rowLoss, z, t.class, t.weight, targets.smoothing, rows, cols)
		}
		if err != nil {
			return nil, err
		}
		a, to, err := out.Scalar()
		if err != nil {
			return nil, err
		}
		return a, d.Total(to, rowLoss, rows)
	}, nil
}

// SymDiff makes the logits and the loss inputs of the gradient, for the shape and for the
// order: the upstream gradient is usually the constant 1.
func (op *loss) SymDiff(in G.Nodes, out, grad *G.Node) (G.Nodes, error) {
	d := op.gradients()
	d.add(0, &lossBack{base: base{name: op.name + "Back"}, forward: op}, in[0], out, grad)
	return d.nodes, d.err
}

type lossBack struct {
	base
	forward *loss
}

func (op *lossBack) Compute(r *plan.Run, out *plan.Buffer, in ...G.Value) (G.Value, error) {
	f, s := op.forward, op.forward.of(r)
	upstream, err := scalarOf(f.name, in[2])
	if err != nil {
		return nil, err
	}
	t := plan.In(r, f.targets)
	if s.rows != t.rows || len(s.probs) != s.rows*s.cols {
		return nil, fmt.Errorf("ops: %s: targets changed during the run: %w", f.name, ErrShape)
	}
	value, data := out.Matrix(s.rows, s.cols)
	if f.binary {
		kernel.BCEWithLogitsGradient(data, s.probs, t.multi, s.cols, t.weights, upstream)
	} else {
		kernel.SoftmaxCrossEntropyGradient(data, s.probs, t.class, t.weights, upstream, s.cols, t.smoothing)
	}
	return value, nil
}

// fused reports whether, on a device, the loss's kernel computes the gradient: the upstream
// gradient is 1.
func (op *lossBack) fused() bool { return isOne(op.inputs[2]) }

func (op *lossBack) Place(p *plan.Placement) (plan.Kernel, error) {
	s := op.forward.of(p.Run)
	if op.fused() {
		return func(_ []*plan.Array, out *plan.Result) (*plan.Array, error) {
			return out.At(s.placed.gradient, s.rows, s.cols), nil
		}, nil
	}
	t, d := targetsOf(p, op.forward.targets), p.Device()
	return func(in []*plan.Array, out *plan.Result) (*plan.Array, error) {
		upstream, err := in[2].Scalar(op.name)
		if err != nil {
			return nil, err
		}
		a, to, err := out.Matrix(s.rows, s.cols)
		if err != nil {
			return nil, err
		}
		if op.forward.binary {
			return a, d.BCELoss(to, 0, s.placed.probs, t.multi, t.weight, upstream, s.rows, s.cols)
		}
		return a, d.SoftmaxGradient(to, s.placed.probs, t.class, t.weight, upstream, plan.In(p.Run, op.forward.targets).smoothing, s.rows, s.cols)
	}, nil
}

// isOne reports whether n is the constant 1, the gradient of a loss with respect to
// itself.
func isOne(n *G.Node) bool {
	if n.Op() == nil || len(plan.Children(n)) > 0 || n.Value() == nil {
		return false
	}
	one, ok := n.Value().(*G.F32)
	return ok && *one == 1
}
