package layers

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/gcn-layerwise/gcn/graph"
	"github.com/gcn-layerwise/gcn/internal/reference"
	"github.com/gcn-layerwise/gcn/samplers"
	G "gorgonia.org/gorgonia"
)

// denseAttention is an attention over z and full neighbourhoods, without the bias.
func denseAttention(p *graph.Laplacian, a *Attention, z matrix) matrix {
	source, target := parameterOf(a.Source), parameterOf(a.Target)
	n, width := p.Nodes(), len(z[0])/a.Heads
	out := z.Each(func(int, int) float64 { return 0 })
	for h := range a.Heads {
		score := func(v matrix, i int) (sum float64) {
			for c := h * width; c < (h+1)*width; c++ {
				sum += v[0][c] * z[i][c]
			}
			return sum
		}
		for i := range n {
			row := append([]int32{int32(i)}, p.Adjacency.Row(i)...)
			weights, total := make([]float64, len(row)), 0.0
			for k, j := range row {
				q := score(source, int(j)) + score(target, i)
				weights[k] = math.Exp(math.Max(q, 0.2*q))
				if k > 0 && p.Adjacency.Val != nil && !a.Plain {
					weights[k] *= float64(p.Adjacency.RowValues(i)[k-1])
				}
				total += weights[k]
			}
			for k, j := range row {
				for c := h * width; c < (h+1)*width; c++ {
					out[i][c] += weights[k] / total * z[int(j)][c]
				}
			}
		}
	}
	if !a.Average {
		return out
	}
	return reference.NewMatrix(n, width, func(i, j int) (sum float64) {
		for h := range a.Heads {
			sum += out[i][h*width+j] / float64(a.Heads)
		}
		return sum
	})
}

