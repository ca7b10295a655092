package run

import (
	"math"

	"github.com/gcn-layerwise/gcn/datasets"
	"github.com/gcn-layerwise/gcn/internal/finite"
	"github.com/gcn-layerwise/gcn/internal/machine"
	"github.com/gcn-layerwise/gcn/study"
	"github.com/gcn-layerwise/gcn/train"
)

// Result is the result of a training run: --json prints it, and the run's folder
// holds it in result.json. Times have six digits.
type Result struct {
	Dataset    string `json:"dataset"`
	Method     string `json:"method"`
	Samples    Sizes  `json:"samples"` // empty if the method has no sample size
	ExactInput bool   `json:"exact_input,omitempty"`
	Conv       string `json:"conv"`
	Metric     string `json:"metric"`
	train.Result
	Micro       int     `json:"micro"`                 // mini-batches of an update
	InputBytes  int64   `json:"input_bytes,omitempty"` // of P·X with exact input
	PeakRSS     float64 `json:"peak_rss_mb"`
	BLAS        string  `json:"blas"`
	Device      string  `json:"device"`
	RunDir      string  `json:"run_dir"`
	EvalSamples int     `json:"eval_samples,omitempty"`

	// Of a run on the ranks of an MPI launcher.
	Ranks     int     `json:"ranks,omitempty"`
	Hosts     int     `json:"hosts,omitempty"`
	Partition string  `json:"partition,omitempty"`
	HeldShare float64 `json:"held_share,omitempty"` // of graph and features, that rank 0 has held at most

	// With --runs, the scores and milliseconds above are means over the runs, batches and
	// seconds are sums, and the seed is the first run's. Standard errors are of the mean.
	Runs     []Result `json:"runs,omitempty"`
	TestMean *float64 `json:"test_mean,omitempty"`
	TestStd  *float64 `json:"test_std,omitempty"` // unbiased: divided by runs-1
	TestSem  *float64 `json:"test_sem,omitempty"` // test_std / √runs
}

// result returns the result of a run in the folder dir.
func (j *Job) result(p *Plan, history *train.Result, data *datasets.Data, dir string) *Result {
	r := &Result{
		Dataset:     p.Data,
		Method:      p.Method.String(),
		Samples:     p.Samples,
		ExactInput:  p.ExactInput,
		Conv:        p.Conv,
		Metric:      string(data.Metric),
		Result:      *history,
		Micro:       p.Micro,
		PeakRSS:     machine.PeakRSS(),
		BLAS:        machine.BLAS(),
		Device:      p.Device,
		RunDir:      dir,
		EvalSamples: p.EvalSamples,
	}
	if p.Exact != nil {
		r.InputBytes = p.Exact.Bytes()
	}
	if j.World != nil {
		hosts := map[string]bool{}
		for rank := range j.World.Size() {
			hosts[j.World.Host(rank)] = true
		}
		r.Ranks, r.Hosts = j.World.Size(), len(hosts)
	}
	if j.Parts != nil {
		most, whole := j.Parts.MostBytes()
		r.Partition, r.HeldShare = j.Partition, float64(most)/float64(whole)
	}
	r.round()
	return r
}

// round rounds measurements to six digits.
func (r *Result) round() {
	for _, x := range append(r.times(), &r.PeakRSS, &r.ExchangeBytes, &r.HeldShare) {
		*x = float64(finite.Measured(*x))
	}
}

// times returns measurements. The first three are seconds, which add up over runs; of the others
// the mean counts.
func (r *Result) times() []*float64 {
	return []*float64{
		&r.WallS, &r.EvalS, &r.RefreshS,
		&r.TrainMS, &r.SamplingMS, &r.WaitMS, &r.CommMS, &r.Imbalance,
	}
}

// summarize puts several runs into one result.
func summarize(runs []Result, dir string) *Result {
	sum := runs[0]
	sum.RunDir, sum.Runs, sum.Stop, sum.Batches = dir, runs, "", 0
	n := float64(len(runs))
	mean := func(of func(Result) float64) float64 { return study.SpreadOf(runs, of).Mean }
	for k, time := range sum.times() {
		if *time = mean(func(r Result) float64 { return *r.times()[k] }); k < 3 {
			*time *= n
		}
	}
	for _, r := range runs {
		sum.Batches += r.Batches
		sum.PeakRSS = max(sum.PeakRSS, r.PeakRSS)
	}
	sum.Best = mean(func(r Result) float64 { return r.Best })
	sum.BestBatch = int(math.Round(mean(func(r Result) float64 { return float64(r.BestBatch) })))
	test := study.SpreadOf(runs, func(r Result) float64 { return r.Test })
	sum.Test, sum.TestMean, sum.TestStd, sum.TestSem = test.Mean, &test.Mean, &test.SD, &test.SEM
	// Each run draws a sample of its own.
	sum.BestSE = math.Sqrt(mean(func(r Result) float64 { return r.BestSE * r.BestSE }) / n)
	sum.TestSE = math.Sqrt(mean(func(r Result) float64 { return r.TestSE * r.TestSE }) / n)
	sum.round()
	return &sum
}
