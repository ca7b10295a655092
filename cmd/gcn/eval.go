package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/gcn-layerwise/gcn/datasets"
	"github.com/gcn-layerwise/gcn/internal/atomicfile"
	"github.com/gcn-layerwise/gcn/run"
	"github.com/gcn-layerwise/gcn/score"
	"github.com/gcn-layerwise/gcn/train"
)

// runOptions name trained models and their device.
type runOptions struct {
	Run    repeated `json:"run" arg:"DIR" need:"the folder of a training run" help:"the run's folder DIR; required; repeated: the mean of several runs"`
	Data   string   `json:"data" arg:"SPEC" help:"data SPEC instead of the run's own, such as after moving the files"`
	Device string   `json:"device" default:"cpu" choice:"cpu|cuda" help:"cpu, or cuda in a build with CUDA; the run may have been trained on either"`
	run.Bound
}

// opened is the part of a result about the runs that answered.
type opened struct {
	RunDir  string   `json:"run_dir"`
	RunDirs []string `json:"run_dirs,omitempty"` // of several runs
	Dataset string   `json:"dataset"`
	Device  string   `json:"device"`
}

// savedRuns are trained models of the same data, at least one. Several answer with the mean
// of their probabilities.
type savedRuns []*run.Opened

// openRun opens a run for inference, on all ranks.
func openRun(ctx context.Context, dir, spec, device string, first *run.Opened) (*run.Opened, error) {
	if spec != "" {
		if err := checkSpec(spec); err != nil {
			return nil, err
		}
	}
	r, err := run.Open(ctx, strings.TrimSuffix(dir, "/"), run.OpenOptions{Data: spec, Device: device, Options: jobOf(ctx).data, Like: first})
	if w := jobOf(ctx).world; err == nil && w != nil {
		r.Model.Ranks = w
	}
	return r, err
}

// open opens the runs. It names each run whose data differ from the data of its training.
// Inference shows its progress on w.
func (o *runOptions) open(ctx context.Context, w io.Writer) (savedRuns, error) {
	bound, err := o.Inference(o.Device)
	if err != nil {
		return nil, err
	}
	var runs savedRuns
	var first *run.Opened
	var notes []string // what of the data the runs do not know is among these
	for k, dir := range o.Run {
		r, err := openRun(ctx, dir, o.Data, o.Device, first)
		if err != nil {
			return nil, err
		}
		r.Model.Bound, r.Model.Progress = bound, everySeconds(w, "rows of all layers")
		runs, o.Run[k] = append(runs, r), r.Dir
		first = runs[0]
		if r.Fingerprint != train.Fingerprint(r.Data) {
			say(w, "note: %s differs from the training data of %s in graph, features, labels, split or metric", r.Plan.Data, r.Dir)
			notes = first.Data.Notes
		}
	}
	for _, note := range notes {
		say(w, "  %s", note)
	}
	return runs, nil
}

// result returns the part of a result about the runs.
func (o *runOptions) result(runs savedRuns) opened {
	r := opened{RunDir: runs[0].Dir, Dataset: runs[0].Plan.Data, Device: runs[0].Plan.Device}
	if len(runs) > 1 {
		r.RunDirs = o.Run
	}
	return r
}

// checkFinite returns an error about the first value of a run that is not finite. what names the
// values, which have some columns for each of the nodes.
func checkFinite(r *run.Opened, what string, values []float32, columns int, nodes []int32) error {
	k := slices.IndexFunc(values, func(x float32) bool { return x-x != 0 })
	if k < 0 {
		return nil
	}
	return fmt.Errorf("%s: the %s of node %d are not finite (%v): its weights or the features are too large", r.Dir, what, nodes[k/columns], values[k])
}

// logits returns the logits of a model for nodes, all finite.
func logits(ctx context.Context, r *run.Opened, nodes []int32) ([]float32, error) {
	scores, err := train.Predict(ctx, r.Model, r.Data, nodes)
	if err == nil {
		err = checkFinite(r, "logits", scores, r.Data.Labels.Outputs(), nodes)
	}
	return scores, err
}

// answer returns the logits of one model for nodes, the mean of the probabilities of several, or
// the probabilities after correct and smooth, with the setting that it chose.
func (rs savedRuns) answer(ctx context.Context, nodes []int32, correct bool) (scores []float32, areLogits bool, chosen *score.CorrectSmooth, err error) {
	switch {
	case correct:
		scores, chosen, err = rs.corrected(ctx, nodes)
	case len(rs) > 1:
		scores, err = rs.probabilities(ctx, nodes)
	default:
		areLogits = true
		scores, err = logits(ctx, rs[0], nodes)
	}
	return scores, areLogits, chosen, err
}

