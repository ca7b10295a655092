package plan_test

import (
	"context"
	"fmt"
	"hash"
	"hash/fnv"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/chewxy/hm"
	G "gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/gcn-layerwise/gcn/datasets"
	"github.com/gcn-layerwise/gcn/internal/device"
	"github.com/gcn-layerwise/gcn/internal/kernel"
	"github.com/gcn-layerwise/gcn/internal/plan"
	"github.com/gcn-layerwise/gcn/layers"
	"github.com/gcn-layerwise/gcn/ops"
	"github.com/gcn-layerwise/gcn/samplers"
)

func matrix(g *G.ExprGraph, name string, rows, cols int, data ...float32) *G.Node {
	if data == nil {
		data = make([]float32, rows*cols)
		for k := range data {
			data[k] = float32(math.Sin(float64(k + len(name))))
		}
	}
	return G.NewMatrix(g, tensor.Float32, G.WithShape(rows, cols), G.WithName(name), G.WithValue(tensor.New(tensor.WithShape(rows, cols), tensor.WithBacking(data))))
}

// model returns a loss with its gradients. Values holds copies of the parameters.
func model(t *testing.T, loss *G.Node, params ...*G.Node) plan.Model {
	t.Helper()
	grads, err := G.Grad(loss, params...)
	if err != nil {
		t.Fatal(err)
	}
	m := plan.Model{Loss: loss, Parameters: params, Gradients: grads}
	for _, n := range params {
		m.Values = append(m.Values, n.Value().Data().([]float32)...)
	}
	n := len(m.Values)
	m.Grads, m.M, m.V = make([]float32, n), make([]float32, n), make([]float32, n)
	return m
}

func backend(t *testing.T, m plan.Model) plan.Backend {
	t.Helper()
	b, err := plan.NewBackend(nil, m)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	})
	return b
}

