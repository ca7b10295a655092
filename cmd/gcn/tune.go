package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strconv"
	"strings"
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
	"github.com/gcn-layerwise/gcn/train"
)

// The files of a search's folder, beside the folders of its settings.
const (
	tuneFile   = "tune.json"    // the options
	trialsFile = "trials.jsonl" // a line for each setting in each rung
	bestFile   = "best.json"    // the best setting, as a recipe
	figureBase = "tune"         // of .svg and .png
)

// searchOptions are the options of a search of settings.
type searchOptions struct {
	Search []string
	Space  string
	Trials int
	Rungs  int
	Reduce int
	Jobs   int
}

func (o *searchOptions) flags(fs *pflag.FlagSet) {
	fs.StringArrayVar(&o.Search, "search", nil, "an option of gcn train and its values, `NAME=VALUES`: lr=0.01,0.003 or lr=0.0001..0.01:log or dropout=0..0.5; may be repeated")
	fs.StringVar(&o.Space, "space", "", "JSON `FILE` of options and their values, beside --search: {\"lr\": [0.01, 0.003], \"dropout\": \"0..0.5\"}")
	fs.IntVar(&o.Trials, "trials", 0, "settings to draw at random; 0: all combinations of the values")
	fs.IntVar(&o.Rungs, "rungs", 3, "rounds of training: the best settings of each go on to the next, and the last ends at --max-batches")
	fs.IntVar(&o.Reduce, "reduce", 3, "one setting in `N` goes on to the next rung, which has N times the mini-batches")
	fs.IntVar(&o.Jobs, "jobs", 0, "trainings side by side, without effect on the results; 0: one per core, on a GPU 1")
}

// tuneJob is one execution of "gcn tune".
type tuneJob struct {
	trainOptions
	outputOptions
	searchOptions
	fs             *pflag.FlagSet
	stdout, stderr io.Writer

	space    []tune.Dimension
	settings []tune.Setting
	jobs     []*trainJob // one for each setting
	search   tune.Search
	data     *datasets.Data
	rows     []tune.Row
	started  time.Time
}

func newTuneCommand() *cobra.Command {
	j := new(tuneJob)
	cmd := &cobra.Command{
		Use:   "tune",
		Short: "Search for the best setting of a model and its training",
		Long: `Search for the best setting of options of gcn train by successive halving: all
settings train for a few mini-batches with each seed, the best ones go on for more,
and so on. Settings are compared by the mean of their best validation scores. The
test score is computed once, of the best setting.

The folder of the search holds trials.jsonl (a line for each setting in each rung),
tune.svg and tune.png, best.json (the best setting, for gcn train --recipe),
result.json, and the folders of all runs. An interrupted search goes on with
--resume, and ends with the same table.`,
		Example: `  gcn tune --data synth:demo --search lr=0.01,0.003,0.001 --search layers=2,3
  gcn tune --data npy:mygraph --recipe heterophilous-gcn --trials 20 --search lr=1e-4..1e-2:log --search dropout=0..0.6 --runs 3 --out runs/search
  gcn tune --out runs/search --resume     # goes on with it
  gcn train --data npy:mygraph --recipe runs/search/best.json`,
		Args: noArguments,
	}
	fs := cmd.Flags()
	fs.SortFlags = false
	j.searchOptions.flags(fs)
	j.trainOptions.flags(fs)
	fs.Lookup("runs").Usage = "seeds of each setting: seed, seed+1, …"
	fs.Lookup("max-batches").Usage = "mini-batches of the last rung"
	j.Runs, fs.Lookup("runs").DefValue = 3, "3"
	output := pflag.NewFlagSet("", pflag.ContinueOnError)
	j.outputOptions.flags(output)
	for _, name := range []string{"out", "resume", "config", "recipe", "checkpoint-interval", "json", "quiet"} {
		fs.AddFlag(output.Lookup(name))
	}
	fs.Lookup("out").Usage = "the search's folder `DIR` (default: a new folder under runs/)"
	fs.Lookup("resume").Usage = "continue the search in --out, or start it if there is none"
	j.fs = fs
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		j.stdout, j.stderr = cmd.OutOrStdout(), cmd.ErrOrStderr()
		return j.run(cmd.Context())
	}
	groupedHelp(cmd, tuneGroups(fs))
	complete(cmd, "method", methodNames)
	complete(cmd, "data", dataSpecs)
	complete(cmd, "recipe", recipeNames)
	return cmd
}

