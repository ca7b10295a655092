package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/gcn-layerwise/gcn/run"
	"github.com/gcn-layerwise/gcn/score"
)

type evalResult struct {
	opened
	Method string `json:"method"`
	Split  string `json:"split"`
	Nodes  int    `json:"nodes"`
	Metric string `json:"metric"`
	Score  number `json:"score"`
	Batch  int    `json:"batch"` // of the checkpoint
	Seed   uint64 `json:"seed"`
	measured

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
				if err := os.MkdirAll(o.Out, 0o777); err != nil {
					return notSaved(err)
				}
			}
			defer limit(o.Memory)()
			if o.Split == "train" && slices.ContainsFunc(runs, func(r *run.Opened) bool { return r.Plan.LabelInputs > 0 }) {
				say(cmd.ErrOrStderr(), "note: with --label-inputs the scores of training nodes have read their own labels: use --split valid or test")
			}
			r, err := o.evaluate(cmd.Context(), runs)
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

// evaluate scores the models on the nodes of one part of the split, or on a sample of them.
func (o *evalOptions) evaluate(ctx context.Context, runs savedRuns) (*evalResult, error) {
	r := runs[0]
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
	e := &evalResult{
		opened: o.result(runs), Method: r.Plan.Method.String(), Split: o.Split, Nodes: len(sample.Nodes),
		Metric: string(r.Data.Metric), Batch: r.Checkpoint.Batch, Seed: r.Checkpoint.Seed,
	}
	estimate, err := e.assess(ctx, runs, sample, o.Correct)
	if err != nil {
		return nil, err
	}
	e.Score, e.measured = number(estimate.Score), measure(start)
	if sample.Sampled() {
		e.Sample = &evalSample{Of: sample.Of, StandardError: number(estimate.StandardError), Unbiased: estimate.Unbiased}
	}
	return e, nil
}
