package train

import (
	"context"
	"math"

	"github.com/gcn-layerwise/gcn/datasets"
	"github.com/gcn-layerwise/gcn/graph"
	"github.com/gcn-layerwise/gcn/internal/full"
	"github.com/gcn-layerwise/gcn/samplers"
	"github.com/gcn-layerwise/gcn/score"
)

// evaluationShare is the largest part of a run's operations that EvaluationInterval aims at.
const evaluationShare = 0.25

// Counter counts the operations of a model's expression graph, whatever its Inference is. The unit
// is a multiply-add of a dense product; other operations count as the multiply-adds that take as
// long.
type Counter struct {
	full       *full.Model
	parameters int
}

// NewCounter returns a counter of m.
func NewCounter(m Model) (*Counter, error) {
	params, err := parametersOf(m)
	if err != nil {
		return nil, err
	}
	compiled, err := compileFull(m.Parts())
	return &Counter{compiled, parameterCount(params)}, err
}

// Step returns about the number of operations of a training step on batch.
func (c *Counter) Step(batch *samplers.MiniBatch) float64 {
	const adam = 16 // operations of a parameter
	return c.full.StepOperations(batch.Blocks) + adam*float64(c.parameters)
}

// Infer returns the number of operations of an inference for nodes (nil: all), if an earlier one
// had the same nodes.
func (c *Counter) Infer(ctx context.Context, p *graph.Laplacian, nodes []int32) (float64, error) {
	sum, err := c.full.Operations(ctx, p, nodes)
	return sum, named(err)
}

// EvaluationInterval returns a value for o.EvalEvery: the number of updates with which
// evaluations are about a quarter of the run's operations, but at least a pass over the training
// nodes. It is at most a tenth of the limit of updates and at most half of the patience. An
// update has o.Micro batches. The number is larger on large graphs, where an evaluation takes as long
// as many steps. share is the share of the operations that evaluations then have.
//
// It counts the operations of one batch, of its part of a control's refreshes, without a schedule,
// and of an evaluation, but no seconds. So it gives the same number on every machine and for every
// seed.
func EvaluationInterval(ctx context.Context, m Model, d *datasets.Data, o Options) (interval int, share float64, err error) {
	model, o, err := checked(m, d, o)
	if err != nil {
		return 0, 0, err
	}
	counter, err := NewCounter(model)
	if err != nil {
		return 0, 0, err
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
	refresh, err := model.Batch.RefreshOperations(ctx)
	if err != nil {
		return 0, 0, named(err)
	}
	step := float64(o.Micro)*counter.Step(item.Blocks) + refresh/float64(o.ControlEvery)
	var evaluation float64
	valid, err := score.NewSample(d.Metric, d.Labels, d.Split.Valid, o.EvalSamples, 0, score.ValidPart)
	if err != nil {
		return 0, 0, err
	}
	if len(valid.Nodes) > 0 {
		if evaluation, err = counter.Infer(ctx, d.Laplacian(), valid.Nodes); err != nil {
			return 0, 0, err
		}
	}
	updates := min(o.MaxBatches, o.epochBatches(stream.PerEpoch()))
	most := max(min(updates/10, o.Patience/2), 1)
	wanted := math.Ceil(evaluation * (1 - evaluationShare) / (evaluationShare * step))
	if evaluation > 0 {
		wanted = max(wanted, math.Ceil(float64(len(stream.Train))/float64(stream.BatchSize*o.Micro)))
	}
	interval = int(max(min(wanted, float64(most)), 1))
	return interval, evaluation / (evaluation + float64(interval)*step), nil
}
