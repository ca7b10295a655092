package train

import (
	"context"
	"fmt"
	"math"

	"github.com/gcn-layerwise/gcn/datasets"
	"github.com/gcn-layerwise/gcn/layers"
	"github.com/gcn-layerwise/gcn/samplers"
	"github.com/gcn-layerwise/gcn/score"
)

// evaluationShare is the part of a run's operations that EvaluationInterval aims at.
const evaluationShare = 0.25

// EvaluationInterval returns a value for o.EvalEvery: the number of updates with which
// evaluations are about a quarter of the run's operations, but at most a tenth of the limit of
// updates and at most half of the patience. An update has o.Micro batches. The number is larger
// on large graphs, where an evaluation takes as long as many steps. share is the share of the
// operations that evaluations then have.
//
// It counts the operations of one batch, of its part of a control's refreshes and of an
// evaluation, but no seconds. So it gives the same number on every machine and for every
// seed. The model's Inference must be a layers.OperationCounter.
func EvaluationInterval(ctx context.Context, m Model, d *datasets.Data, o Options) (interval int, share float64, err error) {
	model, o, err := checked(ctx, m, d, o)
	if err != nil {
		return 0, 0, err
	}
	counter, ok := model.Inference.(layers.OperationCounter)
	if !ok {
		return 0, 0, fmt.Errorf("train: the model counts no operations: choose the interval of evaluations yourself")
	}
	stream := o.stream(model, d)
	stream.Seed = 0 // the same interval for all seeds
	if err := stream.Validate(); err != nil {
		return 0, 0, err
	}
	item := &Item{Blocks: new(samplers.MiniBatch)}
	newDrawer(&stream).draw(ctx, 0, item)
	if item.err != nil {
		return 0, 0, item.err
	}
	step := float64(o.Micro) * counter.StepOperations(item.Blocks)
	if model.Refresher != nil {
		refresh, err := counter.RefreshOperations()
		if err != nil {
			return 0, 0, fmt.Errorf("train: %w", err)
		}
		step += refresh / float64(o.ControlEvery)
	}
	var evaluation float64
	valid, err := score.NewSample(d.Metric, d.Labels, d.Split.Valid, o.EvalSamples, 0, score.ValidPart)
	if err != nil {
		return 0, 0, err
	}
	if len(valid.Nodes) > 0 {
		if evaluation, err = counter.InferOperations(d.Laplacian(), d.Features, valid.Nodes); err != nil {
			return 0, 0, fmt.Errorf("train: %w", err)
		}
	}
	updates := min(o.MaxBatches, o.epochBatches(stream.PerEpoch()))
	most := max(min(updates/10, o.Patience/2), 1)
	wanted := math.Ceil(evaluation * (1 - evaluationShare) / (evaluationShare * step))
	interval = int(max(min(wanted, float64(most)), 1))
	return interval, evaluation / (evaluation + float64(interval)*step), nil
}
