package samplers

import (
	"context"
	"math/rand/v2"

	"github.com/gcn-layerwise/gcn/graph"
)

// Sampler draws the blocks of one mini-batch.
//
// Sample fills batch with one block a layer for the mini-batch of seeds, the
// distinct nodes whose outputs are wanted, and reuses the memory that batch
// holds. Every random decision comes from rng alone, so that equal streams give
// equal batches. Seeds are read, and not kept. It returns ctx's error if ctx ends
// first; the batch is then unspecified, as after any error.
//
// A sampler is read-only in use: calls may run concurrently, each with a batch
// and rng of its own. A sampler that draws its output nodes itself (subgraph
// sampling) uses the seeds' number as the size to aim for; the output nodes
// are always batch.Outputs().
type Sampler interface {
	// Layers returns the number of blocks in a batch.
	Layers() int
	Sample(ctx context.Context, seeds []int32, rng *rand.Rand, batch *Batch) error
}

// Describer is a sampler that prepares something large before its first batch,
// and can say in a line what: the training graph, parts of the graph, walks
// drawn beforehand.
type Describer interface {
	Sampler

	// Describe returns the line, preparing what is not prepared; "" if that
	// fails.
	Describe() string
}

// Batch is one sampled mini-batch. The zero value is ready to be filled; its
// memory is reused when it is filled again. Whoever holds it owns it.
type Batch struct {
	// Blocks, input layer first: Blocks[0].Src are the nodes whose features
	// are read, Blocks[l].Dst are Blocks[l+1].Src in the same order.
	Blocks []*graph.Block

	// LossWeights weighs the loss of each output node, so that the batch's
	// loss is Σ weight·loss. Empty means the mean over the output nodes.
	LossWeights []float32

	// Memory to reuse: Blocks may hold one block several times (subgraph
	// sampling), blocks holds each once.
	blocks   []*graph.Block
	controls []*graph.Control
}

// Inputs returns the nodes whose features the batch reads.
func (b *Batch) Inputs() []int32 { return b.Blocks[0].Src }

// Outputs returns the nodes whose outputs the batch computes.
func (b *Batch) Outputs() []int32 { return b.Blocks[len(b.Blocks)-1].Dst }

// Reset makes b hold the given number of blocks, all different and none with a
// control, in memory that b reuses, and no loss weights. Samplers call it
// first.
func (b *Batch) Reset(layers int) {
	for len(b.blocks) < layers {
		b.blocks = append(b.blocks, new(graph.Block))
	}
	b.Blocks = append(b.Blocks[:0], b.blocks[:layers]...)
	for _, block := range b.Blocks {
		block.Control = nil
	}
	b.LossWeights = b.LossWeights[:0]
}

// control gives the block of layer l, after Reset, a control in memory that b
// reuses.
func (b *Batch) control(l int) *graph.Control {
	for len(b.controls) <= l {
		b.controls = append(b.controls, new(graph.Control))
	}
	b.Blocks[l].Control = b.controls[l]
	return b.controls[l]
}