// tuneGroups holds each flag of "gcn tune" once: the options of training are rare ones.
func tuneGroups(fs *pflag.FlagSet) []flagGroup {
	groups := []flagGroup{
		{"Search", "data search space trials rungs reduce max-batches runs seed jobs", ""},
		{"Training, as for gcn train", "recipe config method samples eval-every patience device", ""},
		{"Output", "out resume json quiet", "checkpoint-interval"},
	}
	var shown []string
	for _, g := range groups {
		shown = append(shown, strings.Fields(g.common+" "+g.rare)...)
	}
	var rest []string
	for _, name := range flagNames(fs) {
		if !slices.Contains(shown, name) {
			rest = append(rest, name)
		}
	}
	groups[1].rare = strings.Join(rest, " ")
	return groups
}

// notSearched are the options of training that are the same for all settings.
var notSearched = []string{"data", "seed", "runs", "max-batches", "epochs", "workers", "device", "partition"}

// tuneResult is the result of a search: --json prints it, and result.json holds it.
type tuneResult struct {
	Dataset  string         `json:"dataset"`
	Metric   string         `json:"metric"`
	Settings int            `json:"settings"`
	Rungs    []rungResult   `json:"rungs"`
	Best     map[string]any `json:"best"` // options
	Valid    number         `json:"best_valid"`
	ValidSem number         `json:"best_valid_sem"`
	TestMean number         `json:"test_mean"`
	TestStd  number         `json:"test_std"`
	TestSem  number         `json:"test_sem"`
	Runs     int            `json:"runs"`
	Seed     uint64         `json:"seed"`
	WallS    number         `json:"wall_s"` // of this process
	PeakRSS  number         `json:"peak_rss_mb"`
	BLAS     string         `json:"blas"`
	Device   string         `json:"device"`
	Dir      string         `json:"run_dir"`  // of the search
	BestDir  string         `json:"best_dir"` // of the runs of the best setting
	Command  string         `json:"command"`  // that trains the best setting again
	Recipe   string         `json:"recipe"`   // best.json
}

type rungResult struct {
	Batches  int `json:"batches"`
	Settings int `json:"settings"`
}

// run searches, and prints the table and the best setting.
func (j *tuneJob) run(ctx context.Context) error {
	j.started = time.Now()
	if err := j.takeSaved(); err != nil {
		return err
	}
	if err := j.plan(ctx); err != nil {
		return err
	}
	dir := j.Out
	if dir == "" {
		var err error
		if dir, err = newRunDir(&j.trainOptions, "tune", time.Now()); err != nil {
			return err
		}
		defer os.Remove(dir) // removes the folder only if it is empty
	}
	folder, err := rundir.Open(dir)
	if err != nil {
		return fmt.Errorf("the search's folder: %w", err)
	}
	defer folder.Close()
	if err := j.openData(ctx); err != nil {
		return err
	}
	if err := j.begin(folder); err != nil {
		return err
	}
	j.tell(dir)
	err = j.halve(ctx, folder, dir)
	var tested *result
	if err == nil {
		tested, err = j.jobs[j.best().Setting].trainAll(ctx, j.data)
	}
	switch {
	case err != nil && ctx.Err() != nil && errors.Is(err, ctx.Err()):
		return interrupted{err, fmt.Sprintf("interrupted, the trials are saved; to go on: gcn tune --out %s --resume", shellWord(dir))}
	case err != nil:
		return err
	}
	return j.conclude(folder, dir, tested)
}

