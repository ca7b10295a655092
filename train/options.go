package train

import (
	"fmt"
	"math"
	"runtime"
	"time"
)

// Options is how Fit trains. The zero value is the protocol of the paper
// (Chen et al. 2023): Adam at 0.001, batches of 512 training nodes, stop after
// 200 of them without a better validation score. Where the paper says nothing it
// is that of the program released with it: epochs of 10 independent random
// batches, an evaluation after each, at most 1000 batches.
//
// Zero means the number said. A negative MaxBatches, MaxEpochs or Patience means
// no limit; of other numbers, negative ones are errors unless it says otherwise.
type Options struct {
	Adam Adam

	BatchSize       int  // training nodes in a batch; 0 means 512; more than there are means all
	BatchesPerEpoch int  // independent batches in an epoch; 0 means 10
	Permute         bool // an epoch is one pass over the training nodes in random order instead

	MaxBatches int // 0 means 1000
	MaxEpochs  int // 0 means no limit
	EvalEvery  int // batches between evaluations; 0 means 10
	Patience   int // batches without a strictly better validation score before stopping; 0 means 200

	Workers int    // sampling goroutines; 0 means GOMAXPROCS; results do not depend on it
	Seed    uint64 // of every random decision

	// Progress, where not nil, is called after each batch, on the goroutine
	// that called Fit; it should be quick.
	Progress func(Progress)

	// Dir is the run's folder, made if it is not there; empty keeps nothing on
	// disk. One that holds a run is refused unless Resume or Overwrite is set.
	// Resume goes on from the last checkpoint, or starts afresh where there is
	// none; Overwrite removes the run that is there.
	Dir       string
	Resume    bool
	Overwrite bool

	// CheckpointInterval is the least time between two checkpoints, which are
	// written at evaluations and at the end; 0 means 2 s, negative means one at
	// every evaluation.
	CheckpointInterval time.Duration

	// Begin, where not nil, is called once the settings, the data and the folder
	// have been found fit to use, before anything is written or trained. Its error
	// ends the run.
	Begin func() error

	// Result, where not nil, returns the contents of result.json, in place of the
	// history that it is given. They must be what encoding/json can write.
	Result func(*Result) any

	// Config is stored in config.json beside Fit's own settings, and compared
	// on resume: what else a run depends on (method, sizes). A field data may say
	// where the data lie: it is not compared, their Fingerprint is. Values
	// must be what encoding/json can write; keys must not be Fit's own.
	Config map[string]any
}

// Progress is where a run stands.
type Progress struct {
	Batch, MaxBatches int // batches done, and the limit or 0
	Epoch             int // epoch of the last batch, from 0

	Loss      float64 // mean since the last evaluation; on a device, of the losses that came back, NaN before any did
	Valid     float64 // last validation score; NaN before the first
	Best      float64 // best so far; NaN before the first
	BestBatch int     // batches done at the best
	Evaluated bool    // the validation score is this batch's

	Elapsed time.Duration // of the whole run, resumed parts included
	Left    time.Duration // to the limit at this pace; 0 where there is none
}

// Evaluation is one line of metrics.jsonl.
type Evaluation struct {
	Batch, Epoch int     // batches done; epoch of the last, from 0
	Loss         float64 // mean training loss since the evaluation before
	Valid        float64 // validation score; NaN if there are no validation nodes
	Best         bool    // better than all before
	Seconds      float64 // wall clock since the run began
}

// Result is what a run did. Scores are NaN where there was nothing to score.
type Result struct {
	Batches     int     // batches done
	Best        float64 // best validation score
	BestBatch   int     // batches done at the best
	Test        float64 // test score of the best-validation weights; NaN until the run is done
	Evaluations []Evaluation
	Parameters  int    // number of trained values
	StateBytes  int64  // memory of what the model keeps from step to step beside them, such as histories
	Stop        string // why it ended: "patience", "max-batches", "max-epochs"; empty if it did not
	Resumed     int    // batch that this call started from

	TrainMS    float64 // mean milliseconds a batch: step and Adam, waiting for the sampler left out
	SamplingMS float64 // mean milliseconds a batch on one worker
	WaitMS     float64 // mean milliseconds a batch that the trainer waited for the workers
	EvalS      float64 // seconds in evaluations
	WallS      float64 // seconds of the whole run, resumed parts included
}

const unlimited = math.MaxInt

// withDefaults returns o with its zero fields filled in and limits that are off
// set to unlimited.
func (o Options) withDefaults() Options {
	o.Adam = o.Adam.withDefaults()
	for _, f := range []struct {
		field *int
		value int
	}{
		{&o.BatchSize, 512}, {&o.BatchesPerEpoch, 10}, {&o.MaxBatches, 1000}, {&o.MaxEpochs, unlimited},
		{&o.EvalEvery, 10}, {&o.Patience, 200}, {&o.Workers, runtime.GOMAXPROCS(0)},
	} {
		if *f.field == 0 {
			*f.field = f.value
		}
	}
	for _, limit := range []*int{&o.MaxBatches, &o.MaxEpochs, &o.Patience} {
		if *limit < 0 {
			*limit = unlimited
		}
	}
	if o.CheckpointInterval == 0 {
		o.CheckpointInterval = 2 * time.Second
	}
	return o
}

// validate reports a setting that no run could use; o has its defaults.
func (o Options) validate() error {
	switch {
	case o.BatchSize < 0:
		return fmt.Errorf("train: batch size %d, want positive", o.BatchSize)
	case o.BatchesPerEpoch < 0:
		return fmt.Errorf("train: %d batches an epoch, want positive", o.BatchesPerEpoch)
	case o.EvalEvery < 0:
		return fmt.Errorf("train: evaluation every %d batches, want positive", o.EvalEvery)
	case o.Workers < 0:
		return fmt.Errorf("train: %d workers, want positive", o.Workers)
	case o.MaxBatches == unlimited && o.MaxEpochs == unlimited && o.Patience == unlimited:
		return fmt.Errorf("train: no limit of batches, epochs or patience: the run would never end")
	case o.Resume && o.Overwrite:
		return fmt.Errorf("train: resume and overwrite exclude each other")
	case (o.Resume || o.Overwrite) && o.Dir == "":
		return fmt.Errorf("train: resume or overwrite without a folder")
	}
	return o.Adam.Validate()
}
