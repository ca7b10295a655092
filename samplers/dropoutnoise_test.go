package samplers_test

import (
	"context"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/gcn-layerwise/gcn/graph"
	"github.com/gcn-layerwise/gcn/samplers"
	"github.com/gcn-layerwise/gcn/samplers/samplertest"
)

// TestFullDropoutNoiseByEnumeration computes, over every outcome of every unbiased draw and
// weight and over every mask, the mean of
//
//	P̃(H − H̄) + P̃ diag(β^(−1/2))(M⊙H − H) + PH̄
//
// for two rows of P on a graph of six nodes, and the covariances of its middle term. The mean
// must be PH, and the covariances must equal the covariances of P(M⊙H).
func TestFullDropoutNoiseByEnumeration(t *testing.T) {
	const nodes, rate = 6, 0.2
	p := graph.NewLaplacian(samplertest.RandomGraph(t, nodes, 8, true, 4))
	dense, rows := p.Dense(), []int{1, 4}
	h, history := make([]float64, nodes), make([]float64, nodes)
	rng := rand.New(rand.NewPCG(3, 4))
	for i := range h {
		h[i], history[i] = 1+rng.NormFloat64(), 5*rng.NormFloat64()
	}
	weights := columnWeights(dense, nodes, rows, partNames{Importance: "ladies", Flat: true})
	population, err := samplers.NewPopulation(weights)
	if err != nil {
		t.Fatal(err)
	}
	exact, full := make([]float64, 2), [2][2]float64{}
	for i, r := range rows {
		for j := range nodes {
			exact[i] += dense[r*nodes+j] * h[j]
			for k, r2 := range rows {
				full[i][k] += dense[r*nodes+j] * dense[r2*nodes+j] * h[j] * h[j] * rate / (1 - rate)
			}
		}
	}
	for _, e := range estimators {
		if !e.unbiased {
			continue
		}
		for s := 1; s <= min(positive(weights), 4); s++ {
			var mean [2]float64
			var scaled, plain [2][2]float64 // E of products of the middle term, and of it without β^(−1/2)
			beta := make([]float64, nodes)
			visit := func(probability float64, sample *samplers.Sample) {
				b := beta[:len(sample.Index)]
				e.weight.Weigh(population, sample, b)
				for mask := range 1 << nodes {
					chance := probability
					for j := range nodes {
						if mask>>j&1 == 0 {
							chance *= rate
						} else {
							chance *= 1 - rate
						}
					}
					var z, noise, sampled [2]float64
					for i, r := range rows {
						for j := range nodes {
							z[i] += dense[r*nodes+j] * history[j]
						}
						for k, j := range sample.Index {
							entry := dense[r*nodes+int(j)] * b[k]
							change := h[j] * (float64(mask>>j&1)/(1-rate) - 1)
							z[i] += entry * (h[j] - history[j])
							noise[i] += entry / math.Sqrt(b[k]) * change
							sampled[i] += entry * change
						}
					}
					for i := range rows {
						mean[i] += chance * (z[i] + noise[i])
						for k := range rows {
							scaled[i][k] += chance * noise[i] * noise[k]
							plain[i][k] += chance * sampled[i] * sampled[k]
						}
					}
				}
			}
			if _, ok := e.weight.(samplers.Rank); ok {
				enumerateKeys(weights, s, visit)
			} else if err := enumerateDraw(e.draw, weights, s, visit); err != nil {
				t.Fatal(err)
			}
			for i := range rows {
				if math.Abs(mean[i]-exact[i]) > 1e-11 { // H̄ is of size 5
					t.Errorf("%s, s = %d: mean %v, PH is %v", e.name, s, mean[i], exact[i])
				}
				for k := range rows {
					if math.Abs(scaled[i][k]-full[i][k]) > 1e-12 {
						t.Errorf("%s, s = %d: covariance (%d, %d) of the noise is %v, of all neighbours %v", e.name, s, i, k, scaled[i][k], full[i][k])
					}
				}
				if s < positive(weights) && !(plain[i][i] > 1.01*full[i][i]) && plain[i][i] == plain[i][i] {
					t.Errorf("%s, s = %d: without the scale the variance is %v, of all neighbours %v", e.name, s, plain[i][i], full[i][i])
				}
			}
		}
	}
}

