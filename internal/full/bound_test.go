package full_test

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/gcn-layerwise/gcn/graph"
	"github.com/gcn-layerwise/gcn/internal/full"
	"github.com/gcn-layerwise/gcn/internal/memory"
	"github.com/gcn-layerwise/gcn/internal/plan"
	"github.com/gcn-layerwise/gcn/layers"
	"github.com/gcn-layerwise/gcn/samplers"
	G "gorgonia.org/gorgonia"
)

// largeGraph returns P and features of a graph of several chunks.
func largeGraph(t testing.TB, n, edges, cols int) (*graph.Laplacian, *graph.Features) {
	t.Helper()
	rng := rand.New(rand.NewPCG(13, 6))
	b, err := graph.NewBuilder(n)
	if err != nil {
		t.Fatal(err)
	}
	for range edges {
		if err := b.AddWeighted(rng.Int32N(int32(n)), int32(float64(n)*math.Pow(rng.Float64(), 2)), 0.5+rng.Float32()); err != nil {
			t.Fatal(err)
		}
	}
	a, _ := b.Build()
	x := &graph.Features{Rows: n, Cols: cols, Data: make([]float32, n*cols)}
	for k := range x.Data {
		x.Data[k] = float32(rng.NormFloat64())
	}
	return graph.NewLaplacian(a), x
}

// gcn compiles a GCN.
func gcn(t testing.TB, p *graph.Laplacian, x *graph.Features, depth int, o layers.GCNOptions) *full.Model {
	t.Helper()
	y := &graph.Labels{Classes: 6, Class: make([]int32, x.Rows)}
	b := layers.NewBatch(G.NewGraph(), &samplers.Full{Laplacian: p, Depth: depth})
	m, err := layers.NewGCN(b, x, y, o)
	if err != nil {
		t.Fatal(err)
	}
	return compile(t, b, m.Logits)
}

// reads makes a call read other in place of x.
func reads(x, other *graph.Features) map[plan.Source]plan.Source {
	return map[plan.Source]plan.Source{{X: x}: {X: other}, {X: x, Propagated: true}: {X: other, Propagated: true}}
}

func call(t testing.TB, m *full.Model, c full.Call) []float32 {
	t.Helper()
	values, err := m.Infer(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	return values
}

// A bound on the memory puts values of levels into files and computes P·X in several passes.
// The logits keep their bits.
func TestBound(t *testing.T) {
	const n, cols = 9001, 40
	p, x := largeGraph(t, n, 40000, cols)
	h, err := x.ToHalf()
	if err != nil {
		t.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(13, 6))
	some := make([]int32, 0, 1000)
	for range cap(some) {
		some = append(some, rng.Int32N(n)) // some twice
	}
	for _, o := range []layers.GCNOptions{
		{Hidden: 64}, {Hidden: 64, Residual: true}, {Hidden: 48, PreNorm: true, Norm: layers.NormLayer, HiddenResidual: layers.ResidualLinear},
		{Hidden: 16}, {Hidden: 64, Heads: 4}, {Hidden: 40, InputLayer: true},
	} {
		for depth := 1; depth <= 3; depth++ {
			o.Order = layers.PropagateFirst
			m := gcn(t, p, x, depth, o)
			for _, f := range []*graph.Features{x, h} {
				for _, nodes := range [][]int32{nil, some} {
					want := call(t, m, full.Call{P: p, Nodes: nodes, Sources: reads(x, f)})
					m.Forget()
					disk := &graph.Features{Rows: n, Cols: cols, Data: f.Data, Half: f.Half, Release: func() {}}
					dir := t.TempDir()
					bound := full.Bound{Memory: 12*n + 200_000, Scratch: dir}
					for range 2 {
						got, err := m.Infer(t.Context(), full.Call{P: p, Nodes: nodes, Sources: reads(x, disk), Bound: bound})
						if err != nil || !slices.Equal(got, want) {
							t.Fatalf("%+v, %d layers, half %v, %d nodes: %v; other logits", o, depth, f.Half != nil, len(nodes), err)
						}
					}
					kept := m.Kept()
					if kept.Files < 2 && (depth > 1 || o.Heads > 0 && nodes == nil) {
						t.Errorf("%+v, %d layers, %d nodes: %d files in two calls", o, depth, len(nodes), kept.Files)
					}
					passes := 2 // of one layer and some nodes: one in each call
					if depth > 1 || nodes == nil {
						passes = 4
					}
					if propagates := o.Heads == 0 && !o.InputLayer; propagates && kept.Passes < passes || !propagates && kept.Passes > 0 {
						t.Errorf("%+v, %d layers, %d nodes: P·X in %d passes", o, depth, len(nodes), kept.Passes)
					}
					if left, _ := os.ReadDir(dir); len(left) > 0 {
						t.Errorf("left behind: %v", left)
					}
				}
			}
		}
	}
}

func TestBoundSameBitsOnAnyNumberOfCores(t *testing.T) {
	const n = 9000
	p, x := largeGraph(t, n, 40000, 24)
	x.Release = func() {}
	m := gcn(t, p, x, 2, layers.GCNOptions{Hidden: 32})
	var want []float32
	for _, cores := range []int{1, 2, 7} {
		func() {
			defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(cores))
			got := call(t, m, full.Call{P: p, Bound: full.Bound{Memory: 12*n + 100_000, Scratch: t.TempDir()}})
			if want == nil {
				want = got
			}
			if !slices.Equal(got, want) {
				t.Errorf("%d cores give other bits than 1", cores)
			}
		}()
	}
}

