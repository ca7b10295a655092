package main

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"

	"github.com/gcn-layerwise/gcn/run"
	"github.com/gcn-layerwise/gcn/samplers"
	"github.com/gcn-layerwise/gcn/study"
)

const (
	mostCandidates  = 1 << 20 // of --weights
	mostWeightsFile = 64 << 20
)

// candidateWeights returns the probabilities of --weights: numbers separated by commas, a law,
// or a file.
func candidateWeights(ctx context.Context, text string) ([]float64, error) {
	name, rest, _ := strings.Cut(text, ":")
	power, count, _ := strings.Cut(rest, ":")
	switch name {
	case "uniform":
		power, count = "0", rest
	case "zipf":
	default:
		if _, err := strconv.ParseFloat(text, 64); err != nil && !strings.Contains(text, ",") {
			return readWeights(ctx, text)
		}
		weights, err := parseWeights(strings.Split(text, ","), text)
		if err != nil {
			err = usagef("%w", err)
		}
		return weights, err
	}
	a, err := strconv.ParseFloat(power, 64)
	m, err2 := strconv.Atoi(count)
	if err != nil || err2 != nil || math.IsInf(a, 0) || math.IsNaN(a) || m < 1 || m > mostCandidates {
		return nil, usagef("--weights %s: want uniform:M or zipf:A:M, with a number A, and M from 1 to %d", text, mostCandidates)
	}
	weights := make([]float64, m)
	for i := range weights {
		weights[i] = math.Pow(float64(i+1), -a)
	}
	return weights, nil
}

// readWeights reads a file of one number on each line. Empty lines do not count.
func readWeights(ctx context.Context, path string) ([]float64, error) {
	data, err := run.ReadAtMost(ctx, path, mostWeightsFile)
	if err != nil {
		return nil, fmt.Errorf("--weights: want numbers, uniform:M, zipf:A:M or a file: %w", err)
	}
	weights, err := parseWeights(strings.Split(string(data), "\n"), path)
	if n := len(weights); err == nil && (n == 0 || n > mostCandidates) {
		err = fmt.Errorf("--weights %s: %d numbers, want 1 to %d", path, n, mostCandidates)
	}
	return weights, err
}

// parseWeights reads positive numbers. Empty words do not count. An error says the number of
// the word in text.
func parseWeights(words []string, text string) (weights []float64, err error) {
	for k, word := range words {
		if word = strings.TrimSpace(word); word == "" {
			continue
		}
		x, err := strconv.ParseFloat(word, 64)
		if err != nil || !(x > 0) || math.IsInf(x, 0) {
			return nil, fmt.Errorf("--weights %s:%d: %q is not a positive number", text, k+1, word)
		}
		weights = append(weights, x)
	}
	return weights, nil
}

// factorOptions are the options of a study of the factors β of a layer's candidates.
type factorOptions struct {
	studyOptions
	Weights string `json:"weights" arg:"FILE" help:"unnormalised probabilities of the candidates, instead of --data: numbers with commas, uniform:M, zipf:A:M (1, 2^-A, …, M^-A), or a FILE with a number on each line"`
	Samples []int  `json:"samples" range:"[1," help:"numbers of draws (default with few --weights: all possible ones; else 256,512,1024)"`
	Squared bool   `json:"squared" help:"with --data: probabilities ∝ ‖QP^[i]‖², as in LADIES, instead of ‖QP^[i]‖"`
}

// fewCandidates is the largest number of candidates of --weights for which every number
// of draws is studied by default.
const fewCandidates = 16

// candidates sets weights from the flag, or to the probabilities of a random mini-batch
// of the data, and sizes to the numbers of draws that the candidates allow. The subject has
// data in the second case only.
func (o *factorOptions) candidates(ctx context.Context, weights *[]float64, sizes *[]int) (s *subject, err error) {
	*sizes = []int{256, 512, 1024}
	if o.Weights != "" {
		s = &subject{spec: "weights:" + o.Weights}
		if *weights, err = candidateWeights(ctx, o.Weights); err != nil {
			return nil, err
		}
		if m := len(*weights); m <= fewCandidates {
			*sizes = nil
			for k := range m {
				*sizes = append(*sizes, k+1)
			}
		}
	} else {
		if s, err = o.open(ctx); err != nil {
			return nil, err
		}
		rng := rand.New(samplers.NewSource(o.Seed, 0, 0))
		*weights = study.LayerWeights(s.data.Laplacian(), study.RandomBatch(rng, s.data.Split.Train, o.Batch), o.Squared)
	}
	if len(o.Samples) > 0 {
		*sizes = slices.Clone(o.Samples)
	}
	m := len(*weights)
	if *sizes = slices.DeleteFunc(*sizes, func(size int) bool { return size > m }); len(*sizes) == 0 {
		*sizes = []int{m}
	}
	return s, nil
}
