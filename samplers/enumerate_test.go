package samplers_test

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/gonum/stat/combin"

	"github.com/gcn-layerwise/gcn/samplers"
)

// enumerateDraw calls visit with every outcome of draw on candidates of the given
// weights, and with its probability. The probabilities sum to 1. visit must not keep
// the sample. enumerateDraw is slow and plain: use it for up to 6 candidates. It returns
// an error if draw is not one of package samplers.
//
// For WithoutReplacement an outcome is an ordered sample without a threshold;
// enumerateKeys gives the thresholds.
func enumerateDraw(draw samplers.Draw, weights []float64, s int, visit func(probability float64, sample *samplers.Sample)) error {
	switch draw.(type) {
	case samplers.WithoutReplacement:
		for _, sequence := range combin.Permutations(len(weights), s) {
			visitSequence(weights, sequence, false, visit)
		}
	case samplers.WithReplacement:
		for _, sequence := range combin.Cartesian(slices.Repeat([]int{len(weights)}, s)) {
			visitSequence(weights, sequence, true, visit)
		}
	case samplers.Poisson:
		enumeratePoisson(weights, s, visit)
	case samplers.Systematic:
		enumerateSystematic(weights, s, visit)
	default:
		return fmt.Errorf("no enumeration of draw %T", draw)
	}
	return nil
}

// visitSequence visits a sequence of draws, unless it is impossible. The probability of each draw
// is its weight divided by the weight of all candidates left; with replace, of all candidates.
func visitSequence(weights []float64, sequence []int, replace bool, visit func(float64, *samplers.Sample)) {
	sample, probability := &samplers.Sample{Draws: len(sequence)}, 1.0
	for _, i := range sequence {
		if !replace {
			left := sumBut(weights, sample.Index)
			probability *= weights[i] / left
			sample.Remaining = append(sample.Remaining, left)
			addCandidate(sample, weights, int32(i))
			continue
		}
		probability *= weights[i] / sumBut(weights, nil)
		at := slices.Index(sample.Index, int32(i))
		if at < 0 {
			at = len(sample.Index)
			addCandidate(sample, weights, int32(i))
			sample.Count = append(sample.Count, 0)
		}
		sample.Count[at]++
	}
	if probability > 0 {
		visit(probability, sample)
	}
}

// sumBut returns the sum of the weights except at the given indices.
func sumBut(weights []float64, indices []int32) float64 {
	var sum float64
	for i, w := range weights {
		if !slices.Contains(indices, int32(i)) {
			sum += w
		}
	}
	return sum
}

// enumerateKeys calls visit with the outcomes of weighted random sampling by keys:
// sets of s candidates, in order of index, with the (s+1)-th smallest key as
// threshold. Thresholds are continuous, so the probabilities are the weights of a
// quadrature. Its error is below 1e-12 for smooth functions of the threshold that
// grow no faster than its −s-th power at 0.
//
// The outcome is the set S with threshold t if the keys in S are below t and the
// smallest other key is t. Its density is ∏_{i∈S} (1 − e^{−w_i t}) · R e^{−Rt}, with
// R the weight of the other candidates.
func enumerateKeys(weights []float64, s int, visit func(probability float64, sample *samplers.Sample)) {
	eachSet(weights, s, func(sample *samplers.Sample) {
		rest := sumBut(weights, sample.Index)
		if rest == 0 {
			sample.Threshold = math.Inf(1)
			visit(1, sample)
			return
		}
		// The trapezoidal rule in x = ln t.
		const step = 1.0 / 8
		for x := -60.0; ; x += step {
			t := math.Exp(x)
			density := rest * math.Exp(-rest*t) * t // dt = t dx
			if density == 0 {
				return
			}
			for _, w := range sample.Weight {
				density *= -math.Expm1(-w * t)
			}
			sample.Threshold = t
			visit(density*step, sample)
		}
	})
}

// eachSet calls visit with each set of size candidates of positive weight.
func eachSet(weights []float64, size int, visit func(sample *samplers.Sample)) {
	for _, indices := range combin.Combinations(len(weights), size) {
		sample := &samplers.Sample{Draws: size}
		for _, i := range indices {
			addCandidate(sample, weights, int32(i))
		}
		if !slices.Contains(sample.Weight, 0) {
			visit(sample)
		}
	}
}

// addCandidate adds candidate i to a sample of candidates of the given weights.
func addCandidate(sample *samplers.Sample, weights []float64, i int32) {
	sample.Index, sample.Weight = append(sample.Index, i), append(sample.Weight, weights[i])
}

// inclusionOf returns π_i = min(1, c·w_i) with Σ π_i = s, for s up to the number of
// positive weights. The k largest weights have π = 1, for the smallest k that gives
// all others π < 1.
func inclusionOf(weights []float64, s int) []float64 {
	sorted := slices.Sorted(slices.Values(weights))
	c, largest := 0.0, 0.0 // largest of the weights with π < 1
	for rest := sorted; sumBut(rest, nil) > 0; rest = rest[:len(rest)-1] {
		certain := len(sorted) - len(rest)
		c = float64(s-certain) / sumBut(rest, nil)
		if top := rest[len(rest)-1]; c*top < 1 {
			largest = top
			break
		}
	}
	pi := make([]float64, len(weights))
	for i, w := range weights {
		if pi[i] = c * w; w > largest {
			pi[i] = 1
		}
	}
	return pi
}

