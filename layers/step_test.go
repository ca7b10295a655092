package layers

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/gcn-layerwise/gcn/graph"
	"github.com/gcn-layerwise/gcn/ops"
	"github.com/gcn-layerwise/gcn/samplers"
	G "gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// step is the result of one training step: the loss, and the gradient of each parameter in
// the model's order.
type step struct {
	loss      float64
	gradients [][]float64
}

// referenceStep is a step of the model of the paper's program in float64, line by line, with
// given dropout masks, one a convolution.
func referenceStep(m *GCN, blocks []*graph.Block, x *graph.Features, y *graph.Labels, weights []float32, masks []matrix) step {
	w0, b0 := parameterOf(m.Parameters[0]), parameterOf(m.Parameters[1])
	w1, b1 := parameterOf(m.Parameters[2]), parameterOf(m.Parameters[3])
	wc, bc := parameterOf(m.Parameters[4]), parameterOf(m.Parameters[5])
	p0, p1 := matrixOfCSR(&blocks[0].Matrix), matrixOfCSR(&blocks[1].Matrix)
	x0 := rowsOf(x, blocks[0].Src)

	z0 := p0.times(x0.times(w0).plusRow(b0))
	h0 := z0.each(func(i, j int) float64 { return elu(z0.at(i, j)) * masks[0].at(i, j) })
	z1 := p1.times(h0.times(w1).plusRow(b1))
	h1 := z1.each(func(i, j int) float64 { return elu(z1.at(i, j)) * masks[1].at(i, j) })
	logits := h1.times(wc).plusRow(bc)

	loss, dlogits := crossEntropy(logits, blocks[1].Dst, y, weights)
	dwc, dbc := h1.transposed().times(dlogits), dlogits.columnSums()
	dh1 := dlogits.times(wc.transposed())
	dz1 := dh1.each(func(i, j int) float64 { return dh1.at(i, j) * masks[1].at(i, j) * eluSlope(z1.at(i, j)) })
	dq1 := p1.transposed().times(dz1)
	dw1, db1 := h0.transposed().times(dq1), dq1.columnSums()
	dh0 := dq1.times(w1.transposed())
	dz0 := dh0.each(func(i, j int) float64 { return dh0.at(i, j) * masks[0].at(i, j) * eluSlope(z0.at(i, j)) })
	dq0 := p0.transposed().times(dz0)
	dw0, db0 := x0.transposed().times(dq0), dq0.columnSums()
	return step{loss, [][]float64{dw0.data, db0, dw1.data, db1, dwc.data, dbc}}
}

// referenceEquation is a step of the paper's equation 1, with one dropout mask.
func referenceEquation(m *GCN, blocks []*graph.Block, x *graph.Features, y *graph.Labels, weights []float32, masks []matrix) step {
	w0, w1 := parameterOf(m.Parameters[0]), parameterOf(m.Parameters[1])
	p0, p1 := matrixOfCSR(&blocks[0].Matrix), matrixOfCSR(&blocks[1].Matrix)
	x0 := rowsOf(x, blocks[0].Src)
	z0 := p0.times(x0.times(w0))
	h0 := z0.each(func(i, j int) float64 { return elu(z0.at(i, j)) * masks[0].at(i, j) })
	z1 := p1.times(h0.times(w1))
	loss, dz1 := crossEntropy(z1, blocks[1].Dst, y, weights)
	dq1 := p1.transposed().times(dz1)
	dh0 := dq1.times(w1.transposed())
	dz0 := dh0.each(func(i, j int) float64 { return dh0.at(i, j) * masks[0].at(i, j) * eluSlope(z0.at(i, j)) })
	dw0 := x0.transposed().times(p0.transposed().times(dz0))
	return step{loss, [][]float64{dw0.data, h0.transposed().times(dq1).data}}
}

func rowsOf(x *graph.Features, ids []int32) matrix {
	m := matrix{len(ids), x.Cols, nil}
	for _, v := range ids {
		for _, f := range x.Row(int(v)) {
			m.data = append(m.data, float64(f))
		}
	}
	return m
}

// crossEntropy returns the loss, and its gradient by the logits of the nodes dst.
func crossEntropy(logits matrix, dst []int32, y *graph.Labels, weights []float32) (loss float64, dlogits matrix) {
	dlogits = logits.each(func(i, j int) float64 {
		var sum float64
		for k := range logits.cols {
			sum += math.Exp(logits.at(i, k))
		}
		class := int(y.Class[dst[i]])
		weight := 1 / float64(logits.rows)
		if weights != nil {
			weight = float64(weights[i])
		}
		probability := math.Exp(logits.at(i, j)) / sum
		if j == class {
			loss -= weight * math.Log(probability)
			return weight * (probability - 1)
		}
		return weight * probability
	})
	return loss, dlogits
}

func elu(v float64) float64 {
	if v > 0 {
		return v
	}
	return math.Exp(v) - 1
}

func eluSlope(v float64) float64 { return math.Min(1, math.Exp(v)) }

func matrixOfCSR(a *graph.CSR) matrix {
	m := matrix{a.Rows, a.Cols, make([]float64, a.Rows*a.Cols)}
	for i := range a.Rows {
		for k, j := range a.Row(i) {
			m.data[i*a.Cols+int(j)] = float64(a.RowValues(i)[k])
		}
	}
	return m
}

func (m matrix) plusRow(b matrix) matrix {
	return m.each(func(i, j int) float64 { return m.at(i, j) + b.data[j] })
}

func (m matrix) columnSums() []float64 {
	sums := make([]float64, m.cols)
	for i := range m.rows {
		for j := range m.cols {
			sums[j] += m.at(i, j)
		}
	}
	return sums
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
			options   GCNOptions
			rates     []float64
			reference func(*GCN, []*graph.Block, *graph.Features, *graph.Labels, []float32, []matrix) step
		}{
			{GCNOptions{}, []float64{0.2, 1 - 0.8*0.8}, referenceStep},
			{GCNOptions{ClassifierDropout: NoDropout}, []float64{0.2, 0.2}, referenceStep},
			{GCNOptions{ClassifierDropout: 0.3}, []float64{0.2, 1 - 0.8*0.7}, referenceStep},
			{GCNOptions{Form: FormEquation}, []float64{0.2}, referenceEquation},
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
				weights := drawn.LossWeights
				if len(weights) == 0 {
					weights = nil
				}
				want := c.reference(m, drawn.Blocks, x, y, weights, masks)
				if got := float64(m.Loss.Value().Data().(float32)); math.Abs(got-want.loss) > 1e-5*math.Max(1, want.loss) {
					t.Errorf("batch %d: loss %v, want %v", k, got, want.loss)
				}
				for l, g := range gradients {
					compareGradient(t, m.Parameters[l].Name(), g.Value().Data().([]float32), want.gradients[l])
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
