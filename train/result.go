package train

import "slices"

// Evaluation is one line of metrics.jsonl.
type Evaluation struct {
	Batch, Epoch int     // batches done; epoch of the last, from 0
	Loss         float64 // mean training loss since the evaluation before
	Valid        float64 // validation score; NaN if there are no validation nodes
	Best         bool    // better than all before
	Seconds      float64 // wall clock since the run began

	StandardError float64 // of Valid, if a sample of the nodes was scored; else 0
}

// Result is the outcome of a run. Scores are NaN if there was nothing to score.
type Result struct {
	Batches     int     // batches done
	Best        float64 // best validation score
	BestBatch   int     // batches done at the best
	Test        float64 // test score of the parameters with the best validation score; NaN until the run is done
	Evaluations []Evaluation
	Parameters  int    // number of trained values
	StateBytes  int64  // memory of the other state that the model keeps between steps, such as histories
	Stop        string // the limit that ended the run: "patience", "max-batches", "epochs"; "" if none did
	Resumed     int    // batches done before this call

	TrainMS    float64 // mean milliseconds per batch of the step and Adam, without waiting for the sampler
	SamplingMS float64 // mean milliseconds per batch of one sampling worker
	WaitMS     float64 // mean milliseconds per batch that the trainer waited for the workers
	CommMS     float64 // mean milliseconds per batch in sums over ranks, in this call
	Imbalance  float64 // of several ranks: the time that the slowest spent on its own mini-batches, over the mean of all, in this call; else 0
	EvalS      float64 // seconds in evaluations
	RefreshS   float64 // seconds in refreshes of histories
	WallS      float64 // seconds of the whole run, earlier calls included

	// If samples of the nodes were scored, their numbers and the standard errors of Best and
	// Test. With no such sample all are 0.
	ValidSample, TestSample int
	BestSE, TestSE          float64

	ExchangeBytes float64 // mean bytes per batch that this rank sent to others in this call: gradients, and rows of a Partition
}

// resultJSON is a Result in result.json, without the evaluations.
type resultJSON struct {
	Batches    int     `json:"batches"`
	Best       number  `json:"best_valid"`
	BestBatch  int     `json:"best_batch"`
	Test       number  `json:"test"`
	Stop       string  `json:"stop"`
	Seed       uint64  `json:"seed"`
	Parameters int     `json:"parameters"`
	StateBytes int64   `json:"state_bytes,omitempty"`
	TrainMS    float64 `json:"train_ms_per_batch"`
	SamplingMS float64 `json:"sampling_ms_per_batch"`
	WaitMS     float64 `json:"wait_ms_per_batch"`
	EvalS      float64 `json:"eval_s"`
	RefreshS   float64 `json:"refresh_s,omitempty"`
	WallS      float64 `json:"wall_s"`

	ValidSample int    `json:"valid_sample,omitempty"`
	TestSample  int    `json:"test_sample,omitempty"`
	BestSE      number `json:"best_valid_se,omitempty"`
	TestSE      number `json:"test_se,omitempty"`
}

func (r *Result) json(seed uint64) resultJSON {
	return resultJSON{
		Batches: r.Batches, Best: number(r.Best), BestBatch: r.BestBatch, Test: number(r.Test),
		Stop: r.Stop, Seed: seed, Parameters: r.Parameters, StateBytes: r.StateBytes,
		TrainMS: r.TrainMS, SamplingMS: r.SamplingMS, WaitMS: r.WaitMS, EvalS: r.EvalS, RefreshS: r.RefreshS, WallS: r.WallS,
		ValidSample: r.ValidSample, TestSample: r.TestSample, BestSE: number(r.BestSE), TestSE: number(r.TestSE),
	}
}

// result returns the Result so far.
func (r *run) result() *Result {
	s := &r.state
	state := r.model.Batch.StateBytes()
	for _, part := range slices.Concat(r.seeds.state(), r.sampler.state()) {
		state += 4 * int64(len(part.Values))
	}
	h := &Result{
		Batches: s.Batch, Best: float64(s.Best), BestBatch: s.BestBatch, Test: r.test,
		Evaluations: r.evaluations, Parameters: len(r.program.Parameters()), Stop: r.stop, Resumed: r.resumed,
		StateBytes: state,
		EvalS:      s.EvalSeconds, RefreshS: s.RefreshSeconds, WallS: r.seconds(),
	}
	if v := r.validSample; v != nil && v.Sampled() {
		h.ValidSample = len(v.Nodes)
		for _, e := range r.evaluations {
			if e.Batch == s.BestBatch {
				h.BestSE = e.StandardError
			}
		}
	}
	if t := r.testSample; t != nil && t.Sampled() {
		h.TestSample, h.TestSE = len(t.Nodes), r.testSE
	}
	if s.Batch > 0 {
		perBatch := 1000 / float64(s.Batch)
		h.TrainMS, h.SamplingMS, h.WaitMS = s.TrainSeconds*perBatch, s.SamplingSeconds*perBatch, s.WaitSeconds*perBatch
	}
	if n := s.Batch - r.resumed; n > 0 {
		h.CommMS = 1000 * r.ranks.seconds / float64(n)
		h.ExchangeBytes = float64(r.ranks.sent()) / float64(n)
	}
	h.Imbalance = r.ranks.imbalance
	return h
}
