package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/gcn-layerwise/gcn/internal/atomicfile"
	"github.com/gcn-layerwise/gcn/internal/finite"
	"github.com/gcn-layerwise/gcn/internal/report"
	"github.com/gcn-layerwise/gcn/run"
	"github.com/gcn-layerwise/gcn/score"
	"github.com/gcn-layerwise/gcn/study/figure"
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

// Files of gcn eval --out.
const evalName = "eval"

func notSaved(err error) error { return fmt.Errorf("the evaluation cannot be saved: %w", err) }

// save writes the result and its figure to dir.
func (r *evalResult) save(dir string) error {
	base := filepath.Join(dir, evalName)
	text, err := json.MarshalIndent(finite.JSON(r), "", "  ")
	if err != nil {
		return err
	}
	err = atomicfile.Write(base+".json", func(w io.Writer) error {
		_, err := w.Write(append(text, '\n'))
		return err
	})
	if err != nil {
		return notSaved(err)
	}
	return r.figure().Save(base)
}

// assess returns the metric of the models on the nodes of s, and sets the assessment of their
// probabilities. If correct is true, correct and smooth comes before.
func (r *evalResult) assess(ctx context.Context, runs savedRuns, s *score.Sample, correct bool) (estimate score.Estimate, err error) {
	first := runs[0]
	var scores, p []float32
	if correct {
		p, r.CorrectSmooth, err = runs.corrected(ctx, s.Nodes)
		scores = p
	} else if len(runs) == 1 {
		if scores, err = logits(ctx, first, s.Nodes); err == nil {
			p = slices.Clone(scores)
			score.Probabilities(p, first.Data.Labels)
		}
	} else if p, err = runs.probabilities(ctx, s.Nodes); err == nil {
		scores = slices.Clone(p)
		for i := range scores {
			if first.Data.Labels.Tasks > 0 {
				scores[i] -= 0.5 // a positive score is a predicted task
			}
		}
	}
	if err != nil {
		return estimate, err
	}
	if estimate, err = s.Score(first.Data.Metric, scores, first.Data.Labels); err != nil {
		return estimate, err
	}
	r.Assessment, err = score.Assess(p, first.Data.Labels, s.Nodes)
	return estimate, err
}

// mostCounts is the largest number of classes whose counts are in the figure and in the
// printed matrix.
const mostCounts = 12

// figure draws the confusion matrix, or the F1 of tasks, and the calibration.
func (r *evalResult) figure() *figure.Figure {
	f := &figure.Figure{Title: fmt.Sprintf("%s of %s: %s %s", r.Split, r.Dataset, r.Metric, formatScore(r.Score))}
	var names []string
	for _, row := range r.Rows {
		names = append(names, row.Name)
	}
	if r.Confusion != nil {
		heat := &figure.Heat{Rows: names, Columns: names}
		for i, counts := range r.Confusion {
			shades, texts := make([]float64, len(counts)), make([]string, len(counts))
			for j, n := range counts {
				shades[j], texts[j] = float64(n)/float64(max(r.Rows[i].Nodes, 1)), fmt.Sprint(n)
			}
			heat.Shades = append(heat.Shades, shades)
			if len(counts) <= mostCounts {
				heat.Texts = append(heat.Texts, texts)
			}
		}
		f.Panels = append(f.Panels, figure.Panel{Title: "Confusion: share of each class's nodes", X: "predicted", Y: "label", Heat: heat})
	}
	f.Panels = append(f.Panels, report.Calibration(fmt.Sprintf("Calibration: expected error %.3f", float64(r.Calibration.Error)), r.Assessment))
	return f
}

// printAssessment prints the classes and the confusion matrix. Of many classes it prints
// the most frequent confusions.
func printAssessment(w io.Writer, a *score.Assessment) {
	kind := "class"
	if a.Confusion == nil {
		kind = "task"
	}
	t := newTable(false)
	t.row(kind, "nodes", "predicted", "right", "precision", "recall", "F1")
	for _, r := range a.Rows {
		t.row(r.Name, r.Nodes, r.Predicted, r.Right, formatScore(r.Precision), formatScore(r.Recall), formatScore(r.F1))
	}
	say(w, "")
	t.print(w)
	if a.Confusion == nil {
		return
	}
	t = newTable(false)
	if len(a.Rows) <= mostCounts {
		head := []any{"label \\ predicted"}
		for _, r := range a.Rows {
			head = append(head, r.Name)
		}
		t.row(head...)
		for i, counts := range a.Confusion {
			row := []any{a.Rows[i].Name}
			for _, n := range counts {
				row = append(row, n)
			}
			t.row(row...)
		}
	} else {
		type pair struct{ label, predicted, nodes int }
		var pairs []pair
		for i, counts := range a.Confusion {
			for j, n := range counts {
				if i != j && n > 0 {
					pairs = append(pairs, pair{i, j, n})
				}
			}
		}
		slices.SortStableFunc(pairs, func(a, b pair) int { return b.nodes - a.nodes })
		t.row("label", "predicted as", "nodes")
		for _, p := range pairs[:min(len(pairs), 10)] {
			t.row(a.Rows[p.label].Name, a.Rows[p.predicted].Name, p.nodes)
		}
	}
	say(w, "")
	t.print(w)
}