func TestSmallerBound(t *testing.T) {
	const n = 5000
	p, x := largeGraph(t, n, 20000, 24)
	m := gcn(t, p, x, 2, layers.GCNOptions{Hidden: 32})
	call(t, m, full.Call{P: p})
	want := call(t, m, full.Call{P: p}) // keeps P·X and the hidden layer
	if m.Kept().PX == 0 {
		t.Error("P·X is not kept")
	}
	x.Release = func() {} // as of a file
	if got := call(t, m, full.Call{P: p, Bound: full.Bound{Memory: 12*n + 200_000, Scratch: t.TempDir()}}); !slices.Equal(got, want) {
		t.Error("other logits")
	}
	if kept := m.Kept(); kept.PX > 50_000 || kept.Files == 0 {
		t.Errorf("%+v: the bound is not kept", kept)
	}
}

// The bound is that of the call's own graph. P·X counts.
func TestBoundOfAnotherGraph(t *testing.T) {
	const n, hidden = 9001, 3
	small, _ := largeGraph(t, 100, 200, 40)
	p, x := largeGraph(t, n, 40000, 40)
	_, few := largeGraph(t, 100, 200, 40)
	bound := full.Bound{Memory: 12*n + 9*4*n*hidden/4, Scratch: t.TempDir()} // for 9/4 of a level's values: 2 are allowed
	m := gcn(t, p, x, 2, layers.GCNOptions{Hidden: hidden, Order: layers.TransformFirst})
	call(t, m, full.Call{P: p, Bound: bound})
	want := m.Kept().Files
	m.Forget()
	call(t, m, full.Call{P: small, Sources: reads(x, few), Bound: bound})
	before := m.Kept().Files
	call(t, m, full.Call{P: p, Bound: bound})
	if got := m.Kept().Files - before; got != want {
		t.Errorf("%d files after a call for a smaller graph, want %d", got, want)
	}
}

func TestBoundCountsPropagated(t *testing.T) {
	const n, hidden = 9001, 32
	p, x := largeGraph(t, n, 40000, 76)
	const most = 6 * (4 * n * hidden)
	m := gcn(t, p, x, 3, layers.GCNOptions{Hidden: hidden, Order: layers.PropagateFirst})
	bound := full.Bound{Memory: 12*n + most, Scratch: t.TempDir()}
	for range 2 {
		call(t, m, full.Call{P: p, Bound: bound})
	}
	if kept := m.Kept(); kept.PX == 0 || kept.Bytes+4*int64(kept.PX) > most {
		t.Errorf("%+v with at most %d bytes", kept, most)
	}
}

