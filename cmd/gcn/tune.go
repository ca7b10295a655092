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
	"github.com/gcn-layerwise/gcn/run"
)

// searchOptions are the options of a search of settings.
type searchOptions struct {
	Search repeated `json:"search" arg:"NAME=VALUES" help:"an option of gcn train and its values, NAME=VALUES: lr=0.01,0.003 or lr=0.0001..0.01:log or dropout=0..0.5; may be repeated"`
	Space  string   `json:"space" arg:"FILE" help:"JSON FILE of options and their values, beside --search: {\"lr\": [0.01, 0.003], \"dropout\": \"0..0.5\"}"`
	Trials int      `json:"trials" default:"0" range:"[0," help:"settings to draw at random; 0: all combinations of the values"`
	Rungs  int      `json:"rungs" default:"3" range:"[1," help:"rounds of training: the best settings of each go on to the next, and the last ends at --max-batches; without this option, fewer if there are too few evaluations"`
	Reduce int      `json:"reduce" default:"3" range:"[2," arg:"N" help:"one setting in N goes on to the next rung, which has N times the mini-batches"`
	Jobs   int      `json:"jobs" default:"0" range:"[0," help:"trainings side by side, without effect on the results; 0: one per core, on a GPU 1"`
}

// tuneJob is one execution of "gcn tune".
type tuneJob struct {
	flags run.Settings // of the command line
	run.Output
	searchOptions
	fs     *pflag.FlagSet
	stderr io.Writer

	space        []tune.Dimension
	settings     []tune.Setting
	jobs         []*trainJob // one for each setting
	recipe, file *run.File   // of --recipe and --config; nil: none
	search       tune.Search
	fewer        error // the reason for fewer rungs than the default; nil: none
	data         *datasets.Data
	rows         []tune.Row
	started      time.Time
}

func newTuneCommand() *cobra.Command {
	j := new(tuneJob)
	cmd := &cobra.Command{
		Use: "tune",
		RunE: func(cmd *cobra.Command, _ []string) error {
			j.fs, j.stderr = cmd.Flags(), cmd.ErrOrStderr()
			r, err := j.run(cmd.Context())
			if err != nil {
				return err
			}
			return result(cmd, r, func(w io.Writer) { j.print(w, r) })
		},
	}
	newCommand(cmd, &j.searchOptions)
	addFlags(cmd, &j.flags)
	addFlags(cmd, &j.Output, "out", "resume", "recipe", "config", "json", "quiet")
	fs := cmd.Flags()
	fs.Lookup("runs").Usage = "seeds of each setting: seed, seed+1, …"
	fs.Lookup("max-batches").Usage = "mini-batches of the last rung"
	j.flags.Runs, fs.Lookup("runs").DefValue = 3, "3"
	fs.Lookup("out").Usage = "the search's folder `DIR` (default: a new folder under runs/)"
	fs.Lookup("resume").Usage = "continue the search in --out, or start it if there is none"
	tuneGroups(fs)
	groupedHelp(cmd)
	return cmd
}

// tuneGroups puts the options of the search in a group of their own, and makes the other
// options of training rare ones.
func tuneGroups(fs *pflag.FlagSet) {
	search := strings.Fields("search space trials rungs reduce jobs data max-batches runs seed")
	shown := strings.Fields("method samples eval-every patience device")
	fs.VisitAll(func(f *pflag.Flag) {
		group := "Training, as for gcn train"
		switch {
		case slices.Contains(search, f.Name):
			group = "Search"
		case slices.Contains(f.Annotations[run.GroupAnnotation], "Output"):
			return
		}
		f.Annotations = map[string][]string{run.GroupAnnotation: {group}}
		if group != "Search" && !slices.Contains(shown, f.Name) {
			f.Annotations[run.RareAnnotation] = nil
		}
	})
}

