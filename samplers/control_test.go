package samplers_test

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/gcn-layerwise/gcn/graph"
	"github.com/gcn-layerwise/gcn/samplers"
	"github.com/gcn-layerwise/gcn/samplers/samplertest"
)

// TestControlUnbiasedByEnumeration computes E[P̃(H−H̄)] + PH̄ for one row of P over every
// outcome of every unbiased draw and weight, for any H̄.
func TestControlUnbiasedByEnumeration(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, e := range estimators {
		if !e.unbiased {
			continue
		}
		t.Run(e.name, func(t *testing.T) {
			for _, weights := range tinyPopulations() {
				for s := 1; s <= positive(weights); s++ {
					mean, _, err := momentsOf(e.draw, e.weight, weights, s)
					if err != nil {
						t.Fatal(err)
					}
					for _, far := range []float64{0, 1, 100} {
						var estimate, exact, size float64
						for j, w := range weights {
							entry := math.Sqrt(w) // of P: 0 where the candidate cannot be drawn
							h := rng.NormFloat64()
							history := h + far*rng.NormFloat64()
							estimate += mean[j]*entry*(h-history) + entry*history
							exact += entry * h
							size += entry * (math.Abs(h) + math.Abs(history))
						}
						if math.Abs(estimate-exact) > 1e-12*max(size, 1) {
							t.Errorf("weights %v, s = %d: E is %v, PH is %v", weights, s, estimate, exact)
						}
					}
				}
			}
		})
	}
}

// TestControlOverGraphByEnumeration computes the mean of the estimate of every legal
// combination of importance, draw, weight and control over all outcomes, for two rows of P on
// a graph of six nodes, and for any H̄. "linear" is the refreshed control with the linear one
// (layers.GCNOptions.ControlLinear), for any change of the first weights; "gradient" is the
// derivative of the same by a parameter of the first layer, on which the rows of H and of
// its linear part depend. The candidates and their probabilities are computed from the dense
// matrix.
func TestControlOverGraphByEnumeration(t *testing.T) {
	const nodes = 6
	p := graph.NewLaplacian(samplertest.RandomGraph(t, nodes, 8, true, 4))
	dense, rows := p.Dense(), []int{1, 4}
	h, history := make([]float64, nodes), make([]float64, nodes)
	rng := rand.New(rand.NewPCG(3, 4))
	for i := range h {
		h[i], history[i] = 1+rng.NormFloat64(), 5*rng.NormFloat64()
	}
	linear, slope, input := make([]float64, nodes), make([]float64, nodes), make([]float64, nodes)
	for i := range h { // a row of X(W − W̄) ⊙ s, the slope of H, and the derivative of XW
		linear[i], slope[i], input[i] = 3*rng.NormFloat64(), rng.Float64(), rng.NormFloat64()
	}
	const meanSlope = 0.4
	all := unbiasedParts()
	if len(all) != 3*8 { // importances, and draws with an unbiased weight
		t.Errorf("%d combinations", len(all))
	}
	for _, parts := range all {
		for _, flat := range []bool{false, true} {
			if parts.Flat = flat; flat && parts.Importance == "uniform" {
				continue
			}
			for _, parts.Control = range []samplers.Control{samplers.ControlNone, samplers.ControlRefresh, samplers.ControlRolling} {
				if _, err := parts.sampler(samplers.Config{Laplacian: p, Layers: 1, Sizes: []int{2}, ExactInput: true}); err != nil {
					t.Errorf("%s, %s: %v", partsName(parts), parts.Control, err)
				}
			}
			draw, weight := samplers.Draws()[parts.Draw], samplers.Weights()[parts.Weight]
			weights := columnWeights(dense, nodes, rows, parts)
			for s := 1; s <= min(positive(weights), 4); s++ {
				beta, _, err := momentsOf(draw, weight, weights, s)
				if err != nil {
					t.Fatal(err)
				}
				for _, r := range rows {
					means := map[string]float64{}
					var exact, gradient, size float64
					for j := range nodes {
						entry := dense[r*nodes+j]
						drawn := beta[j] * entry
						means["none"] += drawn * h[j]
						means["refresh"] += drawn*(h[j]-history[j]) + entry*history[j] // P̃(H − H̄) + PH̄
						means["rolling"] += drawn*h[j] + (entry-drawn)*history[j]      // P̃H + (P − P̃)H̄
						means["linear"] += drawn*(h[j]-history[j]) + entry*history[j] + (entry-drawn)*linear[j]
						means["gradient"] += drawn*slope[j]*input[j] + (entry-drawn)*meanSlope*input[j]
						exact += entry * h[j]
						gradient += entry * slope[j] * input[j]
						size += math.Abs(entry) * (math.Abs(h[j]) + math.Abs(history[j]))
					}
					if math.Abs(means["gradient"]-gradient) > 1e-12*max(size, 1) {
						t.Errorf("%s, s = %d: the gradient has the mean %v, over all neighbours it is %v", partsName(parts), s, means["gradient"], gradient)
					}
					for _, control := range []string{"none", "refresh", "rolling", "linear"} {
						if math.Abs(means[control]-exact) > 1e-12*max(size, 1) {
							t.Errorf("%s, %s, s = %d: E is %v, PH is %v", partsName(parts), control, s, means[control], exact)
						}
					}
				}
			}
		}
	}
}

