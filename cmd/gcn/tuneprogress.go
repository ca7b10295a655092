package main

import (
	"context"
	"fmt"
	"sync"

	"github.com/gcn-layerwise/gcn/train"
)

// searchMeter shows the mini-batches of all trials of a search. Trials add to it concurrently.
type searchMeter struct {
	meter
	adding      sync.Mutex
	total, done int // mini-batches
	fresh       int // of done, those that this process trained
}

// count adds mini-batches. Those that needed no training are not fresh: of trials that are done
// already, that stopped early or diverged.
func (s *searchMeter) count(batches, fresh int) {
	s.adding.Lock()
	defer s.adding.Unlock()
	s.done, s.fresh = s.done+batches, s.fresh+fresh
	line := func() string {
		return fmt.Sprintf("%s of %s mini-batches, at most %s left", thousands(int64(s.done)), thousands(int64(s.total)), s.left(s.fresh, s.total-s.done))
	}
	if s.fresh == 0 {
		line = nil
	}
	s.at(int64(s.done), int64(s.total), "searching", line)
}

// trialProgress counts the mini-batches of one trial in a rung, and pauses the training at
// the end of the rung: at the first evaluation at or after its last mini-batch. Training that
// is about to end, by patience or by its limit, pauses too, so that it computes no test score.
type trialProgress struct {
	all      *searchMeter
	from, to int // mini-batches of the rung before and of this one
	patience int // 0: without
	pause    context.CancelFunc

	at     int // mini-batches counted so far, at most to; 0: none
	paused bool
}

func (t *trialProgress) show(p train.Progress) {
	before := max(t.at, t.from)
	if t.at == 0 { // of an earlier process, if the run was resumed
		t.all.count(max(0, min(p.Batch-1, t.to)-before), 0)
		before = max(before, min(p.Batch-1, t.to))
	}
	t.at = min(p.Batch, t.to)
	t.all.count(max(0, t.at-before), max(0, t.at-before))
	if p.Evaluated && (p.Batch >= t.to || t.patience > 0 && p.Batch-p.BestBatch >= t.patience) {
		t.paused = true
		t.pause()
	}
}