// TestFullDropoutNoise draws 20,000 blocks and masks for every unbiased combination. The scale
// of a node is β^(−1/2) in each, the mean of the estimate is PH, and the variance of the
// masks' part equals the variance of P(M⊙H). A block without the option has no scale.
func TestFullDropoutNoise(t *testing.T) {
	const nodes, batches, rate = 120, 20000, 0.2
	p := graph.NewLaplacian(samplertest.RandomGraph(t, nodes, 500, true, 4))
	dense := p.Dense()
	rng := rand.New(samplers.NewSource(9, 0, 0))
	h, history := make([]float64, nodes), make([]float64, nodes)
	for i := range h {
		h[i], history[i] = 1+rng.NormFloat64(), 1+rng.NormFloat64()
	}
	seeds := []int32{3, 50, 119}
	for _, parts := range unbiasedParts() {
		t.Run(partsName(parts), func(t *testing.T) {
			t.Parallel()
			draws := batches
			if testing.Short() || samplers.RaceDetector {
				draws = 50
			}
			config := samplers.Config{Laplacian: p, Layers: 1, Sizes: []int{sizeOf(samplers.Weights()[parts.Weight], 25)}, ExactInput: true}
			parts.FullDropoutNoise = true
			s, err := parts.sampler(config)
			if err != nil {
				t.Fatal(err)
			}
			masks := rand.New(samplers.NewSource(2, 0, 0))
			var mean, noise [3]moments
			var batch samplers.MiniBatch
			for b := range draws {
				if err := samplers.Prepared(s).Sample(context.Background(), seeds, rand.New(samplers.NewSource(1, 0, uint64(b))), &batch); err != nil {
					t.Fatal(err)
				}
				block := batch.Blocks[0]
				if b < 20 {
					checkNoiseScale(t, block, dense, nodes)
				}
				rows := make([]float64, len(block.Src)) // of H − H̄, and of the noise
				noises := make([]float64, len(block.Src))
				for k, v := range block.Src {
					rows[k] = h[v] - history[v]
					mask := 0.0
					if masks.Float64() >= rate {
						mask = 1 / (1 - rate)
					}
					noises[k] = float64(block.NoiseScale[k]) * h[v] * (mask - 1)
				}
				for i := range block.Dst {
					var z, n float64
					for e, c := range block.Matrix.Row(i) {
						z += float64(block.Matrix.RowValues(i)[e]) * rows[c]
						n += float64(block.Matrix.RowValues(i)[e]) * noises[c]
					}
					mean[i].add(z + n)
					noise[i].add(n * n)
				}
			}
			if draws < 1000 {
				return
			}
			for i, r := range seeds {
				var want, variance float64
				for j := range nodes {
					entry := dense[int(r)*nodes+j]
					want += entry * (h[j] - history[j])
					variance += entry * entry * h[j] * h[j] * rate / (1 - rate)
				}
				mean[i].check(t, "the estimate's mean", want)
				noise[i].check(t, "the noise's variance", variance)
			}
			parts.FullDropoutNoise = false
			if s, err = parts.sampler(config); err == nil {
				err = samplers.Prepared(s).Sample(context.Background(), seeds, rand.New(samplers.NewSource(1, 0, 0)), &batch)
			}
			if err != nil || len(batch.Blocks[0].NoiseScale) != 0 {
				t.Errorf("without the option: %d scales, %v", len(batch.Blocks[0].NoiseScale), err)
			}
		})
	}
}

// moments are sums of a number over draws.
type moments struct{ n, sum, squares float64 }

func (m *moments) add(x float64) { m.n, m.sum, m.squares = m.n+1, m.sum+x, m.squares+x*x }

func (m *moments) check(t *testing.T, what string, want float64) {
	t.Helper()
	mean := m.sum / m.n
	sem := math.Sqrt((m.squares/m.n - mean*mean) / m.n)
	if math.Abs(mean-want) > 4.5*sem+1e-5 {
		t.Errorf("%s is %v, standard error %v, want %v", what, mean, sem, want)
	}
}

// checkNoiseScale compares the scales with the weights β = P̃_ij/P_ij.
func checkNoiseScale(t *testing.T, block *graph.Block, dense []float64, nodes int) {
	t.Helper()
	if err := block.Validate(nodes); err != nil {
		t.Fatal(err)
	}
	for i, r := range block.Dst {
		for e, c := range block.Matrix.Row(i) {
			beta := float64(block.Matrix.RowValues(i)[e]) / dense[int(r)*nodes+int(block.Src[c])]
			if got, want := float64(block.NoiseScale[c]), 1/math.Sqrt(beta); math.Abs(got-want) > 1e-6*want {
				t.Fatalf("node %d of weight %v has the noise scale %v, want %v", block.Src[c], beta, got, want)
			}
		}
	}
}

// Parts that are biased, or whose weights are not one number a node, are refused.
func TestFullDropoutNoiseErrors(t *testing.T) {
	p := graph.NewLaplacian(samplertest.RandomGraph(t, 50, 100, false, 4))
	for want, s := range map[string]*samplers.LayerWise{
		"naive weights": {Weight: samplers.Naive{}},
		"NormalizeRows": {NormalizeRows: true},
		"IncludeRows":   {IncludeRows: true},
		"KeepSelf":      {KeepSelf: true},
	} {
		s.Laplacian, s.Sizes, s.FullDropoutNoise = p, []int{5, 5}, true
		if err := s.Prepare(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: %v", want, err)
		}
	}
}
