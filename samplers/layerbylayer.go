package samplers

import (
	"context"
	"errors"
	"sync"

	"github.com/gcn-layerwise/gcn/graph"
)

var errNoSeeds = errors.New("samplers: a batch needs at least one seed node")

// layerByLayer makes batch hold the given number of blocks and fills them from
// the output down: fill gets the layer counted from the output, its output
// nodes, which are the seeds at the top and the input nodes of the layer above
// below it, and the block to fill.
func layerByLayer(ctx context.Context, batch *Batch, layers int, seeds []int32, fill func(layer int, rows []int32, block *graph.Block) error) error {
	if len(seeds) == 0 {
		return errNoSeeds
	}
	batch.Reset(layers)
	rows := seeds
	for l := range layers {
		if err := ctx.Err(); err != nil {
			return err
		}
		block := batch.Blocks[layers-1-l]
		if err := fill(l, rows, block); err != nil {
			return err
		}
		rows = block.Src
	}
	return nil
}

// scratchPool keeps the memory of concurrent calls from one to the next. The
// zero value is empty.
type scratchPool[T any] struct{ pool sync.Pool }

// get returns memory that put was given, or new memory.
func (p *scratchPool[T]) get() *T {
	if scratch, ok := p.pool.Get().(*T); ok {
		return scratch
	}
	return new(T)
}

func (p *scratchPool[T]) put(scratch *T) { p.pool.Put(scratch) }
