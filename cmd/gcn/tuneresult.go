package main

import (
	"fmt"
	"io"
	"math"
	"path/filepath"
	"slices"
	"time"

	"github.com/gcn-layerwise/gcn/internal/finite"
	"github.com/gcn-layerwise/gcn/internal/machine"
	"github.com/gcn-layerwise/gcn/internal/rundir"
	"github.com/gcn-layerwise/gcn/internal/tune"
	"github.com/gcn-layerwise/gcn/run"
)

// tuneResult is the result of a search: --json prints it, and result.json holds it.
type tuneResult struct {
	Dataset  string         `json:"dataset"`
	Metric   string         `json:"metric"`
	Settings int            `json:"settings"`
	Rungs    []rungResult   `json:"rungs"`
	Best     map[string]any `json:"best"` // options
	Valid    number         `json:"best_valid"`
	ValidSem number         `json:"best_valid_sem"`
	TestMean float64        `json:"test_mean"`
	TestStd  float64        `json:"test_std"`
	TestSem  float64        `json:"test_sem"`
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

	// With --eval-samples: the number of test nodes that each run of the best setting scored
	// in place of all, and the standard error of TestMean from their choice.
	TestSample int     `json:"test_sample,omitempty"`
	TestSE     float64 `json:"test_se,omitempty"`
}

type rungResult struct {
	Batches  int `json:"batches"`
	Settings int `json:"settings"`
}

// conclude writes the results. tested is the result of the best setting's runs.
func (j *tuneJob) conclude(folder *rundir.Folder, dir string, tested *run.Result) (*tuneResult, error) {
	best := j.best()
	job := j.jobs[best.Setting]
	values := slices.DeleteFunc(job.GivenValues(), func(v run.Value) bool {
		return slices.Contains([]string{"data", "seed", "runs", "workers", "device", "partition", "checkpoint_interval"}, v.Option)
	})
	recipe := map[string]any{}
	for _, v := range values {
		if recipe[v.Option] = job.Settings.Value(v.Option); v.Text == "auto" {
			recipe[v.Option] = v.Text
		}
	}
	if err := folder.WriteJSON(bestFile, recipe); err != nil {
		return nil, err
	}
	figure := tune.Figure(j.space, j.settings, j.rows, string(j.data.Metric))
	if err := figure.Save(filepath.Join(dir, figureBase)); err != nil {
		return nil, err
	}
	r := &tuneResult{
		Dataset: job.Data, Metric: string(j.data.Metric), Settings: len(j.settings), Best: recipe,
		Valid: best.Valid, ValidSem: best.SEM, TestMean: tested.Test, TestStd: math.NaN(), TestSem: math.NaN(),
		Runs: job.Runs, Seed: job.Seed, WallS: finite.Measured(time.Since(j.started).Seconds()), PeakRSS: finite.Measured(machine.PeakRSS()), BLAS: machine.BLAS(), Device: job.Device,
		Dir: dir, BestDir: job.Out, Recipe: folder.Path(bestFile),
		Command:    "gcn train --data " + run.ShellWord(job.Data) + " " + optionsText(values) + fmt.Sprintf(" --runs %d --seed %d", job.Runs, job.Seed),
		TestSample: tested.TestSample, TestSE: tested.TestSE,
	}
	if tested.TestStd != nil {
		r.TestStd, r.TestSem = *tested.TestStd, *tested.TestSem
	}
	batches, settings := j.search.Plan()
	for k := range batches {
		r.Rungs = append(r.Rungs, rungResult{batches[k], settings[k]})
	}
	if err := folder.WriteJSON(rundir.ResultFile, finite.JSON(r)); err != nil {
		return nil, fmt.Errorf("the result could not be saved: %w", err)
	}
	return r, nil
}

// print writes the table of the settings, the test score of the best one, and the command
// that trains it.
func (j *tuneJob) print(w io.Writer, r *tuneResult) {
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
			t.row(append(cells, fmt.Sprint(" ", settingBase, row.Setting+1))...)
		}
	}
	t.print(w)
	if place > most {
		say(w, "and %d more in %s", place-most, filepath.Join(r.Dir, trialsFile))
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
