package main

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/gcn-layerwise/gcn/datasets"
	"github.com/gcn-layerwise/gcn/graph"
	"github.com/gcn-layerwise/gcn/run"
	"github.com/gcn-layerwise/gcn/train"
)

// hints returns advice for a better run: a line for each reason, with the option to give. dir is the folder to resume.
func hints(o *run.Plan, history *train.Result, data *datasets.Data, dir string) []string {
	var lines []string
	if from, to, rose := rising(history, cmp.Or(history.ValidSample, len(data.Split.Valid))); rose {
		lines = append(lines, fmt.Sprintf("the validation score rose from %.4f to %.4f in the second half of the run: more may help: gcn train --out %s --resume %s",
			from, to, run.ShellWord(dir), twice(o, history)))
	}
	if y := data.Labels; y.Classes > 0 && history.Predicted != nil {
		if line := classHint(history.Predicted, y, data.Split, o.ClassWeights == "balanced"); line != "" {
			lines = append(lines, line)
		}
	}
	return lines
}

// twice returns the options that let a run have twice its mini-batches.
func twice(o *run.Plan, history *train.Result) string {
	var options []string
	want := 2 * history.Batches
	if o.MaxBatches > 0 && o.MaxBatches < want {
		options = append(options, fmt.Sprintf("--max-batches %d", want))
	}
	if o.Epochs > 0 && (history.Stop == "epochs" || o.EpochUpdates() < want) {
		options = append(options, fmt.Sprintf("--epochs %d", 2*o.Epochs))
	}
	return strings.Join(options, " ")
}

// rising reports whether the best validation score rose in the second half of a run that
// ended at its limit, by more than three standard errors of a share of the validation nodes.
func rising(history *train.Result, nodes int) (from, to float64, rose bool) {
	if history.Stop != "max-batches" && history.Stop != "epochs" {
		return 0, 0, false
	}
	from = math.Inf(-1)
	for _, e := range history.Evaluations {
		if 2*e.Batch <= history.Batches && e.Valid > from {
			from = e.Valid
		}
	}
	to = history.Best
	return from, to, !math.IsInf(from, 0) && to-from > 3*math.Sqrt(to*(1-to)/float64(nodes))
}

// classHint says which classes of the test nodes are never predicted, or that there is one
// class only. It is empty if there is nothing to say.
func classHint(predicted []int, y *graph.Labels, split datasets.Split, balanced bool) string {
	count := func(nodes []int32) []int {
		counts := make([]int, y.Classes)
		for _, v := range nodes {
			if c := y.Class[v]; c >= 0 {
				counts[c]++
			}
		}
		return counts
	}
	// one returns the only class with nodes, or -1.
	one := func(counts []int) int {
		c := slices.IndexFunc(counts, func(n int) bool { return n > 0 })
		if c >= 0 && slices.ContainsFunc(counts[c+1:], func(n int) bool { return n > 0 }) {
			return -1
		}
		return c
	}
	name := func(c int) string { return escape(y.Name(c), "") }
	if c := one(count(split.Train)); c >= 0 {
		return fmt.Sprintf("all training nodes with a label have the class %s: no model learns others; see gcn datasets info", name(c))
	}
	there := count(split.Test)
	var never []string
	for c, n := range predicted {
		if n == 0 && there[c] > 0 {
			never = append(never, fmt.Sprintf("%s (%d)", name(c), there[c]))
		}
	}
	if len(never) == 0 {
		return ""
	}
	if c := one(predicted); c >= 0 {
		return fmt.Sprintf("all test nodes are predicted as %s: try a smaller --lr, features of one scale (normalize=standardize), or --class-weights balanced", name(c))
	}
	const most = 5
	text := strings.Join(never[:min(len(never), most)], ", ")
	if len(never) > most {
		text += ", …"
	}
	text = fmt.Sprintf("never predicted: %d of %d classes, with their test nodes: %s", len(never), y.Classes, text)
	if balanced {
		return text
	}
	return text + "; --class-weights balanced gives each class the same weight in the loss"
}
