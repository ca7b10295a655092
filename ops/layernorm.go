package ops

import (
	"github.com/gcn-layerwise/gcn/internal/kernel"
	"github.com/gcn-layerwise/gcn/internal/plan"
	G "gorgonia.org/gorgonia"
)

// LayerNorm normalises each row of a float32 matrix of shape (n, width) to mean 0 and
// variance 1, then maps column j to gain[j]·x + shift[j] (Ba, Kiros & Hinton 2016,
// arXiv:1607.06450). gain and shift are vectors of length width. As in PyTorch, 1e-5 is
// added to the variance.
func LayerNorm(x, gain, shift *G.Node) (*G.Node, error) {
	return newNorm("LayerNorm", &layerNorm{}, x, gain, shift)
}

type layerNorm struct{ norm }

func (op *layerNorm) Compute(c *plan.Call) error {
	s, x, to, gain, shift := op.begin(c)
	c.Scratch(&s.inverse, x.Rows)
	return c.On(func() error {
		return c.Device.LayerNorm(to.At, s.normalized.At, s.inverse.At, x.At, gain.At, shift.At, x.Rows, x.Cols)
	}, func() {
		kernel.LayerNorm(to.Data, s.normalized.Data, s.inverse.Data, x.Data, gain.Data, shift.Data, x.Rows, x.Cols)
	})
}

func (op *layerNorm) backX(c *plan.Call, s *normRun, dx, grad plan.Matrix, gain plan.Floats) error {
	return c.On(func() error {
		return c.Device.LayerNormGradient(dx.At, grad.At, s.normalized.At, s.inverse.At, gain.At, grad.Rows, grad.Cols)
	}, func() {
		kernel.LayerNormGradient(dx.Data, grad.Data, s.normalized.Data, s.inverse.Data, gain.Data, grad.Rows, grad.Cols)
	})
}

func (op *layerNorm) differentiate(d *gradients, out, grad *G.Node) {
	op.differentiateBy(op.backX, d, out, grad)
}
