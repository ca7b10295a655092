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
	"sync"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/gcn-layerwise/gcn/datasets"
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
	Search repeated `json:"search" group:"Search" arg:"NAME=VALUES" help:"an option of gcn train and its values, NAME=VALUES: lr=0.01,0.003 or lr=0.0001..0.01:log or dropout=0..0.5; may be repeated"`
	Trials int      `json:"trials" group:"Search" default:"0" range:"[0," help:"settings to draw at random; 0: all combinations of the values"`
	Rungs  int      `json:"rungs" group:"Search" default:"3" range:"[1," help:"rounds of training at most: the best settings of each go on to the next, and the last ends at --max-batches; fewer if there are too few evaluations"`
	Reduce int      `json:"reduce" group:"Search" default:"3" range:"[2," arg:"N" help:"one setting in N goes on to the next rung, which has N times the mini-batches"`
	Jobs   int      `json:"jobs" group:"Search" default:"0" range:"[0," help:"trainings side by side on the CPU, without effect on the results; 0: one per core"`
}

// tuneJob is one execution of "gcn tune".
type tuneJob struct {
	flags run.Settings // of the command line
	run.Output
	searchOptions
	fs      *pflag.FlagSet
	stderr  io.Writer
	started time.Time

	saved    map[string]any // of the search to resume; nil: none
	space    []tune.Dimension
	settings []tune.Setting
	jobs     []*trainJob // one for each setting
	search   tune.Search
	data     *datasets.Data
	rows     []tune.Row
}

func newTuneCommand() *cobra.Command {
	j := new(tuneJob)
	cmd := newCommand(&cobra.Command{
		Use: "tune",
		RunE: func(cmd *cobra.Command, _ []string) error {
			j.fs, j.stderr, j.started = cmd.Flags(), unlessQuiet(j.Quiet, cmd.ErrOrStderr()), time.Now()
			r, err := j.run(cmd.Context())
			if err != nil {
				return err
			}
			return result(cmd, r, func(w io.Writer) { j.print(w, r) })
		},
	}, &j.searchOptions)
	addFlags(cmd, &j.flags)
	addFlags(cmd, &j.Output, "out", "resume", "recipe", "config", "json", "quiet")
	fs := cmd.Flags()
	fs.Lookup("runs").Usage = "seeds of each setting: seed, seed+1, …"
	fs.Lookup("max-batches").Usage = "mini-batches of the last rung"
	j.flags.Runs, fs.Lookup("runs").DefValue = 3, "3"
	fs.Lookup("out").Usage = "the search's folder `DIR` (default: a new folder under runs/)"
	fs.Lookup("resume").Usage = "continue the search in --out, or start it if there is none"
	groupedHelp(cmd)
	return cmd
}

// run searches, and tests the best setting.
func (j *tuneJob) run(ctx context.Context) (*tuneResult, error) {
	if err := run.Check(&j.Output); err != nil {
		return nil, err
	}
	if err := j.takeSaved(); err != nil {
		return nil, err
	}
	if err := j.plan(ctx); err != nil {
		return nil, err
	}
	if j.Out == "" {
		var err error
		if j.Out, err = j.jobs[0].NewDir("tune", time.Now()); err != nil {
			return nil, err
		}
		defer os.Remove(j.Out) // removes the folder only if it is empty
	}
	folder, err := rundir.Open(j.Out)
	if err != nil {
		return nil, fmt.Errorf("the search's folder: %w", err)
	}
	defer folder.Close()
	if err := j.openData(ctx); err != nil {
		return nil, err
	}
	if err := j.begin(folder); err != nil {
		return nil, err
	}
	err = j.halve(ctx, folder)
	var tested *run.Result
	if err == nil {
		tested, err = j.jobs[tune.Best(j.rows).Setting].trainAll(ctx, j.data)
	}
	switch {
	case err != nil && ctx.Err() != nil && errors.Is(err, ctx.Err()):
		saved := ", the trials are saved"
		var file *fs.PathError
		if errors.As(err, &file) { // the last checkpoint could not be written
			saved = fmt.Sprintf("; not saved: %v", file)
		}
		return nil, run.Interrupted{Err: err, Message: fmt.Sprintf("interrupted%s; to go on: gcn tune --out %s --resume", saved, run.ShellWord(j.Out))}
	case err != nil:
		return nil, err
	}
	return j.conclude(folder, tested)
}

