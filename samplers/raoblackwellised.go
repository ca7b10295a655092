package samplers

import "math"

// RaoBlackwellised is the unordered set estimator of Kool, van Hoof & Welling
// 2020 (arXiv:2002.06043): the expectation of any sum-and-sample estimator Π_k of
// weighted random sampling, given the set drawn but not its order. With S the set
// drawn from the candidates D, it is the leave-one-out ratio
//
//	β_i = P(S∖i drawn from D∖i) / P(S drawn from D).
//
// Unbiased. Debiased, SumAndSample and Rank have this β_i as their expectation
// given S, so its variance is at most theirs. Exact at s = m.
//
// For s ≤ 10 both probabilities come from one recursion over the subsets of S,
// exact up to rounding, in O(s 2^s). For larger s they are the integrals
//
//	P(S drawn from D) = ∫ R e^{−Rt} ∏_{a∈S} (1 − e^{−w_a t}) dt
//
// over the time t of the next draw, with R the weight never drawn; for
// P(S∖i drawn from D∖i) the factor of i is left out. The trapezoidal rule in ln t
// has an error below 1e-12. It takes about a hundred points of O(s); at s = 512 this
// is a few times the cost of the draw.
type RaoBlackwellised struct{}

// raoBlackwellExact is the largest s for the recursion over subsets.
const raoBlackwellExact = 10

// Check implements Weight.
func (RaoBlackwellised) Check(draw Draw) error { return checkOrdered("Rao-Blackwellised", draw) }

// Weigh implements Weight.
func (RaoBlackwellised) Weigh(population *Population, sample *Sample, beta []float64) {
	last := len(beta) - 1
	never := sample.Remaining[last] - sample.Weight[last]
	if never < 1e-3*sample.Weight[last] { // avoid cancellation
		never = neverDrawn(population, sample)
	}
	switch {
	case never <= 0:
		fill(beta, 1)
	case len(beta) <= raoBlackwellExact:
		leaveOneOutExact(sample, never, beta)
	default:
		leaveOneOutIntegral(sample, never, beta)
	}
}

// leaveOneOutExact sets beta[i] to P(S∖i from D∖i) / P(S from D), given the weights
// of S and the total weight of D∖S.
//
// Let B(A) be the probability that the next draws complete S, once its subset A is
// drawn. Then B(S) = 1, B(A) = Σ_{a∈S∖A} w_a/(W−w(A)) · B(A+a),
// P(S from D) = B(∅) and P(S∖i from D∖i) = B({i}).
func leaveOneOutExact(sample *Sample, never float64, beta []float64) {
	subsets := 1 << len(sample.Weight)
	complete := resize(&sample.scratch.sums, subsets)
	complete[0] = 1 // a bit mask u stands for the candidates not yet drawn, S∖A
	for u := 1; u < subsets; u++ {
		var sum, mass float64
		for a, w := range sample.Weight {
			if u>>a&1 == 1 {
				sum += w * complete[u&^(1<<a)]
				mass += w
			}
		}
		complete[u] = sum / (never + mass)
	}
	for i := range beta {
		beta[i] = complete[(subsets-1)&^(1<<i)] / complete[subsets-1]
	}
}

// leaveOneOutIntegral is leaveOneOutExact by quadrature.
//
// In x = ln t the integrand of P(S from D) is exp(g(x)) with
//
//	g(x) = x − R e^x + Σ_a ln(1 − e^{−w_a e^x}).
//
// g is concave and analytic around the real line, and exp(g) falls at least like
// e^x on the left and doubly exponentially on the right, so the trapezoidal rule
// converges exponentially. The integrand of P(S∖i from D∖i) is exp(g(x)) divided
// by 1 − e^{−w_i e^x}. sums holds the sums of both kinds, the one of P(S from D) last.
func leaveOneOutIntegral(sample *Sample, never float64, beta []float64) {
	weights, s := sample.Weight, len(sample.Weight)
	memory := resize(&sample.scratch.sums, 3*s+3)
	// drawn[a] is 1 − e^{−w_a t} at the point of the last call of logIntegrand, and drawn[s] is 1.
	drawn, sums, coarse := memory[:s+1], memory[s+1:2*s+2], memory[2*s+2:]
	drawn[s] = 1
	logIntegrand := func(x float64) float64 {
		t := math.Exp(x)
		g, product := x-never*t, 1.0
		for a, w := range weights {
			drawn[a] = -math.Expm1(-w * t)
			if product *= drawn[a]; product < 1e-200 {
				g += math.Log(product)
				product = 1
			}
		}
		return g + math.Log(product)
	}
	// g′ = 1 − R t + Σ y/(e^y−1), y = w_a t, falls from s+1 to −∞. It is positive at t = 1/R
	// and negative at t = (s+1)/R. A few bisections find a point near the maximum of g.
	low, high := -math.Log(never), math.Log(float64(s+1)/never)
	for range 16 {
		middle := (low + high) / 2
		t := math.Exp(middle)
		slope := 1 - never*t
		for _, w := range weights {
			y := max(w*t, math.SmallestNonzeroFloat64)
			slope += y / math.Expm1(y)
		}
		if slope > 0 {
			low = middle
		} else {
			high = middle
		}
	}
	top := logIntegrand(low)
	clear(sums)
	add := func(x float64) bool { // reports whether the point changed the sums
		f, changed := math.Exp(logIntegrand(x)-top), false
		for a := range sums {
			part := f / drawn[a]
			sums[a] += part
			changed = changed || part > 1e-17*sums[a]
		}
		return changed
	}
	// sweep adds the points low + (offset + k)·step for all integers k. Each
	// refinement adds the points halfway between the earlier ones.
	sweep := func(offset, step float64) {
		for x := low + offset*step; add(x); x += step {
		}
		for x := low + (offset-1)*step; add(x); x -= step {
		}
	}
	sweep(0, 1)
	for step := 1.0; step > 0x1p-30; step /= 2 {
		copy(coarse, sums)
		sweep(0.5, step)
		worst := 0.0
		for a := range sums {
			worst = max(worst, math.Abs(2*coarse[a]/sums[a]-1))
		}
		// Each halving at least squares the error.
		if worst < 1e-7 {
			break
		}
	}
	for a := range beta {
		beta[a] = sums[a] / sums[s]
	}
}
