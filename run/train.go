package run

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/gcn-layerwise/gcn/datasets"
	"github.com/gcn-layerwise/gcn/internal/finite"
	"github.com/gcn-layerwise/gcn/internal/mpi"
	"github.com/gcn-layerwise/gcn/internal/rundir"
	"github.com/gcn-layerwise/gcn/layers"
	"github.com/gcn-layerwise/gcn/train"
)

// Job trains a plan, once or with several seeds, alone or with MPI's ranks.
type Job struct {
	*Plan
	Output
	World *mpi.World            // nil: this process alone
	Parts *train.Partition      // of the data over ranks; nil: none
	Bound layers.InferenceBound // of evaluations

	Say  func(format string, args ...any)         // prints a message
	Show func(prefix string) func(train.Progress) // begins the display of a run

	// The model of the last run, and its training.
	Trained *layers.GCN
	History *train.Result
}

// Follows reports whether this process is a rank other than 0.
func (j *Job) Follows() bool { return j.World != nil && j.World.Rank() > 0 }

// Train trains in the folder Out, once or several times. Ranks other than 0 have no result, and
// use no folder.
func (j *Job) Train(ctx context.Context, data *datasets.Data) (*Result, error) {
	if j.Runs == 1 {
		if several, _ := fs.Glob(os.DirFS(j.Out), "seed-*/"+rundir.ConfigFile); several != nil && !j.Follows() {
			return nil, fmt.Errorf("%s holds several runs: name another folder, or their number by --runs", j.Out)
		}
		return j.Once(ctx, data, j.Out, j.Seed, "", nil)
	}
	var folder *rundir.Folder
	if !j.Follows() {
		var err error
		if folder, err = j.openSeveral(); err != nil {
			return nil, err
		}
		defer folder.Close()
	}
	begin := func() error { return j.beginSeveral(folder, data) } // Fit calls it on rank 0 only: the others have no folder
	var runs []Result
	for i := range j.Runs {
		seed, prefix := j.Seed+uint64(i), fmt.Sprintf("run %d/%d  ", i+1, j.Runs)
		r, err := j.Once(ctx, data, filepath.Join(j.Out, SeedFolder(seed)), seed, prefix, begin)
		if err != nil {
			return nil, err
		}
		if begin = nil; r != nil {
			runs = append(runs, *r)
		}
	}
	if folder == nil {
		return nil, nil
	}
	r := summarize(runs, j.Out)
	if err := folder.WriteJSON(rundir.ResultFile, finite.JSON(r)); err != nil {
		return nil, fmt.Errorf("the result could not be saved: %w", err)
	}
	return r, nil
}

// openSeveral locks the folder of several runs. Each run has its own folder in it, and a run is
// resumed with its own settings only.
func (j *Job) openSeveral() (*rundir.Folder, error) {
	folder, err := rundir.Open(j.Out)
	if err != nil {
		return nil, fmt.Errorf("the runs' folder: %w", err)
	}
	present := folder.Present()
	switch {
	case slices.ContainsFunc(present, func(name string) bool { return name != rundir.ConfigFile && name != rundir.ResultFile }):
		err = fmt.Errorf("%s holds a single run: name another folder for several runs", j.Out)
	case len(present) > 0 && !j.Resume && !j.Overwrite:
		err = takenError(j.Out)
	}
	if err != nil {
		folder.Close()
	}
	return folder, err
}

// beginSeveral writes the settings of several runs into their folder, when the first run is ready.
// With Overwrite it removes all runs but the first one's, which Fit overwrites: --resume would
// continue them after an interruption.
func (j *Job) beginSeveral(folder *rundir.Folder, data *datasets.Data) error {
	entries, err := os.ReadDir(j.Out)
	for _, e := range entries {
		var seed uint64
		_, _ = fmt.Sscanf(e.Name(), "seed-%d", &seed) // 0: another name
		if err == nil && j.Overwrite && e.Name() == SeedFolder(seed) && seed != j.Seed {
			err = removeRun(folder.Path(e.Name()))
		}
	}
	if err != nil {
		return fmt.Errorf("overwriting runs: %w", err)
	}
	if err := folder.Remove(rundir.ResultFile); err != nil { // it may be of other runs
		return err
	}
	config := j.config() // with the first run's choice of --eval-every
	config["fingerprint"], config[rundir.SchemaField] = train.Fingerprint(data), rundir.Schema
	return folder.WriteJSON(rundir.ConfigFile, config)
}

