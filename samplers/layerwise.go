package samplers

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/gcn-layerwise/gcn/graph"
)

// LayerWise draws, for each layer, one set of nodes for all the rows of the
// layer above, by importance sampling: the rows of a layer's block are the
// nodes drawn for the layer above (at the top, the seeds), and QPH is
// estimated by Σ β_i (QP)^[i] H_[i] over the nodes i drawn.
//
// The zero values of Importance, Draw and Weight are the paper's recommended
// method, ladies-flat-debiased. The fields must not change after the first
// call of Sample; Sample may then be called concurrently.
//
// Cost of a layer: O(nonzeros of its rows + candidates + s), whatever the size
// of the graph; FastGCN pays O(edges) once, and its candidates are all nodes
// where it does not draw from an alias table (Poisson, Systematic, Rank).
// Memory: 8 bytes a node for each concurrent call, kept for the next.
type LayerWise struct {
	Laplacian  *graph.Laplacian // required
	Sizes      []int            // nodes drawn a layer, the layer next to the output first; required
	Importance Importance       // nil means LADIES{Flat: true}
	Draw       Draw             // nil means WithoutReplacement{}
	Weight     Weight           // nil means the unbiased weight for the draw, see DefaultWeight

	// IncludeRows adds the rows of a layer to its drawn nodes, as the program
	// released with LADIES does, so that every node reads its own features. A
	// row that was not drawn gets the weight 1/(s p_i) that Naive would give it
	// had it been (none if p_i = 0). Biased: such a node is always there, but
	// weighs as if it were there rarely.
	IncludeRows bool

	// NormalizeRows rescales each row of P̃ so that it sums to what the row of P
	// sums to, as the program released with LADIES does (where that is 1: it
	// takes P = D̃^-1 (A+I)). Biased, being a ratio of two estimates; a row of
	// which nothing was drawn stays 0. Cost: O(nonzeros of the rows).
	NormalizeRows bool

	prepare   preparation
	estimator *estimator
	scratch   scratchPool[layerScratch]
}

var _ Sampler = (*LayerWise)(nil)

// layerScratch is the memory of one concurrent call.
type layerScratch struct {
	neighborhood neighborhood
	weights      []float64
	population   Population
	sample       Sample
	factor       []float64
	local        []int32
	drawn        nodeSet // the nodes drawn, while the block is filled
}

// Layers returns the number of layers, one a size.
func (s *LayerWise) Layers() int { return len(s.Sizes) }

// Validate returns an error if a field is missing or out of range, or if the
// weight cannot follow the draw. Sample checks too.
func (s *LayerWise) Validate() error {
	return s.prepare.do(s.setUp)
}

func (s *LayerWise) setUp() (err error) {
	if err := checkSized("LayerWise", s.Laplacian, s.Sizes); err != nil {
		return err
	}
	importance := s.Importance
	if importance == nil {
		importance = LADIES{Flat: true}
	}
	if s.estimator, err = newEstimator(s.Laplacian, importance, s.Draw, s.Weight); err != nil {
		return err
	}
	if s.drawsGlobally() && s.estimator.usesTable() {
		global := s.estimator.global
		global.table = newAliasTable(global.Weights, global.Total)
	}
	return nil
}

// drawsGlobally reports whether all nodes of the graph are candidates, whatever
// the rows.
func (s *LayerWise) drawsGlobally() bool {
	return s.estimator.global != nil && !s.estimator.neighborhood
}

// usesTable reports whether the draw is faster with an alias table.
func (e *estimator) usesTable() bool {
	switch draw := e.draw.(type) {
	case WithoutReplacement:
		return !draw.Keys
	case WithReplacement:
		return true
	}
	return false
}

// sum sets Total and Positive from the weights. The error says which weight is
// negative or not a number, or that they do not sum to a positive finite one.
func (p *Population) sum() error {
	p.Positive = len(p.Weights)
	for i, w := range p.Weights {
		if !(w > 0) {
			if w != 0 {
				return fmt.Errorf("samplers: candidate %d has weight %v, want at least 0", i, w)
			}
			p.Positive--
		}
	}
	var t0, t1, t2, t3 float64 // four chains of additions, to keep the adder busy
	rest := p.Weights
	for ; len(rest) >= 4; rest = rest[4:] {
		t0, t1, t2, t3 = t0+rest[0], t1+rest[1], t2+rest[2], t3+rest[3]
	}
	for _, w := range rest {
		t0 += w
	}
	p.Total = (t0 + t1) + (t2 + t3)
	if !(p.Total > 0) || math.IsInf(p.Total, 1) {
		return fmt.Errorf("samplers: the weights of %d candidates sum to %v, want positive and finite", len(p.Weights), p.Total)
	}
	return nil
}

// Sample implements Sampler. A layer draws its size, or all candidates of
// positive probability where they are fewer.
func (s *LayerWise) Sample(ctx context.Context, seeds []int32, rng *rand.Rand, batch *Batch) error {
	return sampleLayers(ctx, s, &s.scratch, seeds, rng, batch)
}

func (s *LayerWise) sampleLayer(scratch *layerScratch, batch *Batch, at int, rows []int32, rng *rand.Rand) error {
	block, size := batch.Blocks[at], sizeAt(s.Sizes, at)
	var err error
	if s.drawsGlobally() && !s.IncludeRows {
		err = s.sampleGlobally(scratch, rows, size, rng, block)
	} else {
		err = s.sampleLocally(scratch, rows, size, rng, block)
	}
	if err == nil && s.NormalizeRows {
		s.normalizeRows(rows, block)
	}
	return err
}

