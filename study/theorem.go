package study

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/gcn-layerwise/gcn/internal/memory"
	"github.com/gcn-layerwise/gcn/samplers"
)

// missingLaw is the law of the watched candidates that weighted random sampling has
// not drawn after k draws.
//
// Candidate i arrives at time E_i/p_i, E_i standard exponential, and the first k
// arrivals are the first k draws. Between draws k and k+1 the set drawn stays S for a
// time of mean 1/R(S), R the probability of the candidates not in S. So for any
// function f of the set after k draws
//
//	E[f(S_k)] = ∫ E[f(S(t)) R(S(t)); k arrivals until t] dt.
//
// Arrivals are independent, so the integrand is a polynomial product over the
// candidates, and the integral has one dimension (as in samplers.RaoBlackwellised).
type missingLaw struct {
	p     []float64      // probabilities of the watched candidates
	after []missingAfter // after k draws, k = 0 … s; nothing at 0
}

// missingAfter holds the law after some number of draws.
type missingAfter struct {
	one  []float64 // q̄_i
	two  []float64 // q̄_ij at pair(i, j)
	mass []float64 // r_i
}

// pair returns the place of {i, j}, i > j, in a list of pairs.
func pair(i, j int) int { return i*(i-1)/2 + j }

// newMissingLaw computes the law up to s draws.
func newMissingLaw(ctx context.Context, weights []float64, s int, watch []int32) (*missingLaw, error) {
	d, err := newDraws(weights, s, samplers.WithoutReplacement{}, samplers.Debiased{}, watch)
	if err != nil {
		return nil, err
	}
	n := int64(len(d.p))
	need := memory.Product(8, int64(s)+1, n*(n+3)/2)
	if err := memory.Check(fmt.Sprintf("study: the covariances of %d candidates after up to %d draws", n, s), need); err != nil {
		return nil, err
	}
	l := &missingLaw{p: d.p, after: make([]missingAfter, s+1)}
	for k := 1; k <= s; k++ {
		l.after[k] = missingAfter{make([]float64, n), make([]float64, n*(n-1)/2), make([]float64, n)}
	}
	var others []float64
	for i, w := range weights {
		if d.at[i] == 0 {
			others = append(others, w/d.population.Total)
		}
	}
	least := slices.Min(weights) / d.population.Total
	// The integral is over the logarithm of time, by the trapezoidal rule. An
	// integrand of k arrivals is about 1/√k wide.
	step := min(0.2, 0.8/math.Sqrt(float64(s)))
	end := math.Log(50 / least)
	for u := -17.0; u < end; u += step {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		t := math.Exp(u)
		if !l.add(t, step*t, others) {
			break
		}
	}
	return l, nil
}

// add adds the integrands at time t, times dt. It returns false if at least s
// candidates have certainly arrived: the rest of the integral is then 0.
func (l *missingLaw) add(t, dt float64, others []float64) bool {
	base := &arrivals{counts: []arrivalCount{{one: 1}}, most: len(l.after) - 1}
	for _, p := range others {
		base.add(p, t)
	}
	without := func(left ...int) *arrivals { // of all candidates but those left out
		a := base.clone()
		for i, p := range l.p {
			if !slices.Contains(left, i) {
				a.add(p, t)
			}
		}
		return a
	}
	if without().low > base.most {
		return false
	}
	for i, p := range l.p {
		stay, a := dt*math.Exp(-p*t), without(i)
		for k := max(1, a.low); k < a.high(); k++ {
			c := a.counts[k-a.low]
			l.after[k].one[i] += stay * (p*c.one + c.left)
			l.after[k].mass[i] += stay * (p*p*c.one + 2*p*c.left + c.left2)
		}
		for j := range i {
			both := p + l.p[j]
			stay, a := dt*math.Exp(-both*t), without(i, j)
			for k := max(1, a.low); k < a.high(); k++ {
				c := a.counts[k-a.low]
				l.after[k].two[pair(i, j)] += stay * (both*c.one + c.left)
			}
		}
	}
	return true
}

// arrivals is the law of the number of candidates that have arrived by some time, with the
// probability R of the others. It leaves out numbers above most, and numbers of negligible
// probability.
type arrivals struct {
	low    int // counts[k] is about low+k arrivals
	counts []arrivalCount
	most   int
}

// arrivalCount holds P(k arrivals), E[R; k arrivals] and E[R²; k arrivals].
type arrivalCount struct{ one, left, left2 float64 }

func (a *arrivals) clone() *arrivals {
	return &arrivals{a.low, append(make([]arrivalCount, 0, len(a.counts)+8), a.counts...), a.most}
}

// high returns the first number above low that is left out.
func (a *arrivals) high() int { return a.low + len(a.counts) }

// negligible is a probability that does not change a result.
const negligible = 1e-30

// add counts one more candidate, of probability p, at time t. Cost: O(len(counts)).
func (a *arrivals) add(p, t float64) {
	arrived, missing := -math.Expm1(-p*t), math.Exp(-p*t)
	a.counts = append(a.counts, arrivalCount{})
	for k := len(a.counts) - 1; k >= 0; k-- {
		c := a.counts[k]
		c.left2 = missing * (c.left2 + 2*p*c.left + p*p*c.one)
		c.left = missing * (c.left + p*c.one)
		c.one *= missing
		if k > 0 {
			before := a.counts[k-1]
			c.one += arrived * before.one
			c.left += arrived * before.left
			c.left2 += arrived * before.left2
		}
		a.counts[k] = c
	}
	for n := len(a.counts); n > 0 && (a.high()-1 > a.most || a.counts[n-1].one < negligible); n-- {
		a.counts = a.counts[:n-1]
	}
	for len(a.counts) > 0 && a.counts[0].one < negligible {
		a.counts = a.counts[1:]
		a.low++
	}
	if len(a.counts) == 0 {
		a.low = a.most + 1
	}
}

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
