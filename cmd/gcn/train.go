package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/gcn-layerwise/gcn/datasets"
	"github.com/gcn-layerwise/gcn/internal/machine"
	"github.com/gcn-layerwise/gcn/run"
	"github.com/gcn-layerwise/gcn/train"
)

func newTrainCommand() *cobra.Command {
	options := new(run.Output)
	return groupedHelp(newCommand("train", options, func(cmd *cobra.Command) (any, error) {
		ctx, j := cmd.Context(), newTrainJob(unlessQuiet(options.Quiet, cmd.ErrOrStderr()))
		j.line, j.Output, j.World = run.Values(cmd.Flags()), *options, jobOf(ctx).world
		defer limit(j.Memory)()
		if err := j.begin(ctx); err != nil {
			return nil, err
		}
		r, err := j.trainAll(ctx)
		if r == nil { // only rank 0 has a result
			return nil, err
		}
		return worded{r, func(w io.Writer) { printRun(w, r) }}, err
	}, "Data and sampling", "Model", "Training"))
}

// trainJob is one execution of "gcn train".
type trainJob struct {
	run.Job
	line   []run.Value // the options on the command line
	data   *datasets.Data
	stderr io.Writer
}

// newTrainJob returns a job that prints messages and progress to stderr.
func newTrainJob(stderr io.Writer) *trainJob {
	j := &trainJob{stderr: stderr}
	j.Say = func(format string, args ...any) { say(j.stderr, format, args...) }
	j.Show = func(prefix string) func(train.Progress) { return trainingMeter(j.stderr, prefix) }
	return j
}

// begin opens the device and the data, and completes the plan.
func (j *trainJob) begin(ctx context.Context) error {
	for _, step := range []func(context.Context) error{j.load, j.open, j.resolve, j.tryNorm, j.takePart} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	return nil
}

// load takes the options from the recipe, the file, the run to resume and the command line,
// checks them and gives them to the other ranks: only rank 0 may be able to read the files.
func (j *trainJob) load(ctx context.Context) error {
	if !j.Follows() {
		recipe, file, saved, err := j.Files(ctx)
		if err == nil {
			err = j.plan(recipe, file, saved)
		}
		if err != nil {
			return err
		}
	}
	return j.broadcast(ctx)
}

// open opens the device and the data.
func (j *trainJob) open(ctx context.Context) (err error) {
	if j.Job.Bound, err = j.Inference(j.Device); err != nil {
		return err
	}
	if err := j.Open(); err != nil {
		return err
	}
	j.data, err = openData(ctx, j.Data)
	if j.Resume {
		err = run.IfMoved(err)
	}
	return err
}

// plan loads the settings from their sources, and prints the choices made, among them that the step
// size of a resumed run falls once more if its limit is larger.
func (j *trainJob) plan(recipe, file, saved *run.File) error {
	s, err := run.Load(recipe, file, saved, j.line)
	if err != nil {
		return err
	}
	if recipe != nil {
		used := slices.DeleteFunc(slices.Clone(recipe.Values), func(v run.Value) bool { return s.From(v.Option) != v })
		j.Say("recipe %s sets %s", j.Recipe, optionsText(used))
	}
	p, err := s.Plan()
	if err != nil {
		return err
	}
	if j.Plan != nil { // before the advice
		p.GPU = j.GPU
	}
	j.Plan = p
	if j.Because != "" {
		j.Say("%s: %s keeps no histories of activations with it, so the method is %s", j.Because, run.DefaultMethod, run.PaperMethod)
	}
	if saved != nil {
		before, _ := run.Load(nil, nil, saved, nil) // its values were right above
		if from, to := before.Limit(), j.Limit(); j.Schedule.Cosine && from < to && to < math.MaxInt {
			j.Say("the run had the limit of %d mini-batches: the step size falls once more, from half of the rate before to 0 at batch %d", from, to)
		}
	}
	return nil
}

// optionsText returns options as they are on a command line.
func optionsText(values []run.Value) string {
	var words []string
	for _, v := range values {
		words = append(words, "--"+v.Flag())
		if v.Text != "true" {
			words = append(words, run.ShellWord(v.Text))
		}
	}
	return cmp.Or(strings.Join(words, " "), "no option that is not set already")
}

// advised are the options that rank 0 chooses for all with --samples auto.
var advised = []string{"method", "samples", "exact_input"}

// broadcast gives the settings of rank 0 to the others. Their own options on the command line
// stay, but for those that rank 0 chooses.
func (j *trainJob) broadcast(ctx context.Context) error {
	var given struct {
		Out    string
		Values []run.Value
	}
	if !j.Follows() {
		given.Out, given.Values = j.Out, j.GivenValues()
	}
	if err := j.broadcastValue(ctx, &given); err != nil || !j.Follows() {
		return err
	}
	j.Out, j.Resume, j.Overwrite = given.Out, false, false // the folder is rank 0's
	if slices.ContainsFunc(given.Values, isAuto) {
		j.line = slices.DeleteFunc(j.line, func(v run.Value) bool { return slices.Contains(advised, v.Option) })
	}
	// Training compares the settings of all ranks, and refuses other ones.
	return j.plan(nil, nil, &run.File{Values: given.Values})
}

