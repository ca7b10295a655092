package ops

import (
	"errors"
	"fmt"

	"github.com/chewxy/hm"
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
	return apply(&loss{base: newBase(logits.Graph(), name, 1), targets: targets, binary: binary, wanted: variable(logits)}, logits)
}

type loss struct {
	base
	targets *Targets
	binary  bool
	wanted  bool

	// probs is the softmax of the last run, for the gradient; for binary tasks a
	// copy of the logits, since a plain node may overwrite them in place.
	probs      []float32
	rows, cols int
}

func (op *loss) Type() hm.Type { return hm.NewFnType(matrixType(), scalarType()) }

func (op *loss) InferShape(...G.DimSizer) (tensor.Shape, error) { return tensor.ScalarShape(), nil }

func (op *loss) Do(in ...G.Value) (G.Value, error) { return op.Compute(nil, false, in...) }

func (op *loss) Memory() plan.Memory { return plan.Memory{Result: plan.Elsewhere} }

func (op *loss) Compute(_ *plan.Buffer, _ bool, in ...G.Value) (G.Value, error) {
	z, err := matrixOf(op.name, in[0])
	if err != nil {
		return nil, err
	}
	t := op.targets
	if t.rows == 0 || z.rows != t.rows || z.cols != t.labels.Outputs() {
		return nil, fmt.Errorf("ops: %s: logits are %d×%d, targets %d×%d: %w", op.name, z.rows, z.cols, t.rows, t.labels.Outputs(), ErrShape)
	}
	op.rows, op.cols = z.rows, z.cols
	if t.score != NoScore {
		t.observe(z.data, z.cols)
	}
	op.probs = scratch(op.probs, len(z.data))
	var value float64
	if op.binary {
		copy(op.probs, z.data)
		value = kernel.BCEWithLogits(z.data, t.multi, z.cols, t.weights)
	} else {
		value = kernel.SoftmaxCrossEntropy(op.probs, z.data, z.cols, t.class, t.weights, t.smoothing)
	}
	return G.NewF32(float32(value)), nil
}

// placedLoss is the state that a loss shares with its gradient.
type placedLoss struct {
	gradientPlaced bool
	fused          bool // the upstream gradient is 1, so the loss's kernel computes the gradient

	rowMemory, memory *device.Buffer
	probs             device.Pointer // softmax; for binary tasks the logits
	gradient          device.Pointer // if fused
	rows, cols        int
}

func (op *loss) Place(p *plan.Placement, _ *G.Node) (plan.Kernel, error) {
	s, _ := plan.StateOf[placedLoss](p, op)
	s.rowMemory, s.memory = p.Buffer(), p.Buffer()
	t, d := targetsOf(p, op.targets), p.Device()
	return func(in []*plan.Array, out *plan.Result) (*plan.Array, error) {
		rows, cols, z, err := in[0].Matrix(op.name)
		if err != nil {
			return nil, err
		}
		if rows != op.targets.rows || cols != op.targets.labels.Outputs() {
			return nil, fmt.Errorf("ops: %s: logits are %d×%d, targets %d×%d: %w", op.name, rows, cols, op.targets.rows, op.targets.labels.Outputs(), ErrShape)
		}
		s.rows, s.cols = rows, cols
		if op.targets.score != NoScore {
			if err := op.targets.observePlaced(d, z, cols); err != nil {
				return nil, err
			}
		}
		rowLoss, err := s.rowMemory.Bytes(8 * int64(rows))
		if err != nil {
			return nil, err
		}
		s.probs, s.gradient = 0, 0
		switch {
		case s.fused:
			s.gradient, err = s.memory.Floats(rows * cols)
		case s.gradientPlaced && op.binary:
			s.probs = z
		case s.gradientPlaced:
			s.probs, err = s.memory.Floats(rows * cols)
		}
		if err != nil {
			return nil, err
		}
		if op.binary {
			err = d.BCELoss(s.gradient, rowLoss, z, t.multi, t.weight, 0, rows, cols)
		} else {
			err = d.SoftmaxLoss(s.probs, s.gradient, rowLoss, z, t.class, t.weight, op.targets.smoothing, rows, cols)
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

func (op *loss) DiffWRT(int) []bool { return []bool{op.wanted} }

// SymDiff makes the logits and the loss inputs of the gradient, for the shape and for the
// order: the upstream gradient is usually the constant 1.
func (op *loss) SymDiff(in G.Nodes, out, grad *G.Node) (G.Nodes, error) {
	back := &lossBack{base: newBase(out.Graph(), op.name+"Back", 3), forward: op}
	dz, err := apply(back, in[0], out, grad)
	return G.Nodes{dz}, err
}

type lossBack struct {
	base
	forward *loss
}

func (op *lossBack) Type() hm.Type {
	return hm.NewFnType(matrixType(), scalarType(), scalarType(), matrixType())
}

func (op *lossBack) InferShape(in ...G.DimSizer) (tensor.Shape, error) { return sameShape(in, 0) }

func (op *lossBack) Do(in ...G.Value) (G.Value, error) { return op.Compute(&op.own, false, in...) }

func (op *lossBack) Memory() plan.Memory { return plan.Memory{Result: plan.InBuffer} }

func (op *lossBack) Compute(out *plan.Buffer, _ bool, in ...G.Value) (G.Value, error) {
	f := op.forward
	upstream, err := scalarOf(f.name, in[2])
	if err != nil {
		return nil, err
	}
	t := f.targets
	if f.rows != t.rows || len(f.probs) != f.rows*f.cols {
		return nil, fmt.Errorf("ops: %s: targets changed during the run: %w", f.name, ErrShape)
	}
	value, data := out.Matrix(f.rows, f.cols)
	if f.binary {
		kernel.BCEWithLogitsGradient(data, f.probs, t.multi, f.cols, t.weights, upstream)
	} else {
		kernel.SoftmaxCrossEntropyGradient(data, f.probs, t.class, t.weights, upstream, f.cols, t.smoothing)
	}
	return value, nil
}

func (op *lossBack) Place(p *plan.Placement, n *G.Node) (plan.Kernel, error) {
	s, _ := plan.StateOf[placedLoss](p, op.forward)
	s.gradientPlaced = true
	if isOne(plan.Children(n)[2]) {
		s.fused = true
		return func(_ []*plan.Array, out *plan.Result) (*plan.Array, error) {
			return out.At(s.gradient, s.rows, s.cols), nil
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
			return a, d.BCELoss(to, 0, s.probs, t.multi, t.weight, upstream, s.rows, s.cols)
		}
		return a, d.SoftmaxGradient(to, s.probs, t.class, t.weight, upstream, op.forward.targets.smoothing, s.rows, s.cols)
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
