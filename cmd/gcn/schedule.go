package main

import (
	"math"
	"slices"

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
	fs.IntVar(&o.WarmUp, "warm-up", 100, "mini-batches in which the step size grows to --lr; with --schedule cosine at most half of the run")
	fs.StringVar(&o.Schedule, "schedule", train.DecayCosine.String(), "fall of the step size: none, cosine (to 0 at --max-batches), step, or plateau (after scores without a better one)")
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
	if s.Decay == train.DecayCosine && !slices.ContainsFunc(limits, func(n int) bool { return n > 0 }) {
		return usagef("--schedule cosine ends at the last mini-batch: it needs --max-batches or --epochs; without a limit, take --schedule none")
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

// tellCosine says that a run with a larger limit than the saved one has another cosine.
func (j *trainJob) tellCosine(saved *config) error {
	var before trainOptions
	fs := pflag.NewFlagSet("", pflag.ContinueOnError)
	before.flags(fs)
	if err := saved.apply(fs); err != nil {
		return noUsage(err)
	}
	if from, to := before.limit(), j.limit(); j.Schedule == train.DecayCosine.String() && from < to && to < math.MaxInt {
		j.say("the run had the limit of %d mini-batches: the step size falls once more, from half of the rate before to 0 at batch %d", from, to)
	}
	return nil
}

// limit returns the largest number of updates, math.MaxInt without a limit. It does not count
// epochs of one pass, whose length depends on the data.
func (o *trainOptions) limit() int {
	limit := math.MaxInt
	for _, n := range []int{o.MaxBatches, o.epochUpdates()} {
		if n > 0 {
			limit = min(limit, n)
		}
	}
	return limit
}

// addTo adds the options to the configuration of several runs, as Fit does for one.
func (o *scheduleOptions) addTo(config map[string]any) {
	if o.DecoupledDecay {
		config["decoupled_decay"] = true
	}
	config["schedule"], config["warm_up"] = o.Schedule, o.WarmUp
	if s := o.schedule(); s.Decay == train.DecayStep || s.Decay == train.DecayPlateau {
		config["schedule_every"], config["schedule_factor"] = s.Every, s.Factor
	}
}
