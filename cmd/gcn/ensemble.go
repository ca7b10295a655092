package main

import (
	"context"
	"fmt"
	"io"
	"slices"

	"github.com/gcn-layerwise/gcn/datasets"
	"github.com/gcn-layerwise/gcn/run"
	"github.com/gcn-layerwise/gcn/score"
	"github.com/gcn-layerwise/gcn/train"
)

// savedRuns are trained models of the same data, at least one. Several answer with the mean
// of their probabilities.
type savedRuns []*run.Opened

// several returns the folders of more than one run, or nil.
func (rs savedRuns) several() []string {
	if len(rs) < 2 {
		return nil
	}
	var dirs []string
	for _, r := range rs {
		dirs = append(dirs, r.Dir)
	}
	return dirs
}

func (rs savedRuns) noteOtherData(w io.Writer) {
	other := false
	for _, r := range rs {
		if r.Fingerprint != train.Fingerprint(r.Data) {
			say(w, "note: %s differs from the training data of %s in graph, features, labels, split or metric", r.Plan.Data, r.Dir)
			other = true
		}
	}
	if !other {
		return
	}
	for _, note := range rs[0].Data.Notes { // what of the data the runs do not know is among these
		say(w, "  %s", note)
	}
}

// logits returns the model's logits for nodes, all finite.
func logits(ctx context.Context, r *run.Opened, nodes []int32) ([]float32, error) {
	scores, err := train.Predict(ctx, r.Model, r.Data, nodes)
	if err != nil {
		return nil, err
	}
	return scores, checkFinite(r, "logits", scores, r.Data.Labels.Outputs(), nodes)
}

// hidden returns the output of a convolution for nodes, and its number of columns.
func hidden(ctx context.Context, r *run.Opened, nodes []int32, layer int) ([]float32, int, error) {
	values, columns, err := r.Model.InferHidden(ctx, r.Data.Laplacian(), r.Data.Features, nodes, layer)
	if err != nil {
		return nil, 0, fmt.Errorf("%s: %w", r.Dir, err)
	}
	return values, columns, checkFinite(r, "outputs", values, columns, nodes)
}

func checkFinite(r *run.Opened, what string, values []float32, columns int, nodes []int32) error {
	k := slices.IndexFunc(values, func(x float32) bool { return x-x != 0 })
	if k < 0 {
		return nil
	}
	return fmt.Errorf("%s: the %s of node %d are not finite (%v): its weights or the features are too large", r.Dir, what, nodes[k/columns], values[k])
}

// probabilities returns the mean of the models' probabilities for nodes.
func (rs savedRuns) probabilities(ctx context.Context, nodes []int32) ([]float32, error) {
	var sum []float64
	for _, r := range rs {
		p, err := logits(ctx, r, nodes)
		if err != nil {
			return nil, err
		}
		score.Probabilities(p, r.Data.Labels)
		if len(rs) == 1 {
			return p, nil
		}
		if sum == nil {
			sum = make([]float64, len(p))
		}
		for i, v := range p {
			sum[i] += float64(v)
		}
	}
	mean := make([]float32, len(sum))
	for i, s := range sum {
		mean[i] = float32(s / float64(len(rs)))
	}
	return mean, nil
}

// corrected is probabilities after correct and smooth, with the setting that it chose.
func (rs savedRuns) corrected(ctx context.Context, nodes []int32) ([]float32, *score.CorrectSmooth, error) {
	r := rs[0]
	var options score.CorrectSmoothOptions
	if err := options.Check(r.Data); err != nil { // before inference
		return nil, nil, err
	}
	p, err := rs.probabilities(ctx, allNodes(r.Data))
	if err != nil {
		return nil, nil, err
	}
	if show := dataOptions(ctx).Progress; show != nil {
		options.Progress = func(done, total int) {
			show(datasets.FetchProgress{Name: r.Plan.Data, Stage: stageCorrect, Done: int64(done), Total: int64(total)})
		}
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

// correctSmoothText says which setting correct and smooth took.
func correctSmoothText(c *score.CorrectSmooth) string {
	scale := "autoscale"
	if c.Scale > 0 {
		scale = fmt.Sprintf("scale %g", float64(c.Scale))
	}
	return fmt.Sprintf("alpha %g and %g, %s; valid score %s, the model alone %s", float64(c.CorrectAlpha), float64(c.SmoothAlpha), scale, formatScore(c.Valid), formatScore(c.ModelValid))
}

// assess returns the metric of the models on the nodes of s, and the assessment of their
// probabilities. chosen is nil unless correct is true: correct and smooth then comes before.
func (rs savedRuns) assess(ctx context.Context, s *score.Sample, correct bool) (estimate score.Estimate, a *score.Assessment, chosen *score.CorrectSmooth, err error) {
	r, nodes := rs[0], s.Nodes
	var scores, p []float32
	if correct {
		p, chosen, err = rs.corrected(ctx, nodes)
		scores = p
	} else if len(rs) == 1 {
		if scores, err = logits(ctx, r, nodes); err == nil {
			p = slices.Clone(scores)
			score.Probabilities(p, r.Data.Labels)
		}
	} else if p, err = rs.probabilities(ctx, nodes); err == nil {
		scores = slices.Clone(p)
		if r.Data.Labels.Tasks > 0 { // a positive score is a predicted task
			for i := range scores {
				scores[i] -= 0.5
			}
		}
	}
	if err != nil {
		return estimate, nil, nil, err
	}
	if estimate, err = s.Score(r.Data.Metric, scores, r.Data.Labels); err != nil {
		return estimate, nil, nil, err
	}
	a, err = score.Assess(p, r.Data.Labels, nodes)
	return estimate, a, chosen, err
}
