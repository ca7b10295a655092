package samplers

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sync"

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
// of the graph; FastGCN pays O(edges) once. Memory: 4 bytes a node for each
// concurrent call, kept for the next.
type LayerWise struct {
	Laplacian  *graph.Laplacian // required
	Sizes      []int            // nodes drawn a layer, the layer next to the output first; required
	Importance Importance       // nil means LADIES{Flat: true}
	Draw       Draw             // nil means WithoutReplacement{}
	Weight     Weight           // nil means Debiased{}

	prepare sync.Once
	plan    layerPlan
	scratch sync.Pool // of *layerScratch
}

var _ Sampler = (*LayerWise)(nil)

// layerPlan is what a LayerWise works out once.
type layerPlan struct {
	err          error
	importance   Importance
	draw         Draw
	weight       Weight
	global       *Population // nil where the law depends on the rows
	neighborhood bool        // with global: candidates are the neighborhood only
}

// layerScratch is the memory of one concurrent call.
type layerScratch struct {
	neighborhood neighborhood
	weights      []float64
	population   Population
	sample       Sample
	factor       []float64
	local        []int32
}

// Layers returns the number of layers, one a size.
func (s *LayerWise) Layers() int { return len(s.Sizes) }

// Validate returns an error if a field is missing or out of range, or if the
// weight cannot follow the draw. Sample checks too.
func (s *LayerWise) Validate() error {
	s.prepare.Do(s.makePlan)
	return s.plan.err
}

func (s *LayerWise) makePlan() {
	plan := &s.plan
	plan.importance, plan.draw, plan.weight = s.Importance, s.Draw, s.Weight
	if plan.importance == nil {
		plan.importance = LADIES{Flat: true}
	}
	if plan.draw == nil {
		plan.draw = WithoutReplacement{}
	}
	if plan.weight == nil {
		plan.weight = Debiased{}
	}
	if plan.err = s.check(plan); plan.err != nil {
		return
	}
	weights, restricted := plan.importance.Global(s.Laplacian)
	if weights == nil {
		return
	}
	if len(weights) != s.Laplacian.Nodes() {
		plan.err = fmt.Errorf("samplers: %T gives %d weights for %d nodes", plan.importance, len(weights), s.Laplacian.Nodes())
		return
	}
	plan.global, plan.neighborhood = &Population{Weights: weights}, restricted
	if plan.err = plan.global.sum(); plan.err == nil && !restricted {
		plan.global.table = newAliasTable(weights, plan.global.Total)
	}
}

func (s *LayerWise) check(plan *layerPlan) error {
	if s.Laplacian == nil {
		return errors.New("samplers: LayerWise needs a Laplacian")
	}
	if err := s.Laplacian.Validate(); err != nil {
		return err
	}
	if err := checkSizes(s.Sizes); err != nil {
		return err
	}
	if l, ok := plan.importance.(LADIES); ok && l.RowNorms != nil && len(l.RowNorms) != s.Laplacian.Nodes() {
		return fmt.Errorf("samplers: %d row norms for %d nodes", len(l.RowNorms), s.Laplacian.Nodes())
	}
	return plan.weight.Check(plan.draw)
}

func checkSizes(sizes []int) error {
	if len(sizes) == 0 {
		return errors.New("samplers: no sample sizes given, want one a layer")
	}
	for l, n := range sizes {
		if n <= 0 {
			return fmt.Errorf("samplers: sample size %d of layer %d from the output, want at least 1", n, l+1)
		}
	}
	return nil
}

// sum sets Total and Positive from the weights. The error says which weight is
// negative or not a number, or that they do not sum to a positive finite one.
func (p *Population) sum() error {
	p.Positive = len(p.Weights)
	var total [4]float64 // four chains of additions, to keep the adder busy
	for i, w := range p.Weights {
		if !(w > 0) {
			if w != 0 {
				return fmt.Errorf("samplers: candidate %d has weight %v, want at least 0", i, w)
			}
			p.Positive--
		}
		total[i&3] += w
	}
	p.Total = (total[0] + total[1]) + (total[2] + total[3])
	if !(p.Total > 0) || math.IsInf(p.Total, 1) {
		return fmt.Errorf("samplers: the weights of %d candidates sum to %v, want positive and finite", len(p.Weights), p.Total)
	}
	return nil
}

// Sample implements Sampler. A layer draws its size, or all candidates of
// positive probability where they are fewer.
func (s *LayerWise) Sample(ctx context.Context, seeds []int32, rng *rand.Rand, batch *Batch) error {
	if err := s.Validate(); err != nil {
		return err
	}
	if len(seeds) == 0 {
		return errNoSeeds
	}
	scratch, _ := s.scratch.Get().(*layerScratch)
	if scratch == nil {
		scratch = new(layerScratch)
	}
	defer s.scratch.Put(scratch)
	batch.Reset(len(s.Sizes))
	rows := seeds
	for l, size := range s.Sizes {
		if err := ctx.Err(); err != nil {
			return err
		}
		block := batch.Blocks[len(s.Sizes)-1-l]
		if err := s.sampleLayer(scratch, rows, size, rng, block); err != nil {
			return err
		}
		rows = block.Src
	}
	return nil
}

var errNoSeeds = errors.New("samplers: a batch needs at least one seed node")

// sampleLayer draws the input nodes of the layer whose output nodes are rows,
// and fills block.
func (s *LayerWise) sampleLayer(scratch *layerScratch, rows []int32, size int, rng *rand.Rand, block *graph.Block) error {
	h := &scratch.neighborhood
	if err := h.walk(s.Laplacian, rows); err != nil {
		return err
	}
	defer h.forget()
	population, everyNode, err := s.population(scratch)
	if err != nil {
		return err
	}
	sample := &scratch.sample
	s.plan.draw.Draw(rng, population, min(size, population.Positive), sample)
	factor := resize(scratch.factor, len(sample.Index))
	scratch.factor = factor
	s.plan.weight.Weigh(population, sample, factor)

	local := resize(scratch.local, len(h.nodes))
	scratch.local = local
	for c := range local {
		local[c] = -1
	}
	block.Src = resize(block.Src, len(sample.Index))
	for l, i := range sample.Index {
		node, c := i, i
		if everyNode {
			c = h.number[node] - 1 // -1: no row sees this node
		} else {
			node = h.nodes[i]
		}
		if c >= 0 {
			local[c] = int32(l)
		}
		block.Src[l] = node
		factor[l] *= float64(s.Laplacian.ColScale[node])
	}
	h.fill(block, s.Laplacian, rows, local, factor)
	return nil
}

// population returns the candidates of a layer whose neighborhood has been
// walked, and whether they are all nodes of the graph instead of the
// neighborhood's.
func (s *LayerWise) population(scratch *layerScratch) (*Population, bool, error) {
	h := &scratch.neighborhood
	if s.plan.global != nil && !s.plan.neighborhood {
		return s.plan.global, true, nil
	}
	weights := resize(scratch.weights, len(h.nodes))
	scratch.weights = weights
	if s.plan.global != nil {
		for k, i := range h.nodes {
			weights[k] = s.plan.global.Weights[i]
		}
	} else {
		for k, i := range h.nodes {
			c := float64(s.Laplacian.ColScale[i])
			weights[k] = h.norms2[k] * c * c
		}
		s.plan.importance.Local(h.nodes, weights)
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
