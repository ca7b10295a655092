package train

import (
	"fmt"
	"slices"
	"time"

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
	Falls     int    `json:"falls,omitempty"`      // of the step size, by DecayPlateau
	FallBatch int    `json:"fall_batch,omitempty"` // steps done at the last one

	MetricsBytes int64 `json:"metrics_bytes"` // length of metrics.jsonl up to this state

	Seconds         float64 `json:"seconds"` // wall clock, and parts of it
	TrainSeconds    float64 `json:"train_seconds"`
	SamplingSeconds float64 `json:"sampling_seconds"`
	WaitSeconds     float64 `json:"wait_seconds"`
	EvalSeconds     float64 `json:"eval_seconds"`
	RefreshSeconds  float64 `json:"refresh_seconds,omitempty"`
}

// states returns the state of the run beside the parameters: the model's, the seeds' and the
// sampler's.
func (r *run) states() []layers.State {
	return slices.Concat(r.model.Batch.State(), r.seeds.state(), r.sampler.state())
}

// restore sets the run's state from a checkpoint of the same configuration. path is for
// errors.
func (r *run) restore(path string, last *checkpoint, evaluations []Evaluation) error {
	bad := func(reason string) error {
		return fmt.Errorf("train: %s: %w: %s", path, ErrCheckpoint, reason)
	}
	metas := make([]parameterMeta, len(r.program.params))
	for k, p := range r.program.params {
		metas[k] = p.parameterMeta
	}
	if err := last.checkParameters(metas); err != nil {
		return bad(err.Error())
	}
	if err := last.checkFinite(sectionParameters); err != nil {
		return bad(err.Error())
	}
	states := r.states()
	if err := last.checkStates(states); err != nil {
		return bad(err.Error())
	}
	s := last.State
	m, v := last.sections[sectionMoment1], last.sections[sectionMoment2]
	switch {
	case m == nil || v == nil:
		return bad("Adam's state is missing")
	case s.Batch < 0 || s.Evaluated < 0 || s.Evaluated > s.Batch || s.BestBatch < 0 || s.BestBatch > s.Evaluated || s.AdamSteps < 0:
		return bad(fmt.Sprintf("its counts contradict each other: batch %d, evaluated %d, best %d", s.Batch, s.Evaluated, s.BestBatch))
	case s.Seed != r.options.Seed:
		return bad(fmt.Sprintf("its seed is %d, want %d", s.Seed, r.options.Seed))
	}
	copy(r.program.Parameters(), last.sections[sectionParameters])
	for k, state := range states {
		copy(state.Values, last.states[k])
	}
	r.state, r.best, r.evaluations = s, last.sections[sectionBest], evaluations
	r.adam = AdamState{Steps: s.AdamSteps, M: m, V: v}
	r.resumed, r.before = s.Batch, s.Seconds
	if r.seeds != nil {
		if err := r.seeds.resume(s.Batch); err != nil {
			return bad(err.Error())
		}
	}
	if r.sampler != nil {
		if err := r.sampler.resume(s.Batch); err != nil {
			return bad(err.Error())
		}
	}
	return nil
}

// save writes last.ckpt, and best.ckpt if the best score is new. It writes nothing if
// there is no folder, or if the state did not change.
func (r *run) save() error {
	r.saved = time.Now()
	if r.dir == nil || !r.dirty {
		return nil
	}
	if err := r.settle(); err != nil {
		return err
	}
	if err := r.program.Pull(&r.adam); err != nil {
		return err
	}
	last := r.last()
	s := last.State
	if s.Batch > r.resumed { // an old result.json describes an earlier end of the run
		if err := r.dir.dropResult(); err != nil {
			return err
		}
	}
	if err := r.dir.saveLast(last); err != nil {
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
	s = runState{Seed: s.Seed, Batch: s.BestBatch, Evaluated: s.BestBatch, Valid: s.Best, Best: s.Best, BestBatch: s.BestBatch}
	best := r.checkpoint(s, map[string][]float32{sectionParameters: r.best})
	if err := r.dir.saveCheckpoint(bestFile, best); err != nil {
		return err
	}
	r.bestSaved = s.BestBatch
	return nil
}

// last returns a checkpoint of the run as it is now.
func (r *run) last() *checkpoint {
	s := r.state
	s.Seconds = r.seconds()
	last := r.checkpoint(s, map[string][]float32{
		sectionParameters: r.program.Parameters(),
		sectionMoment1:    r.adam.M,
		sectionMoment2:    r.adam.V,
	})
	if r.best != nil {
		last.sections[sectionBest] = r.best
		last.Sections = append(last.Sections, sectionBest)
	}
	last.addStates(r.states())
	return last
}

// checkpoint returns a checkpoint of the run's parameters with the given
// sections.
func (r *run) checkpoint(s runState, sections map[string][]float32) *checkpoint {
	c := &checkpoint{sections: sections}
	c.State, c.Config = s, r.config
	for _, p := range r.program.params {
		c.Parameters = append(c.Parameters, p.parameterMeta)
	}
	for _, name := range []string{sectionParameters, sectionMoment1, sectionMoment2} {
		if sections[name] != nil {
			c.Sections = append(c.Sections, name)
		}
	}
	return c
}
