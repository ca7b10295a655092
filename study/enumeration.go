package study

import (
	"errors"
	"fmt"
	"math"

	"github.com/gcn-layerwise/gcn/internal/argument"
	"github.com/gcn-layerwise/gcn/samplers"
)

// ErrNoLaw is wrapped by the error about a draw whose outcomes cannot be
// enumerated with their probabilities.
var ErrNoLaw = errors.New("no enumerable law")

// mostOutcomes is the largest number of outcomes that Enumerate visits. MonteCarlo
// estimates the moments of larger cases.
const mostOutcomes = 2_000_000

// Enumerate returns the exact moments of β under s draws from candidates with the
// given positive weights. It visits every outcome of the draw. It knows draws with
// replacement (m^s sequences) and weighted random sampling without replacement
// (m!/(m−s)! sequences). The error about any other draw, about more than 2 million
// outcomes, or about rank-conditioned weights, which depend on the keys behind a
// draw, wraps ErrNoLaw.
func Enumerate(weights []float64, s int, draw samplers.Draw, weight samplers.Weight) (*Moments, error) {
	population, err := newPopulation(weights, s, draw, weight)
	if err != nil {
		return nil, err
	}
	e := enumeration{population: population, weight: weight, draws: s}
	m, outcomes := float64(len(weights)), 1.0
	switch draw.(type) {
	case samplers.WithReplacement:
		e.replacement = true
		outcomes = math.Pow(m, float64(s))
	case samplers.WithoutReplacement:
		for k := range s {
			outcomes *= m - float64(k)
		}
	default:
		return nil, fmt.Errorf("study: draw %T: %w", draw, ErrNoLaw)
	}
	if _, byKeys := weight.(samplers.Rank); byKeys {
		return nil, fmt.Errorf("study: weight %T depends on the keys of the draw, not on its order alone: %w", weight, ErrNoLaw)
	}
	if outcomes > mostOutcomes {
		return nil, fmt.Errorf("study: %.3g outcomes of %d draws from %d candidates, more than %d: %w", outcomes, s, len(weights), mostOutcomes, ErrNoLaw)
	}
	e.beta, e.counts, e.moments = make([]float64, s), make([]int32, len(weights)), newMoments(len(weights))
	e.extend(1, population.Total)
	e.moments.finish()
	return e.moments, nil
}

// newPopulation returns the candidates as a population to draw s from.
func newPopulation(weights []float64, s int, draw samplers.Draw, weight samplers.Weight) (*samplers.Population, error) {
	if argument.Nil(draw) || argument.Nil(weight) {
		return nil, errors.New("study: moments need a draw and a weight")
	}
	if err := weight.Check(draw); err != nil {
		return nil, err
	}
	p := &samplers.Population{Weights: weights, Positive: len(weights)}
	for i, w := range weights {
		if !(w > 0) || math.IsInf(w, 1) {
			return nil, fmt.Errorf("study: candidate %d has weight %v, want positive and finite", i, w)
		}
		p.Total += w
	}
	if s < 1 || s > len(weights) {
		return nil, fmt.Errorf("study: %d draws from %d candidates, want 1 to %d", s, len(weights), len(weights))
	}
	return p, nil
}

// placesOf returns, for each of m candidates, 1 + its index in watch, or 0.
func placesOf(watch []int32, m int) ([]int32, error) {
	places := make([]int32, m)
	for k, i := range watch {
		if i < 0 || int(i) >= m || places[i] != 0 {
			return nil, fmt.Errorf("study: candidate %d to watch is outside [0, %d) or listed twice", i, m)
		}
		places[i] = int32(k) + 1
	}
	return places, nil
}

// enumeration visits the sequences of draws.
type enumeration struct {
	population  *samplers.Population
	weight      samplers.Weight
	draws       int
	replacement bool

	sequence []int32
	counts   []int32 // draws of each candidate so far
	sample   samplers.Sample
	beta     []float64
	moments  *Moments
}

// extend adds all outcomes that begin with the current sequence. The sequence has
// the given probability, and remaining is the weight not drawn yet.
func (e *enumeration) extend(probability, remaining float64) {
	if len(e.sequence) == e.draws {
		e.finish(probability)
		return
	}
	for i, w := range e.population.Weights {
		if e.counts[i] > 0 && !e.replacement {
			continue
		}
		e.sequence = append(e.sequence, int32(i))
		e.counts[i]++
		left := remaining
		if !e.replacement {
			left = e.left()
		}
		e.extend(probability*w/remaining, left)
		e.counts[i]--
		e.sequence = e.sequence[:len(e.sequence)-1]
	}
}

// left sums the weight not drawn. It sums from the start to avoid cancellation.
func (e *enumeration) left() float64 {
	var sum float64
	for i, w := range e.population.Weights {
		if e.counts[i] == 0 {
			sum += w
		}
	}
	return sum
}

// finish describes the sequence as a sample and adds its factors.
func (e *enumeration) finish(probability float64) {
	s, weights := &e.sample, e.population.Weights
	s.Index, s.Weight, s.Count, s.Remaining = s.Index[:0], s.Weight[:0], s.Count[:0], s.Remaining[:0]
	s.Draws = e.draws
	if e.replacement {
		for i, n := range e.counts {
			if n > 0 {
				s.Index, s.Weight, s.Count = append(s.Index, int32(i)), append(s.Weight, weights[i]), append(s.Count, n)
			}
		}
	} else {
		remaining := e.left()
		s.Remaining = append(s.Remaining, e.beta...)[:e.draws]
		for k := e.draws - 1; k >= 0; k-- {
			remaining += weights[e.sequence[k]]
			s.Remaining[k] = remaining
		}
		for _, i := range e.sequence {
			s.Index, s.Weight = append(s.Index, i), append(s.Weight, weights[i])
		}
	}
	beta := e.beta[:len(s.Index)]
	e.weight.Weigh(e.population, s, beta)
	e.moments.add(probability, s.Index, beta)
}
