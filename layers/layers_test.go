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
	"github.com/gcn-layerwise/gcn/ops"
	"github.com/gcn-layerwise/gcn/samplers"
	G "gorgonia.org/gorgonia"
)

func TestInitialisers(t *testing.T) {
	const in, out = 300, 84
	for name, c := range map[string]struct {
		init   Initialiser
		bound  float64
		biased bool
	}{
		"PyTorch":       {PyTorch, 1 / math.Sqrt(in), true},
		"GlorotUniform": {GlorotUniform, math.Sqrt(6.0 / (in + out)), false},
	} {
		weight, bias := make([]float32, in*out), make([]float32, out)
		c.init(rand.New(rand.NewPCG(1, 2)), in, out, weight, bias)
		var mean, square, largest float64
		for _, v := range weight {
			mean += float64(v) / in / out
			square += float64(v) * float64(v) / in / out
			largest = math.Max(largest, math.Abs(float64(v)))
		}
		if largest > c.bound || largest < 0.99*c.bound {
			t.Errorf("%s: largest weight %v, want just below %v", name, largest, c.bound)
		}
		if deviation := c.bound / math.Sqrt(3); math.Abs(mean) > 5*deviation/math.Sqrt(in*out) || math.Abs(math.Sqrt(square)/deviation-1) > 0.02 {
			t.Errorf("%s: mean %v and deviation %v, want 0 and %v", name, mean, math.Sqrt(square), deviation)
		}
		if zero := slices.Max(bias) == 0 && slices.Min(bias) == 0; zero == c.biased {
			t.Errorf("%s: bias %v", name, bias[:4])
		}
		again := make([]float32, in*out)
		c.init(rand.New(rand.NewPCG(1, 2)), in, out, again, nil)
		if !slices.Equal(weight, again) {
			t.Errorf("%s: equal seeds give different weights", name)
		}
	}
}

