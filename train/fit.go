package train

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/gcn-layerwise/gcn/datasets"
	"github.com/gcn-layerwise/gcn/internal/memory"
	"github.com/gcn-layerwise/gcn/layers"
	"github.com/gcn-layerwise/gcn/ops"
	"github.com/gcn-layerwise/gcn/samplers"
)

// Fit trains m on d. It leaves the parameters with the best validation score in m, and
// returns their test score in the Result.
//
// o.Workers goroutines draw batches ahead with the model's sampler. Every o.EvalEvery
// batches, and after the last batch, Fit scores all validation nodes over full
// neighbourhoods. Without validation nodes nothing stops early, and the last parameters
// count as the best.
//
// Equal seeds and starting parameters give equal bits, for any number of workers and
// cores, and for a run that was stopped and resumed any number of times; only times
// differ.
//
// On cancellation or failure Fit returns the Result so far and an error, which wraps
// the context's error if the context ended the run. The parameters in m are then from
// the last finished step, and with o.Dir a checkpoint of this step is on disk. If
// settings or data cannot work, the Result is nil, and nothing was trained or written.
// Errors wrap ErrNotFinite if the loss, a gradient or a score overflows, ErrModelInUse if m is
// being trained already, ErrRunExists if the folder holds another run, ErrRunMoved if
// the folder was moved or replaced (the run went on nevertheless), ErrCheckpoint if
// a file in the folder cannot be used.
//
// Fit needs memory for five values per parameter, beside the model and the batches. All
// goroutines have ended when Fit returns.
func Fit(ctx context.Context, m Model, d *datasets.Data, o Options) (*Result, error) {
	if ctx == nil {
		return nil, errNoContext
	}
	o = o.withDefaults()
	if err := o.validate(); err != nil {
		return nil, err
	}
	if err := checkData(d); err != nil {
		return nil, err
	}
	model, err := partsOf(m)
	if err != nil {
		return nil, err
	}
	if err := lock(model); err != nil {
		return nil, err
	}
	defer model.Batch.Unlock()
	params, err := parametersOf(model)
	if err != nil {
		return nil, err
	}
	const bytesPerParameter = 5 * 4
	if err := memory.Check("train: parameters, gradients, Adam's moments and the best parameters", bytesPerParameter*int64(parameterCount(params))); err != nil {
		return nil, err
	}
	program, err := compile(model)
	if err != nil {
		return nil, err
	}
	defer program.Close()
	r := &run{
		model: model, data: d, options: o, program: program,
		stream: o.stream(model, d), ranks: ranks{group: o.Group}, start: time.Now(),
	}
	if o.Group != nil {
		r.stream.Rank, r.stream.Ranks = o.Group.Rank(), o.Group.Size()
	}
	if err := r.ranks.prepare(r); err != nil {
		return nil, err
	}
	if o.Partition != nil {
		if err := o.Partition.check(r); err != nil {
			return nil, err
		}
		lo, hi := r.stream.Share()
		r.stream.held = 2 * (hi - lo) // of the update that computes, and of the next one
		if o.Partition.adjacency != nil {
			r.stream.rows = newRowRounds(hi - lo)
			r.options.Workers = max(o.Workers, hi-lo) // all of an update wait for a layer's rows together
		}
	}
	if o.Group != nil {
		model.Ranks = o.Group
		defer func() { model.Ranks = nil }()
	}
	if o.Seeds != nil {
		if err := r.preferSeeds(ctx); err != nil {
			return nil, err
		}
		defer r.targets.Observe(ops.NoScore)
	}
	if r.sampler, err = newSamplerSchedule(model, o); err != nil {
		return nil, err
	}
	if r.sampler != nil {
		r.stream.sampler = r.sampler
		r.sampler.slot.ObserveNorms(true)
		defer r.sampler.slot.ObserveNorms(false)
	}
	if err := r.stream.Validate(); err != nil {
		return nil, err
	}
	limit, _ := r.end()
	if err := o.Schedule.validate(limit); err != nil {
		return nil, err
	}
	r.begin()
	if err := r.open(ctx); err != nil {
		return nil, err
	}
	err = join(r.fit(ctx), r.dir.close())
	return r.result(), err
}

