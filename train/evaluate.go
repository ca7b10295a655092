package train

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/gcn-layerwise/gcn/layers"
	"github.com/gcn-layerwise/gcn/score"
)

// drawEvalSamples chooses the nodes to score. It is an error if the bound of the model's inference
// is too small for them.
func (r *run) drawEvalSamples() error {
	d, o := r.data, r.options
	gcn, bounded := r.model.Inference.(*layers.GCN)
	for _, part := range []struct {
		sample **score.Sample
		nodes  []int32
		number uint64
	}{{&r.validSample, d.Split.Valid, score.ValidPart}, {&r.testSample, d.Split.Test, score.TestPart}} {
		s, err := score.NewSample(d.Metric, d.Labels, part.nodes, o.EvalSamples, o.Seed, part.number)
		if err == nil && bounded && len(s.Nodes) > 0 {
			err = gcn.CheckBound(d.Laplacian(), d.Features, s.Nodes)
		}
		if err != nil {
			return fmt.Errorf("train: evaluation: %w", err)
		}
		*part.sample = s
	}
	return nil
}

// evaluate scores the validation nodes and records the score. It changes the state last:
// a run that is stopped during an evaluation evaluates again when it is resumed.
func (r *run) evaluate(ctx context.Context) error {
	if err := r.settle(); err != nil {
		return err
	}
	start := time.Now()
	if err := r.program.Pull(false); err != nil {
		return err
	}
	s := &r.state
	if err := r.sameParameters(ctx); err != nil {
		return err
	}
	e := Evaluation{Batch: s.Batch, Epoch: r.epoch(), Loss: float64(s.LossSum) / float64(s.Batch-s.Evaluated), Valid: math.NaN()}
	if valid := r.validSample; len(valid.Nodes) > 0 {
		estimate, err := r.score(ctx, valid)
		if err != nil {
			err = fmt.Errorf("train: validation after batch %d: %w", s.Batch, err)
			if errors.Is(err, ErrNotFinite) {
				err = fmt.Errorf("%w; try a smaller step size than %v, or scale the features", err, r.options.Adam.LR)
			}
			return err
		}
		e.Valid, e.StandardError = estimate.Score, estimate.StandardError
	}
	e.Best = !math.IsNaN(e.Valid) && !(e.Valid <= float64(s.Best)) // the first Best is NaN
	e.Seconds = math.Round(r.seconds()*1e3) / 1e3
	if err := r.dir.appendMetrics(e); err != nil {
		return err
	}
	if e.Best {
		s.Best, s.BestBatch = number(e.Valid), s.Batch
		r.best = append(r.best[:0], r.program.Parameters()...)
	}
	s.Valid, s.Evaluated, s.LossSum = number(e.Valid), s.Batch, 0
	r.out.Evaluations = append(r.out.Evaluations, e)
	r.dirty = true
	s.EvalSeconds += time.Since(start).Seconds()
	return nil
}

// score scores the model on nodes.
func (r *run) score(ctx context.Context, s *score.Sample) (score.Estimate, error) {
	logits, err := predict(ctx, r.model, r.full, r.data, s.Nodes)
	if err != nil {
		return score.Estimate{}, err
	}
	if gcn, is := r.model.Inference.(*layers.GCN); is && s == r.validSample { // the test's are the last
		defer gcn.Reuse(logits)
	}
	return s.Score(r.data.Metric, logits, r.data.Labels)
}
