package main

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/gcn-layerwise/gcn/datasets"
	"github.com/gcn-layerwise/gcn/graph"
	"github.com/gcn-layerwise/gcn/run"
	"github.com/gcn-layerwise/gcn/train"
)

// printResult prints the table of a result.
func printResult(w io.Writer, r *run.Result) {
	t := newTable(false)
	t.row("dataset", r.Dataset)
	method := run.MethodText(r.Method, r.Samples)
	if r.ExactInput {
		method += ", exact input"
	}
	if r.Conv != "" {
		method += ", " + r.Conv
	}
	t.row("method", method)
	if len(r.Runs) == 0 {
		t.row("test "+r.Metric, formatScore(r.Test)+estimated(r.TestSE, r.TestSample))
		t.row("best valid", fmt.Sprintf("%s%s, at batch %d", formatScore(r.Best), estimated(r.BestSE, r.ValidSample), r.BestBatch))
		t.row("batches", fmt.Sprintf("%d (%s)", r.Batches, stopText(r.Stop)))
		t.row("seed", r.Seed)
	} else {
		t.row("test "+r.Metric, fmt.Sprintf("%s ± %s over %d runs (standard deviation; standard error %s)",
			formatScore(*r.TestMean), formatScore(*r.TestStd), len(r.Runs), formatScore(*r.TestSem)))
		t.row("each", testScores(r.Runs))
		t.row("best valid", formatScore(r.Best)+" (mean)"+estimated(r.BestSE, r.ValidSample))
		if r.TestSample > 0 {
			t.row("test nodes", fmt.Sprintf("a sample of %s in each run, which adds a standard error of %s", thousands(int64(r.TestSample)), formatScore(r.TestSE)))
		}
		t.row("batches", fmt.Sprintf("%d in all", r.Batches))
		t.row("seeds", fmt.Sprintf("%d to %d", r.Seed, r.Runs[len(r.Runs)-1].Seed))
	}
	t.row("parameters", thousands(int64(r.Parameters)))
	if text := keptText(r); text != "" {
		t.row("state", text)
	}
	t.row("time", fmt.Sprintf("%s; a batch: %.2f ms training, %.2f ms sampling on one worker",
		time.Duration(r.WallS*float64(time.Second)).Round(10*time.Millisecond), r.TrainMS, r.SamplingMS))
	if r.Ranks > 1 {
		text := fmt.Sprintf("%d on 1 host", r.Ranks)
		if r.Hosts > 1 {
			text = fmt.Sprintf("%d on %d hosts", r.Ranks, r.Hosts)
		}
		if r.CommMS > 0 { // 0 where each rank trains whole runs
			text += fmt.Sprintf("; an update: %.2f ms communication, imbalance %.2f", r.CommMS, r.Imbalance)
		}
		if r.ExchangeBytes > 0 {
			text += fmt.Sprintf(", %.0f kB sent", r.ExchangeBytes/1e3)
		}
		if r.HeldShare > 0 {
			text += fmt.Sprintf("; %.1f %% of graph and features held", 100*r.HeldShare)
		}
		t.row("ranks", text)
	}
	t.row("spent on", spentText(r))
	t.row("memory", fmt.Sprintf("%.0f MB at most", r.PeakRSS))
	t.row("saved in", r.RunDir)
	t.print(w)
}

// estimated says that a score is of a sample of the nodes.
func estimated(se float64, nodes int) string {
	if nodes == 0 {
		return ""
	}
	return fmt.Sprintf(" ± %s (standard error), estimated from a sample of %s nodes", formatScore(se), thousands(int64(nodes)))
}

// keptText says how much data training reads from step to step beside the parameters.
func keptText(r *run.Result) string {
	var parts []string
	if r.StateBytes > 0 {
		parts = append(parts, fmt.Sprintf("%.1f MB kept from step to step", float64(r.StateBytes)/1e6))
	}
	if r.InputBytes > 0 {
		parts = append(parts, fmt.Sprintf("P·X of %.1f MB", float64(r.InputBytes)/1e6))
	}
	return strings.Join(parts, ", ")
}

// spentText says where the wall-clock time went.
func spentText(r *run.Result) string {
	steps, wait := r.TrainMS*float64(r.Batches)/1e3, r.WaitMS*float64(r.Batches)/1e3
	rest := max(r.WallS-steps-wait-r.EvalS-r.RefreshS, 0)
	refresh := ""
	if r.RefreshS > 0 {
		refresh = fmt.Sprintf(", refreshes %.2f s", r.RefreshS)
	}
	return fmt.Sprintf("steps %.2f s, waiting for samples %.2f s, evaluation %.2f s%s, test and files %.2f s", steps, wait, r.EvalS, refresh, rest)
}

func testScores(runs []run.Result) string {
	words := make([]string, len(runs))
	for i, r := range runs {
		words[i] = formatScore(r.Test)
	}
	return strings.Join(words, ", ")
}

func formatScore[F ~float64](x F) string {
	if math.IsNaN(float64(x)) {
		return "unknown"
	}
	return fmt.Sprintf("%.4f", x)
}

// stopText says in words why training ended.
func stopText(stop string) string {
	switch stop {
	case "patience":
		return "no better validation score for --patience batches"
	case "max-batches":
		return "--max-batches"
	case "epochs":
		return "--epochs"
	}
	return stop
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
