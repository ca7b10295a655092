package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/gcn-layerwise/gcn/datasets"
	"github.com/gcn-layerwise/gcn/layers"
	"github.com/gcn-layerwise/gcn/train"
)

// savedRun is a trained model with the data it was trained on.
type savedRun struct {
	dir        string
	options    trainOptions
	data       *datasets.Data
	model      *layers.GCN
	checkpoint train.CheckpointInfo
}

// loadRun rebuilds the model of a run's folder from its config.json, on the named
// device, and sets its best parameters. A spec that is not empty replaces the
// data in config.json.
func loadRun(ctx context.Context, dir, spec, device string) (*savedRun, error) {
	r := &savedRun{dir: dir}
	fs := pflag.NewFlagSet("run", pflag.ContinueOnError)
	r.options.flags(fs)
	saved, err := readConfig(ctx, dir)
	if err != nil {
		return nil, err
	}
	if err := saved.apply(fs); err != nil {
		return nil, noUsage(err)
	}
	r.options.Device = "cpu" // also if it was trained on a GPU
	if err := r.options.check(fs); err != nil {
		return nil, fmt.Errorf("%s: %w", filepath.Join(dir, configFile), noUsage(err))
	}
	r.options.Device = device
	if err := r.options.openDevice(); err != nil {
		return nil, err
	}
	if r.options.Runs > 1 {
		return nil, fmt.Errorf("%s holds several runs: name one, such as %s", dir, filepath.Join(dir, seedFolder(r.options.Seed)))
	}
	if spec != "" {
		r.options.Data = spec
	}
	if r.data, err = openDataOfRun(ctx, r.options.Data, dir); err != nil {
		return nil, err
	}
	if r.model, err = r.options.newModel(ctx, r.data); err != nil {
		return nil, err
	}
	if w := worldOf(ctx); w != nil {
		r.model.Ranks = w
	}
	r.checkpoint, err = train.LoadParameters(dir, r.model)
	return r, err
}

// noteOtherData prints a note if the run was trained on other data.
func (r *savedRun) noteOtherData(w io.Writer) {
	config, err := train.ReadConfig(r.dir)
	if err != nil {
		return // loadRun has read it
	}
	if trained, ok := config["fingerprint"].(string); ok && trained != train.Fingerprint(r.data) {
		say(w, "note: %s differs from the training data of %s in graph, features, labels, split or metric", r.options.Data, r.dir)
	}
}

// noUsage returns an error in a file that gcn wrote itself. It is not a usage
// error: the command line is right.
func noUsage(err error) error {
	var usage usageError
	if errors.As(err, &usage) {
		return usage.error
	}
	return err
}

type evalResult struct {
	RunDir  string `json:"run_dir"`
	Dataset string `json:"dataset"`
	Method  string `json:"method"`
	Split   string `json:"split"`
	Nodes   int    `json:"nodes"`
	Metric  string `json:"metric"`
	Score   number `json:"score"`
	Batch   int    `json:"batch"` // of the checkpoint
	Seed    uint64 `json:"seed"`
	WallS   number `json:"wall_s"`
	PeakRSS number `json:"peak_rss_mb"`
	BLAS    string `json:"blas"`
	Device  string `json:"device"`
}

func newEvalCommand() *cobra.Command {
	var run runFlags
	var split string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "eval --run DIR",
		Short: "Score a trained model on the test, validation or training nodes",
		Long: `Score a trained model over full neighbourhoods, with the weights of the best
validation score.`,
		Example: `  gcn eval --run runs/first
  gcn eval --run runs/first --split valid --json`,
		Args:        noArguments,
		Annotations: shared(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := oneOf("split", split, []string{"train", "valid", "test"}); err != nil {
				return err
			}
			r, err := run.open(cmd.Context())
			if err != nil {
				return err
			}
			r.noteOtherData(cmd.ErrOrStderr())
			result, err := r.evaluate(cmd.Context(), split)
			if err != nil {
				return err
			}
			if asJSON {
				return printJSON(cmd.OutOrStdout(), result)
			}
			t := newTable(false)
			t.row("run", result.RunDir)
			t.row("dataset", result.Dataset)
			t.row("method", result.Method)
			t.row(split+" "+result.Metric, formatScore(result.Score))
			t.row("nodes", thousands(int64(result.Nodes)))
			t.row("weights of", fmt.Sprintf("batch %d, seed %d", result.Batch, result.Seed))
			return t.print(cmd.OutOrStdout())
		},
	}
	fs := cmd.Flags()
	fs.SortFlags = false
	run.register(fs)
	fs.StringVar(&split, "split", "test", "`train`, valid or test")
	addJSONFlag(cmd, &asJSON)
	return cmd
}

// runFlags name a trained model and its device.
type runFlags struct{ dir, data, device string }

func (f *runFlags) register(fs *pflag.FlagSet) {
	fs.StringVar(&f.dir, "run", "", "the run's folder `DIR`; required")
	fs.StringVar(&f.data, "data", "", "data `SPEC` instead of the one in the run's config.json, such as after moving the files")
	fs.StringVar(&f.device, "device", "cpu", "`cpu`, or cuda in a build with CUDA; the run may have been trained on either")
}

// open calls loadRun with the flags' values.
func (f *runFlags) open(ctx context.Context) (*savedRun, error) {
	if f.dir == "" {
		return nil, usagef("--run is needed: the folder of a training run")
	}
	return loadRun(ctx, strings.TrimSuffix(f.dir, "/"), f.data, f.device)
}

// evaluate scores the run's model on the nodes of one part of the split.
func (r *savedRun) evaluate(ctx context.Context, split string) (*evalResult, error) {
	nodes := map[string][]int32{
		"train": r.data.Split.Train, "valid": r.data.Split.Valid, "test": r.data.Split.Test,
	}[split]
	if len(r.data.Split.Train) == 0 {
		return nil, fmt.Errorf("%s has no labels to compare with", r.options.Data)
	}
	if len(nodes) == 0 {
		return nil, fmt.Errorf("%s has no %s nodes", r.options.Data, split)
	}
	start := time.Now()
	score, err := train.Evaluate(ctx, r.model, r.data, nodes)
	if err != nil {
		return nil, err
	}
	return &evalResult{
		RunDir: r.dir, Dataset: r.options.Data, Method: r.options.methodName(), Split: split, Nodes: len(nodes),
		Metric: string(r.data.Metric), Score: number(score), Batch: r.checkpoint.Batch, Seed: r.checkpoint.Seed,
		WallS: measured(time.Since(start).Seconds()), PeakRSS: measured(peakRSS()),
		BLAS: blasName(), Device: r.options.Device,
	}, nil
}
