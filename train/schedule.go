package train

import (
	"fmt"
	"math"
	"strconv"
)

// Schedule changes Adam's step size during a run. The zero value changes nothing. The
// step size depends on the number of batches done, so a resumed run has the same.
//
// A run that has ended can be resumed with a larger limit. The step size then falls along
// another cosine, which begins at half of the step size of the one before, and patience
// counts from there.
type Schedule struct {
	WarmUp int  // batches in which the step size grows linearly to Adam.LR; before a cosine, at most half of the limit
	Cosine bool // after them the step size falls to 0 at the limit of batches, along half a cosine (Loshchilov & Hutter 2017)
}

// factor returns the factor of the step size of the next batch. limit is the largest number
// of batches.
func (s Schedule) factor(state *runState, limit int) float64 {
	batch, warmUp := state.Batch, s.WarmUp
	if s.Cosine {
		if warmUp = min(warmUp, limit/2); state.Falls > 0 {
			warmUp = 0 // before the first cosine only
		}
	}
	if batch < warmUp {
		return float64(batch+1) / float64(warmUp)
	}
	if !s.Cosine {
		return 1
	}
	from := max(warmUp, state.FallBatch)
	return math.Pow(0.5, float64(state.Falls+1)) * (1 + math.Cos(math.Pi*float64(batch-from)/float64(limit-from)))
}

// scheduled returns Adam with the step size of the next update.
func (r *run) scheduled() Adam {
	a := r.options.Adam
	limit, _ := r.end()
	a.LR *= r.options.Schedule.factor(&r.state, limit)
	return a
}

// resumeCosine begins another cosine in a resumed run that had ended, at its limit or by its
// patience, if the limit is larger now. before is the configuration in the checkpoint.
func (r *run) resumeCosine(before map[string]any) error {
	s := &r.state
	if now := r.config["schedule_end"]; now != nil && before["schedule_end"] != now { // nil: no cosine
		number := func(name string) int {
			n, _ := strconv.Atoi(fmt.Sprint(before[name]))
			return n
		}
		patience := number("patience")
		if s.Batch < number("schedule_end") && (patience == 0 || s.Batch-r.since() < patience) {
			return fmt.Errorf("the step size falls to 0 at batch %v, and batch %d is done: let the run end before you change its limit", before["schedule_end"], s.Batch)
		}
		if limit, _ := r.end(); limit <= s.Batch {
			return fmt.Errorf("batch %d is done, and the limit is %d now", s.Batch, limit)
		}
		s.Falls, s.FallBatch = s.Falls+1, s.Batch
	}
	if s.Falls > 0 {
		r.config["falls"] = s.Falls
	}
	return nil
}

// since returns the batch from which patience counts: the batch of the best score, or the
// first one of a later cosine.
func (r *run) since() int { return max(r.state.BestBatch, r.state.FallBatch) }

// String returns the schedule as --schedule and config.json have it: cosine?warm-up=100.
func (s Schedule) String() string {
	name := map[bool]string{false: "none", true: "cosine"}[s.Cosine]
	return fmt.Sprintf("%s?warm-up=%d", name, s.WarmUp)
}
