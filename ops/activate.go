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
	switch a {
	case ActivationNone:
		return "none"
	case ActivationELU:
		return "elu"
	case ActivationReLU:
		return "relu"
	case ActivationGELU:
		return "gelu"
	}
	return fmt.Sprintf("Activation(%d)", uint8(a))
}

// ELU returns x if x > 0 and eˣ−1 otherwise, element by element, for a float32
// matrix of any number of rows.
func ELU(x *G.Node) (*G.Node, error) { return Activate(x, ActivationELU, 0, nil) }

// ReLU returns max(x, 0) element by element. Its slope at 0 is 0.
func ReLU(x *G.Node) (*G.Node, error) { return Activate(x, ActivationReLU, 0, nil) }

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
	if err := checkRate("Activate", rate, mode); err != nil {
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
	op := &activate{base: base{name: "activate"}, act: kernel.Activation(act), rate: float32(rate), below: sparseOf(x)}
	if rate > 0 {
		op.mode, op.ordinal, op.reader = mode, mode.ordinal(), slot
	}
	return apply(op, x.Shape(), x)
}

type activate struct {
	base
	act     kernel.Activation
	rate    float32
	mode    *Mode // nil: no dropout
	ordinal uint64
	reader  *Slot  // with dropout, the slot whose blocks may scale its noise; or nil
	below   sparse // the op of x, if it is sparse; or nil
}

// activateRun is the state of an activation in a run.
type activateRun struct {
	rows, width int

	// slope is ∂out/∂x, in the rows that may differ from zero, for the gradient. It is
	// not read from out, which a plain node may overwrite in place.
	keepsSlope  bool
	slope       []float32
	slopeMemory []float32 // its memory, unless slope overwrites x

	// whole is act(x), before dropout, for a history.
	keepsWhole  bool
	whole       []float32
	wholeMemory []float32 // its memory in a run with dropout

	placed struct { // the same on a device
		slopeMemory, wholeMemory *device.Buffer
		slope, whole             device.Pointer
	}
}

func (op *activate) of(r *plan.Run) *activateRun {
	return plan.StateOf(r, op, func(s *activateRun) {
		s.keepsSlope, s.keepsWhole = readBy[*activateBack](r.Plan, op.node), op.keepsWhole(r.Plan)
	})
}

// OnlyTraining reports whether op is dropout alone.
func (op *activate) OnlyTraining() bool { return op.act == kernel.Identity }

// keepsWhole reports whether a history of p takes the rows before dropout.
func (op *activate) keepsWhole(p *plan.Plan) bool {
	return slices.ContainsFunc(p.Readers(op.node), func(r *G.Node) bool {
		above, ok := r.Op().(*propagate)
		return ok && above.commits()
	})
}

// Memory: the slope may overwrite x, and a history may read the result after the run.
func (op *activate) Memory(p *plan.Plan) plan.Memory {
	m := plan.Memory{Result: plan.InBuffer, Over: plan.Over{Input: 0, By: plan.ByState}}
	if op.keepsWhole(p) {
		m.Result = plan.InBufferKept
	}
	return m
}

func (op *activate) Compute(r *plan.Run, out *plan.Buffer, in ...G.Value) (G.Value, error) {
	x, err := matrixOf("Activate", in[0])
	if err != nil {
		return nil, err
	}
	dropout := op.mode.dropout(r, op.rate, op.ordinal)
	if dropout.Rate > 0 {
		if dropout.Noise, err = op.noise(r, x.rows); err != nil {
			return nil, err
		}
	}
	value, data := out.Matrix(x.rows, x.cols)
	s := op.of(r)
	s.rows, s.width = x.rows, x.cols
	if s.keepsWhole {
		s.whole = data
		if dropout.Rate > 0 {
			s.wholeMemory = scratch(s.wholeMemory, len(data))
			kernel.Activate(op.act, s.wholeMemory, nil, x.data, x.rows, x.cols, kernel.Dropout{})
			s.whole = s.wholeMemory
		}
	}
	switch {
	case !s.keepsSlope:
	case out.Over:
		s.slope = x.data
	default:
		s.slopeMemory = scratch(s.slopeMemory, len(data))
		s.slope = s.slopeMemory
	}
	if rows := rowsToCompute(r, op.below, x.rows); rows != nil {
		fillOthers(data, rows, x.rows, x.cols, nil, nil)
		kernel.ActivateRows(op.act, data, s.slope, x.data, rows, x.cols, dropout)
	} else {
		kernel.Activate(op.act, data, s.slope, x.data, x.rows, x.cols, dropout)
	}
	return value, nil
}

// noise returns the scale of each row's noise, or nil.
func (op *activate) noise(r *plan.Run, rows int) ([]float32, error) {
	if op.reader == nil {
		return nil, nil
	}
	b, err := plan.In(r, op.reader).current("Activate")
	if err != nil || len(b.NoiseScale) == 0 {
		return nil, err
	}
	if len(b.NoiseScale) != rows {
		return nil, fmt.Errorf("ops: Activate: input has %d rows, the block that reads it %d noise scales: %w", rows, len(b.NoiseScale), ErrShape)
	}
	return b.NoiseScale, nil
}

