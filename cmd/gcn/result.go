package main

import (
	"fmt"
	"io"
	"math"
	"strings"
	"time"
)

// result is the result of a training run: --json prints it, and the run's folder
// holds it in result.json.
type result struct {
	Dataset    string  `json:"dataset"`
	Method     string  `json:"method"`
	Samples    intList `json:"samples"` // empty if the method has no sample size
	ExactInput bool    `json:"exact_input,omitempty"`
	Conv       string  `json:"conv,omitempty"` // gat; empty: gcn
	Metric     string  `json:"metric"`
	BestValid  number  `json:"best_valid"`
	Test       number  `json:"test"` // of the weights that did best on the validation nodes
	Batches    int     `json:"batches"`
	BestBatch  int     `json:"best_batch"`
	Falls      int     `json:"falls,omitempty"` // of the step size: of --schedule plateau, or whole cosines
	Stop       string  `json:"stop,omitempty"`  // why the run ended; empty for several runs
	Seed       uint64  `json:"seed"`
	Micro      int     `json:"micro"` // mini-batches of an update
	Parameters int     `json:"parameters"`
	StateBytes int64   `json:"state_bytes,omitempty"` // of activations and scores kept from step to step
	InputBytes int64   `json:"input_bytes,omitempty"` // of P·X with exact input
	TrainMS    number  `json:"train_ms_per_batch"`
	SamplingMS number  `json:"sampling_ms_per_batch"`
	WaitMS     number  `json:"wait_ms_per_batch"` // of training for the samplers
	EvalS      number  `json:"eval_s"`
	RefreshS   number  `json:"refresh_s,omitempty"` // of kept activations
	WallS      number  `json:"wall_s"`
	PeakRSS    number  `json:"peak_rss_mb"`
	BLAS       string  `json:"blas"`
	Device     string  `json:"device"`
	RunDir     string  `json:"run_dir"`

	// With --eval-samples: the numbers of nodes that were scored in place of all, and the
	// standard errors of the two scores. With --runs the errors are of the mean.
	EvalSamples int    `json:"eval_samples,omitempty"`
	ValidSample int    `json:"valid_sample,omitempty"` // 0: all nodes
	TestSample  int    `json:"test_sample,omitempty"`
	BestSE      number `json:"best_valid_se,omitempty"`
	TestSE      number `json:"test_se,omitempty"`

	// Of a run on the ranks of an MPI launcher.
	Ranks     int    `json:"ranks,omitempty"`
	Hosts     int    `json:"hosts,omitempty"`
	CommMS    number `json:"comm_ms_per_step,omitempty"` // of an update
	Imbalance number `json:"imbalance,omitempty"`        // the slowest rank's time for its mini-batches, over the mean

	ExchangeBytes number `json:"exchange_bytes_per_step,omitempty"` // that rank 0 sends in an update
	Partition     string `json:"partition,omitempty"`
	HeldShare     number `json:"held_share,omitempty"` // of graph and features, that rank 0 has held at most

	// With --runs, the scores and milliseconds above are means over the runs,
	// batches and seconds are sums, and the seed is the first run's.
	Runs     []result `json:"runs,omitempty"`
	TestMean *number  `json:"test_mean,omitempty"`
	TestStd  *number  `json:"test_std,omitempty"` // unbiased: divided by runs-1
	TestSem  *number  `json:"test_sem,omitempty"` // test_std / √runs
}

// summarize puts several runs into one result.
func summarize(runs []result, dir string) result {
	sum := runs[0]
	sum.RunDir, sum.Runs = dir, runs
	sum.Batches, sum.WallS, sum.EvalS, sum.RefreshS = 0, 0, 0, 0
	for _, r := range runs {
		sum.Batches += r.Batches
		sum.WallS += r.WallS
		sum.EvalS += r.EvalS
		sum.RefreshS += r.RefreshS
		sum.PeakRSS = max(sum.PeakRSS, r.PeakRSS)
	}
	mean := func(of func(result) number) number {
		m, _ := meanStd(runs, of)
		return m
	}
	sum.BestValid = mean(func(r result) number { return r.BestValid })
	for _, ms := range []func(*result) *number{
		func(r *result) *number { return &r.TrainMS },
		func(r *result) *number { return &r.SamplingMS },
		func(r *result) *number { return &r.WaitMS },
		func(r *result) *number { return &r.CommMS },
		func(r *result) *number { return &r.Imbalance },
	} {
		*ms(&sum) = measured(float64(mean(func(r result) number { return *ms(&r) })))
	}
	// Each run draws a sample of its own.
	for _, se := range []func(*result) *number{func(r *result) *number { return &r.BestSE }, func(r *result) *number { return &r.TestSE }} {
		square := mean(func(r result) number { return *se(&r) * *se(&r) })
		*se(&sum) = number(math.Sqrt(float64(square) / float64(len(runs))))
	}
	testMean, testStd := meanStd(runs, func(r result) number { return r.Test })
	testSem := testStd / number(math.Sqrt(float64(len(runs))))
	sum.Test = testMean
	sum.TestMean, sum.TestStd, sum.TestSem = &testMean, &testStd, &testSem
	sum.BestBatch = int(math.Round(float64(mean(func(r result) number { return number(r.BestBatch) }))))
	sum.Stop = ""
	return sum
}

