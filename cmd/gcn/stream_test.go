package main

import (
	"bytes"
	"errors"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/gcn-layerwise/gcn/datasets"
	"github.com/gcn-layerwise/gcn/train"
)

func TestEscape(t *testing.T) {
	for text, want := range map[string]string{
		"":                                     "",
		"plain, ‖QPHW‖, 数据, 👩‍🔬":               "plain, ‖QPHW‖, 数据, 👩‍🔬",
		`a\nb`:                                 `a\nb`,
		"a\nb\tc\rd":                           `a\nb\tc\rd`,
		"\x00\a\x1b[2J\x7f":                    `\x00\a\x1b[2J\u007f`,
		"\u0085\u009b":                         `\u0085\u009b`,
		"\u200e\u202a\u202e\u2066\u2069\u061c": `\u200e\u202a\u202e\u2066\u2069\u061c`,
		"\u2028\u2029":                         `\u2028\u2029`,
		"a\xffb\xe2\x82":                       `a\xffb\xe2\x82`,
		"\xed\xa0\x80\xc0\x9b":                 `\xed\xa0\x80\xc0\x9b`,
		"\ufffd'\"":                            "\ufffd'\"",
	} {
		if got := escape(text, ""); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
	if got := escape("a\nb\tc\rd", "\n\t"); got != "a\nb\tc"+`\rd` {
		t.Errorf("keeping line breaks and tabs: %q", got)
	}
}

// TestStream checks that a stream prints the same text for any sizes of writes.
func TestStream(t *testing.T) {
	const text = "‖QPHW‖\t👩‍🔬\n\x1b[2J\u009b\u202e\xe2\x82x\xf0\x9f\xff\xe2\x82"
	want := escape(text, "\n\t")
	for size := 1; size <= len(text); size++ {
		var b bytes.Buffer
		s := &stream{w: &b}
		for rest := text; rest != ""; {
			part := rest[:min(size, len(rest))]
			rest = rest[len(part):]
			if n, err := s.Write([]byte(part)); n != len(part) || err != nil {
				t.Fatal(n, err)
			}
		}
		if err := s.flush(); err != nil || b.String() != want {
			t.Errorf("in writes of %d bytes: %q, want %q, %v", size, b.String(), want, err)
		}
	}
}

// TestStreamFails checks that a stream remembers its first error, and reports
// that the reader has gone.
func TestStreamFails(t *testing.T) {
	s := &stream{w: brokenWriter{}, closed: func() { t.Error("the reader has not gone") }}
	if _, err := s.Write([]byte("x")); err == nil || !errors.Is(s.flush(), err) {
		t.Errorf("%v, remembered: %v", err, s.flush())
	}
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	r.Close()
	defer w.Close()
	gone := false
	s = &stream{w: w, closed: func() { gone = true }}
	if _, err := s.Write([]byte("x")); !errors.Is(err, syscall.EPIPE) || !gone {
		t.Errorf("%v, told: %v", err, gone)
	}
}

// TestStreamLeavesScripts checks that completion scripts are not escaped.
func TestStreamLeavesScripts(t *testing.T) {
	for _, shell := range []string{"bash", "zsh", "fish", "powershell"} {
		var b bytes.Buffer
		root, _ := newRoot(&b, &b)
		root.SetArgs([]string{"completion", shell})
		if err := root.Execute(); err != nil {
			t.Fatal(err)
		}
		if out := succeed(t, "completion", shell); out.stdout != b.String() {
			t.Errorf("the %s script is changed", shell)
		}
	}
}

// TestBarsOnATerminal checks that on a terminal only the bars move the cursor,
// not the text printed around them.
func TestBarsOnATerminal(t *testing.T) {
	terminal, screen := newTerminal(t)
	s := &stream{w: terminal}
	show, finish := trainingMeter(s, "run 1/2  ")
	show(train.Progress{Batch: 1, MaxBatches: 10, Loss: 1})
	finish()
	newFetchDisplay(s)(datasets.FetchProgress{Name: "evil\x1b[2J", Stage: "download", Done: 1, Total: 10})
	say(s, "end")
	var text strings.Builder
	for buffer := make([]byte, 4096); !strings.Contains(text.String(), "end"); {
		n, err := screen.Read(buffer)
		if err != nil {
			t.Fatal(err)
		}
		text.Write(buffer[:n])
	}
	for _, want := range []string{"\rrun 1/2  ", `evil\x1b[2J: downloading`} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("%q lacks %q", text.String(), want)
		}
	}
	if strings.Contains(text.String(), `\r`) || strings.Contains(text.String(), "evil\x1b") {
		t.Errorf("%q", text.String())
	}
	var lines bytes.Buffer
	m := &meter{w: &lines}
	m.at(1, 2, "bar", func() string { return "line" })
	if lines.String() != "line\n" {
		t.Errorf("without a terminal: %q", lines.String())
	}
}