// takeSaved reads the options of the search in --out, and sets those that are not on the command
// line.
func (j *tuneJob) takeSaved() error {
	if j.Out == "" {
		return nil
	}
	path := filepath.Join(j.Out, tuneFile)
	text, err := regularfile.Read(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if files, _ := fs.Glob(os.DirFS(j.Out), "[^.]*"); files != nil {
			return fmt.Errorf("%s holds other files, but no %s: name another folder", j.Out, tuneFile)
		}
		return nil
	case err != nil:
		return err
	case !j.Resume:
		return fmt.Errorf("%s holds a search already: go on with it by --resume, or name another folder", j.Out)
	}
	if j.saved, err = rundir.DecodeObject(text); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	for name, value := range j.saved {
		f := j.fs.Lookup(name)
		if f == nil || f.Changed { // one of them is the fingerprint
			continue
		}
		if err := j.fs.Set(name, fmt.Sprint(value)); err != nil {
			return fmt.Errorf("%s: %s: %w", path, name, flagValueError(err))
		}
	}
	return nil
}

// begin writes tune.json, or compares it with the search to resume: the flags that were given,
// but for those without effect on the results, and the data.
func (j *tuneJob) begin(folder *rundir.Folder) error {
	now := map[string]any{"fingerprint": train.Fingerprint(j.data)}
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
	if err := j.readSpace(); err != nil {
		return err
	}
	var err error
	if j.settings, err = tune.Draw(j.space, j.Trials, j.flags.Seed); err != nil {
		return usagef("%w: see --search and --trials", err)
	}
	recipe, file, err := j.Files(ctx)
	if err != nil {
		return err
	}
	every := 0
	for k := range j.settings {
		job, err := j.job(k, recipe, file)
		if err != nil {
			if wrong := new(run.OptionError); errors.As(err, &wrong) && wrong.Place == "" {
				return usagef("setting %s: %w", j.settingText(k), err)
			}
			return err
		}
		j.jobs, every = append(j.jobs, job), max(every, job.EvalEvery)
	}
	first := j.jobs[0]
	if err := first.Open(); err != nil {
		return err
	}
	switch {
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
		Settings: len(j.settings), Seeds: first.Runs, Rungs: j.Rungs, Reduce: j.Reduce, Batches: first.MaxBatches, Every: every, Jobs: jobs,
	}
	return nil
}

// notSearched are the options of training that are the same for all settings. Scores of
// different nodes cannot be compared.
var notSearched = []string{"data", "seed", "runs", "max-batches", "epochs", "eval-samples", "workers", "device", "partition"}

// readSpace reads the options and their values from --search.
func (j *tuneJob) readSpace() error {
	for _, text := range j.Search {
		name, values, found := strings.Cut(text, "=")
		name = strings.ReplaceAll(strings.TrimPrefix(name, "--"), "_", "-")
		option, known := run.Find(name)
		d, err := tune.ParseDimension(name, values, known && option.Whole)
		scratch := run.New()
		switch {
		case !found:
			err = fmt.Errorf("%q: want NAME=VALUES, such as lr=0.01,0.003", text)
		case !known:
			err = scratch.Set(run.Value{Option: name})
		case slices.Contains(notSearched, name):
			err = fmt.Errorf("%s is the same for all settings: give it as --%[1]s", name)
		case j.fs.Changed(name):
			err = fmt.Errorf("%s is given as --%[1]s too: leave out either", name)
		}
		for _, v := range d.Values {
			if err == nil {
				err = scratch.Set(run.Value{Option: name, Text: v})
			}
		}
		if err != nil {
			return usagef("--search %w", err)
		}
		j.space = append(j.space, d)
	}
	return nil
}

// job returns the training of setting k, with checked options.
func (j *tuneJob) job(k int, recipe, file *run.File) (*trainJob, error) {
	job := &trainJob{stderr: io.Discard}
	if k == 0 { // what all settings have in common is printed once
		job.stderr = j.stderr
	}
	job.prepare()
	values := []run.Value{ // never from a file
		{Option: "runs", Text: strconv.Itoa(j.flags.Runs)}, {Option: "seed", Text: strconv.FormatUint(j.flags.Seed, 10)}, {Option: "device", Text: j.flags.Device},
	}
	values = append(values, run.Values(j.fs)...)
	for i, d := range j.space {
		values = append(values, run.Value{Option: d.Option, Text: j.settings[k][i]})
	}
	if err := job.plan(recipe, file, nil, values); err != nil {
		return nil, err
	}
	job.Quiet, job.Resume = true, true
	return job, nil
}

// settingText returns the searched options of a setting as on the command line.
func (j *tuneJob) settingText(k int) string {
	words := make([]string, len(j.space))
	for i, d := range j.space {
		words[i] = d.Option + "=" + j.settings[k][i]
	}
	return strings.Join(words, " ")
}

