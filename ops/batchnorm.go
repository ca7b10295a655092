package ops

import (
	"cmp"
	"fmt"

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
	norm
	mode *Mode
}

// batchRun is the state of a BatchNorm in a run, beside normRun.
type batchRun struct {
	ofBatch                 bool      // the moments are of the rows
	mean, variance, inverse []float64 // on the CPU

	// On a device: mean, variance and inverse, and the sums of the gradient, as float64.
	moments, sums plan.Scratch
}

func (op *batchNorm) moments(c *plan.Call) *batchRun { return plan.StateOf[batchRun](c.Run, op) }

func (op *batchNorm) Compute(c *plan.Call) error {
	s, x, to, gain, shift := op.begin(c)
	m := op.moments(c)
	mean := c.Vector(3, x.Cols)
	variance := c.Vector(4, x.Cols)
	m.ofBatch = plan.In(c.Run, op.mode).Training && x.Rows > 0
	if c.Device != nil {
		c.Scratch(&m.moments, 6*x.Cols)
		if m.sums.At = 0; m.ofBatch {
			c.Scratch(&m.sums, 4*x.Cols)
		}
	}
	return c.On(func() error {
		from := x.At
		if !m.ofBatch {
			from = 0
		}
		return cmp.Or(
			c.Device.BatchMoments(m.moments.At, from, mean.At, variance.At, x.Rows, x.Cols),
			c.Device.BatchNorm(to.At, s.normalized.At, m.moments.At, x.At, gain.At, shift.At, x.Rows, x.Cols),
		)
	}, func() {
		m.mean = scratch(m.mean, x.Cols)
		m.variance = scratch(m.variance, x.Cols)
		m.inverse = scratch(m.inverse, x.Cols)
		if m.ofBatch {
			kernel.BatchMoments(m.mean, m.variance, x.Data, x.Rows, x.Cols)
		} else {
			for j := range x.Cols {
				m.mean[j] = float64(mean.Data[j])
				m.variance[j] = float64(variance.Data[j])
			}
		}
		kernel.BatchNorm(to.Data, s.normalized.Data, m.inverse, m.mean, m.variance, x.Data, gain.Data, shift.Data, x.Rows, x.Cols)
	})
}

func (op *batchNorm) backX(c *plan.Call, s *normRun, dx, grad plan.Matrix, gain plan.Floats) error {
	m := op.moments(c)
	return c.On(func() error {
		return c.Device.BatchNormGradient(dx.At, grad.At, s.normalized.At, m.moments.At, m.sums.At, gain.At, grad.Rows, grad.Cols)
	}, func() {
		if m.ofBatch {
			kernel.BatchNormGradient(dx.Data, grad.Data, s.normalized.Data, m.inverse, gain.Data, grad.Rows, grad.Cols)
			return
		}
		for k, g := range grad.Data {
			j := k % grad.Cols
			dx.Data[k] = float32(float64(gain.Data[j]) * m.inverse[j] * float64(g))
		}
	})
}

// differentiate makes moments of the last run in the place of two gradients.
func (op *batchNorm) differentiate(d *gradients, out, grad *G.Node) {
	op.differentiateBy(op.backX, d, out, grad)
	d.add(3, op.backward("Mean", func(c *plan.Call) error {
		return op.moment(c, 0, op.moments(c).mean, 1)
	}), out, grad)
	d.add(4, op.backward("Variance", func(c *plan.Call) error {
		m, correction := op.moments(c), 1.0 // Bessel's
		if n := float64(c.Matrix(0).Rows); m.ofBatch && n > 1 {
			correction = n / (n - 1)
		}
		return op.moment(c, 1, m.variance, correction)
	}), out, grad)
}

// moment is factor times a moment: values on the CPU, a row of the moments on a device.
func (op *batchNorm) moment(c *plan.Call, row int, values []float64, factor float64) error {
	m, width := op.moments(c), c.Matrix(0).Cols
	to := c.OutVector(width)
	return c.On(func() error {
		return c.Device.BatchMoment(to.At, m.moments.At, factor, row, width)
	}, func() {
		for j, v := range values {
			to.Data[j] = float32(factor * v)
		}
	})
}
