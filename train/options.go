package train

import (
	"cmp"
	"fmt"
	"math"
	"runtime"
	"time"

	"github.com/gcn-layerwise/gcn/ops"
)

// Options configures Fit. The zero value is the protocol of the paper (Chen et al.
// 2023): Adam at 0.001, batches of 512 training nodes, stop after 200 batches without
// a better validation score. The paper does not state the rest, which follows the
// program released with it: epochs of 10 independent random batches, an evaluation
// after each epoch, at most 1000 batches.
//
// Options have the same names here, as flags of the command gcn and in a run's
// config.json: BatchesPerEpoch, --batches-per-epoch, batches_per_epoch. Here 0 means
// the default. Flags and config.json have no such value: there a limit of 0 means
// Unlimited, and 0 batches per epoch means OnePass. Negative numbers are errors, except
// OnePass.
type Options struct {
	Adam     Adam     // its fields are options of their own: --lr, beta1, …
	Schedule Schedule // of the step size: --schedule

	Batch           int // training nodes per batch, at most all of them; 0 means 512
	BatchesPerEpoch int // independent random batches per epoch, or OnePass; 0 means 10

	// Micro is the number of mini-batches whose mean gradient makes one update; 0 means
	// 1. The limits and intervals below count updates.
	Micro int

	// Group is the ranks that share the Micro mini-batches of each update; nil means
	// this process alone. The parameters have the same bits for any number of ranks.
	// All ranks call Fit with equal options. Only rank 0 uses Dir, Begin, Progress and
	// Result. If Fit fails on one rank, the others wait for it: the caller ends them.
	Group Group

	// Partition is not nil if the ranks of Group hold the data together: see
	// NewPartition. It excludes a GPU, and models whose Inference is not a GCN's.
	Partition *Partition

	// Seeds prefers the training nodes whose last score was large; NoScore means uniform
	// batches. The loss is weighed so that it stays an unbiased estimate of the mean loss of the
	// labelled training nodes. A batch is drawn by the scores of batches at least SeedsEvery
	// before it; 0 means 50. Seeds excludes OnePass, and samplers that draw output nodes of their
	// own.
	Seeds      ops.Score
	SeedsEvery int

	// EdgeDropout is the share of the entries of blocks that are dropped: see
	// samplers.MiniBatch.DropEdges. It excludes controls, and samplers that learn.
	EdgeDropout float64

	MaxBatches int // stop after this many batches, or Unlimited; 0 means 1000
	Epochs     int // stop after this many epochs; 0 means Unlimited
	EvalEvery  int // batches between evaluations; 0 means 10
	Patience   int // stop after this many batches without a better validation score, or Unlimited; 0 means 200

	// EvalSamples is the number of labelled validation nodes to score, and of test nodes,
	// drawn once by the seed: see score.Sample. Patience and the best parameters then follow
	// the estimate. 0 means all nodes.
	EvalSamples int

	// ControlEvery is the number of batches between two refreshes of the histories of a
	// control (layers.GCN.Refresh), beside the one before the first batch; 0 means 50. While
	// Schedule makes the step size k or more times as small, k a whole number, these are k
	// times as far apart: histories age with the size of the steps. Without such histories it does nothing.
	ControlEvery int

	Workers int    // sampling goroutines; 0 means GOMAXPROCS; results do not depend on it
	Seed    uint64 // seed of every random decision

	// Progress, if not nil, is called after each batch, on the goroutine that
	// called Fit. It should be quick.
	Progress func(Progress)

	// Dir is the run's folder, made if it does not exist; empty keeps nothing on
	// disk. A folder that holds a run is refused unless Resume or Overwrite is set.
	// Resume continues from the last checkpoint, or starts a new run if there is
	// none; Overwrite removes the old run.
	Dir       string
	Resume    bool
	Overwrite bool

	// CheckpointInterval is the least time between two checkpoints, which are
	// written after evaluations and at the end. 0 means 2 s; a nanosecond means one
	// after every evaluation.
	CheckpointInterval time.Duration

	// Begin, if not nil, is called after settings, data and folder were checked,
	// before anything is written or trained. Its error ends the run.
	Begin func() error

	// Result, if not nil, returns the contents of result.json, instead of the
	// Result that it gets. encoding/json must be able to write them.
	Result func(*Result) any

	// Config holds other settings that a run depends on, such as the sampler's parts, which
	// Resume cannot tell apart without it. They
	// are stored in config.json beside Fit's own settings, and compared on resume.
	// A field named data may give the location of the data: it is not compared, the
	// Fingerprint is. encoding/json must be able to write the values. A field with the name of
	// a setting of Fit's takes its place; the derived ones, such as parameters, are Fit's.
	Config map[string]any
}

