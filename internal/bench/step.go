package bench

import (
	"cmp"
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
	"github.com/gcn-layerwise/gcn/study"
	"github.com/gcn-layerwise/gcn/train"
)

// StepOptions are the options of Step. The zero value is the paper's protocol: 150 batches
// of 512 nodes, without the first and last 20.
type StepOptions struct {
	Batches   int    // 0 means 150
	Discard   int    // batches to leave out at each end; 0 means 20, negative none
	BatchSize int    // 0 means 512
	Workers   int    // sampling goroutines of the pipelined passes; 0 means GOMAXPROCS
	Seed      uint64 // of the batches
	Adam      train.Adam
}

// StepReport is the cost of a training step. Fields with MS are milliseconds a batch. "gcn
// bench train" prints the report with these JSON names.
type StepReport struct {
	MedianMS float64 `json:"ms_median"` // forward, backward and Adam, without sampling
	MeanMS   float64 `json:"ms_mean"`
	SDMS     float64 `json:"ms_sd"` // sample standard deviation, with n−1

	// FloorMS is the median time of the same dense products alone, measured after
	// each step. RatioToFloor is MedianMS/FloorMS.
	FloorMS      float64 `json:"floor_ms"`
	RatioToFloor float64 `json:"ratio_to_floor"`

	SamplingMedianMS float64 `json:"sampling_ms_median"`     // on the steps' goroutine, between them
	PipelinedMS      float64 `json:"pipelined_ms_per_batch"` // wall-clock time with workers that sample ahead; median of three passes
	BytesPerStep     float64 `json:"bytes_per_step"`         // allocated on the host
	AllocsPerStep    float64 `json:"allocs_per_step"`

	// On a GPU, in a pipelined pass: kernels without dense products, dense products,
	// copies in all directions, and waits for the device. Each step of MedianMS waits
	// for the device; the steps of PipelinedMS do not.
	Launches    float64 `json:"launches_per_step,omitempty"`
	Products    float64 `json:"products_per_step,omitempty"`
	Copies      float64 `json:"copies_per_step,omitempty"`
	BytesIn     float64 `json:"bytes_to_device_per_step,omitempty"`
	Syncs       float64 `json:"syncs_per_step,omitempty"`
	DeviceBytes int64   `json:"device_bytes,omitempty"` // peak, without the driver's own memory

	BLAS       string `json:"blas"`
	Threads    int    `json:"threads"`
	Batches    int    `json:"batches"` // measured, without those left out
	Workers    int    `json:"workers"`
	Parameters int    `json:"parameters"`
}

// Step measures training steps of m on d. They change m's parameters. If ctx ends first,
// the error is ctx's.
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
		stream: train.Stream{Sampler: parts.Batch.Sampler(), Train: d.Split.Train, BatchSize: o.BatchSize, BatchesPerEpoch: 10, Seed: o.Seed, Load: parts.Batch.Load},
	}
	if err := b.stream.Validate(); err != nil {
		return StepReport{}, err
	}
	if parts.Refresher != nil { // once: a step does not
		if err := parts.Refresher.Refresh(ctx); err != nil {
			return StepReport{}, err
		}
	}
	report := StepReport{BLAS: floor.name(), Threads: floor.threads(), Workers: o.Workers, Parameters: len(program.Parameters())}
	if err := b.inTurn(ctx, &report); err != nil {
		return StepReport{}, err
	}
	const passes = 3 // take the median: another load on the machine may spoil a pass
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
	report.PipelinedMS = study.Median(pipelined)
	if b.device != nil {
		report.DeviceBytes = b.device.Usage().Peak
	}
	return report, nil
}

// fill sets o's zero fields to their defaults.
func (o *StepOptions) fill() error {
	o.Batches = cmp.Or(o.Batches, 150)
	o.Discard = cmp.Or(o.Discard, 20)
	o.BatchSize = cmp.Or(o.BatchSize, 512)
	o.Workers = cmp.Or(o.Workers, runtime.GOMAXPROCS(0))
	o.Discard = max(o.Discard, 0)
	if o.Batches <= 2*o.Discard {
		return fmt.Errorf("bench: %d batches, but the first and last %d do not count", o.Batches, o.Discard)
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

// counts returns the device's counts, zero on the CPU.
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

// settle waits for the queued steps.
func (b *stepBench) settle() error {
	b.unsettled = 0
	_, err := b.program.Settle(&b.adam)
	return err
}

// inTurn measures sampling, step and floor in turn, and then the allocations of a step.
func (b *stepBench) inTurn(ctx context.Context, report *StepReport) error {
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
		if err := b.stream.Sampler.Sample(ctx, Seeds(rng, nodes, b.options.BatchSize), rng, &batch); err != nil {
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
	report.MedianMS, report.FloorMS, report.SamplingMedianMS = study.Median(steps), study.Median(floors), study.Median(sampling)
	spread := study.NewSpread(steps)
	report.MeanMS, report.SDMS = spread.Mean, spread.SD
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

// Seeds draws n distinct nodes by the first n steps of a shuffle. If there are fewer than n
// nodes, it takes all.
func Seeds(rng *rand.Rand, nodes []int32, n int) []int32 {
	n = min(n, len(nodes))
	for i := range n {
		j := i + rng.IntN(len(nodes)-i)
		nodes[i], nodes[j] = nodes[j], nodes[i]
	}
	return nodes[:n]
}

// pipelined returns the wall-clock time a batch in one pass, with workers that sample ahead.
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

// count sets the device's counts a batch from the counts of one pass.
func (r *StepReport) count(c device.Counts, batches int) {
	each := func(n int64) float64 { return float64(n) / float64(batches) }
	r.Launches, r.Products = each(c.Launches), each(c.Products)
	r.Copies, r.BytesIn, r.Syncs = each(c.CopiesIn+c.CopiesOut+c.Copies), each(c.BytesIn), each(c.Syncs)
}
