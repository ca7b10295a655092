package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/gcn-layerwise/gcn/datasets"
	"github.com/gcn-layerwise/gcn/internal/regularfile"
	"github.com/gcn-layerwise/gcn/internal/rundir"
	"github.com/gcn-layerwise/gcn/train"
)

// seedFolder returns the name of one run's folder inside the folder of several runs.
func seedFolder(seed uint64) string { return fmt.Sprintf("seed-%d", seed) }

// trainSeveral trains several times, each run in its own folder inside dir. dir is locked
// until all runs are done.
func (j *trainJob) trainSeveral(ctx context.Context, data *datasets.Data, dir string) (*result, error) {
	folder, err := rundir.Open(dir)
	if err != nil {
		return nil, fmt.Errorf("the runs' folder: %w", err)
	}
	defer folder.Close()
	options := j.severalConfig()
	options[fingerprintField], options[rundir.SchemaField] = train.Fingerprint(data), rundir.Schema
	config, err := rundir.ThroughJSON(options)
	if err != nil {
		return nil, err
	}
	same, err := j.checkSeveral(folder, config)
	if err != nil {
		return nil, err
	}
	// Called when the first run is ready to begin.
	begin := func() error {
		if j.Overwrite {
			if err := j.removeOthers(dir); err != nil {
				return err
			}
		}
		if !same { // an old result.json is of other runs
			if err := folder.Remove(rundir.ResultFile); err != nil {
				return err
			}
		}
		config["eval_every"] = j.EvalEvery // the first run has chosen it, if it was auto
		if err := folder.WriteJSON(configFile, config); err != nil || !j.dealsRuns() {
			return err
		}
		return j.world.Barrier(ctx)
	}
	moved := func() error {
		if folder.InPlace() {
			return nil
		}
		return fmt.Errorf("%s: %w; to go on, name its new place: gcn train --out DIR --resume", dir, train.ErrRunMoved)
	}
	ranks := 1
	if j.dealsRuns() {
		ranks = j.world.Size()
	}
	runs := make([]result, j.Runs)
	for i := 0; i < j.Runs; i += ranks {
		if err := moved(); err != nil {
			return nil, err
		}
		seed := j.Seed + uint64(i)
		prefix := fmt.Sprintf("run %d/%d  ", i+1, j.Runs)
		r, err := j.trainOnce(ctx, data, filepath.Join(dir, seedFolder(seed)), seed, prefix, begin)
		if err != nil {
			return nil, err
		}
		runs[i], begin = *r, nil
	}
	if ranks > 1 {
		if err := j.world.Barrier(ctx); err != nil {
			return nil, err
		}
		for i := range runs {
			if err := readResult(filepath.Join(dir, seedFolder(j.Seed+uint64(i))), &runs[i]); err != nil {
				return nil, fmt.Errorf("the ranks need a file system in common: %w", err)
			}
		}
	}
	r := summarize(runs, dir)
	if err := folder.WriteJSON(rundir.ResultFile, r); err != nil {
		return nil, fmt.Errorf("the result could not be saved: %w", err)
	}
	return &r, moved()
}

// readResult reads the result.json of a run.
func readResult(dir string, r *result) error {
	path := filepath.Join(dir, rundir.ResultFile)
	text, err := regularfile.Read(path)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(text, r); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}

// severalConfig returns all options of several runs. With the fingerprint they are the
// config.json of the runs' folder, for --resume and --config. Each run also has its own
// config.json.
func (j *trainJob) severalConfig() map[string]any {
	config := j.runConfig()
	for name, value := range map[string]any{
		"batch": j.Batch, "batches_per_epoch": j.BatchesPerEpoch, "epochs": j.Epochs, "max_batches": j.MaxBatches,
		"eval_every": j.EvalEvery, "patience": j.Patience, "lr": j.LR, "weight_decay": j.WeightDecay,
		"beta1": j.Beta1, "beta2": j.Beta2, "epsilon": j.Epsilon, "clip": j.Clip,
		"seed": j.Seed, "runs": j.Runs,
	} {
		config[name] = value
	}
	if j.EvalSamples > 0 { // as Fit
		config["eval_samples"] = j.EvalSamples
	}
	if j.Micro > 1 {
		config["micro"] = j.Micro
	}
	j.scheduleOptions.addTo(config)
	if o := j.fitOptions(); o.Seeds != nil { // as in each run's own
		config["seeds"], config["seeds_every"] = j.Seeds, j.SeedsEvery
	}
	if j.refreshes() {
		config["control_every"] = j.ControlEvery
	}
	return config
}

// checkSeveral returns an error if several runs of the given configuration must not begin
// in the folder. same reports whether the folder holds runs of this very configuration.
func (j *trainJob) checkSeveral(folder *rundir.Folder, config map[string]any) (same bool, err error) {
	present, err := folder.Present()
	if err != nil {
		return false, err
	}
	for _, name := range present {
		if name != rundir.ConfigFile && name != rundir.ResultFile {
			return false, fmt.Errorf("%s holds a single run: name another folder for several runs", folder.Path("."))
		}
	}
	if len(present) == 0 || j.Overwrite {
		return false, nil
	}
	if !j.Resume { // the run was made after fillOptions looked
		return false, takenError(folder.Path("."))
	}
	text, err := folder.Read(configFile)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	before, err := rundir.DecodeConfig(text)
	if err != nil {
		return false, fmt.Errorf("%s: %w", folder.Path(configFile), err)
	}
	if err := rundir.SameConfig(before, config, "data", "max_batches", "epochs", "patience", "runs"); err != nil {
		return false, fmt.Errorf("%s: cannot resume: %w", folder.Path(configFile), err)
	}
	return rundir.SameConfig(before, config) == nil, nil
}

// removeOthers removes the runs in dir, which --resume would continue otherwise, except
// the run with the first seed: Fit overwrites it.
func (j *trainJob) removeOthers(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return fmt.Errorf("overwriting runs: %w", err)
	}
	var others []*rundir.Folder
	defer func() {
		for _, folder := range others {
			folder.Close()
		}
	}()
	for _, e := range entries {
		digits, isSeed := strings.CutPrefix(e.Name(), "seed-")
		seed, err := strconv.ParseUint(digits, 10, 64)
		if !isSeed || err != nil || seed == j.Seed || !e.IsDir() {
			continue
		}
		folder, err := rundir.Open(filepath.Join(dir, e.Name()))
		if err != nil {
			return fmt.Errorf("overwriting runs: %w", err)
		}
		others = append(others, folder)
	}
	for _, folder := range others { // all are locked, so no process trains in them
		present, err := folder.Present()
		if err == nil {
			err = folder.Remove(present...)
		}
		if err != nil {
			return fmt.Errorf("overwriting runs: %w", err)
		}
	}
	return nil
}
