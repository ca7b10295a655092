package samplers

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/gcn-layerwise/gcn/graph"
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
// Cost of a layer: O(k) per row of any degree for uniform draws, and
// O(degree) for others. Memory: 8 bytes per node for each concurrent call.
type Neighbor struct {
	Laplacian  *graph.Laplacian // required
	Sizes      []int            // k, neighbours drawn per node, the layer next to the output first; required
	Importance Importance       // nil means Uniform{}
	Draw       Draw             // nil means WithoutReplacement{}
	Weight     Weight           // nil means DefaultWeight of the draw

	estimator *estimator
	uniform   bool // simple random sampling, with weights d/k: O(k) a row
	replace   bool // with replacement
	workspace[neighborScratch]
}

var _ LayerSampler = (*Neighbor)(nil)

// neighborScratch is the memory of one call.
type neighborScratch struct {
	numbering  numbering
	picks      picks
	positions  []int64
	population Population
	weights    []float64
	drawn      drawn
	factor     []float64 // d/k of each row, for uniform draws
	entries    []int32   // the node of each entry
	scales     []float32 // its ColScale
}

// Layers returns the number of layers, len(Sizes).
func (s *Neighbor) Layers() int { return len(s.Sizes) }

// NominalSizes returns the approximate number of input nodes of each layer, input
// layer first, and of output nodes, for 512 seeds of high degree.
func (s *Neighbor) NominalSizes() []int { return fanOut(s.Sizes) }

// Prepare implements Preparer.
func (s *Neighbor) Prepare() error { return s.once(s.setUp) }

func (s *Neighbor) setUp() (err error) {
	if err := checkSized("Neighbor", s.Laplacian, s.Sizes); err != nil {
		return err
	}
	importance := s.Importance
	if importance == nil {
		importance = Uniform{}
	}
	if s.estimator, err = newEstimator(s.Laplacian, importance, s.Draw, s.Weight); err != nil {
		return err
	}
	_, s.replace = s.estimator.draw.(WithReplacement)
	s.uniform = s.estimator.isUniform()
	return nil
}

// Sample implements Sampler.
func (s *Neighbor) Sample(ctx context.Context, seeds []int32, rng *rand.Rand, batch *MiniBatch) error {
	return SampleLayers(ctx, s, seeds, rng, batch, nil)
}

// SampleLayer implements LayerSampler.
func (s *Neighbor) SampleLayer(batch *MiniBatch, at int, rows []int32, rng *rand.Rand) error {
	scratch := s.get()
	defer s.put(scratch)
	block, k := batch.Blocks[at], sizeAt(s.Sizes, at)
	var err error
	if s.uniform {
		err = scratch.drawUniform(s.Laplacian, rows, k, s.replace, rng, block)
	} else {
		err = s.drawWeighted(scratch, rows, k, rng, block)
	}
	if err != nil {
		return err
	}
	block.Finish()
	return nil
}

// begin begins block with the output nodes rows, which are its first input nodes.
func (s *neighborScratch) begin(p *graph.Laplacian, rows []int32, block *graph.Block) (*graph.CSR, error) {
	s.numbering.begin(p, block.Src)
	if err := s.numbering.addDistinct(rows); err != nil {
		return nil, err
	}
	return startBlock(block, rows), nil
}

// end sets the input nodes of block.
func (s *neighborScratch) end(p *graph.Laplacian, block *graph.Block) {
	block.Src = s.numbering.nodes
	block.Matrix.Cols = len(block.Src)
	block.SetColScale(p)
}

// self takes the place of a position in the adjacency matrix for the row's own
// node.
const self = -1

