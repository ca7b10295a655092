package samplers

import (
	"math/rand/v2"

	"github.com/gcn-layerwise/gcn/graph"
)

// Labor is layer-neighbour sampling, LABOR-0 (Balin & Çatalyürek 2023, arXiv:2210.13339):
// each row keeps about k of its d neighbours, as in node-wise sampling, but all rows of a
// layer use the same random numbers. They tend to keep the same neighbours, so the layer
// reads fewer nodes.
//
// A layer draws one uniform r_t for each candidate t, and row i keeps the entry
// P[i][t] if r_t ≤ p_i, with the Horvitz-Thompson weight:
//
//	P̃[i][t] = P[i][t] / p_i,   p_i = min(1, k/d_i).
//
// Unbiased. A row keeps k neighbours on average, or all of them if it has at most k. The
// self-loop of a row is always kept and does not count for k. The rows of a layer are
// then its first input nodes, in their order.
//
// Cost of a layer: O(nonzeros of its rows). Memory: 8 bytes per node for each concurrent
// call.
type Labor struct {
	Laplacian *graph.Laplacian // required
	Sizes     []int            // k, neighbours per row, the layer next to the output first; required

	preparation
}

// Layers returns the number of layers, len(Sizes).
func (s *Labor) Layers() int { return len(s.Sizes) }

// NominalSizes returns an upper estimate of the number of input nodes of each layer,
// input layer first, and of output nodes, for 512 seeds of high degree that share
// no neighbours.
func (s *Labor) NominalSizes() []int { return fanOut(s.Sizes) }

// Prepare checks the fields: see the function Prepare.
func (s *Labor) Prepare() error { return s.prepare(s, s.Laplacian, len(s.Sizes), s.Sizes, nil) }

// SampleLayer implements LayerSampler.
func (s *Labor) SampleLayer(batch *MiniBatch, at int, rows []int32, rng *rand.Rand) error {
	w := s.workspace()
	defer s.pool.Put(w)
	w.walk(s.Laplacian, rows)
	uniform, local := resize(&w.values, len(w.nodes)), resize(&w.local, len(w.nodes)) // r_t
	for t := range uniform {
		uniform[t], local[t] = rng.Float64(), -1
	}
	block, k := batch.Blocks[at], sizeAt(s.Sizes, at)
	// The neighborhood numbers the rows first.
	block.Src = append(block.Src[:0], rows...)
	block.ColScale = append(block.ColScale[:0], w.scales[:len(rows)]...)
	for i := range rows {
		local[i] = int32(i)
	}
	m := startBlock(block, rows)
	for i, rowScale := range w.rowScales {
		entries, values := w.entries.Row(i), w.entries.RowValues(i)
		scale := float64(rowScale)
		p := min(1, float64(k)/float64(len(entries)-1))
		for e, t := range entries {
			pi := p
			if e == 0 { // the row's own entry
				pi = 1
			}
			if uniform[t] >= pi {
				continue
			}
			if local[t] < 0 {
				local[t] = int32(len(block.Src))
				block.Src = append(block.Src, w.nodes[t])
				block.ColScale = append(block.ColScale, w.scales[t])
			}
			m.Idx = append(m.Idx, local[t])
			m.Val = append(m.Val, float32(scale*float64(w.scales[t])*graph.Weight(values, e)*(1/pi)))
		}
		m.Ptr[i+1] = int64(len(m.Idx))
	}
	m.Cols = len(block.Src)
	block.Finish()
	return nil
}
