package study

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	G "gorgonia.org/gorgonia"

	"github.com/gcn-layerwise/gcn/datasets"
	"github.com/gcn-layerwise/gcn/layers"
	"github.com/gcn-layerwise/gcn/samplers"
	"github.com/gcn-layerwise/gcn/train"
)

// Trials trains the paper's model for some mini-batches with each of several methods, and
// compares the validation scores. All trials have the same seed, and so the same first
// parameters and the same mini-batches.
//
// The loss of a method is the score of the first candidate minus its own. After a few
// mini-batches it is not the loss of whole runs. But it separates the methods that train as
// well as full batch from the others. The error of one propagation does not do so:
// unbiased errors average out over mini-batches on some graphs, and not on others.
type Trials struct {
	Data       *datasets.Data // required, with training and validation nodes
	Candidates []Candidate    // the reference first; required

	Layers  int `default:"2" least:"2"` // convolutions; with exact input, nothing is sampled below 2
	Hidden  int `default:"256" least:"1"`
	Batch   int `default:"512" least:"1"`
	Batches int `default:"200" least:"1"`  // mini-batches of a trial
	Scored  int `default:"5000" least:"1"` // validation nodes scored, drawn at random
	Seed    uint64

	most float64 // operations of the longest trial of the method full; 0 means 4e11, some 10 s

	// Progress, if not nil, is called after each mini-batch of a trial with the number done of
	// all trials, from one goroutine. A trial that is left out counts as done.
	Progress func(done, total int)
}

// tolerated is the largest loss that counts as none: half a point.
const tolerated = 0.005

// Candidate is a method with its samples.
type Candidate struct {
	Method     string `json:"method"`
	Samples    []int  `json:"samples"` // next to the output first; empty for full
	ExactInput bool   `json:"exact_input"`
}

// model returns the paper's model with the candidate's sampler. exact is of d.
func (c Candidate) model(d *datasets.Data, exact *layers.ExactInput, convolutions int, o layers.GCNOptions) (*layers.GCN, error) {
	sampled := convolutions
	if c.ExactInput {
		sampled, o.ExactInput = convolutions-1, exact
	}
	sampler, err := samplers.ByName(c.Method, samplers.Config{
		Laplacian: d.Laplacian(), Train: d.Split.Train, Layers: sampled, Sizes: c.Samples, ExactInput: c.ExactInput,
	})
	if err != nil {
		return nil, err
	}
	return layers.NewGCN(layers.NewBatch(G.NewGraph(), sampler), d.Features, d.Labels, o)
}

// trainingOnly returns d without validation and test nodes. Without evaluations, train.Fit
// leaves the last parameters in the model.
func trainingOnly(d *datasets.Data) *datasets.Data {
	return &datasets.Data{
		Name: d.Name, Graph: d.Graph, Directed: d.Directed, Features: d.Features, Labels: d.Labels,
		Propagated: d.Propagated, Split: datasets.Split{Train: d.Split.Train}, Metric: d.Metric,
	}
}

// Trial is the outcome for one candidate.
type Trial struct {
	Candidate
	Score float64 `json:"score"` // of the validation nodes, after Batches
	Loss  float64 `json:"loss"`  // the reference's score minus this one

	// Operations is the number of multiply-adds of a step, with its share of a refresh
	// every ControlEvery mini-batches; other operations count as the multiply-adds that
	// take as long.
	Operations float64 `json:"operations"`

	Memory int64 `json:"memory"` // bytes of histories, of P·X and of P·(P·X)
}

// DefaultCandidates returns the candidates for a graph with the given advice: full batch as
// the reference, the advised layer-wise method, the same with exact input, and ladies-cv
// with as many samples in each layer as a mini-batch has nodes, twice and four times as
// many. All but the advised one have exact input. With exactInput the advised one without it
// is left out.
func DefaultCandidates(a *Advice, layers, batch int, exactInput bool) []Candidate {
	all := []Candidate{{Method: "full", ExactInput: true}}
	if a.Method != "full" {
		if !exactInput {
			all = append(all, Candidate{a.Method, a.Samples, false})
		}
		if layers > 1 {
			all = append(all, Candidate{a.Method, a.Samples[:layers-1], true})
		}
	}
	for _, times := range []int{1, 2, 4} {
		if s := times * batch; float64(s) < fullShare*a.Layers[0].Candidates {
			all = append(all, Candidate{"ladies-cv", slices.Repeat([]int{s}, layers-1), true})
		}
	}
	return all
}