// openData opens the data, and propagates the features once for all settings that need it.
func (j *tuneJob) openData(ctx context.Context) error {
	first := j.jobs[0]
	var err error
	if j.data, err = openData(ctx, first.Data); err != nil {
		return err
	}
	if len(j.data.Split.Valid) == 0 {
		return fmt.Errorf("%s has no validation nodes; gcn tune compares settings by their score", first.Data)
	}
	var exact *layers.ExactInput
	for _, job := range j.jobs {
		if err := job.Resolve(j.data, mostHistoryBytes); err != nil {
			return err
		}
		job.GPU = first.GPU
		if job.ExactInput {
			job.Exact = exact
			if err := job.Propagate(ctx, j.data, nil); err != nil {
				return err
			}
			exact = job.Exact
		}
		job.stderr = io.Discard
		job.Workers = cmp.Or(job.Workers, max(1, runtime.GOMAXPROCS(0)/j.search.Jobs))
	}
	return nil
}

// halve runs the search, and writes a line for each setting after each rung.
func (j *tuneJob) halve(ctx context.Context, folder *rundir.Folder) error {
	for k, job := range j.jobs {
		job.Out = filepath.Join(j.Out, fmt.Sprint(settingBase, k+1))
	}
	var rungs []string
	for _, r := range j.search.Plan() {
		rungs = append(rungs, fmt.Sprintf("%d to mini-batch %d", r.Settings, r.Batches))
	}
	say(j.stderr, "%s: %d settings, %d seeds from %d, in %s", j.jobs[0].Data, len(j.settings), j.search.Seeds, j.jobs[0].Seed, j.Out)
	say(j.stderr, "settings in each rung: %s", strings.Join(rungs, ", "))
	show, done, total := everySeconds(j.stderr, "mini-batches"), 0, j.search.Work()
	show(done, total)
	var mutex sync.Mutex
	j.search.Train = func(ctx context.Context, t tune.Trial) (float64, error) {
		score, err := j.trial(ctx, t)
		if err != nil && ctx.Err() == nil {
			err = fmt.Errorf("setting %d (%s): %w", t.Setting+1, j.settingText(t.Setting), err)
		}
		mutex.Lock()
		defer mutex.Unlock()
		done += t.Batches - t.From
		show(done, total)
		return score, err
	}
	j.search.Ranked = func(rows []tune.Row) error {
		j.rows = append(j.rows, rows...)
		best := rows[0]
		say(j.stderr, "rung %d/%d: best validation %s %s, %s", best.Rung+1, len(rungs), j.data.Metric, formatScore(best.Valid), j.settingText(best.Setting))
		return folder.Write(trialsFile, j.writeRows)
	}
	parallel.Reserve(j.search.Jobs - 1) // the trials share the cores
	defer parallel.Reserve(1 - j.search.Jobs)
	_, err := j.search.Run(ctx)
	return err
}

// writeRows writes trials.jsonl.
func (j *tuneJob) writeRows(w io.Writer) error {
	for _, r := range j.rows {
		options := map[string]string{}
		for i, d := range j.space {
			options[d.Option] = j.settings[r.Setting][i]
		}
		r.Setting++ // as the folders
		r.Rung++
		line := struct {
			tune.Row
			Options map[string]string `json:"options"`
		}{r, options}
		if err := printJSON(w, line); err != nil {
			return err
		}
	}
	return nil
}

// trial trains a setting with one seed up to a number of mini-batches, unless its folder
// shows that it is done, and returns its best validation score. It pauses the training at the
// end of the rung: at the first evaluation at or after its last mini-batch. Training that is
// about to end, by patience or by its limit, pauses too, so that it computes no test score.
func (j *tuneJob) trial(ctx context.Context, t tune.Trial) (float64, error) {
	job := *j.jobs[t.Setting]
	options := *job.Plan
	job.Plan = &options
	dir, seed := job.Out, options.Seed+uint64(t.Seed)
	if options.Runs > 1 {
		dir = filepath.Join(dir, run.SeedFolder(seed))
	}
	score, done, err := scoreAfter(dir, t.Batches, options.Patience)
	if err != nil || done {
		return score, err
	}
	pausing, pause := context.WithCancel(ctx)
	defer pause()
	paused := false
	job.Show = func(string) func(train.Progress) {
		return func(p train.Progress) {
			if p.Evaluated && (p.Batch >= t.Batches || options.Patience > 0 && p.Batch-p.BestBatch >= options.Patience) {
				paused = true
				pause()
			}
		}
	}
	_, err = job.Once(pausing, j.data, dir, seed, "", nil)
	var file *fs.PathError
	switch {
	case errors.Is(err, train.ErrNotFinite):
		return math.NaN(), nil
	case errors.As(err, &file) && ctx.Err() == nil: // such as a full disk
		return score, file // the end of the rung is no interruption
	case err != nil && file == nil && ctx.Err() != nil:
		return score, ctx.Err() // also if the rung ended at the same moment
	case err != nil && (file != nil || !paused):
		return score, err
	}
	if score, done, err = scoreAfter(dir, t.Batches, options.Patience); err == nil && !done {
		err = fmt.Errorf("%s: the run ended before mini-batch %d", dir, t.Batches)
	}
	return score, err
}

