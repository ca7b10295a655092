package train

import "testing"

// TestReservation checks that a loader reserves a processor for each batch that is being
// drawn or will be, and gives all back.
func TestReservation(t *testing.T) {
	r := coreReservation{workers: 2, free: 5, left: 3}
	for k, step := range []struct {
		change func(r *coreReservation)
		held   int
	}{
		{func(*coreReservation) {}, 2},                                        // both workers are about to start
		{func(r *coreReservation) { r.free--; r.drawing++; r.left-- }, 2},     // one draws
		{func(r *coreReservation) { r.free -= 1; r.drawing++; r.left-- }, 2},  // both
		{func(r *coreReservation) { r.drawing-- }, 2},                         // one is done, one batch left
		{func(r *coreReservation) { r.free--; r.drawing++; r.left-- }, 2},     // the last
		{func(r *coreReservation) { r.drawing -= 2 }, 0},                      // nothing left to draw
		{func(r *coreReservation) { r.free++ }, 0},                            // an item comes back
		{func(r *coreReservation) { r.left, r.free, r.workers = 9, 1, 2 }, 1}, // one item free
		{func(r *coreReservation) { r.workers = 0 }, 0},                       // closed
	} {
		r.update(step.change)
		if r.held != step.held {
			t.Errorf("after step %d: %d processors held, want %d", k, r.held, step.held)
		}
	}
}
