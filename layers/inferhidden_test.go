package layers

import (
	"context"
	"math/rand/v2"
	"testing"

	"github.com/gcn-layerwise/gcn/graph"
	"github.com/gcn-layerwise/gcn/samplers"
	G "gorgonia.org/gorgonia"
)

// TestInferHidden compares with the same layers as a model without a classifier.
func TestInferHidden(t *testing.T) {
	for name, c := range inferenceCases {
		t.Run(name, func(t *testing.T) {
			rng := rand.New(rand.NewPCG(1, 2))
			const n = 150
			p := graph.NewLaplacian(randomGraph(t, rng, n, 200, c.weighted))
			x, y := randomFeatures(rng, n, c.features), randomLabels(rng, n, c.classes)
			c.options.Hidden = c.hidden
			_, m := testModel(t, p, x, y, c.depth, c.options)
			for layer := 1; layer <= c.depth; layer++ {
				below := &GCN{Model: Model{Parameters: m.Parameters}, Input: m.Input, Convolutions: m.Convolutions[:layer]}
				want := denseLogits(t, p, x, below, c.options)
				for _, nodes := range [][]int32{nil, {5}, {17, 3, 149, 17}} {
					got, width, err := m.InferHidden(context.Background(), p, x, nodes, layer)
					if err != nil || width != len(want[0]) {
						t.Fatalf("%d columns, want %d: %v", width, len(want[0]), err)
					}
					checkClose(t, name, got, want, nodes)
				}
			}
			for _, layer := range []int{-1, 0, c.depth + 1} {
				if _, _, err := m.InferHidden(context.Background(), p, x, nil, layer); err == nil {
					t.Errorf("no error about layer %d", layer)
				}
			}
		})
	}
	rng := rand.New(rand.NewPCG(1, 2))
	p := graph.NewLaplacian(randomGraph(t, rng, 50, 90, false))
	x := randomFeatures(rng, 50, 4)
	m, err := NewGCN(NewBatch(G.NewGraph(), &samplers.Full{Laplacian: p, Depth: 1}), x, randomLabels(rng, 50, 3),
		GCNOptions{Hidden: 5, ExactInput: exactInput(t, p, x)})
	if err != nil {
		t.Fatal(err)
	}
	got, _, err := m.InferHidden(context.Background(), p, x, nil, 1)
	if err != nil {
		t.Fatal(err)
	}
	checkClose(t, "exact input", got, denseLogits(t, p, x, &GCN{Convolutions: m.Convolutions[:1]}, GCNOptions{}), nil)
}

// InferHidden reports its progress, as Infer does.
func TestInferHiddenProgress(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	const n = 700
	p := graph.NewLaplacian(randomGraph(t, rng, n, 2000, false))
	x, y := randomFeatures(rng, n, 8), randomLabels(rng, n, 3)
	_, m := testModel(t, p, x, y, 3, GCNOptions{Hidden: 16})
	calls, last := 0, 0
	m.Progress = func(done, total int) {
		if calls++; total != 2*n || done < last {
			t.Errorf("%d of %d rows, after %d", done, total, last)
		}
		last = done
	}
	if _, _, err := m.InferHidden(t.Context(), p, x, nil, 2); err != nil || calls < 2 || last != 2*n {
		t.Errorf("%v; %d calls, the last of %d rows", err, calls, last)
	}
	calls = 0
	if _, err := m.Infer(t.Context(), p, x, []int32{1, 2}); err != nil || calls > 0 {
		t.Errorf("%v; %d calls about a few nodes", err, calls)
	}
}
