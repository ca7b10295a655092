package layers

import (
	"fmt"
	"sync"

	"github.com/gcn-layerwise/gcn/graph"
	"github.com/gcn-layerwise/gcn/ops"
	"github.com/gcn-layerwise/gcn/samplers"
	G "gorgonia.org/gorgonia"
)

// nominalRows is the size of a layer when the graph is built, for samplers that
// do not tell theirs. Batches of any size run through the compiled graph.
const nominalRows = 512

// Sized is a sampler that can tell about how many nodes its layers have: sizes
// of each layer's input nodes, input layer first, then of the output nodes;
// Layers()+1 numbers. Layers use it only to choose between ways of computing
// the same thing.
type Sized interface {
	samplers.Sampler
	NominalSizes() []int
}

var _ Sized = (*samplers.LayerWise)(nil)

// Batch is where a sampler joins an expression graph: one slot a layer, the
// targets of the loss and the mode of the dropouts. A model is built over it
// once; each step then calls Set and runs the machine.
//
// A Batch belongs to one graph and one goroutine, but for TryLock and Unlock. The
// sampler is only asked for
// its number of layers; drawing is up to the caller.
type Batch struct {
	g        *G.ExprGraph
	sampler  samplers.Sampler
	slots    []*ops.Slot
	mode     *ops.Mode
	targets  *ops.Targets
	features map[*graph.Features]*G.Node

	training sync.Mutex // held by the one that trains the model
}

// NewBatch attaches sampler to g. Without a sampler, or with one without layers,
// the batch has no slots, and what is built over it is an error.
func NewBatch(g *G.ExprGraph, sampler samplers.Sampler) *Batch {
	layers := 0
	if sampler != nil {
		layers = max(sampler.Layers(), 0)
	}
	b := &Batch{g: g, sampler: sampler, slots: make([]*ops.Slot, layers), mode: new(ops.Mode), features: make(map[*graph.Features]*G.Node)}
	var sizes []int
	if s, ok := sampler.(Sized); ok {
		sizes = s.NominalSizes()
	}
	if len(sizes) != layers+1 {
		sizes = make([]int, layers+1)
		for l := range sizes {
			sizes[l] = nominalRows
		}
	}
	for l := range b.slots {
		b.slots[l] = ops.NewSlot(sizes[l+1], sizes[l])
	}
	b.keepHistories()
	return b
}

// Graph returns the expression graph.
func (b *Batch) Graph() *G.ExprGraph { return b.g }

// Sampler returns the sampler that draws the batches.
func (b *Batch) Sampler() samplers.Sampler { return b.sampler }

// Layers returns the number of slots.
func (b *Batch) Layers() int { return len(b.slots) }

// Slot returns the slot of layer l, counted from the input; l must be below
// Layers.
func (b *Batch) Slot(l int) *ops.Slot { return b.slots[l] }

// Mode returns what the dropouts of the model share.
func (b *Batch) Mode() *ops.Mode { return b.mode }

// Features returns the features of the batch's input nodes as a node, made at
// the first call for x.
func (b *Batch) Features(x *graph.Features) (*G.Node, error) {
	if n, ok := b.features[x]; ok {
		return n, nil
	}
	if len(b.slots) == 0 {
		return nil, fmt.Errorf("layers: the sampler has no layers")
	}
	n, err := ops.Features(b.g, x, b.slots[0])
	if err != nil {
		return nil, err
	}
	b.features[x] = n
	return n, nil
}

// Targets returns the targets of the batch's output nodes, made at the first
// call. A batch has one: it is an error to ask again for other labels.
func (b *Batch) Targets(y *graph.Labels) (*ops.Targets, error) {
	if b.targets == nil {
		b.targets = ops.NewTargets(y)
	}
	if b.targets.Labels() != y {
		return nil, fmt.Errorf("layers: the batch has targets of other labels already")
	}
	return b.targets, nil
}

// TryLock claims the batch, and with it the model over it, for one training, and
// tells whether nobody had. Package train does so by itself. It may be called from
// any goroutine.
func (b *Batch) TryLock() bool { return b.training.TryLock() }

// Unlock ends the claim of a TryLock that returned true.
func (b *Batch) Unlock() { b.training.Unlock() }

// Set makes batch the one of the next runs: its blocks, the labels of its
// output nodes, and the mode and seed of the dropouts. The blocks are kept, not
// copied, and must not change until the runs have ended. After an error part
// of the batch may be set; set another before running.
func (b *Batch) Set(batch *samplers.MiniBatch, training bool, seed uint64) error {
	if batch == nil {
		return fmt.Errorf("layers: no batch to set")
	}
	if len(b.slots) == 0 {
		return fmt.Errorf("layers: the sampler has no layers")
	}
	if len(batch.Blocks) != len(b.slots) {
		return fmt.Errorf("layers: batch of %d blocks for %d layers", len(batch.Blocks), len(b.slots))
	}
	for l, block := range batch.Blocks {
		if err := b.slots[l].Set(block); err != nil {
			return fmt.Errorf("layers: layer %d: %w", l, err)
		}
		if l == 0 {
			continue
		}
		below := batch.Blocks[l-1].Dst
		if len(below) != len(block.Src) {
			return fmt.Errorf("layers: layer %d reads %d nodes, the one below puts out %d", l, len(block.Src), len(below))
		}
		for k, v := range block.Src {
			if below[k] != v {
				return fmt.Errorf("layers: layer %d reads node %d as its input %d, where the one below puts out node %d", l, v, k, below[k])
			}
		}
	}
	if b.targets != nil {
		if err := b.targets.Set(batch.Outputs(), batch.LossWeights); err != nil {
			return fmt.Errorf("layers: %w", err)
		}
	}
	b.mode.Training, b.mode.Seed = training, seed
	return nil
}
