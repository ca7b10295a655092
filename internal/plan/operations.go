package plan

import G "gorgonia.org/gorgonia"

// Costs in multiply-adds of a dense product, estimated from profiles on synth:arxiv.
const (
	ActivationCost = 24 // one value of an activation with its dropout
	GatherCost     = 2  // copying one element of the features
	SparseCost     = 4  // one multiply-add of a product with a block, which waits for memory
)

// Work is the work for the rows of a level, in a pass over full neighbourhoods or a training step.
type Work struct {
	Rows     float64
	Entries  float64 // of the block, or of the rows of P, that the level reads
	Sparse   float64 // cost of their product with one column
	Training bool    // gradients count too, and P·X is not kept
}

// Passes returns how often an op of the given inputs computes: its result, and in training the
// gradients of the inputs that get one.
func (w Work) Passes(gradients ...bool) float64 {
	n := 1.0
	for _, wanted := range gradients {
		if wanted && w.Training {
			n++
		}
	}
	return n
}

// counted is an op that counts its operations. Others of this project take little time.
type counted interface{ Operations(w Work) float64 }

// Operations returns about the number of operations for the rows of l, in multiply-adds of a dense
// product; other operations count as the multiply-adds that take as long.
func (l *Level) Operations(w Work) (sum float64) {
	if l.Plan == nil {
		return 0
	}
	for _, d := range l.Data {
		switch cols := float64(d.X.Cols); {
		case !w.Training: // few rows change from call to call: see package full
		case d.Propagated:
			sum += w.Sparse * cols
		default:
			sum += GatherCost * w.Rows * cols
		}
	}
	for _, s := range l.steps {
		if !s.constant {
			sum += operations(s.node, w)
		}
	}
	if w.Training {
		for _, n := range l.training {
			sum += operations(n, w)
		}
	}
	return sum
}

func operations(n *G.Node, w Work) float64 {
	if op, ok := n.Op().(counted); ok {
		return op.Operations(w)
	}
	if _, ours := n.Op().(Op); ours || n.Dims() != 2 {
		return 0
	}
	values := w.Rows * float64(n.Shape()[1])
	if opType(n) == "gorgonia.linAlgBinOp" {
		return w.Passes(true, true) * values * float64(Children(n)[0].Shape()[1])
	}
	return w.Passes(true) * ActivationCost * values
}
