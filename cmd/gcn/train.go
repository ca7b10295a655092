package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"
	"unicode"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/gcn-layerwise/gcn/datasets"
	"github.com/gcn-layerwise/gcn/internal/mpi"
	"github.com/gcn-layerwise/gcn/layers"
	"github.com/gcn-layerwise/gcn/train"
)

// outputOptions are the options of a run's folder and of the messages. A run's
// config.json does not hold them.
type outputOptions struct {
	Out       string
	Resume    bool
	Overwrite bool
	Interval  time.Duration
	Config    string
	Recipe    string
	JSON      bool
	Quiet     bool

	bound boundFlags
}

func (o *outputOptions) flags(fs *pflag.FlagSet) {
	fs.StringVar(&o.Out, "out", "", "the run's folder `DIR` (default: a new folder under runs/)")
	fs.BoolVar(&o.Resume, "resume", false, "continue the run in --out, or start it if there is none")
	fs.BoolVar(&o.Overwrite, "overwrite", false, "remove the run in --out, and start another")
	fs.DurationVar(&o.Interval, "checkpoint-interval", 2*time.Second, "least time between two checkpoints; 0: one after every evaluation")
	fs.StringVar(&o.Config, "config", "", "JSON `FILE` with defaults for the options above, such as a run's config.json; not for --resume and --overwrite")
	fs.StringVar(&o.Recipe, "recipe", "", "a published setting by `NAME` (gcn recipes lists them), or a file of options, for all options that neither the command line nor --config sets")
	fs.BoolVar(&o.JSON, "json", false, "print the result as one JSON object, last on standard output")
	fs.BoolVarP(&o.Quiet, "quiet", "q", false, "print no progress")
	o.bound.register(fs)
}

func newTrainCommand() *cobra.Command {
	var options trainOptions
	var output outputOptions
	cmd := &cobra.Command{
		Use:   "train",
		Short: "Train a model, test it and save it",
		Long: `Train a model, test it with the weights that did best on the validation nodes,
and save it in a folder: config.json (the options), metrics.jsonl (one line per
evaluation), best.ckpt, last.ckpt and result.json.

Equal options and seeds give equal weights, bit for bit, on the same kind of
machine with the same BLAS, for any --workers. An interrupted run (Ctrl-C, or a
crash) continues with --resume, and ends with the same weights as without the
interruption.`,
		Example: `  gcn train
  gcn train --data npy:mygraph --method ladies-flat-debiased --samples 512,1024
  gcn train --data synth:arxiv --runs 3 --json
  gcn train --data synth:arxiv --out runs/a --resume      # repeat until it is done
  gcn train --config runs/a/config.json --seed 2
  gcn train --recipe tuned-arxiv-gcn --data synth:arxiv
  gcn train --data store:papers.safetensors --eval-samples 5000 --memory 8GiB --scratch /fast/disk`,
		Args:        noArguments,
		Annotations: shared(),
	}
	fs := cmd.Flags()
	fs.SortFlags = false
	options.flags(fs)
	output.flags(fs)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		job := &trainJob{
			trainOptions: &options, outputOptions: &output, fs: fs, world: worldOf(cmd.Context()),
			stdout: cmd.OutOrStdout(), stderr: cmd.ErrOrStderr(),
		}
		return job.run(cmd.Context())
	}
	groupedHelp(cmd, trainGroups())
	complete(cmd, "method", methodNames)
	complete(cmd, "data", dataSpecs)
	complete(cmd, "recipe", recipeNames)
	return cmd
}

// trainJob is one execution of "gcn train".
type trainJob struct {
	*trainOptions
	*outputOptions
	fs             *pflag.FlagSet // knows the options on the command line
	world          *mpi.World     // nil: this process alone
	auto           bool           // --samples is auto
	partition      *train.Partition
	display        progress // of a run; nil: newProgress
	stdout, stderr io.Writer
}

func (j *trainJob) run(ctx context.Context) error {
	if err := j.agreeOnOptions(ctx); err != nil {
		return err
	}
	if _, err := j.bound.bound(j.Device); err != nil { // before the data are read
		return err
	}
	data, err := openData(ctx, j.Data)
	if err != nil {
		if j.Resume {
			err = ifMoved(err)
		}
		return err
	}
	if err := j.agreeOnSamples(ctx, data); err != nil {
		return err
	}
	if err := j.takePart(data); err != nil {
		return err
	}
	r, err := j.trainAll(ctx, data)
	if err != nil || r == nil { // only rank 0 has a result
		return err
	}
	if j.JSON {
		return printJSON(j.stdout, r)
	}
	return r.print(j.stdout)
}

