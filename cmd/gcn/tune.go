package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"runtime"
	"slices"
	"strconv"
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
	cmd := newCommand(&cobra.Command{
		Use: "tune",
		RunE: func(cmd *cobra.Command, _ []string) error {
			j.fs, j.stderr = cmd.Flags(), cmd.ErrOrStderr()
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
	tuneGroups(fs)
	groupedHelp(cmd)
	return cmd
}

// tuneGroups puts the options of the search in a group of their own, and makes the other
// options of training rare ones.
func tuneGroups(fs *pflag.FlagSet) {
	search := strings.Fields("search trials rungs reduce jobs data max-batches runs seed")
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

// run searches, and tests the best setting.
func (j *tuneJob) run(ctx context.Context) (*tuneResult, error) {
	if err := run.Check(&j.Output); err != nil {
		return nil, err
	}
	j.started = time.Now()
	if err := j.takeSaved(); err != nil {
		return nil, err
	}
	j.stderr = unlessQuiet(j.Quiet, j.stderr)
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
		tested, err = j.jobs[tune.Best(j.rows).Setting].trainAll(ctx, j.data)
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

// plan draws the settings, and checks each of them.
func (j *tuneJob) plan(ctx context.Context) error {
	if err := j.readSpace(); err != nil {
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
		job, err := j.job(k)
		if err != nil {
			if wrong := new(run.OptionError); errors.As(err, &wrong) && wrong.Place == "" {
				return usagef("setting %s: %w", j.settingText(k), err)
			}
			return err
		}
		j.jobs = append(j.jobs, job)
	}
	first := j.jobs[0]
	if err := first.Open(); err != nil {
		return err
	}
	switch gpu := first.Device != "cpu"; {
	case first.Epochs > 0: // perhaps from a recipe
		return usagef("--epochs %d: gcn tune counts mini-batches: give --max-batches and --epochs 0", first.Epochs)
	case first.MaxBatches == 0:
		return usagef("--max-batches 0: gcn tune needs a number, the mini-batches of the last rung")
	case j.Jobs > 1 && gpu:
		return usagef("--jobs %d with --device %s: a GPU trains one setting at a time", j.Jobs, first.Device)
	case gpu:
		j.Jobs = 1
	default:
		j.Jobs = cmp.Or(j.Jobs, runtime.GOMAXPROCS(0))
	}
	j.search = tune.Search{Settings: len(j.settings), Seeds: first.Runs, Rungs: j.Rungs, Reduce: j.Reduce, Batches: first.MaxBatches, Jobs: j.Jobs}
	// Without --rungs there are as many as have evaluations of their own.
	for err = j.checkRungs(); err != nil && !j.fs.Changed("rungs") && j.search.Rungs > 1; err = j.checkRungs() {
		j.fewer = cmp.Or(j.fewer, err)
		j.search.Rungs--
	}
	return err
}

// checkRungs returns an error about rungs that are too short, or if two rungs of a setting end
// at the same evaluation: the second would compare the scores of the first again.
func (j *tuneJob) checkRungs() error {
	if err := j.search.Check(); err != nil {
		return usagef("%w", err)
	}
	rungs := j.search.Plan()
	for k, job := range j.jobs {
		every := job.EvalEvery
		for r := 1; r < len(rungs) && every > 0; r++ { // 0: auto
			if (rungs[r-1].Batches-1)/every == (rungs[r].Batches-1)/every {
				return usagef("setting %s: with --eval-every %d the rungs of %d and of %d mini-batches end at the same evaluation; take --eval-every %d or less",
					j.settingText(k), every, rungs[r-1].Batches, rungs[r].Batches, rungs[0].Batches)
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
	for _, job := range j.jobs {
		if err := job.Resolve(ctx, j.data, mostHistoryBytes, nil); err != nil {
			return err
		}
		job.GPU = j.jobs[0].GPU
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
		job.stderr = io.Discard
		job.Workers = cmp.Or(job.Workers, max(1, runtime.GOMAXPROCS(0)/j.search.Jobs))
	}
	return nil
}

// tell prints the plan of the search.
func (j *tuneJob) tell(dir string) {
	var words []string
	for _, r := range j.search.Plan() {
		words = append(words, fmt.Sprintf("%d to mini-batch %d", r.Settings, r.Batches))
	}
	say(j.stderr, "%s: %d settings, %d seeds from %d, in %s", j.jobs[0].Data, len(j.settings), j.jobs[0].Runs, j.jobs[0].Seed, dir)
	say(j.stderr, "settings in each rung: %s", strings.Join(words, ", "))
	if j.fewer != nil {
		say(j.stderr, "fewer rungs than usual: %v", j.fewer)
	}
}

// notSearched are the options of training that are the same for all settings. Scores of
// different nodes cannot be compared.
var notSearched = []string{"data", "seed", "runs", "max-batches", "epochs", "eval-samples", "workers", "device", "partition"}

// readSpace reads the options and their values from --search.
func (j *tuneJob) readSpace() error {
	for _, text := range j.Search {
		name, values, found := strings.Cut(text, "=")
		if !found {
			return usagef("--search %q: want NAME=VALUES, such as lr=0.01,0.003", text)
		}
		if err := j.addDimension(strings.ReplaceAll(strings.TrimPrefix(name, "--"), "_", "-"), values); err != nil {
			return usagef("--search %w", err)
		}
	}
	return nil
}

func (j *tuneJob) addDimension(name, values string) error {
	scratch := run.New()
	option, known := run.Find(name)
	switch {
	case !known:
		return scratch.Set(run.Value{Option: name})
	case slices.Contains(notSearched, name):
		return fmt.Errorf("%s is the same for all settings: give it as --%[1]s", name)
	case j.fs.Changed(name):
		return fmt.Errorf("%s is given as --%[1]s too: leave out either", name)
	}
	d, err := tune.ParseDimension(name, values, option.Whole)
	if err != nil {
		return err
	}
	for _, v := range d.Values {
		if err := scratch.Set(run.Value{Option: name, Text: v}); err != nil {
			return err
		}
	}
	j.space = append(j.space, d)
	return nil
}

// job returns the training of setting k, with checked options.
func (j *tuneJob) job(k int) (*trainJob, error) {
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
	if err := job.plan(j.recipe, j.file, nil, values); err != nil {
		return nil, err
	}
	if job.Settings.Samples.Auto() {
		return nil, usagef("--samples auto is for gcn train: give numbers")
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
