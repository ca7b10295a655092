package samplertest

import (
	"cmp"
	"fmt"
	"math"
	"math/bits"
	"slices"

	"github.com/gcn-layerwise/gcn/samplers"
)

// Enumerate calls visit with every outcome of draw on candidates of the given
// weights, and with its probability. The probabilities sum to 1. visit must not keep
// the sample. Enumerate is slow and plain: use it for up to 6 candidates. It returns
// an error if draw is not one of package samplers.
//
// For WithoutReplacement an outcome is an ordered sample without a threshold;
// EnumerateKeys gives the thresholds.
func Enumerate(draw samplers.Draw, weights []float64, s int, visit func(probability float64, sample *samplers.Sample)) error {
	switch draw.(type) {
	case samplers.WithoutReplacement:
		enumerateSequences(weights, s, false, visit)
	case samplers.WithReplacement:
		enumerateSequences(weights, s, true, visit)
	case samplers.Poisson:
		enumeratePoisson(weights, s, visit)
	case samplers.Systematic:
		enumerateSystematic(weights, s, visit)
	default:
		return fmt.Errorf("samplertest: no enumeration of draw %T", draw)
	}
	return nil
}

// enumerateSequences visits the sequences of s draws. The probability of each draw is its weight
// divided by the weight of all candidates or, without replacement, of those left.
func enumerateSequences(weights []float64, s int, replace bool, visit func(float64, *samplers.Sample)) {
	left := func(drawn []int32) float64 {
		if replace {
			drawn = nil
		}
		return sumBut(weights, drawn)
	}
	var extend func(sequence []int32, probability float64)
	extend = func(sequence []int32, probability float64) {
		if len(sequence) < s {
			for i, w := range weights {
				if w > 0 && (replace || !slices.Contains(sequence, int32(i))) {
					extend(append(sequence[:len(sequence):len(sequence)], int32(i)), probability*w/left(sequence))
				}
			}
			return
		}
		sample := &samplers.Sample{Draws: s}
		for k, i := range sequence {
			if !replace {
				sample.Remaining = append(sample.Remaining, left(sequence[:k]))
			}
			at := slices.Index(sample.Index, i)
			if at < 0 {
				at = len(sample.Index)
				add(sample, weights, i)
				if replace {
					sample.Count = append(sample.Count, 0)
				}
			}
			if replace {
				sample.Count[at]++
			}
		}
		visit(probability, sample)
	}
	extend(nil, 1)
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

// EnumerateKeys calls visit with the outcomes of weighted random sampling by keys:
// sets of s candidates, in order of index, with the (s+1)-th smallest key as
// threshold. Thresholds are continuous, so the probabilities are the weights of a
// quadrature. Its error is below 1e-12 for smooth functions of the threshold that
// grow no faster than its −s-th power at 0.
//
// The outcome is the set S with threshold t if the keys in S are below t and the
// smallest other key is t. Its density is ∏_{i∈S} (1 − e^{−w_i t}) · R e^{−Rt}, with
// R the weight of the other candidates.
func EnumerateKeys(weights []float64, s int, visit func(probability float64, sample *samplers.Sample)) {
	eachSet(weights, func(indices []int32) {
		if len(indices) != s {
			return
		}
		sample := &samplers.Sample{Draws: s}
		for _, i := range indices {
			add(sample, weights, i)
		}
		rest := sumBut(weights, indices)
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

// eachSet calls visit with each set of candidates of positive weight but the empty one.
func eachSet(weights []float64, visit func(indices []int32)) {
	for mask := 1; mask < 1<<len(weights); mask++ {
		var indices []int32
		for i, w := range weights {
			if mask>>i&1 == 1 && w > 0 {
				indices = append(indices, int32(i))
			}
		}
		if len(indices) == bits.OnesCount(uint(mask)) {
			visit(indices)
		}
	}
}

// add adds candidate i to a sample of candidates of the given weights.
func add(sample *samplers.Sample, weights []float64, i int32) {
	sample.Index, sample.Weight = append(sample.Index, i), append(sample.Weight, weights[i])
}

// Inclusion returns π_i = min(1, c·w_i) with Σ π_i = s, for s up to the number of
// positive weights. The k largest weights have π = 1, for the smallest k that gives
// all others π < 1.
func Inclusion(weights []float64, s int) []float64 {
	order := make([]int, len(weights))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(weights[b], weights[a]) })
	pi := make([]float64, len(weights))
	for certain := 0; ; certain++ {
		var rest float64
		for k := len(order) - 1; k >= certain; k-- {
			rest += weights[order[k]]
		}
		if rest == 0 {
			return pi
		}
		c := float64(s-certain) / rest
		if c*weights[order[certain]] < 1 {
			for _, i := range order[certain:] {
				pi[i] = c * weights[i]
			}
			return pi
		}
		pi[order[certain]] = 1
	}
}

// enumeratePoisson visits the sets of Poisson sampling, except for the empty set:
// that is drawn again.
func enumeratePoisson(weights []float64, s int, visit func(float64, *samplers.Sample)) {
	pi := Inclusion(weights, s)
	none := 1.0
	for _, p := range pi {
		none *= 1 - p
	}
	eachSet(weights, func(indices []int32) {
		sample := &samplers.Sample{Draws: s}
		probability := 1 / (1 - none)
		for i, p := range pi {
			if !slices.Contains(indices, int32(i)) {
				probability *= 1 - p
				continue
			}
			probability *= p
			add(sample, weights, int32(i))
			sample.Inclusion = append(sample.Inclusion, p/(1-none))
		}
		if probability > 0 {
			visit(probability, sample)
		}
	})
}

// enumerateSystematic visits the samples of systematic sampling, for every order of
// the candidates and every interval of starting points with the same sample.
func enumerateSystematic(weights []float64, s int, visit func(float64, *samplers.Sample)) {
	pi := Inclusion(weights, s)
	var certain, order []int32
	for i, p := range pi {
		if p == 1 {
			certain = append(certain, int32(i))
		} else if p > 0 {
			order = append(order, int32(i))
		}
	}
	orders := 1.0
	for k := range order {
		orders *= float64(k + 1)
	}
	eachPermutation(order, 0, func() {
		ends, starts := []float64{0}, []float64{0, 1} // starts: ends of those intervals
		for _, i := range order {
			end := ends[len(ends)-1] + pi[i]
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
				add(sample, weights, i)
				sample.Inclusion = append(sample.Inclusion, pi[i])
			}
			for _, i := range certain {
				take(i)
			}
			for a, i := range order {
				for point := (low + high) / 2; point < ends[a+1]; point++ {
					if point >= ends[a] {
						take(i)
					}
				}
			}
			visit((high-low)/orders, sample)
		}
	})
}

// eachPermutation visits each permutation of order[k:], in place.
func eachPermutation(order []int32, k int, visit func()) {
	if k == len(order) {
		visit()
		return
	}
	for i := k; i < len(order); i++ {
		order[k], order[i] = order[i], order[k]
		eachPermutation(order, k+1, visit)
		order[k], order[i] = order[i], order[k]
	}
}

// Moments returns E[β_i] and E[β_i β_j] of a weight for draws of s candidates, over
// all outcomes, with β_i = 0 if i is not drawn. It returns an error if the weight
// does not go with the draw, or if Enumerate does.
func Moments(draw samplers.Draw, weight samplers.Weight, weights []float64, s int) (mean []float64, product [][]float64, err error) {
	if err := weight.Check(draw); err != nil {
		return nil, nil, err
	}
	n := len(weights)
	mean, product = make([]float64, n), make([][]float64, n)
	for i := range product {
		product[i] = make([]float64, n)
	}
	population := NewPopulation(weights)
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
		EnumerateKeys(weights, s, visit)
		return mean, product, nil
	}
	return mean, product, Enumerate(draw, weights, s, visit)
}

// NewPopulation returns the population of the weights, which must be finite and not
// negative.
func NewPopulation(weights []float64) *samplers.Population {
	p := &samplers.Population{Weights: weights, Total: sumBut(weights, nil)}
	for _, w := range weights {
		if w > 0 {
			p.Positive++
		}
	}
	return p
}
