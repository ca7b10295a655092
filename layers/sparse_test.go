package layers

import (
	"context"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"

	"github.com/gcn-layerwise/gcn/graph"
	"github.com/gcn-layerwise/gcn/ops"
	"github.com/gcn-layerwise/gcn/samplers"
	G "gorgonia.org/gorgonia"
)

// thinned returns random features. Only the given share of them is not 0.
func thinned(rng *rand.Rand, rows, cols int, share float64) *graph.Features {
	x := randomFeatures(rng, rows, cols)
	for k := range x.Data {
		if rng.Float64() > share {
			x.Data[k] = 0
		}
	}
	return x
}

// A step with sparse features is a step with the same features held dense.
func TestSparseFeaturesStep(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	const n = 300
	for name, o := range map[string]GCNOptions{
		"paper": {Order: PropagateFirst}, "other order": {Order: TransformFirst}, "equation": {Form: FormEquation},
		"norm and residual": {Norm: NormLayer, Residual: true}, "input layer": {InputLayer: true}, "input dropout": {InputDropout: 0.4},
		"linear": {HiddenResidual: ResidualLinear}, "identity": {HiddenResidual: ResidualIdentity}, "attention": {Heads: 2}, "bias after": {BiasAfter: true},
		"pre-norm": {PreNorm: true, Norm: NormLayer, HiddenResidual: ResidualIdentity},
	} {
		t.Run(name, func(t *testing.T) {
			if ops.CUDA && o.HiddenResidual != ResidualNone {
				t.Skip("in this build Gorgonia's own machine adds the two gradients of H in the rows of its compilation")
			}
			p := graph.NewLaplacian(randomGraph(t, rng, n, 900, false))
			x, y := thinned(rng, n, 60, 0.05), randomLabels(rng, n, 6)
			o.Hidden = 18
			if name == "identity" {
				o.Hidden = 60 // as wide as the features
			}
			sampler := &samplers.LayerWise{Laplacian: p, Sizes: []int{40, 60}, KeepSelf: o.HiddenResidual != ResidualNone || o.Heads > 0}
			dense := newStepped(t, NewBatch(G.NewGraph(), sampler), x, y, o)
			sparse := newStepped(t, NewBatch(G.NewGraph(), sampler), x.ToSparse(), y, o)
			for _, size := range []int{30, 7, 1, 90} {
				var drawn samplers.MiniBatch
				if err := sampler.Sample(context.Background(), nodesOf(rng, n, size), rng, &drawn); err != nil {
					t.Fatal(err)
				}
				seed := rng.Uint64()
				want, got := dense.run(t, &drawn, seed), sparse.run(t, &drawn, seed)
				for k, name := range dense.names {
					if !nearly(got[k], want[k]) {
						t.Fatalf("%d nodes: %s is %v, of dense features %v", size, name, got[k], want[k])
					}
				}
			}
		})
	}
}

// Inference with sparse features agrees with the dense formula, for all nodes, for some, for
// a few, with P·X known, and for a new node.
func TestSparseFeaturesInfer(t *testing.T) {
	for name, c := range inferenceCases {
		t.Run(name, func(t *testing.T) {
			for _, share := range []float64{0.03, 0.4} { // P·X is sparse, or dense
				checkSparseInference(t, c, share)
			}
		})
	}
}

