package ops

import (
	"fmt"
	"slices"

	"github.com/gcn-layerwise/gcn/internal/device"
	"github.com/gcn-layerwise/gcn/internal/kernel"
	"github.com/gcn-layerwise/gcn/internal/plan"
	G "gorgonia.org/gorgonia"
)

// Activation names an elementwise function.
type Activation uint8

const (
	ActivationNone = Activation(kernel.Identity) // x
	ActivationELU  = Activation(kernel.ELU)      // x where x > 0, eˣ−1 elsewhere (Clevert et al. 2016)
	ActivationReLU = Activation(kernel.ReLU)     // max(x, 0)
	ActivationGELU = Activation(kernel.GELU)     // x·Φ(x), Φ the law of a standard normal variable (Hendrycks & Gimpel 2016)
)

// Activations returns all activations but ActivationNone.
func Activations() []Activation { return []Activation{ActivationELU, ActivationReLU, ActivationGELU} }

func (a Activation) String() string {
	names := [...]string{"none", "elu", "relu", "gelu"}
	if int(a) < len(names) {
		return names[a]
	}
	return fmt.Sprintf("Activation(%d)", uint8(a))
}

// ELU returns x if x > 0 and eˣ−1 otherwise, element by element, for a float32
// matrix of any number of rows.
func ELU(x *G.Node) (*G.Node, error) {
	return Activate(x, ActivationELU, 0, nil)
}

// ReLU returns max(x, 0) element by element. Its slope at 0 is 0.
func ReLU(x *G.Node) (*G.Node, error) {
	return Activate(x, ActivationReLU, 0, nil)
}

// Dropout sets each element of the matrix x to 0 with probability rate, in
// [0, 1), and divides the others by 1−rate. If mode is not training, it is the
// identity, and so is its gradient. A rate of 0 returns x itself and needs no mode.
func Dropout(x *G.Node, rate float64, mode *Mode) (*G.Node, error) {
	return Activate(x, ActivationNone, rate, mode)
}

// Activate returns Dropout(act(x)) in one pass over the float32 matrix x. It keeps
// the slope of both, so the gradient is one multiplication an element.
func Activate(x *G.Node, act Activation, rate float64, mode *Mode) (*G.Node, error) {
	return ActivateSources(nil, x, act, rate, mode)
}

// ActivateSources is Activate for rows that are the input nodes of slot's block. If the
// block has a NoiseScale c, the noise of dropout is multiplied by it: row k of the result is
// y + c_k·(dropout(y) − y) for y = act(x). A slot refuses such blocks unless the dropout of
// its input is made by ActivateSources. A nil slot has none.
func ActivateSources(slot *Slot, x *G.Node, act Activation, rate float64, mode *Mode) (*G.Node, error) {
	if err := checkMatrix("Activate", x); err != nil {
		return nil, err
	}
	drop, err := newDropout("Activate", rate, mode)
	if err != nil {
		return nil, err
	}
	if act > ActivationGELU {
		return nil, fmt.Errorf("ops: unknown activation %v", act)
	}
	if slot != nil {
		slot.scalesNoise = true
	}
	if act == ActivationNone && rate == 0 {
		return x, nil
	}
	op := &activate{base: base{name: "activate", parts: partNoise}, act: kernel.Activation(act), dropout: drop}
	op.memory.Access = plan.OverState // the slope may overwrite x
	if rate > 0 {
		op.slot = slot
	}
	return apply(op, x.Shape(), x)
}

// activate reads the noise scale of its slot, if it has a dropout.
type activate struct {
	base
	act     kernel.Activation
	dropout dropout
}

// activateRun is the state of an activation in a run.
type activateRun struct {
	// slope is ∂out/∂x, in the rows that may differ from zero, for the gradient. It may overwrite
	// x. It is not read from out, which a plain node may overwrite in place.
	slope plan.Scratch

	whole plan.Scratch // act(x), before dropout, for a history
}

// Operations counts the values and their slopes, once if op is dropout alone.
func (op *activate) Operations(w plan.Work) float64 {
	return w.Passes(op.act != kernel.Identity) * plan.ActivationCost * w.Rows * float64(op.shape[1])
}

// OnlyTraining reports whether op is dropout alone.
func (op *activate) OnlyTraining() bool { return op.act == kernel.Identity }

// Compute adds the bias of the product below, if that product leaves it to its reader.
func (op *activate) Compute(c *plan.Call) error {
	x := c.Matrix(0)
	s := plan.StateOf[activateRun](c.Run, op)
	dropout := op.dropout.in(c.Run)
	var noise device.Pointer
	if dropout.Rate > 0 && op.slot != nil {
		_, b := op.slot.of(c)
		if dropout.Noise = b.NoiseScale; c.Device != nil {
			noise = slotOf(c.Run, op.slot).noise
		}
		if n := len(b.NoiseScale); n > 0 && n != x.Rows {
			return c.Sizes("input has %d rows, its block %d noise scales", x.Rows, n)
		}
	}
	to := c.OutLike(x)
	n := x.Rows * x.Cols
	keepsWhole := !c.Inference && slices.ContainsFunc(c.Readers(op.node), func(n *G.Node) bool {
		above, ok := n.Op().(*propagate)
		return ok && above.commits()
	})
	if keepsWhole {
		c.Scratch(&s.whole, n)
	}
	switch {
	case !op.readsBack(c.Plan):
	case c.Over:
		s.slope.Floats = x.Floats
	default:
		c.Scratch(&s.slope, n)
	}
	return c.On(func() error {
		var bias, scale device.Pointer
		if below, ok := op.inputs[0].Op().(*product); ok && below.biasAbove(c.Run) {
			s := plan.StateOf[productRun](c.Run, below)
			bias, scale = s.bias, s.scale
		}
		return c.Device.Activate(to.At, s.slope.At, s.whole.At, x.At, bias, scale, noise, op.act, dropout, x.Rows, x.Cols)
	}, func() {
		if keepsWhole {
			kernel.Activate(op.act, s.whole.Data, nil, x.Data, x.Rows, x.Cols, kernel.Dropout{})
		}
		if rows := rowsToCompute(c.Run, op.inputs[0].Op(), false, x.Rows); rows != nil {
			fillOthers(to, rows, nil, nil)
			kernel.ActivateRows(op.act, to.Data, s.slope.Data, x.Data, rows, x.Cols, dropout)
		} else {
			kernel.Activate(op.act, to.Data, s.slope.Data, x.Data, x.Rows, x.Cols, dropout)
		}
	})
}

// differentiate makes a gradient that may overwrite the upstream gradient.
func (op *activate) differentiate(d *gradients, out, grad *G.Node) {
	back := op.backward("Back", op.back)
	back.memory = plan.Memory{Access: plan.OverResult, Input: 1}
	d.add(0, back, out, grad)
}

func (op *activate) back(c *plan.Call) error {
	s := plan.StateOf[activateRun](c.Run, op)
	grad := upstream(c, 1)
	to := c.OutLike(grad)
	return c.On(func() error {
		return c.Device.Multiply(to.At, grad.At, s.slope.At, grad.Rows*grad.Cols)
	}, func() {
		rows := rowsToCompute(c.Run, op.inputs[0].Op(), false, grad.Rows)
		if rows == nil {
			kernel.Multiply(to.Data, grad.Data, s.slope.Data)
			return
		}
		if !c.Over {
			fillOthers(to, rows, nil, nil)
		}
		kernel.MultiplyRows(to.Data, grad.Data, s.slope.Data, rows, grad.Cols)
	})
}
