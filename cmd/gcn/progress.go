package main

import (
	"fmt"
	"io"
	"math"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"

	"github.com/gcn-layerwise/gcn/datasets"
	"github.com/gcn-layerwise/gcn/train"
)

// meter shows how much of some work is done: a bar on a terminal, a line now and then
// elsewhere. Calls may be concurrent.
type meter struct {
	w     io.Writer
	lines bool          // no bar on a terminal either
	bytes bool          // the bar counts bytes
	every time.Duration // at most one line in this time

	mu          sync.Mutex
	bar         *progressbar.ProgressBar
	begun, last time.Time // of the work, and of the last line
}

// at shows that done of total is done; a total of 0 is not known. text is for the bar. If it is
// time for a line, line returns the text of it; nil: there is none.
func (m *meter) at(done, total int64, text string, line func() string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	now := time.Now()
	if m.begun.IsZero() {
		m.begun, m.last = now, now
	}
	screen := terminal(m.w)
	switch {
	case screen != nil && !m.lines:
		if m.bar == nil {
			m.bar = newBar(screen, total, m.bytes)
		}
		// The bar fails only if its writer does. A closed terminal must not end the work.
		m.bar.Describe(text)
		_ = m.bar.Set64(done)
	case line != nil && now.Sub(m.last) >= m.every:
		m.last = now
		say(m.w, "%s", line())
	}
}

// left estimates the time that rest takes, if done took the time so far. It is for the function
// that returns a line.
func (m *meter) left(done, rest int) time.Duration {
	return time.Duration(float64(time.Since(m.begun)) / float64(done) * float64(rest)).Round(time.Second)
}

// clear clears the bar's line. Then it says text, unless that is empty.
func (m *meter) clear(text string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.bar != nil {
		_ = m.bar.Clear()
	}
	m.bar = nil
	if text != "" {
		say(m.w, "%s", text)
	}
}

const (
	barWidth = 10 // characters of the bar itself
	barRest  = 34 // of per cent, brackets, counts and times
)

// newBar returns a bar that counts up to total, or a spinner if that is not known.
func newBar(screen io.Writer, total int64, bytes bool) *progressbar.ProgressBar {
	count := progressbar.OptionShowCount()
	if bytes {
		count = progressbar.OptionShowBytes(true)
	}
	if total <= 0 {
		total = -1 // a spinner
	}
	return progressbar.NewOptions64(total, count,
		progressbar.OptionSetWriter(screen),
		progressbar.OptionSetPredictTime(true),
		progressbar.OptionThrottle(100*time.Millisecond),
		progressbar.OptionSetWidth(barWidth),
		progressbar.OptionSetTheme(progressbar.ThemeASCII),
		progressbar.OptionClearOnFinish(),
	)
}

// terminalWidth returns the columns of a terminal, or 80 if they are unknown.
func terminalWidth(screen *os.File) int {
	if width, _, err := term.GetSize(int(screen.Fd())); err == nil && width > 0 {
		return width
	}
	return 80
}

// everySeconds returns a function that takes the number done and the total, and prints them
// now and then, with the time left. A call with done 0 begins new work.
func everySeconds(w io.Writer, what string) func(done, total int) {
	var m *meter
	return func(done, total int) {
		if m == nil || done == 0 {
			m = &meter{w: w, lines: true, every: 5 * time.Second}
		}
		if done < total {
			m.at(int64(done), int64(total), "", func() string {
				return fmt.Sprintf("%d of %d %s, about %v left", done, total, what, m.left(done, total-done))
			})
		}
	}
}

// trainingMeter returns functions that show a run's progress on w, with the prefix before each
// line, and that clear the line for the next output.
func trainingMeter(w io.Writer, prefix string) (show func(train.Progress), finish func()) {
	m := &meter{w: w, every: 2 * time.Second}
	return func(p train.Progress) {
		text := scores(p)
		line := func() string {
			batches, left := fmt.Sprint(p.Batch), ""
			if p.MaxBatches > 0 {
				batches += fmt.Sprintf("/%d", p.MaxBatches)
			}
			if p.Left > 0 {
				left = ", at most " + p.Left.Round(time.Second).String() + " left"
			}
			return prefix + "batch " + batches + "  " + text + left
		}
		if !p.Evaluated {
			line = nil
		}
		short := text
		if screen := terminal(w); screen != nil {
			// A redraw cannot erase a line that is wider than the terminal: show less on
			// a narrow one.
			room := terminalWidth(screen) - barWidth - barRest - len(prefix)
			for _, separator := range []string{" (", "  valid", ""} {
				if len(short) <= room {
					break
				}
				short = short[:strings.Index(short+separator, separator)]
			}
		}
		m.at(int64(p.Batch), int64(p.MaxBatches), prefix+short, line)
	}, func() { m.clear("") }
}

// scores is the part of a progress line that both displays have.
func scores(p train.Progress) string {
	text := "loss not known yet"
	if !math.IsNaN(p.Loss) {
		text = fmt.Sprintf("loss %.3f", p.Loss)
	}
	if !math.IsNaN(p.Valid) {
		text += fmt.Sprintf("  valid %.3f", p.Valid)
	}
	if !math.IsNaN(p.Best) {
		text += fmt.Sprintf(" (best %.3f)", p.Best)
	}
	return text
}

// stageCorrect is the stage of correct and smooth in a display of data.
const stageCorrect = "correct"

// newFetchDisplay returns a function that shows a download, the propagation of the features,
// correct and smooth, or a long conversion on standard error, with a bar on a terminal.
func newFetchDisplay(w io.Writer) func(datasets.FetchProgress) {
	m := &meter{w: w}
	var last datasets.FetchProgress
	return func(p datasets.FetchProgress) {
		same := p.Name == last.Name && p.Stage == last.Stage && p.File == last.File && p.Text == last.Text
		last = p
		if !same {
			size := ""
			if p.Total > 0 {
				size = fmt.Sprintf(", %.1f MB", float64(p.Total)/1e6)
			}
			if p.Done > 0 {
				size += fmt.Sprintf(", %.1f of them are here", float64(p.Done)/1e6)
			}
			m.clear(p.Name + ": " + map[string]string{
				"download":   "downloading " + p.Address + size,
				"note":       p.Text,
				"check":      "checking " + p.File,
				"unpack":     "unpacking",
				"prepare":    "reading it and writing the store",
				"propagate":  "propagating the features once",
				"edges":      "collecting the edges",
				"rows":       "sorting the edges into rows",
				"features":   "writing the features",
				stageCorrect: fmt.Sprintf("spreading errors and labels over the graph, at most %d times", p.Total),
			}[p.Stage])
		}
		if p.Stage == "prepare" || p.Stage == "note" {
			return
		}
		m.bytes = p.Stage != stageCorrect
		m.at(p.Done, p.Total, "", nil)
		if !m.bytes && p.Done == p.Total {
			m.clear("")
		}
	}
}
