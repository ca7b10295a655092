package study

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/gcn-layerwise/gcn/samplers"
)

// MonteCarlo estimates the moments of β, which Enumerate computes exactly, from
// repeated draws. It does so only for the candidates in watch: moment k belongs to
// candidate watch[k]. It takes any draw and weight. Cost: repeats draws, and memory
// quadratic in len(watch).
func MonteCarlo(ctx context.Context, weights []float64, s int, draw samplers.Draw, weight samplers.Weight, watch []int32, repeats int, seed uint64) (*Moments, error) {
	population, err := newPopulation(weights, s, draw, weight)
	if err != nil {
		return nil, err
	}
	if ctx == nil || repeats < 2 {
		return nil, fmt.Errorf("study: %d Monte-Carlo repeats, want a context and at least 2", repeats)
	}
	at, err := placesOf(watch, len(weights))
	if err != nil {
		return nil, err
	}
	moments := newMoments(len(watch))
	source := samplers.NewSource(seed, 0, 0)
	rng := rand.New(source)
	var sample samplers.Sample
	var beta, seen []float64
	var index []int32
	for r := range repeats {
		if r%256 == 0 && ctx.Err() != nil {
			return nil, ctx.Err()
		}
		samplers.Seed(source, seed, 0, uint64(r))
		draw.Draw(rng, population, s, &sample)
		beta = slices.Grow(beta[:0], len(sample.Index))[:len(sample.Index)]
		weight.Weigh(population, &sample, beta)
		index, seen = index[:0], seen[:0]
		for k, i := range sample.Index {
			if at[i] > 0 {
				index, seen = append(index, at[i]-1), append(seen, beta[k])
			}
		}
		moments.add(1/float64(repeats), index, seen)
	}
	moments.finish()
	return moments, nil
}
