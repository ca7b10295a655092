package main

import (
	"context"
	"io"
	"os"
	"sync"
	"time"

	"github.com/schollz/progressbar/v3"

	"github.com/gcn-layerwise/gcn/internal/tune"
	"github.com/gcn-layerwise/gcn/train"
)

// tuneProgress shows the state of a search: a bar over the mini-batches of all trials on a
// terminal, a line now and then elsewhere. Trials add to it concurrently.
type tuneProgress struct {
	w        io.Writer
	terminal *os.File
	quiet    bool

	mu          sync.Mutex
	bar         *progressbar.ProgressBar
	total, done int // mini-batches
	fresh       int // of done, those that this process trained
	pace        *pace
}

func newTuneProgress(w io.Writer, quiet bool, search *tune.Search) *tuneProgress {
	p := &tuneProgress{w: w, quiet: quiet, total: search.Work(), pace: newPace(10 * time.Second)}
	if p.terminal = terminal(w); p.terminal != nil && !quiet {
		p.bar = newBar(p.terminal, int64(p.total), progressbar.OptionShowCount())
		p.bar.Describe("searching")
	}
	return p
}

// add counts mini-batches that need no training: of trials that are done already, that
// stopped early or diverged.
func (p *tuneProgress) add(batches int) { p.count(batches, 0) }

func (p *tuneProgress) count(batches, fresh int) {
	if batches == 0 {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.done, p.fresh = p.done+batches, p.fresh+fresh
	switch {
	case p.bar != nil:
		_ = p.bar.Set(p.done) // a closed terminal must not end the search
	case !p.quiet && p.fresh > 0 && p.pace.due():
		say(p.w, "%s of %s mini-batches, at most %s left", thousands(int64(p.done)), thousands(int64(p.total)), p.pace.left(p.fresh, p.total-p.done))
	}
}

// ranked prints a line about a rung.
func (p *tuneProgress) ranked(text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.quiet {
		return
	}
	if p.bar != nil {
		_ = p.bar.Clear()
	}
	say(p.w, "%s", text)
}

func (p *tuneProgress) finish() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.bar != nil {
		_ = p.bar.Clear()
	}
}

// trialProgress counts the mini-batches of one trial in a rung, and pauses the training at
// the end of the rung: at the first evaluation at or after its last mini-batch. Training that
// is about to end, by patience or by its limit, pauses too, so that it computes no test score.
type trialProgress struct {
	all      *tuneProgress
	from, to int // mini-batches of the rung before and of this one
	patience int // 0: without
	pause    context.CancelFunc

	at     int // mini-batches counted so far, at most to; 0: none
	paused bool
}

var _ progress = (*trialProgress)(nil)

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

func (*trialProgress) finish() {}
