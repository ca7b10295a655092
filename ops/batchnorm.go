package ops

import (
	"fmt"

	"github.com/chewxy/hm"
	"github.com/gcn-layerwise/gcn/internal/device"
	"github.com/gcn-layerwise/gcn/internal/kernel"
	"github.com/gcn-layerwise/gcn/internal/plan"
	G "gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// BatchNorm normalises each column of a float32 matrix of shape (n, width) to mean 0 and
// variance 1, then maps column j to gain[j]·x + shift[j] (Ioffe & Szegedy 2015,
// arXiv:1502.03167). gain, shift, mean and variance are vectors of length width. As in
// PyTorch, 1e-5 is added to the variance.
//
// If mode is training, the moments are of x itself: of the rows of the mini-batch, each with
// the same weight. Otherwise they are mean and variance, which are running averages. Training
// sets these: the gradients that this op returns for them are no derivatives, but the moments
// of x, with Bessel's correction, for an average (layers.Model.Averages).
func BatchNorm(x, gain, shift, mean, variance *G.Node, mode *Mode) (*G.Node, error) {
	if err := checkNodes("BatchNorm", x, gain, shift, mean, variance); err != nil {
		return nil, err
	}
	if err := checkMatrix("BatchNorm", x); err != nil {
		return nil, err
	}
	if mode == nil {
		return nil, fmt.Errorf("ops: BatchNorm needs a Mode")
	}
	op := &batchNorm{base: newBase(x.Graph(), "BatchNorm", 5), mode: mode}
	for _, v := range []*G.Node{gain, shift, mean, variance} {
		if err := checkVector("BatchNorm", v, x.Shape()[1]); err != nil {
			return nil, err
		}
	}
	for _, n := range []*G.Node{x, gain, shift, mean, variance} {
		op.wanted = append(op.wanted, variable(n))
	}
	return apply(op, x, gain, shift, mean, variance)
}

type batchNorm struct {
	base
	mode   *Mode
	wanted []bool

	// Of the last run: the normalised rows, the moments, and 1/deviation.
	normalized              []float32
	mean, variance, inverse []float64
	ofBatch                 bool // the moments are of the rows
	rows, width             int
}

func (op *batchNorm) Type() hm.Type {
	return hm.NewFnType(matrixType(), vectorType(), vectorType(), vectorType(), vectorType(), matrixType())
}

func (op *batchNorm) InferShape(in ...G.DimSizer) (tensor.Shape, error) { return sameShape(in, 0) }

func (op *batchNorm) Do(in ...G.Value) (G.Value, error) { return op.Compute(&op.own, false, in...) }

func (op *batchNorm) Memory() plan.Memory { return plan.Memory{Result: plan.InBuffer} }

func (op *batchNorm) Compute(out *plan.Buffer, _ bool, in ...G.Value) (G.Value, error) {
	x, err := matrixOf(op.name, in[0])
	if err != nil {
		return nil, err
	}
	var vectors [4][]float32
	for k := range vectors {
		if vectors[k], err = vectorOf(op.name, in[k+1], x.cols); err != nil {
			return nil, err
		}
	}
	value, data := out.Matrix(x.rows, x.cols)
	op.compute(data, x.data, x.rows, x.cols, vectors)
	return value, nil
}

// compute sets y to the norm of x on the CPU. vectors are gain, shift, mean and variance.
func (op *batchNorm) compute(y, x []float32, rows, width int, vectors [4][]float32) {
	op.rows, op.width = rows, width
	op.normalized = scratch(op.normalized, rows*width)
	op.mean, op.variance, op.inverse = scratch(op.mean, width), scratch(op.variance, width), scratch(op.inverse, width)
	if op.ofBatch = op.mode.Training && rows > 0; op.ofBatch {
		kernel.BatchMoments(op.mean, op.variance, x, rows, width)
	} else {
		for j := range width {
			op.mean[j], op.variance[j] = float64(vectors[2][j]), float64(vectors[3][j])
		}
	}
	kernel.BatchNorm(y, op.normalized, op.inverse, op.mean, op.variance, x, vectors[0], vectors[1], rows, width)
}

func (op *batchNorm) gradient(dx, grad, gain []float32) {
	if op.ofBatch {
		kernel.BatchNormGradient(dx, grad, op.normalized, op.inverse, gain, op.rows, op.width)
		return
	}
	for k, g := range grad {
		j := k % op.width
		dx[k] = float32(float64(gain[j]) * op.inverse[j] * float64(g))
	}
}

// moment sets values to the mean of the last run, or to its variance for an average.
func (op *batchNorm) moment(values []float32, variance bool) {
	from, factor := op.mean, 1.0
	if variance {
		from, factor = op.variance, op.bessel()
	}
	for j, v := range from {
		values[j] = float32(factor * v)
	}
}

// bessel returns Bessel's correction of the last run's variance.
func (op *batchNorm) bessel() float64 {
	if op.ofBatch && op.rows > 1 {
		return float64(op.rows) / float64(op.rows-1)
	}
	return 1
}

func (op *batchNorm) lastRun() (normalized []float32, rows, width int) {
	return op.normalized, op.rows, op.width
}

// placedBatchNorm is the state that a BatchNorm on a device shares with its gradients.
type placedBatchNorm struct {
	gradientPlaced bool // it needs the normalised rows and memory for sums

	memory, momentMemory, sumMemory *device.Buffer
	normalized, moments, sums       device.Pointer
}

func (op *batchNorm) Place(p *plan.Placement, _ *G.Node) (plan.Kernel, error) {
	s, _ := plan.StateOf[placedBatchNorm](p, op)
	s.memory, s.momentMemory, s.sumMemory = p.Buffer(), p.Buffer(), p.Buffer()
	return func(in []*plan.Array, out *plan.Result) (*plan.Array, error) {
		rows, width, x, err := in[0].Matrix(op.name)
		if err != nil {
			return nil, err
		}
		var vectors [4]device.Pointer // gain, shift, mean, variance
		for k := range vectors {
			if vectors[k], err = in[k+1].Vector(op.name, width); err != nil {
				return nil, err
			}
		}
		a, to, err := out.Matrix(rows, width)
		if err != nil {
			return nil, err
		}
		if s.moments, err = s.momentMemory.Bytes(3 * 8 * int64(width)); err != nil {
			return nil, err
		}
		if s.gradientPlaced {
			if s.normalized, err = s.memory.Floats(rows * width); err != nil {
				return nil, err
			}
		}
		op.rows, op.width, op.ofBatch = rows, width, op.mode.Training && rows > 0
		s.sums = 0
		from := device.Pointer(0)
		if op.ofBatch {
			from = x
			if s.sums, err = s.sumMemory.Bytes(2 * 8 * int64(width)); err != nil {
				return nil, err
			}
		}
		if err := p.Device().BatchMoments(s.moments, from, vectors[2], vectors[3], rows, width); err != nil {
			return nil, err
		}
		return a, p.Device().BatchNorm(to, s.normalized, s.moments, x, vectors[0], vectors[1], rows, width)
	}, nil
}

func (op *batchNorm) placeGradient(p *plan.Placement) placedGradient {
	s, _ := plan.StateOf[placedBatchNorm](p, op)
	s.gradientPlaced = true
	return placedGradient{
		normalized: &s.normalized,
		gradient: func(to, grad, gain device.Pointer) error {
			return p.Device().BatchNormGradient(to, grad, s.normalized, s.moments, s.sums, gain, op.rows, op.width)
		},
	}
}

func (op *batchNorm) DiffWRT(int) []bool { return op.wanted }

func (op *batchNorm) SymDiff(in G.Nodes, out, grad *G.Node) (G.Nodes, error) {
	d, err := normGradients(op.name, op, op.wanted, in, out, grad)
	if err != nil {
		return nil, err
	}
	for k := 3; k < 5; k++ {
		if op.wanted[k] {
			moment := &batchMoment{base: newBase(grad.Graph(), "BatchMoment", 2), forward: op, variance: k == 4}
			if d[k], err = apply(moment, out, grad); err != nil {
				return nil, err
			}
		}
	}
	return d, nil
}

// batchMoment is a moment of the last run, in the place of a gradient.
type batchMoment struct {
	base
	forward  *batchNorm
	variance bool
}

func (op *batchMoment) Type() hm.Type {
	return hm.NewFnType(matrixType(), matrixType(), vectorType())
}

func (op *batchMoment) InferShape(in ...G.DimSizer) (tensor.Shape, error) {
	cols, err := nominal(in, 1, 1)
	return tensor.Shape{cols}, err
}

func (op *batchMoment) Do(in ...G.Value) (G.Value, error) { return op.Compute(&op.own, false, in...) }

func (op *batchMoment) Memory() plan.Memory { return plan.Memory{Result: plan.InBuffer} }

func (op *batchMoment) Compute(out *plan.Buffer, _ bool, in ...G.Value) (G.Value, error) {
	value, data := out.Vector(op.forward.width)
	op.forward.moment(data, op.variance)
	return value, nil
}

func (op *batchMoment) Place(p *plan.Placement, _ *G.Node) (plan.Kernel, error) {
	s, _ := plan.StateOf[placedBatchNorm](p, op.forward)
	return func(_ []*plan.Array, out *plan.Result) (*plan.Array, error) {
		a, to, err := out.Vector(op.forward.width)
		if err != nil {
			return nil, err
		}
		factor, row := 1.0, 0
		if op.variance {
			factor, row = op.forward.bessel(), 1
		}
		return a, p.Device().BatchMoment(to, s.moments, factor, row, op.forward.width)
	}, nil
}
