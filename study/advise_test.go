package study

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/gcn-layerwise/gcn/datasets"
	"github.com/gcn-layerwise/gcn/graph"
	"github.com/gcn-layerwise/gcn/internal/kernel"
	"github.com/gcn-layerwise/gcn/samplers"
)

// adviceCase is a graph for Advise.
type adviceCase struct {
	name   string
	p      *graph.Laplacian
	hw     *graph.Features
	batch  int
	target float64
}

// adviceCases are graphs of different kinds, and the real data sets on this
// machine.
func adviceCases(t *testing.T) []adviceCase {
	var cases []adviceCase
	for _, g := range []struct {
		name   string
		p      *graph.Laplacian
		batch  int
		target float64
	}{
		{"ring", ringLaplacian(t, 3000), 100, 0.6},
		{"random", randomLaplacian(t, 3000, 12_000, false, 2), 100, 1.5},
		{"weighted", randomLaplacian(t, 2000, 9000, true, 3), 64, 1.2},
		{"hubs", hubLaplacian(t, 3000), 100, 0.8},
		{"dense", randomLaplacian(t, 300, 20_000, false, 5), 100, 4},
		{"ring, all of it", ringLaplacian(t, 500), 400, 0.05},
	} {
		cases = append(cases, adviceCase{g.name, g.p, smoothRows(g.p, 4, 2), g.batch, g.target})
	}
	for _, spec := range []string{"synth:demo?nodes=4000&edges=30000", "npz:../../shared/data/tolokers/tolokers.npz", "planetoid:../../shared/data/cora-planetoid/cora"} {
		data, err := datasets.Open(t.Context(), spec, datasets.Options{})
		if err != nil {
			if !strings.HasPrefix(spec, "synth:") {
				t.Logf("left out: %v", err)
				continue
			}
			t.Fatal(err)
		}
		weight := randomRows(data.Features.Cols, 8, 0, 6)
		hw, err := Product(data.Features, weight.Data)
		if err != nil {
			t.Fatal(err)
		}
		cases = append(cases, adviceCase{spec, data.Laplacian(), hw, 64, 0.6})
	}
	return cases
}

// smoothRows returns random rows that follow the graph: a mean and noise, averaged
// over the neighbours some times.
func smoothRows(p *graph.Laplacian, columns, times int) *graph.Features {
	x := randomRows(p.Nodes(), columns, 0.3, 6)
	for range times {
		y := make([]float32, len(x.Data))
		kernel.PropagateRows(y, p, nil, x.Data, columns, nil)
		x.Data = y
	}
	return x
}

// hubLaplacian attaches each node to two older ones in proportion to their
// degree (Barabási & Albert 1999), so that a few become hubs.
func hubLaplacian(t testing.TB, nodes int) *graph.Laplacian {
	rng := rand.New(samplers.NewSource(17, 0, 0))
	ends := []int{0, 1}
	return builtLaplacian(t, nodes, func(add func(u, v int)) {
		add(0, 1)
		for i := 2; i < nodes; i++ {
			for range 2 {
				j := ends[rng.IntN(len(ends))]
				add(i, j)
				ends = append(ends, i, j)
			}
		}
	})
}

// bruteError is a method's mean error over the signal at a size, over many batches
// of its own. It computes in float64 from the definition: the rows of P by hand,
// the entries of the drawn block one by one.
func bruteError(t *testing.T, c adviceCase, method string, size, repeats int) float64 {
	t.Helper()
	contender, err := ContenderByName(method, c.p, nil)
	if err != nil {
		t.Fatal(err)
	}
	sampler, err := contender.New(size)
	if err != nil {
		t.Fatal(err)
	}
	nodes := allNodes(c.p.Nodes())
	var errs, norms float64
	var batch samplers.MiniBatch
	for r := range repeats {
		rng := rand.New(samplers.NewSource(999, 5, uint64(r)))
		seeds := RandomBatch(rng, nodes, c.batch)
		if err := sampler.Sample(t.Context(), seeds, rng, &batch); err != nil {
			t.Fatal(err)
		}
		block := batch.Blocks[0]
		var e2, n2 float64
		sums := make([]float64, c.hw.Cols)
		for i, r := range seeds {
			exact, guess := make([]float64, c.hw.Cols), make([]float64, c.hw.Cols)
			add := func(to []float64, v float64, node int32) {
				for k, h := range c.hw.Row(int(node)) {
					to[k] += v * float64(h)
				}
			}
			add(exact, float64(c.p.RowScale[r])*float64(c.p.ColScale[r]), r)
			values := c.p.Adjacency.RowValues(int(r))
			for k, j := range c.p.Adjacency.Row(int(r)) {
				v := float64(c.p.RowScale[r]) * float64(c.p.ColScale[j])
				if values != nil {
					v *= float64(values[k])
				}
				add(exact, v, j)
			}
			for k, l := range block.Matrix.Row(i) {
				add(guess, float64(block.Matrix.RowValues(i)[k]), block.Src[l])
			}
			for k := range exact {
				n2 += exact[k] * exact[k]
				sums[k] += exact[k]
				e2 += (exact[k] - guess[k]) * (exact[k] - guess[k])
			}
		}
		for _, s := range sums {
			n2 -= s * s / float64(len(seeds))
		}
		errs += math.Sqrt(e2)
		norms += math.Sqrt(n2)
	}
	return errs / norms
}