func checkSparseInference(t *testing.T, c inferenceCase, share float64) {
	rng := rand.New(rand.NewPCG(1, 2))
	const n = 400
	p := graph.NewLaplacian(randomGraph(t, rng, n, 500, c.weighted))
	if c.byRow {
		p = graph.NewRowLaplacian(p.Adjacency)
	}
	x, y := thinned(rng, n, c.features, share), randomLabels(rng, n, c.classes)
	sparse := x.ToSparse()
	c.options.Hidden = c.hidden
	_, m := testModel(t, p, sparse, y, c.depth, c.options)
	want := denseLogits(t, p, x, m, c.options)
	some := make([]int32, 300) // more than a few
	for k := range some {
		some[k] = int32(rng.IntN(n))
	}
	check := func(what string) {
		for _, nodes := range [][]int32{nil, {5}, {17, 3, 149, 60, 3}, some} {
			for range 2 {
				got, err := m.Infer(context.Background(), p, sparse, nodes)
				if err != nil {
					t.Fatal(err)
				}
				checkClose(t, fmt.Sprint(what, len(nodes), " nodes"), got, want, nodes)
			}
		}
	}
	check("")
	all, err := m.Infer(context.Background(), p, sparse, nil)
	if err != nil {
		t.Fatal(err)
	}
	before := runtime.GOMAXPROCS(1)
	alone, err := m.Infer(context.Background(), p, sparse, nil)
	runtime.GOMAXPROCS(before)
	if err != nil || !slices.Equal(alone, all) {
		t.Errorf("one core gives other bits, or %v", err)
	}
	m.ReadPropagated(exactInput(t, p, sparse))
	check("P·X known, ")
	m.ReadPropagated(nil)
	node := newNode{Features: x.Row(3), Neighbors: slices.Clone(p.Adjacency.Row(3))}
	if c.weighted {
		node.Weights = p.Adjacency.RowValues(3)
	}
	got, err := inferNew(m, p, sparse, node)
	if err != nil {
		t.Fatal(err)
	}
	again, err := inferNew(m, p, x, node)
	if err != nil || !slices.Equal(got, again) {
		t.Errorf("a new node: %v, of dense features %v: %v", got, again, err)
	}
}

func TestSparseFeaturesOnDevice(t *testing.T) {
	d := testDevice(t)
	rng := rand.New(rand.NewPCG(3, 4))
	p := graph.NewLaplacian(randomGraph(t, rng, 150, 400, false))
	x, y := thinned(rng, 150, 9, 0.2), randomLabels(rng, 150, 5)
	sparse := x.ToSparse()
	_, m := testModel(t, p, sparse, y, 2, GCNOptions{Hidden: 16, Residual: true})
	want := denseLogits(t, p, x, m, GCNOptions{Residual: true})
	m.Device = d
	got, err := m.Infer(context.Background(), p, sparse, nil)
	if err != nil {
		t.Fatal(err)
	}
	checkClose(t, "device", got, want, nil)
}

// BenchmarkSparseFeatures is a step, forward and backward, and full-neighbour inference with a
// bag of words: 5,000 columns, 0.75 % filled.
func BenchmarkSparseFeatures(b *testing.B) {
	const nodes, cols, words = 8000, 5000, 37
	rng := rand.New(rand.NewPCG(1, 2))
	dense := &graph.Features{Rows: nodes, Cols: cols, Data: make([]float32, nodes*cols)}
	for i := range nodes {
		for range words {
			dense.Data[i*cols+rng.IntN(cols)] = 1
		}
	}
	p, y := graph.NewLaplacian(randomGraph(b, rng, nodes, 5*nodes, false)), randomLabels(rng, nodes, 10)
	for name, x := range map[string]*graph.Features{"dense": dense, "sparse": dense.ToSparse()} {
		for order, o := range map[string]Order{"(PX)W": PropagateFirst, "P(XW)": TransformFirst} {
			b.Run(fmt.Sprintf("step/order=%s/features=%s", order, name), func(b *testing.B) {
				sampler := &samplers.LayerWise{Laplacian: p, Sizes: []int{512, 512}}
				s := newStepped(b, NewBatch(G.NewGraph(), sampler), x, y, GCNOptions{Order: o})
				var drawn samplers.MiniBatch
				if err := sampler.Sample(context.Background(), nodesOf(rng, nodes, 512), rng, &drawn); err != nil {
					b.Fatal(err)
				}
				for b.Loop() {
					s.run(b, &drawn, 1)
				}
			})
		}
		b.Run("infer/features="+name, func(b *testing.B) {
			_, m := testModel(b, p, x, y, 2, GCNOptions{})
			for b.Loop() {
				if _, err := m.Infer(context.Background(), p, x, nil); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
