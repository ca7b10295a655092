//go:build cuda

package ops

import (
	"fmt"

	"github.com/gcn-layerwise/gcn/internal/device"
	"github.com/gcn-layerwise/gcn/internal/kernel"
	G "gorgonia.org/gorgonia"
)

// placedActivate is what an activation shares with its gradient.
type placedActivate struct {
	wanted      bool // the gradient is placed
	memory      *device.Buffer
	slope       device.Pointer
	rows, width int

	// whole is the output before dropout, for a history.
	wholeMemory *device.Buffer
	whole       device.Pointer
}

// place adds the bias of the product that it reads, where nothing else reads that.
func (op *activate) place(p *Placement, n *G.Node) (func([]*array) (*array, error), error) {
	state, out := stateOf[placedActivate](p, op), p.result(n)
	state.memory, state.wholeMemory = p.buffer(), p.buffer()
	below := p.product(childrenOf(n)[0])
	if below != nil {
		below.biasAbove = true
	}
	return func(in []*array) (*array, error) {
		rows, width, z, err := in[0].matrix("Activate")
		if err != nil {
			return nil, err
		}
		a, to, err := out.shaped(rows, width)
		if err != nil {
			return nil, err
		}
		state.rows, state.width, state.slope = rows, width, 0
		if state.wanted {
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
		return a, p.d.Activate(to, state.slope, whole, z, bias, scale, activation, rows, width)
	}, nil
}

// onDevice returns the settings of this run.
func (op *activate) onDevice() device.Activation {
	a := device.Activation{Act: int(op.act), Keep: 1}
	if op.mode != nil && op.mode.Training {
		a.Seed = op.mode.seed(op.ordinal)
		a.Threshold, a.Keep = kernel.Dropout{Rate: op.rate}.Threshold()
	}
	return a
}

func (op *activateBack) place(p *Placement, n *G.Node) (func([]*array) (*array, error), error) {
	state, out := stateOf[placedActivate](p, op.forward), p.result(n)
	state.wanted = true
	return func(in []*array) (*array, error) {
		rows, width, grad, err := in[1].matrix("Activate")
		if err != nil {
			return nil, err
		}
		if rows != state.rows || width != state.width {
			return nil, fmt.Errorf("ops: Activate: gradient is %d×%d, its output %d×%d: %w", rows, width, state.rows, state.width, ErrShape)
		}
		a, to, err := out.shaped(rows, width)
		if err != nil {
			return nil, err
		}
		return a, p.d.Multiply(to, grad, state.slope, rows*width)
	}, nil
}