// TestAdvise compares the advice with brute force on graphs of different kinds.
// The advised size meets the target, and a size well below it does not. No method
// is better there by more than noise.
func TestAdvise(t *testing.T) {
	for _, c := range adviceCases(t) {
		t.Run(strings.NewReplacer("/", "-", ".", "").Replace(c.name), func(t *testing.T) {
			a := Advise{Laplacian: c.p, Products: []*graph.Features{c.hw}, Nodes: allNodes(c.p.Nodes()), Layers: 1, Batch: c.batch, Target: c.target, Seed: 1}
			advice, err := a.Run(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			layer := advice.Layers[0]
			t.Logf("%s %v of %.0f: %.3f", advice.Method, advice.Samples, layer.Candidates, layer.Relative)
			const repeats = 60
			least := func(size int) float64 {
				lowest := math.Inf(1)
				for _, m := range LayerWiseMethods() {
					if strings.HasPrefix(m, "ladies") && !SamplesChange(m) {
						lowest = min(lowest, bruteError(t, c, m, size, repeats))
					}
				}
				return lowest
			}
			if advice.Method == "full" {
				if e := least(int(0.7 * layer.Candidates)); e <= 0.9*c.target {
					t.Errorf("advised against drawing, but 70 %% of the candidates have error %.3f", e)
				}
				return
			}
			size := advice.Samples[0]
			got := bruteError(t, c, advice.Method, size, repeats)
			if got > 1.1*c.target {
				t.Errorf("%s at %d has error %.3f, want at most %.2f", advice.Method, size, got, c.target)
			}
			if e := least(2 * size / 3); e < 0.95*c.target {
				t.Errorf("two thirds of %d nodes would do: error %.3f", size, e)
			}
			for _, m := range slices.DeleteFunc(LayerWiseMethods(), SamplesChange) {
				if e := bruteError(t, c, m, size, repeats); got > 1.05*e {
					t.Errorf("%s has error %.3f at %d, the advised %s %.3f", m, e, size, advice.Method, got)
				}
			}
		})
	}
}

// TestAdviseLayers checks the rows of lower layers: the nodes drawn for the layer
// next to the output are the rows of the next layer.
func TestAdviseLayers(t *testing.T) {
	p := hubLaplacian(t, 2000)
	advice, err := Advise{Laplacian: p, Products: []*graph.Features{randomRows(2000, 3, 1, 7)}, Nodes: allNodes(500), Layers: 3, Batch: 32, Target: 0.5}.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if len(advice.Layers) != 3 || len(advice.Samples) != 3 {
		t.Fatalf("advice for %d layers: %v", len(advice.Layers), advice.Samples)
	}
	if advice.Layers[0].Rows != 32 || advice.Layers[1].Rows != advice.Samples[0] || advice.Layers[2].Rows != advice.Samples[1] {
		t.Errorf("rows %d, %d, %d under samples %v", advice.Layers[0].Rows, advice.Layers[1].Rows, advice.Layers[2].Rows, advice.Samples)
	}
	if len(advice.Reasons) < 3 {
		t.Errorf("reasons: %q", advice.Reasons)
	}
}

func TestInterpolate(t *testing.T) {
	table := &ErrorTable{Signal: 2, Rows: []ErrorRow{{Method: "a", Samples: 64, Mean: 8}, {Method: "a", Samples: 256, Mean: 2}, {Method: "b", Samples: 64, Mean: 18}}}
	// 1/128 is a third of the way from 1/256 to 1/64; 1 + (16 − 1)/3 = 6.
	near(t, "between", table.relative("a", 128), math.Sqrt(6), 1e-12)
	near(t, "at the first", table.relative("a", 64), 4, 1e-12)
	near(t, "beyond", table.relative("a", 1000), 1, 1e-12)
	near(t, "below", table.relative("a", 16), 8, 1e-12)
	if v := table.relative("c", 64); !math.IsNaN(v) {
		t.Errorf("of an unknown method: %v", v)
	}
	for most, want := range map[int][]int{8192: {32, 128, 512, 2048, 4096, 8192}, 100: {50, 100}, 20: {20}, 300: {75, 150, 300}} {
		if got := sizesUpTo(most); !slices.Equal(got, want) {
			t.Errorf("sizes up to %d: %v, want %v", most, got, want)
		}
	}
	var sizes []int
	for s := 32; s < 300; s = nextSize(s) {
		sizes = append(sizes, s)
	}
	if !slices.Equal(sizes, []int{32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256}) {
		t.Errorf("sizes %v", sizes)
	}
}

func TestAdviseErrors(t *testing.T) {
	p := randomLaplacian(t, 3000, 12_000, false, 2)
	a := Advise{
		Laplacian: p, Products: []*graph.Features{smoothRows(p, 4, 2)}, Nodes: allNodes(p.Nodes()),
		Methods: []string{"ladies-flat-debiased"}, Batch: 100, Target: 1.5, Repeats: 32, Seed: 1,
	}
	advice, err := a.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	a.Layers, a.Samples = len(advice.Samples), advice.Samples
	got, err := a.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for l, layer := range advice.Layers { // the advice interpolates between sizes
		if e := got.Layers[l].Relative; math.Abs(e-layer.Relative) > 0.1*layer.Relative {
			t.Errorf("layer %d: error %v, in the advice %v", l, e, layer.Relative)
		}
	}
	for words, spoil := range map[string]func(*Advise){
		"none": func(a *Advise) { a.Methods = []string{"none"} }, "1 sample sizes": func(a *Advise) { a.Samples = []int{1} },
	} {
		wrong := a
		spoil(&wrong)
		if _, err := wrong.Run(t.Context()); err == nil || !strings.Contains(err.Error(), words) {
			t.Errorf("error %v, want one with %q", err, words)
		}
	}
}
