package samplers

import (
	"fmt"
	"math/rand/v2"

	"github.com/gcn-layerwise/gcn/graph"
	"github.com/gcn-layerwise/gcn/internal/kernel"
)

// Neighbor is node-wise sampling (Hamilton, Ying & Leskovec 2017, "Inductive
// Representation Learning on Large Graphs", arXiv:1706.02216) for the GCN: every
// output node i draws k of its d_i neighbours for itself, and
//
//	(P̃H)_i = P_ii H_i + Σ β_ij P_ij H_j   over the neighbours j drawn,
//
// so the node's own term is exact. By default the draw is uniform without
// replacement and β = d_i/k; a node of at most k neighbours keeps them all, with
// β = 1.
//
// Each row makes the three choices of LayerWise for itself: Importance LADIES{}
// draws neighbour j with probability ∝ P_ij², LADIES{Flat: true} ∝ |P_ij|, both
// with debiased weights, as the discussion of Chen et al. (2023) proposes.
// Unbiased, E[P̃H] = PH, with every weight but Naive after draws without
// replacement.
//
// The rows draw independently: the input of a layer has up to 1+k times as many
// nodes as its output, and the input of L layers up to (1+k)^L times.
//
// With ControlRolling it is node-wise sampling with control variates (VR-GCN: Chen, Zhu & Song
// 2018, "Stochastic Training of Graph Convolutional Networks with Variance Reduction",
// arXiv:1710.10568, their CV). Layer l ≥ 1 estimates
//
//	PH ≈ P̃·(H − H̄) + P·H̄ = P̃·H + (P − P̃)·H̄.
//
// The history H̄ holds the last computed activations of each node. The sampler knows no
// activations: it puts the remainder P − P̃ of each row, over all its neighbours, into
// Block.Control. The layer keeps the history and multiplies it by the remainder.
// H̄ holds activations after the nonlinearity, as in the paper, and before dropout.
// The input layer reads the features, which are known: its block holds all
// neighbours and is exact, and its size is not used. The paper computes PX
// beforehand, with the same result: see ExactInput. Unbiased for any history that does not
// depend on the draw: E[P̃] = P, and the history's terms cancel. The variance comes from the
// difference H − H̄ only: it falls to 0 as the activations converge.
//
// Cost of a layer: O(k) per row of any degree for uniform draws without replacement, and
// O(degree) for others and for a control. Memory: 8 bytes per node for each concurrent call; the
// model keeps the history, 4 bytes per node and unit of each hidden layer.
type Neighbor struct {
	Laplacian  *graph.Laplacian // required
	Sizes      []int            // k, neighbours drawn per node, the layer next to the output first; required
	Importance Importance       // nil means Uniform{}
	Draw       Draw             // nil means WithoutReplacement{}
	Weight     Weight           // nil means DefaultWeight of the draw

	// Control is ControlNone or, for uniform draws without replacement, ControlRolling.
	// ExactInput says that the lowest layer reads activations, since the model
	// propagates the features beforehand: it is then drawn, with a control.
	Control    Control
	ExactInput bool

	estimator *estimator
	uniform   bool // simple random sampling, with weights d/k: O(k) a row
	preparation
}

// Layers returns the number of layers, len(Sizes).
func (s *Neighbor) Layers() int { return len(s.Sizes) }

// NominalSizes returns the approximate number of input nodes of each layer, input
// layer first, and of output nodes, for 512 seeds of high degree.
func (s *Neighbor) NominalSizes() []int {
	sizes := fanOut(s.Sizes)
	if s.full(0) && len(sizes) > 1 && s.Laplacian != nil && s.Laplacian.Nodes() > 0 {
		adjacency := s.Laplacian.Adjacency
		mean := 1 + int(adjacency.NNZ())/adjacency.Rows
		sizes[0] = min(sizes[1]*mean, adjacency.Rows)
	}
	return sizes
}

// full reports whether layer l, counted from the input, has all neighbours.
func (s *Neighbor) full(l int) bool { return s.Control != ControlNone && l == 0 && !s.ExactInput }

// HistoryNodes returns the number of nodes whose activations the model must keep
// for layer l, counted from the input: with a control all nodes of the graph, but none for an
// input layer that reads features.
func (s *Neighbor) HistoryNodes(l int) int {
	return s.Control.historyNodes(s.Laplacian, l, s.ExactInput)
}

// Prepare checks the fields: see the function Prepare.
func (s *Neighbor) Prepare() error { return s.prepare(s, s.Laplacian, len(s.Sizes), s.Sizes, s.setUp) }

func (s *Neighbor) setUp() (err error) {
	if s.estimator, err = newEstimator(s.Laplacian, s.Sizes, Uniform{}, s.Importance, s.Draw, s.Weight); err != nil {
		return err
	}
	e := s.estimator // with equal probabilities, the weights of Naive and of Debiased are both d/k
	s.uniform = e.importance == Uniform{} && e.draw == WithoutReplacement{} && (e.weight == Naive{} || e.weight == Debiased{})
	if s.Control != ControlNone && (s.Control != ControlRolling || !s.uniform) {
		return fmt.Errorf("samplers: Neighbor with control %v: want ControlRolling, and uniform draws without replacement", s.Control)
	}
	return nil
}

