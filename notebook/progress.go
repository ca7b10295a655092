package notebook

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"strings"
	"time"
	"unicode/utf8"
)

// Progress is a line that shows the progress of some work, and overwrites itself, at most
// every half second. It uses only the carriage return, which notebooks and terminals both
// understand. The zero value is ready to use, by one goroutine at a time.
type Progress struct {
	Name  string
	Total int       // steps in all; 0 means unknown
	Out   io.Writer // nil means the current os.Stdout; a cell shows standard error in red

	began, wrote time.Time
	width        int // characters of the current line; 0 if there is none
}

// NewProgress returns the progress of total steps. Its method Of can be the
// Progress function of a study. (The studies call it from goroutines of their own, which a
// notebook's interpreted function does not survive.)
func NewProgress(name string, total int) *Progress {
	return &Progress{Name: name, Total: total}
}

// At reports that done steps are finished. The last step ends the line.
func (p *Progress) At(done int) {
	if !p.due(done) {
		return
	}
	text := fmt.Sprintf("%s %d", p.Name, done)
	if p.Total > 0 {
		text += fmt.Sprintf("/%d", p.Total)
	}
	left := time.Since(p.began) / time.Duration(max(done, 1)) * time.Duration(p.Total-done)
	if left = left.Round(time.Second); left > 0 && done > 0 {
		text += fmt.Sprintf(", %v left", left)
	}
	if p.Line(text); p.Total > 0 && done >= p.Total {
		p.End()
	}
}

// Of is At of total steps, which replaces Total.
func (p *Progress) Of(done, total int) {
	p.Total = total
	p.At(done)
}

// due reports whether the line is old, or done is the last step.
func (p *Progress) due(done int) bool {
	if p.began.IsZero() {
		p.began = time.Now()
	}
	return p.Total > 0 && done >= p.Total || time.Since(p.wrote) >= 500*time.Millisecond
}

// Line overwrites the current line with text at once.
func (p *Progress) Line(text string) {
	n := utf8.RuneCountInString(text)
	fmt.Fprintf(cmp.Or[io.Writer](p.Out, os.Stdout), "\r%s%s",
		text, strings.Repeat(" ", max(0, p.width-n)))
	p.width, p.wrote = n, time.Now()
}

// End goes on to the next line, if something was written.
func (p *Progress) End() {
	if p.width > 0 {
		fmt.Fprintln(cmp.Or[io.Writer](p.Out, os.Stdout))
	}
	p.width = 0
}
