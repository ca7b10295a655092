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
		for j := range beta {
			beta[j] = 1
		}
	case len(beta) <= raoBlackwellExact:
		sample.scratch.sums = leaveOneOutExact(sample.Weight, never, beta, sample.scratch.sums)
	default:
		sample.scratch.sums = leaveOneOutIntegral(sample.Weight, never, beta, sample.scratch.sums)
	}
}

// leaveOneOutExact sets beta[i] to P(S∖i from D∖i) / P(S from D), given the weights
// of S and the total weight of D∖S. It returns scratch, which may have grown.
//
// Let B(A) be the probability that the next draws complete S, once its subset A is
// drawn. Then B(S) = 1, B(A) = Σ_{a∈S∖A} w_a/(W−w(A)) · B(A+a),
// P(S from D) = B(∅) and P(S∖i from D∖i) = B({i}).
func leaveOneOutExact(weights []float64, never float64, beta, scratch []float64) []float64 {
	subsets := 1 << len(weights)
	scratch = resize(scratch, 2*subsets)
	// A bit mask u stands for the candidates not yet drawn, S∖A.
	weight, complete := scratch[:subsets], scratch[subsets:]
	weight[0], complete[0] = 0, 1
	for u := 1; u < subsets; u++ {
		var sum, mass float64
		for a, w := range weights {
			if u>>a&1 == 1 {
				sum += w * complete[u&^(1<<a)]
				mass += w
			}
		}
		weight[u] = mass
		complete[u] = sum / (never + mass)
	}
	all := subsets - 1
	for i := range beta {
		beta[i] = complete[all&^(1<<i)] / complete[all]
	}
	return scratch
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
// by 1 − e^{−w_i e^x}.
func leaveOneOutIntegral(weights []float64, never float64, beta, scratch []float64) []float64 {
	s := len(weights)
	scratch = resize(scratch, 2*s)
	drawn, sums := scratch[:s], scratch[s:] // drawn[a] = 1 − e^{−w_a t} at the point of the last call of logIntegrand
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
	mode, width := integrandMode(weights, never)
	top := logIntegrand(mode)
	total := 0.0
	clear(sums)
	add := func(x float64) bool { // reports whether the point changed the sums
		f := math.Exp(logIntegrand(x) - top)
		total += f
		changed := f > 1e-17*total
		for a := range sums {
			part := f / drawn[a]
			sums[a] += part
			changed = changed || part > 1e-17*sums[a]
		}
		return changed
	}
	// sweep adds the points mode + (offset + k)·step for all integers k. Each
	// refinement adds the points halfway between the earlier ones.
	sweep := func(offset, step float64) {
		for x := mode + offset*step; add(x); x += step {
		}
		for x := mode + (offset-1)*step; add(x); x -= step {
		}
	}
	step := width
	sweep(0, step)
	for range 8 {
		coarse := total
		copy(beta, sums)
		sweep(0.5, step)
		step /= 2
		worst := 0.0
		for a := range sums {
			worst = max(worst, math.Abs(2*beta[a]/sums[a]-1), math.Abs(2*coarse/total-1))
		}
		// Each halving at least squares the error.
		if worst < 1e-7 {
			break
		}
	}
	for a := range beta {
		beta[a] = sums[a] / total
	}
	return scratch
}

// integrandMode returns the maximiser of g of leaveOneOutIntegral, and 1/√(−g″) at
// it.
func integrandMode(weights []float64, never float64) (mode, width float64) {
	// g′ = 1 − R t + Σ y/(e^y−1), y = w_a t, falls from s+1 to −∞; its derivative
	// in x is −R t + Σ (y/(e^y−1))·(1 − y e^y/(e^y−1)).
	slope := func(x float64) (first, second float64) {
		t := math.Exp(x)
		first, second = 1-never*t, -never*t
		for _, w := range weights {
			y := w * t
			ratio := 1.0
			if y > 0 {
				ratio = y / math.Expm1(y) // 0 where y is large
			}
			first += ratio
			if ratio > 0 {
				second += ratio * (1 - ratio - y)
			}
		}
		return first, second
	}
	// g′ > 0 at t = 1/R at the latest, g′ < 0 at t = (s+1)/R.
	low, high := -math.Log(never), math.Log(float64(len(weights)+1)/never)
	mode = low
	for range 200 {
		first, second := slope(mode)
		if first > 0 {
			low = mode
		} else {
			high = mode
		}
		next := mode - first/second
		if !(next > low && next < high) {
			next = (low + high) / 2
		}
		if math.Abs(next-mode) < 1e-3*(1/math.Sqrt(-second)) {
			return next, 1 / math.Sqrt(-second)
		}
		mode = next
	}
	_, second := slope(mode)
	return mode, 1 / math.Sqrt(-second)
}
