//go:build cuda

package ops_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"strings"
	"testing"
	"time"

	"gorgonia.org/cu"
	G "gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	_ "github.com/gcn-layerwise/gcn/ops"
)

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// values are positive, so that every function is defined, and some are equal, for
// the comparisons.
func values(rng *rand.Rand, dt tensor.Dtype, shape ...int) *tensor.Dense {
	n := tensor.Shape(shape).TotalSize()
	if dt == tensor.Float32 {
		x := make([]float32, n)
		for i := range x {
			x[i] = float32(1+rng.IntN(12)) / 4
		}
		return tensor.New(tensor.WithShape(shape...), tensor.WithBacking(x))
	}
	x := make([]float64, n)
	for i := range x {
		x[i] = float64(1+rng.IntN(12)) / 4
	}
	return tensor.New(tensor.WithShape(shape...), tensor.WithBacking(x))
}

// at is element i of a float32 or float64 tensor or scalar.
func at(v G.Value, i int) float64 {
	switch x := v.Data().(type) {
	case float32:
		return float64(x)
	case float64:
		return x
	case []float32:
		return float64(x[i])
	case []float64:
		return x[i]
	}
	panic(fmt.Sprintf("%T", v.Data()))
}

func close32(got, want float64, dt tensor.Dtype) bool {
	tolerance := 1e-12
	if dt == tensor.Float32 {
		tolerance = 1e-6
	}
	return math.Abs(got-want) <= tolerance*(1+math.Abs(want)) || math.IsNaN(got) && math.IsNaN(want)
}

// run computes the node, which Gorgonia's CUDA engine does: on the CPU where there
// is no GPU.
func run(t *testing.T, g *G.ExprGraph, n *G.Node) G.Value {
	t.Helper()
	var v G.Value
	G.Read(n, &v)
	m := G.NewTapeMachine(g)
	defer m.Close()
	if err := m.RunAll(); err != nil {
		t.Fatal(err)
	}
	return v
}

func TestPlainUnary(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	for name, f := range map[string]struct {
		op   func(*G.Node) (*G.Node, error)
		want func(float64) float64
	}{
		"abs": {G.Abs, math.Abs}, "sign": {G.Sign, func(x float64) float64 { return math.Copysign(1, x) }}, "ceil": {G.Ceil, math.Ceil}, "floor": {G.Floor, math.Floor},
		"sin": {G.Sin, math.Sin}, "cos": {G.Cos, math.Cos}, "exp": {G.Exp, math.Exp}, "log": {G.Log, math.Log},
		"log2": {G.Log2, math.Log2}, "neg": {G.Neg, func(x float64) float64 { return -x }},
		"square": {G.Square, func(x float64) float64 { return x * x }}, "sqrt": {G.Sqrt, math.Sqrt},
		"inverse": {G.Inverse, func(x float64) float64 { return 1 / x }}, "cube": {G.Cube, func(x float64) float64 { return x * x * x }},
		"tanh": {G.Tanh, math.Tanh}, "sigmoid": {G.Sigmoid, func(x float64) float64 { return 1 / (1 + math.Exp(-x)) }},
		"log1p": {G.Log1p, math.Log1p}, "expm1": {G.Expm1, math.Expm1},
		"softplus": {G.Softplus, func(x float64) float64 { return math.Log1p(math.Exp(x)) }},
	} {
		for _, dt := range []tensor.Dtype{tensor.Float32, tensor.Float64} {
			t.Run(fmt.Sprint(name, " ", dt), func(t *testing.T) {
				x := values(rng, dt, 37, 41) // two blocks, the last not full
				g := G.NewGraph()
				in := G.NewMatrix(g, dt, G.WithShape(37, 41), G.WithValue(x), G.WithName("x"))
				got := run(t, g, must(f.op(in)))
				for i := range x.Shape().TotalSize() {
					if want := f.want(at(x, i)); !close32(at(got, i), want, dt) {
						t.Fatalf("element %d: %v, want %v", i, at(got, i), want)
					}
				}
			})
		}
	}
}

func TestPlainBinary(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 2))
	truth := func(b bool) float64 { return map[bool]float64{true: 1}[b] }
	compare := func(f func(a, b *G.Node, same bool) (*G.Node, error)) func(a, b *G.Node) (*G.Node, error) {
		return func(a, b *G.Node) (*G.Node, error) { return f(a, b, true) }
	}
	for name, f := range map[string]struct {
		op   func(a, b *G.Node) (*G.Node, error)
		want func(a, b float64) float64
	}{
		"add": {G.Add, func(a, b float64) float64 { return a + b }}, "sub": {G.Sub, func(a, b float64) float64 { return a - b }},
		"mul": {G.HadamardProd, func(a, b float64) float64 { return a * b }}, "div": {G.HadamardDiv, func(a, b float64) float64 { return a / b }},
		"pow": {G.Pow, math.Pow},
		"lt":  {compare(G.Lt), func(a, b float64) float64 { return truth(a < b) }}, "gt": {compare(G.Gt), func(a, b float64) float64 { return truth(a > b) }},
		"lte": {compare(G.Lte), func(a, b float64) float64 { return truth(a <= b) }}, "gte": {compare(G.Gte), func(a, b float64) float64 { return truth(a >= b) }},
		"eq": {compare(G.Eq), func(a, b float64) float64 { return truth(a == b) }}, "ne": {compare(G.Ne), func(a, b float64) float64 { return truth(a != b) }},
	} {
		for _, dt := range []tensor.Dtype{tensor.Float32, tensor.Float64} {
			t.Run(fmt.Sprint(name, " ", dt), func(t *testing.T) {
				a, b := values(rng, dt, 37, 41), values(rng, dt, 37, 41)
				g := G.NewGraph()
				x := G.NewMatrix(g, dt, G.WithShape(37, 41), G.WithValue(a), G.WithName("a"))
				y := G.NewMatrix(g, dt, G.WithShape(37, 41), G.WithValue(b), G.WithName("b"))
				got := run(t, g, must(f.op(x, y)))
				for i := range a.Shape().TotalSize() {
					if want := f.want(at(a, i), at(b, i)); !close32(at(got, i), want, dt) {
						t.Fatalf("element %d: %v, want %v", i, at(got, i), want)
					}
				}
			})
		}
	}
}