// best returns the row of the best setting in the last rung.
func (j *tuneJob) best() tune.Row {
	return j.rows[slices.IndexFunc(j.rows, func(r tune.Row) bool { return r.Rung == j.Rungs-1 })]
}

// takeSaved gives the options that are not on the command line the values of the search to
// resume.
func (j *tuneJob) takeSaved() error {
	if j.Resume && j.Out == "" {
		return usagef("--resume needs --out, the search's folder")
	}
	if j.Out == "" {
		return nil
	}
	if holdsRun(j.Out) {
		return fmt.Errorf("%s holds a training run: name another folder for a search", j.Out)
	}
	saved, err := readSearch(j.Out)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	case !j.Resume:
		return fmt.Errorf("%s holds a search already: go on with it by --resume, or name another folder", j.Out)
	}
	given := j.fs.Changed("search") || j.fs.Changed("space")
	for name, texts := range saved.Options {
		flag := j.fs.Lookup(name)
		isSpace := name == "search" || name == "space"
		switch {
		case flag == nil:
			return fmt.Errorf("%s: there is no option %q", filepath.Join(j.Out, tuneFile), name)
		case isSpace && given, !isSpace && flag.Changed:
			continue
		}
		for _, text := range texts {
			if err := j.fs.Set(name, text); err != nil {
				return fmt.Errorf("%s: %s: %w", filepath.Join(j.Out, tuneFile), name, flagValueError(err))
			}
		}
	}
	return nil
}

// savedSearch is the contents of tune.json.
type savedSearch struct {
	Options     map[string][]string `json:"options"` // flags that were given, with their values
	Settings    []tune.Setting      `json:"settings"`
	Fingerprint string              `json:"fingerprint"`
}

func readSearch(dir string) (*savedSearch, error) {
	path := filepath.Join(dir, tuneFile)
	text, err := regularfile.Read(path)
	if err != nil {
		return nil, err
	}
	return parseSearch(path, text)
}

// parseSearch decodes the contents of tune.json. Errors begin with the path.
func parseSearch(path string, text []byte) (*savedSearch, error) {
	saved := new(savedSearch)
	if err := json.Unmarshal(text, saved); err != nil {
		return nil, fmt.Errorf("%s: damaged: %w", path, rundir.JSONError(err))
	}
	return saved, nil
}

// saved returns the search as tune.json holds it. It leaves out options without effect on
// the results.
func (j *tuneJob) saved() *savedSearch {
	s := &savedSearch{Options: map[string][]string{}, Settings: j.settings, Fingerprint: train.Fingerprint(j.data)}
	j.fs.Visit(func(f *pflag.Flag) {
		switch f.Name {
		case "out", "resume", "json", "quiet", "jobs", "workers", "checkpoint-interval", helpAll:
		case "search":
			s.Options[f.Name] = j.Search
		default:
			s.Options[f.Name] = []string{f.Value.String()}
		}
	})
	return s
}

// begin writes tune.json, or compares it with the search to resume.
func (j *tuneJob) begin(folder *rundir.Folder) error {
	now := j.saved()
	text, err := folder.Read(tuneFile)
	if errors.Is(err, fs.ErrNotExist) {
		return folder.WriteJSON(tuneFile, now)
	}
	if err != nil {
		return err
	}
	before, err := parseSearch(folder.Path(tuneFile), text)
	if err != nil {
		return err
	}
	for _, options := range []map[string][]string{before.Options, now.Options} {
		for name := range options {
			if was, is := before.Options[name], now.Options[name]; !slices.Equal(was, is) {
				return fmt.Errorf("%s: cannot resume: --%s was %s and is now %s", folder.Path(tuneFile), name, optionList(was), optionList(is))
			}
		}
	}
	if before.Fingerprint != now.Fingerprint {
		return fmt.Errorf("%s: cannot resume: the data have changed", folder.Path(tuneFile))
	}
	if !reflect.DeepEqual(before.Settings, now.Settings) {
		return fmt.Errorf("%s: cannot resume: the settings have changed", folder.Path(tuneFile))
	}
	return nil
}

