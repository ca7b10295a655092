package reproduce

import (
	"fmt"
	"time"
)

// pace counts cells and estimates the time that the rest will take, from the cells
// of the same kind, data set and method, or else of the same kind and data set, or of
// the same kind.
type pace struct {
	jobs []job
	done int
	mean map[string]*meanSeconds
}

type meanSeconds struct {
	n   int
	sum float64
}

func (p *pace) start(jobs []job) { p.jobs, p.done, p.mean = jobs, 0, map[string]*meanSeconds{} }

// next counts the current cell as done.
func (p *pace) next() { p.done++ }

// took records the time that the current cell took when it was computed.
func (p *pace) took(seconds float64) {
	if p.done >= len(p.jobs) {
		return
	}
	for _, likeness := range p.jobs[p.done].likeness() {
		m := p.mean[likeness]
		if m == nil {
			m = new(meanSeconds)
			p.mean[likeness] = m
		}
		m.n++
		m.sum += seconds
	}
}

// left estimates the time for all cells from the current one on. It is 0 before the
// first is done.
func (p *pace) left() time.Duration {
	var seconds float64
	for _, j := range p.jobs[min(p.done, len(p.jobs)):] {
		for _, likeness := range j.likeness() {
			if m := p.mean[likeness]; m != nil {
				seconds += m.sum / float64(m.n)
				break
			}
		}
	}
	return time.Duration(seconds * float64(time.Second))
}

// String says how many cells are done, and how long the rest may take.
func (p *pace) String() string {
	if len(p.jobs) == 0 {
		return ""
	}
	left := ""
	if d := p.left(); d > 0 {
		left = fmt.Sprintf(", about %v left", d.Round(time.Second))
	}
	return fmt.Sprintf("[cell %d of %d%s] ", min(p.done+1, len(p.jobs)), len(p.jobs), left)
}
