package main

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"strings"

	"github.com/gcn-layerwise/gcn/datasets"
	"github.com/gcn-layerwise/gcn/graph"
	"github.com/gcn-layerwise/gcn/run"
	"github.com/gcn-layerwise/gcn/train"
)

// printResult prints the main part of a result.
func printResult(w io.Writer, r *run.Result) {
	var t table
	t.row("dataset", r.Dataset)
	method := run.MethodText(r.Method, r.Samples)
	if r.ExactInput {
		method += ", exact input"
	}
	if r.Conv != "" {
		method += ", " + r.Conv
	}
	t.row("method", method)
	spread, seeds := "", fmt.Sprint(r.Seed)
	batches := fmt.Sprintf("%d (%s), the best at %d", r.Batches, stopText(r.Stop), r.BestBatch)
	if n := len(r.Runs); n > 0 {
		spread = spreadText(*r.TestStd, *r.TestSem, n) + ":"
		for _, one := range r.Runs {
			spread += " " + formatScore(one.Test)
		}
		batches = fmt.Sprintf("%d in all", r.Batches)
		seeds = fmt.Sprintf("%d to %d", r.Seed, r.Runs[n-1].Seed)
	}
	t.row("test "+r.Metric, formatScore(r.Test)+spread+estimated(r.TestSE, r.TestSample))
	t.row("best valid", formatScore(r.Best)+estimated(r.BestSE, r.ValidSample))
	t.row("batches", batches)
	t.row("seed", seeds)
	t.row("parameters", thousands(int64(r.Parameters)))
	t.row("time", fmt.Sprintf("%.2f s, of which evaluation %.2f s; a batch: %.2f ms training, %.2f ms waiting for samples", r.WallS, r.EvalS, r.TrainMS, r.WaitMS))
	t.row("memory", fmt.Sprintf("%.0f MB at most", r.PeakRSS))
	t.row("saved in", r.RunDir)
	t.print(w)
}

// spreadText says how much a mean score over runs varies.
func spreadText(sd, sem float64, runs int) string {
	return fmt.Sprintf(" ± %s over %d runs (standard deviation; standard error %s)", formatScore(sd), runs, formatScore(sem))
}

// estimated says that a score is of a sample of the nodes.
func estimated(se float64, nodes int) string {
	if nodes == 0 {
		return ""
	}
	return fmt.Sprintf(" ± %s (standard error), estimated from a sample of %s nodes", formatScore(se), thousands(int64(nodes)))
}

func formatScore[F ~float64](x F) string {
	if math.IsNaN(float64(x)) {
		return "unknown"
	}
	return fmt.Sprintf("%.4f", x)
}

// stopText says in words why training ended.
func stopText(stop string) string {
	if stop == "patience" {
		return "no better validation score for --patience batches"
	}
	return "--" + stop
}

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
	// names lists the classes with numbers that fit.
	names := func(counts []int, fits func(c, n int) bool) (list []string) {
		for c, n := range counts {
			if fits(c, n) {
				list = append(list, escape(y.Name(c), ""))
			}
		}
		return list
	}
	some := func(_, n int) bool { return n > 0 }
	if there := names(count(split.Train), some); len(there) == 1 {
		return fmt.Sprintf("all training nodes with a label have the class %s: no model learns others; see gcn datasets info", there[0])
	}
	tested := count(split.Test)
	never := names(predicted, func(c, n int) bool { return n == 0 && tested[c] > 0 })
	if len(never) == 0 {
		return ""
	}
	if there := names(predicted, some); len(there) == 1 {
		return fmt.Sprintf("all test nodes are predicted as %s: try a smaller --lr, features of one scale (normalize=standardize), or --class-weights balanced", there[0])
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