// SampleLayer implements LayerSampler.
func (s *Neighbor) SampleLayer(batch *MiniBatch, at int, rows []int32, rng *rand.Rand) error {
	w := s.workspace()
	defer s.pool.Put(w)
	block, k := batch.Blocks[at], sizeAt(s.Sizes, at)
	if s.full(at) {
		w.fillAll(s.Laplacian, rows, block)
		return nil
	}
	w.begin(s.Laplacian, rows)
	m := startBlock(block, rows)
	// The positions of all entries are drawn first, and then read: most reads miss the cache,
	// and reads that do not wait for a draw overlap.
	kernel.Prefetch(s.Laplacian.Adjacency.Ptr, rows)
	positions, factors := w.positions[:0], w.values[:0]
	for i, r := range rows {
		if err := s.drawRow(w, r, k, rng); err != nil {
			return fmt.Errorf("samplers: neighbours of node %d: %w", r, err)
		}
		positions, factors = append(positions, -1), append(append(factors, 1), w.sample.factor...)
		first := s.Laplacian.Adjacency.First(int(r))
		for _, c := range w.sample.Index {
			positions = append(positions, first+int64(c))
		}
		m.Ptr[i+1] = int64(len(positions))
	}
	w.positions, w.values = positions, factors
	s.fill(w, block)
	if s.Control != ControlNone {
		block.Control = &batch.memory[at].control
		s.addRemainder(w, block)
	}
	block.Finish()
	return nil
}

// drawRow draws k of the stored entries of row r, none if all have weight 0.
func (s *Neighbor) drawRow(w *workspace, r int32, k int, rng *rand.Rand) error {
	p, sample, population := s.Laplacian, &w.sample, &w.population
	if s.uniform {
		sample.drawUniform(rng, p.Adjacency.Degree(int(r)), k)
		return nil
	}
	row, values := p.Adjacency.Row(int(r)), p.Adjacency.RowValues(int(r))
	weights, row2 := resize(&population.Weights, len(row)), square(p.RowScale[r])
	for c, j := range row {
		weights[c] = row2 * square(p.ColScale[j]) * square(graph.Weight(values, c))
	}
	switch err := s.estimator.weigh(population, row); {
	case population.Positive == 0:
		sample.reset(0)
		return nil
	case err != nil:
		return err
	case s.estimator.draw != WithReplacement{}:
		k = min(k, population.Positive)
	}
	return s.estimator.sample(rng, population, k, sample)
}

// fill fills block, but for Finish, with the entries at w's positions, times their factors.
func (s *Neighbor) fill(w *workspace, block *graph.Block) {
	adjacency, m := s.Laplacian.Adjacency, &block.Matrix
	nodes := resize(&w.columns, len(w.positions))
	for k, position := range w.positions {
		if position >= 0 {
			nodes[k] = adjacency.Idx[position]
		}
	}
	for i, r := range block.Dst {
		nodes[m.Ptr[i]] = r
	}
	numbers, values := resize(&m.Idx, len(nodes)), resize(&m.Val, len(nodes))
	w.numberEach(nodes, numbers)
	block.Src = append(block.Src[:0], w.nodes...)
	block.ColScale = append(block.ColScale[:0], w.scales...)
	m.Cols = len(block.Src)
	for i, r := range block.Dst {
		scale := float64(s.Laplacian.RowScale[r])
		for k := m.Ptr[i]; k < m.Ptr[i+1]; k++ {
			v := scale * w.values[k]
			if adjacency.Val != nil && k > m.Ptr[i] {
				v *= float64(adjacency.Val[w.positions[k]])
			}
			values[k] = float32(v * float64(block.ColScale[numbers[k]]))
		}
	}
}

// addRemainder sets block's control to P − P̃ for the block that w has drawn: P_ij for a neighbour j
// that was not drawn, and P_ij(1 − β) for one that was. A row that has all its neighbours is
// exact.
func (s *Neighbor) addRemainder(w *workspace, block *graph.Block) {
	p, drawn, rest := s.Laplacian, &block.Matrix, block.Control
	startMatrix(rest, len(block.Dst), p.Nodes())
	for i, r := range block.Dst {
		if row, values := p.Adjacency.Row(int(r)), p.Adjacency.RowValues(int(r)); len(row) >= drawn.Degree(i) {
			scale := float64(p.RowScale[r])
			entry := func(c int) float64 {
				return scale * float64(p.ColScale[row[c]]) * graph.Weight(values, c)
			}
			from, first := len(rest.Idx), p.Adjacency.First(int(r))
			rest.Idx = append(rest.Idx, row...)
			for c := range row {
				rest.Val = append(rest.Val, float32(entry(c)))
			}
			for k := drawn.Ptr[i] + 1; k < drawn.Ptr[i+1]; k++ { // without the row's own
				c := int(w.positions[k] - first)
				rest.Val[from+c] = float32(entry(c) * (1 - w.values[k]))
			}
		}
		rest.Ptr[i+1] = int64(len(rest.Idx))
	}
}

func square[F float32 | float64](x F) float64 { return float64(x) * float64(x) }
