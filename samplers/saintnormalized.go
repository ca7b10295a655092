package samplers

import (
	"context"
	"errors"
	"math/rand/v2"

	"github.com/gcn-layerwise/gcn/graph"
)

// NormalizedSAINT is the form of GraphSAINT's node sampler that Chen et al. (2023)
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
// is much lower than with SAINT and RandomNodes, which divides by the same small
// probabilities and keeps the large entries. An empty S is drawn again.
//
// Cost of a batch: O(training nodes + degrees of S). Memory: the training graph and
// 8 bytes per training node; 8 bytes per node for each concurrent call.
type NormalizedSAINT struct {
	Laplacian *graph.Laplacian // of the whole graph; required
	Train     []int32          // training nodes; nil means all nodes, and Laplacian as it is
	Depth     int              // number of layers; required

	graph       *subgraph
	probability []float64 // p of each node of the training graph
	workspace[subgraphScratch]
}

var (
	_ Preparer   = (*NormalizedSAINT)(nil)
	_ OwnOutputs = (*NormalizedSAINT)(nil)
)

// Layers returns Depth.
func (s *NormalizedSAINT) Layers() int { return s.Depth }

// OwnOutputs implements OwnOutputs.
func (s *NormalizedSAINT) OwnOutputs() {}

// Prepare implements Preparer. It builds the training graph, which takes seconds on a large
// graph.
func (s *NormalizedSAINT) Prepare() error { return s.once(s.setUp) }

func (s *NormalizedSAINT) setUp() (err error) {
	if err := checkSubgraph("NormalizedSAINT", s.Laplacian, s.Depth); err != nil {
		return err
	}
	if s.graph, err = newSubgraph(s.Laplacian, s.Train); err != nil {
		return err
	}
	population := Population{Weights: s.graph.laplacian.ColumnNorms2()}
	if len(population.Weights) == 0 {
		return errors.New("samplers: NormalizedSAINT on a graph without nodes")
	}
	if err := population.sum(); err != nil {
		return err
	}
	s.probability = population.Weights
	for v := range s.probability {
		s.probability[v] /= population.Total
	}
	return nil
}

// Sample implements Sampler. It uses only the number of seeds, which must be
// distinct nodes: at most as many nodes are drawn on average. All layers share one
// block.
func (s *NormalizedSAINT) Sample(ctx context.Context, seeds []int32, rng *rand.Rand, batch *MiniBatch) error {
	if err := s.checkPrepared(); err != nil {
		return err
	}
	scratch := s.get()
	defer s.put(scratch)
	if err := scratch.begin(ctx, s.Laplacian, seeds, s.graph); err != nil {
		return err
	}
	block := batch.oneBlock(s.Depth)
	ids := &scratch.numbering
	budget := float64(len(seeds))
	for len(ids.nodes) == 0 {
		for v, p := range s.probability {
			if rng.Float64() < budget*p {
				ids.add(int32(v))
			}
		}
	}
	batch.LossWeights = s.fill(scratch, budget, block, batch.LossWeights)
	return nil
}

// fill fills block, whose input and output nodes are the nodes drawn, and returns
// weights with the loss weights appended.
func (s *NormalizedSAINT) fill(scratch *subgraphScratch, budget float64, block *graph.Block, weights []float32) []float32 {
	ids, p := &scratch.numbering, s.graph.laplacian
	n := float64(p.Nodes())
	for _, v := range ids.nodes {
		weights = append(weights, float32(1/(n*s.inclusion(v, budget))))
	}
	scratch.induce(s.graph, block)
	for k, v := range ids.nodes {
		scale, values := float64(p.RowScale[v]), block.Matrix.RowValues(k)
		sum := 0.0 // r_v
		for c, l := range block.Matrix.Row(k) {
			u := ids.nodes[l]
			e := scale * float64(p.ColScale[u]) / s.inclusion(u, budget) * float64(values[c])
			values[c] = float32(e)
			sum += e
		}
		for c, e := range values {
			values[c] = float32(float64(e) / max(1, sum))
		}
	}
	block.Finish()
	return weights
}

// inclusion returns π of a node of the training graph.
func (s *NormalizedSAINT) inclusion(v int32, budget float64) float64 {
	return min(1, budget*s.probability[v])
}