func optionList(texts []string) string {
	if len(texts) == 0 {
		return "not given"
	}
	return strings.Join(texts, " and ")
}

// plan draws the settings, and checks each of them.
func (j *tuneJob) plan(ctx context.Context) error {
	for _, c := range []struct {
		name         string
		value, least int
	}{{"trials", j.Trials, 0}, {"rungs", j.Rungs, 1}, {"reduce", j.Reduce, 2}, {"jobs", j.Jobs, 0}, {"runs", j.Runs, 1}} {
		if err := atLeast(c.name, c.value, c.least); err != nil {
			return err
		}
	}
	if j.fs.Changed("epochs") {
		return usagef("gcn tune counts mini-batches: give --max-batches in place of --epochs")
	}
	if err := j.readSpace(ctx); err != nil {
		return err
	}
	var err error
	if j.settings, err = tune.Draw(j.space, j.Trials, j.Seed); err != nil {
		return usagef("%w: see --search and --trials", err)
	}
	if err := j.trainOptions.openDevice(); err != nil {
		return err
	}
	for k := range j.settings {
		job, err := j.job(ctx, k)
		if err != nil {
			var usage usageError
			if errors.As(err, &usage) {
				return usagef("setting %s: %w", j.settingText(k), noUsage(err))
			}
			return err
		}
		j.jobs = append(j.jobs, job)
	}
	first := j.jobs[0]
	if first.MaxBatches == 0 {
		return usagef("--max-batches 0: gcn tune needs a number, the mini-batches of the last rung")
	}
	j.Data = first.Data
	switch {
	case j.Jobs > 1 && j.Device != "cpu":
		return usagef("--jobs %d with --device %s: a GPU trains one setting at a time", j.Jobs, j.Device)
	case j.Jobs == 0 && j.Device != "cpu":
		j.Jobs = 1
	case j.Jobs == 0:
		j.Jobs = runtime.GOMAXPROCS(0)
	}
	j.search = tune.Search{Settings: len(j.settings), Seeds: j.Runs, Rungs: j.Rungs, Reduce: j.Reduce, Batches: first.MaxBatches, Jobs: j.Jobs}
	if err := j.search.Check(); err != nil {
		return usagef("%w", err)
	}
	return nil
}

// readSpace reads the options and their values from --search and --space.
func (j *tuneJob) readSpace(ctx context.Context) error {
	if j.Space != "" {
		file, err := readConfig(ctx, j.Space)
		if err != nil {
			return err
		}
		for _, v := range file.values {
			if err := j.addDimension(v.flag, v.text); err != nil {
				return usagef("space: %s:%d: %w", j.Space, v.line, noUsage(err))
			}
		}
	}
	for _, text := range j.Search {
		name, values, found := strings.Cut(text, "=")
		if !found {
			return usagef("--search %q: want NAME=VALUES, such as lr=0.01,0.003", text)
		}
		if err := j.addDimension(flagName(strings.TrimPrefix(name, "--")), values); err != nil {
			return usagef("--search %w", noUsage(err))
		}
	}
	return nil
}

func (j *tuneJob) addDimension(name, values string) error {
	options := pflag.NewFlagSet("", pflag.ContinueOnError)
	new(trainOptions).flags(options)
	flag := options.Lookup(name)
	switch {
	case flag == nil:
		return usagef("%s: unknown option%s", name, didYouMean(name, flagNames(options)))
	case slices.Contains(notSearched, name):
		return usagef("%s is the same for all settings: give it as --%[1]s", name)
	case j.fs.Changed(name):
		return usagef("%s is given as --%[1]s too: leave out either", name)
	}
	d, err := tune.ParseDimension(name, values, flag.Value.Type() == "int")
	if err != nil {
		return err
	}
	for _, v := range d.Values {
		if err := options.Set(name, v); err != nil {
			return flagValueError(err)
		}
	}
	j.space = append(j.space, d)
	return nil
}

