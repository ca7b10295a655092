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
	"github.com/gcn-layerwise/gcn/internal/finite"
	"github.com/gcn-layerwise/gcn/internal/full"
	"github.com/gcn-layerwise/gcn/internal/ranks"
	"github.com/gcn-layerwise/gcn/internal/rundir"
	"github.com/gcn-layerwise/gcn/layers"
	"github.com/gcn-layerwise/gcn/ops"
	"github.com/gcn-layerwise/gcn/samplers"
	"github.com/gcn-layerwise/gcn/score"
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
// being trained already, ErrRunExists if the folder holds another run, fs.ErrNotExist if
// the folder was moved or replaced, ErrCheckpoint if a file in the folder cannot be used.
//
// Fit needs memory for five values per parameter, beside the model and the batches. All
// goroutines have ended when Fit returns.
func Fit(ctx context.Context, m Model, d *datasets.Data, o Options) (*Result, error) {
	model, o, err := checked(m, d, o)
	if err != nil {
		return nil, err
	}
	if !model.Batch.TryLock() {
		return nil, ErrModelInUse
	}
	defer model.Batch.Unlock()
	program, err := compile(model)
	if err != nil {
		return nil, err
	}
	defer program.Close()
	compiled, err := compileWithout(model)
	if err != nil {
		return nil, err
	}
	nan, now := number(math.NaN()), time.Now()
	r := &run{
		model: model, data: d, options: o, program: program, full: compiled, stream: o.stream(model, d),
		state: runState{
			Seed:  o.Seed,
			Valid: nan,
			Best:  nan,
		}, out: Result{Test: math.NaN()}, start: now, saved: now, dirty: true, bestSaved: -1,
	}
	defer r.release()
	if err := r.prepareSum(); err != nil {
		return nil, err
	}
	if o.Group != nil {
		r.stream.lo, r.stream.hi = ranks.Range(o.Micro, o.Group.Rank(), o.Group.Size())
		model.Ranks = o.Group
	}
	if o.Partition != nil {
		if err := r.checkPartition(); err != nil {
			return nil, err
		}
		r.stream.held = 2 * r.own() // of the update that computes, and of the next one
		if o.Partition.HasGraph() {
			r.stream.rows = ranks.NewRounds(r.own())
			r.options.Workers = max(o.Workers, r.own()) // all of an update wait for a layer's rows together
		}
	}
	if o.Seeds != ops.NoScore {
		if err := r.preferSeeds(ctx); err != nil {
			return nil, err
		}
	}
	if r.stream.sampler, err = newSamplerSchedule(model, o); err != nil {
		return nil, err
	}
	if o.EdgeDropout > 0 && (model.Refresher != nil || r.stream.sampler != nil) {
		return nil, fmt.Errorf("train: Options.EdgeDropout with a control variate, or with a sampler that learns: both need all entries that were drawn")
	}
	if s := r.stream.sampler; s != nil {
		r.learners = append(r.learners, s)
	}
	if err := r.stream.Validate(); err != nil {
		return nil, err
	}
	if limit, _ := r.end(); o.Schedule.Cosine && limit == Unlimited {
		return nil, fmt.Errorf("train: a cosine schedule ends at the limit of batches: it needs MaxBatches or Epochs")
	}
	if err := r.open(ctx); err != nil {
		return nil, join(err, r.dir.close())
	}
	err = join(r.fit(ctx), r.dir.close())
	return r.result(), err
}

// checked returns the model, and the options with their defaults, or an error if a run cannot
// use its arguments.
func checked(m Model, d *datasets.Data, o Options) (*layers.Model, Options, error) {
	o = o.withDefaults()
	if err := o.validate(); err != nil {
		return nil, o, err
	}
	if err := checkData(d); err != nil {
		return nil, o, err
	}
	model, err := partsOf(m)
	return model, o, err
}

