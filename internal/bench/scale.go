package bench

import (
	"context"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"time"

	"github.com/gcn-layerwise/gcn/datasets"
	"github.com/gcn-layerwise/gcn/internal/memory"
	"github.com/gcn-layerwise/gcn/samplers"
	"github.com/gcn-layerwise/gcn/study"
	"github.com/gcn-layerwise/gcn/train"
)

// ScaleOptions are the options of Scale. The zero value measures 40 batches of 512 nodes.
type ScaleOptions struct {
	Batches   int // 0 means 40
	BatchSize int // 0 means 512; at most the training nodes
	Workers   int // sampling goroutines of the pipelined passes; 0 means GOMAXPROCS
	Seed      uint64
	Evaluate  bool // also time the scores of the validation nodes

	// Evict, if not nil, is called before the first pass. It removes the data from the
	// system's cache.
	Evict func() error
}

// ScaleReport is the cost of training on one graph. Fields with MS are
// milliseconds a batch. "gcn bench scale" prints the report with these JSON names.
type ScaleReport struct {
	BatchSize int     `json:"batch"`
	Inputs    float64 `json:"inputs"`  // nodes whose features a batch reads, mean
	Entries   float64 `json:"entries"` // entries of P that sampling a batch reads, mean

	// Of the same batches again and again, so that the data are in memory if they fit.
	SamplingMS  float64 `json:"sampling_ms"`  // median, on the step's goroutine
	StepMS      float64 `json:"step_ms"`      // median, without sampling
	PipelinedMS float64 `json:"pipelined_ms"` // with workers that sample ahead; median of three passes

	// Of the first pass, with workers that sample ahead.
	FirstMS     float64 `json:"first_ms"`
	FirstReadMB float64 `json:"first_read_mb"` // a batch, from the disk
	FirstFaults float64 `json:"first_faults"`  // page faults a batch that waited for the disk
	DiskShare   float64 `json:"disk_share"`    // of FirstMS: its excess over PipelinedMS, which is the same work

	OwnMB  float64 `json:"own_mb"`            // most memory of the process beside mapped files, while it trains
	EvalMS float64 `json:"eval_ms,omitempty"` // for all validation nodes
	EvalMB float64 `json:"eval_own_mb,omitempty"`
}

// Scale measures training steps of m on d. They change m's parameters. If ctx ends first, the
// error is ctx's.
func Scale(ctx context.Context, m train.Model, d *datasets.Data, o ScaleOptions) (r ScaleReport, err error) {
	steps := StepOptions{Batches: o.Batches, BatchSize: o.BatchSize, Workers: o.Workers, Seed: o.Seed, Discard: -1}
	if steps.Batches == 0 {
		steps.Batches = 40
	}
	if err := steps.fill(); err != nil {
		return r, err
	}
	program, err := train.NewProgram(m)
	if err != nil {
		return r, err
	}
	defer program.Close()
	parts := m.Parts()
	b := &stepBench{
		options: steps, program: program, batch: parts.Batch, device: parts.Device,
		stream: train.Stream{Sampler: parts.Batch.Sampler(), Train: d.Split.Train, BatchSize: steps.BatchSize, BatchesPerEpoch: 10, Seed: o.Seed, Prefetch: parts.Batch.Prefetch},
	}
	if err := b.stream.Validate(); err != nil {
		return r, err
	}
	if parts.Refresher != nil {
		if err := parts.Refresher.Refresh(ctx); err != nil {
			return r, err
		}
	}
	if o.Evict != nil {
		if err := o.Evict(); err != nil {
			return r, err
		}
	}
	watch := watchMemory(ownBytes, 5*time.Millisecond)
	defer watch.end()
	r.BatchSize = min(steps.BatchSize, len(d.Split.Train))
	read, faults := diskReads()
	if r.FirstMS, err = b.pipelined(ctx); err != nil {
		return r, err
	}
	readAfter, faultsAfter := diskReads()
	each := float64(steps.Batches)
	r.FirstReadMB, r.FirstFaults = float64(readAfter-read)/1e6/each, float64(faultsAfter-faults)/each
	if err := b.repeated(ctx, d, &r); err != nil {
		return r, err
	}
	var passes []float64
	for range 3 {
		ms, err := b.pipelined(ctx)
		if err != nil {
			return r, err
		}
		passes = append(passes, ms)
	}
	r.PipelinedMS = study.Median(passes)
	r.DiskShare = max(1-r.PipelinedMS/r.FirstMS, 0)
	r.OwnMB = float64(watch.end()) / 1e6
	if !o.Evaluate || len(d.Split.Valid) == 0 {
		return r, nil
	}
	runtime.GC()
	watch = watchMemory(ownBytes, 5*time.Millisecond)
	defer watch.end()
	start := time.Now()
	if _, err := train.Predict(ctx, m, d, d.Split.Valid); err != nil {
		return r, err
	}
	r.EvalMS = milliseconds(time.Since(start))
	r.EvalMB = float64(watch.end()) / 1e6
	return r, nil
}

// repeated measures sampling and step in turn, on batches that were drawn once before.
func (b *stepBench) repeated(ctx context.Context, d *datasets.Data, r *ScaleReport) error {
	var source rand.PCG
	rng := rand.New(&source)
	nodes := slices.Clone(b.stream.Train)
	var batch samplers.MiniBatch
	var steps, sampling []float64
	for round := range 2 {
		copy(nodes, b.stream.Train) // the same batches in both rounds
		for k := range b.options.Batches {
			if err := ctx.Err(); err != nil {
				return err
			}
			samplers.Seed(&source, b.options.Seed, 0, uint64(k))
			seeds := Seeds(rng, nodes, b.options.BatchSize)
			start := time.Now()
			if err := b.stream.Sampler.Sample(ctx, seeds, rng, &batch); err != nil {
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
			if round == 0 {
				continue
			}
			steps, sampling = append(steps, milliseconds(time.Since(start))), append(sampling, milliseconds(drawn))
			r.Inputs += float64(len(batch.Inputs())) / float64(b.options.Batches)
			for _, block := range batch.Blocks {
				for _, i := range block.Dst {
					r.Entries += float64(d.Graph.Degree(int(i))+1) / float64(b.options.Batches)
				}
			}
		}
	}
	r.StepMS, r.SamplingMS = study.Median(steps), study.Median(sampling)
	return nil
}

// ownBytes returns the memory of this process beside mapped files, or of its heap if the
// system does not tell.
func ownBytes() uint64 {
	if own, ok := memory.Own(); ok {
		return own
	}
	return heapBytes()
}