// fillOptions takes the options that are not on the command line from --config, then from
// --recipe, then from the run to resume, and checks all options.
func (j *trainJob) fillOptions(ctx context.Context) error {
	switch {
	case j.Resume && j.Overwrite:
		return usagef("--resume and --overwrite exclude each other")
	case (j.Resume || j.Overwrite) && j.Out == "":
		return usagef("--resume and --overwrite need --out, the run's folder")
	}
	// A file may set these too, but not --resume and --overwrite.
	inFiles := []string{"out", "checkpoint-interval"}
	var given, saved *config
	var err error
	if j.Config != "" {
		if given, err = readConfig(ctx, j.Config); err != nil {
			return err
		}
		j.keepMethod(given)
		if err := given.apply(j.fs, inFiles...); err != nil {
			return err
		}
	}
	recipe, err := j.applyRecipe(ctx, inFiles...)
	if err != nil {
		return err
	}
	if j.Interval < 0 {
		return usagef("--checkpoint-interval %v: want at least 0", j.Interval)
	}
	switch taken := holdsRun(j.Out); {
	case taken && !j.Resume && !j.Overwrite:
		return takenError(j.Out)
	case taken && j.Resume:
		if saved, err = readConfig(ctx, j.Out); err != nil {
			return err
		}
		if err := saved.apply(j.fs); err != nil {
			return noUsage(err)
		}
		if err := j.tellCosine(saved); err != nil {
			return err
		}
		// The run has chosen values in place of auto.
		if j.EvalEvery == autoInterval {
			err = saved.set(j.fs, "eval-every")
		}
		if j.Auto {
			j.Auto = false // the method full has no samples
			err = cmp.Or(err, saved.set(j.fs, "samples"))
		}
		if err != nil {
			return noUsage(err)
		}
	}
	if option := j.chooseMethod(j.fs); option != "" && !j.Auto {
		j.say("%s: %s keeps no histories of activations with it, so the method is %s", option, defaultMethod, paperMethod)
	}
	if err := j.checkAuto(); err != nil {
		return err
	}
	if err = j.check(j.fs); err == nil {
		return j.checkHalf()
	}
	// If the wrong value is from a file, name the file.
	if saved != nil {
		if wrong := saved.check(); wrong != nil {
			return noUsage(wrong)
		}
	}
	for _, file := range []*config{given, recipe} {
		if file == nil {
			continue
		}
		if wrong := file.check(inFiles...); wrong != nil {
			return wrong
		}
	}
	return err
}

// fillAndWeigh is fillOptions for a command line of its own: the options of a new run must
// have an effect. A search may combine options so that one has none, and its runs may be
// resumed.
func (j *trainJob) fillAndWeigh(ctx context.Context) error {
	if err := j.fillOptions(ctx); err != nil || j.Resume && holdsRun(j.Out) {
		return err
	}
	// With a limit that was not asked for, the epochs would not be trained.
	if n := j.epochUpdates(); j.BatchesPerEpoch > 0 && j.MaxBatches > 0 && n > j.MaxBatches && !j.fs.Changed("max-batches") {
		unit := "mini-batches"
		if j.Micro > 1 {
			unit = fmt.Sprintf("updates of %d mini-batches", j.Micro)
		}
		return usagef("--epochs %d are %d %s, %d in an epoch, and --max-batches is %d: add --max-batches 0 for no limit", j.Epochs, n, unit, j.BatchesPerEpoch, j.MaxBatches)
	}
	return j.checkEffects()
}

