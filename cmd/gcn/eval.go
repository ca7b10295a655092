package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/gcn-layerwise/gcn/internal/finite"
	"github.com/gcn-layerwise/gcn/internal/machine"
	"github.com/gcn-layerwise/gcn/run"
	"github.com/gcn-layerwise/gcn/score"
)

type evalResult struct {
	RunDir  string   `json:"run_dir"`
	RunDirs []string `json:"run_dirs,omitempty"` // of several runs
	Dataset string   `json:"dataset"`
	Method  string   `json:"method"`
	Split   string   `json:"split"`
	Nodes   int      `json:"nodes"`
	Metric  string   `json:"metric"`
	Score   number   `json:"score"`
	Batch   int      `json:"batch"` // of the checkpoint
	Seed    uint64   `json:"seed"`
	WallS   number   `json:"wall_s"`
	PeakRSS number   `json:"peak_rss_mb"`
	BLAS    string   `json:"blas"`
	Device  string   `json:"device"`

	CorrectSmooth *score.CorrectSmooth `json:"correct_and_smooth,omitempty"`

	Sample *evalSample `json:"sample,omitempty"` // of the nodes; nil: all were scored

	*score.Assessment
}

// evalSample says how good an estimate from a sample of the nodes is.
type evalSample struct {
	Of            int    `json:"of"` // labelled nodes of the split
	StandardError number `json:"standard_error"`
	Unbiased      bool   `json:"unbiased"`
}

// sampleText says that a score is an estimate.
func sampleText(e score.Estimate, nodes, of int) string {
	kind := "unbiased"
	if !e.Unbiased {
		kind = "consistent, not unbiased"
	}
	return fmt.Sprintf("%s ± %s, estimated from a sample of %s of %s nodes (standard error; %s)",
		formatScore(number(e.Score)), formatScore(number(e.StandardError)), thousands(int64(nodes)), thousands(int64(of)), kind)
}

func newEvalCommand() *cobra.Command {
	var flags runFlags
	var samples int
	var split, out string
	var correct, asJSON bool
	cmd := &cobra.Command{
		Use:   "eval --run DIR",
		Short: "Score a trained model on the test, validation or training nodes",
		Long: `Score a trained model over full neighbourhoods, with the weights of the best
validation score: the metric of the data, precision, recall and F1 of each class or
task, the confusion matrix, and the expected calibration error in 15 bins. With several
--run the model is the mean of their probabilities.

--out writes eval.json with all numbers, and a figure of the confusion matrix and the
calibration. gcn report shows it if DIR is the run's folder.

--correct-and-smooth spreads the errors and the labels of the training nodes over the
graph first (arXiv:2010.13993). It takes the settings with the best score on the
validation nodes, and prints them.

--eval-samples scores a sample of the labelled nodes, drawn uniformly by the run's seed,
each over its full neighbourhood. The score is then an unbiased estimate of the score of
all (of tasks: micro-F1, and accuracy with unknown labels, are consistent only), with its
standard error. The other numbers are of the sample too. ROC AUC needs all nodes.

--memory and --scratch are for graphs larger than memory. The scores keep their bits.`,
		Example: `  gcn eval --run runs/first
  gcn eval --run runs/first --split valid --json
  gcn eval --run runs/first --out runs/first
  gcn eval --run runs/first --correct-and-smooth
  gcn eval --run runs/papers --split valid --eval-samples 5000
  gcn eval --run runs/papers --split valid --memory 8GiB --scratch /fast/disk
  gcn eval --run runs/many/seed-1 --run runs/many/seed-2`,
		Args:        noArguments,
		Annotations: shared(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := oneOf("split", split, []string{"train", "valid", "test"}); err != nil {
				return err
			}
			if correct && split == "train" {
				return usagef("--correct-and-smooth reads the labels of the training nodes: use --split test or valid")
			}
			if err := atLeast("eval-samples", samples, 0); err != nil {
				return err
			}
			if correct && samples > 0 {
				return usagef("--correct-and-smooth needs the predictions of all nodes: leave out --eval-samples")
			}
			runs, err := flags.open(cmd.Context())
			if err != nil {
				return err
			}
			if out != "" { // before the work, not after it
				if err := makeEvalDir(out); err != nil {
					return err
				}
			}
			defer limit(runs[0].Model.Bound)()
			runs.showProgress(cmd.ErrOrStderr())
			runs.noteOtherData(cmd.ErrOrStderr())
			if split == "train" && slices.ContainsFunc(runs, func(r *run.Opened) bool { return r.Plan.LabelInputs > 0 }) {
				say(cmd.ErrOrStderr(), "note: with --label-inputs the scores of training nodes have read their own labels: use --split valid or test")
			}
			result, err := runs.evaluate(cmd.Context(), split, correct, samples)
			if err != nil {
				return err
			}
			if out != "" {
				if err := result.save(out); err != nil {
					return err
				}
			}
			if asJSON {
				return printJSON(cmd.OutOrStdout(), result)
			}
			t := newTable(false)
			t.row("run", result.RunDir)
			for _, dir := range result.RunDirs[min(1, len(result.RunDirs)):] {
				t.row("and run", dir)
			}
			t.row("dataset", result.Dataset)
			t.row("method", result.Method)
			text := formatScore(result.Score)
			if e := result.Sample; e != nil {
				text = sampleText(score.Estimate{Score: float64(result.Score), StandardError: float64(e.StandardError), Unbiased: e.Unbiased}, result.Nodes, e.Of)
			}
			t.row(split+" "+result.Metric, text)
			nodes := thousands(int64(result.Nodes))
			if result.Sample != nil {
				nodes += ", a sample; so are the numbers below"
			}
			t.row("nodes", nodes)
			t.row("weights of", fmt.Sprintf("batch %d, seed %d", result.Batch, result.Seed))
			if result.CorrectSmooth != nil {
				t.row("correct and smooth", correctSmoothText(result.CorrectSmooth))
			}
			t.row("calibration error", fmt.Sprintf("%.4f", float64(result.Calibration.Error)))
			if err := t.print(cmd.OutOrStdout()); err != nil {
				return err
			}
			return printAssessment(cmd.OutOrStdout(), result.Assessment)
		},
	}
	fs := cmd.Flags()
	fs.SortFlags = false
	flags.register(fs)
	fs.StringVar(&split, "split", "test", "train, valid or test")
	fs.StringVar(&out, "out", "", "folder `DIR` for eval.json, eval.svg and eval.png; such as the run's (default: none)")
	fs.IntVar(&samples, "eval-samples", 0, "score a sample of `N` nodes, with the score's standard error (0: all nodes)")
	addCorrectSmoothFlag(fs, &correct)
	addJSONFlag(cmd, &asJSON)
	return cmd
}

