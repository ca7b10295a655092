package study

import (
	"context"
	"fmt"
	"math"

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
	population, err := newPopulation(weights, s, samplers.WithoutReplacement{}, samplers.Debiased{})
	if err != nil {
		return nil, err
	}
	if watch == nil {
		for i := range weights {
			watch = append(watch, int32(i))
		}
	}
	n := int64(len(watch))
	need := memory.Product(8, int64(s)+1, n*(n+3)/2)
	if err := memory.Check(fmt.Sprintf("study: the covariances of %d candidates after up to %d draws", n, s), need); err != nil {
		return nil, err
	}
	l := &missingLaw{after: make([]missingAfter, s+1)}
	for k := 1; k <= s; k++ {
		l.after[k] = missingAfter{make([]float64, n), make([]float64, n*(n-1)/2), make([]float64, n)}
	}
	watched, err := placesOf(watch, len(weights))
	if err != nil {
		return nil, err
	}
	for _, i := range watch {
		l.p = append(l.p, weights[i]/population.Total)
	}
	var others []float64
	least := 1.0
	for i, w := range weights {
		p := w / population.Total
		least = min(least, p)
		if watched[i] == 0 {
			others = append(others, p)
		}
	}
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
	s := len(l.after) - 1
	base := newArrivals(s)
	for _, p := range others {
		base.add(p, t)
	}
	all := base.clone()
	for _, p := range l.p {
		all.add(p, t)
	}
	if all.low > s {
		return false
	}
	l.leaveOut(base, 0, len(l.p), t, func(i int, a *arrivals) {
		p := l.p[i]
		stay := dt * math.Exp(-p*t)
		for k := max(1, a.low); k < a.high(); k++ {
			c := a.counts[k-a.low]
			l.after[k].one[i] += stay * (p*c.one + c.left)
			l.after[k].mass[i] += stay * (p*p*c.one + 2*p*c.left + c.left2)
		}
	})
	for i := range l.p {
		without := base.clone()
		for j := i + 1; j < len(l.p); j++ {
			without.add(l.p[j], t)
		}
		l.leaveOut(without, 0, i, t, func(j int, a *arrivals) {
			p := l.p[i] + l.p[j]
			stay := dt * math.Exp(-p*t)
			for k := max(1, a.low); k < a.high(); k++ {
				c := a.counts[k-a.low]
				l.after[k].two[pair(i, j)] += stay * (p*c.one + c.left)
			}
		})
	}
	return true
}

// leaveOut calls visit for each watched candidate in [lo, hi), with the arrivals of a
// and of all other candidates of that range. It halves the range, so that it adds each
// candidate only log(hi−lo) times.
func (l *missingLaw) leaveOut(a *arrivals, lo, hi int, t float64, visit func(i int, a *arrivals)) {
	switch hi - lo {
	case 0:
		return
	case 1:
		visit(lo, a)
		return
	}
	mid := (lo + hi) / 2
	left, right := a.clone(), a.clone()
	for i := mid; i < hi; i++ {
		left.add(l.p[i], t)
	}
	for i := lo; i < mid; i++ {
		right.add(l.p[i], t)
	}
	l.leaveOut(left, lo, mid, t, visit)
	l.leaveOut(right, mid, hi, t, visit)
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

func newArrivals(most int) *arrivals {
	return &arrivals{counts: []arrivalCount{{one: 1}}, most: most}
}

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
