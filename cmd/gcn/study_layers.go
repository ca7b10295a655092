package main

import (
	"cmp"
	"context"
	"slices"

	"github.com/spf13/cobra"

	"github.com/gcn-layerwise/gcn/graph"
	"github.com/gcn-layerwise/gcn/layers"
	"github.com/gcn-layerwise/gcn/run"
	"github.com/gcn-layerwise/gcn/study"
)

func newStudyAssumptionCommand() *cobra.Command {
	var o struct {
		studyOptions
		Batches int    `json:"batches" default:"500" range:"[0," help:"mini-batches Q for ‖QP^[i]‖; 0: leave it out"`
		Points  int    `json:"points" default:"1000" range:"[1," help:"points of each scatter plot"`
		Nodes   string `json:"nodes" default:"all" choice:"all|train" help:"nodes to regress over: all, or train"`
	}
	return newCommand(&cobra.Command{
		Use: "assumption",
		RunE: func(cmd *cobra.Command, _ []string) error {
			return o.study(cmd, o.open, func(ctx context.Context, s *subject) (_ study.Shown, err error) {
				what := study.Assumption{
					Laplacian: s.data.Laplacian(), Nodes: s.data.Split.Train,
					Batches: cmp.Or(o.Batches, -1), Batch: o.Batch, Points: o.Points, Seed: o.Seed,
					Progress: everySeconds(cmd.ErrOrStderr(), "batches"),
				}
				if o.Nodes == "train" {
					what.Within = s.data.Split.Train
				}
				if what.Layers, err = o.norms(ctx, s); err != nil {
					return nil, err
				}
				return what.Run(ctx)
			})
		},
	}, &o)
}

func newStudyNormsCommand() *cobra.Command {
	var o struct {
		studyOptions
		Batches int `json:"batches" default:"100" range:"[1," help:"mini-batches Q for C1 and the moment ratio"`
		Bins    int `json:"bins" default:"60" range:"[1," help:"bars of each histogram"`
	}
	return newCommand(&cobra.Command{
		Use: "norms",
		RunE: func(cmd *cobra.Command, _ []string) error {
			return o.study(cmd, o.open, func(ctx context.Context, s *subject) (_ study.Shown, err error) {
				what := study.Norms{
					Laplacian: s.data.Laplacian(), Nodes: s.data.Split.Train, Batches: o.Batches, Batch: o.Batch, Bins: o.Bins, Seed: o.Seed,
					Progress: everySeconds(cmd.ErrOrStderr(), "batches"),
				}
				if what.Layers, err = o.norms(ctx, s); err != nil {
					return nil, err
				}
				return what.Run(ctx)
			})
		},
	}, &o)
}

// pilotOptions are the options of a study of control variates: it trains a model for some
// mini-batches, for activations and histories of them.
type pilotOptions struct {
	Ages    []int   `json:"ages" range:"[0," without:"run,layer" why:"the study is of the second convolution of a model that it trains on --data" help:"also measure control variates, with activations of so many mini-batches ago; this trains a model"`
	Batches int     `json:"batches" default:"200" range:"[1," with:"ages" help:"with --ages: mini-batches that the model is trained for"`
	Dropout float64 `json:"dropout" default:"0.2" range:"[0,1)" with:"ages" help:"with --ages: share of the activations dropped"`
}

// check is for a time before the data are read.
func (o *pilotOptions) check() error {
	if o.Ages != nil && slices.Max(o.Ages) > o.Batches {
		return usagef("--ages %d: want at most --batches %d", slices.Max(o.Ages), o.Batches)
	}
	return nil
}

// products returns HW of the second convolution, and H̄W of each age.
func (o *pilotOptions) products(ctx context.Context, s *subject, options *studyOptions, ages []int) (*graph.Features, []study.History, error) {
	s.weights = "trained"
	return study.Pilot{
		Data: s.data, Ages: ages, Hidden: options.Hidden, Dropout: cmp.Or(o.Dropout, layers.NoDropout),
		Batch: options.Batch, Batches: o.Batches, Seed: options.Seed,
	}.Run(ctx)
}

// errorStudy are the options of "gcn study approx-error". What --ages excludes comes after it.
type errorStudy struct {
	studyOptions
	pilotOptions
	Layer   int            `json:"layer" default:"1" range:"[1," with:"run" help:"convolution to study, counted from the input; above 1 needs --run"`
	Methods contenderNames `json:"methods" help:"sampling methods (default: fastgcn and the variants of ladies; with --ages ladies-flat-debiased and ladies-cv)"`
	Samples []int          `json:"samples" range:"[1," help:"sample sizes, one point of the curves for each (default: the paper's)"`
	Repeats int            `json:"repeats" default:"200" range:"[2," help:"mini-batches"`
	Draws   int            `json:"draws" default:"2" range:"[2," help:"draws from each mini-batch; two are enough to separate bias and variance"`
}

func newStudyErrorCommand() *cobra.Command {
	e := new(errorStudy)
	return newCommand(&cobra.Command{
		Use: "approx-error",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := e.check(); err != nil {
				return err
			}
			return e.study(cmd, e.open, func(ctx context.Context, s *subject) (study.Shown, error) {
				return e.measure(ctx, s, everySeconds(cmd.ErrOrStderr(), "mini-batches"))
			})
		},
	}, e)
}

// check takes the methods of the study if none are given.
func (e *errorStudy) check() error {
	switch {
	case e.Methods != nil:
	case e.Ages != nil:
		e.Methods = contenderNames{"ladies-flat-debiased", "ladies-cv"}
	default:
		e.Methods = contenderNames{"fastgcn", "ladies", "ladies-flat", "ladies-debiased", "ladies-flat-debiased"}
	}
	for _, name := range e.Methods {
		if study.SamplesChange(name) && e.Ages == nil {
			return usagef("--methods %s: it samples the change since earlier activations: add --ages, such as --ages 0,10,50", name)
		}
	}
	return e.pilotOptions.check()
}

func (e *errorStudy) measure(ctx context.Context, s *subject, progress func(done, total int)) (_ study.Shown, err error) {
	what := study.ApproxError{
		Laplacian: s.data.Laplacian(), Nodes: s.data.Split.Train, Sizes: e.Samples,
		Batch: e.Batch, Repeats: e.Repeats, Draws: e.Draws, Seed: e.Seed, Progress: progress,
	}
	if n := len(e.Ages); n > 0 {
		// Without a mask, the activations of age 0 are the current ones.
		what.Product, what.Histories, err = e.products(ctx, s, &e.studyOptions, append(slices.Clip(e.Ages), 0))
		if err == nil {
			what.Undropped, what.Histories = what.Histories[n].Product, what.Histories[:n]
		}
	} else {
		what.Product, err = e.product(ctx, s, e.Layer)
	}
	if err != nil {
		return nil, err
	}
	if what.Methods, err = study.Contenders(e.Methods, what.Laplacian, what.Nodes); err != nil {
		return nil, err
	}
	return what.Run(ctx)
}

// contenderNames are names that study.ContenderByName knows, separated by commas.
type contenderNames []string

// Values returns the words that are allowed.
func (contenderNames) Values() []string {
	names := run.MethodNames()
	for _, name := range study.LayerWiseMethods() {
		if study.CountsPopulation(name) {
			names = append(names, name+study.NodesSuffix)
		}
	}
	return names
}
