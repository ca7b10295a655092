package bench

import (
	"context"
	"math/rand/v2"
	"runtime"
	"time"

	"github.com/gcn-layerwise/gcn/datasets"
	"github.com/gcn-layerwise/gcn/samplers"
	"github.com/gcn-layerwise/gcn/study"
)

// SamplingReport is the cost of sampling one layer for a mini-batch. "gcn bench sampling"
// prints it with these JSON names.
type SamplingReport struct {
	Times
	NNZ        float64 `json:"nnz"`        // of the block, mean
	Candidates float64 `json:"candidates"` // nodes that could be drawn, mean
	Allocs     float64 `json:"allocs_per_batch"`
}

// In its turn a sampler draws warmUp mini-batches that do not count, and then turn ones that
// do.
const turn, warmUp = 20, 10

// Sampling measures samplers of one layer on the same mini-batches of random training nodes
// of d, on one goroutine. They take turns, so that a disturbance of the machine slows all of
// them alike.
func Sampling(ctx context.Context, all []samplers.Sampler, d *datasets.Data, size, batches int, seed uint64) ([]SamplingReport, error) {
	var source rand.PCG
	rng := rand.New(&source)
	seeds := make([][]int32, batches)
	for k := range seeds {
		samplers.Seed(&source, seed, 0, uint64(k))
		seeds[k] = study.RandomBatch(rng, d.Split.Train, size)
	}
	blocks := make([]samplers.MiniBatch, len(all)) // of each sampler
	draw := func(i, k int) error {
		samplers.Seed(&source, seed, 1, uint64(k))
		return all[i].Sample(ctx, seeds[k], rng, &blocks[i])
	}
	full := &samplers.Full{Laplacian: d.Laplacian(), Depth: 1}
	for _, s := range append([]samplers.Sampler{full}, all...) {
		if err := samplers.Prepare(s); err != nil {
			return nil, err
		}
	}
	reports, times := make([]SamplingReport, len(all)), make([][]float64, len(all))
	for from := 0; from < batches; from += turn {
		to := min(from+turn, batches)
		for i := range all {
			for k := range warmUp { // not the batches that count
				if err := draw(i, (to+k)%batches); err != nil {
					return nil, err
				}
			}
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			for k := from; k < to; k++ {
				start := time.Now()
				if err := draw(i, k); err != nil {
					return nil, err
				}
				times[i] = append(times[i], milliseconds(time.Since(start)))
				reports[i].NNZ += float64(blocks[i].Blocks[0].Matrix.NNZ()) / float64(batches)
			}
			runtime.ReadMemStats(&after)
			reports[i].Allocs += float64(after.Mallocs-before.Mallocs) / float64(batches)
		}
	}
	var batch samplers.MiniBatch
	var seen float64
	for _, nodes := range seeds {
		if err := full.Sample(ctx, nodes, nil, &batch); err != nil {
			return nil, err
		}
		seen += float64(len(batch.Inputs())) / float64(batches)
	}
	for i, s := range all {
		reports[i].Times, reports[i].Candidates = newTimes(times[i]), seen
		if layerWise, ok := s.(*samplers.LayerWise); ok {
			if fast, ok := layerWise.Importance.(samplers.FastGCN); ok && !fast.Neighborhood { // also nodes that no row sees
				reports[i].Candidates = float64(d.Nodes())
			}
		}
	}
	return reports, nil
}
