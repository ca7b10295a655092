package train

import (
	"context"

	"github.com/gcn-layerwise/gcn/datasets"
)

// BenchOptions is what BenchStep measures. The zero value is the paper's
// protocol with 150 batches.
type BenchOptions struct {
	Batches   int // measured one by one; 0 means 150
	Discard   int // first and last batches left out; 0 means 20; negative means none
	BatchSize int // 0 means 512
	Workers   int // of the pipelined measurement; 0 means GOMAXPROCS
	Seed      uint64
}

// StepReport is the cost of a training step, in milliseconds a batch unless it
// says otherwise; the JSON names are those of "gcn bench train".
type StepReport struct {
	MedianMS         float64 `json:"ms_median"` // forward, backward and Adam; sampling not counted
	MeanMS           float64 `json:"ms_mean"`
	SDMS             float64 `json:"ms_sd"`
	FloorMS          float64 `json:"floor_ms"`       // median of the same dense products alone
	RatioToFloor     float64 `json:"ratio_to_floor"` // of the medians
	SamplingMedianMS float64 `json:"sampling_ms_median"`
	PipelinedMS      float64 `json:"pipelined_ms_per_batch"` // wall clock with workers sampling ahead
	BytesPerStep     float64 `json:"bytes_per_step"`         // allocated
	BLAS             string  `json:"blas"`
	Threads          int     `json:"threads"`
	Batches          int     `json:"batches"` // that the medians are over
}

// BenchStep measures training steps of m on d, which move its parameters.
func BenchStep(ctx context.Context, m Model, d *datasets.Data, o BenchOptions) (StepReport, error) {
	return StepReport{}, nil
}

// InferReport is the cost of full-neighbour inference; the JSON names are those
// of "gcn bench infer".
type InferReport struct {
	MS          float64 `json:"ms"` // median
	NodesPerS   float64 `json:"nodes_per_s"`
	PeakBytes   uint64  `json:"peak_heap_bytes"` // largest heap seen above the one before
	Repetitions int     `json:"repetitions"`
}

// BenchInfer measures inference of m over all nodes of d.
func BenchInfer(ctx context.Context, m Model, d *datasets.Data, repetitions int) (InferReport, error) {
	return InferReport{}, nil
}
