package samplers

import (
	"math/rand/v2"
	"slices"

	"github.com/gcn-layerwise/gcn/graph"
)

// LayerWise is layer-wise importance sampling: each layer draws one set of nodes
// for all its rows. The rows of the output layer are the seeds; the nodes drawn
// are the rows of the next layer down. QPH is estimated by Σ β_i (QP)^[i] H_[i]
// over the nodes i drawn.
//
// The zero values of Importance, Draw and Weight give the method that the paper
// recommends, ladies-flat-debiased.
//
// Cost of a layer: O(nonzeros of its rows + candidates + s), for any size of
// the graph. FastGCN costs O(edges) once, and O(nodes) per layer with Poisson,
// Systematic or Rank, which do not draw from an alias table. Memory: 8 bytes per
// node for each concurrent call.
type LayerWise struct {
	Laplacian  *graph.Laplacian // required
	Sizes      []int            // nodes drawn per layer, the layer next to the output first; required
	Importance Importance       // nil means LADIES{Flat: true}
	Draw       Draw             // nil means WithoutReplacement{}
	Weight     Weight           // nil means DefaultWeight of the draw, which is unbiased

	// IncludeRows adds the rows of a layer to its drawn nodes, as the program
	// released with LADIES does: every node then reads its own features. A row
	// that was not drawn gets Naive's weight 1/(s p_i), or is left out if
	// p_i = 0. Biased: the node is always present, but its weight is for a node
	// that is present rarely.
	IncludeRows bool

	// KeepSelf makes the rows of a layer input nodes, and a row's own term exact:
	// (P̃H)_i = P_ii H_i + Σ β_j P_ij H_j over the drawn nodes j ≠ i, as Neighbor
	// does. Only the row itself reads a node that was not drawn. Attention needs it. It
	// changes no bias: the other terms are as without it. A layer has up to as many
	// input nodes more as it has rows, and costs O(nonzeros of the rows) with FastGCN
	// too.
	KeepSelf bool

	// NormalizeRows rescales each row of P̃ to the sum of the same row of P, as
	// the program released with LADIES does (there P = D̃^-1 (A+I), and the sum
	// is 1). Biased: it is a ratio of two estimates. A row without drawn nodes
	// stays 0. Cost: O(nonzeros of the rows).
	NormalizeRows bool

	// Control lowers the variance by activations that the model keeps. The weights
	// must be unbiased. A model refreshes histories for batches of the nodes Train;
	// nil means all nodes. ExactInput says that the lowest layer reads activations
	// too, since the model propagates the features beforehand. With ControlRolling,
	// a layer also costs O(nonzeros of its rows) a unit of width, and a call needs
	// 5 bytes a node.
	Control    Control
	Train      []int32
	ExactInput bool

	// FullDropoutNoise makes the noise of dropout in a layer's input as small as with full
	// neighbourhoods. Without it, a node drawn with weight β adds β times its noise, so the
	// variance is β² times as large as with full neighbourhoods. A Block.NoiseScale of
	// β^(−1/2) makes it β times as large, and E[β] = 1. The estimate is unbiased as before.
	// The weights must be unbiased, and one number a node: without KeepSelf, IncludeRows and
	// NormalizeRows.
	FullDropoutNoise bool

	estimator *estimator
	preparation
}

// Layers returns the number of layers, len(Sizes).
func (s *LayerWise) Layers() int { return len(s.Sizes) }

// Prepare checks the fields: see the function Prepare. FastGCN computes the norms of all columns.
func (s *LayerWise) Prepare() error { return s.prepare(s, s.Laplacian, len(s.Sizes), s.Sizes, s.setUp) }

func (s *LayerWise) setUp() (err error) {
	if err := s.check(); err != nil {
		return err
	}
	s.estimator, err = newEstimator(s.Laplacian, s.Sizes, LADIES{Flat: true}, s.Importance, s.Draw, s.Weight)
	return err
}

