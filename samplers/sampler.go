package samplers

import (
	"context"
	"math/rand/v2"

	"github.com/gcn-layerwise/gcn/graph"
)

// Sampler draws the blocks of one mini-batch. Sample fills batch with one block per layer.
// Every sampler keeps this contract, which samplertest.Run checks:
//
//   - Seeds are the nodes that the mini-batch computes. No seeds, a seed outside the graph and
//     a seed that is there twice are errors that name it: CheckSeeds. Sample does not change
//     the seeds, and does not keep them.
//   - Blocks are valid (graph.Block.Validate) and fit together: the output nodes of a block are
//     the input nodes of the next one. Entries are at places where P has some. The output nodes
//     of the last one are the seeds, in their order. A Subgraph is different: it uses only the
//     number of seeds, as the size to aim for, and draws its output nodes from the training
//     nodes. A batch has input nodes and output nodes.
//   - Every random decision comes from rng: equal random streams give equal batches, whatever
//     batch held before, and for any number of workers.
//   - Calls may run at the same time, each with its own batch and rng. They do not change the
//     sampler or the graph, and reuse the memory of batch.
//   - If ctx has ended, the error is ctx's. After any error the contents of batch are
//     unspecified, and the next call works.
//
// A sampler that must be prepared first has a method Prepare: see the function Prepare.
type Sampler interface {
	// Layers returns the number of blocks in a batch.
	Layers() int
	Sample(ctx context.Context, seeds []int32, rng *rand.Rand, batch *MiniBatch) error
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

	// Fetch, if not nil, returns when the given rows of P can be read: ranks that hold parts of P
	// exchange them. A LayerSampler calls it before each layer, with the layer's output nodes.
	Fetch func(rows []int32) error

	// memory has each distinct block once: a Subgraph puts one block into Blocks several times.
	memory []*blockMemory
}

// blockMemory is a block and its control, to be filled again.
type blockMemory struct {
	block   graph.Block
	control graph.CSR
}

// Inputs returns the input nodes: the batch reads their features.
func (b *MiniBatch) Inputs() []int32 { return b.Blocks[0].Src }

// Outputs returns the output nodes.
func (b *MiniBatch) Outputs() []int32 { return b.Blocks[len(b.Blocks)-1].Dst }

// Reset gives b the given number of distinct blocks without controls and column
// scales, and no loss weights, in the memory that b has. A sampler calls it first.
func (b *MiniBatch) Reset(layers int) {
	for len(b.memory) < layers {
		b.memory = append(b.memory, new(blockMemory))
	}
	b.Blocks, b.LossWeights, b.Prefetched = b.Blocks[:0], b.LossWeights[:0], false
	for _, m := range b.memory[:layers] {
		block := &m.block
		block.Control, block.ColScale, block.NoiseScale = nil, block.ColScale[:0], block.NoiseScale[:0]
		b.Blocks = append(b.Blocks, block)
	}
}
