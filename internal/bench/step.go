package bench

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"runtime"
	"slices"
	"time"

	"github.com/gcn-layerwise/gcn/datasets"
	"github.com/gcn-layerwise/gcn/internal/device"
	"github.com/gcn-layerwise/gcn/layers"
	"github.com/gcn-layerwise/gcn/ops"
	"github.com/gcn-layerwise/gcn/samplers"
	"github.com/gcn-layerwise/gcn/train"
)

// StepOptions is what Step measures. The zero value is the paper's
// protocol: 150 batches of 512, the first and last 20 left out.
type StepOptions struct {
	Batches   int    // 0 means 150
	Discard   int    // first and last batches left out; 0 means 20, negative none
	BatchSize int    // 0 means 512
	Workers   int    // of the pipelined measurement; 0 means GOMAXPROCS
	Seed      uint64 // of the batches
	Adam      train.Adam
}

// StepReport is the cost of a training step, in milliseconds a batch unless it
// says otherwise. The JSON names are those of "gcn bench train".
type StepReport struct {
	MedianMS float64 `json:"ms_median"` // forward, backward and Adam; sampling not counted
	MeanMS   float64 `json:"ms_mean"`
	SDMS     float64 `json:"ms_sd"` // unbiased

	// FloorMS is the median of the same dense products alone, each batch's
	// timed right after its step; RatioToFloor is the step's median over it.
	FloorMS      float64 `json:"floor_ms"`
	RatioToFloor float64 `json:"ratio_to_floor"`

	SamplingMedianMS float64 `json:"sampling_ms_median"`     // on the same goroutine, between the steps
	PipelinedMS      float64 `json:"pipelined_ms_per_batch"` // wall clock, workers sampling ahead; median of three passes
	BytesPerStep     float64 `json:"bytes_per_step"`         // allocated
	AllocsPerStep    float64 `json:"allocs_per_step"`

	// On a device, a pass with workers sampling ahead: kernels queued (dense
	// products counted apart), copies either way, and waits for the device. The
	// steps of MedianMS wait each, those of PipelinedMS do not.
	Launches    float64 `json:"launches_per_step,omitempty"`
	Products    float64 `json:"products_per_step,omitempty"`
	Copies      float64 `json:"copies_per_step,omitempty"`
	BytesIn     float64 `json:"bytes_to_device_per_step,omitempty"`
	Syncs       float64 `json:"syncs_per_step,omitempty"`
	DeviceBytes int64   `json:"device_bytes,omitempty"` // most at a time, without the driver's own

	BLAS       string `json:"blas"`
	Threads    int    `json:"threads"`
	Batches    int    `json:"batches"` // measured, those left out not counted
	Workers    int    `json:"workers"`
	Parameters int    `json:"parameters"`
}

// Step measures training steps of m on d. They move its parameters. The error is
// the context's if that ends first.
func Step(ctx context.Context, m train.Model, d *datasets.Data, o StepOptions) (StepReport, error) {
	if err := o.fill(); err != nil {
		return StepReport{}, err
	}
	program, err := train.NewProgram(m)
	if err != nil {
		return StepReport{}, err
	}
	defer program.Close()
	parts := m.Parts()
	floor, err := newFloor(parts.Device)
	if err != nil {
		return StepReport{}, err
	}
	defer floor.close()
	b := &stepBench{
		options: o, program: program, batch: parts.Batch, device: parts.Device, floor: floor,
		stream: train.Stream{Sampler: parts.Batch.Sampler(), Train: d.Split.Train, BatchSize: o.BatchSize, BatchesPerEpoch: 10, Seed: o.Seed},
	}
	if err := b.stream.Validate(); err != nil {
		return StepReport{}, err
	}
	report := StepReport{BLAS: floor.name(), Threads: floor.threads(), Workers: o.Workers, Parameters: len(program.Parameters())}
	if err := b.alone(ctx, &report); err != nil {
		return StepReport{}, err
	}
	const passes = 3 // the median of them: one hiccup of the machine spoils a pass
	var pipelined []float64
	for range passes {
		before := b.counts()
		ms, err := b.pipelined(ctx)
		if err != nil {
			return StepReport{}, err
		}
		pipelined = append(pipelined, ms)
		report.count(b.counts().Since(before), o.Batches)
	}
	report.PipelinedMS = median(pipelined)
	if b.device != nil {
		report.DeviceBytes = b.device.Usage().Peak
	}
	return report, nil
}

// fill sets o's zero fields to their defaults.
func (o *StepOptions) fill() error {
	for _, f := range []struct {
		field *int
		value int
	}{{&o.Batches, 150}, {&o.Discard, 20}, {&o.BatchSize, 512}, {&o.Workers, runtime.GOMAXPROCS(0)}} {
		if *f.field == 0 {
			*f.field = f.value
		}
	}
	o.Discard = max(o.Discard, 0)
	if o.Batches <= 2*o.Discard {
		return fmt.Errorf("bench: %d batches, of which the first and last %d do not count", o.Batches, o.Discard)
	}
	if o.Workers < 0 {
		return fmt.Errorf("bench: %d workers, want positive", o.Workers)
	}
	return o.Adam.Validate()
}