// Run trains the candidates, in order. It leaves out a candidate if the same method with
// fewer samples, and the same ExactInput, already trains as well as the reference. It leaves
// out the method full if its trial would take more operations than 4e11: the losses are then
// relative to the best score.
func (s Trials) Run(ctx context.Context) ([]Trial, error) {
	switch {
	case s.Data == nil || len(s.Candidates) == 0:
		return nil, errors.New("study: trials need data and candidates")
	case len(s.Data.Split.Valid) == 0:
		return nil, errors.New("study: trials need validation nodes")
	}
	if err := setDefaults(&s); err != nil {
		return nil, err
	}
	d := trainingOnly(s.Data)
	exact, err := layers.NewExactInput(ctx, d.Laplacian(), d.Features, d.Propagated, nil)
	if err != nil {
		return nil, err
	}
	scored := RandomBatch(rand.New(samplers.NewSource(s.Seed, 0, math.MaxUint64)), s.Data.Split.Valid, s.Scored)
	var trials []Trial
	for k, c := range s.Candidates {
		done := func(batches int) {
			report(s.Progress, k*s.Batches+batches, len(s.Candidates)*s.Batches)
		}
		suffices := func(t Trial) bool {
			return t.Method == c.Method && t.ExactInput == c.ExactInput && trials[0].Score-t.Score <= tolerated
		}
		if slices.ContainsFunc(trials[min(1, len(trials)):], suffices) {
			done(s.Batches)
			continue
		}
		t, err := s.try(ctx, d, exact, c, scored, func(p train.Progress) { done(p.Batch) })
		if err != nil {
			return nil, fmt.Errorf("study: trial of %s: %w", c.Method, err)
		}
		if t != nil {
			trials = append(trials, *t)
		}
	}
	if len(trials) == 0 {
		return nil, nil
	}
	reference := slices.MaxFunc(trials, func(a, b Trial) int { return cmp.Compare(a.Score, b.Score) }).Score
	if s.Candidates[0].Method == trials[0].Method {
		reference = trials[0].Score
	}
	for k := range trials {
		trials[k].Loss = reference - trials[k].Score
	}
	return trials, nil
}

// try trains one candidate. It returns nil for the method full if that would take too long.
func (s *Trials) try(ctx context.Context, d *datasets.Data, exact *layers.ExactInput, c Candidate, scored []int32, progress func(train.Progress)) (*Trial, error) {
	linear := s.Layers == 2 && slices.ContainsFunc(samplers.Methods(), func(m samplers.Method) bool {
		return m.Name == c.Method && m.LinearControl
	})
	m, err := c.model(d, exact, s.Layers, layers.GCNOptions{Hidden: s.Hidden, Seed: s.Seed, ControlLinear: linear})
	if err != nil {
		return nil, err
	}
	t := &Trial{Candidate: c, Memory: m.Batch.StateBytes()}
	if c.ExactInput {
		t.Memory += exact.Bytes()
	}
	if t.Operations, err = s.operations(ctx, m, d); err != nil {
		return nil, err
	}
	if c.Method == "full" && t.Operations*float64(s.Batches) > cmp.Or(s.most, 4e11) {
		return nil, nil
	}
	o := train.Options{Batch: s.Batch, MaxBatches: s.Batches, EvalEvery: s.Batches, Seed: s.Seed, Progress: progress}
	if _, err := train.Fit(ctx, m, d, o); err != nil {
		return nil, err
	}
	t.Score, err = train.Evaluate(ctx, m, d, scored)
	return t, err
}

// operations counts the operations of a step on one mini-batch.
func (s *Trials) operations(ctx context.Context, m *layers.GCN, d *datasets.Data) (float64, error) {
	const controlEvery = 50 // train.Options' default
	rng := rand.New(samplers.NewSource(s.Seed, 0, 0))
	batch := new(samplers.MiniBatch)
	if err := m.Batch.Sampler().Sample(ctx, RandomBatch(rng, d.Split.Train, s.Batch), rng, batch); err != nil {
		return 0, err
	}
	counter, err := train.NewCounter(m)
	if err != nil {
		return 0, err
	}
	sum := counter.Step(batch)
	if m.Refresher == nil {
		return sum, nil
	}
	refresh, err := counter.Infer(ctx, d.Laplacian(), d.Split.Train)
	return sum + refresh/controlEvery, err
}

// Recommended returns the index of the trial with the fewest operations among those that
// lose at most half a point, or −1 if there is none.
func Recommended(trials []Trial) int {
	chosen := -1
	for k, t := range trials {
		if t.Loss <= tolerated && (chosen < 0 || t.Operations < trials[chosen].Operations) {
			chosen = k
		}
	}
	return chosen
}
