package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/gcn-layerwise/gcn/datasets"
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
func openRun(ctx context.Context, dir string, o run.OpenOptions) (*run.Opened, error) {
	o.Options = jobOf(ctx).data
	r, err := run.Open(ctx, strings.TrimSuffix(dir, "/"), o)
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
		r, err := openRun(ctx, dir, run.OpenOptions{Data: o.Data, Device: o.Device, Like: first})
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
func (rs savedRuns) corrected(ctx context.Context, nodes []int32) (rows []float32, chosen *score.CorrectSmooth, err error) {
	r := rs[0]
	options := score.CorrectSmoothOptions{Progress: func(done, total int) {
		jobOf(ctx).data.Progress(datasets.FetchProgress{Name: r.Plan.Data, Stage: "correct", Done: int64(done), Total: int64(total)})
	}}
	if err := options.Check(r.Data); err != nil { // before inference
		return nil, nil, err
	}
	p, err := rs.probabilities(ctx, allNodes(r.Data))
	if err == nil {
		p, chosen, err = score.CorrectAndSmooth(ctx, p, r.Data, options)
	}
	if err != nil {
		return nil, nil, err
	}
	width := r.Data.Labels.Classes
	rows = make([]float32, 0, len(nodes)*width)
	for _, v := range nodes {
		rows = append(rows, p[int(v)*width:(int(v)+1)*width]...)
	}
	return rows, chosen, nil
}