func TestParameterNames(t *testing.T) {
	g := G.NewGraph()
	a, err := NewLinear(g, "a", 3, 2, ParameterOptions{})
	if err != nil {
		t.Fatal(err)
	}
	b, err := NewGraphConv(g, "b", 3, 2, ParameterOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if a.W.Name() != "a.weight" || a.B.Name() != "a.bias" || b.W.Name() != "b.weight" || b.B.Name() != "b.bias" {
		t.Errorf("parameters are named %v %v %v %v", a.W.Name(), a.B.Name(), b.W.Name(), b.B.Name())
	}
	if slices.Equal(a.W.Value().Data().([]float32), b.W.Value().Data().([]float32)) {
		t.Error("layers of different names have equal first values without a generator")
	}
	if _, err := NewLinear(g, "b", 3, 2, ParameterOptions{}); err == nil {
		t.Error("a name is accepted twice")
	}
	for _, size := range [][2]int{{0, 1}, {1, 0}, {-1, 2}, {2, math.MaxInt}, {math.MaxInt / 2, 3}, {1 << 16, 1 << 15}} {
		if _, err := NewLinear(g, "c", size[0], size[1], ParameterOptions{}); err == nil {
			t.Errorf("a layer of %v is accepted", size)
		}
	}
	if _, err := NewNorm(nil, "d", NormLayer, 3, nil); err == nil {
		t.Error("a layer in no graph is accepted")
	}
}

func TestGCNParameters(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	p := graph.NewLaplacian(randomGraph(t, rng, 20, 30, false))
	x, y := randomFeatures(rng, 20, 7), randomLabels(rng, 20, 3)
	build := func(o GCNOptions) (*GCN, error) {
		return NewGCN(NewBatch(G.NewGraph(), &samplers.Full{Laplacian: p, Depth: 2}), x, y, o)
	}
	describe := func(m *GCN) (names []string) {
		for _, n := range m.Parameters {
			names = append(names, fmt.Sprint(n.Name(), n.Shape()))
		}
		return names
	}
	m, err := build(GCNOptions{})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"conv0.weight(7, 256)", "conv0.bias(256)", "conv1.weight(256, 256)", "conv1.bias(256)", "classifier.weight(256, 3)", "classifier.bias(3)"}
	if got := describe(m); !slices.Equal(got, want) {
		t.Errorf("parameters are %v, want %v", got, want)
	}
	for l, conv := range m.Convolutions {
		rate := []float64{0.2, 1 - 0.8*0.8}[l] // the last one's and the classifier's in one
		if conv.Activation != ops.ActivationELU || math.Abs(conv.Dropout.Rate-rate) > 1e-12 {
			t.Errorf("default convolution has activation %v and dropout %v", conv.Activation, conv.Dropout.Rate)
		}
	}
	m, err = build(GCNOptions{Hidden: 4, Dropout: NoDropout, Norm: NormLayer, Residual: true, Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	want = []string{
		"conv0.weight(7, 4)", "conv0.bias(4)", "norm0.gain(4)", "norm0.shift(4)", "skip0.weight(7, 4)",
		"conv1.weight(4, 4)", "conv1.bias(4)", "norm1.gain(4)", "norm1.shift(4)", "skip1.weight(7, 4)",
		"classifier.weight(4, 3)", "classifier.bias(3)",
	}
	if got := describe(m); !slices.Equal(got, want) {
		t.Errorf("parameters are %v, want %v", got, want)
	}
	if m.Convolutions[0].Dropout.Rate != 0 {
		t.Errorf("NoDropout gives rate %v", m.Convolutions[0].Dropout.Rate)
	}
	m, err = build(GCNOptions{Hidden: 4, InputLayer: true, HiddenResidual: ResidualLinear})
	if err != nil {
		t.Fatal(err)
	}
	want = []string{
		"input.weight(7, 4)", "input.bias(4)", "conv0.weight(4, 4)", "conv0.bias(4)", "own0.weight(4, 4)",
		"conv1.weight(4, 4)", "conv1.bias(4)", "own1.weight(4, 4)", "classifier.weight(4, 3)", "classifier.bias(3)",
	}
	if got := describe(m); !slices.Equal(got, want) {
		t.Errorf("parameters are %v, want %v", got, want)
	}
	m, err = build(GCNOptions{Form: FormEquation, Hidden: 4, Norm: NormLayer, Residual: true})
	if err != nil {
		t.Fatal(err)
	}
	want = []string{"conv0.weight(7, 4)", "norm0.gain(4)", "norm0.shift(4)", "skip0.weight(7, 4)", "conv1.weight(4, 3)", "skip1.weight(7, 3)"}
	if got := describe(m); !slices.Equal(got, want) {
		t.Errorf("parameters are %v, want %v", got, want)
	}
	if top := m.Convolutions[1]; top.Activation != ops.ActivationNone || top.Dropout.Rate != 0 || m.Classifier != nil {
		t.Errorf("the equation's last convolution has activation %v and dropout %v, its classifier is %v", top.Activation, top.Dropout.Rate, m.Classifier)
	}
	first := func(seed uint64) []float32 {
		m, err := build(GCNOptions{Hidden: 4, Seed: seed})
		if err != nil {
			t.Fatal(err)
		}
		return m.Parameters[0].Value().Data().([]float32)
	}
	if !slices.Equal(first(1), first(1)) || slices.Equal(first(1), first(2)) {
		t.Error("first values do not depend on the seed alone")
	}
	for _, o := range []GCNOptions{{Hidden: -1}, {Dropout: 1}, {Dropout: math.NaN()}, {ClassifierDropout: 1.5}, {Form: FormEquation, ClassifierDropout: 0.2}, {Form: 7}, {HiddenResidual: 7}, {LabelSmoothing: 1}, {FeedForward: true}, {Norm: 9}, {OwnState: true}, {PreNorm: true, Form: FormEquation}, {LabelSmoothing: -0.1}, {ClassWeights: []float32{1}}, {ClassWeights: []float32{1, -1, 1}}, {Activation: 77}, {Order: 99}} {
		if _, err := build(o); err == nil {
			t.Errorf("%+v is accepted", o)
		}
	}
	if _, err := NewGCN(nil, x, y, GCNOptions{}); err == nil {
		t.Error("a model without a batch is accepted")
	}
	batch := NewBatch(G.NewGraph(), &samplers.Full{Laplacian: p, Depth: 1})
	if _, err := batch.Targets(y); err != nil {
		t.Fatal(err)
	}
	if _, err := NewGCN(batch, x, randomLabels(rng, 20, 3), GCNOptions{}); err == nil {
		t.Error("a batch takes two sets of labels")
	}
}

func TestOrderByCost(t *testing.T) {
	for _, c := range []struct {
		dst, src, in, out int
		constant          bool
		want              Order
	}{
		{512, 512, 256, 256, false, PropagateFirst},
		{512, 1024, 128, 256, true, PropagateFirst},
		{512, 512, 128, 256, true, PropagateFirst},
		{512, 512, 256, 40, false, TransformFirst},
		{2000, 2000, 1433, 16, true, TransformFirst},
		{100, 20000, 256, 200, false, PropagateFirst},
	} {
		w := G.NewMatrix(G.NewGraph(), G.Float32, G.WithShape(c.in, c.out), G.WithName("w"))
		if got := cheaper(ops.NewSlot(c.dst, c.src), w, c.constant); got != c.want {
			t.Errorf("%+v: order %v", c, got)
		}
	}
}

// Slots take the sampler's nominal sizes. If it has none, all are equal.
func TestNominalSizes(t *testing.T) {
	for _, c := range []struct {
		sampler samplers.Sampler
		want    [][2]int // dst, src
	}{
		{&samplers.LayerWise{Sizes: []int{40, 60}}, [][2]int{{40, 60}, {40, 40}}},
		{&samplers.Full{Depth: 2}, [][2]int{{512, 512}, {512, 512}}},
	} {
		batch := NewBatch(G.NewGraph(), c.sampler)
		for l, want := range c.want {
			if dst, src := batch.Slot(l).Nominal(); dst != want[0] || src != want[1] {
				t.Errorf("%T: slot %d is %d×%d, want %v", c.sampler, l, dst, src, want)
			}
		}
	}
}

// Set refuses wrong batches, and the error names the layer.
func TestBatchSetErrors(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	p := graph.NewLaplacian(randomGraph(t, rng, 30, 60, false))
	x, y := randomFeatures(rng, 30, 4), randomLabels(rng, 20, 3)
	sampler := &samplers.Full{Laplacian: p, Depth: 2}
	batch := NewBatch(G.NewGraph(), sampler)
	if batch.Sampler() != samplers.Sampler(sampler) || batch.Layers() != 2 {
		t.Fatal("the batch does not return its sampler")
	}
	if _, err := NewGCN(batch, x, y, GCNOptions{Hidden: 3}); err != nil {
		t.Fatal(err)
	}
	draw := func(seeds ...int32) *samplers.MiniBatch {
		b := new(samplers.MiniBatch)
		if err := sampler.Sample(context.Background(), seeds, rng, b); err != nil {
			t.Fatal(err)
		}
		return b
	}
	if err := batch.Set(draw(1, 2, 3), true, 1); err != nil {
		t.Fatal(err)
	}
	if !batch.Mode().Training || batch.Mode().Seed != 1 {
		t.Errorf("mode is %+v", batch.Mode())
	}
	short := draw(1, 2)
	short.Blocks = short.Blocks[:1]
	torn := draw(1, 2)
	torn.Blocks[1] = draw(5, 6, 7, 8).Blocks[1]
	weights := draw(1, 2)
	weights.LossWeights = []float32{1}
	crossed := draw(1, 2)
	src := slices.Clone(crossed.Blocks[1].Src)
	src[0], src[1] = src[1], src[0]
	crossed.Blocks[1].Src = src
	for name, b := range map[string]*samplers.MiniBatch{
		"one block for two layers": short, "blocks of two batches": torn, "nodes in another order": crossed, "a node without labels": draw(25), "one weight for two": weights,
		"no batch": nil,
	} {
		if err := batch.Set(b, true, 1); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

// A batch whose sampler is nil or has no layers refuses models and batches.
func TestBatchWithoutLayers(t *testing.T) {
	x := &graph.Features{Rows: 2, Cols: 1, Data: []float32{1, 2}}
	y := &graph.Labels{Classes: 2, Class: []int32{0, 1}}
	for name, sampler := range map[string]samplers.Sampler{"none": nil, "zero": layerless(0), "negative": layerless(-1), "not valid": &samplers.LayerWise{Sizes: []int{2}}} {
		want := "no layers"
		if name == "not valid" {
			want = "needs a Laplacian"
		}
		b := NewBatch(G.NewGraph(), sampler)
		if _, err := NewGCN(b, x, y, GCNOptions{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: a model of it: error %v", name, err)
		}
		if _, err := b.Targets(y); err != nil {
			t.Errorf("%s: targets: %v", name, err)
		}
		if err := b.Set(new(samplers.MiniBatch), true, 1); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: set: error %v", name, err)
		}
	}
}

type layerless int

func (l layerless) Layers() int { return int(l) }

func (layerless) Sample(context.Context, []int32, *rand.Rand, *samplers.MiniBatch) error { return nil }

func TestNameOfAnUnknownNorm(t *testing.T) {
	if got := NormKind(9).String(); got != "NormKind(9)" {
		t.Errorf("the norm of number 9 is %q", got)
	}
}
