package study

import "math/rand/v2"

// RandomBatch returns size distinct elements of nodes in random order, or all
// elements if there are fewer. Cost: O(len(nodes)).
func RandomBatch(rng *rand.Rand, nodes []int32, size int) []int32 {
	return drawBatch(rng, nodes, size, newBatchScratch(nodes))
}

// drawBatch returns size distinct elements of nodes in random order, or all
// elements if there are fewer. scratch is newBatchScratch's result for the same
// nodes; drawBatch restores it.
func drawBatch(rng *rand.Rand, nodes []int32, size int, scratch []int32) []int32 {
	size = max(0, min(size, len(nodes)))
	batch := make([]int32, size)
	swapped := make([]int, size)
	for k := range batch {
		j := k + rng.IntN(len(nodes)-k)
		scratch[k], scratch[j] = scratch[j], scratch[k]
		swapped[k], batch[k] = j, nodes[scratch[k]]
	}
	for k := size - 1; k >= 0; k-- { // restore scratch, so that equal streams give equal batches
		scratch[k], scratch[swapped[k]] = scratch[swapped[k]], scratch[k]
	}
	return batch
}

// newBatchScratch returns the numbers 0 … len(nodes)-1.
func newBatchScratch(nodes []int32) []int32 {
	scratch := make([]int32, len(nodes))
	for k := range scratch {
		scratch[k] = int32(k)
	}
	return scratch
}
