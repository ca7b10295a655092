package samplers

import (
	"cmp"
	"fmt"
	"math/rand/v2"

	"github.com/gcn-layerwise/gcn/graph"
)

// estimator is an importance, a draw and a weight that go together: the three
// choices of a LayerWise or a Neighbor, with defaults filled in.
type estimator struct {
	importance Importance
	draw       Draw
	weight     Weight

	// global holds the weights of all nodes if the importance does not depend on
	// a layer's rows; otherwise it is nil. With neighborhood, only columns that
	// are not zero on the rows are candidates.
	global       *Population
	neighborhood bool
}

// newEstimator checks the parts against each other and against p. A nil importance means usual, a
// nil draw WithoutReplacement{}, a nil weight DefaultWeight of the draw.
func newEstimator(p *graph.Laplacian, usual, importance Importance, draw Draw, weight Weight) (e *estimator, err error) {
	importance = cmp.Or(importance, usual)
	draw = cmp.Or[Draw](draw, WithoutReplacement{})
	weight = cmp.Or(weight, DefaultWeight(draw))
	if l, ok := importance.(LADIES); ok && l.RowNorms != nil && len(l.RowNorms) != p.Nodes() {
		return nil, fmt.Errorf("samplers: %d row norms for %d nodes", len(l.RowNorms), p.Nodes())
	}
	if err := weight.Check(draw); err != nil {
		return nil, err
	}
	if _, ok := weight.(Rank); ok {
		draw = WithoutReplacement{Keys: true}
	}
	if weight == (Debiased{AllNodes}) {
		weight = Debiased{p.Nodes()}
	}
	e = &estimator{importance: importance, draw: draw, weight: weight}
	weights, neighborhood := importance.Global(p)
	if weights == nil {
		return e, nil
	}
	if len(weights) != p.Nodes() {
		return nil, fmt.Errorf("samplers: %T gives %d weights for %d nodes", importance, len(weights), p.Nodes())
	}
	e.neighborhood = neighborhood
	e.global, err = NewPopulation(weights)
	return e, err
}

// weigh replaces the weights of population, which are ‖QP^[i]‖² of the given nodes unless all
// nodes of the graph have weights, by the unnormalised probabilities of the nodes.
func (e *estimator) weigh(population *Population, nodes []int32) error {
	weights := population.Weights
	if e.global == nil {
		e.importance.Local(nodes, weights)
	} else {
		for k, i := range nodes {
			weights[k] = e.global.Weights[i]
		}
	}
	return population.sum()
}

// drawn is a sample and the factors β of its candidates, in memory that is reused.
type drawn struct {
	Sample
	factor []float64
}

// sample draws s candidates of population into d.
func (e *estimator) sample(rng *rand.Rand, population *Population, s int, d *drawn) error {
	e.draw.Draw(rng, population, s, &d.Sample)
	if err := d.check(e.draw, population); err != nil {
		return err
	}
	d.factor = resize(d.factor, len(d.Index))
	e.weight.Weigh(population, &d.Sample, d.factor)
	return nil
}

// isUniform reports whether the estimator is simple random sampling with weights
// d/k, which drawUniform does faster. With equal probabilities the weights of
// Naive and of Debiased are both d/k.
func (e *estimator) isUniform() bool {
	return e.importance == Importance(Uniform{}) && e.draw == Draw(WithoutReplacement{}) &&
		(e.weight == Weight(Naive{}) || e.weight == Weight(Debiased{}))
}
