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
		{Schedule{Decay: DecayCosine}, 0, 100, 0, 1},
		{Schedule{Decay: DecayCosine}, 50, 100, 0, 0.5},
		{Schedule{Decay: DecayCosine, WarmUp: 20}, 60, 100, 0, 0.5},
		{Schedule{Decay: DecayCosine, WarmUp: 200}, 24, 100, 0, 0.5},
		{Schedule{Decay: DecayCosine, WarmUp: 200}, 50, 100, 0, 1},
		{Schedule{Decay: DecayCosine, WarmUp: 20}, 40, 80, 1, 0.5}, // the first ended at 40
		{Schedule{Decay: DecayCosine}, 60, 80, 1, 0.25},
		{Schedule{Decay: DecayCosine, WarmUp: 100}, 40, 400, 1, 0.5}, // the warm-up does not begin again
		{Schedule{Decay: DecayStep, Every: 10, Factor: 0.1}, 9, 100, 0, 1},
		{Schedule{Decay: DecayStep, Every: 10, Factor: 0.1}, 25, 100, 0, 0.01},
		{Schedule{Decay: DecayPlateau, Every: 10, Factor: 0.5}, 25, 100, 2, 0.25},
	} {
		state := runState{Batch: c.batch, Falls: c.falls}
		if c.falls > 0 {
			state.FallBatch = 40
		}
		if got := c.s.withDefaults().factor(&state, c.limit); math.Abs(got-c.want) > 1e-12 {
			t.Errorf("%+v after %d batches: %v, want %v", c.s, c.batch, got, c.want)
		}
	}
}

// TestPlateauFalls counts falls after scores without a better one, and none while warming up.
func TestPlateauFalls(t *testing.T) {
	s := Schedule{Decay: DecayPlateau, Every: 20, WarmUp: 30}.withDefaults()
	state := runState{BestBatch: 10}
	var falls []int
	for batch := 10; batch <= 100; batch += 10 {
		if state.Batch = batch; batch == 80 {
			state.BestBatch = 80
		}
		before := state.Falls
		if s.fall(&state); state.Falls > before {
			falls = append(falls, batch)
		}
	}
	if len(falls) != 3 || falls[0] != 50 || falls[1] != 70 || falls[2] != 100 {
		t.Errorf("falls after %v, want 50, 70 and 100", falls)
	}
}