func addCorrectSmoothFlag(fs *pflag.FlagSet, correct *bool) {
	fs.BoolVar(correct, "correct-and-smooth", false, "spread the training nodes' errors and labels over the graph, with settings chosen on the validation nodes; for classes, not for tasks")
}

// openRun opens a run for inference, on all ranks.
func openRun(ctx context.Context, dir, spec, device string, first *run.Opened) (*run.Opened, error) {
	if spec != "" {
		if err := checkSpec(spec); err != nil {
			return nil, err
		}
	}
	r, err := run.Open(ctx, dir, run.OpenOptions{Data: spec, Device: device, Options: dataOptions(ctx), Like: first})
	if w := worldOf(ctx); err == nil && w != nil {
		r.Model.Ranks = w
	}
	return r, err
}

// runFlags name trained models and their device.
type runFlags struct {
	dirs         []string
	data, device string
	bound        run.Bound
}

func (f *runFlags) register(fs *pflag.FlagSet) {
	fs.StringArrayVar(&f.dirs, "run", nil, "the run's folder `DIR`; required; repeated: the mean of several runs")
	fs.StringVar(&f.data, "data", "", "data `SPEC` instead of the run's own, such as after moving the files")
	fs.StringVar(&f.device, "device", "cpu", "cpu, or cuda in a build with CUDA; the run may have been trained on either")
	run.AddFlags(fs, &f.bound)
}

// open calls openRun with the flags' values.
func (f *runFlags) open(ctx context.Context) (savedRuns, error) {
	bound, err := inferenceBound(f.bound, f.device)
	if err != nil {
		return nil, err
	}
	var runs savedRuns
	for _, dir := range f.dirs {
		if dir = strings.TrimSuffix(dir, "/"); dir == "" {
			continue
		}
		var first *run.Opened
		if len(runs) > 0 {
			first = runs[0]
		}
		r, err := openRun(ctx, dir, f.data, f.device, first)
		if err != nil {
			return nil, err
		}
		r.Model.Bound = bound
		runs = append(runs, r)
	}
	if len(runs) == 0 {
		return nil, usagef("--run is needed: the folder of a training run")
	}
	return runs, nil
}

// evaluate scores the models on the nodes of one part of the split, or if samples is not 0 on
// so many of them.
func (rs savedRuns) evaluate(ctx context.Context, split string, correct bool, samples int) (*evalResult, error) {
	r := rs[0]
	nodes := map[string][]int32{
		"train": r.Data.Split.Train, "valid": r.Data.Split.Valid, "test": r.Data.Split.Test,
	}[split]
	if len(nodes) == 0 {
		return nil, fmt.Errorf("%s has no %s nodes; gcn predict needs no labels", r.Plan.Data, split)
	}
	start := time.Now()
	part := map[string]uint64{"train": score.TrainPart, "valid": score.ValidPart, "test": score.TestPart}[split]
	sample, err := score.NewSample(r.Data.Metric, r.Data.Labels, nodes, samples, r.Checkpoint.Seed, part)
	if err != nil {
		return nil, fmt.Errorf("--eval-samples: %w", err)
	}
	nodes = sample.Nodes
	estimate, assessment, chosen, err := rs.assess(ctx, sample, correct)
	if err != nil {
		return nil, err
	}
	score := estimate.Score
	var estimated *evalSample
	if sample.Sampled() {
		estimated = &evalSample{Of: sample.Of, StandardError: number(estimate.StandardError), Unbiased: estimate.Unbiased}
	}
	return &evalResult{
		Sample: estimated,
		RunDir: r.Dir, RunDirs: rs.several(), Dataset: r.Plan.Data, Method: r.Plan.Method.String(), Split: split, Nodes: len(nodes),
		Metric: string(r.Data.Metric), Score: number(score), Batch: r.Checkpoint.Batch, Seed: r.Checkpoint.Seed,
		WallS: finite.Measured(time.Since(start).Seconds()), PeakRSS: finite.Measured(machine.PeakRSS()),
		BLAS: machine.BLAS(), Device: r.Plan.Device, CorrectSmooth: chosen, Assessment: assessment,
	}, nil
}
