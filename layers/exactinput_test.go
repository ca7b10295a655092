package layers

import (
	"cmp"
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/gcn-layerwise/gcn/graph"
	"github.com/gcn-layerwise/gcn/ops"
	"github.com/gcn-layerwise/gcn/samplers"
	G "gorgonia.org/gorgonia"
)

func exactInput(t testing.TB, p *graph.Laplacian, x *graph.Features) *ExactInput {
	t.Helper()
	e, err := NewExactInput(context.Background(), p, x, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// A step with exact input is a step of the same model whose lowest block holds all
// neighbours.
func TestExactInputStep(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	const n = 300
	for name, o := range map[string]GCNOptions{
		"paper": {}, "norm and residual": {Norm: NormLayer, Residual: true, Activation: ops.ActivationReLU}, "other order": {Order: TransformFirst},
		"linear": {HiddenResidual: ResidualLinear},
	} {
		t.Run(name, func(t *testing.T) {
			if ops.CUDA && o.HiddenResidual != ResidualNone {
				t.Skip("in this build Gorgonia's own machine adds the two gradients of H in the rows of its compilation")
			}
			for _, of := range []struct {
				byRow bool
				share float64 // with 0.01 most values of P·X are 0
			}{{false, 1}, {true, 1}, {true, 0.01}} {
				p := graph.NewLaplacian(randomGraph(t, rng, n, 900, of.byRow))
				if of.byRow {
					p = graph.NewRowLaplacian(p.Adjacency)
				}
				x, y := thinned(rng, n, 12, of.share), randomLabels(rng, n, 6)
				o.Hidden, o.ClassifierDropout = 17, 0.3
				for _, sizes := range [][]int{{40}, {40, 60}} {
					sampler := &samplers.LayerWise{Laplacian: p, Sizes: sizes, KeepSelf: o.HiddenResidual != ResidualNone}
					o.ExactInput = exactInput(t, p, x)
					exact := newStepped(t, NewBatch(G.NewGraph(), sampler), x, y, o)
					o.ExactInput = nil
					whole := newStepped(t, NewBatch(G.NewGraph(), &samplers.Full{Laplacian: p, Depth: len(sizes) + 1}), x, y, o)
					for _, size := range []int{30, 7, 1, 90} {
						var drawn, lowest samplers.MiniBatch
						if err := sampler.Sample(context.Background(), nodesOf(rng, n, size), rng, &drawn); err != nil {
							t.Fatal(err)
						}
						full := &samplers.Full{Laplacian: p, Depth: 1}
						if err := cmp.Or(samplers.Prepare(full), full.Sample(context.Background(), drawn.Inputs(), nil, &lowest)); err != nil {
							t.Fatal(err)
						}
						seed := rng.Uint64()
						want := whole.run(t, &samplers.MiniBatch{Blocks: append(slices.Clone(lowest.Blocks), drawn.Blocks...)}, seed)
						got := exact.run(t, &drawn, seed)
						for k, name := range exact.names {
							if name != whole.names[k] || !nearly(got[k], want[k]) {
								t.Fatalf("%d layers, %d nodes: %s is %v, without exact input %s is %v", len(sizes)+1, size, name, got[k], whole.names[k], want[k])
							}
						}
					}
				}
			}
		})
	}
}

func nodesOf(rng *rand.Rand, n, count int) []int32 {
	nodes := make([]int32, count)
	for k, v := range rng.Perm(n)[:count] {
		nodes[k] = int32(v)
	}
	return nodes
}

// stepped is a compiled model that returns loss, logits and gradients.
type stepped struct {
	model   *GCN
	machine G.VM
	values  G.Nodes
	names   []string
}

func newStepped(t testing.TB, batch *Batch, x *graph.Features, y *graph.Labels, o GCNOptions) *stepped {
	t.Helper()
	m, err := NewGCN(batch, x, y, o)
	if err != nil {
		t.Fatal(err)
	}
	gradients, err := G.Grad(m.Loss, m.Parameters...)
	if err != nil {
		t.Fatal(err)
	}
	s := &stepped{model: m, machine: G.NewTapeMachine(batch.Graph()), values: append(G.Nodes{m.Logits}, gradients...), names: []string{"logits"}}
	t.Cleanup(func() { s.machine.Close() })
	for _, p := range m.Parameters {
		s.names = append(s.names, p.Name())
	}
	return s
}

func (s *stepped) run(t testing.TB, batch *samplers.MiniBatch, seed uint64) [][]float32 {
	t.Helper()
	if err := s.model.Batch.Set(batch, true, seed); err != nil {
		t.Fatal(err)
	}
	s.machine.Reset()
	if err := s.machine.RunAll(); err != nil {
		t.Fatal(err)
	}
	var out [][]float32
	for _, n := range s.values {
		out = append(out, slices.Clone(n.Value().Data().([]float32)))
	}
	return out
}

// A model with exact input infers the same as without: the same bits if it propagates the
// features first.
func TestExactInputInference(t *testing.T) {
	for name, c := range inferenceCases {
		if c.depth == 1 || c.options.Heads > 0 || c.options.InputDropout > 0 || c.options.InputLayer {
			continue
		}
		check := func(t *testing.T, share float64) {
			rng := rand.New(rand.NewPCG(1, 2))
			const n = 150
			p := graph.NewLaplacian(randomGraph(t, rng, n, 200, c.weighted))
			if c.byRow {
				p = graph.NewRowLaplacian(p.Adjacency)
			}
			x, y := thinned(rng, n, c.features, share), randomLabels(rng, n, c.classes)
			c.options.Hidden, c.options.ExactInput = c.hidden, nil
			_, plain := testModel(t, p, x, y, c.depth, c.options)
			c.options.ExactInput = exactInput(t, p, x)
			if thin := c.options.ExactInput.px.NonZero > 0; thin != (share < 1) {
				t.Fatalf("features with a share of %v values: P·X has few: %v", share, thin)
			}
			_, exact := testModel(t, p, x, y, c.depth-1, c.options)
			for _, nodes := range [][]int32{nil, {5}, {17, 3, 149, 60, 3}} {
				want, err := plain.Infer(context.Background(), p, x, nodes)
				if err != nil {
					t.Fatal(err)
				}
				for call := range 2 {
					got, err := exact.Infer(context.Background(), p, x, nodes)
					if err != nil {
						t.Fatal(err)
					}
					if same := slices.Equal(got, want); !nearly(got, want) || !same && share == 1 && c.features < c.hidden {
						t.Fatalf("call %d, nodes %v: %v, without exact input %v", call, nodes, got, want)
					}
				}
			}
			// On other data P·X is another matrix.
			other := thinned(rng, n, c.features, share)
			want, err := plain.Infer(context.Background(), p, other, nil)
			if err != nil {
				t.Fatal(err)
			}
			if got, err := exact.Infer(context.Background(), p, other, nil); err != nil || !nearly(got, want) {
				t.Errorf("other features: %v, or other logits", err)
			}
		}
		t.Run(name, func(t *testing.T) {
			check(t, 1)
			check(t, 0.02)
		})
	}
}

// A model that is given P·X for inference gives the logits of the same model with exact
// input, bit by bit. With attention, or on other features, it does not use P·X.
func TestReadPropagated(t *testing.T) {
	for name, c := range inferenceCases {
		t.Run(name, func(t *testing.T) {
			rng := rand.New(rand.NewPCG(1, 2))
			const n = 150
			p := graph.NewLaplacian(randomGraph(t, rng, n, 200, c.weighted))
			if c.byRow {
				p = graph.NewRowLaplacian(p.Adjacency)
			}
			x, y := randomFeatures(rng, n, c.features), randomLabels(rng, n, c.classes)
			c.options.Hidden, c.options.Order = c.hidden, PropagateFirst
			_, plain := testModel(t, p, x, y, c.depth, c.options)
			_, reading := testModel(t, p, x, y, c.depth, c.options)
			infer := func(m *GCN, x *graph.Features, nodes []int32) []float32 {
				logits, err := m.Infer(context.Background(), p, x, nodes)
				if err != nil {
					t.Fatal(err)
				}
				return logits
			}
			other := randomFeatures(rng, n, c.features)
			wrong := exactInput(t, p, x)
			wrong.px = &graph.Features{Rows: n, Cols: c.features, Data: make([]float32, n*c.features)}
			for _, nodes := range [][]int32{nil, {17, 3, 149, 60, 3}} {
				want := infer(plain, x, nodes)
				reading.ReadPropagated(exactInput(t, p, x))
				if got := infer(reading, x, nodes); !nearly(got, want) {
					t.Errorf("nodes %v: %v, without P·X %v", nodes, got, want)
				}
				reading.ReadPropagated(wrong)
				if used := !slices.Equal(infer(reading, x, nodes), want); used == (c.options.Heads > 0 || c.options.InputLayer) {
					t.Errorf("nodes %v: P·X is used %v, with %d heads", nodes, used, c.options.Heads)
				}
				if got := infer(reading, other, nodes); !slices.Equal(got, infer(plain, other, nodes)) {
					t.Errorf("nodes %v: P·X is used for other features", nodes)
				}
				reading.ReadPropagated(nil)
				if got := infer(reading, x, nodes); !slices.Equal(got, want) {
					t.Errorf("nodes %v: P·X is used after it was taken away", nodes)
				}
			}
		})
	}
}

// P·X in half precision gives the bits of the same numbers in single precision.
func TestExactInputHalfPrecision(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	const n = 5000 // several chunks
	p := graph.NewLaplacian(randomGraph(t, rng, n, 20000, false))
	x, y := randomFeatures(rng, n, 24), randomLabels(rng, n, 6)
	half, err := exactInput(t, p, x).px.ToHalf()
	if err != nil {
		t.Fatal(err)
	}
	wide := &graph.Features{Rows: n, Cols: 24, Data: half.Float32s()}
	sampler := &samplers.LayerWise{Laplacian: p, Sizes: []int{40}}
	var drawn samplers.MiniBatch
	if err := cmp.Or(samplers.Prepare(sampler), sampler.Sample(context.Background(), nodesOf(rng, n, 50), rng, &drawn)); err != nil {
		t.Fatal(err)
	}
	var first [][]float32
	for _, px := range []*graph.Features{half, wide} {
		e, err := NewExactInput(context.Background(), p, x, px, nil)
		if err != nil {
			t.Fatal(err)
		}
		s := newStepped(t, NewBatch(G.NewGraph(), sampler), x, y, GCNOptions{Hidden: 32, ExactInput: e})
		got := s.run(t, &drawn, 3)
		for _, nodes := range [][]int32{nil, {17, 4999, 0}} {
			logits, err := s.model.Infer(context.Background(), p, x, nodes)
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, logits)
		}
		if first == nil {
			first = got
		}
		for k := range got {
			if !slices.Equal(got[k], first[k]) {
				t.Errorf("value %d differs between the precisions", k)
			}
		}
	}
}

func TestNewExactInput(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	const n, cols = 700, 1 << 14 // several chunks
	p := graph.NewLaplacian(randomGraph(t, rng, n, 900, false))
	x := randomFeatures(rng, n, cols)
	var done []int
	e, err := NewExactInput(context.Background(), p, x, nil, func(k, rows int) {
		if rows != n {
			t.Fatalf("%d rows in all", rows)
		}
		done = append(done, k)
	})
	if err != nil || len(done) < 3 || !slices.IsSorted(done) || done[len(done)-1] != n {
		t.Fatalf("%v, progress %v", err, done)
	}
	for _, v := range []int{0, 255, 256, n - 1} {
		want := make([]float64, 3)
		for u := range n {
			for j := range want {
				want[j] += float64(p.At(v, u)) * float64(x.Row(u)[j])
			}
		}
		for j, w := range want {
			if got := float64(e.px.Row(v)[j]); got-w > 1e-5 || w-got > 1e-5 {
				t.Errorf("row %d, column %d: %v, want %v", v, j, got, w)
			}
		}
	}
	if e.Bytes() != 4*n*(cols+1) {
		t.Errorf("%d bytes", e.Bytes())
	}
	ctx, cancel := context.WithCancel(context.Background())
	if _, err := NewExactInput(ctx, p, x, nil, func(int, int) { cancel() }); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	y := randomLabels(rng, n, 3)
	short := randomFeatures(rng, n-1, 4)
	for what, err := range map[string]error{
		"no features":      second(NewExactInput(context.Background(), p, nil, nil, nil)),
		"features of less": second(NewExactInput(context.Background(), p, short, nil, nil)),
		"P·X of less":      second(NewExactInput(context.Background(), p, x, short, nil)),
		"no layer":         second(NewGCN(NewBatch(G.NewGraph(), nil), x, y, GCNOptions{ExactInput: e})),
		"other features":   second(NewGCN(NewBatch(G.NewGraph(), &samplers.Full{Laplacian: p, Depth: 1}), randomFeatures(rng, n, 4), y, GCNOptions{ExactInput: e})),
	} {
		if err == nil {
			t.Errorf("%s: no error", what)
		}
	}
}

func second[T any](_ T, err error) error { return err }

// A step does not request rows of P·X that Batch.Prefetch has requested, and requests those of
// any other batch.
func TestExactInputPrefetches(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	const n = 300
	p := graph.NewLaplacian(randomGraph(t, rng, n, 900, false))
	x, y := randomFeatures(rng, n, 12), randomLabels(rng, n, 6)
	px, requests := *exactInput(t, p, x).px, 0
	px.Prefetch = func([]int32) { requests++ }
	e, err := NewExactInput(t.Context(), p, x, &px, nil)
	if err != nil {
		t.Fatal(err)
	}
	sampler := &samplers.LayerWise{Laplacian: p, Sizes: []int{40}}
	s := newStepped(t, NewBatch(G.NewGraph(), sampler), x, y, GCNOptions{Hidden: 17, ExactInput: e})
	var batch samplers.MiniBatch
	for seed := range uint64(4) {
		if err := sampler.Sample(t.Context(), nodesOf(rng, n, 30), rng, &batch); err != nil {
			t.Fatal(err)
		}
		requests = 0
		if seed%2 == 0 {
			s.model.Batch.Prefetch(&batch)
		}
		if s.run(t, &batch, seed); requests != 1 {
			t.Errorf("batch %d: %d requests, want 1", seed, requests)
		}
	}
}
