package train

import (
	"context"
	"fmt"
	"io"
	"math"
	"runtime"
	"runtime/metrics"
	"slices"
	"time"

	"github.com/gcn-layerwise/gcn/datasets"
	"github.com/gcn-layerwise/gcn/internal/blas"
	"github.com/gcn-layerwise/gcn/ops"
	"github.com/gcn-layerwise/gcn/samplers"
)

// BenchOptions is what BenchStep measures. The zero value is the paper's
// protocol: 150 batches of 512, the first and last 20 left out.
type BenchOptions struct {
	Batches   int    // 0 means 150
	Discard   int    // first and last batches left out; 0 means 20, negative none
	BatchSize int    // 0 means 512
	Workers   int    // of the pipelined measurement; 0 means GOMAXPROCS
	Seed      uint64 // of the batches
	Adam      Adam
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

// BenchStep measures training steps of m on d. They move its parameters. The
// error is the context's if that ends first.
func BenchStep(ctx context.Context, m Model, d *datasets.Data, o BenchOptions) (StepReport, error) {
	if err := o.fill(); err != nil {
		return StepReport{}, err
	}
	if err := checkData(d); err != nil {
		return StepReport{}, err
	}
	backend, err := blas.Default()
	if err != nil {
		return StepReport{}, err
	}
	if err := m.lock(); err != nil {
		return StepReport{}, err
	}
	defer m.Batch.Unlock()
	program, err := compile(m)
	if err != nil {
		return StepReport{}, err
	}
	defer program.Close()
	b := &stepBench{
		options: o, program: program, floor: floor{backend: backend},
		stream: Stream{Sampler: m.Batch.Sampler(), Train: d.Split.Train, BatchSize: o.BatchSize, BatchesPerEpoch: 10, Seed: o.Seed},
	}
	if err := b.stream.Validate(); err != nil {
		return StepReport{}, err
	}
	name := backend.Name()
	if m.Device != nil {
		name = "cuBLAS"
	}
	report := StepReport{BLAS: name, Threads: backend.Threads(), Workers: o.Workers, Parameters: len(program.Parameters())}
	if err := b.alone(ctx, &report); err != nil {
		return StepReport{}, err
	}
	const passes = 3 // the median of them: one hiccup of the machine spoils a pass
	var pipelined []float64
	for range passes {
		before := m.deviceCounts()
		ms, err := b.pipelined(ctx)
		if err != nil {
			return StepReport{}, err
		}
		pipelined = append(pipelined, ms)
		report.count(before, m.deviceCounts(), o.Batches)
	}
	report.PipelinedMS = median(pipelined)
	return report, nil
}

// fill sets o's zero fields to their defaults.
func (o *BenchOptions) fill() error {
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
		return fmt.Errorf("train: %d batches, of which the first and last %d do not count", o.Batches, o.Discard)
	}
	if o.Workers < 0 {
		return fmt.Errorf("train: %d workers, want positive", o.Workers)
	}
	return o.Adam.Validate()
}

type stepBench struct {
	options BenchOptions
	program *Program
	stream  Stream
	adam    AdamState
	floor   floor

	unsettled int // steps since the last settlement
}

func (b *stepBench) step(item *Item) error {
	_, _, err := b.program.advance(item.Blocks, item.Dropout, b.options.Adam, &b.adam)
	if err == nil {
		b.program.model.Batch.Commit()
		if b.unsettled++; b.unsettled == lossesKept {
			err = b.settle()
		}
	}
	if err != nil {
		return fmt.Errorf("train: batch %d: %w", item.Index, err)
	}
	return nil
}

// settle waits for the steps that were only queued.
func (b *stepBench) settle() error {
	b.unsettled = 0
	_, err := b.program.settle(&b.adam)
	return err
}

// alone measures sampling, step and floor one after the other, and what a step
// allocates.
func (b *stepBench) alone(ctx context.Context, report *StepReport) error {
	drawer := newDrawer(&b.stream)
	item := &Item{Blocks: new(samplers.Batch)}
	var steps, floors, sampling []float64
	for k := range b.options.Batches {
		if err := ctx.Err(); err != nil {
			return err
		}
		drawer.draw(ctx, k, item)
		if item.err != nil {
			return item.err
		}
		start := time.Now()
		if err := b.step(item); err != nil {
			return err
		}
		if err := b.settle(); err != nil {
			return err
		}
		step := time.Since(start)
		floor, err := b.products()
		if err != nil {
			return err
		}
		if k < b.options.Discard || k >= b.options.Batches-b.options.Discard {
			continue
		}
		sampling = append(sampling, milliseconds(item.Sampling))
		steps = append(steps, milliseconds(step))
		floors = append(floors, milliseconds(floor))
	}
	report.Batches = len(steps)
	report.MedianMS, report.FloorMS, report.SamplingMedianMS = median(steps), median(floors), median(sampling)
	report.MeanMS, report.SDMS = meanAndDeviation(steps)
	report.RatioToFloor = report.MedianMS / report.FloorMS

	const repeats = 20
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for range repeats {
		if err := b.step(item); err != nil {
			return err
		}
	}
	runtime.ReadMemStats(&after)
	report.BytesPerStep = float64(after.TotalAlloc-before.TotalAlloc) / repeats
	report.AllocsPerStep = float64(after.Mallocs-before.Mallocs) / repeats
	return nil
}

