package main

import (
	"fmt"
	"io"
	"math"
	"os"
	"strings"
	"time"

	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"

	"github.com/gcn-layerwise/gcn/train"
)

// progress shows the state of a run: a bar on a terminal, a line now and then
// elsewhere.
type progress interface {
	show(train.Progress)
	finish() // clears the line for the next output
}

// newProgress returns the progress display for w, each line beginning with
// prefix.
func newProgress(w io.Writer, quiet bool, prefix string) progress {
	if quiet {
		return noProgress{}
	}
	if terminal := terminal(w); terminal != nil {
		return &barProgress{w: terminal, prefix: prefix}
	}
	return &lineProgress{w: w, prefix: prefix}
}

type noProgress struct{}

func (noProgress) show(train.Progress) {}
func (noProgress) finish()             {}

// lineProgress prints a line at an evaluation, at most one in two seconds.
type lineProgress struct {
	w      io.Writer
	prefix string
	pace   *pace // begins with the first batch
}

func (l *lineProgress) show(p train.Progress) {
	if l.pace == nil {
		l.pace = newPace(2 * time.Second)
	}
	if !p.Evaluated || !l.pace.due() {
		return
	}
	batches := fmt.Sprint(p.Batch)
	if p.MaxBatches > 0 {
		batches += fmt.Sprintf("/%d", p.MaxBatches)
	}
	left := ""
	if p.Left > 0 {
		left = ", at most " + p.Left.Round(time.Second).String() + " left"
	}
	say(l.w, "%sbatch %s  %s%s", l.prefix, batches, scores(p), left)
}

func (*lineProgress) finish() {}

// barProgress draws a bar that counts batches, with the loss and the validation
// score.
type barProgress struct {
	w      *os.File
	prefix string
	bar    *progressbar.ProgressBar
}

func (b *barProgress) show(p train.Progress) {
	if b.bar == nil {
		b.bar = newBar(b.w, int64(p.MaxBatches), progressbar.OptionShowCount())
	}
	// A redraw cannot erase a line that is wider than the terminal: show less on
	// a narrow one.
	room := terminalWidth(b.w) - barWidth - barRest - len(b.prefix)
	text := scores(p)
	for _, separator := range []string{" (", "  valid", ""} {
		if len(text) <= room {
			break
		}
		text = text[:strings.Index(text+separator, separator)]
	}
	b.bar.Describe(b.prefix + text)
	// The bar fails only if its writer does. A closed terminal must not end the
	// training.
	_ = b.bar.Set(p.Batch)
}

const (
	barWidth = 10 // characters of the bar itself
	barRest  = 34 // of per cent, brackets, counts and times
)

// newBar returns a bar that counts up to total, or a spinner if that is not known.
func newBar(terminal io.Writer, total int64, count progressbar.Option) *progressbar.ProgressBar {
	if total <= 0 {
		total = -1 // a spinner
	}
	return progressbar.NewOptions64(total, count,
		progressbar.OptionSetWriter(terminal),
		progressbar.OptionSetPredictTime(true),
		progressbar.OptionThrottle(100*time.Millisecond),
		progressbar.OptionSetWidth(barWidth),
		progressbar.OptionSetTheme(progressbar.ThemeASCII),
		progressbar.OptionClearOnFinish(),
	)
}

// terminalWidth returns the columns of a terminal, or 80 if they are unknown.
func terminalWidth(terminal *os.File) int {
	if width, _, err := term.GetSize(int(terminal.Fd())); err == nil && width > 0 {
		return width
	}
	return 80
}

func (b *barProgress) finish() {
	if b.bar != nil {
		_ = b.bar.Clear()
	}
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
