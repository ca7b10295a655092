//go:build cuda

package layers

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gorgonia.org/cu"

	"github.com/gcn-layerwise/gcn/graph"
	"github.com/gcn-layerwise/gcn/ops"
)

// testDevice opens the device, emulated or real, or skips the test where there is
// none.
func testDevice(t testing.TB) *ops.Device {
	t.Helper()
	if err := cu.Available(); err != nil {
		t.Skipf("no device: %v", err)
	}
	d, err := ops.OpenDevice("cuda")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	})
	return d
}

// Inference on the device agrees with that on the CPU, whatever the model, the
// order of its products, the nodes and the chunks.
func TestInferOn(t *testing.T) {
	d := testDevice(t)
	rng := rand.New(rand.NewPCG(3, 4))
	const nodes = 150
	chunks := map[string]func(int) int{"one chunk": deviceChunk, "chunks of 7": func(int) int { return 7 }}
	for _, weighted := range []bool{false, true} {
		a := randomGraph(t, rng, nodes, 400, weighted)
		p := graph.NewLaplacian(a)
		if weighted {
			p = graph.NewRowLaplacian(a)
		}
		y := randomLabels(rng, nodes, 5)
		for _, width := range []int{3, 40} { // the hidden layers are wider, or narrower
			x := randomFeatures(rng, nodes, width)
			for depth := 1; depth <= 3; depth++ {
				for name, o := range map[string]GCNOptions{
					"plain": {}, "norm": {LayerNorm: true}, "residual": {Residual: true, Activation: ops.ActivationReLU},
				} {
					o.Hidden = 16
					_, m := testModel(t, p, x, y, depth, o)
					for what, wanted := range map[string][]int32{"all": nil, "few": {7}, "some": {149, 3, 3, 80, 12}} {
						want, err := m.Infer(context.Background(), p, x, wanted)
						if err != nil {
							t.Fatal(err)
						}
						for how, chunk := range chunks {
							got, err := m.inferOn(context.Background(), d, p, x, wanted, chunk)
							if err != nil {
								t.Fatal(err)
							}
							if !nearly(got, want) {
								t.Fatalf("%s, width %d, depth %d, %s nodes, %s: device gives\n%v, CPU\n%v", name, width, depth, what, how, got, want)
							}
							again, err := m.inferOn(context.Background(), d, p, x, wanted, chunk)
							if err != nil || !slices.Equal(got, again) {
								t.Fatalf("%s: a second call gives other bits (%v)", name, err)
							}
						}
					}
				}
			}
		}
	}
}

// nearly tells whether a and b agree to 1e-5 of the largest value.
func nearly(a, b []float32) bool {
	var largest, worst float64
	for k, v := range b {
		largest = math.Max(largest, math.Abs(float64(v)))
		worst = math.Max(worst, math.Abs(float64(v)-float64(a[k])))
	}
	return len(a) == len(b) && worst <= 1e-5*largest
}

func TestInferOnErrors(t *testing.T) {
	d := testDevice(t)
	rng := rand.New(rand.NewPCG(3, 4))
	p := graph.NewLaplacian(randomGraph(t, rng, 50, 100, false))
	x := randomFeatures(rng, 50, 4)
	_, m := testModel(t, p, x, randomLabels(rng, 50, 3), 2, GCNOptions{Hidden: 8})
	if _, err := m.InferOn(context.Background(), d, p, x, []int32{50}); err == nil {
		t.Error("a node outside the graph is no error")
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := m.InferOn(ctx, d, p, x, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("a cancelled call gives error %v", fmt.Sprint(err))
	}
}
