package samplers_test

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/gcn-layerwise/gcn/graph"
	"github.com/gcn-layerwise/gcn/samplers"
	"github.com/gcn-layerwise/gcn/samplers/samplertest"
)

// nodeWise returns forms of node-wise sampling of k neighbours, and whether they are
// unbiased. They have one layer unless the name says two.
func nodeWise(k int) []simulated {
	form := func(name string, unbiased bool, s *samplers.Neighbor) simulated {
		return simulated{name, unbiased, func(p *graph.Laplacian) samplers.Sampler {
			fresh := &samplers.Neighbor{Laplacian: p, Sizes: s.Sizes, Importance: s.Importance, Draw: s.Draw, Weight: s.Weight}
			if fresh.Sizes == nil {
				fresh.Sizes = []int{k}
			}
			return fresh
		}}
	}
	return []simulated{
		form("uniform", true, &samplers.Neighbor{}),
		form("uniform, two layers", true, &samplers.Neighbor{Sizes: []int{k, 2}}),
		form("uniform with replacement", true, &samplers.Neighbor{Draw: samplers.WithReplacement{}}),
		form("P²", true, &samplers.Neighbor{Importance: samplers.LADIES{}}),
		form("|P|", true, &samplers.Neighbor{Importance: samplers.LADIES{Flat: true}}),
		form("|P| with replacement", true, &samplers.Neighbor{Importance: samplers.LADIES{Flat: true}, Draw: samplers.WithReplacement{}}),
		form("|P|, systematic", true, &samplers.Neighbor{Importance: samplers.LADIES{Flat: true}, Draw: samplers.Systematic{}}),
		form("|P|, Poisson", true, &samplers.Neighbor{Importance: samplers.LADIES{Flat: true}, Draw: samplers.Poisson{}}),
		form("column norms", true, &samplers.Neighbor{Importance: samplers.FastGCN{}}),
		form("P², naive weights", false, &samplers.Neighbor{Importance: samplers.LADIES{}, Weight: samplers.Naive{}}),
		{"vrgcn, two layers", true, func(p *graph.Laplacian) samplers.Sampler {
			return &samplers.Neighbor{Laplacian: p, Sizes: []int{k, k}, Control: samplers.ControlRolling}
		}},
	}
}

// TestNodeWiseUnbiased compares the mean of 20,000 batches with PH.
func TestNodeWiseUnbiased(t *testing.T) {
	if testing.Short() || samplers.RaceDetector {
		t.Skip("20,000 batches a sampler; the contract runs concurrently under the race detector")
	}
	const nodes, width, batches = 2000, 3, 20000
	p := graph.NewLaplacian(samplertest.RandomGraph(t, nodes, 8000, false, 4))
	rng := rand.New(samplers.NewSource(9, 0, 0))
	h := make([]float64, nodes*width)
	for i := range h {
		h[i] = 1 + rng.NormFloat64()
	}
	var seeds []int32
	for _, i := range rng.Perm(nodes)[:24] {
		seeds = append(seeds, int32(i))
	}
	for _, c := range nodeWise(3) {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r, err := samplertest.Simulate(c.sampler(p), p, seeds, h, width, batches, 22)
			if err != nil {
				t.Fatal(err)
			}
			worst, bound := r.Worst(), r.Bound()
			t.Logf("worst entry %.1f standard errors off, bound %.2f", worst, bound)
			if c.unbiased && !(worst <= bound) {
				t.Errorf("the mean of P̃H is %.1f standard errors from PH, want at most %.2f", worst, bound)
			}
			if !c.unbiased && worst < 2*bound {
				t.Errorf("claimed to be biased, but the mean of P̃H is within %.1f standard errors of PH", worst)
			}
		})
	}
}

// replayed is a draw that gives the outcome it holds.
type replayed struct{ outcome *samplers.Sample }

func (d replayed) Draw(_ *rand.Rand, _ *samplers.Population, _ int, sample *samplers.Sample) {
	*sample = *d.outcome
}

// anyDraw is a weight that goes with replayed draws.
type anyDraw struct{ samplers.Weight }

func (anyDraw) Check(samplers.Draw) error { return nil }