// trainAll trains once, or with --runs several times.
func (j *trainJob) trainAll(ctx context.Context, data *datasets.Data) (*result, error) {
	if j.follows() {
		return nil, j.follow(ctx, data)
	}
	dir, method := j.Out, j.methodName()
	if dir == "" {
		var err error
		if dir, err = newRunDir(j.trainOptions, method, time.Now()); err != nil {
			return nil, err
		}
		defer os.Remove(dir) // removes the folder only if it is empty
	}
	j.say("%s: %s nodes, %s edges, %d features, metric %s", j.Data, thousands(int64(data.Nodes())),
		thousands(data.Edges()), data.Features.Cols, data.Metric)
	j.say("split: %s training, %s validation, %s test nodes", thousands(int64(len(data.Split.Train))),
		thousands(int64(len(data.Split.Valid))), thousands(int64(len(data.Split.Test))))
	for _, change := range data.Changes() {
		j.say("  %s", escape(change, ""))
	}
	seeds := fmt.Sprintf("seed %d", j.Seed)
	if j.Runs > 1 {
		seeds = fmt.Sprintf("seeds %d to %d", j.Seed, j.Seed+uint64(j.Runs-1))
	}
	j.say("%s, %s, in %s", methodText(method, j.Samples), seeds, dir)
	if len(j.unused) > 0 {
		why := "--method " + j.Method
		if j.fs.Changed("exact-input") {
			why = "--exact-input"
		}
		j.say("%s: the input is not sampled, so the last number of --samples, %s, is not used", why, j.unused.String())
	}
	if advice := blasAdvice(blasName()); advice != "" {
		j.say("%s", advice)
	}
	if x := data.Features; x.Sparse != nil {
		dense := megabytes(4 * int64(x.Rows) * int64(x.Cols))
		if j.ExactInput && data.Propagated == nil {
			j.say("--exact-input: P·X of sparse features is dense and takes %s", dense)
		}
		if j.Device != "cpu" {
			j.say("--device %s: the GPU holds the sparse features dense, in %s", j.Device, dense)
		}
	}
	show := dataOptions(ctx).Progress
	if j.Quiet {
		show = nil
	}
	if err := j.propagate(ctx, data, show); err != nil {
		return nil, err
	}
	if j.Runs == 1 {
		return j.trainOnce(ctx, data, dir, j.Seed, "", nil)
	}
	return j.trainSeveral(ctx, data, dir)
}

// trainOnce trains with one seed, in the given folder. It calls begin, if not nil, before
// it writes anything.
func (j *trainJob) trainOnce(ctx context.Context, data *datasets.Data, dir string, seed uint64, prefix string, begin func() error) (*result, error) {
	o := *j.trainOptions
	o.Seed = seed
	model, err := o.newModel(ctx, data)
	if err != nil {
		return nil, err
	}
	if model.Bound, err = j.bound.bound(o.Device); err != nil {
		return nil, err
	}
	if o.EvalEvery == autoInterval {
		if err := j.chooseInterval(ctx, model, data); err != nil {
			return nil, err
		}
		o.EvalEvery = j.EvalEvery
	}
	display := j.display
	if display == nil {
		display = newProgress(j.stderr, j.Quiet, prefix)
	}
	options := o.fitOptions()
	options.Dir, options.Resume, options.Overwrite = dir, j.Resume, j.Overwrite
	options.CheckpointInterval = max(j.Interval, 1) // 0 would mean the default
	options.Progress = display.show
	options.Config = o.runConfig()
	options.Begin = begin
	if j.world != nil && !j.dealsRuns() {
		options.Group, options.Partition = j.world, j.partition
	}
	if err := j.tellTraffic(ctx, model, options); err != nil {
		return nil, err
	}
	var r *result
	options.Result = func(history *train.Result) any {
		r = o.result(history, data, dir)
		if j.world != nil {
			r.Ranks, r.Hosts, r.CommMS, r.Imbalance = j.world.Size(), hosts(j.world), measured(history.CommMS), measured(history.Imbalance)
			r.ExchangeBytes = measured(history.ExchangeBytes)
			if j.partition != nil {
				most, whole := j.partition.MostBytes()
				r.Partition, r.HeldShare = j.Partition, measured(float64(most)/float64(whole))
			}
		}
		return r
	}
	history, err := train.Fit(ctx, model, data, options)
	display.finish()
	if err == nil && seed == j.Seed+uint64(j.Runs-1) && j.partition == nil {
		j.warnOfFewSamples(ctx, model, data)
		for _, hint := range o.hints(history, data, j.resumable(dir)) {
			j.say("%s", hint)
		}
	}
	if err != nil {
		if history != nil && ctx.Err() != nil && errors.Is(err, ctx.Err()) {
			err = j.interruption(err, dir, history.Batches)
		}
		return nil, err
	}
	return r, nil
}

// chooseInterval sets the number of batches between two evaluations, for this run and the
// runs after it.
func (j *trainJob) chooseInterval(ctx context.Context, model *layers.GCN, data *datasets.Data) error {
	interval, share, err := train.EvaluationInterval(ctx, model, data, j.fitOptions())
	if err != nil {
		return err
	}
	j.EvalEvery = evalInterval(interval)
	text := fmt.Sprintf("an evaluation every %d batches: about %.0f %% of the work", interval, 100*share)
	if share > 0.3 {
		text += ", because --eval-every auto takes at most a tenth of --max-batches and half of --patience"
	}
	j.say("%s", text)
	return nil
}

