package main

import (
	"io"
	"time"
)

// pace spreads the lines of a progress display over the time of the work.
type pace struct {
	every       time.Duration // at most one line in this time
	begun, last time.Time     // of the work, and of the last line
}

// newPace returns the pace of work that begins now.
func newPace(every time.Duration) *pace {
	now := time.Now()
	return &pace{every, now, now}
}

// due reports whether it is time for a line. The caller then prints one.
func (p *pace) due() bool {
	now := time.Now()
	if now.Sub(p.last) < p.every {
		return false
	}
	p.last = now
	return true
}

// left estimates the time that rest takes, if done took the time so far.
func (p *pace) left(done, rest int) time.Duration {
	return time.Duration(float64(time.Since(p.begun)) / float64(done) * float64(rest)).Round(time.Second)
}

// everySeconds returns a function that takes the number done and prints it now
// and then, with the total and the time left.
func everySeconds(w io.Writer, what string, total int) func(done int) {
	p := newPace(5 * time.Second)
	return func(done int) {
		if done > 0 && done < total && p.due() {
			say(w, "%d of %d %s, about %v left", done, total, what, p.left(done, total-done))
		}
	}
}

// everySecondsOf is everySeconds for work that tells its total with each call. A call with
// done 0 begins new work.
func everySecondsOf(w io.Writer, what string) func(done, total int) {
	var show func(done int)
	return func(done, total int) {
		if show == nil || done == 0 {
			show = everySeconds(w, what, total)
		}
		show(done)
	}
}
