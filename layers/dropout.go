package layers

import (
	"github.com/gcn-layerwise/gcn/ops"
	G "gorgonia.org/gorgonia"
)

// Dropout sets elements to 0 at random in training (Srivastava et al. 2014).
type Dropout struct {
	Rate float64   // probability of a 0, in [0, 1); a rate of 0 is the identity
	Mode *ops.Mode // the batch's; required for a rate above 0

	// Reader, if not nil, is the slot whose input nodes have these rows. Its blocks may then
	// scale the noise (graph.Block.NoiseScale). Only the propagation of this slot may read
	// the rows.
	Reader *ops.Slot
}

// Forward maps x to a node of the same shape.
func (d Dropout) Forward(x *G.Node) (*G.Node, error) {
	return d.after(ops.ActivationNone, x)
}

// after returns the dropout of act(x).
func (d Dropout) after(act ops.Activation, x *G.Node) (*G.Node, error) {
	return ops.ActivateSources(d.Reader, x, act, d.Rate, d.Mode)
}