// products returns the time of the last step's dense products alone.
func (b *stepBench) products() (time.Duration, error) {
	if e := b.program.engine; e != nil {
		start := time.Now()
		if err := e.repeat(e.products()); err != nil {
			return 0, err
		}
		err := e.sync()
		return time.Since(start), err
	}
	products := ops.DenseProducts(b.program.step.nodes())
	b.floor.prepare(products)
	start := time.Now()
	b.floor.run(products)
	return time.Since(start), nil
}

// pipelined returns the wall clock of a batch with workers sampling ahead, over
// one pass of the batches.
func (b *stepBench) pipelined(ctx context.Context) (ms float64, err error) {
	loader, err := NewLoader(ctx, b.stream, b.options.Workers, 0, b.options.Batches)
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
		if err := b.step(item); err != nil {
			return 0, err
		}
	}
}

// floor repeats dense products on matrices of its own.
type floor struct {
	backend blas.BLAS
	a, b, c []float32
}

// prepare makes the matrices large enough, so that run only multiplies.
func (f *floor) prepare(products []ops.DenseProduct) {
	for _, p := range products {
		f.a = filled(f.a, p.M*p.K)
		f.b = filled(f.b, p.K*p.N)
		f.c = filled(f.c, p.M*p.N)
	}
}

func (f *floor) run(products []ops.DenseProduct) {
	for _, p := range products {
		lda, ldb := p.K, p.N
		if p.TransA {
			lda = p.M
		}
		if p.TransB {
			ldb = p.K
		}
		f.backend.Sgemm(p.TransA, p.TransB, p.M, p.N, p.K, 1, f.a, lda, f.b, ldb, 0, f.c, p.N)
	}
}

// filled returns s with at least n values, none of them zero or large.
func filled(s []float32, n int) []float32 {
	for len(s) < n {
		s = append(s, 1/float32(len(s)%7+1))
	}
	return s
}

// InferReport is the cost of full-neighbour inference over all nodes. The JSON
// names are those of "gcn bench infer".
type InferReport struct {
	MS          float64 `json:"ms"` // median
	NodesPerS   float64 `json:"nodes_per_s"`
	HeapMB      float64 `json:"heap_mb"` // most at a time above what was there before, garbage included
	Nodes       int     `json:"nodes"`
	Repetitions int     `json:"repetitions"`
}

// BenchInfer measures inference of m over all nodes of d, the given number of
// times after one that does not count; 0 means 5.
func BenchInfer(ctx context.Context, m Model, d *datasets.Data, repetitions int) (InferReport, error) {
	if repetitions <= 0 {
		repetitions = 5
	}
	if err := checkData(d); err != nil {
		return InferReport{}, err
	}
	d.Laplacian() // made once, whoever asks first
	nodes := make([]int32, d.Nodes())
	for i := range nodes {
		nodes[i] = int32(i)
	}
	runtime.GC()
	watch := watchHeap()
	defer watch.end()
	var times []float64
	for k := range repetitions + 1 {
		runtime.GC() // so that the heap holds one inference's garbage at most
		start := time.Now()
		if _, err := Predict(ctx, m, d, nodes); err != nil {
			return InferReport{}, err
		}
		if k > 0 {
			times = append(times, milliseconds(time.Since(start)))
		}
	}
	ms := median(times)
	return InferReport{
		MS: ms, NodesPerS: float64(len(nodes)) / ms * 1000, HeapMB: float64(watch.end()) / 1e6,
		Nodes: len(nodes), Repetitions: repetitions,
	}, nil
}

// heapWatch reads the size of the heap every millisecond until its end.
type heapWatch struct {
	before, most uint64
	stop, done   chan struct{}
}

func watchHeap() *heapWatch {
	w := &heapWatch{before: heapBytes(), stop: make(chan struct{}), done: make(chan struct{})}
	w.most = w.before
	go func() {
		defer close(w.done)
		tick := time.NewTicker(time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				w.most = max(w.most, heapBytes())
			case <-w.stop:
				return
			}
		}
	}()
	return w
}

// end stops the watch, waits for it, and returns by how many bytes the heap
// grew. Later calls return the same.
func (w *heapWatch) end() uint64 {
	select {
	case <-w.done:
	default:
		close(w.stop)
		<-w.done
	}
	return w.most - w.before
}

func heapBytes() uint64 {
	sample := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

func median(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	n := len(sorted)
	if n%2 == 0 {
		return (sorted[n/2-1] + sorted[n/2]) / 2
	}
	return sorted[n/2]
}

func meanAndDeviation(values []float64) (mean, deviation float64) {
	for _, v := range values {
		mean += v
	}
	mean /= float64(len(values))
	for _, v := range values {
		deviation += (v - mean) * (v - mean)
	}
	if len(values) < 2 {
		return mean, 0
	}
	return mean, math.Sqrt(deviation / float64(len(values)-1))
}
