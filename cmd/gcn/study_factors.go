package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/gcn-layerwise/gcn/samplers"
	"github.com/gcn-layerwise/gcn/study"
)

// factorOptions are the options of a study of the factors β of a layer's candidates.
type factorOptions struct {
	studyOptions
	Weights []float64 `json:"weights" arg:"N,..." range:"(0," help:"unnormalised probabilities of the candidates, instead of --data"`
	Samples []int     `json:"samples" arg:"N,..." range:"[1," help:"numbers of draws (default: all possible ones of few candidates, else 256,512,1024)"`
	Squared bool      `json:"squared" help:"with --data: probabilities ∝ ‖QP^[i]‖², as in LADIES, instead of ‖QP^[i]‖"`
}

// open sets the probabilities: from --weights, or else those of a random mini-batch of the
// data. It sets Samples to the numbers of draws that the candidates allow. With --weights the
// subject has no data.
func (o *factorOptions) open(ctx context.Context) (s *subject, err error) {
	s = &subject{spec: "weights:" + strings.Trim(strings.ReplaceAll(fmt.Sprint(o.Weights), " ", ","), "[]")}
	if o.Weights == nil {
		if s, err = o.studyOptions.open(ctx); err != nil {
			return nil, err
		}
		rng := rand.New(samplers.NewSource(o.Seed, 0, 0))
		o.Weights = study.LayerWeights(s.data.Laplacian(), study.RandomBatch(rng, s.data.Split.Train, o.Batch), o.Squared)
	}
	m := len(o.Weights)
	switch {
	case o.Samples == nil && m <= 16: // few
		for k := range m {
			o.Samples = append(o.Samples, k+1)
		}
	case o.Samples == nil:
		o.Samples = []int{256, 512, 1024}
	}
	if o.Samples = slices.DeleteFunc(o.Samples, func(size int) bool { return size > m }); len(o.Samples) == 0 {
		o.Samples = []int{m}
	}
	return s, nil
}

func newStudyVarianceCommand() *cobra.Command {
	var o struct {
		factorOptions
		Repeats int `json:"repeats" default:"20000" range:"[2," help:"draws, where moments are estimated"`
		Watch   int `json:"watch" default:"32" range:"[2," help:"watched candidates, spread over the probabilities"`
	}
	return newStudy("variance", &o, func(ctx context.Context, s *subject) (study.Table, error) {
		what := study.Variance{
			Weights: o.Weights, Sizes: o.Samples, Watch: o.Watch, Repeats: o.Repeats, Seed: o.Seed,
			Progress: everySeconds(s.stderr, "rows"),
		}
		if s.data != nil {
			what.Estimators = study.Estimators(s.data.Nodes())
		}
		return what.Run(ctx)
	})
}

func newStudyTheoremCommand() *cobra.Command {
	var o struct {
		factorOptions
		Repeats int `json:"repeats" default:"20000" range:"[200," help:"draws, where moments are estimated"`
		Watch   int `json:"watch" default:"16" range:"[1," help:"watched candidates, spread over the probabilities"`
	}
	return newStudy("theorem", &o, func(ctx context.Context, s *subject) (study.Table, error) {
		s.weights = ""
		return study.Claims{
			Weights: o.Weights, Sizes: o.Samples, Watch: o.Watch, Repeats: o.Repeats, Seed: o.Seed,
			Progress: everySeconds(s.stderr, "sample sizes"),
		}.Run(ctx)
	})
}
