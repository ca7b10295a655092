package train

import (
	"math"
	"testing"
)

// TestScheduleFactor checks the factors of the step size by hand-worked values.
func TestScheduleFactor(t *testing.T) {
	for _, c := range []struct {
		s                   Schedule
		batch, limit, falls int
		want                float64
	}{
		{Schedule{}, 7, 100, 3, 1},
		{Schedule{WarmUp: 4}, 0, 100, 0, 0.25},
		{Schedule{WarmUp: 4}, 3, 100, 0, 1},
		{Schedule{WarmUp: 4}, 4, 100, 0, 1},
		{Schedule{Cosine: true}, 0, 100, 0, 1},
		{Schedule{Cosine: true}, 50, 100, 0, 0.5},
		{Schedule{Cosine: true, WarmUp: 20}, 60, 100, 0, 0.5},
		{Schedule{Cosine: true, WarmUp: 200}, 24, 100, 0, 0.5},
		{Schedule{Cosine: true, WarmUp: 200}, 50, 100, 0, 1},
		{Schedule{Cosine: true, WarmUp: 20}, 40, 80, 1, 0.5}, // the first ended at 40
		{Schedule{Cosine: true}, 60, 80, 1, 0.25},
		{Schedule{Cosine: true, WarmUp: 100}, 40, 400, 1, 0.5}, // the warm-up does not begin again
	} {
		state := runState{Batch: c.batch, Falls: c.falls}
		if c.falls > 0 {
			state.FallBatch = 40
		}
		if got := c.s.factor(&state, c.limit); math.Abs(got-c.want) > 1e-12 {
			t.Errorf("%+v after %d batches: %v, want %v", c.s, c.batch, got, c.want)
		}
	}
}
