package samplers

import (
	"context"
	"math/rand/v2"

	"github.com/gcn-layerwise/gcn/graph"
)

// VRGCN is node-wise sampling with control variates (Chen, Zhu & Song 2018,
// "Stochastic Training of Graph Convolutional Networks with Variance Reduction",
// arXiv:1710.10568, their CV): with H̄ the activations that each node had when it
// was last computed, layer l ≥ 1 estimates
//
//	PH ≈ P̃·(H − H̄) + P·H̄ = P̃·H + (P − P̃)·H̄,
//
// P̃ drawn as by Neighbor with uniform draws without replacement. The sampler
// knows no activations: it puts the remainder P − P̃ of each row, over all its
// neighbours, into Block.Control, and the layer multiplies it with the history
// that it keeps: activations after the nonlinearity, as in the paper, since
// that is what P multiplies, and before dropout.
//
// The input layer's activations are the features, which are known, so that its
// block holds all neighbours and is exact; the paper computes PX beforehand to
// the same effect. Its size is not used.
//
// Unbiased for any history that does not depend on the draw: E[P̃] = P, and the
// history's part cancels. The variance is that of the difference H − H̄, and so
// vanishes as the activations come to rest; the history equal to the true
// activations makes the error zero.
//
// Cost: O(k) a row for the draw and O(degree) for the control, so in effect that
// of full neighbourhoods for the rows there are, with the input growing as
// Neighbor's. Memory: 16 bytes a node for each concurrent call; the history,
// 4 bytes a node and unit of each hidden layer, is the model's.
//
// The fields must not change after the first call of Sample, which may then be
// called concurrently.
type VRGCN struct {
	Laplacian *graph.Laplacian // required
	Sizes     []int            // k, neighbours drawn a node, the layer next to the output first; required

	prepare preparation
	scratch scratchPool[controlScratch]
}

var _ Sampler = (*VRGCN)(nil)

// controlScratch is the memory of one concurrent call.
type controlScratch struct {
	numbering numbering
	picks     picks
	full      fullScratch
}

// Layers returns the number of layers, one a size.
func (s *VRGCN) Layers() int { return len(s.Sizes) }

// HistoryNodes returns the number of nodes whose activations the model must keep
// for layer l, counted from the input: all those of the graph, but none for the
// input layer, whose block has no control.
func (s *VRGCN) HistoryNodes(l int) int {
	if l == 0 || s.Laplacian == nil {
		return 0
	}
	return s.Laplacian.Nodes()
}

// NominalSizes is Neighbor's, with an input layer of all neighbours.
func (s *VRGCN) NominalSizes() []int {
	sizes := fanOut(s.Sizes)
	if s.Laplacian != nil && len(sizes) > 1 && s.Laplacian.Nodes() > 0 {
		adjacency := s.Laplacian.Adjacency
		mean := 1 + int(adjacency.NNZ())/adjacency.Rows
		sizes[0] = min(sizes[1]*mean, adjacency.Rows)
	}
	return sizes
}

// Validate returns an error if a field is missing or out of range. Sample checks
// too.
func (s *VRGCN) Validate() error {
	return s.prepare.do(func() error { return checkSized("VRGCN", s.Laplacian, s.Sizes) })
}

// Sample implements Sampler.
func (s *VRGCN) Sample(ctx context.Context, seeds []int32, rng *rand.Rand, batch *Batch) error {
	return sampleLayers(ctx, s, &s.scratch, seeds, rng, batch)
}

func (s *VRGCN) sampleLayer(scratch *controlScratch, batch *Batch, at int, rows []int32, rng *rand.Rand) error {
	block := batch.Blocks[at]
	if at == 0 {
		return fillFull(&scratch.full, s.Laplacian, rows, block)
	}
	return s.drawLayer(scratch, rows, sizeAt(s.Sizes, at), rng, block, batch.control(at))
}

// drawLayer fills block and its control for the output nodes rows.
func (s *VRGCN) drawLayer(scratch *controlScratch, rows []int32, k int, rng *rand.Rand, block *graph.Block, control *graph.Control) error {
	p, adjacency := s.Laplacian, s.Laplacian.Adjacency
	ids := &scratch.numbering
	ids.begin(p, block.Src)
	if err := ids.addDistinct(rows); err != nil {
		return err
	}
	drawn, rest := startBlock(block, rows), &control.Matrix
	rest.Rows, rest.Cols = len(rows), p.Nodes()
	rest.Ptr = resize(rest.Ptr, len(rows)+1)
	rest.Ptr[0] = 0
	entries, neighbors := 0, 0
	for _, r := range rows {
		degree := adjacency.Degree(int(r))
		entries += 1 + min(k, degree)
		if degree > k {
			neighbors += degree
		}
	}
	drawn.Idx, drawn.Val = resize(drawn.Idx, entries), resize(drawn.Val, entries)
	rest.Idx, rest.Val = resize(rest.Idx, neighbors), resize(rest.Val, neighbors)
	at, left := 0, 0
	for i, r := range rows {
		scale := float64(p.RowScale[r])
		drawn.Idx[at], drawn.Val[at] = int32(i), float32(scale*float64(p.ColScale[r]))
		at++
		row, values := adjacency.Row(int(r)), adjacency.RowValues(int(r))
		entry := func(c int) float64 {
			v := scale * float64(p.ColScale[row[c]])
			if values != nil {
				v *= float64(values[c])
			}
			return v
		}
		picks := &scratch.picks
		picks.draw(rng, len(row), k, false)
		for _, c := range picks.index {
			drawn.Idx[at], drawn.Val[at] = ids.local(row[c]), float32(entry(int(c))*picks.factor)
			at++
		}
		drawn.Ptr[i+1] = int64(at)
		if len(row) > k { // else P̃ is P, and nothing remains
			remainder := rest.Val[left : left+len(row)]
			for c := range row {
				remainder[c] = float32(entry(c))
			}
			for _, c := range picks.index {
				remainder[c] = float32(entry(int(c)) * (1 - picks.factor))
			}
			copy(rest.Idx[left:], row)
			left += len(row)
		}
		rest.Ptr[i+1] = int64(left)
	}
	block.Src = ids.nodes
	drawn.Cols = len(block.Src)
	block.Finish()
	return nil
}
