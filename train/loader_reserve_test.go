package train

import "testing"

// TestReservation checks that a loader reserves a processor for each batch that is being
// drawn or will be, and gives all back.
func TestReservation(t *testing.T) {
	l := &Loader{most: 2, end: 3, free: make(chan *Item, 5)}
	for range cap(l.free) {
		l.free <- new(Item)
	}
	draw := func() {
		<-l.free
		l.claimed.Add(1)
		l.reserve(1, 0)
	}
	for k, step := range []struct {
		change   func()
		reserved int
	}{
		{func() { l.reserve(0, 0) }, 2},  // both workers are about to start
		{draw, 2},                        // one draws
		{draw, 2},                        // both
		{func() { l.reserve(-1, 0) }, 2}, // one is done, one batch left
		{draw, 2},                        // the last
		{func() { l.reserve(-2, 0) }, 0}, // nothing left to draw
		{func() { l.reserve(0, 1) }, 0},  // an item comes back
		{func() { <-l.free; <-l.free; l.end = 12; l.reserve(0, 1) }, 1}, // one item will be free
		{func() { l.most = 0; l.reserve(0, 1) }, 0},                     // closed
	} {
		step.change()
		if l.reserved != step.reserved {
			t.Errorf("after step %d: %d processors reserved, want %d", k, l.reserved, step.reserved)
		}
	}
}
