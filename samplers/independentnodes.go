package samplers

import (
	"math/rand/v2"

	"github.com/gcn-layerwise/gcn/graph"
)

// IndependentNodes makes Subgraph the form of GraphSAINT's node sampler that Chen et al. (2023)
// compare with. It comes from the program released by Cong, Forsati, Kandemir &
// Mahdavi (2020, "Minimal Variance Sampling with Provable Guarantees for Fast
// Training of Graph Neural Networks", arXiv:2006.13866). Each training node is in the
// set S on its own, with probability
//
//	π_v = min(1, b·p_v),   p_v ∝ ‖P^[v]‖²,
//
// b the number of seeds and P the Laplacian of the training graph. Every layer
// propagates over S:
//
//	P̃_vu = (P_vu/π_u) / max(1, r_v),   r_v = Σ P_vu/π_u over u in S, v included,
//	loss  = Σ L_v/(π_v·|training nodes|)   over v in S.
//
// Biased: a row of P̃ sums to at most 1, also where P's row sums to more. The variance
// is much lower than with RandomNodes, which divides by the same small
// probabilities and keeps the large entries. An empty S is drawn again.
//
// Cost of a batch: O(training nodes + degrees of S). Memory: 8 bytes per training node.
type IndependentNodes struct{}

func (IndependentNodes) law(s *Subgraph) (setLaw, error) {
	population, err := NewPopulation(s.laplacian.ColumnNorms2())
	return independentLaw(population.probabilities()), err
}

// independentLaw is the law of IndependentNodes: p of each node.
type independentLaw []float64

func (l independentLaw) draw(w *workspace, seeds int, rng *rand.Rand) {
	for len(w.nodes) == 0 {
		for v, p := range l {
			if rng.Float64() < float64(seeds)*p {
				w.numberOrAdd(int32(v))
			}
		}
	}
}

func (l independentLaw) weigh(w *workspace, seeds int, block *graph.Block, losses []float32) []float32 {
	m, p := &block.Matrix, w.laplacian
	for k, v := range w.nodes {
		losses = append(losses, float32(1/(float64(p.Nodes())*inclusion(float64(seeds), l[v]))))
		scale, values := float64(p.RowScale[v]), m.RowValues(k)
		sum := 0.0 // r_v
		for c, j := range m.Row(k) {
			u := w.nodes[j]
			e := scale * float64(w.scales[j]) / inclusion(float64(seeds), l[u]) * float64(values[c])
			values[c] = float32(e)
			sum += e
		}
		for c, e := range values {
			values[c] = float32(float64(e) / max(1, sum))
		}
	}
	return losses
}
