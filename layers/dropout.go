package layers

import (
	"github.com/gcn-layerwise/gcn/ops"
	G "gorgonia.org/gorgonia"
)

// Dropout drops elements at random while training (Srivastava et al. 2014).
type Dropout struct {
	Rate float64   // probability of dropping, in [0, 1); 0 is the identity
	Mode *ops.Mode // of the batch; required for a rate above 0
}

// Forward maps x to a node of the same shape.
func (d Dropout) Forward(x *G.Node) (*G.Node, error) { return ops.Dropout(x, d.Rate, d.Mode) }
