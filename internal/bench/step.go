package bench

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"runtime"
	"time"

	"github.com/gcn-layerwise/gcn/datasets"
	"github.com/gcn-layerwise/gcn/samplers"
	"github.com/gcn-layerwise/gcn/study"
	"github.com/gcn-layerwise/gcn/train"
)

// StepOptions are the options of Step. The zero value is the paper's protocol: 150 batches
// of 512 nodes, without the first and last 20.
type StepOptions struct {
	Batches   int    // 0 means 150
	Discard   int    // batches to leave out at each end; 0 means 20
	BatchSize int    // 0 means 512
	Workers   int    // sampling goroutines of the pipelined passes; 0 means GOMAXPROCS
	Seed      uint64 // of the batches

	EdgeDropout float64 // of the batches

	// Longest ends the steps in turn after this time, if at least five are done. The report
	// then has no pipelined passes. 0 means no limit.
	Longest time.Duration
}

// Times are the milliseconds of the batches that were measured.
type Times struct {
	MedianMS float64 `json:"ms_median"`
	MeanMS   float64 `json:"ms_mean"`
	SDMS     float64 `json:"ms_sd"` // sample standard deviation, with n−1
}

func newTimes(ms []float64) Times {
	s := study.NewSpread(ms)
	return Times{study.Median(ms), s.Mean, s.SD}
}

// StepReport is the cost of a training step. Fields with MS are milliseconds a batch. "gcn
// bench train" prints the report with these JSON names. On a GPU each step of MedianMS waits for
// the device; the steps of PipelinedMS do not.
type StepReport struct {
	Times // of forward, backward and Adam, without sampling

	// FloorMS is the median time of the same dense products alone, measured after
	// each step. RatioToFloor is MedianMS/FloorMS.
	FloorMS      float64 `json:"floor_ms"`
	RatioToFloor float64 `json:"ratio_to_floor"`

	SamplingMedianMS float64 `json:"sampling_ms_median"`     // on the steps' goroutine, between them
	PipelinedMS      float64 `json:"pipelined_ms_per_batch"` // wall-clock time with workers that sample ahead; median of three passes
	BytesPerStep     float64 `json:"bytes_per_step"`         // allocated on the host
	AllocsPerStep    float64 `json:"allocs_per_step"`

	DeviceBytes int64 `json:"device_bytes,omitempty"` // of a GPU: the peak, without the driver's own memory

	BLAS       string `json:"blas"`
	Threads    int    `json:"threads"`
	Batches    int    `json:"batches"` // measured, without those left out
	Workers    int    `json:"workers"`
	Parameters int    `json:"parameters"`
}

// Step measures training steps of m on d. They change m's parameters. If ctx ends first,
// the error is ctx's.
func Step(ctx context.Context, m train.Model, d *datasets.Data, o StepOptions) (r StepReport, err error) {
	o.Batches, o.Discard, o.BatchSize = cmp.Or(o.Batches, 150), cmp.Or(o.Discard, 20), cmp.Or(o.BatchSize, 512)
	o.Workers = cmp.Or(o.Workers, runtime.GOMAXPROCS(0))
	if o.Batches <= 2*o.Discard {
		return r, fmt.Errorf("bench: %d batches, but the first and last %d do not count", o.Batches, o.Discard)
	}
	program, err := train.NewProgram(m)
	if err != nil {
		return r, err
	}
	defer program.Close()
	parts := m.Parts()
	floor, err := newFloor(parts.Device)
	if err != nil {
		return r, err
	}
	defer floor.close()
	b := &stepBench{
		StepOptions: o, program: program, commit: parts.Batch.Commit,
		stream: train.Stream{Sampler: parts.Batch.Sampler(), Train: d.Split.Train, BatchSize: o.BatchSize, BatchesPerEpoch: 10, Seed: o.Seed, EdgeDropout: o.EdgeDropout, Prefetch: parts.Batch.Prefetch},
	}
	if err := b.stream.Validate(); err != nil {
		return r, err
	}
	if parts.Refresher != nil { // once: a step does not
		if err := parts.Refresher.Refresh(ctx); err != nil {
			return r, err
		}
	}
	r.BLAS, r.Threads, r.Workers, r.Parameters = floor.blas.Name(), floor.blas.Threads(), o.Workers, len(program.Parameters())
	if parts.Device != nil {
		r.BLAS = "cuBLAS"
	}
	if err := b.inTurn(ctx, floor, &r); err != nil || o.Longest > 0 {
		return r, err
	}
	var pipelined [3]float64 // the median counts: another load on the machine may spoil a pass
	for k := range pipelined {
		if pipelined[k], err = b.pipelined(ctx); err != nil {
			return r, err
		}
	}
	if parts.Device != nil {
		r.DeviceBytes = parts.Device.Usage().Peak
	}
	r.PipelinedMS = study.Median(pipelined[:])
	return r, nil
}