// run is one call of Fit.
type run struct {
	model   *layers.Model
	data    *datasets.Data
	options Options
	program *Program
	stream  Stream
	ranks   ranks
	seeds   *seedSchedule    // nil: uniform batches
	targets *ops.Targets     // nil with uniform batches
	sampler *samplerSchedule // nil: the sampler does not learn
	config  map[string]any
	dir     *runDir

	state        runState
	adam         AdamState
	best         []float32 // parameters of the best score; nil before the first
	evaluations  []Evaluation
	resumed      int // batch that this call started from
	test, testSE float64
	stop         string

	validSample, testSample *EvalSample // the nodes to score

	refreshed int // the batch of a refresh that joined an evaluation

	start     time.Time // of this call
	before    float64   // seconds of the run before this call
	saved     time.Time // of the last checkpoint
	dirty     bool      // the state changed since the last checkpoint
	bestSaved int       // batch of the parameters in best.ckpt; -1: unknown
	unsettled int       // batches whose losses Settle has not returned
}

// preferSeeds prepares batches by importance. It draws one, because some samplers do not go
// with them.
func (r *run) preferSeeds(ctx context.Context) (err error) {
	if r.targets, err = r.model.Batch.Targets(r.data.Labels); err != nil {
		return fmt.Errorf("train: Options.Seeds: %w", err)
	}
	r.seeds, err = newSeedSchedule(r.options.Seeds, r.data.Split.Train, r.data.Labels, r.options.SeedsEvery)
	if err != nil {
		return err
	}
	r.targets.Observe(r.options.Seeds.Score())
	r.stream.Train, r.stream.seeds = r.seeds.nodes, r.seeds
	if err := r.stream.Validate(); err != nil {
		return err
	}
	first := Item{Blocks: new(samplers.MiniBatch)}
	newDrawer(&r.stream).draw(ctx, 0, &first)
	return first.err
}

// begin sets the state before the first batch.
func (r *run) begin() {
	nan := number(math.NaN())
	r.state = runState{Seed: r.options.Seed, Valid: nan, Best: nan}
	size := len(r.program.Parameters())
	r.adam = AdamState{M: make([]float32, size), V: make([]float32, size)}
	r.test = math.NaN()
	r.saved, r.dirty, r.bestSaved, r.refreshed = time.Now(), true, -1, -1
}

// open makes the run's folder, if the options name one, and restores the state saved in
// it. Only rank 0 has a folder; the others get its state.
func (r *run) open(ctx context.Context) (err error) {
	if err := r.drawEvalSamples(); err != nil {
		return err
	}
	if err := r.checkBound(); err != nil {
		return err
	}
	if r.options.Dir != "" || r.options.Group != nil {
		if r.config, err = r.configuration(); err != nil {
			return err
		}
	}
	if err := r.ranks.agree(ctx, r.config); err != nil {
		return err
	}
	switch {
	case !r.ranks.leads():
	case r.options.Dir != "":
		r.dir, err = openRunDir(r.options.Dir, r.options, r.config, r.restore)
	case r.options.Begin != nil:
		err = r.options.Begin()
	}
	if err != nil {
		return err
	}
	if err := r.follow(ctx); err != nil {
		return join(err, r.dir.close())
	}
	return nil
}

// fit trains until a limit is reached, saves and tests.
func (r *run) fit(ctx context.Context) error {
	err := r.train(ctx)
	err = join(err, r.settle())
	err = join(err, r.program.Pull(&r.adam))
	if err == nil || r.state.Batch > 0 {
		err = join(err, r.save())
	}
	if err == nil {
		err = r.conclude(ctx)
	}
	if err != nil && errors.Is(err, ctx.Err()) {
		err = fmt.Errorf("train: stopped after batch %d: %w", r.state.Batch, err)
	}
	return err
}