// removeRun removes the files of the run in a folder.
func removeRun(dir string) error {
	folder, err := rundir.Open(dir)
	if err != nil {
		return err
	}
	defer folder.Close()
	return folder.Remove(folder.Present()...)
}

// Once trains with one seed, in the given folder. It calls begin, if not nil, before it writes
// anything.
func (j *Job) Once(ctx context.Context, data *datasets.Data, dir string, seed uint64, prefix string, begin func() error) (*Result, error) {
	j.ChooseLimits(data)
	p := *j.Plan
	p.Seed, p.Runs = seed, 1
	model, err := p.NewModel(ctx, data)
	if err != nil {
		return nil, err
	}
	model.Bound = j.Bound
	if p.EvalEvery == 0 {
		interval, share, err := train.EvaluationInterval(ctx, model, data, j.Fit())
		if err != nil {
			return nil, err
		}
		why := ""
		if share > 0.3 {
			why = ", since auto takes at most a tenth of the limit (--max-batches or --epochs) and half of --patience"
		}
		j.Say("an evaluation every %d batches: about %.0f %% of the work%s", interval, 100*share, why)
		p.EvalEvery, j.EvalEvery = interval, interval // of the runs after it, too
	}
	options := p.Fit()
	options.Dir, options.Resume, options.Overwrite = dir, j.Resume, j.Overwrite
	options.Progress, options.Begin = j.Show(prefix), begin
	if j.World != nil {
		options.Group, options.Partition = j.World, j.Parts
	}
	var r *Result
	options.Result = func(history *train.Result) any {
		r = j.result(&p, history, data, dir)
		return r
	}
	history, err := train.Fit(ctx, model, data, options)
	if err != nil {
		if history != nil && errors.Is(err, ctx.Err()) {
			then := fmt.Sprintf("to go on: gcn train --out %s --resume", ShellWord(j.Out))
			if file, is := errors.AsType[*fs.PathError](err); is { // the last checkpoint could not be written
				then = fmt.Sprintf("not saved: %v", file)
			}
			err = Interrupted{err, fmt.Sprintf("interrupted after %d batches; %s", history.Batches, then)}
		}
		return nil, err
	}
	j.Trained, j.History = model, history
	return r, nil
}

// Interrupted is the error of a run that its context ended, with a message for the user in
// place of the error's text.
type Interrupted struct {
	Err     error
	Message string
}

func (e Interrupted) Error() string { return e.Message }
func (e Interrupted) Unwrap() error { return e.Err }

// NewDir makes a folder for a run under runs/ and returns its path. The name holds the time,
// the data and a word, such as the method. An existing folder is left alone.
func (s *Settings) NewDir(word string) (dir string, err error) {
	if err := os.MkdirAll("runs", 0o777); err != nil {
		return "", fmt.Errorf("no folder for the run: %w", err)
	}
	name := fmt.Sprintf("%s-%s-%s-%d", time.Now().Format("20060102-150405"), rundir.Slug(s.Data), rundir.Slug(word), s.Seed)
	name = filepath.Join("runs", name)
	dir = name
	for k := 2; ; k++ {
		if err = os.Mkdir(dir, 0o777); !errors.Is(err, fs.ErrExist) {
			return dir, err
		}
		dir = fmt.Sprint(name, ".", k)
	}
}

// Taken reports whether a folder holds a run already; "" does not.
func Taken(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, rundir.ConfigFile))
	return dir != "" && err == nil
}

// takenError is the error of a folder that holds a run.
func takenError(dir string) error {
	return fmt.Errorf("%s holds a run already: go on with it by --resume, replace it by --overwrite, or name another folder", dir)
}
