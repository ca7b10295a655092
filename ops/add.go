package ops

import (
	"github.com/gcn-layerwise/gcn/internal/device"
	G "gorgonia.org/gorgonia"
)

// Add returns A + B for float32 matrices of equal shape. Gorgonia's Add gives the same
// numbers, but allocates in every run.
func Add(a, b *G.Node) (*G.Node, error) {
	const name = "Add"
	if err := checkEqual(name, a, b); err != nil {
		return nil, err
	}
	op := &add{wanted: []bool{variable(a), variable(b)}}
	op.elementwise = elementwise{
		base: newBase(a.Graph(), name, 2),
		compute: func(to []float32, in [3]matrix) {
			for k, v := range in[0].data {
				to[k] = v + in[1].data[k]
			}
		},
		place: func(d *device.Device, to device.Pointer, in [3]device.Pointer, n int) error {
			return d.Add(to, in[0], in[1], n)
		},
	}
	return apply(op, a, b)
}

type add struct {
	elementwise
	wanted []bool
}

func (op *add) DiffWRT(int) []bool { return op.wanted }

// SymDiff returns the upstream gradient for both inputs, without a copy.
func (op *add) SymDiff(_ G.Nodes, _, grad *G.Node) (G.Nodes, error) {
	d := make(G.Nodes, 2)
	for k, wanted := range op.wanted {
		if wanted {
			d[k] = grad
		}
	}
	return d, nil
}