// A product and its gradients, which multiply by transposes.
func TestPlainProducts(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 3))
	const m, n, k = 7, 5, 11
	for _, dt := range []tensor.Dtype{tensor.Float32, tensor.Float64} {
		t.Run(dt.String(), func(t *testing.T) {
			a, b, w := values(rng, dt, m, k), values(rng, dt, k, n), values(rng, dt, m, n)
			g := G.NewGraph()
			x := G.NewMatrix(g, dt, G.WithShape(m, k), G.WithValue(a), G.WithName("a"))
			y := G.NewMatrix(g, dt, G.WithShape(k, n), G.WithValue(b), G.WithName("b"))
			z := G.NewMatrix(g, dt, G.WithShape(m, n), G.WithValue(w), G.WithName("w"))
			xy := must(G.Mul(x, y))
			grads := must(G.Grad(must(G.Sum(must(G.HadamardProd(xy, z)))), x, y))
			var dx, dy G.Value
			G.Read(grads[0], &dx)
			G.Read(grads[1], &dy)
			got := run(t, g, xy)
			// sum of f(l) for l < k, against element i of v.
			check := func(what string, v G.Value, i, k int, f func(l int) float64) {
				sum := 0.0
				for l := range k {
					sum += f(l)
				}
				if !close32(at(v, i), sum, dt) {
					t.Errorf("element %d of %s is %v, want %v", i, what, at(v, i), sum)
				}
			}
			for i := range m {
				for j := range n {
					check("the product", got, i*n+j, k, func(l int) float64 { return at(a, i*k+l) * at(b, l*n+j) })
				}
				for l := range k {
					check("the left gradient", dx, i*k+l, n, func(j int) float64 { return at(w, i*n+j) * at(b, l*n+j) })
				}
			}
			for l := range k {
				for j := range n {
					check("the right gradient", dy, l*n+j, m, func(i int) float64 { return at(a, i*k+l) * at(w, i*n+j) })
				}
			}
		})
	}
}

// More calls than upstream's queue holds, in one run (its 64th broke it).
func TestLongPlainProgram(t *testing.T) {
	g := G.NewGraph()
	x := G.NewMatrix(g, tensor.Float32, G.WithShape(3, 3), G.WithName("x"), G.WithValue(tensor.New(tensor.WithShape(3, 3), tensor.WithBacking(make([]float32, 9)))))
	n := x
	for range 300 {
		n = must(G.Cos(n))
	}
	got := run(t, g, n)
	if v := at(got, 8); math.Abs(v-0.7390851332) > 1e-6 {
		t.Errorf("the fixed point of the cosine is %v", v)
	}
}

// Machines come and go without leaving memory, goroutines or modules.
func TestMachinesEnd(t *testing.T) {
	g := G.NewGraph()
	x := G.NewMatrix(g, tensor.Float32, G.WithShape(8, 8), G.WithName("x"), G.WithValue(tensor.New(tensor.WithShape(8, 8), tensor.WithBacking(make([]float32, 64)))))
	must(G.Exp(x))
	use := func() {
		m := G.NewTapeMachine(g)
		for range 3 {
			if err := m.RunAll(); err != nil {
				t.Fatal(err)
			}
			m.Reset()
		}
		if err := m.Close(); err != nil {
			t.Fatal(err)
		}
	}
	use()
	goroutines := runtime.NumGoroutine()
	before, _, err := cu.MemInfo()
	if err != nil {
		t.Fatal(err)
	}
	for range 40 {
		use()
	}
	for deadline := time.Now().Add(5 * time.Second); runtime.NumGoroutine() > goroutines && time.Now().Before(deadline); {
		time.Sleep(time.Millisecond)
	}
	if n := runtime.NumGoroutine(); n > goroutines {
		t.Errorf("%d goroutines, %d before", n, goroutines)
	}
	if free, _, err := cu.MemInfo(); err != nil || free != before {
		t.Errorf("%d bytes of memory are free, %d before: %v", free, before, err)
	}
}

// A machine that does not fit says so; on upstream's cu, it would hang.
func TestMachineTooLarge(t *testing.T) {
	if err := cu.Available(); err != nil {
		t.Skipf("only an allocation tells what fits in the host's memory: %v", err)
	}
	g := G.NewGraph()
	x := G.NewMatrix(g, tensor.Float32, G.WithShape(1<<20, 1<<18), G.WithName("x"))
	must(G.Exp(x))
	failed := make(chan any)
	go func() {
		defer func() { failed <- recover() }()
		G.NewTapeMachine(g).Close()
	}()
	select {
	case err := <-failed:
		if !strings.Contains(fmt.Sprint(err), "Unable to get") {
			t.Errorf("a machine of a tebibyte: %v", err)
		}
	case <-time.After(20 * time.Second):
		t.Fatal("it hangs")
	}
}