// columnWeights returns the probabilities of all nodes by the importance of parts, up to a
// factor; 0 for a node that is no candidate.
func columnWeights(dense []float64, nodes int, rows []int, parts partNames) []float64 {
	weights := make([]float64, nodes)
	for j := range weights {
		var local, global float64
		for i := range nodes {
			square := dense[i*nodes+j] * dense[i*nodes+j]
			global += square
			if slices.Contains(rows, i) {
				local += square
			}
		}
		weights[j] = local
		switch {
		case parts.Importance == "fastgcn" && (local > 0 || !parts.Neighborhood):
			weights[j] = global
		case parts.Importance == "uniform" && local > 0:
			weights[j] = 1
		}
		if parts.Flat {
			weights[j] = math.Sqrt(weights[j])
		}
	}
	return weights
}

// unbiasedParts returns the parts of allParts that go with a control.
func unbiasedParts() []partNames {
	var all []partNames
	for _, parts := range allParts() {
		parts.IncludeRows, parts.NormalizeRows = false, false
		if parts.Weight != "naive" || parts.Draw == "replacement" {
			all = append(all, parts)
		}
	}
	return all
}

// TestRollingControl checks, for every unbiased combination, that P̃ and the control add up
// to P in every draw, and that the mean of P̃H + (P−P̃)H̄ over 20,000 draws is PH, for an H̄
// that has nothing to do with H.
func TestRollingControl(t *testing.T) {
	const nodes, batches = 120, 20000
	p := graph.NewLaplacian(samplertest.RandomGraph(t, nodes, 500, true, 4))
	dense := p.Dense()
	rng := rand.New(samplers.NewSource(9, 0, 0))
	h, history := make([]float64, nodes), make([]float64, nodes)
	for i := range h {
		h[i], history[i] = 1+rng.NormFloat64(), 3*rng.NormFloat64()
	}
	seeds := []int32{3, 50, 119}
	for _, parts := range unbiasedParts() {
		t.Run(partsName(parts), func(t *testing.T) {
			t.Parallel()
			draws := batches
			if testing.Short() || samplers.RaceDetector {
				draws = 50
			}
			parts.Control = "rolling"
			s, err := parts.sampler(samplers.Config{Laplacian: p, Layers: 1, Sizes: []int{sizeOf(samplers.Weights()[parts.Weight], 25)}, ExactInput: true})
			if err != nil {
				t.Fatal(err)
			}
			if got := s.(*samplers.LayerWise).HistoryNodes(0); got != nodes {
				t.Fatalf("a history of %d nodes", got)
			}
			sums, squares := make([]float64, len(seeds)), make([]float64, len(seeds))
			var batch samplers.MiniBatch
			for b := range draws {
				if err := samplers.Prepared(s).Sample(context.Background(), seeds, rand.New(samplers.NewSource(1, 0, uint64(b))), &batch); err != nil {
					t.Fatal(err)
				}
				block := batch.Blocks[0]
				if b < 20 {
					if err := block.Validate(nodes); err != nil {
						t.Fatal(err)
					}
				}
				for i, r := range block.Dst {
					row := make([]float64, nodes)
					var estimate float64
					for k, c := range block.Matrix.Row(i) {
						v := float64(block.Matrix.RowValues(i)[k])
						row[block.Src[c]] += v
						estimate += v * h[block.Src[c]]
					}
					for k, j := range block.Control.Row(i) {
						v := float64(block.Control.RowValues(i)[k])
						row[j] += v
						estimate += v * history[j]
					}
					if b < 20 {
						for j, v := range row {
							if want := dense[int(r)*nodes+j]; math.Abs(v-want) > 1e-4*(1+math.Abs(want)) {
								t.Fatalf("P̃ + control is %v at (%d, %d), want %v", v, r, j, want)
							}
						}
					}
					sums[i] += estimate
					squares[i] += estimate * estimate
				}
			}
			if draws < 1000 {
				return
			}
			for i, r := range seeds {
				var want float64
				for j := range nodes {
					want += dense[int(r)*nodes+j] * h[j]
				}
				n := float64(draws)
				mean := sums[i] / n
				sem := math.Sqrt((squares[i]/n - mean*mean) / n)
				if math.Abs(mean-want) > 4.5*sem+1e-4 {
					t.Errorf("node %d: mean %v, standard error %v, want %v", r, mean, sem, want)
				}
			}
		})
	}
}

