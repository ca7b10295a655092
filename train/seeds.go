package train

import (
	"fmt"
	"math"
	"slices"

	"github.com/gcn-layerwise/gcn/layers"
	"github.com/gcn-layerwise/gcn/ops"
	"github.com/gcn-layerwise/gcn/samplers"
)

// seedNames are the values of Options.Seeds in config.json.
var seedNames = map[ops.Score]string{ops.NoScore: "uniform", ops.LossScore: "loss", ops.GradientScore: "gradient"}

// seedSchedule draws the training nodes of the batches by importance. The law of a period
// follows from the scores of the batches before the period before it. The first two periods
// are uniform.
type seedSchedule struct {
	published[*samplers.SeedLaw]              // of the last score of each candidate; NaN: none yet
	nodes                        []int32      // the candidates: labelled training nodes
	targets                      *ops.Targets // of the loss that reports the scores
}

// newSeedSchedule returns the schedule of a run before its first batch.
func newSeedSchedule(by ops.Score, train []int32, targets *ops.Targets, every int) (*seedSchedule, error) {
	s := &seedSchedule{targets: targets}
	for _, node := range train {
		if targets.Labels().Known(int(node)) {
			s.nodes = append(s.nodes, node)
		}
	}
	none := slices.Repeat([]float32{float32(math.NaN())}, len(s.nodes))
	if err := s.begin(every, none, func(scores []float32) (*samplers.SeedLaw, error) { return samplers.NewSeedLaw(seedWeights(scores)) }); err != nil {
		return nil, fmt.Errorf("train: Options.Seeds: %w", err)
	}
	targets.Observe(by)
	return s, nil
}

// seedWeights returns the unnormalised probabilities u + (1−u)·score/mean score, where a node
// without a score counts as if it had the mean score. With the norms of gradients these are the
// probabilities of least variance of MVS-GNN (Cong, Forsati, Kandemir & Mahdavi 2020,
// arXiv:2006.13866), mixed with uniform ones because scores are old. u = 0.2 bounds a node's weight
// in the loss by about five times its weight under uniform batches.
func seedWeights(scores []float32) []float64 {
	const u = 0.2
	var sum, known float64
	for _, v := range scores {
		if v-v == 0 {
			sum += float64(v)
			known++
		}
	}
	weights := make([]float64, len(scores))
	for k, v := range scores {
		if weights[k] = 1; v-v == 0 && sum > 0 {
			weights[k] = u + (1-u)*float64(v)*known/sum
		}
	}
	return weights
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
