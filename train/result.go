package train

import "github.com/gcn-layerwise/gcn/score"

// Evaluation is one line of metrics.jsonl.
type Evaluation struct {
	Batch   int     `json:"batch"`   // batches done
	Epoch   int     `json:"epoch"`   // of the last batch, from 0
	Loss    float64 `json:"loss"`    // mean training loss since the evaluation before
	Valid   float64 `json:"valid"`   // validation score; NaN if there are no validation nodes
	Best    bool    `json:"best"`    // better than all before
	Seconds float64 `json:"seconds"` // wall clock since the run began

	StandardError float64 `json:"valid_se,omitempty"` // of Valid, if a sample of the nodes was scored; else 0
}

// Result is the outcome of a run. Scores are NaN if there was nothing to score. result.json holds
// the fields that do not follow from metrics.jsonl or from this call alone.
type Result struct {
	Batches     int          `json:"batches"`    // batches done
	Best        float64      `json:"best_valid"` // best validation score
	BestBatch   int          `json:"best_batch"` // batches done at the best
	Test        float64      `json:"test"`       // test score of the parameters with the best validation score; NaN until the run is done
	Evaluations []Evaluation `json:"-"`
	Parameters  int          `json:"parameters"`            // number of trained values
	StateBytes  int64        `json:"state_bytes,omitempty"` // memory of the other state that the model keeps between steps, such as histories
	Stop        string       `json:"stop,omitempty"`        // the limit that ended the run: "patience", "max-batches", "epochs"; "" if none did
	Resumed     int          `json:"-"`                     // batches done before this call
	Falls       int          `json:"falls,omitempty"`       // cosines that ended before this one
	Predicted   []int        `json:"-"`                     // test nodes predicted as each class; nil for binary tasks, and until the run is done

	TrainMS    float64 `json:"train_ms_per_batch"`         // mean milliseconds per batch of the step and Adam, without waiting for the sampler
	SamplingMS float64 `json:"sampling_ms_per_batch"`      // mean milliseconds per batch of one sampling worker
	WaitMS     float64 `json:"wait_ms_per_batch"`          // mean milliseconds per batch that the trainer waited for the workers
	CommMS     float64 `json:"comm_ms_per_step,omitempty"` // mean milliseconds per batch in sums over ranks, in this call
	Imbalance  float64 `json:"imbalance,omitempty"`        // of several ranks: the time that the slowest spent on its own mini-batches, over the mean of all, in this call; else 0
	EvalS      float64 `json:"eval_s"`                     // seconds in evaluations
	RefreshS   float64 `json:"refresh_s,omitempty"`        // seconds in refreshes of histories
	WallS      float64 `json:"wall_s"`                     // seconds of the whole run, earlier calls included

	// If samples of the nodes were scored, their numbers and the standard errors of Best and
	// Test. With no such sample all are 0.
	ValidSample int     `json:"valid_sample,omitempty"`
	TestSample  int     `json:"test_sample,omitempty"`
	BestSE      float64 `json:"best_valid_se,omitempty"`
	TestSE      float64 `json:"test_se,omitempty"`

	Seed uint64 `json:"seed"` // Options.Seed

	ExchangeBytes float64 `json:"exchange_bytes_per_step,omitempty"` // mean bytes per batch that this rank sent to others in this call: gradients, and rows of a Partition
}

// result returns the Result so far.
func (r *run) result() *Result {
	s, h := &r.state, r.out
	h.Batches, h.Best, h.BestBatch, h.Falls, h.Seed = s.Batch, float64(s.Best), s.BestBatch, s.Falls, s.Seed
	h.EvalS, h.RefreshS, h.WallS = s.EvalSeconds, s.RefreshSeconds, r.seconds()
	h.Parameters, h.StateBytes = len(r.program.Parameters()), r.model.Batch.StateBytes()
	for _, l := range r.learners {
		for _, part := range l.state() {
			h.StateBytes += 4 * int64(len(part.Values))
		}
	}
	h.ValidSample, h.TestSample = sampleSize(r.validSample), sampleSize(r.testSample)
	for _, e := range h.Evaluations {
		if e.Batch == s.BestBatch {
			h.BestSE = e.StandardError
		}
	}
	if s.Batch > 0 {
		perBatch := 1000 / float64(s.Batch)
		h.TrainMS, h.SamplingMS, h.WaitMS = s.TrainSeconds*perBatch, s.SamplingSeconds*perBatch, s.WaitSeconds*perBatch
	}
	if n := float64(s.Batch - h.Resumed); n > 0 {
		h.CommMS, h.ExchangeBytes = 1000*r.adding/n, float64(r.sent())/n
	}
	return &h
}

// sampleSize returns the number of nodes of s, 0 if they are not a sample.
func sampleSize(s *score.Sample) int {
	if !s.Sampled() {
		return 0
	}
	return len(s.Nodes)
}
