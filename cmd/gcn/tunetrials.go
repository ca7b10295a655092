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
	"strings"
	"time"

	"github.com/gcn-layerwise/gcn/internal/finite"
	"github.com/gcn-layerwise/gcn/internal/parallel"
	"github.com/gcn-layerwise/gcn/internal/report"
	"github.com/gcn-layerwise/gcn/internal/rundir"
	"github.com/gcn-layerwise/gcn/internal/tune"
	"github.com/gcn-layerwise/gcn/run"
	"github.com/gcn-layerwise/gcn/train"
)

// halve runs the search, and writes a line for each setting after each rung.
func (j *tuneJob) halve(ctx context.Context, folder *rundir.Folder, dir string) error {
	for k, job := range j.jobs {
		job.Out = filepath.Join(dir, fmt.Sprint(settingBase, k+1))
	}
	shown := &searchMeter{meter: meter{w: j.stderr, quiet: j.Quiet, every: 10 * time.Second}, total: j.search.Work()}
	defer shown.clear("")
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
		shown.clear(fmt.Sprintf("rung %d/%d: best validation %s %s, %s", best.Rung+1, j.Rungs, j.data.Metric, formatScore(best.Valid), j.settingText(best.Setting)))
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
		for _, d := range j.space {
			options[strings.ReplaceAll(d.Option, "-", "_")] = j.jobs[r.Setting].Settings.Value(d.Option)
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
func (j *tuneJob) trial(ctx context.Context, t tune.Trial, shown *searchMeter) (float64, error) {
	job := *j.jobs[t.Setting]
	options := *job.Plan
	job.Plan = &options
	dir, seed := job.Out, options.Seed+uint64(t.Seed)
	if options.Runs > 1 {
		dir = filepath.Join(dir, run.SeedFolder(seed))
	}
	score, done, err := scoreAfter(dir, t.Batches, options.Patience)
	if err == nil && !done {
		pausing, pause := context.WithCancel(ctx)
		defer pause()
		watch := &trialProgress{all: shown, from: t.From, to: t.Batches, patience: options.Patience, pause: pause}
		job.Show = func(string) (func(train.Progress), func()) { return watch.show, func() {} }
		_, err = job.Once(pausing, j.data, dir, seed, "", nil)
		var file *fs.PathError
		switch {
		case errors.Is(err, train.ErrNotFinite):
			shown.count(t.Batches-max(t.From, watch.at), 0)
			return math.NaN(), nil
		case errors.As(err, &file): // such as a full disk
			if ctx.Err() == nil {
				err = file // the end of the rung is no interruption
			}
		case ctx.Err() != nil && err != nil:
			err = ctx.Err() // also if the rung ended at the same moment
		case watch.paused:
			err = nil
		}
		shown.count(t.Batches-max(t.From, watch.at), 0)
		if err == nil {
			score, done, err = scoreAfter(dir, t.Batches, options.Patience)
		}
		if err == nil && !done {
			err = fmt.Errorf("%s: the run ended before mini-batch %d", dir, t.Batches)
		}
		return score, err
	}
	shown.count(t.Batches-t.From, 0)
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