// resumable returns the folder to resume for a run in dir: of several runs, the folder of all.
func (j *trainJob) resumable(dir string) string {
	if j.Runs > 1 {
		return filepath.Dir(dir)
	}
	return dir
}

// interruption returns the error of a run that was interrupted after the given number of
// batches, with the command that continues it.
func (j *trainJob) interruption(err error, dir string, batches int) error {
	when := fmt.Sprintf("after %d batches", batches)
	if batches == 0 {
		when = "before the first batch"
	}
	var file *fs.PathError
	if errors.As(err, &file) { // the last checkpoint could not be written
		return interrupted{err, fmt.Sprintf("interrupted %s; not saved: %v", when, file)}
	}
	if batches > 0 {
		when += ", saved"
	}
	dir = j.resumable(dir)
	if errors.Is(err, train.ErrRunMoved) {
		return interrupted{err, fmt.Sprintf("interrupted %s; %s was moved or replaced: to go on, name its new place: gcn train --out DIR --resume", when, dir)}
	}
	return interrupted{err, fmt.Sprintf("interrupted %s; to go on: gcn train --out %s --resume", when, shellWord(dir))}
}

// result returns the result that the command prints and saves.
func (o *trainOptions) result(history *train.Result, data *datasets.Data, dir string) *result {
	conv := o.Conv
	if conv == convGCN {
		conv = ""
	}
	var input int64
	if o.exact != nil {
		input = o.exact.Bytes()
	}
	return &result{
		Conv: conv, Dataset: o.Data, Method: o.methodName(), Samples: o.Samples, ExactInput: o.ExactInput, Metric: string(data.Metric),
		BestValid: number(history.Best), Test: number(history.Test),
		Batches: history.Batches, BestBatch: history.BestBatch, Falls: history.Falls, Stop: history.Stop,
		Seed: o.Seed, Micro: o.Micro, Parameters: history.Parameters, StateBytes: history.StateBytes, InputBytes: input,
		TrainMS: measured(history.TrainMS), SamplingMS: measured(history.SamplingMS),
		WaitMS: measured(history.WaitMS), EvalS: measured(history.EvalS), RefreshS: measured(history.RefreshS), WallS: measured(history.WallS),
		PeakRSS: measured(peakRSS()), BLAS: blasName(), Device: o.Device, RunDir: dir,
		EvalSamples: o.EvalSamples, ValidSample: history.ValidSample, TestSample: history.TestSample,
		BestSE: number(history.BestSE), TestSE: number(history.TestSE),
	}
}

// interrupted is the error of a run that its context ended, with a message for the user
// in place of the error's text.
type interrupted struct {
	error
	message string
}

func (e interrupted) Error() string { return e.message }
func (e interrupted) Unwrap() error { return e.error }

// shellWord quotes a word for a shell if necessary.
func shellWord(word string) string {
	if word != "" && strings.IndexFunc(word, func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("-_./:=,", r)
	}) < 0 {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

// fitOptions returns the options of Fit. There 0 means the default, so a flag's 0 becomes
// Unlimited or OnePass.
func (o *trainOptions) fitOptions() train.Options {
	return train.Options{
		Adam: train.Adam{
			LR: o.LR, Beta1: o.Beta1, Beta2: o.Beta2, Epsilon: o.Epsilon, WeightDecay: o.WeightDecay, Clip: o.Clip,
			DecoupledDecay: o.DecoupledDecay,
		},
		Schedule: o.schedule(),
		Batch:    o.Batch, Micro: o.Micro, BatchesPerEpoch: cmp.Or(o.BatchesPerEpoch, train.OnePass),
		MaxBatches: cmp.Or(o.MaxBatches, train.Unlimited), Epochs: cmp.Or(o.Epochs, train.Unlimited),
		EvalEvery: max(int(o.EvalEvery), 0), Patience: cmp.Or(o.Patience, train.Unlimited),
		EvalSamples: o.EvalSamples, ControlEvery: o.ControlEvery, Seeds: o.seeds(), SeedsEvery: o.SeedsEvery,
		Workers: o.Workers, Seed: o.Seed,
	}
}

// say prints a message.
func (j *trainJob) say(format string, args ...any) {
	if !j.Quiet {
		say(j.stderr, format, args...)
	}
}