// meanStd returns the mean and the unbiased standard deviation, NaN for a single
// run.
func meanStd(runs []result, of func(result) number) (mean, std number) {
	n := number(len(runs))
	for _, r := range runs {
		mean += of(r) / n
	}
	var squares number
	for _, r := range runs {
		squares += (of(r) - mean) * (of(r) - mean)
	}
	return mean, number(math.Sqrt(float64(squares / (n - 1))))
}

func (r *result) print(w io.Writer) error {
	t := newTable(false)
	t.row("dataset", r.Dataset)
	method := methodText(r.Method, r.Samples)
	if r.ExactInput {
		method += ", exact input"
	}
	if r.Conv != "" {
		method += ", " + r.Conv
	}
	t.row("method", method)
	if len(r.Runs) == 0 {
		t.row("test "+r.Metric, formatScore(r.Test)+estimated(r.TestSE, r.TestSample))
		t.row("best valid", fmt.Sprintf("%s%s, at batch %d", formatScore(r.BestValid), estimated(r.BestSE, r.ValidSample), r.BestBatch))
		t.row("batches", fmt.Sprintf("%d (%s)", r.Batches, stopText(r.Stop)))
		t.row("seed", r.Seed)
	} else {
		t.row("test "+r.Metric, fmt.Sprintf("%s ± %s over %d runs (standard deviation; standard error %s)",
			formatScore(*r.TestMean), formatScore(*r.TestStd), len(r.Runs), formatScore(*r.TestSem)))
		t.row("each", testScores(r.Runs))
		t.row("best valid", formatScore(r.BestValid)+" (mean)"+estimated(r.BestSE, r.ValidSample))
		if r.TestSample > 0 {
			t.row("test nodes", fmt.Sprintf("a sample of %s in each run, which adds a standard error of %s", thousands(int64(r.TestSample)), formatScore(r.TestSE)))
		}
		t.row("batches", fmt.Sprintf("%d in all", r.Batches))
		t.row("seeds", fmt.Sprintf("%d to %d", r.Seed, r.Runs[len(r.Runs)-1].Seed))
	}
	t.row("parameters", thousands(int64(r.Parameters)))
	if text := r.kept(); text != "" {
		t.row("state", text)
	}
	t.row("time", fmt.Sprintf("%s; a batch: %.2f ms training, %.2f ms sampling on one worker",
		time.Duration(float64(r.WallS)*float64(time.Second)).Round(10*time.Millisecond), r.TrainMS, r.SamplingMS))
	if r.Ranks > 1 {
		text := fmt.Sprintf("%d on 1 host", r.Ranks)
		if r.Hosts > 1 {
			text = fmt.Sprintf("%d on %d hosts", r.Ranks, r.Hosts)
		}
		if r.CommMS > 0 { // 0 where each rank trains whole runs
			text += fmt.Sprintf("; an update: %.2f ms communication, imbalance %.2f", r.CommMS, r.Imbalance)
		}
		if r.ExchangeBytes > 0 {
			text += fmt.Sprintf(", %.0f kB sent", float64(r.ExchangeBytes)/1e3)
		}
		if r.HeldShare > 0 {
			text += fmt.Sprintf("; %.1f %% of graph and features held", 100*float64(r.HeldShare))
		}
		t.row("ranks", text)
	}
	t.row("spent on", r.spent())
	t.row("memory", fmt.Sprintf("%.0f MB at most", r.PeakRSS))
	t.row("saved in", r.RunDir)
	return t.print(w)
}

// estimated says that a score is of a sample of the nodes.
func estimated(se number, nodes int) string {
	if nodes == 0 {
		return ""
	}
	return fmt.Sprintf(" ± %s (standard error), estimated from a sample of %s nodes", formatScore(se), thousands(int64(nodes)))
}

// kept says how much data training reads from step to step beside the parameters.
func (r *result) kept() string {
	var parts []string
	if r.StateBytes > 0 {
		parts = append(parts, fmt.Sprintf("%.1f MB kept from step to step", float64(r.StateBytes)/1e6))
	}
	if r.InputBytes > 0 {
		parts = append(parts, fmt.Sprintf("P·X of %.1f MB", float64(r.InputBytes)/1e6))
	}
	return strings.Join(parts, ", ")
}

// spent says where the wall-clock time went.
func (r *result) spent() string {
	steps, wait := float64(r.TrainMS)*float64(r.Batches)/1e3, float64(r.WaitMS)*float64(r.Batches)/1e3
	rest := max(float64(r.WallS)-steps-wait-float64(r.EvalS)-float64(r.RefreshS), 0)
	refresh := ""
	if r.RefreshS > 0 {
		refresh = fmt.Sprintf(", refreshes %.2f s", r.RefreshS)
	}
	return fmt.Sprintf("steps %.2f s, waiting for samples %.2f s, evaluation %.2f s%s, test and files %.2f s", steps, wait, r.EvalS, refresh, rest)
}

func testScores(runs []result) string {
	words := make([]string, len(runs))
	for i, r := range runs {
		words[i] = formatScore(r.Test)
	}
	return strings.Join(words, ", ")
}

func formatScore(x number) string {
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
