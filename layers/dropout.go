package layers

import (
	"github.com/gcn-layerwise/gcn/ops"
	G "gorgonia.org/gorgonia"
)

// Dropout sets elements to 0 at random in training (Srivastava et al. 2014).
type Dropout struct {
	Rate float64   // probability of a 0, in [0, 1); a rate of 0 is the identity
	Mode *ops.Mode // the batch's; required for a rate above 0
}

// Forward maps x to a node of the same shape.
func (d Dropout) Forward(x *G.Node) (*G.Node, error) { return ops.Dropout(x, d.Rate, d.Mode) }