// run searches, and prints the table and the best setting.
func (j *tuneJob) run(ctx context.Context) (*tuneResult, error) {
	if err := run.Check(&j.Output); err != nil {
		return nil, err
	}
	j.started = time.Now()
	if err := j.takeSaved(); err != nil {
		return nil, err
	}
	if err := j.plan(ctx); err != nil {
		return nil, err
	}
	dir := j.Out
	if dir == "" {
		var err error
		if dir, err = j.jobs[0].NewDir("tune", time.Now()); err != nil {
			return nil, err
		}
		defer os.Remove(dir) // removes the folder only if it is empty
	}
	folder, err := rundir.Open(dir)
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
	j.tell(dir)
	err = j.halve(ctx, folder, dir)
	var tested *run.Result
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
		return nil, run.Interrupted{Err: err, Message: fmt.Sprintf("interrupted%s; to go on: gcn tune --out %s --resume", saved, run.ShellWord(dir))}
	case err != nil:
		return nil, err
	}
	return j.conclude(folder, dir, tested)
}

// best returns the row of the best setting in the last rung.
func (j *tuneJob) best() tune.Row {
	return j.rows[slices.IndexFunc(j.rows, func(r tune.Row) bool { return r.Rung == j.Rungs-1 })]
}

// plan draws the settings, and checks each of them.
func (j *tuneJob) plan(ctx context.Context) error {
	if err := j.readSpace(ctx); err != nil {
		return err
	}
	var err error
	if j.settings, err = tune.Draw(j.space, j.Trials, j.flags.Seed); err != nil {
		return usagef("%w: see --search and --trials", err)
	}
	if j.recipe, j.file, err = j.Files(ctx); err != nil {
		return err
	}
	for k := range j.settings {
		job, err := j.job(ctx, k)
		if err != nil {
			if wrong := new(run.OptionError); errors.As(err, &wrong) && wrong.Place == "" {
				return usagef("setting %s: %w", j.settingText(k), err)
			}
			return err
		}
		if k == 0 {
			err = job.Open()
		} else {
			job.GPU = j.jobs[0].GPU
		}
		if err != nil {
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
	switch {
	case j.Jobs > 1 && first.Device != "cpu":
		return usagef("--jobs %d with --device %s: a GPU trains one setting at a time", j.Jobs, first.Device)
	case j.Jobs == 0 && first.Device != "cpu":
		j.Jobs = 1
	case j.Jobs == 0:
		j.Jobs = runtime.GOMAXPROCS(0)
	}
	j.search = tune.Search{Settings: len(j.settings), Seeds: first.Runs, Rungs: j.Rungs, Reduce: j.Reduce, Batches: first.MaxBatches, Jobs: j.Jobs}
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
	for j.fewer = err; err != nil && j.search.Rungs > 1; err = check() {
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
		every := job.EvalEvery
		for r := 1; r < len(batches) && every > 0; r++ { // 0: auto
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
	if j.data, err = openData(ctx, j.jobs[0].Data); err != nil {
		return err
	}
	if len(j.data.Split.Valid) == 0 {
		return fmt.Errorf("%s has no validation nodes; gcn tune compares settings by their score", j.jobs[0].Data)
	}
	var first *trainJob
	for k, job := range j.jobs {
		job.Quiet = j.Quiet || k > 0
		if err := job.Resolve(ctx, j.data, mostHistoryBytes, nil); err != nil {
			return err
		}
		job.Quiet = true
		switch {
		case !job.ExactInput:
		case first != nil:
			job.Exact = first.Exact
		default:
			if err := job.Propagate(ctx, j.data, nil); err != nil {
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
	say(j.stderr, "%s: %d settings, %d seeds from %d, in %s", j.jobs[0].Data, len(j.settings), j.jobs[0].Runs, j.jobs[0].Seed, dir)
	say(j.stderr, "settings in each rung: %s", strings.Join(words, ", "))
	if j.fewer != nil {
		say(j.stderr, "fewer rungs than usual: %v", j.fewer)
	}
}
