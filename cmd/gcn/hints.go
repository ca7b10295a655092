package main

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/gcn-layerwise/gcn/datasets"
	"github.com/gcn-layerwise/gcn/graph"
	"github.com/gcn-layerwise/gcn/run"
	"github.com/gcn-layerwise/gcn/train"
)

// hints returns advice for a better run: a line for each reason, with the option to give.
func (j *trainJob) hints(ctx context.Context) []string {
	lines := []string{
		j.FewSamples(ctx, j.Trained, j.data),
		risingHint(j.Plan, j.History, cmp.Or(j.History.ValidSample, len(j.data.Split.Valid)), j.Out),
		classHint(j.History.Predicted, j.data.Labels, j.data.Split, j.ClassWeights == "balanced"),
	}
	return slices.DeleteFunc(lines, func(line string) bool { return line == "" })
}

// risingHint says that a run may go on, or returns "": the best validation score rose in the second
// half of a run that ended at its limit, by more than three standard errors of a share of the nodes
// of a score. dir is the folder to resume.
func risingHint(p *run.Plan, history *train.Result, nodes int, dir string) string {
	if history.Stop != "max-batches" && history.Stop != "epochs" {
		return ""
	}
	from, to := math.Inf(-1), history.Best
	for _, e := range history.Evaluations {
		if 2*e.Batch <= history.Batches && e.Valid > from {
			from = e.Valid
		}
	}
	if math.IsInf(from, 0) || !(to-from > 3*math.Sqrt(to*(1-to)/float64(nodes))) {
		return ""
	}
	more := fmt.Sprintf("--max-batches %d", 2*history.Batches)
	if history.Stop == "epochs" {
		more = fmt.Sprintf("--epochs %d", 2*p.Epochs)
	}
	return fmt.Sprintf("the validation score rose from %.4f to %.4f in the second half of the run: more may help: gcn train --out %s --resume %s",
		from, to, run.ShellWord(dir), more)
}

// classHint says which classes of the test nodes are never predicted, or that there is one
// class only. It is empty if there is nothing to say, as of tasks, which have no predictions.
func classHint(predicted []int, y *graph.Labels, split datasets.Split, balanced bool) string {
	if predicted == nil {
		return ""
	}
	if known := classes(run.ClassCounts(y, split.Train), y); len(known) == 1 {
		return fmt.Sprintf("all training nodes with a label have the class %s: no model learns others; see gcn datasets info", known[0])
	}
	tested := run.ClassCounts(y, split.Test)
	for c, n := range predicted {
		if n > 0 {
			tested[c] = 0
		}
	}
	never := classes(tested, y)
	if len(never) == 0 {
		return ""
	}
	if only := classes(predicted, y); len(only) == 1 {
		return fmt.Sprintf("all test nodes are predicted as %s: try a smaller --lr, features of one scale (normalize=standardize), or --class-weights balanced", only[0])
	}
	shown := never
	if len(never) > 5 {
		shown = append(never[:5:5], "…")
	}
	text := fmt.Sprintf("never predicted: %d of %d classes: %s", len(never), y.Classes, strings.Join(shown, ", "))
	if !balanced {
		text += "; --class-weights balanced gives each class the same weight in the loss"
	}
	return text
}

// classes returns the names of the classes with a count above 0.
func classes(counts []int, y *graph.Labels) []string {
	var names []string
	for c, n := range counts {
		if n > 0 {
			names = append(names, y.Name(c))
		}
	}
	return names
}
