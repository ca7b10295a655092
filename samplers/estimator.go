package samplers

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/gcn-layerwise/gcn/graph"
)

// estimator is an importance, a draw and a weight that go together: the three
// choices of a LayerWise or a Neighbor, with defaults filled in.
type estimator struct {
	importance Importance
	draw       Draw
	weight     Weight

	known  []float64   // of each node, its weight, if that does not depend on a layer's rows
	global *Population // all nodes, if they are the candidates of every layer
}

// newEstimator checks the parts against each other, the sizes and p. A nil importance means usual,
// a nil draw WithoutReplacement{}, a nil weight DefaultWeight of the draw.
func newEstimator(p *graph.Laplacian, sizes []int, usual, importance Importance, draw Draw, weight Weight) (e *estimator, err error) {
	importance = cmp.Or(importance, usual)
	draw = cmp.Or[Draw](draw, WithoutReplacement{})
	weight = cmp.Or(weight, DefaultWeight(draw))
	if l, ok := importance.(LADIES); ok && l.RowNorms != nil && len(l.RowNorms) != p.Nodes() {
		return nil, fmt.Errorf("samplers: %d row norms for %d nodes", len(l.RowNorms), p.Nodes())
	}
	if err := weight.Check(draw); err != nil {
		return nil, err
	}
	if s := slices.Max(sizes); weight == (RaoBlackwellised{}) && s > MostUnordered {
		return nil, fmt.Errorf("samplers: rao-blackwell weights of a sample of %d, want at most %d; rank weights have nearly the same variance", s, MostUnordered)
	}
	if weight == (Rank{}) {
		draw = WithoutReplacement{Keys: true}
	}
	if weight == (Debiased{AllNodes}) {
		weight = Debiased{p.Nodes()}
	}
	known, neighborhood := importance.Global(p)
	e = &estimator{importance: importance, draw: draw, weight: weight, known: known}
	if known == nil {
		return e, nil
	}
	if len(known) != p.Nodes() {
		return nil, fmt.Errorf("samplers: %T gives %d weights for %d nodes", importance, len(known), p.Nodes())
	}
	all, err := NewPopulation(known)
	if err == nil && !neighborhood {
		all.table = newAliasTable(known, all.Total)
		e.global = all
	}
	return e, err
}

// weigh replaces the weights of population, which are ‖QP^[i]‖² of the given nodes unless the
// weights of all nodes are known, by the unnormalised probabilities of the nodes.
func (e *estimator) weigh(population *Population, nodes []int32) error {
	weights := population.Weights
	if e.known == nil {
		e.importance.Local(nodes, weights)
	} else {
		for k, i := range nodes {
			weights[k] = e.known[i]
		}
	}
	return population.sum()
}

// sample draws s candidates of population, and sets the factors β of the sample. The error
// names a candidate outside the population: a user's own Draw may be wrong.
func (e *estimator) sample(rng *rand.Rand, population *Population, s int, sample *Sample) error {
	e.draw.Draw(rng, population, s, sample)
	for j, i := range sample.Index {
		if m := len(population.Weights); i < 0 || int(i) >= m {
			return fmt.Errorf("samplers: %T picked candidate %d as number %d, outside [0, %d)", e.draw, i, j, m)
		}
	}
	e.weight.Weigh(population, sample, resize(&sample.factor, len(sample.Index)))
	return nil
}
