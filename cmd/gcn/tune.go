package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/gcn-layerwise/gcn/internal/finite"
	"github.com/gcn-layerwise/gcn/internal/parallel"
	"github.com/gcn-layerwise/gcn/internal/regularfile"
	"github.com/gcn-layerwise/gcn/internal/report"
	"github.com/gcn-layerwise/gcn/internal/rundir"
	"github.com/gcn-layerwise/gcn/internal/tune"
	"github.com/gcn-layerwise/gcn/layers"
	"github.com/gcn-layerwise/gcn/run"
	"github.com/gcn-layerwise/gcn/train"
)

// The files of a search's folder, beside the folders of its settings.
const (
	tuneFile   = "tune.json"    // the options, and the fingerprint of the data
	trialsFile = "trials.jsonl" // a line for each setting in each rung
	bestFile   = "best.json"    // the best setting, as a recipe
	figureBase = "tune"         // of .svg and .png

	settingBase = "setting-" // of the folders of settings, which are numbered from 1
)

// searchOptions are the options of a search of settings.
type searchOptions struct {
	Search repeated `json:"search" group:"Search" arg:"NAME=VALUES" help:"an option of gcn train and its values, NAME=VALUES: lr=0.01,0.003; may be repeated"`
	Trials int      `json:"trials" group:"Search" default:"0" range:"[0," help:"settings to draw at random; 0: all combinations of the values"`
	Rungs  int      `json:"rungs" group:"Search" default:"3" range:"[1," help:"rounds of training at most: the best settings of each go on to the next, and the last ends at --max-batches; fewer if there are too few evaluations"`
	Reduce int      `json:"reduce" group:"Search" default:"3" range:"[2," arg:"N" help:"one setting in N goes on to the next rung, which has N times the mini-batches"`
	Jobs   int      `json:"jobs" group:"Search" default:"0" range:"[0," help:"trainings side by side on the CPU, without effect on the results; 0: one per core"`
}

// tuneJob is one execution of "gcn tune".
type tuneJob struct {
	flags run.Settings // of the command line
	searchOptions
	run.Output
	fs      *pflag.FlagSet
	stderr  io.Writer
	started time.Time

	saved  map[string]any // of the search to resume; nil: none
	space  []tune.Dimension
	jobs   []*trainJob // one for each setting
	search tune.Search
	rows   []tune.Row
}

func newTuneCommand() *cobra.Command {
	j := new(tuneJob)
	cmd := newCommand("tune", &j.searchOptions, j.run)
	addFlags(cmd, &j.flags)
	addFlags(cmd, &j.Output, "out", "resume", "recipe", "config", "json", "quiet")
	fs := cmd.Flags()
	j.flags.Runs, fs.Lookup("runs").DefValue = 3, "3"
	fs.Lookup("runs").Usage = "seeds of each setting: seed, seed+1, …"
	return groupedHelp(cmd)
}

// run searches, and tests the best setting.
func (j *tuneJob) run(cmd *cobra.Command) (_ any, err error) {
	ctx := cmd.Context()
	j.fs, j.stderr, j.started = cmd.Flags(), unlessQuiet(j.Quiet, cmd.ErrOrStderr()), time.Now()
	for _, step := range []func(context.Context) error{j.takeSaved, j.plan, j.prepare} {
		if err := step(ctx); err != nil {
			return nil, err
		}
	}
	if j.Out == "" {
		if j.Out, err = j.jobs[0].NewDir("tune"); err != nil {
			return nil, err
		}
		defer os.Remove(j.Out) // removes the folder only if it is empty
	}
	folder, err := rundir.Open(j.Out)
	if err != nil {
		return nil, fmt.Errorf("the search's folder: %w", err)
	}
	defer folder.Close()
	if err := j.begin(folder); err != nil {
		return nil, err
	}
	err = j.halve(ctx, folder)
	var tested *run.Result
	if err == nil {
		tested, err = j.jobs[tune.Best(j.rows).Setting-1].trainAll(ctx)
	}
	switch {
	case err != nil && ctx.Err() != nil:
		saved := ", the trials are saved"
		if file, is := errors.AsType[*fs.PathError](err); is { // the last checkpoint could not be written
			saved = fmt.Sprintf("; not saved: %v", file)
		}
		return nil, run.Interrupted{Err: ctx.Err(), Message: fmt.Sprintf("interrupted%s; to go on: gcn tune --out %s --resume", saved, run.ShellWord(j.Out))}
	case err != nil:
		return nil, err
	}
	r, err := j.conclude(folder, tested)
	return worded{r, func(w io.Writer) { j.print(w, r) }}, err
}

