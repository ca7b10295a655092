package train

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/gcn-layerwise/gcn/datasets"
	"github.com/gcn-layerwise/gcn/internal/describe"
	"github.com/gcn-layerwise/gcn/internal/memory"
	"github.com/gcn-layerwise/gcn/internal/rundir"
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

// checkData returns an error if d cannot be trained on. It checks less than
// datasets.Open, which validates all data.
func checkData(d *datasets.Data) error {
	if err := checkParts(d); err != nil {
		return err
	}
	n := d.Nodes()
	if len(d.Split.Train) == 0 {
		return fmt.Errorf("train: the training set is empty")
	}
	for _, part := range []struct {
		name   string
		nodes  []int32
		scored bool
	}{{"training", d.Split.Train, false}, {"validation", d.Split.Valid, true}, {"test", d.Split.Test, true}} {
		for k, node := range part.nodes {
			if node < 0 || int(node) >= n {
				return fmt.Errorf("train: %s node %d is %d, outside [0, %d)", part.name, k, node, n)
			}
		}
		if part.scored && len(part.nodes) > 0 {
			if err := scorable(d.Metric, d.Labels, part.nodes); err != nil {
				return fmt.Errorf("%w: the %s nodes need another split or metric", err, part.name)
			}
		}
	}
	return nil
}

