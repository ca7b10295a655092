package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"unicode"
	"unicode/utf8"

	"golang.org/x/term"
)

// stream is standard output or standard error; the command prints everything
// through one. It escapes control characters except line breaks and tabs, as
// names and messages from files and servers may hold some. It remembers the first
// write error, and ends the command when a pipe's reader has gone. Writes may be
// concurrent.
type stream struct {
	w      io.Writer
	closed func() // called when the reader of a pipe has gone

	mu   sync.Mutex
	rest []byte // the incomplete character at the end of the last write
	err  error  // of the first write that failed
}

func (s *stream) Write(text []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	whole := append(s.rest, text...)
	end := len(whole)
	for k := max(end-utf8.UTFMax+1, 0); k < end; k++ {
		if utf8.RuneStart(whole[k]) && !utf8.FullRune(whole[k:]) {
			end = k
		}
	}
	s.rest = append([]byte(nil), whole[end:]...)
	if err := s.print(whole[:end]); err != nil {
		return 0, err
	}
	return len(text), nil
}

// silence drops everything from now on.
func (s *stream) silence() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.w = io.Discard
}

// flush prints the bytes of an incomplete last character.
func (s *stream) flush() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	rest := s.rest
	s.rest = nil
	if len(rest) > 0 {
		_ = s.print(rest) // the error is remembered
	}
	return s.err
}

func (s *stream) print(text []byte) error {
	_, err := io.WriteString(s.w, escape(string(text), "\n\t"))
	if err == nil {
		return nil
	}
	if s.err == nil {
		s.err = err
	}
	if errors.Is(err, syscall.EPIPE) {
		s.closed()
	}
	return err
}

// terminal returns the terminal that w writes to, for displays that move its
// cursor, or nil.
func terminal(w io.Writer) *os.File {
	if s, ok := w.(*stream); ok {
		w = s.w
	}
	file, ok := w.(*os.File)
	if !ok || !term.IsTerminal(int(file.Fd())) {
		return nil
	}
	return file
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

// escape returns text with characters that a terminal obeys escaped as in Go:
// control characters except those in keep, characters that change the direction
// of writing, and bytes that are not UTF-8.
func escape(text, keep string) string {
	if utf8.ValidString(text) && !strings.ContainsFunc(text, actsOnTerminal) {
		return text
	}
	var b strings.Builder
	for k := 0; k < len(text); {
		r, size := utf8.DecodeRuneInString(text[k:])
		switch word := text[k : k+size]; {
		case r == utf8.RuneError && size == 1:
			fmt.Fprintf(&b, `\x%02x`, text[k])
		case !actsOnTerminal(r) || strings.Contains(keep, word):
			b.WriteString(word)
		case r < ' ':
			b.WriteString(strings.Trim(strconv.QuoteRune(r), "'"))
		default:
			fmt.Fprintf(&b, `\u%04x`, r) // which means the same in JSON
		}
		k += size
	}
	return b.String()
}

// actsOnTerminal reports whether a terminal obeys a character instead of showing it.
func actsOnTerminal(r rune) bool {
	return unicode.IsControl(r) || unicode.In(r, unicode.Bidi_Control, unicode.Zl, unicode.Zp)
}