// end returns the largest number of batches that the limits allow, and the limit's name.
func (r *run) end() (batches int, limit string) {
	if batches := r.options.epochBatches(r.stream.PerEpoch()); batches <= r.options.MaxBatches && r.options.Epochs != Unlimited {
		return batches, "epochs"
	}
	return r.options.MaxBatches, "max-batches"
}

// train steps until a limit is reached.
func (r *run) train(ctx context.Context) error {
	end, limit := r.end()
	lo, hi := r.stream.Share()
	own := hi - lo // mini-batches of an update
	last := Unlimited
	if end <= Unlimited/own {
		last = end * own
	}
	loader, err := NewLoader(ctx, r.stream, r.options.Workers, r.state.Batch*own, last)
	if err != nil {
		return err
	}
	defer loader.Close()
	s := &r.state
	if r.options.Partition != nil {
		var cancel context.CancelFunc
		ctx, cancel = context.WithCancel(ctx)
		r.ranks.fetcher = &fetcher{partition: r.options.Partition, batch: r.model.Batch, loader: loader, own: own, next: s.Batch, end: end}
		if r.stream.rows != nil {
			r.ranks.fetcher.layers = r.stream.Sampler.Layers()
		}
		defer r.ranks.fetcher.wait()
		defer cancel()
	}
	if err := r.restoreHistories(ctx); err != nil {
		return err
	}
	for {
		evaluated := s.Batch > s.Evaluated && (s.Batch%r.options.EvalEvery == 0 || s.Batch >= end)
		if evaluated {
			if err := r.evaluate(ctx); err != nil {
				return err
			}
			if interval := r.options.CheckpointInterval; time.Since(r.saved) >= interval {
				if err := r.save(); err != nil {
					return err
				}
			}
		}
		if s.Batch > r.resumed {
			r.progress(end, evaluated)
		}
		switch {
		case s.Batch >= end:
			r.stop = limit
			return nil
		case s.Evaluated == s.Batch && len(r.data.Split.Valid) > 0 && s.Batch-s.BestBatch >= r.options.Patience:
			r.stop = "patience"
			return nil
		}
		if err := r.refresh(ctx); err != nil {
			return err
		}
		step := r.step
		if r.ranks.values != nil {
			step = r.accumulate
		}
		if err := step(ctx, loader); err != nil {
			return err
		}
	}
}

// step trains on the next batch.
func (r *run) step(_ context.Context, loader *Loader) error {
	s := &r.state
	r.dirty = true
	start := time.Now()
	item, err := loader.Next()
	if err != nil {
		return err
	}
	ready := time.Now()
	if err := r.program.advance(item.Blocks, item.Dropout, r.scheduled(), &r.adam); err != nil {
		return r.failed(s.Batch, err)
	}
	s.Batch++
	s.AdamSteps = r.adam.Steps
	s.WaitSeconds += ready.Sub(start).Seconds()
	s.TrainSeconds += time.Since(ready).Seconds()
	s.SamplingSeconds += item.Sampling.Seconds()
	if r.unsettled++; r.unsettled == r.program.Depth() || r.seeds != nil || r.sampler != nil {
		if err := r.settle(); err != nil {
			return err
		}
	}
	if r.seeds != nil {
		if err := r.seeds.observe(item.drawn.Index, r.targets.Scores(), s.Batch); err != nil {
			return err
		}
	}
	if r.sampler != nil {
		if err := r.sampler.observe(item.Blocks, s.Batch); err != nil {
			return err
		}
	}
	r.model.Batch.Commit() // a queued step may still fail: settle then returns the error
	return nil
}

