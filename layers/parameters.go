package layers

import (
	"fmt"
	"hash/fnv"
	"math"
	"math/rand/v2"

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
	if err := checkLayer(g, name, in, out); err != nil {
		return nil, nil, err
	}
	weights, biases := make([]float32, in*out), []float32(nil)
	if bias {
		biases = make([]float32, out)
	}
	init := o.Init
	if init == nil {
		init = PyTorch
	}
	init(o.generator(name), in, out, weights, biases)
	if w, err = newParameter(g, name+".weight", tensor.New(tensor.WithShape(in, out), tensor.WithBacking(weights))); err != nil || !bias {
		return w, nil, err
	}
	b, err = newParameter(g, name+".bias", tensor.New(tensor.WithShape(out), tensor.WithBacking(biases)))
	return w, b, err
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

func checkLayer(g *G.ExprGraph, name string, in, out int) error {
	if g == nil || name == "" || in <= 0 || out <= 0 {
		return fmt.Errorf("layers: layer %q of %d inputs and %d outputs: want a graph, a name and positive sizes", name, in, out)
	}
	if in > math.MaxInt32/out {
		return fmt.Errorf("layers: layer %q of %d inputs and %d outputs: more than 2³¹−1 weights", name, in, out)
	}
	return memory.Check(fmt.Sprintf("layers: layer %q of %d inputs and %d outputs", name, in, out), 4*int64(in)*int64(out))
}

// newParameter adds an input node. Its name must be new: Gorgonia would return the existing
// node of that name.
func newParameter(g *G.ExprGraph, name string, value *tensor.Dense) (*G.Node, error) {
	for _, n := range g.AllNodes() {
		if n.IsVar() && n.Name() == name {
			return nil, fmt.Errorf("layers: the graph already has a parameter %q", name)
		}
	}
	return G.NewTensor(g, tensor.Float32, value.Dims(), G.WithShape(value.Shape()...), G.WithName(name), G.WithValue(value)), nil
}

// valueOf returns the current value of a parameter, row-major, or nil for a nil node.
func valueOf(n *G.Node) ([]float32, error) {
	if n == nil {
		return nil, nil
	}
	v, ok := n.Value().(*tensor.Dense)
	if !ok || v.Dtype() != tensor.Float32 {
		return nil, fmt.Errorf("layers: parameter %q holds a %T, want a float32 tensor", n.Name(), n.Value())
	}
	return v.Float32s()[:n.Shape().TotalSize()], nil
}
