package ops

import (
	"github.com/gcn-layerwise/gcn/internal/device"
	G "gorgonia.org/gorgonia"
)

// Max returns the larger of A and B, element by element, for float32 matrices of equal shape.
// Where they are equal, A gets the gradient.
func Max(a, b *G.Node) (*G.Node, error) {
	const name = "Max"
	if err := checkEqual(name, a, b); err != nil {
		return nil, err
	}
	op := &maximum{elementwise{
		base: base{name: name},
		cpu: func(to []float32, in [3][]float32) {
			for k, v := range in[0] {
				to[k] = max(v, in[1][k])
			}
		},
		gpu: func(d *device.Device, to device.Pointer, in [3]device.Pointer, n int) error {
			return d.Max(to, in[0], in[1], n)
		},
	}}
	return apply(op, a.Shape(), a, b)
}

type maximum struct{ elementwise }

func (op *maximum) SymDiff(in G.Nodes, _, grad *G.Node) (G.Nodes, error) {
	d := op.gradients()
	d.add(0, maximumBack(false), in[0], in[1], grad)
	d.add(1, maximumBack(true), in[0], in[1], grad)
	return d.nodes, d.err
}

// maximumBack returns the op of A, B and the upstream gradient that computes the gradient of A, or
// of B if second is true: the upstream gradient where this input is the result, and 0 elsewhere.
func maximumBack(second bool) *elementwise {
	return &elementwise{
		base: base{name: "MaxBack"},
		cpu: func(to []float32, in [3][]float32) {
			for k, v := range in[0] {
				to[k] = 0
				if (v < in[1][k]) == second {
					to[k] = in[2][k]
				}
			}
		},
		gpu: func(d *device.Device, to device.Pointer, in [3]device.Pointer, n int) error {
			return d.MaxGradient(to, in[2], in[0], in[1], second, n)
		},
	}
}