// checkParts returns an error if a part of d is missing, or if sizes do not agree.
func checkParts(d *datasets.Data) error {
	if d == nil || d.Graph == nil || d.Features == nil || d.Labels == nil {
		return fmt.Errorf("train: data without a graph, features or labels")
	}
	if n := d.Nodes(); d.Labels.Nodes() != n || d.Features.Rows != n {
		return fmt.Errorf("train: graph of %d nodes, features of %d, labels of %d", n, d.Features.Rows, d.Labels.Nodes())
	}
	return nil
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

// states returns the state of the run beside the parameters: the model's, the seeds' and the
// sampler's.
func (r *run) states() []layers.State {
	return slices.Concat(r.model.Batch.State(), r.seeds.state(), r.sampler.state())
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

// drawEvalSamples chooses the nodes to score.
func (r *run) drawEvalSamples() (err error) {
	d, o := r.data, r.options
	if r.validSample, err = NewEvalSample(d.Metric, d.Labels, d.Split.Valid, o.EvalSamples, o.Seed, ValidPart); err == nil {
		r.testSample, err = NewEvalSample(d.Metric, d.Labels, d.Split.Test, o.EvalSamples, o.Seed, TestPart)
	}
	return err
}

// checkBound returns an error if the bound of the model's inference is too small for a score.
func (r *run) checkBound() error {
	m, ok := r.model.Inference.(*layers.GCN)
	if !ok {
		return nil
	}
	for _, s := range []*EvalSample{r.validSample, r.testSample} {
		if len(s.Nodes) == 0 {
			continue
		}
		if err := m.CheckBound(r.data.Laplacian(), r.data.Features, s.Nodes); err != nil {
			return fmt.Errorf("train: evaluation: %w", err)
		}
	}
	return nil
}

// configuration returns the contents of config.json. Its names are the flags' names, and
// 0 has the same meaning as in a flag.
func (r *run) configuration() (config map[string]any, err error) {
	o := r.options
	batchesPerEpoch := o.BatchesPerEpoch
	if batchesPerEpoch == OnePass {
		batchesPerEpoch = 0
	}
	limit := func(n int) int {
		if n == Unlimited {
			return 0
		}
		return n
	}
	config = map[string]any{
		"batch": o.Batch, "batches_per_epoch": batchesPerEpoch,
		"max_batches": limit(o.MaxBatches), "epochs": limit(o.Epochs), "patience": limit(o.Patience),
		"eval_every": o.EvalEvery, "seed": o.Seed,
		"lr": o.Adam.LR, "beta1": o.Adam.Beta1, "beta2": o.Adam.Beta2, "epsilon": o.Adam.Epsilon,
		"weight_decay": o.Adam.WeightDecay, "clip": o.Adam.Clip,
		"sampler": describe.Value(r.stream.Sampler),
	}
	maps.Copy(config, derivedConfiguration(r.program.params, r.data, r.fingerprint()))
	if o.Adam.DecoupledDecay { // absent from the runs of earlier programs, as the next
		config["decoupled_decay"] = true
	}
	r.describeSchedule(config)
	if o.EvalSamples > 0 {
		config["eval_samples"] = o.EvalSamples
	}
	if o.Micro > 1 {
		config["micro"] = o.Micro
	}
	if o.Seeds != nil { // runs without it have no such field
		config["seeds"], config["seeds_every"] = describe.Value(o.Seeds), o.SeedsEvery
	}
	if r.model.Refresher != nil {
		config["control_every"] = o.ControlEvery
	}
	return withConfig(config, o.Config)
}

// fingerprint returns the fingerprint of the data, of the whole if ranks hold parts of it.
func (r *run) fingerprint() string {
	if p := r.options.Partition; p != nil {
		return p.fingerprint
	}
	return Fingerprint(r.data)
}

// derivedConfiguration returns the fields of config.json that follow from the model and the
// data, which have the given fingerprint.
func derivedConfiguration(params []parameter, d *datasets.Data, fingerprint string) map[string]any {
	shapes := make([]string, len(params))
	for k, p := range params {
		shapes[k] = fmt.Sprintf("%s %v", p.Name, p.Shape)
	}
	config := map[string]any{"parameters": strings.Join(shapes, ", "), "metric": string(d.Metric), "fingerprint": fingerprint}
	if y := d.Labels; y.Tasks > 0 {
		config["tasks"] = y.Tasks
	} else {
		config["classes"] = y.Classes
	}
	if names := d.Labels.Names; names != nil && len(strings.Join(names, "")) <= mostNames {
		config["class_names"] = names
	}
	return config
}

// withConfig adds the caller's fields to config.
func withConfig(config, more map[string]any) (map[string]any, error) {
	for name, v := range more {
		_, taken := config[name]
		if today, _, kept := rundir.Field(more, name); taken || !kept || today != name {
			return nil, fmt.Errorf("train: field %q of Options.Config is, or was, one of Fit's own", name)
		}
		config[name] = v
	}
	config, err := rundir.ThroughJSON(config)
	if err != nil {
		return nil, fmt.Errorf("train: %w", err)
	}
	return config, nil
}

// mostNames is the greatest number of bytes of names of classes in a configuration.
const mostNames = 1 << 17

// restore sets the run's state from a checkpoint of the same configuration. path is for
// errors.
func (r *run) restore(path string, last *checkpoint, evaluations []Evaluation) error {
	bad := func(reason string) error {
		return fmt.Errorf("train: %s: %w: %s", path, ErrCheckpoint, reason)
	}
	metas := make([]parameterMeta, len(r.program.params))
	for k, p := range r.program.params {
		metas[k] = p.parameterMeta
	}
	if err := last.checkParameters(metas); err != nil {
		return bad(err.Error())
	}
	if err := last.checkFinite(sectionParameters); err != nil {
		return bad(err.Error())
	}
	states := r.states()
	if err := last.checkStates(states); err != nil {
		return bad(err.Error())
	}
	s := last.State
	m, v := last.sections[sectionMoment1], last.sections[sectionMoment2]
	switch {
	case m == nil || v == nil:
		return bad("Adam's state is missing")
	case s.Batch < 0 || s.Evaluated < 0 || s.Evaluated > s.Batch || s.BestBatch < 0 || s.BestBatch > s.Evaluated || s.AdamSteps < 0:
		return bad(fmt.Sprintf("its counts contradict each other: batch %d, evaluated %d, best %d", s.Batch, s.Evaluated, s.BestBatch))
	case s.Seed != r.options.Seed:
		return bad(fmt.Sprintf("its seed is %d, want %d", s.Seed, r.options.Seed))
	}
	copy(r.program.Parameters(), last.sections[sectionParameters])
	for k, state := range states {
		copy(state.Values, last.states[k])
	}
	r.state, r.best, r.evaluations = s, last.sections[sectionBest], evaluations
	r.adam = AdamState{Steps: s.AdamSteps, M: m, V: v}
	r.resumed, r.before = s.Batch, s.Seconds
	if r.seeds != nil {
		if err := r.seeds.resume(s.Batch); err != nil {
			return bad(err.Error())
		}
	}
	if r.sampler != nil {
		if err := r.sampler.resume(s.Batch); err != nil {
			return bad(err.Error())
		}
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

// refresh refreshes the histories of a control before every ControlEvery-th batch.
func (r *run) refresh(ctx context.Context) error {
	if !r.refreshes() || r.refreshed == r.state.Batch {
		return nil
	}
	return r.timeRefresh(ctx, r.model.Refresher.Refresh)
}

// refreshes reports whether the histories are refreshed before the next batch.
func (r *run) refreshes() bool {
	return r.model.Refresher != nil && r.state.Batch%r.options.ControlEvery == 0
}

// restoreHistories refreshes the histories of a resumed run as its last refresh did, unless
// they are refreshed now anyway.
func (r *run) restoreHistories(ctx context.Context) error {
	if r.model.Refresher == nil || r.refreshes() {
		return nil
	}
	return r.timeRefresh(ctx, r.model.Refresher.Restore)
}

func (r *run) timeRefresh(ctx context.Context, refresh func(context.Context) error) error {
	if err := r.settle(); err != nil {
		return err
	}
	start := time.Now()
	if err := r.program.Pull(nil); err != nil {
		return err
	}
	if err := refresh(ctx); err != nil {
		return fmt.Errorf("train: before batch %d: %w", r.state.Batch, err)
	}
	r.dirty = true
	r.state.RefreshSeconds += time.Since(start).Seconds()
	return nil
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

// evaluate scores the validation nodes and records the score. It changes the state last:
// a run that is stopped during an evaluation evaluates again when it is resumed.
func (r *run) evaluate(ctx context.Context) error {
	if err := r.settle(); err != nil {
		return err
	}
	start := time.Now()
	if err := r.program.Pull(nil); err != nil {
		return err
	}
	s := &r.state
	if err := r.ranks.sameParameters(ctx, r.program.Parameters(), s.Batch); err != nil {
		return err
	}
	e := Evaluation{Batch: s.Batch, Loss: float64(s.LossSum) / float64(s.Batch-s.Evaluated), Valid: math.NaN()}
	e.Epoch = r.epoch()
	if valid := r.validSample; len(valid.Nodes) > 0 {
		score := r.score
		if end, _ := r.end(); r.refreshes() && s.Batch < end {
			score = r.refreshAndScore
		}
		estimate, err := score(ctx, valid)
		if err != nil {
			err = fmt.Errorf("train: validation after batch %d: %w", s.Batch, err)
			if errors.Is(err, ErrNotFinite) {
				err = fmt.Errorf("%w; try a smaller step size than %v, or scale the features", err, r.options.Adam.LR)
			}
			return err
		}
		e.Valid, e.StandardError = estimate.Score, estimate.StandardError
	}
	e.Best = better(e.Valid, float64(s.Best))
	e.Seconds = r.seconds()
	if err := r.dir.appendMetrics(e); err != nil {
		return err
	}
	if e.Best {
		s.Best, s.BestBatch = number(e.Valid), s.Batch
		r.best = append(r.best[:0], r.program.Parameters()...)
	}
	s.Valid, s.Evaluated, s.LossSum = number(e.Valid), s.Batch, 0
	if r.dir != nil {
		s.MetricsBytes = r.dir.bytes
	}
	r.evaluations = append(r.evaluations, e)
	r.options.Schedule.fall(s)
	r.dirty = true
	s.EvalSeconds += time.Since(start).Seconds()
	return nil
}

func (r *run) score(ctx context.Context, s *EvalSample) (Estimate, error) {
	logits, err := predict(ctx, r.model, r.program, r.data, s.Nodes)
	if err != nil {
		return Estimate{}, err
	}
	return s.Score(r.data.Metric, logits, r.data.Labels)
}

// refreshAndScore is score together with the refresh that the next batch needs.
func (r *run) refreshAndScore(ctx context.Context, s *EvalSample) (Estimate, error) {
	logits, err := r.model.Refresher.RefreshInfer(ctx, s.Nodes)
	if err != nil {
		return Estimate{}, err
	}
	r.refreshed = r.state.Batch
	return s.Score(r.data.Metric, logits, r.data.Labels)
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

// save writes last.ckpt, and best.ckpt if the best score is new. It writes nothing if
// there is no folder, or if the state did not change.
func (r *run) save() error {
	r.saved = time.Now()
	if r.dir == nil || !r.dirty {
		return nil
	}
	if err := r.settle(); err != nil {
		return err
	}
	if err := r.program.Pull(&r.adam); err != nil {
		return err
	}
	last := r.last()
	s := last.State
	if s.Batch > r.resumed { // an old result.json describes an earlier end of the run
		if err := r.dir.dropResult(); err != nil {
			return err
		}
	}
	if err := r.dir.saveLast(last); err != nil {
		return err
	}
	r.dirty = false
	// best.ckpt comes after last.ckpt, so that it is never newer: a resumed run would
	// not know of it.
	if r.best == nil || r.bestSaved == s.BestBatch {
		return nil
	}
	// The state at the best score, not now: the file does not depend on when it is
	// written.
	s = runState{Seed: s.Seed, Batch: s.BestBatch, Evaluated: s.BestBatch, Valid: s.Best, Best: s.Best, BestBatch: s.BestBatch}
	best := r.checkpoint(s, map[string][]float32{sectionParameters: r.best})
	if err := r.dir.saveCheckpoint(bestFile, best); err != nil {
		return err
	}
	r.bestSaved = s.BestBatch
	return nil
}

// last returns a checkpoint of the run as it is now.
func (r *run) last() *checkpoint {
	s := r.state
	s.Seconds = r.seconds()
	last := r.checkpoint(s, map[string][]float32{
		sectionParameters: r.program.Parameters(),
		sectionMoment1:    r.adam.M,
		sectionMoment2:    r.adam.V,
	})
	if r.best != nil {
		last.sections[sectionBest] = r.best
		last.Sections = append(last.Sections, sectionBest)
	}
	last.addStates(r.states())
	return last
}

// checkpoint returns a checkpoint of the run's parameters with the given
// sections.
func (r *run) checkpoint(s runState, sections map[string][]float32) *checkpoint {
	c := &checkpoint{sections: sections}
	c.State, c.Config = s, r.config
	for _, p := range r.program.params {
		c.Parameters = append(c.Parameters, p.parameterMeta)
	}
	for _, name := range []string{sectionParameters, sectionMoment1, sectionMoment2} {
		if sections[name] != nil {
			c.Sections = append(c.Sections, name)
		}
	}
	return c
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

// result returns the Result so far.
func (r *run) result() *Result {
	s := &r.state
	state := r.model.Batch.StateBytes()
	for _, part := range slices.Concat(r.seeds.state(), r.sampler.state()) {
		state += 4 * int64(len(part.Values))
	}
	h := &Result{
		Batches: s.Batch, Best: float64(s.Best), BestBatch: s.BestBatch, Test: r.test,
		Evaluations: r.evaluations, Parameters: len(r.program.Parameters()), Stop: r.stop, Resumed: r.resumed,
		StateBytes: state,
		EvalS:      s.EvalSeconds, RefreshS: s.RefreshSeconds, WallS: r.seconds(),
	}
	if v := r.validSample; v != nil && v.Sampled() {
		h.ValidSample = len(v.Nodes)
		for _, e := range r.evaluations {
			if e.Batch == s.BestBatch {
				h.BestSE = e.StandardError
			}
		}
	}
	if t := r.testSample; t != nil && t.Sampled() {
		h.TestSample, h.TestSE = len(t.Nodes), r.testSE
	}
	if s.Batch > 0 {
		perBatch := 1000 / float64(s.Batch)
		h.TrainMS, h.SamplingMS, h.WaitMS = s.TrainSeconds*perBatch, s.SamplingSeconds*perBatch, s.WaitSeconds*perBatch
	}
	if n := s.Batch - r.resumed; n > 0 {
		h.CommMS = 1000 * r.ranks.seconds / float64(n)
		h.ExchangeBytes = float64(r.ranks.sent()) / float64(n)
	}
	h.Imbalance = r.ranks.imbalance
	return h
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