// probabilities returns the mean of the models' probabilities for nodes.
func (rs savedRuns) probabilities(ctx context.Context, nodes []int32) (mean []float32, err error) {
	sum := make([]float64, len(nodes)*rs[0].Data.Labels.Outputs())
	for _, r := range rs {
		if mean, err = logits(ctx, r, nodes); err != nil {
			return nil, err
		}
		score.Probabilities(mean, r.Data.Labels)
		for i, v := range mean {
			sum[i] += float64(v)
		}
	}
	for i, s := range sum {
		mean[i] = float32(s / float64(len(rs)))
	}
	return mean, nil
}

// corrected is probabilities after correct and smooth, with the setting that it chose.
func (rs savedRuns) corrected(ctx context.Context, nodes []int32) ([]float32, *score.CorrectSmooth, error) {
	r := rs[0]
	options := score.CorrectSmoothOptions{Progress: func(done, total int) {
		jobOf(ctx).data.Progress(datasets.FetchProgress{Name: r.Plan.Data, Stage: "correct", Done: int64(done), Total: int64(total)})
	}}
	if err := options.Check(r.Data); err != nil { // before inference
		return nil, nil, err
	}
	p, err := rs.probabilities(ctx, allNodes(r.Data))
	if err != nil {
		return nil, nil, err
	}
	p, chosen, err := score.CorrectAndSmooth(ctx, p, r.Data, options)
	if err != nil {
		return nil, nil, err
	}
	width := r.Data.Labels.Classes
	rows := make([]float32, 0, len(nodes)*width)
	for _, v := range nodes {
		rows = append(rows, p[int(v)*width:(int(v)+1)*width]...)
	}
	return rows, chosen, nil
}

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
	Out     string `json:"out" arg:"DIR" help:"folder DIR for eval.json; in the run's own, gcn report shows it (default: none)"`
	Samples int    `json:"eval_samples" range:"[0," arg:"N" help:"score a sample of N nodes, with the score's standard error (0: all nodes)"`
	Correct bool   `json:"correct_and_smooth" without:"split=train,eval_samples" why:"it reads the labels of the training nodes, and needs the predictions of all nodes" help:"spread the training nodes' errors and labels over the graph, with settings chosen on the validation nodes; for classes, not for tasks"`
	resultOptions
}

func newEvalCommand() *cobra.Command {
	o := new(evalOptions)
	return newCommand("eval --run DIR", o, func(cmd *cobra.Command, _ []string) (any, error) {
		runs, err := o.open(cmd.Context(), cmd.ErrOrStderr())
		if err != nil {
			return nil, err
		}
		if err := os.MkdirAll(cmp.Or(o.Out, "."), 0o777); err != nil { // before the work, not after it
			return nil, fmt.Errorf("the evaluation cannot be saved: %w", err)
		}
		defer limit(o.Memory)()
		if o.Split == "train" && slices.ContainsFunc(runs, func(r *run.Opened) bool { return r.Plan.LabelInputs > 0 }) {
			say(cmd.ErrOrStderr(), "note: with --label-inputs the scores of training nodes have read their own labels: use --split valid or test")
		}
		r, err := o.evaluate(cmd.Context(), runs)
		if err == nil && o.Out != "" {
			err = atomicfile.Write(filepath.Join(o.Out, "eval.json"), func(w io.Writer) error { return printJSON(w, r) })
		}
		return r, err
	})
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
	scores, areLogits, chosen, err := runs.answer(ctx, sample.Nodes, o.Correct)
	if err != nil {
		return nil, err
	}
	p := slices.Clone(scores)
	switch {
	case areLogits:
		score.Probabilities(p, r.Data.Labels)
	case r.Data.Labels.Tasks > 0:
		for i := range scores {
			scores[i] -= 0.5 // a positive score is a predicted task
		}
	}
	estimate, err := sample.Score(r.Data.Metric, scores, r.Data.Labels)
	if err != nil {
		return nil, err
	}
	e := &evalResult{
		opened: o.result(runs), Method: r.Plan.Method.String(), Split: o.Split, Nodes: len(sample.Nodes),
		Metric: string(r.Data.Metric), Score: number(estimate.Score), Batch: r.Checkpoint.Batch, Seed: r.Checkpoint.Seed,
		measured: measure(start), CorrectSmooth: chosen,
	}
	if sample.Sampled() {
		e.Sample = &evalSample{Of: sample.Of, StandardError: number(estimate.StandardError), Unbiased: estimate.Unbiased}
	}
	e.Assessment, err = score.Assess(p, r.Data.Labels, sample.Nodes)
	return e, err
}
