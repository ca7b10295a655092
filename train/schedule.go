package train

import (
	"cmp"
	"fmt"
	"math"
	"strconv"
)

// Decay names how the step size falls during a run.
type Decay uint8

const (
	DecayNone    Decay = iota
	DecayCosine        // to 0 at the limit of batches, along half a cosine (Loshchilov & Hutter 2017)
	DecayStep          // by Factor every Every batches
	DecayPlateau       // by Factor after every Every batches without a better validation score
)

var decayNames = [...]string{"none", "cosine", "step", "plateau"}

// String returns the name in --schedule and config.json.
func (d Decay) String() string {
	if int(d) < len(decayNames) {
		return decayNames[d]
	}
	return fmt.Sprintf("Decay(%d)", uint8(d))
}

// DecayNames returns all names, in the order of the constants.
func DecayNames() []string { return append([]string(nil), decayNames[:]...) }

// Schedule changes Adam's step size during a run. The zero value changes nothing. The
// step size depends on the number of batches done and, with DecayPlateau, on the
// validation scores before, so a resumed run has the same.
//
// A run that has ended can be resumed with a larger limit. The step size then falls along
// another cosine, which begins at half of the step size of the one before, and patience
// counts from there.
type Schedule struct {
	WarmUp int     // batches in which the step size grows linearly to Adam.LR; before a cosine, at most half of the limit
	Decay  Decay   // after them
	Every  int     // see Decay; 0 means 100
	Factor float64 // see Decay; between 0 and 1, 0 means 0.5
}

// withDefaults returns s with defaults in the place of zeros.
func (s Schedule) withDefaults() Schedule {
	s.Every, s.Factor = cmp.Or(s.Every, 100), cmp.Or(s.Factor, 0.5)
	return s
}

// validate returns an error for a setting that no run could use; limit is the largest
// number of batches.
func (s Schedule) validate(limit int) error {
	switch {
	case s.Decay > DecayPlateau:
		return fmt.Errorf("train: Schedule.Decay is %d, which names nothing", s.Decay)
	case s.WarmUp < 0 || s.Every < 0:
		return fmt.Errorf("train: Schedule.WarmUp and Schedule.Every are %d and %d, want no negative numbers", s.WarmUp, s.Every)
	case !(s.Factor > 0 && s.Factor < 1):
		return fmt.Errorf("train: Schedule.Factor is %v, want a number between 0 and 1", s.Factor)
	case s.Decay == DecayCosine && limit == Unlimited:
		return fmt.Errorf("train: a cosine schedule ends at the limit of batches: it needs MaxBatches or Epochs")
	}
	return nil
}

// factor returns the factor of the step size of the next batch. limit is the largest number
// of batches.
func (s Schedule) factor(state *runState, limit int) float64 {
	batch, warmUp := state.Batch, s.WarmUp
	if s.Decay == DecayCosine {
		if warmUp = min(warmUp, limit/2); state.Falls > 0 {
			warmUp = 0 // before the first cosine only
		}
	}
	if batch < warmUp {
		return float64(batch+1) / float64(warmUp)
	}
	switch s.Decay {
	case DecayCosine:
		from := max(warmUp, state.FallBatch)
		return math.Pow(0.5, float64(state.Falls+1)) * (1 + math.Cos(math.Pi*float64(batch-from)/float64(limit-from)))
	case DecayStep:
		return math.Pow(s.Factor, float64((batch-warmUp)/s.Every))
	case DecayPlateau:
		return math.Pow(s.Factor, float64(state.Falls))
	}
	return 1
}

// fall counts a fall of DecayPlateau, if one is due after an evaluation.
func (s Schedule) fall(state *runState) {
	since := max(state.BestBatch, state.FallBatch, s.WarmUp)
	if s.Decay == DecayPlateau && state.Batch-since >= s.Every {
		state.Falls, state.FallBatch = state.Falls+1, state.Batch
	}
}

// scheduled returns Adam with the step size of the next update.
func (r *run) scheduled() Adam {
	a, s := r.options.Adam, r.options.Schedule
	if s.WarmUp > 0 || s.Decay != DecayNone {
		limit, _ := r.end()
		a.LR *= s.factor(&r.state, limit)
	}
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
	if r.options.Schedule.Decay == DecayCosine && s.Falls > 0 {
		r.config["falls"] = s.Falls
	}
	return nil
}

// since returns the batch from which patience counts: the batch of the best score, or the
// first one of a later cosine.
func (r *run) since() int {
	if r.options.Schedule.Decay == DecayCosine {
		return max(r.state.BestBatch, r.state.FallBatch)
	}
	return r.state.BestBatch
}

// String returns the schedule as --schedule and config.json have it: cosine?warm-up=100.
func (s Schedule) String() string {
	text := fmt.Sprintf("%v?warm-up=%d", s.Decay, s.WarmUp)
	if s.Decay == DecayStep || s.Decay == DecayPlateau {
		text += fmt.Sprintf("&every=%d&factor=%v", s.Every, s.Factor)
	}
	return text
}