// takeSaved reads the options of the search in --out, and sets those that are not on the command
// line.
func (j *tuneJob) takeSaved(context.Context) error {
	if err := run.Check(&j.Output); err != nil || j.Out == "" {
		return err
	}
	path := filepath.Join(j.Out, tuneFile)
	text, err := regularfile.Read(path)
	files, _ := fs.Glob(os.DirFS(j.Out), "[^.]*")
	switch {
	case errors.Is(err, fs.ErrNotExist) && files == nil:
		return nil
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("%s holds other files, but no %s: name another folder", j.Out, tuneFile)
	case err != nil:
		return err
	case !j.Resume:
		return fmt.Errorf("%s holds a search already: go on with it by --resume, or name another folder", j.Out)
	}
	if j.saved, err = rundir.DecodeObject(text); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	for name, value := range j.saved {
		if f := j.fs.Lookup(name); f != nil && !f.Changed { // one of them is the fingerprint
			if err := j.fs.Set(name, fmt.Sprint(value)); err != nil {
				return fmt.Errorf("%s: %s: %w", path, name, flagValueError(err))
			}
		}
	}
	return nil
}

// begin writes tune.json, or compares it with the search to resume: the flags that were given,
// but for those without effect on the results, and the data.
func (j *tuneJob) begin(folder *rundir.Folder) error {
	now := map[string]any{"fingerprint": train.Fingerprint(j.jobs[0].data)}
	j.fs.Visit(func(f *pflag.Flag) {
		if !slices.Contains([]string{"out", "resume", "json", "quiet", "jobs", "workers", helpAll}, f.Name) {
			now[f.Name] = f.Value.String()
		}
	})
	if j.saved == nil {
		return folder.WriteJSON(tuneFile, now)
	}
	if err := rundir.SameConfig(j.saved, now); err != nil {
		return fmt.Errorf("%s: cannot resume: %w", folder.Path(tuneFile), err)
	}
	return nil
}

// plan draws the settings, and checks each of them.
func (j *tuneJob) plan(ctx context.Context) error {
	for _, text := range j.Search {
		d, err := j.dimension(text)
		if err != nil {
			return usagef("--search %w", err)
		}
		j.space = append(j.space, d)
	}
	settings, err := tune.Draw(j.space, j.Trials, j.flags.Seed)
	if err != nil {
		return usagef("%w: see --search and --trials", err)
	}
	recipe, file, _, err := j.Files(ctx)
	if err != nil {
		return err
	}
	values, every := run.Values(j.fs), 0
	for _, name := range []string{"runs", "seed", "device"} { // never from a file
		values = append(values, run.Value{Option: name, Text: j.fs.Lookup(name).Value.String()})
	}
	for _, s := range settings {
		job := newTrainJob(unlessQuiet(j.jobs != nil, j.stderr)) // what all settings have in common is printed once
		job.line = slices.Clone(values)
		for _, d := range j.space {
			job.line = append(job.line, run.Value{Option: d.Option, Text: s[d.Option]})
		}
		err := job.plan(recipe, file, nil)
		if wrong := new(run.OptionError); errors.As(err, &wrong) && wrong.Place == "" {
			return usagef("setting %s: %w", j.words(s), err)
		}
		if err != nil {
			return err
		}
		j.jobs, every = append(j.jobs, job), max(every, job.EvalEvery)
	}
	first := j.jobs[0]
	switch {
	case slices.ContainsFunc(j.jobs, func(job *trainJob) bool { return job.Settings.Samples.Auto() }):
		return usagef("--samples auto is for gcn train: give numbers")
	case first.Epochs > 0: // perhaps from a recipe
		return usagef("--epochs %d: gcn tune counts mini-batches: give --max-batches and --epochs 0", first.Epochs)
	case first.MaxBatches == 0:
		return usagef("--max-batches 0: gcn tune needs a number, the mini-batches of the last rung")
	}
	jobs := cmp.Or(j.Jobs, runtime.GOMAXPROCS(0))
	if first.Device != "cpu" {
		jobs = 1
	}
	j.search = tune.Search{
		Settings: settings, Seeds: first.Runs, Rungs: j.Rungs, Reduce: j.Reduce, Every: every, Jobs: jobs,
	}
	return nil
}

// notSearched are the options of training that are the same for all settings. Scores of
// different nodes cannot be compared.
var notSearched = []string{"data", "seed", "runs", "max-batches", "epochs", "eval-samples", "workers", "device", "partition"}

// dimension reads an option and its values from --search.
func (j *tuneJob) dimension(text string) (tune.Dimension, error) {
	name, values, found := strings.Cut(text, "=")
	name = strings.ReplaceAll(strings.TrimPrefix(name, "--"), "_", "-")
	d, err := tune.ParseDimension(name, values)
	switch {
	case !found:
		err = fmt.Errorf("%q: want NAME=VALUES, such as lr=0.01,0.003", text)
	case slices.Contains(notSearched, name):
		err = fmt.Errorf("%s is the same for all settings: give it as --%[1]s", name)
	case j.fs.Changed(name):
		err = fmt.Errorf("%s is given as --%[1]s too: leave out either", name)
	}
	return d, err
}