// job returns the training of setting k, with checked options.
func (j *tuneJob) job(ctx context.Context, k int) (*trainJob, error) {
	job := &trainJob{
		trainOptions: new(trainOptions), outputOptions: &outputOptions{}, fs: pflag.NewFlagSet("", pflag.ContinueOnError),
		stdout: io.Discard, stderr: j.stderr,
	}
	job.trainOptions.flags(job.fs)
	job.outputOptions.flags(job.fs)
	set := func(name, value string) (err error) {
		if err = job.fs.Set(name, value); err != nil {
			err = usageError{flagValueError(err)}
		}
		return err
	}
	var failed error
	j.fs.Visit(func(f *pflag.Flag) {
		if job.fs.Lookup(f.Name) != nil && !slices.Contains([]string{"out", "resume", "json", "quiet", "device"}, f.Name) && failed == nil {
			failed = set(f.Name, f.Value.String())
		}
	})
	for i, d := range j.space {
		if failed == nil {
			failed = set(d.Option, j.settings[k][i])
		}
	}
	if failed == nil {
		failed = set("runs", strconv.Itoa(j.Runs))
	}
	if failed == nil {
		failed = set("seed", strconv.FormatUint(j.Seed, 10))
	}
	if failed != nil {
		return nil, failed
	}
	job.Quiet = j.Quiet || k > 0 // the recipe is printed once
	if err := job.fillOptions(ctx); err != nil {
		return nil, err
	}
	if job.auto {
		return nil, usagef("--samples auto is for gcn train: give numbers")
	}
	job.Quiet, job.Resume, job.Device, job.device = true, true, j.Device, j.device
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
	var err error
	if j.data, err = openData(ctx, j.Data); err != nil {
		return err
	}
	if len(j.data.Split.Valid) == 0 {
		return fmt.Errorf("%s has no validation nodes; gcn tune compares settings by their score", j.Data)
	}
	var first *trainJob
	for _, job := range j.jobs {
		switch {
		case !job.ExactInput:
		case first != nil:
			job.exact = first.exact
		default:
			if err := job.propagate(ctx, j.data, nil); err != nil {
				return err
			}
			first = job
		}
		if job.Workers == 0 {
			job.Workers = max(1, runtime.GOMAXPROCS(0)/j.search.Jobs)
		}
	}
	return nil
}

// tell prints the plan of the search.
func (j *tuneJob) tell(dir string) {
	if j.Quiet {
		return
	}
	batches, settings := j.search.Plan()
	words := make([]string, len(batches))
	for r := range batches {
		words[r] = fmt.Sprintf("%d to mini-batch %d", settings[r], batches[r])
	}
	say(j.stderr, "%s: %d settings, %d seeds from %d, in %s", j.Data, len(j.settings), j.Runs, j.Seed, dir)
	say(j.stderr, "settings in each rung: %s", strings.Join(words, ", "))
}

// halve runs the search, and writes a line for each setting after each rung.
func (j *tuneJob) halve(ctx context.Context, folder *rundir.Folder, dir string) error {
	for k, job := range j.jobs {
		job.Out = filepath.Join(dir, fmt.Sprintf("setting-%d", k+1))
	}
	shown := newTuneProgress(j.stderr, j.Quiet, &j.search)
	defer shown.finish()
	j.search.Train = func(ctx context.Context, t tune.Trial) (float64, error) {
		score, err := j.trial(ctx, t, shown)
		if err != nil && ctx.Err() == nil {
			err = fmt.Errorf("setting %d (%s): %w", t.Setting+1, j.settingText(t.Setting), err)
		}
		return score, err
	}
	j.search.Ranked = func(rows []tune.Row) error {
		j.rows = append(j.rows, rows...)
		best := rows[0]
		shown.ranked(fmt.Sprintf("rung %d/%d: best validation %s %s, %s", best.Rung+1, j.Rungs, j.data.Metric, formatScore(best.Valid), j.settingText(best.Setting)))
		return folder.Write(trialsFile, j.writeRows)
	}
	parallel.Reserve(j.Jobs - 1) // the trials share the cores
	defer parallel.Reserve(1 - j.Jobs)
	_, err := j.search.Run(ctx)
	return err
}

