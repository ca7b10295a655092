package main

import (
	"cmp"
	"context"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/gcn-layerwise/gcn/graph"
	"github.com/gcn-layerwise/gcn/layers"
	"github.com/gcn-layerwise/gcn/study"
)

// pilotOptions are the options of a study of control variates: it trains a model for some
// mini-batches, for activations and histories of them.
type pilotOptions struct {
	ages    intList
	batches int
	dropout float64
}

func (o *pilotOptions) flags(cmd *cobra.Command) {
	fs := cmd.Flags()
	fs.Var(&o.ages, "ages", "also measure control variates, with activations of so many mini-batches ago; this trains a model")
	fs.IntVar(&o.batches, "batches", 200, "with --ages: mini-batches that the model is trained for")
	fs.Float64Var(&o.dropout, "dropout", 0.2, "with --ages: share of the activations dropped")
}

// given reports whether the study is of control variates.
func (o *pilotOptions) given() bool { return len(o.ages) > 0 }

func (o *pilotOptions) check(fs *pflag.FlagSet, study *studyOptions) error {
	if !o.given() {
		for _, name := range []string{"batches", "dropout"} {
			if fs.Changed(name) {
				return usagef("--%s is for --ages", name)
			}
		}
		return nil
	}
	if study.run != "" {
		return usagef("--ages trains a model of its own: it takes --data, not --run")
	}
	if study.layer > 2 || study.layer == 1 && fs.Changed("layer") {
		return usagef("--ages is for the second convolution: the first one reads features, which do not change")
	}
	if err := atLeast("batches", o.batches, 1); err != nil {
		return err
	}
	if !(o.dropout >= 0 && o.dropout < 1) {
		return usagef("--dropout %v: want a share from 0 to below 1", o.dropout)
	}
	for _, age := range o.ages {
		if err := within("ages", age, 0, o.batches); err != nil {
			return err
		}
	}
	return nil
}

// products returns HW of the second convolution, and H̄W of each age.
func (o *pilotOptions) products(ctx context.Context, s *subject, options *studyOptions) (*graph.Features, []study.History, error) {
	s.trained = true
	return study.Pilot{
		Data: s.data, Ages: o.ages, Hidden: options.hidden, Dropout: cmp.Or(o.dropout, layers.NoDropout),
		Batch: options.batch, Batches: o.batches, Seed: options.seed,
	}.Run(ctx)
}
