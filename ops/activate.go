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
	op := &activate{base: newBase(x.Graph(), "activate", 1), act: kernel.Activation(act), rate: float32(rate), wanted: variable(x), below: sparseOf(x)}
	if rate > 0 {
		op.mode, op.ordinal, op.reader = mode, mode.ordinal(), slot
	}
	return apply(op, x)
}

type activate struct {
	base
	act     kernel.Activation
	rate    float32
	mode    *Mode // nil: no dropout
	ordinal uint64
	reader  *Slot // with dropout, the slot whose blocks may scale its noise; or nil
	wanted  bool
	below   sparse // the op of x, if it is sparse; or nil

	// slope is ∂out/∂x of the last run, in the rows that may differ from zero.
	// It is not read from out, which a plain node may overwrite in place.
	slope       []float32
	slopeMemory []float32 // its memory, unless slope overwrites x
	keepSlope   bool
	rows, width int

	// activations is act(x) of the last run, before dropout, for a history.
	activations     []float32
	undropped       []float32 // its memory in a run with dropout
	keepActivations bool
}

func (op *activate) Type() hm.Type { return hm.NewFnType(matrixType(), matrixType()) }

func (op *activate) InferShape(in ...G.DimSizer) (tensor.Shape, error) { return sameShape(in, 0) }

func sameShape(in []G.DimSizer, input int) (tensor.Shape, error) {
	rows, err := nominal(in, input, 0)
	if err != nil {
		return nil, err
	}
	cols, err := nominal(in, input, 1)
	return tensor.Shape{rows, cols}, err
}

func (op *activate) Do(in ...G.Value) (G.Value, error) { return op.Compute(&op.own, false, in...) }

// Memory: the slope may overwrite x, and a history may read the result after the run.
func (op *activate) Memory() plan.Memory {
	m := plan.Memory{Result: plan.InBuffer, Over: plan.Over{Input: 0, By: plan.ByState}}
	if op.keepActivations {
		m.Result = plan.InBufferKept
	}
	return m
}

func (op *activate) Compute(out *plan.Buffer, over bool, in ...G.Value) (G.Value, error) {
	x, err := matrixOf("Activate", in[0])
	if err != nil {
		return nil, err
	}
	var dropout kernel.Dropout
	if op.mode != nil && op.mode.Training {
		dropout = kernel.Dropout{Rate: op.rate, Seed: op.mode.seed(op.ordinal)}
		if dropout.Noise, err = op.noise(x.rows); err != nil {
			return nil, err
		}
	}
	value, data := out.Matrix(x.rows, x.cols)
	op.rows, op.width = x.rows, x.cols
	if op.keepActivations {
		op.activations = data
		if dropout.Rate > 0 {
			op.undropped = scratch(op.undropped, len(data))
			kernel.Activate(op.act, op.undropped, nil, x.data, x.rows, x.cols, kernel.Dropout{})
			op.activations = op.undropped
		}
	}
	switch {
	case !op.keepSlope:
		op.slope = nil
	case over:
		op.slope = x.data
	default:
		op.slopeMemory = scratch(op.slopeMemory, len(data))
		op.slope = op.slopeMemory
	}
	if rows := rowsToCompute(op.below, x.rows); rows != nil {
		fillOthers(data, rows, x.rows, x.cols, nil, nil)
		kernel.ActivateRows(op.act, data, op.slope, x.data, rows, x.cols, dropout)
	} else {
		kernel.Activate(op.act, data, op.slope, x.data, x.rows, x.cols, dropout)
	}
	return value, nil
}

// noise returns the scale of each row's noise, or nil.
func (op *activate) noise(rows int) ([]float32, error) {
	if op.reader == nil {
		return nil, nil
	}
	b, err := op.reader.current("Activate")
	if err != nil || len(b.NoiseScale) == 0 {
		return nil, err
	}
	if len(b.NoiseScale) != rows {
		return nil, fmt.Errorf("ops: Activate: input has %d rows, the block that reads it %d noise scales: %w", rows, len(b.NoiseScale), ErrShape)
	}
	return b.NoiseScale, nil
}

// placedActivate is the state that an activation shares with its gradient.
type placedActivate struct {
	gradientPlaced bool // it needs the slope
	memory         *device.Buffer
	slope          device.Pointer
	rows, width    int

	// whole is the output before dropout, for a history.
	wholeMemory *device.Buffer
	whole       device.Pointer
}

