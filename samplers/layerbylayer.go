package samplers

import (
	"context"
	"math/rand/v2"
)

// LayerSampler is a sampler that draws layer by layer, the output layer first: its Sample calls
// SampleLayer for each layer, after MiniBatch.Fetch.
type LayerSampler interface {
	Sampler

	// SampleLayer draws the input nodes of block number at of batch, counted from the input,
	// whose output nodes are rows, distinct nodes of the graph, and fills the block. It reads the
	// given rows of P, and no others. It may panic on other rows, and before Prepare.
	SampleLayer(batch *MiniBatch, at int, rows []int32, rng *rand.Rand) error
}

// Sample implements Sampler for a LayerSampler.
func (p *preparation) Sample(ctx context.Context, seeds []int32, rng *rand.Rand, batch *MiniBatch) error {
	if err := p.checkSeeds(seeds); err != nil {
		return err
	}
	batch.Reset(p.layers.Layers())
	rows := seeds // of the output layer; of any other layer the input nodes of the layer above it
	for at := len(batch.Blocks) - 1; at >= 0; at-- {
		err := ctx.Err()
		if err == nil && batch.Fetch != nil {
			err = batch.Fetch(rows)
		}
		if err == nil {
			err = p.layers.SampleLayer(batch, at, rows, rng)
		}
		if err != nil {
			return err
		}
		rows = batch.Blocks[at].Src
	}
	return nil
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
