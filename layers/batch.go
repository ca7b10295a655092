package layers

import (
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/gcn-layerwise/gcn/graph"
	"github.com/gcn-layerwise/gcn/internal/full"
	"github.com/gcn-layerwise/gcn/ops"
	"github.com/gcn-layerwise/gcn/samplers"
	G "gorgonia.org/gorgonia"
)

// nominalRows is the nominal size of a layer if the sampler is not Sized. Batches of any
// size run through the compiled graph.
const nominalRows = 512

// Sized is a sampler that knows about how many nodes its layers have. Layers use the sizes
// only to choose between two ways to compute the same result.
type Sized interface {
	samplers.Sampler

	// NominalSizes returns Layers()+1 numbers: the input nodes of each layer, input
	// layer first, then the output nodes.
	NominalSizes() []int
}

var _ Sized = (*samplers.LayerWise)(nil)

// Batch connects an expression graph to a sampler. It holds one slot a layer, the targets
// of the loss and the mode of the dropouts. A model is built over it once. Each step
// calls Set and runs the graph.
//
// A Batch belongs to one graph and one goroutine, except for TryLock and Unlock. It does
// not draw batches: the caller calls the sampler.
type Batch struct {
	g         *G.ExprGraph
	sampler   samplers.Sampler
	err       error // of the sampler; nil: it is prepared
	slots     []*ops.Slot
	input     *inputSlot // below slots[0]; nil without exact input
	refresher *refresher // nil: no refreshed histories
	spare     full.Spare // of the passes over full neighbourhoods
	mode      *ops.Mode
	targets   *ops.Targets
	reads     []featureRead

	training sync.Mutex // held while the model is trained
}

// featureRead is a use of features by the model: at the input nodes of the batch (layer −1), or at
// the output nodes of one of the sampler's layers.
type featureRead struct {
	x     *graph.Features
	layer int
	node  *G.Node // of Batch.Features; or nil
}

