package reproduce

import (
	"fmt"
	"time"

	"github.com/gcn-layerwise/gcn/study"
)

// pace counts cells and estimates the time that the rest will take, from the cells
// of the same kind, data set and method, or else of the same kind and data set, or of
// the same kind.
type pace struct {
	keys    []key
	done    int
	seconds map[string][]float64 // of computed cells, by likeness
}

func (p *pace) start(keys []key) { *p = pace{keys: keys, seconds: map[string][]float64{}} }

// next counts the current cell as done.
func (p *pace) next() { p.done++ }

// took records the time that the current cell took when it was computed.
func (p *pace) took(seconds float64) {
	for _, likeness := range p.keys[p.done].likeness() {
		p.seconds[likeness] = append(p.seconds[likeness], seconds)
	}
}

// left estimates the time for all cells from the current one on. It is 0 before the
// first is done.
func (p *pace) left() time.Duration {
	var sum float64
	for _, k := range p.keys[p.done:] {
		for _, likeness := range k.likeness() {
			if seconds := p.seconds[likeness]; seconds != nil {
				sum += study.NewSpread(seconds).Mean
				break
			}
		}
	}
	return time.Duration(sum * float64(time.Second))
}

// String says how many cells are done, and how long the rest may take.
func (p *pace) String() string {
	if p.done >= len(p.keys) {
		return ""
	}
	left := ""
	if d := p.left(); d > 0 {
		left = fmt.Sprintf(", about %v left", d.Round(time.Second))
	}
	return fmt.Sprintf("[cell %d of %d%s] ", p.done+1, len(p.keys), left)
}
