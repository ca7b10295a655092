package train

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/gcn-layerwise/gcn/internal/rundir"
	"github.com/gcn-layerwise/gcn/internal/weights"
	"github.com/gcn-layerwise/gcn/layers"
)

// runState is the state of a run apart from parameters and moments. JSON keeps every
// field that a resumed run depends on exactly.
type runState struct {
	Seed      uint64 `json:"seed"`
	Batch     int    `json:"batch"`                // steps done
	AdamSteps int    `json:"adam_steps"`           // AdamState.Steps
	Evaluated int    `json:"evaluated"`            // steps done at the last evaluation
	LossSum   number `json:"loss_sum"`             // of the steps since
	Valid     number `json:"valid"`                // last score
	Best      number `json:"best"`                 // best score
	BestBatch int    `json:"best_batch"`           // steps done at the best score
	Falls     int    `json:"falls,omitempty"`      // whole cosines
	FallBatch int    `json:"fall_batch,omitempty"` // steps done at the last one

	Seconds         float64 `json:"seconds"` // wall clock, and parts of it
	TrainSeconds    float64 `json:"train_seconds"`
	SamplingSeconds float64 `json:"sampling_seconds"`
	WaitSeconds     float64 `json:"wait_seconds"`
	EvalSeconds     float64 `json:"eval_seconds"`
	RefreshSeconds  float64 `json:"refresh_seconds,omitempty"`
}

// states returns the state of the run beside the parameters: the model's and the learners'.
func (r *run) states() []layers.State {
	states := slices.Clone(r.model.Batch.State())
	for _, l := range r.learners {
		states = append(states, l.state()...)
	}
	return states
}

// restore sets the run's state from a checkpoint of the same configuration. path is for
// errors.
func (r *run) restore(path string, last *checkpoint) error {
	bad := func(reason string) error {
		return fmt.Errorf("train: %s: %w: %s", path, ErrCheckpoint, reason)
	}
	if r.best = nil; last.has(sectionBest) {
		r.best = make([]float32, len(r.program.Parameters()))
	}
	if err := cmp.Or(sameTensors(last.tensors, r.tensors()), checkFinite(last.section(sectionParameters))); err != nil {
		return bad(err.Error())
	}
	s := last.State
	switch {
	case s.Batch < 0 || s.Evaluated < 0 || s.Evaluated > s.Batch || s.BestBatch < 0 || s.BestBatch > s.Evaluated || s.AdamSteps < 0:
		return bad(fmt.Sprintf("its counts contradict each other: batch %d, evaluated %d, best %d", s.Batch, s.Evaluated, s.BestBatch))
	case s.Evaluated > 0 && len(last.Evaluations) == 0:
		return bad("it holds no evaluations: an earlier program wrote it")
	}
	copyTensors(r.tensors(), last.tensors)
	r.state, r.out.Evaluations, r.program.adam.Steps = s, last.Evaluations, s.AdamSteps
	r.out.Resumed, r.before = s.Batch, s.Seconds
	if err := r.resumeCosine(last.Config); err != nil {
		return fmt.Errorf("train: %s: cannot resume: %w", path, err)
	}
	for _, l := range r.learners {
		if err := l.resume(s.Batch); err != nil {
			return bad(err.Error())
		}
	}
	return nil
}

// save writes last.ckpt, and best.ckpt if the best score is new. It writes nothing if
// there is no folder, or if the state did not change.
func (r *run) save() (err error) {
	defer func() { err = named(err) }()
	r.saved = time.Now()
	if r.dir == nil || !r.dirty {
		return nil
	}
	if err := r.settle(); err != nil {
		return err
	}
	if err := r.program.Pull(true); err != nil {
		return err
	}
	last := r.last()
	s := last.State
	if s.Batch > r.out.Resumed { // an old result.json describes an earlier end of the run
		if err := r.dir.folder.Remove(rundir.ResultFile); err != nil {
			return err
		}
	}
	if err := r.dir.folder.Write(rundir.LastFile, last.write); err != nil {
		return err
	}
	r.dirty = false
	// best.ckpt comes after last.ckpt, so that it is never newer: a resumed run would
	// not know of it.
	if r.best == nil || r.bestSaved == s.BestBatch {
		return nil
	}
	// The state at the best score, not now: the file does not depend on when it is
	// written.
	s = runState{
		Seed:      s.Seed,
		Batch:     s.BestBatch,
		Evaluated: s.BestBatch,
		Valid:     s.Best,
		Best:      s.Best,
		BestBatch: s.BestBatch,
	}
	best := &checkpoint{State: s, Config: r.config, tensors: sectionOf(sectionParameters, r.program.params, r.best)}
	if err := r.dir.folder.Write(rundir.BestFile, best.write); err != nil {
		return err
	}
	r.bestSaved = s.BestBatch
	return nil
}

// last returns a checkpoint of the run as it is now.
func (r *run) last() *checkpoint {
	s := r.state
	s.Seconds, s.AdamSteps = r.seconds(), r.program.adam.Steps
	return &checkpoint{State: s, Evaluations: r.out.Evaluations, Config: r.config, tensors: r.tensors()}
}

// tensors returns the tensors of last.ckpt, in the run's own memory.
func (r *run) tensors() []weights.Tensor {
	params, adam := r.program.params, &r.program.adam
	var best []weights.Tensor
	if r.best != nil {
		best = sectionOf(sectionBest, params, r.best)
	}
	return slices.Concat(sectionOf(sectionParameters, params, nil), sectionOf(sectionMoment1, params, adam.M),
		sectionOf(sectionMoment2, params, adam.V), best, statesOf(r.states()))
}