// countdown is a context that ends after a number of calls of Err.
type countdown struct {
	context.Context
	left atomic.Int64
}

func (c *countdown) Err() error {
	if c.left.Add(-1) < 0 {
		return context.Canceled
	}
	return nil
}

func TestBoundErrors(t *testing.T) {
	const n = 5000
	p, x := largeGraph(t, n, 20000, 24)
	x.Release = func() {}
	m := gcn(t, p, x, 2, layers.GCNOptions{Hidden: 32})
	want := call(t, m, full.Call{P: p})
	m.Forget()
	dir := t.TempDir()
	oneLine := func(err error, part string) {
		t.Helper()
		if err == nil || !strings.Contains(err.Error(), part) || strings.Contains(err.Error(), "\n") {
			t.Errorf("want one line with %q, got %v", part, err)
		}
		if left, _ := os.ReadDir(dir); len(left) > 0 {
			t.Errorf("left behind: %v", left)
		}
	}
	small := full.Call{P: p, Bound: full.Bound{Memory: 1000, Scratch: dir}}
	_, err := m.Infer(t.Context(), small)
	if oneLine(err, "may take 1 kB"); !errors.Is(err, memory.ErrTooLarge) {
		t.Error(err)
	}
	oneLine(small.CheckBound(), "may take 1 kB")
	small.Nodes = []int32{1, 2}
	if err := small.CheckBound(); err != nil {
		t.Error("a few nodes have no bound:", err)
	}
	bound := full.Bound{Memory: 12*n + 50_000, Scratch: filepath.Join(dir, "none")}
	_, err = m.Infer(t.Context(), full.Call{P: p, Bound: bound})
	oneLine(err, "scratch file")
	few := make([]int32, 200)
	for v := range few {
		few[v] = int32(v)
	}
	if _, err := m.Infer(t.Context(), full.Call{P: p, Nodes: few, Bound: bound}); err != nil {
		t.Error("a few nodes have no bound:", err)
	}
	bound.Scratch = dir
	for _, calls := range []int64{2, 5, 8} {
		ctx := &countdown{Context: t.Context()}
		ctx.left.Store(calls)
		if _, err = m.Infer(ctx, full.Call{P: p, Bound: bound}); !errors.Is(err, context.Canceled) {
			t.Errorf("after %d checks: %v", calls, err)
		}
		oneLine(err, "context")
	}
	if got := call(t, m, full.Call{P: p, Bound: bound}); !slices.Equal(got, want) {
		t.Error("other logits after the errors")
	}
}

// Beside the result, memory holds the rows of two levels and P·X, which is small here. The next
// call uses the same memory. The bits stay.
func TestMemoryOfCalls(t *testing.T) {
	const n, cols, hidden = 20000, 16, 64
	p, x := largeGraph(t, n, n, cols)
	m := gcn(t, p, x, 2, layers.GCNOptions{Hidden: hidden})
	var first []float32
	for k := range 3 {
		got := call(t, m, full.Call{P: p})
		if k == 0 {
			first = got
		}
		if !slices.Equal(got, first) {
			t.Errorf("call %d gives other bits", k)
		}
		kept := m.Kept()
		if kept.Bytes != 4*n*hidden || kept.PX != n*cols {
			t.Errorf("%+v", kept)
		}
	}
	for k := range 3 {
		call(t, m, full.Call{P: p, Nodes: []int32{5, 7, 8}})
		some := make([]int32, 300)
		for i := range some {
			some[i] = int32(7 * i)
		}
		got := call(t, m, full.Call{P: p, Nodes: some})
		var want []float32
		for _, v := range some {
			want = append(want, first[6*v:6*v+6]...)
		}
		compare(t, "some nodes", got, want)
		if rowsAlone(t) && !slices.Equal(got, want) {
			t.Fatalf("call %d: other bits than among all nodes", k)
		}
	}
}
