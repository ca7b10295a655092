package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"path/filepath"
	"slices"

	"github.com/gcn-layerwise/gcn/internal/atomicfile"
	"github.com/gcn-layerwise/gcn/internal/finite"
	"github.com/gcn-layerwise/gcn/internal/report"
	"github.com/gcn-layerwise/gcn/score"
	"github.com/gcn-layerwise/gcn/study/figure"
)

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
