package layers

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/gcn-layerwise/gcn/graph"
	"github.com/gcn-layerwise/gcn/ops"
)

// testDevice opens the device, emulated or real. Without one it skips the test.
func testDevice(t testing.TB) *ops.Device {
	t.Helper()
	d, err := ops.OpenDevice("cuda")
	if err != nil {
		t.Skip(err)
	}
	t.Cleanup(func() {
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	})
	return d
}

// Inference on the device agrees with the CPU's, for all models, orders of products, nodes
// and chunk sizes.
func TestInferOnDevice(t *testing.T) {
	d := testDevice(t)
	rng := rand.New(rand.NewPCG(3, 4))
	const nodes = 150
	var first []float32
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
					"plain": {}, "norm": {Norm: NormLayer}, "residual": {Residual: true, Activation: ops.ActivationReLU},
					"equation": {Form: FormEquation}, "equation with more": {Form: FormEquation, Norm: NormLayer, Residual: true},
					"identity": {HiddenResidual: ResidualIdentity}, "input layer and linear": {InputLayer: true, HiddenResidual: ResidualLinear},
					"feed-forward": {PreNorm: true, FeedForward: true, Norm: NormLayer, InputLayer: true, HiddenResidual: ResidualIdentity, Activation: ops.ActivationGELU},
					"own state":    {OwnState: true, PreNorm: true, Norm: NormLayer, InputLayer: true},
					"batch norm":   {Norm: NormBatch}, "pre-norm": {PreNorm: true, Norm: NormLayer, InputLayer: true}, "pre-norm of attention": {PreNorm: true, Norm: NormLayer, Heads: 2},
					"attention": {Heads: 4}, "plain attention of the equation": {Form: FormEquation, Heads: 2, OutputHeads: 3, PlainAttention: true},
				} {
					o.Hidden = 16
					_, m := testModel(t, p, x, y, depth, o)
					for what, wanted := range map[string][]int32{"all": nil, "few": {7}, "some": {149, 3, 3, 80, 12}} {
						m.Device = nil
						want, err := m.Infer(context.Background(), p, x, wanted)
						if err != nil {
							t.Fatal(err)
						}
						m.Device = d
						for how, rows := range map[string]int{"one chunk": 0, "chunks of 7": 7} {
							for call := range 2 {
								got, err := inferInChunks(m, p, x, wanted, rows)
								if err != nil {
									t.Fatal(err)
								}
								if !nearly(got, want) {
									t.Fatalf("%s, width %d, depth %d, %s nodes, %s: device gives\n%v, CPU\n%v", name, width, depth, what, how, got, want)
								}
								if call > 0 && !slices.Equal(got, first) {
									t.Fatalf("%s: a second call gives other bits", name)
								}
								first = got
							}
						}
					}
				}
			}
		}
	}
}

// inferInChunks is m.Infer on its device with chunks of the given number of rows; 0 means
// the device's own choice.
func inferInChunks(m *GCN, p *graph.Laplacian, x *graph.Features, nodes []int32, rows int) ([]float32, error) {
	if rows == 0 {
		return m.Infer(context.Background(), p, x, nodes)
	}
	m.full.Chunk = rows
	defer func() { m.full.Chunk = 0 }()
	return m.Infer(context.Background(), p, x, nodes)
}

// nearly reports whether a and b agree to 1e-5 of the largest value.
func nearly(a, b []float32) bool {
	var largest, worst float64
	for k, v := range b {
		largest = math.Max(largest, math.Abs(float64(v)))
		worst = math.Max(worst, math.Abs(float64(v)-float64(a[k])))
	}
	return len(a) == len(b) && worst <= 1e-5*largest
}

// Calls on the CPU between those on the device change nothing, and calls that fail or keep nothing
// leave no memory there.
func TestInferOnDeviceAgain(t *testing.T) {
	d := testDevice(t)
	rng := rand.New(rand.NewPCG(3, 4))
	const n = 1500
	p := graph.NewLaplacian(randomGraph(t, rng, n, 2000, false))
	x := randomFeatures(rng, n, 4)
	nodes := nodesOf(rng, n, 400)
	for _, o := range []GCNOptions{{Hidden: 8, Heads: 2}, {Hidden: 8}} {
		_, m := testModel(t, p, x, randomLabels(rng, n, 3), 2, o)
		var want []float32
		for range 3 {
			var err error
			if want, err = m.Infer(t.Context(), p, x, nodes); err != nil {
				t.Fatal(err)
			}
		}
		hidden, _, err := m.InferHidden(t.Context(), p, x, nodes, 1)
		if err != nil {
			t.Fatal(err)
		}
		var held int64
		for k := range 4 {
			m.Device = d
			got, err := m.Infer(t.Context(), p, x, nodes)
			if err != nil || !nearly(got, want) {
				t.Fatalf("call %d: %v, or other logits", k, err)
			}
			if got, _, err := m.InferHidden(t.Context(), p, x, nodes, 1); err != nil || !nearly(got, hidden) {
				t.Fatalf("call %d: %v, or other hidden outputs", k, err)
			}
			if _, err := m.Infer(newCountdown(1), p, x, nodes[:300]); !errors.Is(err, context.Canceled) {
				t.Errorf("a cancelled call gives %v", err)
			}
			m.Device = nil
			if _, err := m.Infer(t.Context(), p, x, nodes); err != nil {
				t.Fatal(err)
			}
			if k == 0 {
				held = d.Usage().Bytes
			}
			if d.Usage().Bytes != held {
				t.Errorf("call %d: %d bytes on the device, after %d", k, d.Usage().Bytes, held)
			}
		}
	}
}

func TestInferOnDeviceErrors(t *testing.T) {
	d := testDevice(t)
	rng := rand.New(rand.NewPCG(3, 4))
	p := graph.NewLaplacian(randomGraph(t, rng, 50, 100, false))
	x := randomFeatures(rng, 50, 4)
	_, m := testModel(t, p, x, randomLabels(rng, 50, 3), 2, GCNOptions{Hidden: 8})
	m.Device = d
	if _, err := m.Infer(context.Background(), p, x, []int32{50}); err == nil {
		t.Error("a node outside the graph is no error")
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := m.Infer(ctx, p, x, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("a cancelled call gives error %v", fmt.Sprint(err))
	}
}
