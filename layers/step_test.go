package layers

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/gcn-layerwise/gcn/graph"
	"github.com/gcn-layerwise/gcn/internal/reference"
	"github.com/gcn-layerwise/gcn/ops"
	"github.com/gcn-layerwise/gcn/samplers"
	G "gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// referenceOf returns the reference's model with the parameters of m, and its blocks.
func referenceOf(m *GCN, blocks []*graph.Block) (model reference.GCN, sampled []reference.Block) {
	for l := range m.Parameters {
		if p := parameterOf(m.Parameters[l]); m.Parameters[l].Dims() == 1 {
			model.B = append(model.B, p)
		} else {
			model.W = append(model.W, p)
		}
	}
	for _, b := range blocks {
		sampled = append(sampled, reference.Block{Dst: b.Dst, Src: b.Src, P: matrixOfCSR(&b.Matrix)})
	}
	return model, sampled
}

// masksOf returns the masks of the dropouts of a mode with that seed.
func masksOf(t *testing.T, seed uint64, training bool, rates []float64, rows []int, cols int) []matrix {
	t.Helper()
	g := G.NewGraph()
	mode := &ops.Mode{Training: training, Seed: seed}
	var nodes G.Nodes
	for k, rate := range rates {
		ones := tensor.New(tensor.WithShape(rows[k], cols), tensor.WithBacking(slices.Repeat([]float32{1}, rows[k]*cols)))
		in := G.NewMatrix(g, tensor.Float32, G.WithShape(rows[k], cols), G.WithName(string(rune('a'+k))), G.WithValue(ones))
		n, err := ops.Dropout(in, rate, mode)
		if err != nil {
			t.Fatal(err)
		}
		nodes = append(nodes, n)
	}
	machine := G.NewTapeMachine(g)
	defer machine.Close()
	if err := machine.RunAll(); err != nil {
		t.Fatal(err)
	}
	var masks []matrix
	for _, n := range nodes {
		masks = append(masks, matrixOf(n.Shape()[0], cols, n.Value().Data().([]float32)))
	}
	return masks
}

// A step of the compiled model, over sampled batches of several sizes, agrees with the
// reference.
func TestStepAgainstReference(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	const n, features, hidden, classes = 300, 12, 17, 6
	p := graph.NewLaplacian(randomGraph(t, rng, n, 900, false))
	x, y := randomFeatures(rng, n, features), randomLabels(rng, n, classes)
	for _, order := range []Order{PropagateFirst, TransformFirst} {
		for _, c := range []struct {
			options GCNOptions
			rates   []float64
		}{
			{GCNOptions{}, []float64{0.2, 1 - 0.8*0.8}},
			{GCNOptions{ClassifierDropout: NoDropout}, []float64{0.2, 0.2}},
			{GCNOptions{ClassifierDropout: 0.3}, []float64{0.2, 1 - 0.8*0.7}},
			{GCNOptions{Form: FormEquation}, []float64{0.2}},
		} {
			c.options.Hidden, c.options.Order, c.options.Seed = hidden, order, 5
			sampler := &samplers.LayerWise{Laplacian: p, Sizes: []int{40, 60}}
			batch := NewBatch(G.NewGraph(), sampler)
			m, err := NewGCN(batch, x, y, c.options)
			if err != nil {
				t.Fatal(err)
			}
			gradients, err := G.Grad(m.Loss, m.Parameters...)
			if err != nil {
				t.Fatal(err)
			}
			machine := G.NewTapeMachine(batch.Graph())
			defer machine.Close()
			for k, size := range []int{30, 30, 7, 1, 90} {
				seeds := make([]int32, size)
				for i, v := range rng.Perm(n)[:size] {
					seeds[i] = int32(v)
				}
				var drawn samplers.MiniBatch
				if err := sampler.Sample(context.Background(), seeds, rng, &drawn); err != nil {
					t.Fatal(err)
				}
				if k == 1 {
					for range drawn.Outputs() {
						drawn.LossWeights = append(drawn.LossWeights, rng.Float32())
					}
				}
				training, seed := k != 2, rng.Uint64()
				if err := batch.Set(&drawn, training, seed); err != nil {
					t.Fatal(err)
				}
				if err := machine.RunAll(); err != nil {
					t.Fatal(err)
				}
				rows := []int{len(drawn.Blocks[0].Dst), len(drawn.Outputs())}
				masks := masksOf(t, seed, training, c.rates, rows, hidden)
				var weights []float64
				for _, w := range drawn.LossWeights {
					weights = append(weights, float64(w))
				}
				model, blocks := referenceOf(m, drawn.Blocks)
				loss, gradient := model.Step(blocks, matrixOf(n, features, x.Data), y.Class, weights, masks)
				if got := float64(m.Loss.Value().Data().(float32)); math.Abs(got-loss) > 1e-5*math.Max(1, loss) {
					t.Errorf("batch %d: loss %v, want %v", k, got, loss)
				}
				for l, want := range gradient.Parameters() {
					compareGradient(t, m.Parameters[l].Name(), gradients[l].Value().Data().([]float32), slices.Concat(want...))
				}
				machine.Reset()
			}
		}
	}
}

// compareGradient allows 1e-5 of the largest element.
func compareGradient(t *testing.T, name string, got []float32, want []float64) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("gradient of %s has %d elements, want %d", name, len(got), len(want))
	}
	var largest float64
	for _, w := range want {
		largest = math.Max(largest, math.Abs(w))
	}
	if largest == 0 {
		t.Errorf("gradient of %s is 0", name)
	}
	for i, w := range want {
		if math.Abs(float64(got[i])-w) > 1e-5*largest {
			t.Fatalf("gradient of %s at %d is %v, want %v (largest %v)", name, i, got[i], w, largest)
		}
	}
}
