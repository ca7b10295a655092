package main

import (
	"fmt"
	"io"
	"math"
	"strings"
	"time"

	"github.com/gcn-layerwise/gcn/run"
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

func formatScore[T ~float64](x T) string {
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
