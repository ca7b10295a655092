package samplers

import (
	"context"
	"math/rand/v2"

	"github.com/gcn-layerwise/gcn/graph"
)

// VRGCN is node-wise sampling with control variates (Chen, Zhu & Song 2018,
// "Stochastic Training of Graph Convolutional Networks with Variance Reduction",
// arXiv:1710.10568, their CV). Layer l ≥ 1 estimates
//
//	PH ≈ P̃·(H − H̄) + P·H̄ = P̃·H + (P − P̃)·H̄.
//
// The history H̄ holds the last computed activations of each node; P̃ is drawn as by
// Neighbor, uniformly without replacement. The sampler knows no activations: it
// puts the remainder P − P̃ of each row, over all its neighbours, into
// Block.Control. The layer keeps the history and multiplies it by the remainder.
// H̄ holds activations after the nonlinearity, as in the paper, and before dropout.
//
// The input layer reads the features, which are known: its block holds all
// neighbours and is exact, and its size is not used. The paper computes PX
// beforehand, with the same result: see ExactInput.
//
// Unbiased for any history that does not depend on the draw: E[P̃] = P, and the
// history's terms cancel. The variance comes from the difference H − H̄ only: it
// falls to 0 as the activations converge.
//
// Cost of a layer: O(k) per row for the draw and O(degree) for the control. The
// input grows as for Neighbor. Memory: 16 bytes per node for each concurrent call;
// the model keeps the history, 4 bytes per node and unit of each hidden layer.
type VRGCN struct {
	Laplacian *graph.Laplacian // required
	Sizes     []int            // k, neighbours drawn per node, the layer next to the output first; required

	// ExactInput says that the lowest layer reads activations, since the model
	// propagates the features beforehand: it is then drawn, with a control.
	ExactInput bool

	workspace[vrgcnScratch]
}

var _ LayerSampler = (*VRGCN)(nil)

// vrgcnScratch is the memory of one call.
type vrgcnScratch struct {
	neighborScratch
	full fullScratch
}

// Layers returns the number of layers, len(Sizes).
func (s *VRGCN) Layers() int { return len(s.Sizes) }

// HistoryNodes returns the number of nodes whose activations the model must keep
// for layer l, counted from the input: all nodes of the graph, but none for the
// input layer, whose block has no control.
func (s *VRGCN) HistoryNodes(l int) int {
	if l == 0 && !s.ExactInput || s.Laplacian == nil {
		return 0
	}
	return s.Laplacian.Nodes()
}

// Controlled reports whether a block has a control: a single layer that reads features has none.
func (s *VRGCN) Controlled() bool { return len(s.Sizes) > 1 || s.ExactInput }

// NominalSizes returns the sizes of Neighbor, but with all neighbours in the input
// layer.
func (s *VRGCN) NominalSizes() []int {
	sizes := fanOut(s.Sizes)
	if !s.ExactInput && s.Laplacian != nil && len(sizes) > 1 && s.Laplacian.Nodes() > 0 {
		adjacency := s.Laplacian.Adjacency
		mean := 1 + int(adjacency.NNZ())/adjacency.Rows
		sizes[0] = min(sizes[1]*mean, adjacency.Rows)
	}
	return sizes
}

// Prepare implements Preparer.
func (s *VRGCN) Prepare() error {
	return s.once(func() error { return checkSized("VRGCN", s.Laplacian, s.Sizes) })
}

// Sample implements Sampler.
func (s *VRGCN) Sample(ctx context.Context, seeds []int32, rng *rand.Rand, batch *MiniBatch) error {
	return SampleLayers(ctx, s, seeds, rng, batch, nil)
}

// SampleLayer implements LayerSampler.
func (s *VRGCN) SampleLayer(batch *MiniBatch, at int, rows []int32, rng *rand.Rand) error {
	scratch := s.get()
	defer s.put(scratch)
	block := batch.Blocks[at]
	if at == 0 && !s.ExactInput {
		return fillFull(&scratch.full, s.Laplacian, rows, block)
	}
	if err := scratch.drawUniform(s.Laplacian, rows, sizeAt(s.Sizes, at), false, rng, block); err != nil {
		return err
	}
	s.addRemainder(scratch, block, &batch.control(at).Matrix)
	block.Finish()
	return nil
}

// addRemainder sets rest to P − P̃ for the block that scratch has drawn: P_ij for a neighbour j
// that was not drawn, and P_ij(1 − d/k) for one that was. A row that has all its neighbours is
// exact.
func (s *VRGCN) addRemainder(scratch *vrgcnScratch, block *graph.Block, rest *graph.CSR) {
	p, drawn := s.Laplacian, &block.Matrix
	startMatrix(rest, len(block.Dst), p.Nodes())
	neighbors := 0
	for i, r := range block.Dst {
		if degree := p.Adjacency.Degree(int(r)); degree >= drawn.Degree(i) {
			neighbors += degree
		}
	}
	rest.Idx, rest.Val = resize(rest.Idx, neighbors), resize(rest.Val, neighbors)
	left := 0
	for i, r := range block.Dst {
		if row, values := p.Adjacency.Row(int(r)), p.Adjacency.RowValues(int(r)); len(row) >= drawn.Degree(i) {
			scale := float64(p.RowScale[r])
			entry := func(c int64) float64 {
				return scale * float64(p.ColScale[row[c]]) * graph.Weight(values, int(c))
			}
			copy(rest.Idx[left:], row)
			remainder, first := rest.Val[left:left+len(row)], p.Adjacency.First(int(r))
			for c := range remainder {
				remainder[c] = float32(entry(int64(c)))
			}
			for _, position := range scratch.positions[drawn.Ptr[i]+1 : drawn.Ptr[i+1]] { // without the row's own
				remainder[position-first] = float32(entry(position-first) * (1 - scratch.factor[i]))
			}
			left += len(row)
		}
		rest.Ptr[i+1] = int64(left)
	}
}