// A plan must compute the same numbers as Gorgonia's own machine.
func TestPlanAgreesWithTapeMachine(t *testing.T) {
	g := G.NewGraph()
	x, w, v := matrix(g, "x", 5, 4), matrix(g, "weight", 4, 3), matrix(g, "v", 5, 3)
	h := G.Must(G.Tanh(G.Must(G.Mul(x, w))))
	h = G.Must(G.Add(G.Must(G.HadamardProd(h, v)), G.Must(G.Exp(h))))
	loss := G.Must(G.Sum(G.Must(G.Square(h))))
	m := model(t, loss, x, w, v)
	b := backend(t, m)
	for range 2 { // a second run must not add to the first
		if err := b.Run(); err != nil {
			t.Fatal(err)
		}
	}
	got, err := b.Loss()
	if err != nil {
		t.Fatal(err)
	}
	machine := G.NewTapeMachine(g)
	defer machine.Close()
	err = machine.RunAll()
	if device.Built { // with a GPU and without
		if err == nil || !strings.Contains(err.Error(), "computes no elementwise node") {
			t.Errorf("plain nodes in Gorgonia's own machine: %v", err)
		}
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	if want := loss.Value().Data().(float32); got != want {
		t.Errorf("loss %v, want %v", got, want)
	}
	var want []float32
	for _, n := range m.Gradients {
		want = append(want, n.Value().Data().([]float32)...)
	}
	if !slices.Equal(m.Grads, want) {
		t.Errorf("gradients %v, want %v", m.Grads, want)
	}
}

// failing is a user's op that fails in some way.
type failing struct{ do func() (G.Value, error) }

func (f *failing) Arity() int { return 1 }
func (f *failing) Type() hm.Type {
	a := hm.TypeVariable('a')
	return hm.NewFnType(a, a)
}
func (f *failing) InferShape(...G.DimSizer) (tensor.Shape, error) { return tensor.ScalarShape(), nil }
func (f *failing) Do(...G.Value) (G.Value, error)                 { return f.do() }
func (f *failing) ReturnsPtr() bool                               { return false }
func (f *failing) CallsExtern() bool                              { return false }
func (f *failing) OverwritesInput() int                           { return -1 }
func (f *failing) String() string                                 { return "failing" }
func (f *failing) WriteHash(h hash.Hash)                          { fmt.Fprint(h, "failing") }
func (f *failing) Hashcode() uint32 {
	h := fnv.New32a()
	f.WriteHash(h)
	return h.Sum32()
}

func nobody() string { return "" }

func TestErrorsOfOps(t *testing.T) {
	for want, do := range map[string]func() (G.Value, error){
		"op failing panicked: boom at ":             func() (G.Value, error) { panic("boom") },
		"op failing panicked: runtime error: index": func() (G.Value, error) { var s []int; return nil, fmt.Errorf("%d", s[len(nobody())]) },
		"op failing: fizzled":                       func() (G.Value, error) { return nil, fmt.Errorf("fizzled") },
	} {
		g := G.NewGraph()
		n := G.Must(G.ApplyOp(&failing{do}, G.NewScalar(g, tensor.Float32, G.WithName("x"), G.WithValue(float32(1)))))
		if _, err := plan.Value(n); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
	g := G.NewGraph()
	n := G.Must(G.Neg(G.NewScalar(g, tensor.Float32, G.WithName("empty"))))
	if _, err := plan.Value(n); err == nil || !strings.Contains(err.Error(), `"empty" of the model has no value`) {
		t.Errorf("error %v", err)
	}
	for want, s := range map[string]plan.Spec{
		"no output":       {},
		"0 gradients of":  {Output: n, Parameters: G.Nodes{n}, Gradients: G.Nodes{}},
		"has no gradient": {Output: n, Parameters: G.Nodes{n}, Gradients: G.Nodes{nil}},
	} {
		if _, err := plan.New(s); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
}

// No op may read memory that the plan calls dead: filling it with NaN must change no
// result.
func TestNoOpReadsDeadMemory(t *testing.T) {
	d, err := datasets.Open(context.Background(), "synth:demo?nodes=300&edges=1500", datasets.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for name, options := range map[string]layers.GCNOptions{
		"plain":      {},
		"norm":       {Norm: layers.NormLayer},
		"residual":   {Residual: true},
		"no dropout": {Dropout: layers.NoDropout, ClassifierDropout: layers.NoDropout},
		"equation":   {Form: layers.FormEquation},
	} {
		t.Run(name, func(t *testing.T) {
			options.Hidden, options.Seed = 16, 3
			batch := layers.NewBatch(G.NewGraph(), &samplers.LayerWise{Laplacian: d.Laplacian(), Sizes: []int{24, 24, 24}})
			gcn, err := layers.NewGCN(batch, d.Features, d.Labels, options)
			if err != nil {
				t.Fatal(err)
			}
			m := model(t, gcn.Loss, gcn.Parameters...)
			var item samplers.MiniBatch
			if err := batch.Sampler().Sample(context.Background(), d.Split.Train[:20], rand.New(rand.NewPCG(1, 2)), &item); err != nil {
				t.Fatal(err)
			}
			run := func(b plan.Backend) []float32 {
				if err := batch.Set(&item, true, 5); err != nil {
					t.Fatal(err)
				}
				if err := b.Run(); err != nil {
					t.Fatal(err)
				}
				loss, err := b.Loss()
				if err != nil {
					t.Fatal(err)
				}
				return append([]float32{loss}, m.Grads...)
			}
			want := run(backend(t, m))
			m.Check = true
			b := backend(t, m)
			for range 2 {
				if got := run(b); !slices.Equal(got, want) {
					t.Errorf("loss and gradients are %v, want %v", got, want)
				}
			}
			if dead, over := plan.Sharing(b); dead < 4 || over < 2 {
				t.Errorf("%d values die and %d are overwritten: memory is hardly shared", dead, over)
			}
		})
	}
}

// alias is a user's op that returns its input.
type alias struct{ failing }

func (alias) Do(in ...G.Value) (G.Value, error) { return in[0], nil }

func (alias) Type() hm.Type {
	a := G.TensorType{Dims: 2, Of: tensor.Float32}
	return hm.NewFnType(a, a)
}

func (alias) InferShape(in ...G.DimSizer) (tensor.Shape, error) { return in[0].(tensor.Shape), nil }

// No op may overwrite the output, or a value that a plain op may keep.
func TestKeptValues(t *testing.T) {
	for name, watch := range map[string]func(z *G.Node) *G.Node{
		"an output":        func(z *G.Node) *G.Node { return z },
		"under a plain op": func(z *G.Node) *G.Node { return G.Must(G.ApplyOp(&alias{}, z)) },
	} {
		g := G.NewGraph()
		x, w := matrix(g, "x", 2, 2, 1, -2, 3, -4), matrix(g, "w", 2, 2, 1, 0, 0, 1)
		z := G.Must(ops.MatMul(x, w))
		watched := watch(z)
		loss := G.Must(ops.Sum(G.Must(ops.MatMul(G.Must(ops.ELU(G.Must(ops.MatMul(G.Must(ops.ELU(z)), w)))), w))))
		m := model(t, loss, x)
		m.Loss = watched // the gradients still need all of the graph
		p, err := plan.New(plan.Spec{Output: watched, Parameters: m.Parameters, Gradients: m.Gradients})
		if err != nil {
			t.Fatal(err)
		}
		for range 2 {
			e, err := plan.NewExecutor(p, plan.ExecutorOptions{Gradients: plan.Floats{Data: m.Grads}})
			if err != nil {
				t.Fatal(err)
			}
			if err := e.Compute(); err != nil {
				t.Fatal(err)
			}
			if got, err := e.Result(0).Append(nil); err != nil || !slices.Equal(got, []float32{1, -2, 3, -4}) {
				t.Errorf("%s: %v, want 1 -2 3 -4", name, got)
			}
		}
	}
}

func TestFreeListTakesMostRecent(t *testing.T) {
	for _, c := range []struct {
		free []int // in the order of their release
		n    int
		want int
	}{
		{nil, 5, 0},
		{[]int{10, 12, 11}, 9, 11},
		{[]int{10, 12, 3, 4}, 9, 12},
		{[]int{7, 3}, 9, 3}, // grows
	} {
		size, left := plan.FreeListTake(c.free, c.n)
		if size != c.want || left != max(len(c.free)-1, 0) {
			t.Errorf("of %v for %d elements it takes %d and leaves %d, want %d", c.free, c.n, size, left, c.want)
		}
	}
}

// After a gradient that is not finite, no update changes a parameter until Settle.
func TestUpdateStopsAtNaN(t *testing.T) {
	g := G.NewGraph()
	w := matrix(g, "w", 1, 2, 1, 2)
	m := model(t, G.Must(ops.Sum(G.Must(ops.Add(w, w)))), w)
	b := backend(t, m)
	if err := b.Push(true); err != nil {
		t.Fatal(err)
	}
	step := func(number int, bad bool) {
		t.Helper()
		if err := b.Run(); err != nil {
			t.Fatal(err)
		}
		if bad {
			m.Grads[1] = float32(math.Inf(1))
		}
		if err := b.Update(kernel.Adam{}, number); err != nil {
			t.Fatal(err)
		}
	}
	step(1, false)
	step(2, true)
	before := slices.Clone(m.Values)
	step(3, false)
	if losses, failed, err := b.Settle(); len(losses) != 3 || failed != 2 || err != nil {
		t.Errorf("losses %v, failed %d, %v, want three and 2", losses, failed, err)
	}
	if !slices.Equal(m.Values, before) {
		t.Error("a parameter moved after a gradient that overflowed")
	}
}

func Example() {
	g := G.NewGraph()
	x, w := matrix(g, "x", 1, 2, 3, 4), matrix(g, "w", 2, 1, 1, 10)
	loss := G.Must(ops.Sum(G.Must(ops.MatMul(x, w))))
	grads, err := G.Grad(loss, w)
	if err != nil {
		panic(err)
	}
	m := plan.Model{Loss: loss, Parameters: G.Nodes{w}, Gradients: grads, Values: []float32{1, 10}, Grads: make([]float32, 2)}
	b, err := plan.NewBackend(nil, m) // nil: the CPU
	if err != nil {
		panic(err)
	}
	defer b.Close()
	if err := b.Run(); err != nil {
		panic(err)
	}
	value, err := b.Loss()
	fmt.Println(value, m.Grads, err)
	// Output: 43 [3 4] <nil>
}
