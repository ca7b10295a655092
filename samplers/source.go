package samplers

import (
	"math/rand/v2"

	"github.com/gcn-layerwise/gcn/internal/splitmix"
)

// NewSource returns the random source of one mini-batch of one epoch. The draws of a
// batch then depend on (seed, epoch, batch) only, and not on the worker that makes
// them or on earlier batches.
func NewSource(seed, epoch, batch uint64) *rand.PCG {
	source := new(rand.PCG)
	Seed(source, seed, epoch, batch)
	return source
}

// Seed sets source to the state of NewSource's result, without allocating.
func Seed(source *rand.PCG, seed, epoch, batch uint64) {
	source.Seed(splitmix.Hash(seed^splitmix.Hash(epoch)), splitmix.Hash(batch+1))
}
