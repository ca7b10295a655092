package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/spf13/pflag"

	"github.com/gcn-layerwise/gcn/internal/finite"
	"github.com/gcn-layerwise/gcn/internal/parallel"
	"github.com/gcn-layerwise/gcn/internal/regularfile"
	"github.com/gcn-layerwise/gcn/internal/report"
	"github.com/gcn-layerwise/gcn/internal/rundir"
	"github.com/gcn-layerwise/gcn/internal/tune"
	"github.com/gcn-layerwise/gcn/run"
	"github.com/gcn-layerwise/gcn/train"
)

// The files of a search's folder, beside the folders of its settings.
const (
	tuneFile   = "tune.json"    // the options
	trialsFile = "trials.jsonl" // a line for each setting in each rung
	bestFile   = "best.json"    // the best setting, as a recipe
	figureBase = "tune"         // of .svg and .png

	settingBase = "setting-" // of the folders of settings, which are numbered from 1
)

// readSearch reads tune.json.
func readSearch(path string) (map[string]any, error) {
	text, err := regularfile.Read(path)
	if err != nil {
		return nil, err
	}
	saved, err := rundir.DecodeObject(text)
	if err != nil {
		err = fmt.Errorf("%s: %w", path, err)
	}
	return saved, err
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
	path := folder.Path(tuneFile)
	before, err := readSearch(path)
	if errors.Is(err, fs.ErrNotExist) {
		return folder.WriteJSON(tuneFile, now)
	}
	if err != nil {
		return err
	}
	if err := rundir.SameConfig(before, now); err != nil {
		return fmt.Errorf("%s: cannot resume: %w", path, err)
	}
	return nil
}

// takeSaved gives the options that are not on the command line the values of the search to
// resume.
func (j *tuneJob) takeSaved() error {
	path := filepath.Join(j.Out, tuneFile)
	switch {
	case j.Out == "":
		return nil
	case run.Taken(j.Out):
		return fmt.Errorf("%s holds a training run: name another folder for a search", j.Out)
	}
	saved, err := readSearch(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		// The scores of such runs may be of other settings.
		if runs, _ := filepath.Glob(filepath.Join(j.Out, settingBase+"*")); runs != nil {
			return fmt.Errorf("%s holds runs of a search, but not its %s: name another folder", j.Out, tuneFile)
		}
		return nil
	case err != nil:
		return err
	case !j.Resume:
		return fmt.Errorf("%s holds a search already: go on with it by --resume, or name another folder", j.Out)
	}
	delete(saved, "fingerprint")
	if j.fs.Changed("search") || j.fs.Changed("space") { // one is no addition to the other
		delete(saved, "search")
		delete(saved, "space")
	}
	for name, value := range saved {
		if j.fs.Changed(name) {
			continue
		}
		if err := j.fs.Set(name, fmt.Sprint(value)); err != nil {
			return fmt.Errorf("%s: %s: %w", path, name, flagValueError(err))
		}
	}
	return nil
}

// halve runs the search, and writes a line for each setting after each rung.
func (j *tuneJob) halve(ctx context.Context, folder *rundir.Folder, dir string) error {
	for k, job := range j.jobs {
		job.Out = filepath.Join(dir, fmt.Sprint(settingBase, k+1))
	}
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
		say(j.stderr, "rung %d/%d: best validation %s %s, %s", best.Rung+1, j.search.Rungs, j.data.Metric, formatScore(best.Valid), j.settingText(best.Setting))
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
		var values []run.Value
		for i, d := range j.space {
			values = append(values, run.Value{Option: strings.ReplaceAll(d.Option, "-", "_"), Text: j.settings[r.Setting][i]})
		}
		options := optionsInFile(j.jobs[r.Setting], values)
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

// optionsInFile returns options as a file of options has them. An auto stays, also if it has
// become a number.
func optionsInFile(job *trainJob, values []run.Value) map[string]any {
	options := map[string]any{}
	for _, v := range values {
		if options[v.Option] = job.Settings.Value(v.Option); v.Text == "auto" {
			options[v.Option] = v.Text
		}
	}
	return options
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
	job.Show = func(string) (func(train.Progress), func()) {
		return func(p train.Progress) {
			if p.Evaluated && (p.Batch >= t.Batches || options.Patience > 0 && p.Batch-p.BestBatch >= options.Patience) {
				paused = true
				pause()
			}
		}, func() {}
	}
	_, err = job.Once(pausing, j.data, dir, seed, "", nil)
	var file *fs.PathError
	switch {
	case errors.Is(err, train.ErrNotFinite):
		return math.NaN(), nil
	case errors.As(err, &file) && ctx.Err() == nil: // such as a full disk
		err = file // the end of the rung is no interruption
	case file != nil:
	case err != nil && ctx.Err() != nil:
		err = ctx.Err() // also if the rung ended at the same moment
	case paused:
		err = nil
	}
	if err != nil {
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