// scoreAfter returns the best validation score of a run up to its first evaluation at or
// after the given mini-batch. done is false if the run is still before this evaluation and
// has not ended by patience; a patience of 0 ends no run.
func scoreAfter(dir string, batches, patience int) (score float64, done bool, err error) {
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
		if p.Batch >= batches || patience > 0 && p.Batch-best >= patience {
			return score, true, nil
		}
	}
	return score, false, nil
}

// tuneResult is the result of a search: --json prints it, and result.json holds it.
type tuneResult struct {
	Dataset  string            `json:"dataset"`
	Metric   string            `json:"metric"`
	Settings int               `json:"settings"`
	Rungs    []tune.Rung       `json:"rungs"`
	Best     map[string]string `json:"best"` // options
	Valid    number            `json:"best_valid"`
	ValidSem number            `json:"best_valid_sem"`
	TestMean float64           `json:"test_mean"`
	TestStd  *float64          `json:"test_std"` // nil for one run
	TestSem  *float64          `json:"test_sem"`
	Runs     int               `json:"runs"`
	Seed     uint64            `json:"seed"`
	measured                   // of this process
	Device   string            `json:"device"`
	Dir      string            `json:"run_dir"`  // of the search
	BestDir  string            `json:"best_dir"` // of the runs of the best setting
	Recipe   string            `json:"recipe"`   // best.json

	// With --eval-samples: the number of test nodes that each run of the best setting scored
	// in place of all, and the standard error of TestMean from their choice.
	TestSample int     `json:"test_sample,omitempty"`
	TestSE     float64 `json:"test_se,omitempty"`
}

// conclude writes the results. tested is the result of the best setting's runs.
func (j *tuneJob) conclude(folder *rundir.Folder, tested *run.Result) (*tuneResult, error) {
	best := tune.Best(j.rows)
	job := j.jobs[best.Setting]
	recipe := map[string]string{}
	for _, v := range job.GivenValues() {
		if !slices.Contains([]string{"data", "seed", "runs", "workers", "device", "partition", "checkpoint_interval"}, v.Option) {
			recipe[v.Option] = v.Text
		}
	}
	if err := folder.WriteJSON(bestFile, recipe); err != nil {
		return nil, err
	}
	metric := string(j.data.Metric)
	if err := tune.Figure(j.space, j.settings, j.rows, metric).Save(folder.Path(figureBase)); err != nil {
		return nil, err
	}
	r := &tuneResult{
		Dataset: job.Data, Metric: metric, Settings: len(j.settings), Rungs: j.search.Plan(), Best: recipe,
		Valid: number(best.Valid), ValidSem: number(best.SEM), TestMean: tested.Test, TestStd: tested.TestStd, TestSem: tested.TestSem,
		Runs: job.Runs, Seed: job.Seed, measured: measure(j.started), Device: job.Device,
		Dir: j.Out, BestDir: job.Out, Recipe: folder.Path(bestFile), TestSample: tested.TestSample, TestSE: tested.TestSE,
	}
	if err := folder.WriteJSON(rundir.ResultFile, finite.JSON(r)); err != nil {
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
	t[0] = append(t[0], " setting")
	rows := slices.Clone(j.rows) // the last rung's first
	slices.SortStableFunc(rows, func(a, b tune.Row) int { return b.Rung - a.Rung })
	listed := map[int]bool{} // settings
	for _, row := range rows {
		if listed[row.Setting] || len(t) > most {
			continue
		}
		listed[row.Setting] = true
		valid := formatScore(row.Valid)
		if math.IsNaN(row.Valid) {
			valid = "diverged"
		}
		cells := append([]string{valid, strings.TrimSuffix(formatScore(row.SEM), "unknown"), fmt.Sprint(row.Batches)}, j.settings[row.Setting]...)
		t = append(t, append(cells, fmt.Sprint(" ", settingBase, row.Setting+1)))
	}
	t.align(w, tabwriter.AlignRight)
	test := formatScore(r.TestMean)
	if r.Runs > 1 {
		test += spreadText(*r.TestStd, *r.TestSem, r.Runs)
	}
	say(w, "test %s of the best: %s%s", r.Metric, test, estimated(r.TestSE, r.TestSample))
	say(w, "all settings: %s, figure: %s.svg", filepath.Join(r.Dir, trialsFile), filepath.Join(r.Dir, figureBase))
	say(w, "recipe: gcn train --data %s --recipe %s", run.ShellWord(r.Dataset), run.ShellWord(r.Recipe))
}
