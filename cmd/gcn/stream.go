package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"

	"golang.org/x/term"
)

// stream is standard output or standard error; the command prints everything
// through one. It escapes control characters except line breaks and tabs, as
// names and messages from files and servers may hold some. It remembers the first
// write error, and ends the command when a pipe's reader has gone. Writes may be
// concurrent.
type stream struct {
	w      io.Writer
	closed func()  // called when the reader of a pipe has gone
	beside *stream // another one, perhaps of the same terminal, with a meter's line; may be nil

	mu    sync.Mutex
	err   error // of the first write that failed
	drawn bool  // the last line is a meter's, which the next text replaces
}

func (s *stream) Write(text []byte) (int, error) {
	if s.beside != nil {
		s.beside.clear()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	shown := escape(string(text), "\n\t")
	if s.drawn {
		shown, s.drawn = s.blank()+shown, false
	}
	_, err := io.WriteString(s.w, shown)
	s.err = cmp.Or(s.err, err)
	switch {
	case err == nil:
		return len(text), nil
	case errors.Is(err, syscall.EPIPE):
		s.closed()
	}
	return 0, err
}

// clear removes the line that draw has shown. The stream keeps the error.
func (s *stream) clear() { _, _ = s.Write(nil) }

// draw shows a line, as wide as the terminal at most, until there is other text.
func (s *stream) draw(line string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	text, blank := []rune(escape(line, "")), s.blank()
	s.drawn = true
	// A closed terminal must not end the work.
	_, _ = io.WriteString(s.w, blank+string(text[:min(len(text), len(blank)-2)]))
}

// blank returns the text that empties the line of the cursor. Not every terminal knows a code
// for it.
func (s *stream) blank() string { return "\r" + strings.Repeat(" ", max(s.width()-1, 0)) + "\r" }

// terminal returns the stream w if it writes to a terminal, or nil.
func terminal(w io.Writer) *stream {
	if s, ok := w.(*stream); ok && s.width() > 0 {
		return s
	}
	return nil
}

// width returns the columns of the stream's terminal, or 0 if it writes to none, or is nil.
func (s *stream) width() int {
	if s == nil {
		return 0
	}
	file, _ := s.w.(*os.File)
	width, _, err := term.GetSize(int(file.Fd())) // of no file: -1
	if err != nil {
		return 0
	}
	return cmp.Or(width, 80)
}

// say prints one line, also if the arguments hold line breaks. The stream keeps the error: the
// work goes on, and the command ends with it.
func say(w io.Writer, format string, args ...any) {
	_, _ = io.WriteString(w, escape(fmt.Sprintf(format, args...), "")+"\n")
}

// unlessQuiet returns w, or if quiet a writer that drops everything.
func unlessQuiet(quiet bool, w io.Writer) io.Writer {
	if quiet {
		return io.Discard
	}
	return w
}

// escape returns text with characters that a terminal obeys escaped as in Go: control characters
// except those in keep, and characters that change the direction of writing. U+FFFD stands for
// bytes that are not UTF-8.
func escape(text, keep string) string {
	acts := regexp.MustCompile(`[\p{Cc}\p{Zl}\p{Zp}\x{61c}\x{200e}\x{200f}\x{202a}-\x{202e}\x{2066}-\x{2069}]`)
	return acts.ReplaceAllStringFunc(strings.ToValidUTF8(text, "\ufffd"), func(c string) string {
		switch r := []rune(c)[0]; {
		case strings.Contains(keep, c):
			return c
		case r < ' ':
			return strings.Trim(strconv.QuoteRune(r), "'")
		default:
			return fmt.Sprintf(`\u%04x`, r) // which means the same in JSON
		}
	})
}
