package main

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/gcn-layerwise/gcn/internal/tune"
	"github.com/gcn-layerwise/gcn/run"
)

// notSearched are the options of training that are the same for all settings. Scores of
// different nodes cannot be compared.
var notSearched = []string{"data", "seed", "runs", "max-batches", "epochs", "eval-samples", "workers", "device", "partition"}

// readSpace reads the options and their values from --search and --space.
func (j *tuneJob) readSpace(ctx context.Context) error {
	if j.Space != "" {
		file, err := run.ReadFile(ctx, j.Space)
		if err != nil {
			return err
		}
		for _, v := range file.Values {
			if err := j.addDimension(v.Flag(), v.Text); err != nil {
				return usagef("%s: %w", strings.Replace(v.Place, "config: ", "space: ", 1), err)
			}
		}
	}
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
	option, known := run.Find(name)
	switch {
	case !known:
		scratch := run.New()
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
		scratch := run.New()
		if err := scratch.Set(run.Value{Option: name, Text: v}); err != nil {
			return err
		}
	}
	j.space = append(j.space, d)
	return nil
}

// job returns the training of setting k, with checked options.
func (j *tuneJob) job(ctx context.Context, k int) (*trainJob, error) {
	job := &trainJob{stderr: j.stderr}
	job.prepare()
	values := []run.Value{ // never from a file
		{Option: "runs", Text: strconv.Itoa(j.flags.Runs)}, {Option: "seed", Text: strconv.FormatUint(j.flags.Seed, 10)}, {Option: "device", Text: j.flags.Device},
	}
	values = append(values, run.Values(j.fs)...)
	for i, d := range j.space {
		values = append(values, run.Value{Option: d.Option, Text: j.settings[k][i]})
	}
	job.Quiet = j.Quiet || k > 0 // the recipe is printed once
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
