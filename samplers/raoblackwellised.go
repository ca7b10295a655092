package samplers

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
// Let B(A) be the probability that the next draws complete S, once its subset A is
// drawn. Then B(S) = 1, B(A) = Σ_{a∈S∖A} w_a/(W−w(A)) · B(A+a),
// P(S from D) = B(∅) and P(S∖i from D∖i) = B({i}).
//
// Cost: O(s 2^s), so sizes above MostUnordered are refused. Rank has nearly the same variance
// for large s.
type RaoBlackwellised struct{}

// MostUnordered is the largest sample of RaoBlackwellised.
const MostUnordered = 16

// Check implements Weight.
func (RaoBlackwellised) Check(draw Draw) error { return checkOrdered("Rao-Blackwellised", draw) }

// Weigh implements Weight.
func (RaoBlackwellised) Weigh(population *Population, sample *Sample, beta []float64) {
	last := len(beta) - 1
	never := sample.Remaining[last] - sample.Weight[last]
	if never < 1e-3*sample.Weight[last] { // avoid cancellation
		never = neverDrawn(population, sample)
	}
	subsets := 1 << len(beta)
	complete := resize(&sample.sums, subsets)
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
