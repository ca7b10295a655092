package layers

import (
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"slices"

	G "gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/gcn-layerwise/gcn/internal/memory"
)

// ParameterOptions select the first values of a layer's parameters.
type ParameterOptions struct {
	Init Initialiser // nil means PyTorch
	Rand *rand.Rand  // nil means a generator seeded by the layer's name
}

// newParameters adds name.weight, (in, out), and with bias name.bias, (out), to g, with
// their first values.
func newParameters(g *G.ExprGraph, name string, in, out int, bias bool, o ParameterOptions) (w, b *G.Node, err error) {
	w, weights, err := newParameter(g, name+".weight", in, out)
	if err != nil {
		return nil, nil, err
	}
	var biases []float32
	if bias {
		if b, biases, err = newParameter(g, name+".bias", out); err != nil {
			return nil, nil, err
		}
	}
	init := o.Init
	if init == nil {
		init = PyTorch
	}
	init(o.generator(name), in, out, weights, biases)
	return w, b, nil
}

// generator returns Rand, or a generator seeded by the layer's name.
func (o ParameterOptions) generator(name string) *rand.Rand {
	if o.Rand != nil {
		return o.Rand
	}
	h := fnv.New64a()
	h.Write([]byte(name))
	return rand.New(rand.NewPCG(h.Sum64(), 0))
}

// newParameter adds an input node of zeros to g, and returns its memory too. Its name must be new:
// Gorgonia would return the existing node of that name. It is an error if the parameters of g
// with their gradients and Adam's moments do not fit in memory.
func newParameter(g *G.ExprGraph, name string, shape ...int) (*G.Node, []float32, error) {
	if g == nil || name[0] == '.' || slices.Min(shape) <= 0 {
		return nil, nil, fmt.Errorf("layers: parameter %q of shape %v: want a graph, a name and positive sizes", name, shape)
	}
	const held = 4 * 4 // bytes: a value, its gradient and Adam's two moments
	size := int64(held)
	others := int64(0)
	for _, d := range shape {
		size = memory.Product(size, int64(d))
	}
	for _, n := range g.AllNodes() {
		if !n.IsVar() {
			continue
		}
		if n.Name() == name {
			return nil, nil, fmt.Errorf("layers: the graph already has a parameter %q", name)
		}
		others += held * int64(n.Shape().TotalSize())
	}
	count := size / held
	if size > 0 {
		size += others
	}
	what := fmt.Sprintf("layers: the parameters up to %q of shape %v, with gradients and optimiser state",
		name, shape)
	if err := memory.Check(what, size); err != nil {
		return nil, nil, err
	}
	values := make([]float32, count)
	value := tensor.New(tensor.WithShape(shape...), tensor.WithBacking(values))
	return G.NewTensor(g, tensor.Float32, len(shape), G.WithShape(shape...),
		G.WithName(name), G.WithValue(value)), values, nil
}

// newVector adds a parameter of equal values.
func newVector(g *G.ExprGraph, name string, width int, value float32) (*G.Node, error) {
	n, values, err := newParameter(g, name, width)
	for j := range values {
		values[j] = value
	}
	return n, err
}

// valueOf returns the current value of a parameter, row-major, or nil for a nil node.
func valueOf(n *G.Node) ([]float32, error) {
	if n == nil {
		return nil, nil
	}
	v, ok := n.Value().(*tensor.Dense)
	if !ok || v.Dtype() != tensor.Float32 {
		return nil, fmt.Errorf("layers: parameter %q holds a %T, want a float32 tensor",
			n.Name(), n.Value())
	}
	return v.Float32s()[:n.Shape().TotalSize()], nil
}
