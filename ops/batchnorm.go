package ops

import (
	"fmt"

	"github.com/gcn-layerwise/gcn/internal/device"
	"github.com/gcn-layerwise/gcn/internal/kernel"
	"github.com/gcn-layerwise/gcn/internal/plan"
	G "gorgonia.org/gorgonia"
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
	op := &batchNorm{base: base{name: "BatchNorm"}, mode: mode}
	for _, v := range []*G.Node{gain, shift, mean, variance} {
		if err := checkVector("BatchNorm", v, x.Shape()[1]); err != nil {
			return nil, err
		}
	}
	return apply(op, x.Shape(), x, gain, shift, mean, variance)
}

type batchNorm struct {
	base
	mode *Mode
}

// batchNormRun is the state of a BatchNorm in a run.
type batchNormRun struct {
	normRun
	ofBatch                 bool // the moments are of the rows
	mean, variance, inverse []float64

	placed struct { // the same on a device
		memory, momentMemory, sumMemory *device.Buffer
		moments, sums                   device.Pointer
	}
}

func (op *batchNorm) of(r *plan.Run) *batchNormRun {
	return plan.StateOf(r, op, func(s *batchNormRun) { s.keeps = keepsNormalized(r.Plan, op.node) })
}

func (op *batchNorm) normOf(r *plan.Run) *normRun { return &op.of(r).normRun }

// begin returns the state of r for x of the given sizes.
func (op *batchNorm) begin(r *plan.Run, rows, width int) *batchNormRun {
	s := op.of(r)
	s.rows, s.width, s.ofBatch = rows, width, plan.In(r, op.mode).Training && rows > 0
	return s
}

func (op *batchNorm) Compute(r *plan.Run, out *plan.Buffer, in ...G.Value) (G.Value, error) {
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
	s := op.begin(r, x.rows, x.cols)
	if s.keeps {
		s.normalized = scratch(s.normalized, len(x.data))
	}
	s.mean, s.variance, s.inverse = scratch(s.mean, x.cols), scratch(s.variance, x.cols), scratch(s.inverse, x.cols)
	if s.ofBatch {
		kernel.BatchMoments(s.mean, s.variance, x.data, x.rows, x.cols)
	} else {
		for j := range x.cols {
			s.mean[j], s.variance[j] = float64(vectors[2][j]), float64(vectors[3][j])
		}
	}
	kernel.BatchNorm(data, s.normalized, s.inverse, s.mean, s.variance, x.data, vectors[0], vectors[1], x.rows, x.cols)
	return value, nil
}

func (op *batchNorm) gradient(r *plan.Run, dx, grad, gain []float32) {
	s := op.of(r)
	if s.ofBatch {
		kernel.BatchNormGradient(dx, grad, s.normalized, s.inverse, gain, s.rows, s.width)
		return
	}
	for k, g := range grad {
		j := k % s.width
		dx[k] = float32(float64(gain[j]) * s.inverse[j] * float64(g))
	}
}

// bessel returns Bessel's correction of the variance.
func (s *batchNormRun) bessel() float64 {
	if s.ofBatch && s.rows > 1 {
		return float64(s.rows) / float64(s.rows-1)
	}
	return 1
}

func (op *batchNorm) Place(p *plan.Placement) (plan.Kernel, error) {
	placed := &op.of(p.Run).placed
	placed.memory, placed.momentMemory, placed.sumMemory = p.Buffer(), p.Buffer(), p.Buffer()
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
		if placed.moments, err = placed.momentMemory.Bytes(3 * 8 * int64(width)); err != nil {
			return nil, err
		}
		s := op.begin(p.Run, rows, width)
		if s.keeps {
			if s.placedNormalized, err = placed.memory.Floats(rows * width); err != nil {
				return nil, err
			}
		}
		placed.sums = 0
		from := device.Pointer(0)
		if s.ofBatch {
			from = x
			if placed.sums, err = placed.sumMemory.Bytes(2 * 8 * int64(width)); err != nil {
				return nil, err
			}
		}
		if err := p.Device().BatchMoments(placed.moments, from, vectors[2], vectors[3], rows, width); err != nil {
			return nil, err
		}
		return a, p.Device().BatchNorm(to, s.placedNormalized, placed.moments, x, vectors[0], vectors[1], rows, width)
	}, nil
}

func (op *batchNorm) placedGradient(p *plan.Placement, dx, grad, gain device.Pointer) error {
	s := op.of(p.Run)
	return p.Device().BatchNormGradient(dx, grad, s.placedNormalized, s.placed.moments, s.placed.sums, gain, s.rows, s.width)
}

func (op *batchNorm) SymDiff(in G.Nodes, out, grad *G.Node) (G.Nodes, error) {
	d := normGradients(&op.base, op, in, out, grad)
	for k := 3; k < 5; k++ {
		d.add(k, &batchMoment{base: base{name: "BatchMoment"}, forward: op, variance: k == 4}, out, grad)
	}
	return d.nodes, d.err
}

// batchMoment is a moment of the last run, in the place of a gradient.
type batchMoment struct {
	base
	forward  *batchNorm
	variance bool
}

func (op *batchMoment) Compute(r *plan.Run, out *plan.Buffer, _ ...G.Value) (G.Value, error) {
	s := op.forward.of(r)
	from, factor, _ := op.of(s)
	value, data := out.Vector(s.width)
	for j, v := range from {
		data[j] = float32(factor * v)
	}
	return value, nil
}

// of returns the moment of s on the CPU, its factor for an average, and its row on a device.
func (op *batchMoment) of(s *batchNormRun) (from []float64, factor float64, row int) {
	if op.variance {
		return s.variance, s.bessel(), 1
	}
	return s.mean, 1, 0
}

func (op *batchMoment) Place(p *plan.Placement) (plan.Kernel, error) {
	s := op.forward.of(p.Run)
	return func(_ []*plan.Array, out *plan.Result) (*plan.Array, error) {
		a, to, err := out.Vector(s.width)
		if err != nil {
			return nil, err
		}
		_, factor, row := op.of(s)
		return a, p.Device().BatchMoment(to, s.placed.moments, factor, row, s.width)
	}, nil
}