// run is one call of Fit.
type run struct {
	model   *layers.Model
	data    *datasets.Data
	options Options
	program *Program
	full    *full.Model // nil: the model has Inference
	stream  Stream
	update
	learners []learner
	config   map[string]any
	dir      *runDir

	state runState
	best  []float32 // parameters of the best score; nil before the first
	out   Result    // without what follows from state

	validSample, testSample *score.Sample // the nodes to score

	start     time.Time // of this call
	before    float64   // seconds of the run before this call
	saved     time.Time // of the last checkpoint
	dirty     bool      // the state changed since the last checkpoint
	bestSaved int       // batch of the parameters in best.ckpt; -1: unknown
	unsettled int       // batches whose losses Settle has not returned
}

// release undoes the settings that the run made in the model.
func (r *run) release() {
	for _, l := range r.learners {
		l.release()
	}
	if r.options.Group != nil {
		r.model.Ranks = nil
	}
}

// preferSeeds prepares batches by importance. It draws one, because some samplers do not go
// with them.
func (r *run) preferSeeds(ctx context.Context) error {
	targets, err := r.model.Batch.Targets(r.data.Labels)
	if err != nil {
		return fmt.Errorf("train: Options.Seeds: %w", err)
	}
	seeds, err := newSeedSchedule(r.options.Seeds, r.data.Split.Train, targets, r.options.SeedsEvery)
	if err != nil {
		return err
	}
	r.learners = append(r.learners, seeds)
	r.stream.Train, r.stream.seeds = seeds.nodes, seeds
	if err := r.stream.Validate(); err != nil {
		return err
	}
	first := Item{Blocks: new(samplers.MiniBatch)}
	newDrawer(&r.stream).draw(ctx, 0, &first)
	return first.err
}

// open makes the run's folder, if the options name one, and restores the state saved in
// it. Only rank 0 has a folder; the others get its state.
func (r *run) open(ctx context.Context) (err error) {
	if err := r.drawEvalSamples(); err != nil {
		return err
	}
	if r.options.Dir != "" || r.options.Group != nil {
		if r.config, err = r.configuration(); err != nil {
			return err
		}
	}
	if err := r.agree(ctx); err != nil {
		return err
	}
	switch {
	case !r.leads():
	case r.options.Dir != "":
		err = r.openDir()
	case r.options.Begin != nil:
		err = r.options.Begin()
	}
	if err != nil {
		return err
	}
	return r.follow(ctx)
}

// openDir opens the run's folder and restores the state saved in it. If openDir or Begin fails,
// the files in the folder are unchanged.
func (r *run) openDir() (err error) {
	o := r.options
	if r.dir, err = openRunDir(o.Dir, o); err != nil {
		return err
	}
	if len(r.dir.present) > 0 && !o.Overwrite {
		last, err := r.dir.last(r.config, r.data)
		if err == nil && last != nil {
			err = r.restore(r.dir.folder.Path(rundir.LastFile), last)
		}
		if err != nil {
			return err
		}
	}
	if o.Begin != nil {
		if err := o.Begin(); err != nil {
			return err
		}
	}
	return r.dir.begin(o, r.config, r.data, r.out.Evaluations)
}