// Place fuses the bias of the product below, if nothing else reads that product.
func (op *activate) Place(p *plan.Placement, n *G.Node) (plan.Kernel, error) {
	state, _ := plan.StateOf[placedActivate](p, op)
	state.memory, state.wholeMemory = p.Buffer(), p.Buffer()
	below := biasedProduct(p, plan.Children(n)[0])
	if below != nil {
		below.biasAbove = true
	}
	var reader *placedSlot
	if op.reader != nil {
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
		state.rows, state.width, state.slope = rows, width, 0
		switch {
		case !state.gradientPlaced:
		case out.Over:
			state.slope = z
		default:
			if state.slope, err = state.memory.Floats(rows * width); err != nil {
				return nil, err
			}
		}
		activation, whole := op.onDevice(), device.Pointer(0)
		if state.whole = to; op.keepActivations && activation.Threshold != 0 {
			if whole, err = state.wholeMemory.Floats(rows * width); err != nil {
				return nil, err
			}
			state.whole = whole
		}
		var bias, scale device.Pointer
		if below != nil {
			bias, scale = below.bias, below.scale
		}
		var noise device.Pointer
		if reader != nil && activation.Threshold != 0 {
			if _, err := op.noise(rows); err != nil {
				return nil, err
			}
			noise = reader.noise
		}
		return a, p.Device().Activate(to, state.slope, whole, z, bias, scale, noise, activation, rows, width)
	}, nil
}

// onDevice returns the activation and the dropout of this run.
func (op *activate) onDevice() device.Activation {
	a := device.Activation{Act: int(op.act), Keep: 1}
	if op.mode != nil && op.mode.Training {
		a.Seed = op.mode.seed(op.ordinal)
		a.Threshold, a.Keep = kernel.Dropout{Rate: op.rate}.Threshold()
	}
	return a
}

// nonzero returns the rows of x, since every activation of 0 is 0.
func (op *activate) nonzero() []int32 {
	if op.below == nil {
		return nil
	}
	return op.below.nonzero()
}

func (op *activate) DiffWRT(int) []bool { return []bool{op.wanted} }

// SymDiff makes the output an input of the gradient, only for the order: the upstream
// gradient may be known before the forward op has run.
func (op *activate) SymDiff(_ G.Nodes, out, grad *G.Node) (G.Nodes, error) {
	op.keepSlope = true
	back := &activateBack{base: newBase(grad.Graph(), "activateBack", 2), forward: op}
	dx, err := apply(back, out, grad)
	return G.Nodes{dx}, err
}

type activateBack struct {
	base
	forward *activate
}

func (op *activateBack) Type() hm.Type {
	return hm.NewFnType(matrixType(), matrixType(), matrixType())
}

func (op *activateBack) InferShape(in ...G.DimSizer) (tensor.Shape, error) { return sameShape(in, 0) }

func (op *activateBack) Do(in ...G.Value) (G.Value, error) { return op.Compute(&op.own, false, in...) }

// Memory: the product may overwrite the upstream gradient.
func (op *activateBack) Memory() plan.Memory {
	return plan.Memory{Result: plan.InBuffer, Over: plan.Over{Input: 1, By: plan.ByResult}}
}

func (op *activateBack) Compute(out *plan.Buffer, over bool, in ...G.Value) (G.Value, error) {
	grad, err := matrixOf("Activate", in[1])
	if err != nil {
		return nil, err
	}
	f := op.forward
	if grad.rows != f.rows || grad.cols != f.width || len(f.slope) != len(grad.data) {
		return nil, fmt.Errorf("ops: Activate: gradient is %d×%d, its output %d×%d: %w", grad.rows, grad.cols, f.rows, f.width, ErrShape)
	}
	value, data := in[1], grad.data
	if !over {
		value, data = out.Matrix(grad.rows, grad.cols)
	}
	rows := rowsToCompute(f.below, grad.rows)
	if rows == nil {
		kernel.Multiply(data, grad.data, f.slope)
		return value, nil
	}
	if !over {
		fillOthers(data, rows, grad.rows, grad.cols, nil, nil)
	}
	kernel.MultiplyRows(data, grad.data, f.slope, rows, grad.cols)
	return value, nil
}

func (op *activateBack) Place(p *plan.Placement, _ *G.Node) (plan.Kernel, error) {
	state, _ := plan.StateOf[placedActivate](p, op.forward)
	state.gradientPlaced = true
	return func(in []*plan.Array, out *plan.Result) (*plan.Array, error) {
		rows, width, grad, err := in[1].Matrix("Activate")
		if err != nil {
			return nil, err
		}
		if rows != state.rows || width != state.width {
			return nil, fmt.Errorf("ops: Activate: gradient is %d×%d, its output %d×%d: %w", rows, width, state.rows, state.width, ErrShape)
		}
		a, to, err := out.Matrix(rows, width)
		if err != nil {
			return nil, err
		}
		return a, p.Device().Multiply(to, grad, state.slope, rows*width)
	}, nil
}
