package samplers

import (
	"math/rand/v2"

	"github.com/gcn-layerwise/gcn/internal/splitmix"
)

// Seed sets source to the stream of one mini-batch of one epoch, so that a
// batch's draws depend on (seed, epoch, batch) and on nothing else: neither on
// the worker that draws it nor on the batches drawn before.
func Seed(source *rand.PCG, seed, epoch, batch uint64) {
	source.Seed(splitmix.Hash(seed^splitmix.Hash(epoch)), splitmix.Hash(batch+1))
}

// Stream returns a new source set by Seed.
func Stream(seed, epoch, batch uint64) *rand.PCG {
	source := new(rand.PCG)
	Seed(source, seed, epoch, batch)
	return source
}
