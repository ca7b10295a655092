package study

import "math"

// alphaOf returns the step α_k = n/((n−k+1)k) of Algorithm 1's recursive average
// Y_k = (1−α_k)Y_{k−1} + α_kΠ_k. With n = +Inf it is 1/k, as in the theorem's proof.
func alphaOf(n float64) func(k int) float64 {
	return func(k int) float64 {
		if math.IsInf(n, 1) {
			return 1 / float64(k)
		}
		return n / ((n - float64(k) + 1) * float64(k))
	}
}

// moments returns the moments of the debiased factors β of the watched candidates
// after s draws, by the recursion of the paper's theorem on variance (Chen et al.
// 2023, §5.6):
//
//	Var_{k+1}(β_i)      = (1−α_{k+1})² Var_k(β_i) + α²_{k+1} (r_i/p_i − q̄_i),
//	Cov_{k+1}(β_i, β_j) = (1−α_{k+1})² Cov_k(β_i, β_j) − α²_{k+1} q̄_ij,
//
// q̄_i and q̄_ij are the probabilities that i, or both i and j, are not among the
// first k. r_i is the mean over {i not among the first k} of the probability not
// yet drawn. The paper prints the bracket as r_i/p_i − α²q̄_i, without the factor
// α² before the bracket: the result with printed. Its own proof has the factor, and
// enumeration agrees with the proof. The result has an error of about 1e-10 of its size.
func (l *missingLaw) moments(s int, alpha func(k int) float64, printed bool) *Moments {
	t := newMoments(len(l.p))
	for i, p := range l.p {
		t.Mean[i] = 1
		for j := range l.p {
			t.Cov[i][j] = -1 // Cov of β after one draw: i and j are never both drawn
		}
		t.Cov[i][i] = 1/p - 1
	}
	for k := 1; k < s; k++ {
		a := alpha(k + 1)
		keep, gain := (1-a)*(1-a), a*a
		at := &l.after[k]
		for i, p := range l.p {
			v := gain * (at.mass[i]/p - at.one[i])
			if printed {
				v = at.mass[i]/p - gain*at.one[i]
			}
			t.Cov[i][i] = keep*t.Cov[i][i] + v
			for j := range i {
				t.Cov[i][j] = keep*t.Cov[i][j] - gain*at.two[pair(i, j)]
				t.Cov[j][i] = t.Cov[i][j]
			}
		}
	}
	return t
}
