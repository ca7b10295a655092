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

	"github.com/gcn-layerwise/gcn/layers"
	"github.com/gcn-layerwise/gcn/ops"
	"github.com/gcn-layerwise/gcn/samplers"
)

// A sequence must compute what Gorgonia's own machine does.
func TestSequenceIsTheMachine(t *testing.T) {
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
	s, err := newSequence(outputs, new(ops.Memory))
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
		s, err := newSequence(G.Nodes{n}, new(ops.Memory))
		if err != nil {
			t.Fatal(err)
		}
		if err := s.run(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
	g := G.NewGraph()
	n := G.Must(G.Neg(G.NewScalar(g, tensor.Float32, G.WithName("empty"))))
	s, err := newSequence(G.Nodes{n}, new(ops.Memory))
	if err != nil {
		t.Fatal(err)
	}
	if err := s.run(); err == nil || !strings.Contains(err.Error(), `"empty" of the model has no value`) {
		t.Errorf("error %v", err)
	}
}

// What lies in memory that ops return or overwrite must not be read again:
// here it becomes NaN, and nothing must change.
func TestSequenceReadsNothingDead(t *testing.T) {
	d := smallData(t, 300, 3)
	for name, options := range map[string]layers.GCNOptions{
		"plain":      {},
		"norm":       {LayerNorm: true},
		"residual":   {Residual: true},
		"no dropout": {Dropout: layers.NoDropout},
	} {
		t.Run(name, func(t *testing.T) {
			options.Hidden, options.Seed = 16, 3
			batch := layers.NewBatch(G.NewGraph(), &samplers.LayerWise{Laplacian: d.Laplacian(), Sizes: []int{24, 24, 24}})
			gcn, err := layers.NewGCN(batch, d.Features, d.Labels, options)
			if err != nil {
				t.Fatal(err)
			}
			m := Model{Batch: batch, Loss: gcn.Loss, Logits: gcn.Logits, Parameters: gcn.Parameters, Inference: gcn}
			p := compiled(t, m)
			item := sampled(t, m, d.Split.Train[:20], 0)
			if _, err := p.Step(item, 5); err != nil {
				t.Fatal(err)
			}
			want := slices.Clone(p.Gradients())
			if err := m.Batch.Set(item, true, 5); err != nil {
				t.Fatal(err)
			}
			dead, over := runPoisoned(t, p.step)
			if !slices.Equal(p.Gradients(), want) {
				t.Errorf("gradients %v, want %v", p.Gradients(), want)
			}
			if dead < 4 || over < 2 {
				t.Errorf("%d values died and %d were overwritten: memory is hardly shared", dead, over)
			}
		})
	}
}

// runPoisoned runs s, and puts NaN wherever no op may read any more.
func runPoisoned(t *testing.T, s *sequence) (dead, over int) {
	t.Helper()
	for _, in := range s.inputs {
		s.values[in.at] = in.node.Value()
	}
	for k := range s.calls {
		c := &s.calls[k]
		for i, at := range c.from {
			c.in[i] = s.values[at]
		}
		do := c.op.Do
		if c.over != nil {
			do = c.over.DoOver
			over++
		}
		var err error
		if s.values[c.to], err = do(c.in...); err != nil {
			t.Fatal(err)
		}
		for _, n := range c.dead {
			at := slices.IndexFunc(s.calls, func(c call) bool { return c.node == n })
			values := s.values[s.calls[at].to].Data().([]float32)
			for i := range values {
				values[i] = nan32
			}
			s.memory.Return(n)
			dead++
		}
	}
	return dead, over
}

// alias is an op of a user's own whose value is its input's.
type alias struct{ bomb }

func (alias) Do(in ...G.Value) (G.Value, error) { return in[0], nil }

func (alias) Type() hm.Type {
	a := G.TensorType{Dims: 2, Of: tensor.Float32}
	return hm.NewFnType(a, a)
}

func (alias) InferShape(in ...G.DimSizer) (tensor.Shape, error) { return in[0].(tensor.Shape), nil }

// A value that something else reads, or may hold on to, stays as it was.
func TestSequenceKeepsWhatIsRead(t *testing.T) {
	for name, watch := range map[string]func(z *G.Node) *G.Node{
		"an output":        func(z *G.Node) *G.Node { return z },
		"under a plain op": func(z *G.Node) *G.Node { return G.Must(G.ApplyOp(&alias{}, z)) },
	} {
		g := G.NewGraph()
		value := func(name string, data ...float32) *G.Node {
			return G.NewMatrix(g, tensor.Float32, G.WithShape(2, 2), G.WithName(name), G.WithValue(tensor.New(tensor.WithShape(2, 2), tensor.WithBacking(data))))
		}
		x, w := value("x", 1, -2, 3, -4), value("w", 1, 0, 0, 1)
		z := G.Must(ops.MatMul(x, w))
		watched := watch(z)
		loss := G.Must(ops.Sum(G.Must(ops.MatMul(G.Must(ops.ELU(G.Must(ops.MatMul(G.Must(ops.ELU(z)), w)))), w))))
		grads, err := G.Grad(loss, x)
		if err != nil {
			t.Fatal(err)
		}
		s, err := newSequence(G.Nodes{watched, grads[0]}, new(ops.Memory))
		if err != nil {
			t.Fatal(err)
		}
		for range 2 {
			if err := s.run(); err != nil {
				t.Fatal(err)
			}
			at := slices.Index(s.nodes(), watched)
			if got := s.values[s.calls[at].to].Data().([]float32); !slices.Equal(got, []float32{1, -2, 3, -4}) {
				t.Errorf("%s: %v, want 1 -2 3 -4", name, got)
			}
		}
	}
}
