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
	op := &add{elementwise{
		base: base{name: name},
		cpu: func(to []float32, in [3][]float32) {
			for k, v := range in[0] {
				to[k] = v + in[1][k]
			}
		},
		gpu: func(d *device.Device, to device.Pointer, in [3]device.Pointer, n int) error {
			return d.Add(to, in[0], in[1], n)
		},
	}}
	return apply(op, a.Shape(), a, b)
}

type add struct{ elementwise }

// SymDiff returns the upstream gradient for both inputs, without a copy.
func (op *add) SymDiff(_ G.Nodes, _, grad *G.Node) (G.Nodes, error) {
	d := op.gradients()
	d.pass(0, grad)
	d.pass(1, grad)
	return d.nodes, nil
}
