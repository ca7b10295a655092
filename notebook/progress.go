package notebook

import (
	"fmt"
	"io"
	"os"
	"strings"
	"time"
	"unicode/utf8"
)

// Progress is a line that shows the progress of some work, and overwrites itself.
// It uses only the carriage return, which notebooks and terminals both understand.
// The zero value is ready to use, by one goroutine at a time.
type Progress struct {
	Name  string
	Total int           // steps in all; 0 means unknown
	Every time.Duration // least time between two writes; 0 means half a second
	Out   io.Writer     // nil means the current os.Stdout; a cell shows standard error in red

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
	p.at(done, func() string { return p.text(done) })
	if p.Total > 0 && done >= p.Total {
		p.End()
	}
}

// Of is At of total steps, which replaces Total.
func (p *Progress) Of(done, total int) {
	p.Total = total
	p.At(done)
}

// at writes the text for done steps if Every has passed, or for the last step.
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

// left estimates the remaining time, in whole seconds.
func (p *Progress) left(now time.Time, done int) time.Duration {
	if done <= 0 || done >= p.Total {
		return 0
	}
	pace := now.Sub(p.began) / time.Duration(done)
	return (pace * time.Duration(p.Total-done)).Round(time.Second)
}

// Line overwrites the current line with text at once, without regard to Every.
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
