package main

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/gcn-layerwise/gcn/datasets"
	"github.com/gcn-layerwise/gcn/train"
)

// meter shows how much of some work is done: on a terminal in a line that it draws again and
// again, elsewhere in a line now and then. Calls may be concurrent.
type meter struct {
	w     io.Writer
	every time.Duration // at most one line in this time, unless w is a terminal

	mu          sync.Mutex
	begun, last time.Time // of the work, and of the last line
}

// at shows that done of total is done; a total of 0 is not known. If it is time for a line, line
// returns its text.
func (m *meter) at(done, total int, line func() string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	now, screen := time.Now(), terminal(m.w)
	if m.begun.IsZero() {
		m.begun, m.last = now, now
	}
	switch {
	case screen == nil && now.Sub(m.last) >= m.every:
		m.last = now
		say(m.w, "%s", line())
	case screen != nil && (now == m.begun || now.Sub(m.last) >= time.Second/10):
		m.last = now
		bar := ""
		if total > 0 {
			bar = fmt.Sprintf("[%-10s] %3d %%  ", strings.Repeat("#", min(10*done/total, 10)), 100*done/total)
		}
		screen.draw(bar + line())
	}
}

// everySeconds returns a function that takes the number done and the total, and prints them
// now and then, with the time left. A call with done 0 begins new work.
func everySeconds(w io.Writer, what string) func(done, total int) {
	var m *meter
	return func(done, total int) {
		if m == nil || done == 0 {
			m = &meter{w: w, every: 5 * time.Second}
		}
		m.at(done, total, func() string {
			text := fmt.Sprintf("%d of %d %s", done, total, what)
			if done > 0 && done < total {
				left := time.Duration(float64(time.Since(m.begun)) / float64(done) * float64(total-done))
				text += fmt.Sprintf(", about %v left", left.Round(time.Second))
			}
			return text
		})
	}
}

// trainingMeter returns a function that shows a run's progress on w, with the prefix before each
// line. Only a terminal shows mini-batches without an evaluation.
func trainingMeter(w io.Writer, prefix string) func(train.Progress) {
	m := &meter{w: w, every: 2 * time.Second}
	return func(p train.Progress) {
		if !p.Evaluated && terminal(w) == nil {
			return
		}
		m.at(p.Batch, p.MaxBatches, func() string {
			of, left := "", ""
			if p.MaxBatches > 0 {
				of = fmt.Sprint("/", p.MaxBatches)
			}
			if p.Left > 0 {
				left = fmt.Sprintf(", at most %v left", p.Left.Round(time.Second))
			}
			text := fmt.Sprintf("%sbatch %d%s  loss %.3f  valid %.3f (best %.3f)%s", prefix, p.Batch, of, p.Loss, p.Valid, p.Best, left)
			return strings.ReplaceAll(text, "NaN", "–")
		})
	}
}

// dataMeter returns a function that tells of a download, the propagation of the features,
// correct and smooth, or a long conversion. Only a terminal shows how far it is.
func dataMeter(w io.Writer) func(datasets.FetchProgress) {
	m := &meter{w: w}
	var last datasets.FetchProgress
	return func(p datasets.FetchProgress) {
		same := p.Name == last.Name && p.Stage == last.Stage && p.File == last.File && p.Text == last.Text
		last = p
		text := p.Name + ": " + map[string]string{
			"download":  "downloading " + p.Address,
			"note":      p.Text,
			"check":     "checking " + p.File,
			"unpack":    "unpacking",
			"prepare":   "reading it and writing the store",
			"propagate": "propagating the features once",
			"edges":     "collecting the edges",
			"rows":      "sorting the edges into rows",
			"features":  "writing the features",
			"correct":   "spreading errors and labels over the graph",
		}[p.Stage]
		if p.Stage == "download" && p.Total > 0 {
			text += fmt.Sprintf(", %.1f MB", float64(p.Total)/1e6)
		}
		if !same {
			say(w, "%s", text)
		}
		if p.Total > 0 && terminal(w) != nil {
			m.at(int(p.Done), int(p.Total), func() string { return text })
		}
	}
}