const (
	// Unlimited is the MaxBatches, Epochs or Patience of a run without that limit.
	// At least one of the three must be a limit.
	Unlimited = math.MaxInt

	// OnePass is the BatchesPerEpoch of epochs that are one pass over the training
	// nodes in random order.
	OnePass = -1
)

// Progress is the state of a run after a batch.
type Progress struct {
	Batch, MaxBatches int // batches done, and the limit; 0: no limit
	Epoch             int // epoch of the last batch, from 0

	Loss      float64 // mean since the last evaluation; on a GPU, of the losses copied back so far, NaN before the first
	Valid     float64 // last validation score; NaN before the first
	Best      float64 // best so far; NaN before the first
	BestBatch int     // batches done at the best
	Evaluated bool    // Valid is the score after this batch

	Elapsed time.Duration // of the whole run, earlier calls included
	Left    time.Duration // to the limit at this pace; 0 without a limit
}

// withDefaults returns o with defaults in the place of zeros.
func (o Options) withDefaults() Options {
	o.Adam = o.Adam.withDefaults()
	o.Batch = cmp.Or(o.Batch, 512)
	o.BatchesPerEpoch = cmp.Or(o.BatchesPerEpoch, 10)
	o.Micro = cmp.Or(o.Micro, 1)
	o.SeedsEvery = cmp.Or(o.SeedsEvery, 50)
	o.MaxBatches = cmp.Or(o.MaxBatches, 1000)
	o.Epochs = cmp.Or(o.Epochs, Unlimited)
	o.EvalEvery = cmp.Or(o.EvalEvery, 10)
	o.Patience = cmp.Or(o.Patience, 200)
	o.ControlEvery = cmp.Or(o.ControlEvery, 50)
	o.Workers = cmp.Or(o.Workers, runtime.GOMAXPROCS(0))
	o.CheckpointInterval = cmp.Or(o.CheckpointInterval, 2*time.Second)
	return o
}

// validate returns an error for a setting that no run could use; o has its defaults.
func (o Options) validate() error {
	for _, f := range []struct {
		name  string
		value int
	}{
		{"Batch", o.Batch}, {"Micro", o.Micro}, {"MaxBatches", o.MaxBatches}, {"Epochs", o.Epochs}, {"EvalEvery", o.EvalEvery},
		{"ControlEvery", o.ControlEvery}, {"SeedsEvery", o.SeedsEvery}, {"Patience", o.Patience}, {"EvalSamples", o.EvalSamples}, {"Workers", o.Workers}, {"CheckpointInterval", int(o.CheckpointInterval)},
	} {
		if f.value < 0 {
			return fmt.Errorf("train: Options.%s is %d, want at least 1, or 0 for the default", f.name, f.value)
		}
	}
	switch {
	case seedNames[o.Seeds] == "":
		return fmt.Errorf("train: Options.Seeds is %d, which names no score", o.Seeds)
	case o.BatchesPerEpoch < 0 && o.BatchesPerEpoch != OnePass:
		return fmt.Errorf("train: Options.BatchesPerEpoch is %d, want at least 1, 0 for the default, or OnePass", o.BatchesPerEpoch)
	case o.Seeds != ops.NoScore && (o.Micro > 1 || o.Group != nil && o.Group.Size() > 1):
		return fmt.Errorf("train: Options.Seeds draws batches by importance: that needs one mini-batch an update, and one process, since the next batch needs the scores of this one, which another rank may have; take uniform batches")
	case o.Seeds != ops.NoScore && o.BatchesPerEpoch == OnePass:
		return fmt.Errorf("train: Options.Seeds draws batches by importance, but with OnePass each node is in one batch of an epoch")
	case o.MaxBatches == Unlimited && o.Epochs == Unlimited && o.Patience == Unlimited:
		return fmt.Errorf("train: MaxBatches, Epochs and Patience are all Unlimited: the run would never end")
	case o.Resume && o.Overwrite:
		return fmt.Errorf("train: Options.Resume and Options.Overwrite exclude each other")
	case (o.Resume || o.Overwrite) && o.Dir == "":
		return fmt.Errorf("train: Options.Resume or Options.Overwrite is set, but not Options.Dir")
	}
	return o.Adam.Validate()
}
