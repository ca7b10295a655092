package main

import (
	"context"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/pflag"

	"github.com/gcn-layerwise/gcn/internal/tune"
)

// notSearched are the options of training that are the same for all settings. Scores of
// different nodes cannot be compared.
var notSearched = []string{"data", "seed", "runs", "max-batches", "epochs", "eval-samples", "workers", "device", "partition"}

// readSpace reads the options and their values from --search and --space.
func (j *tuneJob) readSpace(ctx context.Context) error {
	if j.Space != "" {
		file, err := readConfig(ctx, j.Space)
		if err != nil {
			return err
		}
		for _, v := range file.values {
			if err := j.addDimension(v.flag, v.text); err != nil {
				return usagef("space: %s:%d: %w", j.Space, v.line, noUsage(err))
			}
		}
	}
	for _, text := range j.Search {
		name, values, found := strings.Cut(text, "=")
		if !found {
			return usagef("--search %q: want NAME=VALUES, such as lr=0.01,0.003", text)
		}
		if err := j.addDimension(flagName(strings.TrimPrefix(name, "--")), values); err != nil {
			return usagef("--search %w", noUsage(err))
		}
	}
	return nil
}

func (j *tuneJob) addDimension(name, values string) error {
	options := pflag.NewFlagSet("", pflag.ContinueOnError)
	new(trainOptions).flags(options)
	flag := options.Lookup(name)
	switch {
	case flag == nil:
		return usagef("%s: unknown option%s", name, didYouMean(name, flagNames(options)))
	case slices.Contains(notSearched, name):
		return usagef("%s is the same for all settings: give it as --%[1]s", name)
	case j.fs.Changed(name):
		return usagef("%s is given as --%[1]s too: leave out either", name)
	}
	d, err := tune.ParseDimension(name, values, flag.Value.Type() == "int")
	if err != nil {
		return err
	}
	for _, v := range d.Values {
		if err := options.Set(name, v); err != nil {
			return flagValueError(err)
		}
	}
	j.space = append(j.space, d)
	return nil
}

// job returns the training of setting k, with checked options.
func (j *tuneJob) job(ctx context.Context, k int) (*trainJob, error) {
	job := &trainJob{
		trainOptions: new(trainOptions), outputOptions: &outputOptions{}, fs: pflag.NewFlagSet("", pflag.ContinueOnError),
		stdout: io.Discard, stderr: j.stderr,
	}
	job.trainOptions.flags(job.fs)
	job.outputOptions.flags(job.fs)
	set := func(name, value string) (err error) {
		if err = job.fs.Set(name, value); err != nil {
			err = usageError{flagValueError(err)}
		}
		return err
	}
	var failed error
	j.fs.Visit(func(f *pflag.Flag) {
		if job.fs.Lookup(f.Name) != nil && !slices.Contains([]string{"out", "resume", "json", "quiet", "device"}, f.Name) && failed == nil {
			failed = set(f.Name, f.Value.String())
		}
	})
	for i, d := range j.space {
		if failed == nil {
			failed = set(d.Option, j.settings[k][i])
		}
	}
	if failed == nil {
		failed = set("runs", strconv.Itoa(j.Runs))
	}
	if failed == nil {
		failed = set("seed", strconv.FormatUint(j.Seed, 10))
	}
	if failed != nil {
		return nil, failed
	}
	job.Quiet = j.Quiet || k > 0 // the recipe is printed once
	if err := job.fillOptions(ctx); err != nil {
		return nil, err
	}
	if job.auto {
		return nil, usagef("--samples auto is for gcn train: give numbers")
	}
	job.Quiet, job.Resume, job.Device, job.device = true, true, j.Device, j.device
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