type stepBench struct {
	StepOptions
	program *train.Program
	commit  func() // keeps the histories of the last batch
	stream  train.Stream

	unsettled int // steps since the last call of Settle
}

// step trains on a batch. It waits for the queued steps if wait is true, or if there are as many as
// may be.
func (b *stepBench) step(batch *samplers.MiniBatch, seed uint64, wait bool) error {
	if err := b.program.Advance(batch, seed, train.Adam{}); err != nil {
		return err
	}
	b.commit()
	if b.unsettled++; wait || b.unsettled == b.program.Depth() {
		return b.settle()
	}
	return nil
}

// settle waits for the queued steps.
func (b *stepBench) settle() error {
	b.unsettled = 0
	_, err := b.program.Settle()
	return err
}

// inTurn measures sampling, step and floor in turn, and then the allocations of a step.
func (b *stepBench) inTurn(ctx context.Context, floor *floor, r *StepReport) error {
	var batch samplers.MiniBatch
	var steps, floors, sampling []float64
	begin := time.Now()
	for k := 0; k < b.Batches && (b.Longest == 0 || k < 5 || time.Since(begin) < b.Longest); k++ {
		if err := ctx.Err(); err != nil {
			return err
		}
		rng := rand.New(samplers.NewSource(b.Seed, 0, uint64(k)))
		seeds := study.RandomBatch(rng, b.stream.Train, b.BatchSize)
		start := time.Now()
		err := b.stream.Sampler.Sample(ctx, seeds, rng, &batch)
		if err == nil && b.EdgeDropout > 0 {
			err = batch.DropEdges(b.EdgeDropout, rng)
		}
		drawn := time.Now()
		if err == nil {
			err = b.step(&batch, uint64(k), true)
		}
		stepped := time.Now()
		if err != nil {
			return fmt.Errorf("bench: batch %d: %w", k, err)
		}
		least, err := floor.time(b.program.Products())
		if err != nil {
			return err
		}
		sampling, steps, floors = append(sampling, milliseconds(drawn.Sub(start))), append(steps, milliseconds(stepped.Sub(drawn))), append(floors, milliseconds(least))
	}
	cut := min(b.Discard, len(steps)/5)
	sampling, steps, floors = sampling[cut:len(sampling)-cut], steps[cut:len(steps)-cut], floors[cut:len(floors)-cut]
	r.Batches, r.Times = len(steps), newTimes(steps)
	r.FloorMS, r.SamplingMedianMS = study.Median(floors), study.Median(sampling)
	r.RatioToFloor = r.MedianMS / r.FloorMS
	const repeats = 20
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for range repeats {
		if err := b.step(&batch, 0, false); err != nil {
			return err
		}
	}
	runtime.ReadMemStats(&after)
	r.BytesPerStep = float64(after.TotalAlloc-before.TotalAlloc) / repeats
	r.AllocsPerStep = float64(after.Mallocs-before.Mallocs) / repeats
	return nil
}

// pipelined returns the wall-clock time a batch in one pass, with workers that sample ahead.
func (b *stepBench) pipelined(ctx context.Context) (ms float64, err error) {
	loader, err := train.NewLoader(ctx, b.stream, b.Workers, 0, b.Batches)
	if err != nil {
		return 0, err
	}
	defer loader.Close()
	var start time.Time
	for k := 0; ; k++ {
		if k == b.Discard || k == b.Batches-b.Discard {
			if err := b.settle(); err != nil {
				return 0, err
			}
			ms, start = milliseconds(time.Since(start))/float64(b.Batches-2*b.Discard), time.Now()
		}
		item, err := loader.Next()
		if err == io.EOF {
			return ms, nil
		}
		if err != nil {
			return 0, err
		}
		if err := b.step(item.Blocks, item.Dropout, false); err != nil {
			return 0, fmt.Errorf("bench: batch %d: %w", item.Index, err)
		}
	}
}
