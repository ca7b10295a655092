package train

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/gcn-layerwise/gcn/internal/memory"
	"github.com/gcn-layerwise/gcn/layers"
	"github.com/gcn-layerwise/gcn/ops"
	"github.com/gcn-layerwise/gcn/samplers"
	"github.com/gcn-layerwise/gcn/score"
)

// Seeds decides which training nodes the mini-batches prefer. It must not change while it
// is in use. Fit stores its text in config.json (see fmt.Stringer).
type Seeds interface {
	// Score names the score that Weights reads.
	Score() ops.Score

	// Weights sets weights[k] to the unnormalised probability of training node k, a
	// positive number. scores[k] is the node's score in the last batch that had it, and
	// NaN before the first. The weights must depend on the scores only.
	Weights(scores []float32, weights []float64)
}

// ImportantSeeds prefers the training nodes whose last score was large:
//
//	p_k ∝ Uniform + (1 − Uniform)·score_k/mean score,
//
// where a node without a score counts as if it had the mean score. With the gradients' norms
// these are the probabilities of least variance of MVS-GNN (Cong, Forsati, Kandemir &
// Mahdavi 2020, arXiv:2006.13866), mixed with uniform ones because scores are old.
type ImportantSeeds struct {
	By      ops.Score // required
	Uniform float64   // in (0, 1]; 0 means 0.2
}

var _ Seeds = ImportantSeeds{}

// defaultUniform is the Uniform of ImportantSeeds without one. It bounds a node's weight
// in the loss by about five times its weight under uniform batches.
const defaultUniform = 0.2

// Score returns By.
func (s ImportantSeeds) Score() ops.Score { return s.By }

// String returns the name of By, and Uniform if it is not the default.
func (s ImportantSeeds) String() string {
	name := fmt.Sprintf("score %d", s.By)
	switch s.By {
	case ops.LossScore:
		name = "loss"
	case ops.GradientScore:
		name = "gradient"
	}
	if share := cmp.Or(s.Uniform, defaultUniform); share != defaultUniform {
		name += fmt.Sprintf(", uniform %v", share)
	}
	return name
}

// Weights implements Seeds.
func (s ImportantSeeds) Weights(scores []float32, weights []float64) {
	var sum, known float64
	for _, v := range scores {
		if v-v == 0 {
			sum += float64(v)
			known++
		}
	}
	share := cmp.Or(s.Uniform, defaultUniform)
	for k, v := range scores {
		if weights[k] = 1; v-v == 0 && sum > 0 {
			weights[k] = share + (1-share)*float64(v)*known/sum
		}
	}
}

// seedSchedule draws the training nodes of the batches by importance. The law of a period
// follows from the scores of the batches before the period before it. The first two periods
// are uniform.
type seedSchedule struct {
	published[*samplers.SeedLaw] // of the last score of each candidate; NaN: none yet
	seeds                        Seeds
	nodes                        []int32      // the candidates: labelled training nodes
	targets                      *ops.Targets // of the loss that reports the scores
}

// newSeedSchedule returns the schedule of a run before its first batch.
func newSeedSchedule(seeds Seeds, train []int32, targets *ops.Targets, every int) (*seedSchedule, error) {
	s := &seedSchedule{seeds: seeds, targets: targets}
	for _, node := range train {
		if score.Labelled(targets.Labels(), node) {
			s.nodes = append(s.nodes, node)
		}
	}
	const bytes = 3*4 + 3*24 // three scores, and the weights and laws of three periods
	if err := memory.Check("train: scores of the training nodes", bytes*int64(len(s.nodes))); err != nil {
		return nil, err
	}
	if err := s.begin(every, slices.Repeat([]float32{float32(math.NaN())}, len(s.nodes)), s.lawOf); err != nil {
		return nil, err
	}
	targets.Observe(seeds.Score())
	return s, nil
}

func (s *seedSchedule) lawOf(scores []float32) (*samplers.SeedLaw, error) {
	weights := make([]float64, len(scores))
	s.seeds.Weights(scores, weights)
	for k, w := range weights {
		if !(w > 0) {
			return nil, fmt.Errorf("train: %T gives training node %d the weight %v, want positive: the loss would be biased", s.seeds, s.nodes[k], w)
		}
	}
	law, err := samplers.NewSeedLaw(weights)
	if err != nil {
		return nil, fmt.Errorf("train: %T: %w", s.seeds, err)
	}
	return law, nil
}

func (s *seedSchedule) observe(item *Item, batches int) error {
	return s.learn(item.drawn.Index, s.targets.Scores(), batches)
}

// learn stores the scores of a batch. candidates are the positions of its nodes.
func (s *seedSchedule) learn(candidates []int32, scores []float32, batches int) error {
	if len(scores) != len(candidates) {
		return fmt.Errorf("train: the loss reports %d scores for %d nodes: Options.Seeds needs an ops.Loss over the batch's Targets", len(scores), len(candidates))
	}
	for k, c := range candidates {
		s.values[c] = scores[k]
	}
	return s.publish(batches)
}

func (s *seedSchedule) release() { s.targets.Observe(ops.NoScore) }

func (s *seedSchedule) state() []layers.State {
	return []layers.State{{Name: "seeds.last", Values: s.values}, {Name: "seeds.even", Values: s.used[0]}, {Name: "seeds.odd", Values: s.used[1]}}
}
