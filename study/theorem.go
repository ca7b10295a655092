package study

import (
	"errors"
	"fmt"
	"math"
	"math/bits"
)

// mostTheoremCandidates bounds the number of subsets that Theorem visits.
const mostTheoremCandidates = 16

// Alpha is the step of the recursive average Y_{k} = (1−α_k)Y_{k−1} + α_kΠ_k for
// k = 1, 2, …; Alpha(1) is 1.
type Alpha func(k int) float64

// AlphaPopulation returns α_k = n/((n−k+1)k) of Algorithm 1. With n = +Inf it is
// 1/k, as in the theorem's proof.
func AlphaPopulation(n float64) Alpha {
	return func(k int) float64 {
		if math.IsInf(n, 1) {
			return 1 / float64(k)
		}
		return n / ((n - float64(k) + 1) * float64(k))
	}
}

// Theorem returns the covariance matrix of the debiased factors after s draws
// by the recursion of the paper's theorem on variance (Chen et al. 2023, Theorem
// 1). The recursion is over subsets of candidates, not over sequences of draws:
//
//	Var_{k+1}(β_i)    = (1−α_{k+1})² Var_k(β_i) + α²_{k+1} (r_i/p_i − q̄_i),
//	Cov_{k+1}(β_i, β_j) = (1−α_{k+1})² Cov_k(β_i, β_j) − α²_{k+1} q̄_ij,
//
// q̄_i and q̄_ij are the probabilities that i, or both i and j, are not among the
// first k. r_i is the mean over {i not among the first k} of the probability not
// yet drawn. The paper prints the bracket as r_i/p_i − α²q̄_i, without the factor
// α² before the bracket. Its own proof has the factor, and enumeration agrees with
// the proof.
//
// The probabilities p are positive and sum to 1, and there are at most 16. Cost:
// O(2^m·m²).
func Theorem(p []float64, s int, alpha Alpha) (*Moments, error) {
	m := len(p)
	if m < 1 || m > mostTheoremCandidates || s < 1 || s > m {
		return nil, fmt.Errorf("study: %d draws from %d candidates: want at most %d candidates, and at most as many draws", s, m, mostTheoremCandidates)
	}
	if alpha == nil {
		return nil, errors.New("study: the theorem needs the steps α")
	}
	for i, v := range p {
		if !(v > 0) || v > 1 {
			return nil, fmt.Errorf("study: candidate %d has probability %v, want above 0 and at most 1", i, v)
		}
	}
	t := newMoments(m)
	for i := range t.Mean {
		t.Mean[i] = 1
		for j := range t.Cov[i] {
			t.Cov[i][j] = -1 // Cov of β after one draw: i and j are never both drawn
		}
		t.Cov[i][i] = 1/p[i] - 1
	}
	law := newSubsetLaw(p)
	for k := 1; k < s; k++ {
		law.draw()
		a := alpha(k + 1)
		keep := (1 - a) * (1 - a)
		for i := range m {
			for j := range m {
				if i == j {
					t.Cov[i][i] = keep*t.Cov[i][i] + a*a*(law.missingMass(i)/p[i]-law.missing(1<<i))
				} else {
					t.Cov[i][j] = keep*t.Cov[i][j] - a*a*law.missing(1<<i|1<<j)
				}
			}
		}
	}
	return t, nil
}

// subsetLaw is the law of the set of candidates that weighted random sampling
// has drawn after some draws.
type subsetLaw struct {
	p    []float64
	prob []float64 // of each subset, a bit a candidate
	left []float64 // probability outside each subset
	size int       // draws made
}

func newSubsetLaw(p []float64) *subsetLaw {
	l := &subsetLaw{p: p, prob: make([]float64, 1<<len(p)), left: make([]float64, 1<<len(p))}
	l.prob[0] = 1
	for set := range l.left {
		for i, v := range p {
			if set>>i&1 == 0 {
				l.left[set] += v
			}
		}
	}
	return l
}

// draw makes one more draw.
func (l *subsetLaw) draw() {
	next := make([]float64, len(l.prob))
	for set, prob := range l.prob {
		if prob == 0 || bits.OnesCount(uint(set)) != l.size {
			continue
		}
		for i, v := range l.p {
			if set>>i&1 == 0 {
				next[set|1<<i] += prob * v / l.left[set]
			}
		}
	}
	l.prob = next
	l.size++
}

// missing returns the probability that none of the candidates in mask is drawn.
func (l *subsetLaw) missing(mask int) float64 {
	var sum float64
	for set, prob := range l.prob {
		if set&mask == 0 {
			sum += prob
		}
	}
	return sum
}

// missingMass returns r_i: over the sets without i, the sum of their probability
// times the probability outside them.
func (l *subsetLaw) missingMass(i int) float64 {
	var sum float64
	for set, prob := range l.prob {
		if set>>i&1 == 0 {
			sum += prob * l.left[set]
		}
	}
	return sum
}