// sampleLocally walks the neighborhood of rows, draws the input nodes, and fills
// block.
func (s *LayerWise) sampleLocally(scratch *layerScratch, rows []int32, size int, rng *rand.Rand, block *graph.Block) error {
	h := &scratch.neighborhood
	if err := h.walk(s.Laplacian, rows); err != nil {
		return err
	}
	population, everyNode, err := s.population(scratch)
	if err != nil {
		return err
	}
	sample := &scratch.sample
	scratch.factor, err = s.estimator.sample(rng, population, min(size, population.Positive), sample, scratch.factor)
	if err != nil {
		return err
	}
	factor := scratch.factor

	local := resize(scratch.local, len(h.nodes))
	scratch.local = local
	for c := range local {
		local[c] = -1
	}
	block.Src = resize(block.Src, len(sample.Index))
	for l, i := range sample.Index {
		node, c := i, i
		if everyNode {
			c = h.number(node)
		} else {
			node = h.nodes[i]
		}
		block.Src[l] = node
		if c >= 0 { // else no row sees this node
			local[c] = int32(l)
			factor[l] *= float64(h.scales[c])
		}
	}
	if s.IncludeRows {
		s.includeRows(scratch, rows, population, everyNode, block)
	}
	h.fill(block, s.Laplacian, rows, local, scratch.factor)
	return nil
}

// sampleGlobally is sampleLayer for a law that is the same for all rows: the
// neighborhood need not be known, only which of its nodes are drawn.
func (s *LayerWise) sampleGlobally(scratch *layerScratch, rows []int32, size int, rng *rand.Rand, block *graph.Block) error {
	h := &scratch.neighborhood
	h.begin(s.Laplacian, h.nodes)
	if err := h.addDistinct(rows); err != nil {
		return err
	}
	global, sample := s.estimator.global, &scratch.sample
	var err error
	scratch.factor, err = s.estimator.sample(rng, global, min(size, global.Positive), sample, scratch.factor)
	if err != nil {
		return err
	}
	factor := scratch.factor
	block.Src = append(block.Src[:0], sample.Index...)
	h.begin(s.Laplacian, h.nodes)
	for l, node := range block.Src {
		h.add(node)
		factor[l] *= float64(h.cells[node].scale)
	}
	scratch.drawn.fill(s.Laplacian.Nodes(), block.Src)
	defer scratch.drawn.clear(block.Src)
	h.fillDrawn(block, rows, &scratch.drawn, factor)
	return nil
}

// includeRows appends the rows that were not drawn to the input nodes of block,
// with their naive weights.
func (s *LayerWise) includeRows(scratch *layerScratch, rows []int32, population *Population, everyNode bool, block *graph.Block) {
	local := scratch.local
	for k, r := range rows {
		c := int32(k) // the rows are numbered first
		i := c
		if everyNode {
			i = r
		}
		w := population.Weights[i]
		if local[c] >= 0 || w == 0 {
			continue
		}
		local[c] = int32(len(block.Src))
		block.Src = append(block.Src, r)
		naive := population.Total / (float64(scratch.sample.Draws) * w)
		scratch.factor = append(scratch.factor, naive*float64(s.Laplacian.ColScale[r]))
	}
}

// normalizeRows rescales the rows of a filled block to the row sums of P.
func (s *LayerWise) normalizeRows(rows []int32, block *graph.Block) {
	for i, r := range rows {
		var drawn float64
		values := block.Matrix.RowValues(i)
		for _, v := range values {
			drawn += float64(v)
		}
		if drawn == 0 {
			continue
		}
		factor := rowSum(s.Laplacian, int(r)) / drawn
		for k, v := range values {
			values[k] = float32(float64(v) * factor)
		}
	}
	block.Finish()
}

// rowSum returns the sum of row i of p.
func rowSum(p *graph.Laplacian, i int) float64 {
	sum := float64(p.ColScale[i])
	values := p.Adjacency.RowValues(i)
	for k, j := range p.Adjacency.Row(i) {
		v := float64(p.ColScale[j])
		if values != nil {
			v *= float64(values[k])
		}
		sum += v
	}
	return float64(p.RowScale[i]) * sum
}

// population returns the candidates of a layer whose neighborhood has been
// walked, and whether they are all nodes of the graph instead of the
// neighborhood's.
func (s *LayerWise) population(scratch *layerScratch) (*Population, bool, error) {
	h := &scratch.neighborhood
	global := s.estimator.global
	if s.drawsGlobally() {
		return global, true, nil
	}
	weights := resize(scratch.weights, len(h.nodes))
	scratch.weights = weights
	if global != nil {
		for k, i := range h.nodes {
			weights[k] = global.Weights[i]
		}
	} else {
		for k, scale := range h.scales {
			c := float64(scale)
			weights[k] = h.norms2[k] * c * c
		}
		s.estimator.importance.Local(h.nodes, weights)
	}
	population := &scratch.population
	population.Weights = weights
	return population, false, population.sum()
}

// NominalSizes returns about how many nodes the input of each layer and the
// output have, input layer first: the sizes drawn, and one batch as large as
// the layer next to it.
func (s *LayerWise) NominalSizes() []int {
	if len(s.Sizes) == 0 {
		return nil
	}
	sizes := slices.Clone(s.Sizes)
	slices.Reverse(sizes)
	return append(sizes, s.Sizes[0])
}