// TestNodeWiseEnumerated gives the sampler every outcome of the draw of one row, and
// compares the mean of the block's row, by the outcomes' probabilities, with P's row.
// Naive weights must differ from it.
func TestNodeWiseEnumerated(t *testing.T) {
	const nodes, k = 12, 3
	p := graph.NewLaplacian(samplertest.RandomGraph(t, nodes, 30, true, 8))
	rng := rand.New(samplers.NewSource(1, 0, 0))
	laws := map[string]struct {
		importance samplers.Importance
		of         func(entry, norm2 float64) float64
	}{
		"P²":            {samplers.LADIES{}, func(entry, _ float64) float64 { return entry * entry }},
		"|P|":           {samplers.LADIES{Flat: true}, func(entry, _ float64) float64 { return math.Abs(entry) }},
		"column norms²": {samplers.FastGCN{}, func(_, norm2 float64) float64 { return norm2 }},
		"column norms":  {samplers.FastGCN{Flat: true}, func(_, norm2 float64) float64 { return math.Sqrt(norm2) }},
		"equal":         {samplers.Uniform{}, func(_, _ float64) float64 { return 1 }},
	}
	norms2 := p.ColumnNorms2()
	for name, law := range laws {
		for weightName, weight := range map[string]samplers.Weight{"debiased": samplers.Debiased{}, "naive": samplers.Naive{}} {
			var worst float64
			for r := range int32(nodes) {
				var weights []float64
				for _, j := range p.Adjacency.Row(int(r)) {
					weights = append(weights, law.of(float64(p.At(int(r), int(j))), norms2[j]))
				}
				if len(weights) <= k || len(weights) > 7 {
					continue
				}
				mean := make([]float64, nodes)
				err := enumerateDraw(samplers.WithoutReplacement{}, weights, k, func(probability float64, outcome *samplers.Sample) {
					s := &samplers.Neighbor{Laplacian: p, Sizes: []int{k}, Importance: law.importance, Draw: replayed{outcome}, Weight: anyDraw{weight}}
					var batch samplers.MiniBatch
					if err := samplers.Prepared(s).Sample(t.Context(), []int32{r}, rng, &batch); err != nil {
						t.Fatal(err)
					}
					block := batch.Blocks[0]
					for e, c := range block.Matrix.Row(0) {
						mean[block.Src[c]] += probability * float64(block.Matrix.RowValues(0)[e])
					}
				})
				if err != nil {
					t.Fatal(err)
				}
				for j := range nodes {
					worst = max(worst, math.Abs(mean[j]-float64(p.At(int(r), j))))
				}
			}
			const rounding = 1e-6 // entries are float32
			biased := weightName == "naive" && name != "equal"
			if !biased && worst > rounding {
				t.Errorf("%s, %s: E[P̃] is %.2g from P", name, weightName, worst)
			}
			if biased && worst < 1000*rounding {
				t.Errorf("%s, %s: E[P̃] is only %.2g from P, want a bias", name, weightName, worst)
			}
		}
	}
}

// counted is an importance that counts the candidates it gives probabilities.
type counted struct {
	samplers.LADIES
	candidates *int
}

func (c counted) Local(nodes []int32, weights []float64) {
	*c.candidates += len(nodes)
	c.LADIES.Local(nodes, weights)
}

// TestNodeWiseCost checks that a layer looks at the neighbours of its rows, each once.
func TestNodeWiseCost(t *testing.T) {
	p := graph.NewLaplacian(samplertest.RandomGraph(t, 2000, 8000, false, 4))
	candidates, want := 0, 0
	seeds := []int32{3, 50, 120, 1999}
	for _, r := range seeds {
		want += p.Adjacency.Degree(int(r))
	}
	s := &samplers.Neighbor{Laplacian: p, Sizes: []int{2}, Importance: counted{samplers.LADIES{Flat: true}, &candidates}}
	var batch samplers.MiniBatch
	if err := samplers.Prepared(s).Sample(t.Context(), seeds, rand.New(samplers.NewSource(1, 0, 0)), &batch); err != nil {
		t.Fatal(err)
	}
	if candidates != want {
		t.Errorf("%d candidates for rows of %d neighbours", candidates, want)
	}
}

// TestContractNodeWise runs the contract over the forms of node-wise sampling.
func TestContractNodeWise(t *testing.T) {
	for _, c := range nodeWise(3) {
		samplertest.Run(t, c.name, func(p *graph.Laplacian, _ []int32) samplers.Sampler { return c.sampler(p) })
	}
}

// picks is a draw that always picks the same candidates, even outside the
// population.
type picks []int32

func (d picks) Draw(_ *rand.Rand, _ *samplers.Population, s int, sample *samplers.Sample) {
	sample.Index, sample.Weight, sample.Draws = append(sample.Index[:0], d...), sample.Weight[:0], s
	for range d {
		sample.Weight = append(sample.Weight, 1)
	}
}

// TestOwnDrawOutOfRange checks that a user's Draw that picks a candidate outside the
// population is an error.
func TestOwnDrawOutOfRange(t *testing.T) {
	p := graph.NewLaplacian(samplertest.RandomGraph(t, 50, 100, false, 1))
	for name, sampler := range map[string]func(d samplers.Draw) samplers.Sampler{
		"layer-wise": func(d samplers.Draw) samplers.Sampler {
			return &samplers.LayerWise{Laplacian: p, Sizes: []int{4}, Draw: d, Weight: samplers.Naive{}}
		},
		"layer-wise, one law": func(d samplers.Draw) samplers.Sampler {
			return &samplers.LayerWise{Laplacian: p, Sizes: []int{4}, Importance: samplers.FastGCN{}, Draw: d, Weight: samplers.Naive{}}
		},
		"node-wise": func(d samplers.Draw) samplers.Sampler {
			return &samplers.Neighbor{Laplacian: p, Sizes: []int{4}, Importance: samplers.LADIES{}, Draw: d, Weight: samplers.Naive{}}
		},
	} {
		rng := rand.New(samplers.NewSource(1, 0, 0))
		var batch samplers.MiniBatch
		if err := samplers.Prepared(sampler(picks{0})).Sample(t.Context(), []int32{3, 4}, rng, &batch); err != nil {
			t.Errorf("%s: the first candidate: %v", name, err)
		}
		for _, d := range []picks{{0, 50}, {-1}} {
			if err := samplers.Prepared(sampler(d)).Sample(t.Context(), []int32{3, 4}, rng, &batch); err == nil || !strings.Contains(err.Error(), "picked candidate") {
				t.Errorf("%s: candidates %v: error %v", name, d, err)
			}
		}
	}
}