// writeRows writes trials.jsonl.
func (j *tuneJob) writeRows(w io.Writer) error {
	for _, r := range j.rows {
		options := map[string]any{}
		for i, d := range j.space {
			options[configName(d.Option)] = jsonValue(j.settings[r.Setting][i])
		}
		r.Setting++ // as the folders
		r.Rung++
		line := struct {
			tune.Row
			Options map[string]any `json:"options"`
		}{r, options}
		if err := printJSON(w, line); err != nil {
			return err
		}
	}
	return nil
}

// trial trains a setting with one seed up to a number of mini-batches, unless its folder
// shows that it is done, and returns its best validation score.
func (j *tuneJob) trial(ctx context.Context, t tune.Trial, shown *tuneProgress) (float64, error) {
	job := *j.jobs[t.Setting]
	options := *job.trainOptions
	job.trainOptions = &options
	dir, seed := job.Out, options.Seed+uint64(t.Seed)
	if options.Runs > 1 {
		dir = filepath.Join(dir, seedFolder(seed))
	}
	score, done, err := scoreAfter(dir, t.Batches, options.Patience)
	if err == nil && !done {
		pausing, pause := context.WithCancel(ctx)
		defer pause()
		watch := &trialProgress{all: shown, from: t.From, to: t.Batches, patience: options.Patience, pause: pause}
		job.display = watch
		_, err = job.trainOnce(pausing, j.data, dir, seed, "", nil)
		switch {
		case errors.Is(err, train.ErrNotFinite):
			shown.add(t.Batches - max(t.From, watch.at))
			return math.NaN(), nil
		case errors.As(err, new(*fs.PathError)): // such as a full disk
		case ctx.Err() != nil && err != nil:
			err = ctx.Err() // also if the rung ended at the same moment
		case watch.paused:
			err = nil
		}
		shown.add(t.Batches - max(t.From, watch.at))
		if err == nil {
			score, done, err = scoreAfter(dir, t.Batches, options.Patience)
		}
		if err == nil && !done {
			err = fmt.Errorf("%s: the run ended before mini-batch %d", dir, t.Batches)
		}
		return score, err
	}
	shown.add(t.Batches - t.From)
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

// conclude writes and prints the results. tested is the result of the best setting's runs.
func (j *tuneJob) conclude(folder *rundir.Folder, dir string, tested *result) error {
	best := j.best()
	job := j.jobs[best.Setting]
	values := job.chosen()
	recipe := map[string]any{}
	for _, v := range values {
		recipe[configName(v.flag)] = jsonValue(v.text)
	}
	if err := folder.WriteJSON(bestFile, recipe); err != nil {
		return err
	}
	figure := tune.Figure(j.space, j.settings, j.rows, string(j.data.Metric))
	if err := figure.Save(filepath.Join(dir, figureBase)); err != nil {
		return err
	}
	r := &tuneResult{
		Dataset: j.Data, Metric: string(j.data.Metric), Settings: len(j.settings), Best: recipe,
		Valid: best.Valid, ValidSem: best.SEM, TestMean: tested.Test, TestStd: number(math.NaN()), TestSem: number(math.NaN()),
		Runs: j.Runs, Seed: j.Seed, WallS: measured(time.Since(j.started).Seconds()), PeakRSS: measured(peakRSS()), BLAS: blasName(), Device: j.Device,
		Dir: dir, BestDir: job.Out, Recipe: folder.Path(bestFile),
		Command: "gcn train --data " + shellWord(j.Data) + " " + optionsText(values) + fmt.Sprintf(" --runs %d --seed %d", j.Runs, j.Seed),
	}
	if tested.TestStd != nil {
		r.TestStd, r.TestSem = *tested.TestStd, *tested.TestSem
	}
	batches, settings := j.search.Plan()
	for k := range batches {
		r.Rungs = append(r.Rungs, rungResult{batches[k], settings[k]})
	}
	if err := folder.WriteJSON(rundir.ResultFile, finite.JSON(r)); err != nil {
		return fmt.Errorf("the result could not be saved: %w", err)
	}
	if j.JSON {
		return printJSON(j.stdout, r)
	}
	return j.print(r)
}

// chosen returns the options that a recipe of this setting holds: all that the command line,
// a file, a recipe or the search has set, but not the data, the seeds and the machine.
func (j *trainJob) chosen() []configValue {
	options := pflag.NewFlagSet("", pflag.ContinueOnError)
	new(trainOptions).flags(options)
	var values []configValue
	j.fs.Visit(func(f *pflag.Flag) {
		if options.Lookup(f.Name) != nil && !slices.Contains([]string{"data", "seed", "runs", "workers", "device", "partition"}, f.Name) {
			values = append(values, configValue{name: configName(f.Name), flag: f.Name, text: f.Value.String()})
		}
	})
	return values
}

// jsonValue returns the value of an option as a file of options holds it.
func jsonValue(text string) any {
	switch number, err := strconv.ParseFloat(text, 64); {
	case err == nil && finite.Is(number):
		return number
	case text == "true":
		return true
	case text == "false":
		return false
	}
	if numbers := new(intList); strings.Contains(text, ",") && numbers.Set(text) == nil {
		return []int(*numbers)
	}
	return text
}

// print writes the table of the settings, the test score of the best one, and the command
// that trains it.
func (j *tuneJob) print(r *tuneResult) error {
	const most = 20 // rows
	t := newTable(true)
	header := []any{"place", "valid " + r.Metric, "± sem", "mini-batches"}
	for _, d := range j.space {
		header = append(header, d.Option)
	}
	t.row(append(header, " setting")...)
	place := 0
	listed := make([]bool, len(j.settings))
	for rung := j.Rungs - 1; rung >= 0; rung-- {
		for _, row := range j.rows {
			if row.Rung != rung || listed[row.Setting] {
				continue
			}
			listed[row.Setting] = true
			if place++; place > most {
				continue
			}
			score, sem := "diverged", ""
			if finite.Is(float64(row.Valid)) {
				score = formatScore(row.Valid)
			}
			if finite.Is(float64(row.SEM)) {
				sem = formatScore(row.SEM)
			}
			cells := []any{place, score, sem, row.Batches}
			for _, v := range j.settings[row.Setting] {
				cells = append(cells, v)
			}
			t.row(append(cells, fmt.Sprintf(" setting-%d", row.Setting+1))...)
		}
	}
	if err := t.print(j.stdout); err != nil {
		return err
	}
	if place > most {
		if err := printLine(j.stdout, "and %d more in %s", place-most, filepath.Join(r.Dir, trialsFile)); err != nil {
			return err
		}
	}
	test := fmt.Sprintf("test %s of the best: %s", r.Metric, formatScore(r.TestMean))
	if j.Runs > 1 {
		test += fmt.Sprintf(" ± %s over %d runs (standard deviation; standard error %s)", formatScore(r.TestStd), j.Runs, formatScore(r.TestSem))
	}
	for _, line := range []string{
		test,
		"figure: " + filepath.Join(r.Dir, figureBase+".svg"),
		"recipe: gcn train --data " + shellWord(j.Data) + " --recipe " + shellWord(r.Recipe),
		"in full: " + r.Command,
	} {
		if err := printLine(j.stdout, "%s", line); err != nil {
			return err
		}
	}
	return nil
}