// NewBatch prepares sampler (samplers.Prepare) and connects it to g. If that fails, or the
// sampler is nil or has no layers, Features, Set and NewGCN return the error.
func NewBatch(g *G.ExprGraph, sampler samplers.Sampler) *Batch {
	layers := 0
	if sampler != nil {
		layers = max(sampler.Layers(), 0)
	}
	b := &Batch{
		g:       g,
		sampler: sampler,
		slots:   make([]*ops.Slot, layers),
		mode:    new(ops.Mode),
	}
	if layers == 0 {
		b.err = errors.New("layers: the sampler has no layers")
	} else if err := samplers.Prepare(sampler); err != nil {
		b.err = fmt.Errorf("layers: %w", err)
	}
	var sizes []int
	if s, ok := sampler.(Sized); ok {
		sizes = s.NominalSizes()
	}
	if len(sizes) != layers+1 {
		sizes = slices.Repeat([]int{nominalRows}, layers+1)
	}
	for l := range b.slots {
		b.slots[l] = ops.NewSlot(sizes[l+1], sizes[l])
		if s, ok := sampler.(Controlled); ok {
			b.slots[l].KeepHistory(s.HistoryNodes(l))
		}
	}
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

// Mode returns the mode of the model's dropouts.
func (b *Batch) Mode() *ops.Mode { return b.mode }

// Features returns a node with the rows of x for the batch's input nodes (see
// ops.Features). Later calls for x return the same node.
func (b *Batch) Features(x *graph.Features) (*G.Node, error) {
	for _, r := range b.reads {
		if r.x == x && r.node != nil {
			return r.node, nil
		}
	}
	if b.err != nil {
		return nil, b.err
	}
	n, err := ops.Features(b.g, x, b.slots[0])
	if err == nil {
		b.reads = append(b.reads, featureRead{x, -1, n})
	}
	return n, err
}

// FeatureRows appends the nodes whose rows of features a step over batch reads, and returns
// rows; nodes may be there more than once. A rank fetches them from the ranks that have
// them. It knows the features of Features and of a GCN.
func (b *Batch) FeatureRows(x *graph.Features, batch *samplers.MiniBatch, rows []int32) []int32 {
	for _, r := range b.reads {
		switch {
		case r.x != x:
		case r.layer < 0:
			rows = append(rows, batch.Inputs()...)
		default:
			rows = append(rows, batch.Blocks[r.layer].Dst...)
		}
	}
	return rows
}

// Prefetch starts to read the rows of features that a step over batch will read, in the order
// of the file, if the features are larger than memory. It does not wait. Calls for different
// batches may be concurrent once the model is built. It knows the features that FeatureRows
// knows. Set requests the rows of a batch without Prefetched.
func (b *Batch) Prefetch(batch *samplers.MiniBatch) {
	b.request(batch)
	batch.Prefetched = true
}

func (b *Batch) request(batch *samplers.MiniBatch) {
	for k, r := range b.reads {
		again := slices.ContainsFunc(b.reads[:k], func(earlier featureRead) bool { return earlier.x == r.x })
		if again || r.x.Prefetch == nil {
			continue
		}
		rows := b.FeatureRows(r.x, batch, nil)
		slices.Sort(rows)
		if len(rows) > 0 && rows[0] >= 0 && int(rows[len(rows)-1]) < r.x.Rows { // else the step is an error
			r.x.Prefetch(slices.Compact(rows))
		}
	}
}

// outputFeatures is ops.OutputFeatures for one of the slots of all.
func (b *Batch) outputFeatures(x *graph.Features, slot *ops.Slot) (*G.Node, error) {
	b.reads = append(b.reads, featureRead{x, slices.Index(b.slots, slot), nil})
	return ops.OutputFeatures(b.g, x, slot)
}

// all returns the slots of the model's convolutions, from the input up.
func (b *Batch) all() []*ops.Slot {
	if b.input == nil {
		return b.slots
	}
	return append([]*ops.Slot{b.input.Slot}, b.slots...)
}

// Targets returns the targets of the batch's output nodes, made at the first call. A later
// call with other labels is an error.
func (b *Batch) Targets(y *graph.Labels) (*ops.Targets, error) {
	if b.targets == nil {
		b.targets = ops.NewTargets(y)
	}
	if b.targets.Labels() != y {
		return nil, fmt.Errorf("layers: the batch already has targets with other labels")
	}
	return b.targets, nil
}

// LabelMatrix returns a node with the labels of the batch's output nodes, for a loss of one's
// own: (output nodes, classes or tasks), see ops.TargetLabels. y must be the labels of
// Targets, if that was called. Training sets the labels with each batch.
func (b *Batch) LabelMatrix(y *graph.Labels) (*G.Node, error) {
	return b.targetValues(y, ops.TargetLabels)
}

// LossWeights returns a node with the weights of the entries of LabelMatrix in the loss, in
// the same shape, see ops.TargetWeights: the importance weights of mini-batches that prefer
// nodes, the weights of classes, and 0 where a label is unknown.
func (b *Batch) LossWeights(y *graph.Labels) (*G.Node, error) {
	return b.targetValues(y, ops.TargetWeights)
}

func (b *Batch) targetValues(y *graph.Labels, values func(*G.ExprGraph, *ops.Targets, int) (*G.Node, error)) (*G.Node, error) {
	if b.err != nil {
		return nil, b.err
	}
	targets, err := b.Targets(y)
	if err != nil {
		return nil, err
	}
	rows, _ := b.slots[len(b.slots)-1].Nominal()
	return values(b.g, targets, rows)
}

// TryLock claims the batch, and with it the model over it, for one training. It reports
// whether it was free. Package train calls it. Any goroutine may.
func (b *Batch) TryLock() bool { return b.training.TryLock() }

// Unlock ends the claim of a TryLock that returned true.
func (b *Batch) Unlock() { b.training.Unlock() }

// Set sets the batch of the next runs: its blocks, the labels of its output nodes,
// and the mode and seed of the dropouts. Its blocks and weights are kept without
// a copy, and must not change until the runs have ended. After an error the batch may be set
// in part: set another one before the next run. Cost: O(NNZ of the blocks).
func (b *Batch) Set(batch *samplers.MiniBatch, training bool, seed uint64) error {
	if batch == nil {
		return fmt.Errorf("layers: no batch to set")
	}
	if b.err != nil {
		return b.err
	}
	if len(batch.Blocks) != len(b.slots) {
		return fmt.Errorf("layers: batch of %d blocks for %d layers",
			len(batch.Blocks), len(b.slots))
	}
	if err := b.checkRefreshed(); err != nil {
		return err
	}
	for l, block := range batch.Blocks {
		controlled, err := b.controlled(l, block)
		if err == nil {
			err = b.slots[l].Set(controlled)
		}
		if err != nil {
			return fmt.Errorf("layers: layer %d: %w", l, err)
		}
		if l == 0 {
			continue
		}
		below := batch.Blocks[l-1].Dst
		if len(below) != len(block.Src) {
			return fmt.Errorf("layers: layer %d has %d input nodes, the layer below %d output nodes",
				l, len(block.Src), len(below))
		}
		for k, v := range block.Src {
			if below[k] != v {
				return fmt.Errorf("layers: input %d of layer %d is node %d, output %d of the layer below is node %d", k, l, v, k, below[k])
			}
		}
	}
	if b.input != nil {
		if err := b.input.set(batch); err != nil {
			return err
		}
	}
	if !batch.Prefetched {
		b.request(batch)
	}
	if b.targets != nil {
		if err := b.targets.Set(batch.Outputs(), batch.LossWeights); err != nil {
			return fmt.Errorf("layers: %w", err)
		}
	}
	b.mode.Training, b.mode.Seed = training, seed
	return nil
}
