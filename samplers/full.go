package samplers

import (
	"math/rand/v2"
	"slices"

	"github.com/gcn-layerwise/gcn/graph"
)

// Full takes all neighbours: the outputs of its batch are exactly the outputs of
// the seeds in the whole graph. The blocks grow with every layer, up to the whole
// graph. Their input nodes are in no fixed order.
type Full struct {
	Laplacian *graph.Laplacian // required
	Depth     int              // number of layers; required

	preparation
}

// Layers returns Depth.
func (s *Full) Layers() int { return s.Depth }

// Prepare checks the fields: see the function Prepare.
func (s *Full) Prepare() error { return s.prepare(s, s.Laplacian, s.Depth, nil, nil) }

// SampleLayer implements LayerSampler; it does not use rng. Cost: O(nonzeros of the rows).
func (s *Full) SampleLayer(batch *MiniBatch, at int, rows []int32, _ *rand.Rand) error {
	w := s.workspace()
	defer s.pool.Put(w)
	w.fillAll(s.Laplacian, rows, batch.Blocks[at])
	return nil
}

// A block with at least this number of entries for each output node, and for each input
// node, has its input nodes in ascending order. The columns ascend then, and products of
// large blocks are faster: package kernel computes them by segments of their input.
const (
	denseBlock  = 256
	reusedInput = 8
)

// fillAll fills block with all neighbours of rows.
func (w *workspace) fillAll(p *graph.Laplacian, rows []int32, block *graph.Block) {
	w.walk(p, rows)
	block.Src = append(block.Src[:0], w.nodes...)
	scales := resize(&block.ColScale, len(w.nodes))
	sorted := len(w.columns) >= max(denseBlock*len(rows), reusedInput*len(w.nodes))
	if sorted {
		slices.Sort(block.Src)
	}
	local, factor := resize(&w.local, len(w.nodes)), resize(&w.values, len(w.nodes))
	for k, v := range block.Src {
		c := int32(k)
		if sorted {
			c = w.number(v)
		}
		scales[k] = w.scales[c]
		local[c], factor[k] = int32(k), float64(w.scales[c])
	}
	w.fill(block, rows, local, nil, factor)
}
