package notebook

import (
	"fmt"
	"io"
	"os"
	"strings"
	"time"
	"unicode/utf8"
)

// Progress is a line that says how far something is, and writes itself anew in
// the same place: a carriage return, which notebooks and terminals alike
// understand, and nothing else that only a terminal would. The zero value is
// ready to use, for one goroutine at a time.
type Progress struct {
	Name  string
	Total int           // steps in all; 0 means unknown
	Every time.Duration // least time between two writes; 0 means half a second
	Out   io.Writer     // nil means os.Stdout as it is when a line is written, which a cell shows plainly where standard error is red

	began, wrote time.Time
	width        int // characters of the line that stands there; 0 if none does
}

// NewProgress returns the progress of something in total steps. Its method At
// suits the Progress fields of package study.
func NewProgress(name string, total int) *Progress {
	return &Progress{Name: name, Total: total}
}

// At says that done steps are behind. The last one ends the line.
func (p *Progress) At(done int) {
	p.at(done, func() string { return p.text(done) })
	if p.Total > 0 && done >= p.Total {
		p.End()
	}
}

// at writes the text for done steps if it is time for it, or the last.
func (p *Progress) at(done int, text func() string) {
	now := time.Now()
	if p.began.IsZero() {
		p.began = now
	}
	every := p.Every
	if every == 0 {
		every = 500 * time.Millisecond
	}
	last := p.Total > 0 && done >= p.Total
	if last || p.wrote.IsZero() || now.Sub(p.wrote) >= every {
		p.Line(text())
	}
}

func (p *Progress) text(done int) string {
	if p.Total <= 0 {
		return fmt.Sprintf("%s %d", p.Name, done)
	}
	text := fmt.Sprintf("%s %d/%d", p.Name, done, p.Total)
	if left := p.left(time.Now(), done); left > 0 {
		text += fmt.Sprintf(", %v left", left)
	}
	return text
}

// left estimates the time to the end, in whole seconds.
func (p *Progress) left(now time.Time, done int) time.Duration {
	if done <= 0 || done >= p.Total {
		return 0
	}
	pace := now.Sub(p.began) / time.Duration(done)
	return (pace * time.Duration(p.Total-done)).Round(time.Second)
}

// Line writes text in the place of the line that stands there, whatever the
// time since.
func (p *Progress) Line(text string) {
	n := utf8.RuneCountInString(text)
	fmt.Fprintf(p.out(), "\r%s%s", text, strings.Repeat(" ", max(0, p.width-n)))
	p.width, p.wrote = n, time.Now()
}

// End goes on to the next line, if something was written.
func (p *Progress) End() {
	if p.width > 0 {
		fmt.Fprintln(p.out())
	}
	p.width = 0
}

func (p *Progress) out() io.Writer {
	if p.Out != nil {
		return p.Out
	}
	return os.Stdout
}
