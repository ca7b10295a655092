package study

import (
	"slices"

	"github.com/gcn-layerwise/gcn/samplers"
)

// recursion is the recursion of the paper's theorem on variance (Chen et al. 2023, §5.6) for the
// debiased factors β after s draws,
//
//	Var_{k+1}(β_i)      = (1−α_{k+1})² Var_k(β_i) + α²_{k+1} (r_i/p_i − q̄_i),
//	Cov_{k+1}(β_i, β_j) = (1−α_{k+1})² Cov_k(β_i, β_j) − α²_{k+1} q̄_ij,
//
// with the step α_k = n/((n−k+1)k) of Algorithm 1's recursive average
// Y_k = (1−α_k)Y_{k−1} + α_kΠ_k, or 1/k for n = +Inf, as in the theorem's proof.
//
// q̄_i and q̄_ij are the probabilities that i, or both i and j, are not among the
// first k draws. r_i is the mean of the probability R_k not yet drawn, where i is not drawn. The
// paper prints the bracket as r_i/p_i − α²q̄_i, without the factor α² before the bracket. Its own
// proof has the factor, and enumeration agrees with the proof.
//
// Unrolled, Var and Cov are means over samples of sums over the draws k before the first of
// the candidates is drawn: of keep_k·α²_{k+1}·(R_k/p_i − 1) and of −keep_k·α²_{k+1}.
type recursion struct {
	keep []float64 // ∏ (1−α_j)² of the steps after step k+1, for k = 0 … s−1
	gain []float64 // α²_{k+1}
}

func newRecursion(s int, n float64) *recursion {
	r := &recursion{make([]float64, s), make([]float64, s)}
	keep := 1.0
	for k := s - 1; k >= 0; k-- {
		alpha := 1 / (float64(k+1) * (1 - float64(k)/n))
		r.keep[k], r.gain[k] = keep, alpha*alpha
		keep *= (1 - alpha) * (1 - alpha)
	}
	return r
}

// add adds the sums of one sample.
func (r *recursion) add(t *tally, d *draws, probability float64, sample *samplers.Sample) {
	type upTo struct{ missing, left, printed float64 } // the first k draws
	var sum upTo
	sums := make([]upTo, len(r.keep))
	for k, keep := range r.keep {
		rest := sample.Remaining[k] / d.population.Total
		sum.missing += keep * r.gain[k]
		sum.left += keep * r.gain[k] * rest
		sum.printed += keep * rest
		sums[k] = sum
	}
	first := slices.Repeat([]int{len(sums) - 1}, len(d.p)) // draw of each watched candidate; the last one of those not drawn
	for k, i := range sample.Index {
		if at := d.at[i] - 1; at >= 0 {
			first[at] = k
		}
	}
	for i, k := range first {
		for j, l := range first {
			t.theorem.Cov[i][j] -= probability * sums[min(k, l)].missing
		}
		t.theorem.Mean[i] = 1
		t.theorem.Cov[i][i] += probability * sums[k].left / d.p[i]
		t.printed[i] += probability * (sums[k].printed/d.p[i] - sums[k].missing)
	}
}
