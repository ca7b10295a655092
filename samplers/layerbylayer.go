package samplers

import (
	"context"
	"fmt"
	"math/rand/v2"
)

// LayerSampler is a sampler that draws layer by layer, the output layer first. Its Sample is
// SampleLayers.
type LayerSampler interface {
	Sampler

	// SampleLayer draws the input nodes of block number at of batch, counted from the input,
	// whose output nodes are rows, and fills the block. It reads the given rows of P, and no
	// others. The error names a row that is no node of the graph, or is there twice.
	SampleLayer(batch *MiniBatch, at int, rows []int32, rng *rand.Rand) error
}

// Layered returns the sampler that draws the layers of s: s itself, or the sampler of a
// DropEdges. The error says that s does not draw layer by layer.
func Layered(s Sampler) (LayerSampler, error) {
	if d, is := s.(*DropEdges); is {
		s = d.Sampler
	}
	if layered, is := s.(LayerSampler); is {
		return layered, nil
	}
	return nil, fmt.Errorf("samplers: %T does not draw layer by layer", s)
}

// SampleLayers is Sample of a LayerSampler, or of DropEdges of one. Before each layer it calls
// fetch, unless that is nil, with the layer's output nodes. fetch returns when these rows of P
// can be read: ranks that hold parts of P exchange them. With fetch, the seeds must be nodes of
// the graph.
func SampleLayers(ctx context.Context, s Sampler, seeds []int32, rng *rand.Rand, batch *MiniBatch, fetch func(rows []int32) error) error {
	layered, err := Layered(s)
	if err != nil {
		return err
	}
	if p, is := layered.(interface{ checkPrepared() error }); is {
		if err := p.checkPrepared(); err != nil {
			return err
		}
	}
	if len(seeds) == 0 {
		return none("seed")
	}
	batch.Reset(layered.Layers())
	rows := seeds // of the output layer; of any other layer the input nodes of the layer above it
	for at := layered.Layers() - 1; at >= 0; at-- {
		if err := ctx.Err(); err != nil {
			return err
		}
		if fetch != nil {
			if err := fetch(rows); err != nil {
				return err
			}
		}
		if err := layered.SampleLayer(batch, at, rows, rng); err != nil {
			return err
		}
		rows = batch.Blocks[at].Src
	}
	if d, is := s.(*DropEdges); is {
		return d.drop(rng, batch)
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