// drawUniform fills block, but for Finish, by simple random sampling. It first draws the positions of all entries and
// then reads them: most reads miss the cache, and reads that do not wait for a
// draw overlap.
func (s *neighborScratch) drawUniform(p *graph.Laplacian, rows []int32, k int, replace bool, rng *rand.Rand, block *graph.Block) error {
	m, err := s.begin(p, rows, block)
	if err != nil {
		return err
	}
	adjacency := p.Adjacency
	entries := 0
	for _, r := range rows {
		entries += 1 + min(k, adjacency.Degree(int(r)))
	}
	m.Idx, m.Val = resize(m.Idx, entries), resize(m.Val, entries)
	s.positions, s.entries = resize(s.positions, entries), resize(s.entries, entries)
	s.factor = resize(s.factor, len(rows))
	idx, val, positions := m.Idx, m.Val, s.positions
	picks := &s.picks
	at := 0
	for i, r := range rows {
		positions[at], val[at] = self, 1
		at++
		from := adjacency.First(int(r))
		picks.draw(rng, adjacency.Degree(int(r)), k, replace)
		for n, c := range picks.index {
			positions[at], val[at] = from+int64(c), 1
			if picks.count != nil {
				val[at] = float32(picks.count[n])
			}
			at++
		}
		s.factor[i] = picks.factor
		m.Ptr[i+1] = int64(at)
	}
	idx, val = idx[:at], val[:at]
	nodes := s.entries[:at]
	for k, position := range positions[:at] {
		if position != self {
			nodes[k] = adjacency.Idx[position]
		}
	}
	for i, r := range rows {
		nodes[m.Ptr[i]] = r
	}
	ids := &s.numbering
	s.scales = resize(s.scales, at)
	ids.numberEach(nodes, idx, s.scales)
	for i, r := range rows {
		scale, own := float64(ids.rowScale(r)), m.Ptr[i]
		val[own] = float32(scale * float64(s.scales[own]))
		for k := own + 1; k < m.Ptr[i+1]; k++ {
			v := scale * s.factor[i]
			if adjacency.Val != nil {
				v *= float64(adjacency.Val[positions[k]])
			}
			val[k] = float32(v * float64(val[k]) * float64(s.scales[k]))
		}
	}
	m.Idx, m.Val = idx, val
	s.end(p, block)
	return nil
}

// drawWeighted fills block, but for Finish, with any estimator.
func (s *Neighbor) drawWeighted(scratch *neighborScratch, rows []int32, k int, rng *rand.Rand, block *graph.Block) error {
	p, adjacency := s.Laplacian, s.Laplacian.Adjacency
	m, err := scratch.begin(p, rows, block)
	if err != nil {
		return err
	}
	m.Idx, m.Val = m.Idx[:0], m.Val[:0]
	for i, r := range rows {
		scale := float64(p.RowScale[r])
		m.Idx = append(m.Idx, int32(i))
		m.Val = append(m.Val, float32(scale*float64(p.ColScale[r])))
		row := adjacency.Row(int(r))
		values := adjacency.RowValues(int(r))
		if err := s.drawRow(scratch, r, k, rng); err != nil {
			return fmt.Errorf("samplers: neighbours of node %d: %w", r, err)
		}
		for n, c := range scratch.drawn.Index {
			v := scale * scratch.drawn.factor[n] * graph.Weight(values, int(c))
			m.Idx = append(m.Idx, scratch.numbering.numberOrAdd(row[c]))
			m.Val = append(m.Val, float32(v*float64(p.ColScale[row[c]])))
		}
		m.Ptr[i+1] = int64(len(m.Idx))
	}
	scratch.end(p, block)
	return nil
}

// drawRow draws k candidates of node r into scratch.drawn. The candidates are the stored entries of the row.
func (s *Neighbor) drawRow(scratch *neighborScratch, r int32, k int, rng *rand.Rand) error {
	p, adjacency := s.Laplacian, s.Laplacian.Adjacency
	candidates := adjacency.Row(int(r))
	values := adjacency.RowValues(int(r))
	weights := resize(scratch.weights, len(candidates))
	scratch.weights = weights
	if global := s.estimator.global; global != nil {
		for c, j := range candidates {
			weights[c] = global.Weights[j]
		}
	} else {
		row2 := square(p.RowScale[r])
		for c, j := range candidates {
			weights[c] = row2 * square(p.ColScale[j]) * square(graph.Weight(values, c))
		}
		s.estimator.importance.Local(candidates, weights)
	}
	population := &scratch.population
	*population = Population{Weights: weights}
	if len(candidates) == 0 || allZero(weights) { // the sum is 0
		scratch.drawn.reset()
		return nil
	}
	if err := population.sum(); err != nil {
		return err
	}
	if !s.replace {
		k = min(k, population.Positive)
	}
	return s.estimator.sample(rng, population, k, &scratch.drawn)
}

func square[F float32 | float64](x F) float64 { return float64(x) * float64(x) }

func allZero(weights []float64) bool {
	for _, w := range weights {
		if w != 0 || math.IsNaN(w) {
			return false
		}
	}
	return true
}
