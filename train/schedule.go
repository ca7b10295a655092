package train

import (
	"fmt"
	"math"
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
type Schedule struct {
	WarmUp int     // batches in which the step size grows linearly to Adam.LR
	Decay  Decay   // after them
	Every  int     // see Decay; 0 means 100
	Factor float64 // see Decay; between 0 and 1, 0 means 0.5
}

// withDefaults returns s with defaults in the place of zeros.
func (s Schedule) withDefaults() Schedule {
	if s.Every == 0 {
		s.Every = 100
	}
	if s.Factor == 0 {
		s.Factor = 0.5
	}
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
	case s.Decay == DecayCosine && s.WarmUp >= limit:
		return fmt.Errorf("train: Schedule.WarmUp of %d batches leaves none of %d for the cosine", s.WarmUp, limit)
	}
	return nil
}

// factor returns the factor of the step size after the given number of batches. limit is
// the largest number of batches, falls the number of falls of DecayPlateau so far.
func (s Schedule) factor(batch, limit, falls int) float64 {
	if batch < s.WarmUp {
		return float64(batch+1) / float64(s.WarmUp)
	}
	switch s.Decay {
	case DecayCosine:
		return 0.5 * (1 + math.Cos(math.Pi*float64(batch-s.WarmUp)/float64(limit-s.WarmUp)))
	case DecayStep:
		return math.Pow(s.Factor, float64((batch-s.WarmUp)/s.Every))
	case DecayPlateau:
		return math.Pow(s.Factor, float64(falls))
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
		a.LR *= s.factor(r.state.Batch, limit, r.state.Falls)
	}
	return a
}

// describeSchedule adds the schedule to config.json, if there is one. A cosine depends on
// the limit, so a resumed run must have the same.
func (r *run) describeSchedule(config map[string]any) {
	s := r.options.Schedule
	if s.WarmUp > 0 {
		config["warm_up"] = s.WarmUp
	}
	switch s.Decay {
	case DecayNone:
		return
	case DecayCosine:
		config["schedule_end"], _ = r.end()
	default:
		config["schedule_every"], config["schedule_factor"] = s.Every, s.Factor
	}
	config["schedule"] = s.Decay.String()
}
