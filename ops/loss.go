package ops

import (
	"fmt"

	"github.com/chewxy/hm"
	"github.com/gcn-layerwise/gcn/internal/kernel"
	G "gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// Loss returns CrossEntropy for labels that are classes, and BCEWithLogits for
// binary tasks.
func Loss(logits *G.Node, targets *Targets) (*G.Node, error) {
	if targets != nil && targets.labels != nil && targets.labels.Tasks > 0 {
		return BCEWithLogits(logits, targets)
	}
	return CrossEntropy(logits, targets)
}

// CrossEntropy returns the scalar −Σᵢ wᵢ·log softmax(logitsᵢ)[classᵢ] over the
// labelled rows of a float32 matrix of shape (nodes, classes). The weights are
// the targets', or 1/(number of labelled rows) where they have none. A batch
// without a labelled row has loss 0. Row maxima are subtracted first, so
// logits of any size are safe.
func CrossEntropy(logits *G.Node, targets *Targets) (*G.Node, error) {
	return newLoss("CrossEntropy", logits, targets, false)
}

// BCEWithLogits returns the binary cross-entropy of independent tasks: the
// scalar mean over the labelled entries of a float32 matrix of logits, shape
// (nodes, tasks). With weights it is Σᵢ wᵢ·(mean over the labelled tasks of
// row i). A batch without a label has loss 0.
func BCEWithLogits(logits *G.Node, targets *Targets) (*G.Node, error) {
	return newLoss("BCEWithLogits", logits, targets, true)
}

func newLoss(name string, logits *G.Node, targets *Targets, binary bool) (*G.Node, error) {
	if err := checkMatrix(name, logits); err != nil {
		return nil, err
	}
	if targets == nil || targets.labels == nil {
		return nil, fmt.Errorf("ops: %s needs targets with labels", name)
	}
	y := targets.labels
	if (y.Tasks > 0) != binary {
		return nil, fmt.Errorf("ops: %s: labels are of %d classes and %d binary tasks", name, y.Classes, y.Tasks)
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

	// probs (the logits themselves for binary tasks) is what the gradient
	// needs of the last run; its own copy, since a plain node may overwrite
	// the logits in place.
	probs      []float32
	rows, cols int
}

func (op *loss) Type() hm.Type { return hm.NewFnType(matrixType(), scalarType()) }

func (op *loss) InferShape(...G.DimSizer) (tensor.Shape, error) { return tensor.ScalarShape(), nil }

func (op *loss) Do(in ...G.Value) (G.Value, error) {
	z, err := matrixOf(op.name, in[0])
	if err != nil {
		return nil, err
	}
	t := op.targets
	if t.rows == 0 || z.rows != t.rows || z.cols != t.labels.Outputs() {
		return nil, fmt.Errorf("ops: %s: logits are %d×%d, targets %d×%d: %w", op.name, z.rows, z.cols, t.rows, t.labels.Outputs(), ErrShape)
	}
	op.rows, op.cols = z.rows, z.cols
	op.probs = scratch(op.probs, len(z.data))
	var value float64
	if op.binary {
		copy(op.probs, z.data)
		value = kernel.BCEWithLogits(z.data, t.multi, z.cols, t.weights)
	} else {
		value = kernel.SoftmaxCrossEntropy(op.probs, z.data, z.cols, t.class, t.weights)
	}
	return G.NewF32(float32(value)), nil
}

func (op *loss) DiffWRT(int) []bool { return []bool{op.wanted} }

// SymDiff takes the logits and the loss as inputs for the shape and the order:
// the upstream gradient is usually the constant 1.
func (op *loss) SymDiff(in G.Nodes, out, grad *G.Node) (G.Nodes, error) {
	back := &lossBack{base: newBase(out.Graph(), op.name+"Back", 3), forward: op}
	dz, err := apply(back, in[0], out, grad)
	return G.Nodes{dz}, err
}

type lossBack struct {
	base
	forward *loss
	out     output
}

func (op *lossBack) Type() hm.Type {
	return hm.NewFnType(matrixType(), scalarType(), scalarType(), matrixType())
}

func (op *lossBack) InferShape(in ...G.DimSizer) (tensor.Shape, error) { return sameShape(in, 0) }

func (op *lossBack) Do(in ...G.Value) (G.Value, error) {
	f := op.forward
	upstream, err := scalarOf(f.name, in[2])
	if err != nil {
		return nil, err
	}
	t := f.targets
	if f.rows != t.rows || len(f.probs) != f.rows*f.cols {
		return nil, fmt.Errorf("ops: %s: targets changed during the run: %w", f.name, ErrShape)
	}
	value, data := op.out.matrix(f.rows, f.cols)
	if f.binary {
		kernel.BCEWithLogitsGradient(data, f.probs, t.multi, f.cols, t.weights, upstream)
	} else {
		kernel.SoftmaxCrossEntropyGradient(data, f.probs, t.class, t.weights, upstream, f.cols)
	}
	return value, nil
}