// fit trains until a limit is reached, saves and tests.
func (r *run) fit(ctx context.Context) error {
	err := r.train(ctx)
	err = join(err, r.settle())
	err = join(err, r.program.Pull(true))
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
	s, o := &r.state, &r.options
	end, limit := r.end()
	own, last := r.own(), Unlimited
	if end <= Unlimited/own {
		last = end * own
	}
	loader, err := NewLoader(ctx, r.stream, o.Workers, s.Batch*own, last)
	if err != nil {
		return err
	}
	defer func() {
		loader.Close()
		r.fetcher.wait() // a fetch ends with the loader
	}()
	if r.next = loader.Next; o.Partition != nil {
		r.fetcher = &fetcher{
			partition: o.Partition,
			batch:     r.model.Batch,
			loader:    loader,
			own:       own,
			next:      s.Batch,
			end:       end,
		}
		r.next = r.fetcher.Next
	}
	if r.model.Refresher != nil && s.Batch < end && !r.refreshes() { // as the last refresh before the run was stopped
		if err := r.refresh(ctx, r.model.Refresher.Restore); err != nil {
			return err
		}
	}
	for {
		evaluated := s.Batch > s.Evaluated && (s.Batch%o.EvalEvery == 0 || s.Batch >= end)
		if evaluated {
			if err := r.evaluate(ctx); err != nil {
				return err
			}
			if time.Since(r.saved) >= o.CheckpointInterval {
				if err := r.save(); err != nil {
					return err
				}
			}
		}
		if s.Batch > r.out.Resumed {
			r.progress(end, evaluated)
		}
		switch {
		case s.Batch >= end:
			r.out.Stop = limit
			return nil
		case s.Evaluated == s.Batch && len(r.data.Split.Valid) > 0 && s.Batch-r.since() >= o.Patience:
			r.out.Stop = "patience"
			return nil
		}
		if r.refreshes() {
			if err := r.refresh(ctx, r.model.Refresher.Refresh); err != nil {
				return err
			}
		}
		if err := r.step(ctx); err != nil {
			return err
		}
	}
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
	if err := r.test(ctx); err != nil {
		copy(params, last)
		return err
	}
	if r.dir == nil {
		return nil
	}
	result := r.result()
	var contents any = result
	if r.options.Result != nil {
		contents = r.options.Result(result)
	}
	return named(r.dir.folder.WriteJSON(rundir.ResultFile, finite.JSON(contents)))
}

// test scores the test nodes, and compares the ranks' times.
func (r *run) test(ctx context.Context) (err error) {
	if g := r.options.Group; g != nil && g.Size() > 1 {
		if r.out.Imbalance, err = ranks.Imbalance(ctx, g, r.busy); err != nil {
			return err
		}
	}
	if len(r.testSample.Nodes) == 0 {
		return nil
	}
	e, err := r.score(ctx, r.testSample)
	if err != nil {
		return fmt.Errorf("train: test: %w", err)
	}
	r.out.Test, r.out.TestSE, r.out.Predicted = e.Score, e.StandardError, e.Predicted
	return nil
}

// own returns the number of an update's mini-batches that this rank computes.
func (r *run) own() int { return r.stream.hi - r.stream.lo }

// epoch returns the epoch of the last update's first batch.
func (r *run) epoch() int { return r.epochOf(r.state.Batch - 1) }

// epochOf returns the epoch of an update's first batch.
func (r *run) epochOf(update int) int { return update * r.options.Micro / r.stream.PerEpoch() }

// seconds returns the wall-clock time of the run, earlier calls included.
func (r *run) seconds() float64 { return r.before + time.Since(r.start).Seconds() }

func (r *run) progress(end int, evaluated bool) {
	if r.options.Progress == nil || !r.leads() {
		return
	}
	s := &r.state
	p := Progress{
		Batch: s.Batch, Epoch: r.epoch(), Valid: float64(s.Valid), Best: float64(s.Best), BestBatch: s.BestBatch,
		Evaluated: evaluated, Elapsed: time.Duration(r.seconds() * float64(time.Second)),
	}
	switch since := s.Batch - r.unsettled - s.Evaluated; {
	case since > 0:
		p.Loss = float64(s.LossSum) / float64(since)
	case len(r.out.Evaluations) > 0:
		p.Loss = r.out.Evaluations[len(r.out.Evaluations)-1].Loss
	default:
		p.Loss = math.NaN() // the first steps are still queued on the GPU
	}
	if end != Unlimited {
		p.MaxBatches = end
		perBatch := time.Since(r.start) / time.Duration(s.Batch-r.out.Resumed)
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
