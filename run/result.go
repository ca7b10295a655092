package run

import (
	"math"

	"github.com/gcn-layerwise/gcn/internal/finite"
)

// Result is the result of a training run: --json prints it, and the run's folder
// holds it in result.json.
type Result struct {
	Dataset    string        `json:"dataset"`
	Method     string        `json:"method"`
	Samples    Sizes         `json:"samples"` // empty if the method has no sample size
	ExactInput bool          `json:"exact_input,omitempty"`
	Conv       string        `json:"conv,omitempty"` // gat; empty: gcn
	Metric     string        `json:"metric"`
	BestValid  finite.Number `json:"best_valid"`
	Test       finite.Number `json:"test"` // of the weights that did best on the validation nodes
	Batches    int           `json:"batches"`
	BestBatch  int           `json:"best_batch"`
	Falls      int           `json:"falls,omitempty"` // of the step size: of --schedule plateau, or whole cosines
	Stop       string        `json:"stop,omitempty"`  // why the run ended; empty for several runs
	Seed       uint64        `json:"seed"`
	Micro      int           `json:"micro"` // mini-batches of an update
	Parameters int           `json:"parameters"`
	StateBytes int64         `json:"state_bytes,omitempty"` // of activations and scores kept from step to step
	InputBytes int64         `json:"input_bytes,omitempty"` // of P·X with exact input
	TrainMS    finite.Number `json:"train_ms_per_batch"`
	SamplingMS finite.Number `json:"sampling_ms_per_batch"`
	WaitMS     finite.Number `json:"wait_ms_per_batch"` // of training for the samplers
	EvalS      finite.Number `json:"eval_s"`
	RefreshS   finite.Number `json:"refresh_s,omitempty"` // of kept activations
	WallS      finite.Number `json:"wall_s"`
	PeakRSS    finite.Number `json:"peak_rss_mb"`
	BLAS       string        `json:"blas"`
	Device     string        `json:"device"`
	RunDir     string        `json:"run_dir"`

	// With --eval-samples: the numbers of nodes that were scored in place of all, and the
	// standard errors of the two scores. With --runs the errors are of the mean.
	EvalSamples int           `json:"eval_samples,omitempty"`
	ValidSample int           `json:"valid_sample,omitempty"` // 0: all nodes
	TestSample  int           `json:"test_sample,omitempty"`
	BestSE      finite.Number `json:"best_valid_se,omitempty"`
	TestSE      finite.Number `json:"test_se,omitempty"`

	// Of a run on the ranks of an MPI launcher.
	Ranks     int           `json:"ranks,omitempty"`
	Hosts     int           `json:"hosts,omitempty"`
	CommMS    finite.Number `json:"comm_ms_per_step,omitempty"` // of an update
	Imbalance finite.Number `json:"imbalance,omitempty"`        // the slowest rank's time for its mini-batches, over the mean

	ExchangeBytes finite.Number `json:"exchange_bytes_per_step,omitempty"` // that rank 0 sends in an update
	Partition     string        `json:"partition,omitempty"`
	HeldShare     finite.Number `json:"held_share,omitempty"` // of graph and features, that rank 0 has held at most

	// With --runs, the scores and milliseconds above are means over the runs,
	// batches and seconds are sums, and the seed is the first run's.
	Runs     []Result       `json:"runs,omitempty"`
	TestMean *finite.Number `json:"test_mean,omitempty"`
	TestStd  *finite.Number `json:"test_std,omitempty"` // unbiased: divided by runs-1
	TestSem  *finite.Number `json:"test_sem,omitempty"` // test_std / √runs
}

// summarize puts several runs into one result.
func summarize(runs []Result, dir string) Result {
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
	mean := func(of func(Result) finite.Number) finite.Number {
		m, _ := meanStd(runs, of)
		return m
	}
	sum.BestValid = mean(func(r Result) finite.Number { return r.BestValid })
	for _, ms := range []func(*Result) *finite.Number{
		func(r *Result) *finite.Number { return &r.TrainMS },
		func(r *Result) *finite.Number { return &r.SamplingMS },
		func(r *Result) *finite.Number { return &r.WaitMS },
		func(r *Result) *finite.Number { return &r.CommMS },
		func(r *Result) *finite.Number { return &r.Imbalance },
	} {
		*ms(&sum) = finite.Measured(float64(mean(func(r Result) finite.Number { return *ms(&r) })))
	}
	// Each run draws a sample of its own.
	for _, se := range []func(*Result) *finite.Number{func(r *Result) *finite.Number { return &r.BestSE }, func(r *Result) *finite.Number { return &r.TestSE }} {
		square := mean(func(r Result) finite.Number { return *se(&r) * *se(&r) })
		*se(&sum) = finite.Number(math.Sqrt(float64(square) / float64(len(runs))))
	}
	testMean, testStd := meanStd(runs, func(r Result) finite.Number { return r.Test })
	testSem := testStd / finite.Number(math.Sqrt(float64(len(runs))))
	sum.Test = testMean
	sum.TestMean, sum.TestStd, sum.TestSem = &testMean, &testStd, &testSem
	sum.BestBatch = int(math.Round(float64(mean(func(r Result) finite.Number { return finite.Number(r.BestBatch) }))))
	sum.Stop = ""
	return sum
}

// meanStd returns the mean and the unbiased standard deviation, NaN for a single
// run.
func meanStd(runs []Result, of func(Result) finite.Number) (mean, std finite.Number) {
	n := finite.Number(len(runs))
	for _, r := range runs {
		mean += of(r) / n
	}
	var squares finite.Number
	for _, r := range runs {
		squares += (of(r) - mean) * (of(r) - mean)
	}
	return mean, finite.Number(math.Sqrt(float64(squares / (n - 1))))
}