// Place fuses the bias of the product below, if that product leaves it to its reader.
func (op *activate) Place(p *plan.Placement) (plan.Kernel, error) {
	s := op.of(p.Run)
	state := &s.placed
	state.slopeMemory, state.wholeMemory = p.Buffer(), p.Buffer()
	var below *productRun
	if product, ok := op.inputs[0].Op().(*product); ok && product.biasAbove(p.Plan) {
		below = product.of(p.Run)
	}
	var reader *placedSlot
	if op.reader != nil && !p.Plan.Inference {
		reader = slotOf(p, op.reader)
		reader.needs.noise = true
	}
	return func(in []*plan.Array, out *plan.Result) (*plan.Array, error) {
		rows, width, z, err := in[0].Matrix("Activate")
		if err != nil {
			return nil, err
		}
		a, to, err := out.Matrix(rows, width)
		if err != nil {
			return nil, err
		}
		s.rows, s.width = rows, width
		switch {
		case !s.keepsSlope:
		case out.Over:
			state.slope = z
		default:
			if state.slope, err = state.slopeMemory.Floats(rows * width); err != nil {
				return nil, err
			}
		}
		dropout, whole := op.mode.dropout(p.Run, op.rate, op.ordinal), device.Pointer(0)
		activation := device.Activation{Act: int(op.act), Seed: dropout.Seed}
		activation.Threshold, activation.Keep = dropout.Threshold()
		if state.whole = to; s.keepsWhole && activation.Threshold != 0 {
			if whole, err = state.wholeMemory.Floats(rows * width); err != nil {
				return nil, err
			}
			state.whole = whole
		}
		var bias, scale device.Pointer
		if below != nil {
			bias, scale = below.placedBias, below.scale
		}
		var noise device.Pointer
		if reader != nil && activation.Threshold != 0 {
			if _, err := op.noise(p.Run, rows); err != nil {
				return nil, err
			}
			noise = reader.noise
		}
		return a, p.Device().Activate(to, state.slope, whole, z, bias, scale, noise, activation, rows, width)
	}, nil
}

// nonzero returns the rows of x, since every activation of 0 is 0.
func (op *activate) nonzero(r *plan.Run) []int32 {
	if op.below == nil {
		return nil
	}
	return op.below.nonzero(r)
}

// SymDiff makes the output an input of the gradient, only for the order: the upstream
// gradient may be known before the forward op has run.
func (op *activate) SymDiff(_ G.Nodes, out, grad *G.Node) (G.Nodes, error) {
	d := op.gradients()
	d.add(0, &activateBack{base: base{name: "activateBack"}, forward: op}, out, grad)
	return d.nodes, d.err
}

type activateBack struct {
	base
	forward *activate
}

// check returns an error if a gradient has other sizes than the run's output.
func (s *activateRun) check(rows, width int) error {
	if rows != s.rows || width != s.width {
		return fmt.Errorf("ops: Activate: gradient is %d×%d, its output %d×%d: %w", rows, width, s.rows, s.width, ErrShape)
	}
	return nil
}

// Memory: the product may overwrite the upstream gradient.
func (op *activateBack) Memory(*plan.Plan) plan.Memory {
	return plan.Memory{Result: plan.InBuffer, Over: plan.Over{Input: 1, By: plan.ByResult}}
}

func (op *activateBack) Compute(r *plan.Run, out *plan.Buffer, in ...G.Value) (G.Value, error) {
	grad, err := matrixOf("Activate", in[1])
	if err != nil {
		return nil, err
	}
	f := op.forward.of(r)
	if err := f.check(grad.rows, grad.cols); err != nil {
		return nil, err
	}
	value, data := in[1], grad.data
	if !out.Over {
		value, data = out.Matrix(grad.rows, grad.cols)
	}
	rows := rowsToCompute(r, op.forward.below, grad.rows)
	if rows == nil {
		kernel.Multiply(data, grad.data, f.slope)
		return value, nil
	}
	if !out.Over {
		fillOthers(data, rows, grad.rows, grad.cols, nil, nil)
	}
	kernel.MultiplyRows(data, grad.data, f.slope, rows, grad.cols)
	return value, nil
}

func (op *activateBack) Place(p *plan.Placement) (plan.Kernel, error) {
	f := op.forward.of(p.Run)
	return func(in []*plan.Array, out *plan.Result) (*plan.Array, error) {
		rows, width, grad, err := in[1].Matrix("Activate")
		if err != nil {
			return nil, err
		}
		if err := f.check(rows, width); err != nil {
			return nil, err
		}
		a, to, err := out.Matrix(rows, width)
		if err != nil {
			return nil, err
		}
		return a, p.Device().Multiply(to, grad, f.placed.slope, rows*width)
	}, nil
}
