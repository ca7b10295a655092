package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/gcn-layerwise/gcn/datasets"
	"github.com/gcn-layerwise/gcn/internal/rundir"
	"github.com/gcn-layerwise/gcn/internal/tune"
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
	fs.IntVar(&o.Rungs, "rungs", 3, "rounds of training: the best settings of each go on to the next, and the last ends at --max-batches; without this option, fewer if there are too few evaluations")
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
	fewer    error // the reason for fewer rungs than the default; nil: none
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
		saved := ", the trials are saved"
		var file *fs.PathError
		if errors.As(err, &file) { // the last checkpoint could not be written
			saved = fmt.Sprintf("; not saved: %v", file)
		}
		return interrupted{err, fmt.Sprintf("interrupted%s; to go on: gcn tune --out %s --resume", saved, shellWord(dir))}
	case err != nil:
		return err
	}
	return j.conclude(folder, dir, tested)
}

// best returns the row of the best setting in the last rung.
func (j *tuneJob) best() tune.Row {
	return j.rows[slices.IndexFunc(j.rows, func(r tune.Row) bool { return r.Rung == j.Rungs-1 })]
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
	if first.Epochs > 0 { // perhaps from a recipe
		return usagef("--epochs %d: gcn tune counts mini-batches: give --max-batches and --epochs 0", first.Epochs)
	}
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
	return j.fitRungs()
}

// fitRungs checks the rungs. If --rungs is not given, it takes as many as have evaluations of
// their own.
func (j *tuneJob) fitRungs() error {
	check := func() error {
		if err := j.search.Check(); err != nil {
			return usagef("%w", err)
		}
		return j.checkEvaluations()
	}
	err := check()
	if err == nil || j.fs.Changed("rungs") {
		return err
	}
	for j.fewer = noUsage(err); err != nil && j.search.Rungs > 1; err = check() {
		j.search.Rungs--
	}
	j.Rungs = j.search.Rungs
	return err
}

// checkEvaluations returns an error if two rungs of a setting end at the same evaluation: the
// second would compare the scores of the first again.
func (j *tuneJob) checkEvaluations() error {
	batches, _ := j.search.Plan()
	for k, job := range j.jobs {
		every := int(job.EvalEvery)
		for r := 1; r < len(batches) && job.EvalEvery != autoInterval && every > 0; r++ {
			if (batches[r-1]-1)/every == (batches[r]-1)/every {
				return usagef("setting %s: with --eval-every %d the rungs of %d and of %d mini-batches end at the same evaluation; take --eval-every %d or less",
					j.settingText(k), every, batches[r-1], batches[r], batches[0])
			}
		}
	}
	return nil
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
	for k, job := range j.jobs {
		job.Quiet = j.Quiet || k > 0
		if err := job.leaveHistories(j.data, mostHistoryBytes); err != nil {
			return err
		}
		job.Quiet = true
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
	if j.fewer != nil {
		say(j.stderr, "fewer rungs than usual: %v", j.fewer)
	}
}
