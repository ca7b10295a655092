package ops

import (
	"cmp"
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
	if mode == nil {
		return nil, fmt.Errorf("ops: BatchNorm needs a Mode")
	}
	return newNorm("BatchNorm", &batchNorm{mode: mode}, x, gain, shift, mean, variance)
}

type batchNorm struct {
	base
	mode *Mode
}

// batchNormRun is the state of a BatchNorm in a run.
type batchNormRun struct {
	normRun
	ofBatch                 bool      // the moments are of the rows
	mean, variance, inverse []float64 // on the CPU

	// On a device: mean, variance and inverse, and the sums of the gradient, as float64.
	moments, sums           plan.Floats
	momentMemory, sumMemory plan.Scratch
}

func (op *batchNorm) of(r *plan.Run) *batchNormRun {
	return plan.StateOf(r, op, func(s *batchNormRun) { s.keeps = keepsNormalized(r.Plan, op.node) })
}

func (op *batchNorm) normOf(r *plan.Run) *normRun { return &op.of(r).normRun }

func (op *batchNorm) Compute(c *plan.Call) error {
	x, s := c.Matrix(0), op.of(c.Run)
	gain, shift := c.Vector(1, x.Cols), c.Vector(2, x.Cols)
	mean, variance := c.Vector(3, x.Cols), c.Vector(4, x.Cols)
	s.begin(c, x)
	s.ofBatch = plan.In(c.Run, op.mode).Training && x.Rows > 0
	to := c.OutMatrix(x.Rows, x.Cols)
	if c.Device != nil {
		s.moments, s.sums = c.Scratch(&s.momentMemory, 6*x.Cols), plan.Floats{}
		if s.ofBatch {
			s.sums = c.Scratch(&s.sumMemory, 4*x.Cols)
		}
	}
	return c.On(func(d *device.Device) error {
		from := x.At
		if !s.ofBatch {
			from = 0
		}
		return cmp.Or(
			d.BatchMoments(s.moments.At, from, mean.At, variance.At, x.Rows, x.Cols),
			d.BatchNorm(to.At, s.normalized.At, s.moments.At, x.At, gain.At, shift.At, x.Rows, x.Cols),
		)
	}, func() {
		s.mean, s.variance, s.inverse = scratch(s.mean, x.Cols), scratch(s.variance, x.Cols), scratch(s.inverse, x.Cols)
		if s.ofBatch {
			kernel.BatchMoments(s.mean, s.variance, x.Data, x.Rows, x.Cols)
		} else {
			for j := range x.Cols {
				s.mean[j], s.variance[j] = float64(mean.Data[j]), float64(variance.Data[j])
			}
		}
		kernel.BatchNorm(to.Data, s.normalized.Data, s.inverse, s.mean, s.variance, x.Data, gain.Data, shift.Data, x.Rows, x.Cols)
	})
}

func (op *batchNorm) gradient(c *plan.Call, dx, grad, gain plan.Floats) error {
	s := op.of(c.Run)
	return c.On(func(d *device.Device) error {
		return d.BatchNormGradient(dx.At, grad.At, s.normalized.At, s.moments.At, s.sums.At, gain.At, s.rows, s.width)
	}, func() {
		if s.ofBatch {
			kernel.BatchNormGradient(dx.Data, grad.Data, s.normalized.Data, s.inverse, gain.Data, s.rows, s.width)
			return
		}
		for k, g := range grad.Data {
			j := k % s.width
			dx.Data[k] = float32(float64(gain.Data[j]) * s.inverse[j] * float64(g))
		}
	})
}

// bessel returns Bessel's correction of the variance.
func (s *batchNormRun) bessel() float64 {
	if s.ofBatch && s.rows > 1 {
		return float64(s.rows) / float64(s.rows-1)
	}
	return 1
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

func (op *batchMoment) Compute(c *plan.Call) error {
	s := op.forward.of(c.Run)
	from, factor, row := s.mean, 1.0, 0
	if op.variance {
		from, factor, row = s.variance, s.bessel(), 1
	}
	to := c.OutVector(s.width)
	return c.On(func(d *device.Device) error {
		return d.BatchMoment(to.At, s.moments.At, factor, row, s.width)
	}, func() {
		for j, v := range from {
			to.Data[j] = float32(factor * v)
		}
	})
}