// SampleLayer implements LayerSampler. A layer draws its size, or all candidates of
// positive probability if these are fewer.
func (s *LayerWise) SampleLayer(batch *MiniBatch, at int, rows []int32, rng *rand.Rand) error {
	w := s.workspace()
	defer s.pool.Put(w)
	population, err := s.candidates(w, rows)
	if err != nil {
		return err
	}
	if err := s.estimator.sample(rng, population, min(sizeAt(s.Sizes, at), population.Positive), &w.sample); err != nil {
		return err
	}
	block := batch.Blocks[at]
	s.scaleNoise(block, w.sample.factor)
	s.fill(w, population, rows, block)
	if s.NormalizeRows {
		s.normalizeRows(rows, block)
	}
	if s.HistoryNodes(at) > 0 {
		block.Control = &batch.memory[at].control
		s.addControl(w, block)
	}
	return nil
}

// candidates returns the nodes to draw from: all nodes of the graph, by their ids, or the
// neighborhood of rows, by their numbers there.
func (s *LayerWise) candidates(w *workspace, rows []int32) (*Population, error) {
	if s.estimator.global != nil {
		return s.estimator.global, nil
	}
	w.walk(s.Laplacian, rows)
	weights := w.columnNorms2()
	for k, c := range w.scales {
		weights[k] = weights[k] * float64(c) * float64(c)
	}
	w.population.Weights = weights
	return &w.population, s.estimator.weigh(&w.population, w.nodes)
}

// fill fills block with the rows of P over the nodes drawn from population.
func (s *LayerWise) fill(w *workspace, population *Population, rows []int32, block *graph.Block) {
	sample, global := &w.sample, s.estimator.global != nil
	if global {
		numbered := rows
		if !s.IncludeRows && !s.KeepSelf {
			numbered = nil
		}
		w.begin(s.Laplacian, numbered)
		w.columns = append(w.columns[:0], sample.Index...)
		w.numberEach(w.columns, sample.Index)
	}
	local := resize(&w.local, len(w.nodes))
	fill(local, -1)
	for l, c := range sample.Index {
		local[c] = int32(l)
	}
	if s.IncludeRows {
		s.include(w, population, rows)
	}
	block.Src, block.ColScale = block.Src[:0], block.ColScale[:0]
	for l, c := range sample.Index {
		block.Src = append(block.Src, w.nodes[c])
		block.ColScale = append(block.ColScale, w.scales[c])
		sample.factor[l] *= float64(w.scales[c])
	}
	var own []int32 // the column of each row's own node
	if s.KeepSelf {
		own = resize(&w.own, len(rows))
		for i, r := range rows {
			if own[i] = local[i]; own[i] < 0 {
				own[i], block.Src = int32(len(block.Src)), append(block.Src, r)
				block.ColScale = append(block.ColScale, w.scales[i])
			}
		}
	}
	if global {
		w.walkInside(&w.entries, block.Src, rows)
	}
	w.fill(block, rows, local, own, sample.factor)
}

// include adds the rows that were not drawn to the sample. The rows are numbered first.
func (s *LayerWise) include(w *workspace, population *Population, rows []int32) {
	sample := &w.sample
	for i, r := range rows {
		candidate := int32(i)
		if s.estimator.global != nil {
			candidate = r
		}
		if p := population.Weights[candidate]; w.local[i] < 0 && p > 0 {
			w.local[i] = int32(len(sample.Index))
			sample.Index = append(sample.Index, int32(i))
			sample.factor = append(sample.factor, population.Total/(float64(sample.Draws)*p))
		}
	}
}

// normalizeRows rescales the rows of a filled block to the sums of P's rows.
func (s *LayerWise) normalizeRows(rows []int32, block *graph.Block) {
	for i, r := range rows {
		sum, values := 0.0, block.Matrix.RowValues(i)
		for _, v := range values {
			sum += float64(v)
		}
		factor := s.Laplacian.RowSum(int(r)) / sum
		for k, v := range values {
			values[k] = float32(float64(v) * factor)
		}
	}
	block.Finish()
}

// NominalSizes returns the approximate number of input nodes of each layer, input
// layer first, and of output nodes. It assumes as many seeds as the layer next to
// the output draws.
func (s *LayerWise) NominalSizes() []int {
	sizes := slices.Clone(s.Sizes)
	slices.Reverse(sizes)
	return append(sizes, s.Sizes[:min(1, len(s.Sizes))]...)
}
