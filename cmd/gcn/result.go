package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/dustin/go-humanize"

	"github.com/gcn-layerwise/gcn/run"
)

// printRun prints the main part of the result of a training run.
func printRun(w io.Writer, r *run.Result) {
	method := run.MethodText(r.Method, r.Samples)
	if r.ExactInput {
		method += ", exact input"
	}
	if r.Conv == "gat" {
		method += ", " + r.Conv
	}
	stop := "--" + r.Stop
	if r.Stop == "patience" {
		stop = "no better validation score for --patience batches"
	}
	seeds, batches := fmt.Sprint(r.Seed), fmt.Sprintf("%d (%s), the best at %d", r.Batches, stop, r.BestBatch)
	if n := len(r.Runs); n > 0 {
		seeds, batches = fmt.Sprintf("%d to %d", r.Seed, r.Runs[n-1].Seed), fmt.Sprintf("%d in all", r.Batches)
	}
	table{
		{"dataset", r.Dataset},
		{"method", method},
		{"test " + r.Metric, testText(r)},
		{"best valid", formatScore(r.Best) + estimated(r.BestSE, r.ValidSample)},
		{"batches", batches},
		{"seed", seeds},
		{"parameters", count(r.Parameters)},
		{"time", fmt.Sprintf("%.2f s, of which evaluation %.2f s; a batch: %.2f ms training, %.2f ms waiting for samples", r.WallS, r.EvalS, r.TrainMS, r.WaitMS)},
		{"memory", fmt.Sprintf("%.0f MB at most", r.PeakRSS)},
		{"saved in", r.RunDir},
	}.print(w)
}

// testText is the test score. Of several runs it is the mean, with its spread and the scores.
func testText(r *run.Result) string {
	text := formatScore(r.Test)
	if n := len(r.Runs); n > 0 {
		text += fmt.Sprintf(" ± %s over %d runs (standard deviation; standard error %s):", formatScore(*r.TestStd), n, formatScore(*r.TestSem))
		for _, one := range r.Runs {
			text += " " + formatScore(one.Test)
		}
	}
	return text + estimated(r.TestSE, r.TestSample)
}

// estimated says that a score is of a sample of the nodes.
func estimated(se float64, nodes int) string {
	if nodes == 0 {
		return ""
	}
	return fmt.Sprintf(" ± %s (standard error), estimated from a sample of %s nodes", formatScore(se), count(nodes))
}

func formatScore[F ~float64](x F) string {
	return strings.Replace(fmt.Sprintf("%.4f", x), "NaN", "unknown", 1)
}

// count returns a number with commas between its thousands.
func count(n int) string { return humanize.Comma(int64(n)) }
