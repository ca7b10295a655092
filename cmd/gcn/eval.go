package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/gcn-layerwise/gcn/internal/atomicfile"
	"github.com/gcn-layerwise/gcn/score"
)

type evalResult struct {
	opened
	Method string  `json:"method"`
	Split  string  `json:"split"`
	Nodes  int     `json:"nodes"`
	Metric string  `json:"metric"`
	Score  float64 `json:"score"`
	Batch  int     `json:"batch"` // of the checkpoint
	Seed   uint64  `json:"seed"`
	measured

	CorrectSmooth *score.CorrectSmooth `json:"correct_and_smooth,omitempty"`

	// Sample says how good an estimate from a sample of the nodes is: of how many labelled nodes
	// of the split, its standard error, and if it is unbiased. nil: all were scored.
	Sample map[string]any `json:"sample,omitempty"`

	*score.Assessment
}

// evalOptions are the options of "gcn eval".
type evalOptions struct {
	runOptions
	Split   string `json:"split" default:"test" choice:"train|valid|test" help:"train, valid or test"`
	Out     string `json:"out" arg:"DIR" help:"folder DIR for eval.json; in the run's own, gcn report shows it (default: none)"`
	Samples int    `json:"eval_samples" range:"[0," arg:"N" help:"score a sample of N nodes, with the score's standard error (0: all nodes)"`
	Correct bool   `json:"correct_and_smooth" without:"split=train,eval_samples" why:"it reads the labels of the training nodes, and needs the predictions of all nodes" help:"spread the training nodes' errors and labels over the graph, with settings chosen on the validation nodes; for classes, not for tasks"`
	resultOptions
}

func newEvalCommand() *cobra.Command {
	o := new(evalOptions)
	return newCommand("eval --run DIR", o, func(cmd *cobra.Command) (any, error) {
		runs, err := o.open(cmd.Context(), cmd.ErrOrStderr())
		if err != nil {
			return nil, err
		}
		if err := os.MkdirAll(cmp.Or(o.Out, "."), 0o777); err != nil { // before the work, not after it
			return nil, fmt.Errorf("the evaluation cannot be saved: %w", err)
		}
		defer limit(o.Memory)()
		r, err := o.evaluate(cmd.Context(), runs)
		if err == nil && o.Out != "" {
			err = atomicfile.Write(filepath.Join(o.Out, "eval.json"), func(w io.Writer) error { return printJSON(w, r) })
		}
		return r, err
	})
}

// evaluate scores the models on the nodes of one part of the split, or on a sample of them.
func (o *evalOptions) evaluate(ctx context.Context, runs savedRuns) (*evalResult, error) {
	r, data := runs[0], runs[0].Data
	part := slices.Index([]string{"train", "valid", "test"}, o.Split)
	nodes := [][]int32{data.Split.Train, data.Split.Valid, data.Split.Test}[part]
	if len(nodes) == 0 {
		return nil, fmt.Errorf("%s has no %s nodes; gcn predict needs no labels", r.Plan.Data, o.Split)
	}
	start := time.Now()
	sample, err := score.NewSample(data.Metric, data.Labels, nodes, o.Samples, r.Checkpoint.Seed, score.TrainPart+uint64(part))
	if err != nil {
		return nil, fmt.Errorf("--eval-samples: %w", err)
	}
	scores, areLogits, chosen, err := runs.answer(ctx, sample.Nodes, o.Correct)
	if err != nil {
		return nil, err
	}
	p := slices.Clone(scores)
	switch {
	case areLogits:
		score.Probabilities(p, data.Labels)
	case data.Labels.Tasks > 0:
		for i := range scores {
			scores[i] -= 0.5 // a positive score is a predicted task
		}
	}
	estimate, err := sample.Score(data.Metric, scores, data.Labels)
	if err != nil {
		return nil, err
	}
	e := &evalResult{
		opened: o.result(runs), Method: r.Plan.Method.String(), Split: o.Split, Nodes: len(sample.Nodes),
		Metric: string(data.Metric), Score: estimate.Score, Batch: r.Checkpoint.Batch, Seed: r.Checkpoint.Seed,
		measured: measure(start), CorrectSmooth: chosen,
	}
	if sample.Sampled() {
		e.Sample = map[string]any{"of": sample.Of, "standard_error": estimate.StandardError, "unbiased": estimate.Unbiased}
	}
	e.Assessment, err = score.Assess(p, data.Labels, sample.Nodes)
	return e, err
}
