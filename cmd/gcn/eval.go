package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

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

// evalOptions are the options of "gcn eval".
type evalOptions struct {
	runOptions
	Split   string `json:"split" default:"test" choice:"train|valid|test" help:"train, valid or test"`
	Out     string `json:"out" arg:"DIR" help:"folder DIR for eval.json, eval.svg and eval.png; such as the run's (default: none)"`
	Samples int    `json:"eval_samples" range:"[0," arg:"N" help:"score a sample of N nodes, with the score's standard error (0: all nodes)"`
	Correct bool   `json:"correct_and_smooth" without:"split=train,eval_samples" why:"it reads the labels of the training nodes, and needs the predictions of all nodes" help:"spread the training nodes' errors and labels over the graph, with settings chosen on the validation nodes; for classes, not for tasks"`
	resultOptions
}

func newEvalCommand() *cobra.Command {
	o := new(evalOptions)
	return newCommand(&cobra.Command{
		Use:         "eval --run DIR",
		Annotations: shared(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			runs, err := o.open(cmd.Context(), cmd.ErrOrStderr())
			if err != nil {
				return err
			}
			if o.Out != "" { // before the work, not after it
				if err := makeEvalDir(o.Out); err != nil {
					return err
				}
			}
			defer limit(o.Memory)()
			runs.noteOtherData(cmd.ErrOrStderr())
			if o.Split == "train" && slices.ContainsFunc(runs, func(r *run.Opened) bool { return r.Plan.LabelInputs > 0 }) {
				say(cmd.ErrOrStderr(), "note: with --label-inputs the scores of training nodes have read their own labels: use --split valid or test")
			}
			r, err := runs.evaluate(cmd.Context(), o)
			if err != nil {
				return err
			}
			if o.Out != "" {
				if err := r.save(o.Out); err != nil {
					return err
				}
			}
			return result(cmd, r, r.print)
		},
	}, o)
}

// print writes the score, the classes and the confusion matrix.
func (r *evalResult) print(w io.Writer) {
	t := newTable(false)
	t.row("run", r.RunDir)
	for _, dir := range r.RunDirs[min(1, len(r.RunDirs)):] {
		t.row("and run", dir)
	}
	t.row("dataset", r.Dataset)
	t.row("method", r.Method)
	text, nodes := formatScore(r.Score), thousands(int64(r.Nodes))
	if e := r.Sample; e != nil {
		kind := "unbiased"
		if !e.Unbiased {
			kind = "consistent, not unbiased"
		}
		text += fmt.Sprintf(" ± %s, estimated from a sample of %s of %s nodes (standard error; %s)", formatScore(e.StandardError), nodes, thousands(int64(e.Of)), kind)
		nodes += ", a sample; so are the numbers below"
	}
	t.row(r.Split+" "+r.Metric, text)
	t.row("nodes", nodes)
	t.row("weights of", fmt.Sprintf("batch %d, seed %d", r.Batch, r.Seed))
	if r.CorrectSmooth != nil {
		t.row("correct and smooth", correctSmoothText(r.CorrectSmooth))
	}
	t.row("calibration error", fmt.Sprintf("%.4f", float64(r.Calibration.Error)))
	t.print(w)
	printAssessment(w, r.Assessment)
}

// openRun opens a run for inference, on all ranks.
func openRun(ctx context.Context, dir, spec, device string, first *run.Opened) (*run.Opened, error) {
	if spec != "" {
		if err := checkSpec(spec); err != nil {
			return nil, err
		}
	}
	r, err := run.Open(ctx, strings.TrimSuffix(dir, "/"), run.OpenOptions{Data: spec, Device: device, Options: dataOptions(ctx), Like: first})
	if w := worldOf(ctx); err == nil && w != nil {
		r.Model.Ranks = w
	}
	return r, err
}

// runOptions name trained models and their device.
type runOptions struct {
	Run    repeated `json:"run" arg:"DIR" need:"the folder of a training run" help:"the run's folder DIR; required; repeated: the mean of several runs"`
	Data   string   `json:"data" arg:"SPEC" help:"data SPEC instead of the run's own, such as after moving the files"`
	Device string   `json:"device" default:"cpu" choice:"cpu|cuda" help:"cpu, or cuda in a build with CUDA; the run may have been trained on either"`
	run.Bound
}

// open opens the runs. Their inference shows its progress on w.
func (o *runOptions) open(ctx context.Context, w io.Writer) (savedRuns, error) {
	bound, err := o.Inference(o.Device)
	if err != nil {
		return nil, err
	}
	var runs savedRuns
	for _, dir := range o.Run {
		var first *run.Opened
		if len(runs) > 0 {
			first = runs[0]
		}
		r, err := openRun(ctx, dir, o.Data, o.Device, first)
		if err != nil {
			return nil, err
		}
		r.Model.Bound, r.Model.Progress = bound, everySeconds(w, "rows of all layers")
		runs = append(runs, r)
	}
	return runs, nil
}

// evaluate scores the models on the nodes of one part of the split, or on a sample of them.
func (rs savedRuns) evaluate(ctx context.Context, o *evalOptions) (*evalResult, error) {
	r := rs[0]
	part := slices.Index([]string{"train", "valid", "test"}, o.Split)
	nodes := [][]int32{r.Data.Split.Train, r.Data.Split.Valid, r.Data.Split.Test}[part]
	if len(nodes) == 0 {
		return nil, fmt.Errorf("%s has no %s nodes; gcn predict needs no labels", r.Plan.Data, o.Split)
	}
	start := time.Now()
	sample, err := score.NewSample(r.Data.Metric, r.Data.Labels, nodes, o.Samples, r.Checkpoint.Seed, []uint64{score.TrainPart, score.ValidPart, score.TestPart}[part])
	if err != nil {
		return nil, fmt.Errorf("--eval-samples: %w", err)
	}
	estimate, assessment, chosen, err := rs.assess(ctx, sample, o.Correct)
	if err != nil {
		return nil, err
	}
	e := &evalResult{
		RunDir: r.Dir, RunDirs: rs.several(), Dataset: r.Plan.Data, Method: r.Plan.Method.String(), Split: o.Split, Nodes: len(sample.Nodes),
		Metric: string(r.Data.Metric), Score: number(estimate.Score), Batch: r.Checkpoint.Batch, Seed: r.Checkpoint.Seed,
		WallS: finite.Measured(time.Since(start).Seconds()), PeakRSS: finite.Measured(machine.PeakRSS()),
		BLAS: machine.BLAS(), Device: r.Plan.Device, CorrectSmooth: chosen, Assessment: assessment,
	}
	if sample.Sampled() {
		e.Sample = &evalSample{Of: sample.Of, StandardError: number(estimate.StandardError), Unbiased: estimate.Unbiased}
	}
	return e, nil
}
