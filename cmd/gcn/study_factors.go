package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/gcn-layerwise/gcn/samplers"
	"github.com/gcn-layerwise/gcn/study"
)

// factorOptions are the options of a study of the factors β of a layer's candidates.
type factorOptions struct {
	studyOptions
	Weights candidateWeights `json:"weights" arg:"NUMBERS" help:"unnormalised probabilities of the candidates, instead of --data: NUMBERS with commas, uniform:M, or zipf:A:M (1, 2^-A, …, M^-A)"`
	Samples []int            `json:"samples" range:"[1," help:"numbers of draws (default with few --weights: all possible ones; else 256,512,1024)"`
	Squared bool             `json:"squared" help:"with --data: probabilities ∝ ‖QP^[i]‖², as in LADIES, instead of ‖QP^[i]‖"`

	probabilities []float64 // of the candidates
}

// fewCandidates is the largest number of candidates of --weights for which every number
// of draws is studied by default.
const fewCandidates = 16

// open sets the probabilities: from --weights, or else those of a random mini-batch of the
// data. It sets Samples to the numbers of draws that the candidates allow. With --weights the
// subject has no data.
func (o *factorOptions) open(ctx context.Context) (s *subject, err error) {
	sizes := []int{256, 512, 1024}
	if o.probabilities = o.Weights.values; o.probabilities != nil {
		s = &subject{spec: "weights:" + o.Weights.text}
		if m := len(o.probabilities); m <= fewCandidates {
			sizes = nil
			for k := range m {
				sizes = append(sizes, k+1)
			}
		}
	} else {
		if s, err = o.studyOptions.open(ctx); err != nil {
			return nil, err
		}
		rng := rand.New(samplers.NewSource(o.Seed, 0, 0))
		o.probabilities = study.LayerWeights(s.data.Laplacian(), study.RandomBatch(rng, s.data.Split.Train, o.Batch), o.Squared)
	}
	if o.Samples == nil {
		o.Samples = sizes
	}
	m := len(o.probabilities)
	if o.Samples = slices.DeleteFunc(o.Samples, func(size int) bool { return size > m }); len(o.Samples) == 0 {
		o.Samples = []int{m}
	}
	return s, nil
}

// candidateWeights are positive numbers, given with commas between them or as a law.
type candidateWeights struct {
	text   string
	values []float64
}

func (w candidateWeights) String() string { return w.text }

// mostCandidates is the largest number of candidates of a law.
const mostCandidates = 1 << 20

// Set implements pflag.Value.
func (w *candidateWeights) Set(text string) error {
	*w = candidateWeights{text: text}
	law, rest, _ := strings.Cut(text, ":")
	power, count, _ := strings.Cut(rest, ":")
	switch law {
	case "uniform":
		power, count = "0", rest
	case "zipf":
	default:
		for word := range strings.SplitSeq(text, ",") {
			x, err := strconv.ParseFloat(strings.TrimSpace(word), 64)
			if err != nil || !(x > 0) || math.IsInf(x, 0) {
				return fmt.Errorf("%q is not a positive number", word)
			}
			w.values = append(w.values, x)
		}
		return nil
	}
	a, err := strconv.ParseFloat(power, 64)
	m, err2 := strconv.Atoi(count)
	if err != nil || err2 != nil || math.IsInf(a, 0) || math.IsNaN(a) || m < 1 || m > mostCandidates {
		return fmt.Errorf("want uniform:M or zipf:A:M, with a number A, and M from 1 to %d", mostCandidates)
	}
	for i := range m {
		w.values = append(w.values, math.Pow(float64(i+1), -a))
	}
	return nil
}

func newStudyVarianceCommand() *cobra.Command {
	var o struct {
		factorOptions
		Repeats int `json:"repeats" default:"20000" range:"[2," help:"draws, where moments are estimated"`
		Watch   int `json:"watch" default:"32" range:"[2," help:"watched candidates, spread over the probabilities"`
	}
	return newStudy("variance", &o, func(ctx context.Context, s *subject) (study.Shown, error) {
		what := study.Variance{
			Weights: o.probabilities, Sizes: o.Samples, Watch: o.Watch, Repeats: o.Repeats, Seed: o.Seed,
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
		Repeats    int          `json:"repeats" default:"20000" range:"[200," help:"draws, where moments are estimated"`
		Watch      int          `json:"watch" default:"16" range:"[1," help:"watched candidates, spread over the probabilities"`
		Population []population `json:"population" default:"candidates,inf" help:"n of the debiased weights: numbers, candidates, or inf for α = 1/k as in the theorem's proof"`
	}
	return newStudy("theorem", &o, func(ctx context.Context, s *subject) (study.Shown, error) {
		s.weights = ""
		what := study.Claims{
			Weights: o.probabilities, Sizes: o.Samples, Watch: o.Watch, Repeats: o.Repeats, Seed: o.Seed,
			Progress: everySeconds(s.stderr, "sample sizes"),
		}
		for _, n := range o.Population {
			least := population(len(o.probabilities))
			if n != ofCandidates && n < least {
				return nil, usagef("--population %v: there are %v candidates, want at least as many", n, least)
			}
			what.Populations = append(what.Populations, float64(max(n, least)))
		}
		return what.Run(ctx)
	})
}

// population is n of the debiased weights; infinity stands for α = 1/k.
type population float64

// ofCandidates is the number of candidates.
const ofCandidates population = 0

// Set implements pflag.Value.
func (n *population) Set(text string) error {
	count, err := strconv.Atoi(text)
	*n = population(count)
	switch {
	case text == "candidates":
		*n = ofCandidates
	case text == "inf":
		*n = population(math.Inf(1))
	case err != nil || count < 1:
		return errors.New("want a positive whole number, candidates or inf")
	}
	return nil
}

func (n population) String() string {
	switch {
	case n == ofCandidates:
		return "candidates"
	case math.IsInf(float64(n), 1):
		return "inf"
	}
	return strconv.Itoa(int(n))
}
