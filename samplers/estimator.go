package samplers

import (
	"fmt"
	"math/rand/v2"

	"github.com/gcn-layerwise/gcn/graph"
)

// estimator is an importance, a draw and a weight that go together: the choices
// of a LayerWise or a Neighbor with the defaults filled in.
type estimator struct {
	importance Importance
	draw       Draw
	weight     Weight

	// global holds all nodes with their weights, where the importance does not
	// depend on a layer's rows; else it is nil. With neighborhood, only the
	// columns of the rows are candidates.
	global       *Population
	neighborhood bool
}

// newEstimator returns the estimator of the given parts over p. A nil draw means
// WithoutReplacement{}, a nil weight DefaultWeight of the draw. The error says
// which parts do not go together or with p, or which global weight is invalid.
func newEstimator(p *graph.Laplacian, importance Importance, draw Draw, weight Weight) (*estimator, error) {
	if draw == nil {
		draw = WithoutReplacement{}
	}
	if weight == nil {
		weight = DefaultWeight(draw)
	}
	if l, ok := importance.(LADIES); ok && l.RowNorms != nil && len(l.RowNorms) != p.Nodes() {
		return nil, fmt.Errorf("samplers: %d row norms for %d nodes", len(l.RowNorms), p.Nodes())
	}
	if err := weight.Check(draw); err != nil {
		return nil, err
	}
	e := &estimator{importance: importance, draw: drawFor(weight, draw), weight: weight}
	weights, neighborhood := importance.Global(p)
	if weights == nil {
		return e, nil
	}
	if len(weights) != p.Nodes() {
		return nil, fmt.Errorf("samplers: %T gives %d weights for %d nodes", importance, len(weights), p.Nodes())
	}
	e.global, e.neighborhood = &Population{Weights: weights}, neighborhood
	return e, e.global.sum()
}

// sample draws s candidates of population into sample, and returns their factors
// β in the memory of factor.
func (e *estimator) sample(rng *rand.Rand, population *Population, s int, sample *Sample, factor []float64) ([]float64, error) {
	e.draw.Draw(rng, population, s, sample)
	if err := sample.check(e.draw, population); err != nil {
		return factor, err
	}
	factor = resize(factor, len(sample.Index))
	e.weight.Weigh(population, sample, factor)
	return factor, nil
}
