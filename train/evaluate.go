package train

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/gcn-layerwise/gcn/layers"
)

// drawEvalSamples chooses the nodes to score.
func (r *run) drawEvalSamples() (err error) {
	d, o := r.data, r.options
	if r.validSample, err = NewEvalSample(d.Metric, d.Labels, d.Split.Valid, o.EvalSamples, o.Seed, ValidPart); err == nil {
		r.testSample, err = NewEvalSample(d.Metric, d.Labels, d.Split.Test, o.EvalSamples, o.Seed, TestPart)
	}
	return err
}

// checkBound returns an error if the bound of the model's inference is too small for a score.
func (r *run) checkBound() error {
	m, ok := r.model.Inference.(*layers.GCN)
	if !ok {
		return nil
	}
	for _, s := range []*EvalSample{r.validSample, r.testSample} {
		if len(s.Nodes) == 0 {
			continue
		}
		if err := m.CheckBound(r.data.Laplacian(), r.data.Features, s.Nodes); err != nil {
			return fmt.Errorf("train: evaluation: %w", err)
		}
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
	if err := r.program.Pull(nil); err != nil {
		return err
	}
	s := &r.state
	if err := r.ranks.sameParameters(ctx, r.program.Parameters(), s.Batch); err != nil {
		return err
	}
	e := Evaluation{Batch: s.Batch, Loss: float64(s.LossSum) / float64(s.Batch-s.Evaluated), Valid: math.NaN()}
	e.Epoch = r.epoch()
	if valid := r.validSample; len(valid.Nodes) > 0 {
		score := r.score
		if end, _ := r.end(); r.refreshes() && s.Batch < end {
			score = r.refreshAndScore
		}
		estimate, err := score(ctx, valid)
		if err != nil {
			err = fmt.Errorf("train: validation after batch %d: %w", s.Batch, err)
			if errors.Is(err, ErrNotFinite) {
				err = fmt.Errorf("%w; try a smaller step size than %v, or scale the features", err, r.options.Adam.LR)
			}
			return err
		}
		e.Valid, e.StandardError = estimate.Score, estimate.StandardError
	}
	e.Best = better(e.Valid, float64(s.Best))
	e.Seconds = r.seconds()
	if err := r.dir.appendMetrics(e); err != nil {
		return err
	}
	if e.Best {
		s.Best, s.BestBatch = number(e.Valid), s.Batch
		r.best = append(r.best[:0], r.program.Parameters()...)
	}
	s.Valid, s.Evaluated, s.LossSum = number(e.Valid), s.Batch, 0
	if r.dir != nil {
		s.MetricsBytes = r.dir.bytes
	}
	r.evaluations = append(r.evaluations, e)
	r.options.Schedule.fall(s)
	r.dirty = true
	s.EvalSeconds += time.Since(start).Seconds()
	return nil
}

func (r *run) score(ctx context.Context, s *EvalSample) (Estimate, error) {
	logits, err := predict(ctx, r.model, r.program, r.data, s.Nodes)
	if err != nil {
		return Estimate{}, err
	}
	return s.Score(r.data.Metric, logits, r.data.Labels)
}

// refreshAndScore is score together with the refresh that the next batch needs.
func (r *run) refreshAndScore(ctx context.Context, s *EvalSample) (Estimate, error) {
	logits, err := r.model.Refresher.RefreshInfer(ctx, s.Nodes)
	if err != nil {
		return Estimate{}, err
	}
	r.refreshed = r.state.Batch
	return s.Score(r.data.Metric, logits, r.data.Labels)
}
