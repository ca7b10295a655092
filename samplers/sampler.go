package samplers

import (
	"context"
	"math/rand/v2"

	"github.com/gcn-layerwise/gcn/graph"
)

// Sampler draws the blocks of one mini-batch.
//
// Sample fills batch with one block per layer. The seeds are distinct nodes, the
// outputs of the mini-batch; Sample reads them and does not keep the slice. It
// reuses the memory of batch. Every random decision comes from rng, so equal
// random streams give equal batches. If ctx ends first, Sample returns ctx's
// error. After any error the contents of batch are unspecified.
//
// A sampler is read-only in use: calls may run concurrently, each with its own
// batch and rng. A subgraph sampler draws its output nodes itself, and uses only
// the number of seeds, as the size to aim for. The output nodes are always
// batch.Outputs().
type Sampler interface {
	// Layers returns the number of blocks in a batch.
	Layers() int
	Sample(ctx context.Context, seeds []int32, rng *rand.Rand, batch *MiniBatch) error
}

// Describer is a sampler that prepares something large before its first batch: the
// training graph, parts of the graph, random walks.
type Describer interface {
	Sampler

	// Describe describes the prepared data in one line. It prepares them first
	// if necessary, and returns "" if that fails.
	Describe() string
}

// MiniBatch is one sampled mini-batch. The zero value is ready to be filled; its
// memory is reused when it is filled again. It belongs to the caller of Sample.
type MiniBatch struct {
	// Blocks, input layer first: Blocks[0].Src are the input nodes, and
	// Blocks[l].Dst equals Blocks[l+1].Src.
	Blocks []*graph.Block

	// LossWeights holds the weight of each output node in the batch's loss
	// Σ weight·loss. Empty means the mean over the output nodes.
	LossWeights []float32

	// Prefetched says that the rows of features were requested from the disk, so that a step
	// need not do it: see layers.Batch.Prefetch.
	Prefetched bool

	// Memory to reuse. A subgraph sampler puts one block into Blocks several
	// times; blocks holds each block once.
	blocks   []*graph.Block
	controls []*graph.Control
}

// Inputs returns the input nodes: the batch reads their features.
func (b *MiniBatch) Inputs() []int32 { return b.Blocks[0].Src }

// Outputs returns the output nodes.
func (b *MiniBatch) Outputs() []int32 { return b.Blocks[len(b.Blocks)-1].Dst }

// Reset gives b the given number of distinct blocks without controls and column
// scales, and no loss weights, in the memory that b has. A sampler calls it first.
func (b *MiniBatch) Reset(layers int) {
	b.Prefetched = false
	for len(b.blocks) < layers {
		b.blocks = append(b.blocks, new(graph.Block))
	}
	b.Blocks = append(b.Blocks[:0], b.blocks[:layers]...)
	for _, block := range b.Blocks {
		block.Control, block.ColScale, block.NoiseScale = nil, block.ColScale[:0], block.NoiseScale[:0]
	}
	b.LossWeights = b.LossWeights[:0]
}

// oneBlock is Reset for layers that share one block, and returns it.
func (b *MiniBatch) oneBlock(layers int) *graph.Block {
	b.Reset(1)
	for len(b.Blocks) < layers {
		b.Blocks = append(b.Blocks, b.Blocks[0])
	}
	return b.Blocks[0]
}

// control gives block l a control, in the memory that b has. It follows Reset.
func (b *MiniBatch) control(l int) *graph.Control {
	for len(b.controls) <= l {
		b.controls = append(b.controls, new(graph.Control))
	}
	b.Blocks[l].Control = b.controls[l]
	return b.controls[l]
}
