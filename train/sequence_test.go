package train

import (
	"fmt"
	"hash"
	"hash/fnv"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/chewxy/hm"
	G "gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/gcn-layerwise/gcn/ops"
)

// A sequence must compute what Gorgonia's own machine does.
func TestSequenceIsTheMachine(t *testing.T) {
	if ops.CUDA {
		t.Skip("in this build Gorgonia's machine runs plain nodes on its CUDA backend")
	}
	g := G.NewGraph()
	value := func(name string, rows, cols int) *G.Node {
		data := make([]float32, rows*cols)
		for k := range data {
			data[k] = float32(math.Sin(float64(k + len(name))))
		}
		return G.NewMatrix(g, tensor.Float32, G.WithShape(rows, cols), G.WithName(name), G.WithValue(tensor.New(tensor.WithShape(rows, cols), tensor.WithBacking(data))))
	}
	x, w, v := value("x", 5, 4), value("weight", 4, 3), value("v", 5, 3)
	h := G.Must(G.Tanh(G.Must(G.Mul(x, w))))
	h = G.Must(G.Add(G.Must(G.HadamardProd(h, v)), G.Must(G.Exp(h))))
	loss := G.Must(G.Sum(G.Must(G.Square(h))))
	grads, err := G.Grad(loss, x, w, v)
	if err != nil {
		t.Fatal(err)
	}
	outputs := append(G.Nodes{loss}, grads...)
	s, err := newSequence(outputs)
	if err != nil {
		t.Fatal(err)
	}
	floats := func(v G.Value) []float32 {
		if f, ok := v.Data().(float32); ok {
			return []float32{f}
		}
		return slices.Clone(v.Data().([]float32))
	}
	var got, want [][]float32
	for range 2 { // a second run must not add to the first
		if err := s.run(); err != nil {
			t.Fatal(err)
		}
	}
	nodes := s.nodes()
	for _, n := range outputs {
		got = append(got, floats(s.values[s.calls[slices.Index(nodes, n)].to]))
	}
	m := G.NewTapeMachine(g)
	defer m.Close()
	if err := m.RunAll(); err != nil {
		t.Fatal(err)
	}
	for _, n := range outputs {
		want = append(want, floats(n.Value()))
	}
	for k := range want {
		if !slices.Equal(got[k], want[k]) {
			t.Errorf("output %d: %v, want %v", k, got[k], want[k])
		}
	}
}

// bomb is an op of a user's own that fails in some way.
type bomb struct{ do func() (G.Value, error) }

func (b *bomb) Arity() int { return 1 }
func (b *bomb) Type() hm.Type {
	a := hm.TypeVariable('a')
	return hm.NewFnType(a, a)
}
func (b *bomb) InferShape(...G.DimSizer) (tensor.Shape, error) { return tensor.ScalarShape(), nil }
func (b *bomb) Do(...G.Value) (G.Value, error)                 { return b.do() }
func (b *bomb) ReturnsPtr() bool                               { return false }
func (b *bomb) CallsExtern() bool                              { return false }
func (b *bomb) OverwritesInput() int                           { return -1 }
func (b *bomb) String() string                                 { return "bomb" }
func (b *bomb) WriteHash(h hash.Hash)                          { fmt.Fprint(h, "bomb") }
func (b *bomb) Hashcode() uint32 {
	h := fnv.New32a()
	b.WriteHash(h)
	return h.Sum32()
}

func TestSequenceErrors(t *testing.T) {
	for want, do := range map[string]func() (G.Value, error){
		"op bomb panicked: boom at ":             func() (G.Value, error) { panic("boom") },
		"op bomb panicked: runtime error: index": func() (G.Value, error) { var s []int; return nil, fmt.Errorf("%d", s[len(nobody())]) },
		"op bomb: fizzled":                       func() (G.Value, error) { return nil, fmt.Errorf("fizzled") },
	} {
		g := G.NewGraph()
		n := G.Must(G.ApplyOp(&bomb{do}, G.NewScalar(g, tensor.Float32, G.WithName("x"), G.WithValue(float32(1)))))
		s, err := newSequence(G.Nodes{n})
		if err != nil {
			t.Fatal(err)
		}
		if err := s.run(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
	g := G.NewGraph()
	n := G.Must(G.Neg(G.NewScalar(g, tensor.Float32, G.WithName("empty"))))
	s, err := newSequence(G.Nodes{n})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.run(); err == nil || !strings.Contains(err.Error(), `"empty" of the model has no value`) {
		t.Errorf("error %v", err)
	}
}
