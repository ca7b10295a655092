package samplers

import (
	"context"
	"math/rand/v2"

	"github.com/gcn-layerwise/gcn/graph"
)

// layered is a sampler that draws layer by layer, the output layer first. S is
// the scratch memory of one call.
type layered[S any] interface {
	Layers() int
	Validate() error

	// sampleLayer draws the input nodes of block number at of batch, whose
	// output nodes are rows, and fills the block.
	sampleLayer(scratch *S, batch *MiniBatch, at int, rows []int32, rng *rand.Rand) error

	// matrix returns P.
	matrix() *graph.Laplacian
}

// sampleLayers is Sample of a layered sampler. The rows of the output layer are
// the seeds, the rows of any other layer the input nodes of the layer above it.
func sampleLayers[S any](ctx context.Context, s layered[S], pool *scratchPool[S], seeds []int32, rng *rand.Rand, batch *MiniBatch) error {
	if err := s.Validate(); err != nil {
		return err
	}
	if len(seeds) == 0 {
		return errNoSeeds
	}
	scratch := pool.get()
	defer pool.put(scratch)
	batch.Reset(s.Layers())
	rows := seeds
	fetch, _ := ctx.Value(rowsKey{}).(func([]int32) error)
	for at := s.Layers() - 1; at >= 0; at-- {
		if err := ctx.Err(); err != nil {
			return err
		}
		if fetch != nil {
			if err := fetch(rows); err != nil {
				return err
			}
		}
		if err := s.sampleLayer(scratch, batch, at, rows, rng); err != nil {
			return err
		}
		block := batch.Blocks[at]
		block.SetColScale(s.matrix())
		rows = block.Src
	}
	return nil
}

type rowsKey struct{}

// WithRows returns a context that makes Sample of a sampler that draws layer by layer call
// fetch before each layer, the output layer first. fetch returns when the given rows of P
// can be read. Such a call needs seeds that are nodes of the graph.
func WithRows(ctx context.Context, fetch func(rows []int32) error) context.Context {
	return context.WithValue(ctx, rowsKey{}, fetch)
}

// DrawsByLayer reports whether Sample of s calls the function of WithRows, and reads no
// other rows of P than those that it names.
func DrawsByLayer(s Sampler) bool {
	if d, is := s.(*DropEdges); is {
		s = d.Sampler
	}
	_, ok := s.(interface{ matrix() *graph.Laplacian })
	return ok
}

// sizeAt returns the size of block number at: sizes start at the output layer,
// blocks at the input layer.
func sizeAt(sizes []int, at int) int { return sizes[len(sizes)-1-at] }

// fanOut returns the approximate number of input nodes of each layer, input layer
// first, and of output nodes, for 512 seeds: every row draws sizes[l] neighbours,
// and no two rows draw the same one.
func fanOut(sizes []int) []int {
	const most = 1 << 20
	nodes := make([]int, len(sizes)+1)
	nodes[len(sizes)] = 512
	for at := len(sizes) - 1; at >= 0; at-- {
		nodes[at] = min(nodes[at+1]*(1+min(sizeAt(sizes, at), most)), most)
	}
	return nodes
}
