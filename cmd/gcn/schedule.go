package main

import (
	"math"

	"github.com/spf13/pflag"

	"github.com/gcn-layerwise/gcn/train"
)

// scheduleOptions change Adam's decay and step size.
type scheduleOptions struct {
	DecoupledDecay bool
	WarmUp         int
	Schedule       string
	ScheduleEvery  int
	ScheduleFactor float64
}

func (o *scheduleOptions) flags(fs *pflag.FlagSet) {
	fs.BoolVar(&o.DecoupledDecay, "decoupled-decay", false, "AdamW: --weight-decay shrinks the weights, and not by way of the gradient")
	fs.IntVar(&o.WarmUp, "warm-up", 0, "mini-batches in which the step size grows to --lr")
	fs.StringVar(&o.Schedule, "schedule", train.DecayNone.String(), "fall of the step size: none, cosine (to 0 at --max-batches), step, or plateau (after scores without a better one)")
	fs.IntVar(&o.ScheduleEvery, "schedule-every", 100, "with --schedule step or plateau: mini-batches until the next fall")
	fs.Float64Var(&o.ScheduleFactor, "schedule-factor", 0.5, "with --schedule step or plateau: factor of the step size at a fall")
}

// check returns an error for the first option with a wrong value, or without effect.
// limits are the largest numbers of updates, 0 without a limit and math.MaxInt for one
// that depends on the data: train.Fit checks it.
func (o *scheduleOptions) check(fs *pflag.FlagSet, decay float64, limits ...int) error {
	if err := oneOf("schedule", o.Schedule, train.DecayNames()); err != nil {
		return err
	}
	if err := atLeast("warm-up", o.WarmUp, 0); err != nil {
		return err
	}
	if err := atLeast("schedule-every", o.ScheduleEvery, 1); err != nil {
		return err
	}
	if !(o.ScheduleFactor > 0 && o.ScheduleFactor < 1) {
		return usagef("--schedule-factor %v: want a number between 0 and 1", o.ScheduleFactor)
	}
	s := o.schedule()
	if s.Decay != train.DecayStep && s.Decay != train.DecayPlateau {
		for _, name := range []string{"schedule-every", "schedule-factor"} {
			if fs.Changed(name) {
				return usagef("--%s is for --schedule step and --schedule plateau", name)
			}
		}
	}
	if o.DecoupledDecay && decay == 0 {
		return usagef("--decoupled-decay without --weight-decay changes nothing")
	}
	limit, limited := math.MaxInt, false
	for _, n := range limits {
		if n > 0 {
			limit, limited = min(limit, n), true
		}
	}
	switch {
	case s.Decay == train.DecayCosine && !limited:
		return usagef("--schedule cosine ends at the last mini-batch: it needs --max-batches or --epochs")
	case s.Decay == train.DecayCosine && o.WarmUp >= limit:
		return usagef("--warm-up %d leaves no mini-batch of %d for the cosine", o.WarmUp, limit)
	}
	return nil
}

// schedule returns the options as package train takes them.
func (o *scheduleOptions) schedule() train.Schedule {
	s := train.Schedule{WarmUp: o.WarmUp, Every: o.ScheduleEvery, Factor: o.ScheduleFactor}
	for k, name := range train.DecayNames() {
		if name == o.Schedule {
			s.Decay = train.Decay(k)
		}
	}
	return s
}

// addTo adds the options that have an effect to the configuration of several runs, as Fit
// does for one.
func (o *scheduleOptions) addTo(config map[string]any) {
	if o.DecoupledDecay {
		config["decoupled_decay"] = true
	}
	if o.WarmUp > 0 {
		config["warm_up"] = o.WarmUp
	}
	switch s := o.schedule(); s.Decay {
	case train.DecayNone:
		return
	case train.DecayStep, train.DecayPlateau:
		config["schedule_every"], config["schedule_factor"] = s.Every, s.Factor
	}
	config["schedule"] = o.Schedule
}