// words returns the searched options of a setting as on the command line.
func (j *tuneJob) words(s tune.Setting) string {
	var words []string
	for _, d := range j.space {
		words = append(words, d.Option+"="+s[d.Option])
	}
	return strings.Join(words, " ")
}

// prepare opens the device and the data, resolves the methods, and propagates the features once for
// all settings that need it.
func (j *tuneJob) prepare(ctx context.Context) error {
	first := j.jobs[0]
	if err := first.open(ctx); err != nil {
		return err
	}
	if len(first.data.Split.Valid) == 0 {
		return fmt.Errorf("%s has no validation nodes; gcn tune compares settings by their score", first.Data)
	}
	var exact *layers.ExactInput
	for _, job := range j.jobs {
		job.data, job.GPU = first.data, first.GPU
		if err := job.resolve(ctx); err != nil {
			return err
		}
		job.ChooseLimits(job.data)
		if job.ExactInput {
			job.Exact = exact
			if err := job.Propagate(ctx, job.data, nil); err != nil {
				return err
			}
			exact = job.Exact
		}
		j.search.Batches = max(j.search.Batches, job.MaxBatches)
		job.Quiet, job.Resume, job.stderr = true, true, io.Discard
		job.Workers = cmp.Or(job.Workers, max(1, runtime.GOMAXPROCS(0)/j.search.Jobs))
	}
	return nil
}

// halve runs the search, and writes a line for each setting after each rung.
func (j *tuneJob) halve(ctx context.Context, folder *rundir.Folder) error {
	for k, job := range j.jobs {
		job.Out = filepath.Join(j.Out, fmt.Sprint(settingBase, k+1))
		job.MaxBatches = j.search.Batches // of auto, a searched batch would make several numbers
	}
	total, rungs := 0, j.search.Plan()
	for _, r := range rungs {
		total += r.Work
	}
	say(j.stderr, "%s: %d settings, %d seeds from %d, in %s", j.jobs[0].Data, len(j.jobs), j.search.Seeds, j.jobs[0].Seed, j.Out)
	show := everySeconds(j.stderr, "mini-batches")
	show(0, total)
	var done atomic.Int64
	j.search.Train = func(ctx context.Context, t tune.Trial) (float64, error) {
		score, err := j.trial(ctx, t)
		if err != nil && ctx.Err() == nil {
			err = fmt.Errorf("setting %d (%s): %w", t.Setting, j.words(j.search.Settings[t.Setting-1]), err)
		}
		show(int(done.Add(int64(t.Batches-t.From))), total)
		return score, err
	}
	j.search.Ranked = func(rows []tune.Row) error {
		j.rows = rows
		best := tune.Best(rows)
		say(j.stderr, "rung %d/%d: best validation %s %s, %s", best.Rung, len(rungs), j.jobs[0].data.Metric, formatScore(best.Valid), j.words(best.Options))
		return folder.Write(trialsFile, func(w io.Writer) (err error) {
			for _, r := range rows {
				err = cmp.Or(err, printJSON(w, r))
			}
			return err
		})
	}
	parallel.Reserve(j.search.Jobs - 1) // the trials share the cores
	defer parallel.Reserve(1 - j.search.Jobs)
	_, err := j.search.Run(ctx)
	return err
}

// trial trains a setting with one seed up to a number of mini-batches, unless its folder
// shows that it is done, and returns its best validation score. It pauses the training at the
// end of the rung: at the first evaluation at or after its last mini-batch. Training that is
// about to end, by patience or by its limit, pauses too, so that it computes no test score.
func (j *tuneJob) trial(ctx context.Context, t tune.Trial) (float64, error) {
	job := *j.jobs[t.Setting-1]
	options := *job.Plan
	job.Plan = &options
	dir, seed := job.Out, options.Seed+uint64(t.Seed)
	if options.Runs > 1 {
		dir = filepath.Join(dir, run.SeedFolder(seed))
	}
	ends := func(batch, best int) bool {
		return batch >= t.Batches || options.Patience > 0 && batch-best >= options.Patience
	}
	score, ended, err := scoreAtEnd(dir, ends)
	if err != nil || ended {
		return score, err
	}
	pausing, pause := context.WithCancel(ctx)
	defer pause()
	job.Show = func(string) func(train.Progress) {
		return func(p train.Progress) {
			if p.Evaluated && ends(p.Batch, p.BestBatch) {
				score, ended = p.Best, true
				pause()
			}
		}
	}
	_, err = job.Once(pausing, job.data, dir, seed, "", nil)
	switch file, unsaved := errors.AsType[*fs.PathError](err); {
	case errors.Is(err, train.ErrNotFinite):
		return math.NaN(), nil
	case unsaved && ctx.Err() == nil: // such as a full disk
		return score, file // the end of the rung is no interruption
	case err == nil && !ended:
		return score, fmt.Errorf("%s: the run ended before mini-batch %d", dir, t.Batches)
	case unsaved || ctx.Err() != nil || !ended:
		return score, err
	}
	return score, nil
}