// failed adds the number of the update to err, and advice if numbers overflowed.
func (r *run) failed(update int, err error) error {
	name := "batch"
	if r.options.Micro > 1 {
		name = "update"
	}
	err = fmt.Errorf("train: %s %d (epoch %d): %w", name, update, r.epochOf(update), err)
	switch {
	case errors.Is(err, ErrNotFinite) && update == 0: // before any step, so the step size is not the cause
		err = fmt.Errorf("%w; features or starting parameters are too large: scale them, as normalize=standardize does", err)
	case errors.Is(err, ErrNotFinite):
		err = fmt.Errorf("%w; try a smaller step size than %v", err, r.options.Adam.LR)
	}
	return err
}

// settle waits for the queued steps, and adds their losses to the state.
func (r *run) settle() error {
	if r.unsettled == 0 {
		return nil
	}
	start := time.Now()
	s := &r.state
	losses, err := r.program.Settle(&r.adam)
	for _, loss := range losses {
		s.LossSum += number(loss)
	}
	first := s.Batch - r.unsettled
	r.unsettled = 0
	s.TrainSeconds += time.Since(start).Seconds()
	if err != nil {
		s.Batch, s.AdamSteps = first+len(losses), r.adam.Steps
		return r.failed(s.Batch, err)
	}
	return nil
}

// conclude puts the best parameters into the model, tests them and writes the
// result. If the test fails, it puts the last step's parameters back.
func (r *run) conclude(ctx context.Context) error {
	params := r.program.Parameters()
	r.program.ahead = false // use the parameters on the host from now on
	last := slices.Clone(params)
	if r.best != nil {
		copy(params, r.best)
	}
	if err := r.ranks.balance(ctx); err != nil {
		copy(params, last)
		return err
	}
	if len(r.testSample.Nodes) > 0 {
		estimate, err := r.score(ctx, r.testSample)
		if err != nil {
			copy(params, last)
			return fmt.Errorf("train: test: %w", err)
		}
		r.test, r.testSE = estimate.Score, estimate.StandardError
	}
	if r.dir == nil {
		return nil
	}
	result := r.result()
	if r.options.Result != nil {
		return r.dir.writeJSON(resultFile, r.options.Result(result))
	}
	return r.dir.writeJSON(resultFile, result.json(r.options.Seed))
}

// epoch returns the epoch of the last update's first batch.
func (r *run) epoch() int { return r.epochOf(r.state.Batch - 1) }

// epochOf returns the epoch of an update's first batch.
func (r *run) epochOf(update int) int { return update * r.options.Micro / r.stream.PerEpoch() }

// seconds returns the wall-clock time of the run, earlier calls included.
func (r *run) seconds() float64 { return r.before + time.Since(r.start).Seconds() }

func (r *run) progress(end int, evaluated bool) {
	if r.options.Progress == nil || !r.ranks.leads() {
		return
	}
	s := &r.state
	p := Progress{
		Batch: s.Batch, Valid: float64(s.Valid), Best: float64(s.Best), BestBatch: s.BestBatch,
		Evaluated: evaluated, Elapsed: time.Duration(r.seconds() * float64(time.Second)),
	}
	p.Epoch = r.epoch()
	switch since := s.Batch - r.unsettled - s.Evaluated; {
	case since > 0:
		p.Loss = float64(s.LossSum) / float64(since)
	case len(r.evaluations) > 0:
		p.Loss = r.evaluations[len(r.evaluations)-1].Loss
	default:
		p.Loss = math.NaN() // the first steps are still queued on the GPU
	}
	if end != Unlimited {
		p.MaxBatches = end
		perBatch := time.Since(r.start) / time.Duration(s.Batch-r.resumed)
		p.Left = perBatch * time.Duration(end-s.Batch)
	}
	r.options.Progress(p)
}

// join is errors.Join with one line of text. It leaves out the second error if the first
// contains its text: on a full disk, for example, two writes fail alike.
func join(first, second error) error {
	switch {
	case first == nil:
		return second
	case second == nil || strings.Contains(first.Error(), second.Error()):
		return first
	}
	return fmt.Errorf("%w; then %w", first, second)
}
