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

// everySeconds returns a function that takes the number done and the total, and prints them
// now and then, with the time left. A call with done 0 begins new work.
func everySeconds(w io.Writer, what string) func(done, total int) {
	var p *pace // begins with the first call
	return func(done, total int) {
		if p == nil || done == 0 {
			p = newPace(5 * time.Second)
		}
		if done > 0 && done < total && p.due() {
			say(w, "%d of %d %s, about %v left", done, total, what, p.left(done, total-done))
		}
	}
}