// broadcastValue gives rank 0's value to the other ranks.
func (j *trainJob) broadcastValue(ctx context.Context, value any) error {
	if j.World == nil || j.World.Size() == 1 {
		return nil
	}
	text, _ := json.Marshal(value) // of options, which all are text
	text, err := train.Broadcast(ctx, j.World, text)
	if err != nil || !j.Follows() {
		return err
	}
	return json.Unmarshal(text, value)
}

// isAuto reports whether an option asks for the advice on samples.
func isAuto(v run.Value) bool { return v.Option == "samples" && v.Text == "auto" }

// mostHistoryBytes is the size of P·X and of the histories above which the default method is
// the paper's, which keeps neither. It is a number, not a part of the memory, so that a command
// line trains the same model on every machine. ogbn-products with 256 hidden units takes 3.5 GB.
const mostHistoryBytes = 4 << 30

// resolve chooses the method and the samples that the data ask for. The advice is rank
// 0's, for all; without it, all ranks choose alike.
func (j *trainJob) resolve(ctx context.Context) (err error) {
	advice := j.Settings.Samples.Auto()
	if !advice || !j.Follows() {
		err = j.Resolve(ctx, j.data, mostHistoryBytes, everySeconds(j.stderr, "mini-batches of the candidates"))
	}
	if err == nil && advice {
		err = j.broadcast(ctx)
	}
	return err
}

// tryNorm takes layer norm if a trial on rank 0 is for it, and the limit that the data ask for.
func (j *trainJob) tryNorm(ctx context.Context) (err error) {
	j.announceData()
	var norm []run.Value
	if !j.Follows() {
		norm, err = j.TryNorm(ctx, j.data, everySeconds(j.stderr, "mini-batches of a trial of layer norm"))
	}
	if err == nil {
		err = j.broadcastValue(ctx, &norm)
	}
	if err == nil && norm != nil {
		err = j.Take(norm)
	}
	if err == nil {
		j.ChooseLimits(j.data)
	}
	return err
}

// takePart leaves each rank its part of the data. A process alone keeps all.
func (j *trainJob) takePart(context.Context) (err error) {
	if j.Partition == "none" || j.World == nil {
		return nil
	}
	if j.Parts, err = train.NewPartition(j.World, j.data, j.Partition == "all"); err != nil || j.Parts == nil {
		return err
	}
	_, whole := j.Parts.MostBytes()
	j.Say("--partition %s: %d ranks, each holds about %s of the %s of graph and features",
		j.Partition, j.World.Size(), run.Bytes(j.Parts.Bytes()), run.Bytes(whole))
	return nil
}

// trainAll trains once, or with --runs several times, in --out or in a new folder.
func (j *trainJob) trainAll(ctx context.Context) (r *run.Result, err error) {
	if j.Out == "" && !j.Follows() {
		if j.Out, err = j.NewDir(j.Method.String()); err != nil {
			return nil, err
		}
		defer os.Remove(j.Out) // removes the folder only if it is empty
	}
	j.announce()
	if err := j.Propagate(ctx, j.data, everySeconds(j.stderr, "rows of P·X")); err != nil {
		return nil, err
	}
	r, err = j.Train(ctx, j.data)
	if err == nil && !j.Quiet && j.Parts == nil {
		for _, hint := range j.hints(ctx) {
			j.Say("%s", hint)
		}
	}
	return r, err
}

// announceData prints the data.
func (j *trainJob) announceData() {
	data := j.data
	j.Say("%s: %s nodes, %s edges, %d features, metric %s", j.Data, count(data.Nodes()),
		count(int(data.Edges())), data.Features.Cols, data.Metric)
	j.Say("split: %s training, %s validation, %s test nodes", count(len(data.Split.Train)),
		count(len(data.Split.Valid)), count(len(data.Split.Test)))
	for _, change := range data.Changes() {
		j.Say("  %s", change)
	}
}

// announce prints the method and the folder.
func (j *trainJob) announce() {
	seeds := fmt.Sprintf("seed %d", j.Seed)
	if j.Runs > 1 {
		seeds = fmt.Sprintf("seeds %d to %d", j.Seed, j.Seed+uint64(j.Runs-1))
	}
	j.Say("%s, %s, in %s", run.MethodText(j.Method.String(), j.Samples), seeds, j.Out)
	if !j.Given("max_batches") && j.MaxBatches > run.LeastBatches {
		j.Say("at most %d mini-batches, for enough passes over the training nodes; --max-batches takes another number", j.MaxBatches)
	}
	if used := len(j.Samples); used < len(j.Settings.Samples) {
		j.Say("--method %s takes %d of the numbers of --samples: %s is not used", j.Method.Name, used, j.Settings.Samples[used:])
	}
	if advice := blasAdvice(machine.BLAS()); advice != "" {
		j.Say("%s", advice)
	}
}
