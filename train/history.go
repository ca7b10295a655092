package train

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
	WallS      float64 `json:"wall_s"`
}

func (h *Result) json(seed uint64) resultJSON {
	return resultJSON{
		Batches: h.Batches, Best: number(h.Best), BestBatch: h.BestBatch, Test: number(h.Test),
		Stop: h.Stop, Seed: seed, Parameters: h.Parameters, StateBytes: h.StateBytes,
		TrainMS: h.TrainMS, SamplingMS: h.SamplingMS, WaitMS: h.WaitMS, EvalS: h.EvalS, WallS: h.WallS,
	}
}