// Parts whose estimate is biased, and layers without activations, are errors.
func TestControlErrors(t *testing.T) {
	p := graph.NewLaplacian(samplertest.RandomGraph(t, 50, 100, false, 4))
	for want, s := range map[string]*samplers.LayerWise{
		"naive weights":   {Weight: samplers.Naive{}},
		"NormalizeRows":   {NormalizeRows: true},
		"IncludeRows":     {IncludeRows: true},
		"unknown control": {Control: "often"},
		"is node 50":      {Train: []int32{50}},
	} {
		for _, control := range []samplers.Control{samplers.ControlRefresh, samplers.ControlRolling} {
			s.Laplacian, s.Sizes = p, []int{5, 5}
			if s.Control != "often" {
				s.Control = control
			}
			again := &samplers.LayerWise{Laplacian: p, Sizes: s.Sizes, Weight: s.Weight, NormalizeRows: s.NormalizeRows, IncludeRows: s.IncludeRows, Control: s.Control, Train: s.Train}
			if err := again.Prepare(); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%v, %v: %v", control, want, err)
			}
		}
	}
	for _, control := range []samplers.Control{samplers.ControlRefresh, "often"} {
		if err := (&samplers.Neighbor{Laplacian: p, Sizes: []int{5, 5}, Control: control}).Prepare(); err == nil || !strings.Contains(err.Error(), "want ControlRolling") {
			t.Errorf("Neighbor with control %v: %v", control, err)
		}
	}
	one := &samplers.LayerWise{Laplacian: p, Sizes: []int{5}, Control: samplers.ControlRefresh}
	if err := one.Prepare(); err == nil || !strings.Contains(err.Error(), "exact input") {
		t.Errorf("one layer: %v", err)
	}
	repeats := &samplers.LayerWise{Laplacian: p, Sizes: []int{5, 5}, Draw: samplers.WithReplacement{}, Weight: samplers.Naive{}, Control: samplers.ControlRolling}
	if err := repeats.Prepare(); err != nil {
		t.Errorf("naive weights with replacement: %v", err)
	}
	if repeats.HistoryNodes(0) != 0 || repeats.HistoryNodes(1) != 50 {
		t.Error("the layer that reads features keeps a history, or the one above does not")
	}
}