func TestGATParameters(t *testing.T) {
	g := G.NewGraph()
	conv, err := NewGATConv(g, "a", 7, 6, 3, false, ParameterOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, n := range g.AllNodes() {
		names = append(names, fmt.Sprint(n.Name(), n.Shape()))
	}
	if want := []string{"a.weight(7, 6)", "a.source(6)", "a.target(6)", "a.bias(6)"}; !slices.Equal(names, want) {
		t.Errorf("parameters are %v, want %v", names, want)
	}
	source := conv.Attention.Source.Value().Data().([]float32)
	if bound := float32(math.Sqrt(6.0 / 3)); slices.Max(source) > bound || slices.Min(source) < -bound || slices.Equal(source[:2], source[2:4]) {
		t.Errorf("first values of source are %v", source)
	}
	mean, err := NewGATConv(g, "b", 7, 5, 3, true, ParameterOptions{Init: PyTorch})
	if err != nil {
		t.Fatal(err)
	}
	if w, b := mean.W.Shape(), mean.B.Shape(); w[1] != 15 || b[0] != 5 {
		t.Errorf("the mean of heads has a weight of %v and a bias of %v", w, b)
	}
	for _, c := range []struct{ out, heads int }{{7, 3}, {6, 0}, {6, -1}} {
		if _, err := NewGATConv(g, "c", 7, c.out, c.heads, false, ParameterOptions{}); err == nil {
			t.Errorf("width %d with %d heads is accepted", c.out, c.heads)
		}
	}
}

// The blocks of every sampler that keeps a row's own node can be attended over. Where it
// keeps all neighbours too, inference gives the same result.
func TestGATOverSamplers(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	const n = 60
	p := graph.NewLaplacian(randomGraph(t, rng, n, 150, false))
	x, y := randomFeatures(rng, n, 5), randomLabels(rng, n, 3)
	seeds := []int32{3, 9, 40, 41}
	for _, method := range samplers.Methods() {
		name := method.Name
		t.Run(name, func(t *testing.T) {
			sampler, err := samplers.ByName(name, samplers.Config{Laplacian: p, Layers: 2, Sizes: []int{1000}, KeepSelf: true})
			if err != nil {
				t.Fatal(err)
			}
			batch := NewBatch(G.NewGraph(), sampler)
			m, err := NewGCN(batch, x, y, GCNOptions{Hidden: 6, Heads: 2, AttentionDropout: 0.5, InputDropout: 0.5})
			if method.Learned() {
				t.Skip("it keeps no row's own node")
			}
			if name == "vrgcn" || method.Refreshed() {
				if err == nil || !strings.Contains(err.Error(), "control variate") {
					t.Errorf("error %v", err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			var drawn samplers.MiniBatch
			if err := sampler.Sample(context.Background(), seeds, rng, &drawn); err != nil {
				t.Fatal(err)
			}
			if err := batch.Set(&drawn, false, 1); err != nil {
				t.Fatal(err)
			}
			machine := G.NewTapeMachine(batch.Graph())
			defer machine.Close()
			if err := machine.RunAll(); err != nil {
				t.Fatal(err)
			}
			if strings.HasPrefix(name, "saint") || name == "cluster" {
				return // not all neighbours
			}
			want, err := m.Infer(context.Background(), p, x, seeds)
			if err != nil {
				t.Fatal(err)
			}
			for k, v := range m.Logits.Value().Data().([]float32) {
				naive := name == "ladies" || name == "ladies-flat" || strings.HasPrefix(name, "fastgcn")
				if math.Abs(float64(v-want[k])) > 1e-4 && !naive {
					t.Fatalf("logit %d is %v, inference gives %v", k, v, want[k])
				}
			}
		})
	}
}

// Without KeepSelf the error names KeepSelf.
func TestGATWithoutOwnRows(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	p := graph.NewLaplacian(randomGraph(t, rng, 60, 150, false))
	x, y := randomFeatures(rng, 60, 5), randomLabels(rng, 60, 3)
	sampler := &samplers.LayerWise{Laplacian: p, Sizes: []int{2, 2}}
	batch := NewBatch(G.NewGraph(), sampler)
	if _, err := NewGCN(batch, x, y, GCNOptions{Hidden: 6, Heads: 2}); err != nil {
		t.Fatal(err)
	}
	var drawn samplers.MiniBatch
	if err := sampler.Sample(context.Background(), []int32{3, 9, 40, 41}, rng, &drawn); err != nil {
		t.Fatal(err)
	}
	if err := batch.Set(&drawn, true, 1); err != nil {
		t.Fatal(err)
	}
	machine := G.NewTapeMachine(batch.Graph())
	defer machine.Close()
	if err := machine.RunAll(); err == nil || !strings.Contains(err.Error(), "KeepSelf") {
		t.Errorf("error %v", err)
	}
}

// Attention's dropout changes a training step, and leaves inference as it is.
func TestGATDropout(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	p := graph.NewLaplacian(randomGraph(t, rng, 60, 150, false))
	x, y := randomFeatures(rng, 60, 5), randomLabels(rng, 60, 3)
	for name, o := range map[string]GCNOptions{"attention": {AttentionDropout: 0.5}, "input": {InputDropout: 0.5}} {
		o.Hidden, o.Heads, o.Dropout, o.ClassifierDropout = 6, 2, NoDropout, NoDropout
		batch, m := testModel(t, p, x, y, 2, o)
		var drawn samplers.MiniBatch
		seeds := []int32{1, 7, 30}
		if err := batch.Sampler().Sample(context.Background(), seeds, rng, &drawn); err != nil {
			t.Fatal(err)
		}
		machine := G.NewTapeMachine(batch.Graph())
		defer machine.Close()
		logits := func(training bool, seed uint64) []float32 {
			if err := batch.Set(&drawn, training, seed); err != nil {
				t.Fatal(err)
			}
			defer machine.Reset()
			if err := machine.RunAll(); err != nil {
				t.Fatal(err)
			}
			return slices.Clone(m.Logits.Value().Data().([]float32))
		}
		if slices.Equal(logits(true, 1), logits(true, 2)) {
			t.Errorf("%s: two seeds give equal logits", name)
		}
		if !slices.Equal(logits(true, 1), logits(true, 1)) || !slices.Equal(logits(false, 1), logits(false, 2)) {
			t.Errorf("%s: one seed, or evaluation, gives two results", name)
		}
	}
	for _, o := range []GCNOptions{{InputDropout: 1}, {Heads: 2, AttentionDropout: -1}, {Heads: 3}, {Heads: -1}, {Heads: 2, OutputHeads: -1}} {
		o.Hidden = 8
		if _, err := NewGCN(NewBatch(G.NewGraph(), &samplers.Full{Laplacian: p, Depth: 2}), x, y, o); err == nil {
			t.Errorf("%+v is accepted", o)
		}
	}
}
