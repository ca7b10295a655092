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

// tuneResult is the result of a search: --json prints it, and result.json holds it.
type tuneResult struct {
	Dataset  string         `json:"dataset"`
	Metric   string         `json:"metric"`
	Settings int            `json:"settings"`
	Rungs    []tune.Rung    `json:"rungs"`
	Best     map[string]any `json:"best"` // options
	Valid    number         `json:"best_valid"`
	ValidSem number         `json:"best_valid_sem"`
	TestMean float64        `json:"test_mean"`
	TestStd  float64        `json:"test_std"`
	TestSem  float64        `json:"test_sem"`
	Runs     int            `json:"runs"`
	Seed     uint64         `json:"seed"`
	measured                // of this process
	Device   string         `json:"device"`
	Dir      string         `json:"run_dir"`  // of the search
	BestDir  string         `json:"best_dir"` // of the runs of the best setting
	Command  string         `json:"command"`  // that trains the best setting again
	Recipe   string         `json:"recipe"`   // best.json

	// With --eval-samples: the number of test nodes that each run of the best setting scored
	// in place of all, and the standard error of TestMean from their choice.
	TestSample int     `json:"test_sample,omitempty"`
	TestSE     float64 `json:"test_se,omitempty"`
}

// conclude writes the results. tested is the result of the best setting's runs.
func (j *tuneJob) conclude(folder *rundir.Folder, dir string, tested *run.Result) (*tuneResult, error) {
	best := tune.Best(j.rows)
	job := j.jobs[best.Setting]
	values := slices.DeleteFunc(job.GivenValues(), func(v run.Value) bool {
		return slices.Contains([]string{"data", "seed", "runs", "workers", "device", "partition", "checkpoint_interval"}, v.Option)
	})
	recipe := optionsInFile(job, values)
	if err := folder.WriteJSON(bestFile, recipe); err != nil {
		return nil, err
	}
	figure := tune.Figure(j.space, j.settings, j.rows, string(j.data.Metric))
	if err := figure.Save(filepath.Join(dir, figureBase)); err != nil {
		return nil, err
	}
	r := &tuneResult{
		Dataset: job.Data, Metric: string(j.data.Metric), Settings: len(j.settings), Rungs: j.search.Plan(), Best: recipe,
		Valid: number(best.Valid), ValidSem: number(best.SEM), TestMean: tested.Test, TestStd: math.NaN(), TestSem: math.NaN(),
		Runs: job.Runs, Seed: job.Seed, measured: measure(j.started), Device: job.Device,
		Dir: dir, BestDir: job.Out, Recipe: folder.Path(bestFile),
		Command:    "gcn train --data " + run.ShellWord(job.Data) + " " + optionsText(values) + fmt.Sprintf(" --runs %d --seed %d", job.Runs, job.Seed),
		TestSample: tested.TestSample, TestSE: tested.TestSE,
	}
	if tested.TestStd != nil {
		r.TestStd, r.TestSem = *tested.TestStd, *tested.TestSem
	}
	if err := folder.WriteJSON(rundir.ResultFile, finite.JSON(r)); err != nil {
		return nil, fmt.Errorf("the result could not be saved: %w", err)
	}
	return r, nil
}

// print writes the table of the settings, the test score of the best one, and the command
// that trains it.
func (j *tuneJob) print(w io.Writer, r *tuneResult) {
	const most = 20              // rows
	listed := map[int]bool{}     // settings
	rows := slices.Clone(j.rows) // the last one of each setting, the best first
	slices.SortStableFunc(rows, func(a, b tune.Row) int { return b.Rung - a.Rung })
	rows = slices.DeleteFunc(rows, func(r tune.Row) bool {
		again := listed[r.Setting]
		listed[r.Setting] = true
		return again
	})
	t := newTable(true)
	header := []any{"place", "valid " + r.Metric, "± sem", "mini-batches"}
	for _, d := range j.space {
		header = append(header, d.Option)
	}
	t.row(append(header, " setting")...)
	for k, row := range rows[:min(len(rows), most)] {
		cells := []any{k + 1, "diverged", "", row.Batches}
		if finite.Is(row.Valid) {
			cells[1] = formatScore(row.Valid)
		}
		if finite.Is(row.SEM) {
			cells[2] = formatScore(row.SEM)
		}
		for _, v := range j.settings[row.Setting] {
			cells = append(cells, v)
		}
		t.row(append(cells, fmt.Sprint(" ", settingBase, row.Setting+1))...)
	}
	t.print(w)
	if len(rows) > most {
		say(w, "and %d more in %s", len(rows)-most, filepath.Join(r.Dir, trialsFile))
	}
	test := fmt.Sprintf("test %s of the best: %s", r.Metric, formatScore(r.TestMean))
	if r.Runs > 1 {
		test += fmt.Sprintf(" ± %s over %d runs (standard deviation; standard error %s)", formatScore(r.TestStd), r.Runs, formatScore(r.TestSem))
	}
	if r.TestSample > 0 {
		test += fmt.Sprintf(", estimated from a sample of %s nodes in each run, which adds a standard error of %s", thousands(int64(r.TestSample)), formatScore(r.TestSE))
	}
	say(w, "%s", test)
	say(w, "figure: %s.svg", filepath.Join(r.Dir, figureBase))
	say(w, "recipe: gcn train --data %s --recipe %s", run.ShellWord(r.Dataset), run.ShellWord(r.Recipe))
	say(w, "in full: %s", r.Command)
}