type stepBench struct {
	options StepOptions
	program *train.Program
	batch   *layers.Batch
	device  *ops.Device // nil: the CPU
	stream  train.Stream
	adam    train.AdamState
	floor   floor

	unsettled int // steps since the last call of Settle
}

// counts returns what the device was asked to do so far.
func (b *stepBench) counts() device.Counts {
	if b.device == nil {
		return device.Counts{}
	}
	return b.device.Counts()
}

func (b *stepBench) step(batch *samplers.MiniBatch, seed uint64) error {
	if err := b.program.Advance(batch, seed, b.options.Adam, &b.adam); err != nil {
		return err
	}
	if b.unsettled++; b.unsettled == b.program.Depth() {
		if err := b.settle(); err != nil {
			return err
		}
	}
	b.batch.Commit()
	return nil
}

// settle waits for the steps that were only queued.
func (b *stepBench) settle() error {
	b.unsettled = 0
	_, err := b.program.Settle(&b.adam)
	return err
}

// alone measures sampling, step and floor one after the other, and what a step
// allocates.
func (b *stepBench) alone(ctx context.Context, report *StepReport) error {
	var source rand.PCG
	rng := rand.New(&source)
	nodes := slices.Clone(b.stream.Train)
	var batch samplers.MiniBatch
	var steps, floors, sampling []float64
	for k := range b.options.Batches {
		if err := ctx.Err(); err != nil {
			return err
		}
		start := time.Now()
		samplers.Seed(&source, b.options.Seed, 0, uint64(k))
		if err := b.stream.Sampler.Sample(ctx, seeds(rng, nodes, b.options.BatchSize), rng, &batch); err != nil {
			return fmt.Errorf("bench: batch %d: %w", k, err)
		}
		drawn := time.Since(start)
		start = time.Now()
		if err := b.step(&batch, uint64(k)); err != nil {
			return fmt.Errorf("bench: batch %d: %w", k, err)
		}
		if err := b.settle(); err != nil {
			return fmt.Errorf("bench: batch %d: %w", k, err)
		}
		step := time.Since(start)
		least, err := b.floor.time(productsOf(b.program.Nodes()))
		if err != nil {
			return err
		}
		if k < b.options.Discard || k >= b.options.Batches-b.options.Discard {
			continue
		}
		sampling = append(sampling, milliseconds(drawn))
		steps = append(steps, milliseconds(step))
		floors = append(floors, milliseconds(least))
	}
	report.Batches = len(steps)
	report.MedianMS, report.FloorMS, report.SamplingMedianMS = median(steps), median(floors), median(sampling)
	report.MeanMS, report.SDMS = meanAndDeviation(steps)
	report.RatioToFloor = report.MedianMS / report.FloorMS

	const repeats = 20
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for range repeats {
		if err := b.step(&batch, 0); err != nil {
			return err
		}
	}
	runtime.ReadMemStats(&after)
	report.BytesPerStep = float64(after.TotalAlloc-before.TotalAlloc) / repeats
	report.AllocsPerStep = float64(after.Mallocs-before.Mallocs) / repeats
	return nil
}

// seeds draws n distinct nodes, or takes all, by the first steps of a shuffle.
func seeds(rng *rand.Rand, nodes []int32, n int) []int32 {
	n = min(n, len(nodes))
	for i := range n {
		j := i + rng.IntN(len(nodes)-i)
		nodes[i], nodes[j] = nodes[j], nodes[i]
	}
	return nodes[:n]
}

// pipelined returns the wall clock of a batch with workers sampling ahead, over
// one pass of the batches.
func (b *stepBench) pipelined(ctx context.Context) (ms float64, err error) {
	loader, err := train.NewLoader(ctx, b.stream, b.options.Workers, 0, b.options.Batches)
	if err != nil {
		return 0, err
	}
	defer loader.Close()
	var start time.Time
	for k := 0; ; k++ {
		if k == b.options.Discard || k == b.options.Batches-b.options.Discard {
			if err := b.settle(); err != nil {
				return 0, err
			}
		}
		switch k {
		case b.options.Discard:
			start = time.Now()
		case b.options.Batches - b.options.Discard:
			ms = milliseconds(time.Since(start)) / float64(k-b.options.Discard)
		}
		item, err := loader.Next()
		if err == io.EOF {
			return ms, nil
		}
		if err != nil {
			return 0, err
		}
		if err := b.step(item.Blocks, item.Dropout); err != nil {
			return 0, fmt.Errorf("bench: batch %d: %w", item.Index, err)
		}
	}
}

// count sets the numbers of a pass of so many batches.
func (r *StepReport) count(c device.Counts, batches int) {
	each := func(n int64) float64 { return float64(n) / float64(batches) }
	r.Launches, r.Products = each(c.Launches), each(c.Products)
	r.Copies, r.BytesIn, r.Syncs = each(c.CopiesIn+c.CopiesOut+c.Copies), each(c.BytesIn), each(c.Syncs)
}