// scoreAtEnd returns the best validation score of a run up to the first evaluation that ends its
// rung, by its mini-batch and the best one's. ended is false if the run is still before it.
func scoreAtEnd(dir string, ends func(batch, best int) bool) (score float64, ended bool, err error) {
	score = math.NaN()
	if _, err := os.Stat(filepath.Join(dir, rundir.MetricsFile)); errors.Is(err, fs.ErrNotExist) {
		return score, false, nil
	}
	runs, err := report.Load(dir)
	if err != nil {
		return score, false, err
	}
	best := 0
	for _, p := range runs[0].Points {
		if v := float64(p.Valid); finite.Is(v) && !(score >= v) {
			score, best = v, p.Batch
		}
		if ends(p.Batch, best) {
			return score, true, nil
		}
	}
	return score, false, nil
}

// tuneResult is the result of a search: --json prints it, and result.json holds it.
type tuneResult struct {
	*run.Result                   // of the runs of the best setting
	Settings    int               `json:"settings"`
	Rungs       []tune.Rung       `json:"rungs"`
	Options     map[string]string `json:"best"`
	BestSEM     float64           `json:"best_valid_sem"`
	Seeds       int               `json:"runs"`
	WallS       number            `json:"wall_s"`   // of this process
	Dir         string            `json:"run_dir"`  // of the search
	BestDir     string            `json:"best_dir"` // of the runs of the best setting
	Recipe      string            `json:"recipe"`   // best.json
}

// conclude writes the results. tested is the result of the best setting's runs.
func (j *tuneJob) conclude(folder *rundir.Folder, tested *run.Result) (*tuneResult, error) {
	best := tune.Best(j.rows)
	job, recipe := j.jobs[best.Setting-1], map[string]string{}
	for _, v := range job.GivenValues() {
		if !slices.Contains([]string{"data", "seed", "runs", "workers", "device", "partition", "checkpoint_interval"}, v.Option) {
			recipe[v.Option] = v.Text
		}
	}
	recipe["layer_norm"] = strconv.FormatBool(job.LayerNorm) // else gcn train decides by a trial
	r := &tuneResult{
		Result: tested, Settings: len(j.jobs), Rungs: j.search.Plan(),
		Options: recipe, BestSEM: best.SEM, Seeds: job.Runs,
		WallS: measure(j.started).WallS,
		Dir:   j.Out, BestDir: job.Out, Recipe: folder.Path(bestFile),
	}
	err := folder.WriteJSON(bestFile, recipe)
	if err == nil {
		err = tune.Figure(j.space, j.rows, r.Metric).Save(folder.Path(figureBase))
	}
	if err == nil {
		err = folder.WriteJSON(rundir.ResultFile, finite.JSON(r))
	}
	if err != nil {
		return nil, fmt.Errorf("the result could not be saved: %w", err)
	}
	return r, nil
}

// print writes the table of the best settings, the test score of the best one, and the command
// that trains it.
func (j *tuneJob) print(w io.Writer, r *tuneResult) {
	const most = 20 // settings
	t := table{{"valid " + r.Metric, "± sem", "mini-batches"}}
	for _, d := range j.space {
		t[0] = append(t[0], d.Option)
	}
	t[0] = append(t[0], "setting")
	// The last row of each setting, the best first.
	rows := slices.DeleteFunc(slices.Clone(j.rows), func(r tune.Row) bool { return r.Kept && r.Rung < tune.Best(j.rows).Rung })
	slices.SortStableFunc(rows, func(a, b tune.Row) int { return b.Rung - a.Rung })
	for _, row := range rows[:min(len(rows), most)] {
		valid := strings.Replace(formatScore(row.Valid), "unknown", "diverged", 1)
		cells := []string{valid, strings.TrimSuffix(formatScore(row.SEM), "unknown"), fmt.Sprint(row.Batches)}
		for _, d := range j.space {
			cells = append(cells, row.Options[d.Option])
		}
		t = append(t, append(cells, fmt.Sprint(settingBase, row.Setting)))
	}
	t.align(w, tabwriter.AlignRight)
	say(w, "test %s of the best: %s", r.Metric, testText(r.Result))
	say(w, "all settings: %s, figure: %s.svg", filepath.Join(r.Dir, trialsFile), filepath.Join(r.Dir, figureBase))
	say(w, "recipe: gcn train --data %s --recipe %s", run.ShellWord(r.Dataset), run.ShellWord(r.Recipe))
}