// enumeratePoisson visits the sets of Poisson sampling, except for the empty set:
// that is drawn again.
func enumeratePoisson(weights []float64, s int, visit func(float64, *samplers.Sample)) {
	pi := inclusionOf(weights, s)
	none := 1.0
	for _, p := range pi {
		none *= 1 - p
	}
	for size := range len(weights) {
		eachSet(weights, size+1, func(sample *samplers.Sample) {
			sample.Draws = s
			probability := 1 / (1 - none)
			for i, p := range pi {
				if !slices.Contains(sample.Index, int32(i)) {
					probability *= 1 - p
					continue
				}
				probability *= p
				sample.Inclusion = append(sample.Inclusion, p/(1-none))
			}
			if probability > 0 {
				visit(probability, sample)
			}
		})
	}
}

// enumerateSystematic visits the samples of systematic sampling, for every order of
// the candidates and every interval of starting points with the same sample.
func enumerateSystematic(weights []float64, s int, visit func(float64, *samplers.Sample)) {
	pi := inclusionOf(weights, s)
	var certain, order []int32
	for i, p := range pi {
		if p == 1 {
			certain = append(certain, int32(i))
		} else if p > 0 {
			order = append(order, int32(i))
		}
	}
	orders := combin.Permutations(len(order), len(order))
	for _, permutation := range orders {
		ends, starts := []float64{0}, []float64{0, 1} // starts: ends of those intervals
		for _, k := range permutation {
			end := ends[len(ends)-1] + pi[order[k]]
			ends = append(ends, end)
			starts = append(starts, end-math.Floor(end))
		}
		slices.Sort(starts)
		for k := 1; k < len(starts); k++ {
			low, high := starts[k-1], starts[k]
			if high-low < 1e-14 { // one point, up to rounding
				continue
			}
			sample := &samplers.Sample{Draws: s}
			take := func(i int32) {
				addCandidate(sample, weights, i)
				sample.Inclusion = append(sample.Inclusion, pi[i])
			}
			for _, i := range certain {
				take(i)
			}
			for a, k := range permutation {
				for point := (low + high) / 2; point < ends[a+1]; point++ {
					if point >= ends[a] {
						take(order[k])
					}
				}
			}
			visit((high-low)/float64(len(orders)), sample)
		}
	}
}

// momentsOf returns E[β_i] and E[β_i β_j] of a weight for draws of s candidates, over
// all outcomes, with β_i = 0 if i is not drawn. It returns an error if the weight
// does not go with the draw, or if enumerateDraw does.
func momentsOf(draw samplers.Draw, weight samplers.Weight, weights []float64, s int) (mean []float64, product [][]float64, err error) {
	if err := weight.Check(draw); err != nil {
		return nil, nil, err
	}
	n := len(weights)
	mean, product = make([]float64, n), make([][]float64, n)
	for i := range product {
		product[i] = make([]float64, n)
	}
	population, err := samplers.NewPopulation(weights)
	if err != nil {
		return nil, nil, err
	}
	beta := make([]float64, n)
	visit := func(probability float64, sample *samplers.Sample) {
		b := beta[:len(sample.Index)]
		weight.Weigh(population, sample, b)
		for j, i := range sample.Index {
			mean[i] += probability * b[j]
			for k, l := range sample.Index {
				product[i][l] += probability * b[j] * b[k]
			}
		}
	}
	if _, ok := weight.(samplers.Rank); ok {
		enumerateKeys(weights, s, visit)
		return mean, product, nil
	}
	return mean, product, enumerateDraw(draw, weights, s, visit)
}

// TestEnumerateIsALaw checks that probabilities of all outcomes sum to 1.
func TestEnumerateIsALaw(t *testing.T) {
	for _, weights := range [][]float64{{1}, {2, 0, 1}, {1, 1, 1, 1}, {0.3, 5, 1, 1, 1e-3, 40}} {
		population, err := samplers.NewPopulation(weights)
		if err != nil {
			t.Fatal(err)
		}
		for s := 1; s <= population.Positive; s++ {
			for _, draw := range []samplers.Draw{samplers.WithoutReplacement{}, samplers.WithReplacement{}, samplers.Poisson{}, samplers.Systematic{}} {
				sum := 0.0
				err := enumerateDraw(draw, weights, s, func(p float64, _ *samplers.Sample) { sum += p })
				if err != nil || math.Abs(sum-1) > 1e-12 {
					t.Errorf("%T, weights %v, s = %d: probabilities sum to %v, error %v", draw, weights, s, sum, err)
				}
			}
			sum := 0.0
			enumerateKeys(weights, s, func(p float64, _ *samplers.Sample) { sum += p })
			if math.Abs(sum-1) > 1e-12 {
				t.Errorf("keys, weights %v, s = %d: probabilities sum to %v", weights, s, sum)
			}
		}
	}
	if err := enumerateDraw(nil, []float64{1}, 1, nil); err == nil {
		t.Error("an unknown draw is enumerated")
	}
	if _, _, err := momentsOf(samplers.Poisson{}, samplers.Rank{}, []float64{1}, 1); err == nil {
		t.Error("a weight follows a draw that it cannot")
	}
}

func TestInclusionByHand(t *testing.T) {
	// 3·8/13 > 1, then 2·3/5 > 1, then 1·1/2 twice.
	got := inclusionOf([]float64{1, 8, 0, 3, 1}, 3)
	for i, want := range []float64{0.5, 1, 0, 1, 0.5} {
		if got[i] != want {
			t.Fatalf("π = %v", got)
		}
	}
}

func TestMomentsErrorNames(t *testing.T) {
	_, _, err := momentsOf(samplers.Poisson{}, samplers.Debiased{}, []float64{1, 2}, 1)
	if err == nil || !strings.Contains(err.Error(), "samplers.Poisson") {
		t.Errorf("error %v does not name the draw", err)
	}
}
