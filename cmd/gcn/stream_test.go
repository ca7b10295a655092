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
		"a\xffb\xe2\x82":                       "a\ufffdb\ufffd",
		"\xed\xa0\x80\xc0\x9b":                 "\ufffd",
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

// TestStreamFails checks that a stream remembers its first error, and reports
// that the reader has gone.
func TestStreamFails(t *testing.T) {
	s := &stream{w: brokenWriter{}, closed: func() { t.Error("the reader has not gone") }}
	if _, err := s.Write([]byte("x")); err == nil || !errors.Is(s.err, err) {
		t.Errorf("%v, remembered: %v", err, s.err)
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

// TestBarsOnATerminal checks that on a terminal only the meters move the cursor, not the text
// printed around them.
func TestBarsOnATerminal(t *testing.T) {
	terminal, screen := newTerminal(t)
	s := &stream{w: terminal}
	trainingMeter(s, "run 1/2  ")(train.Progress{Batch: 5, MaxBatches: 10, Loss: 1})
	say(s, "\r of a name")
	dataMeter(s)(datasets.FetchProgress{Name: "evil\x1b[2J", Stage: "download", Done: 1, Total: 10})
	if _, err := (&stream{w: terminal, beside: s}).Write([]byte("end")); err != nil {
		t.Error(err)
	}
	var text strings.Builder
	for buffer := make([]byte, 4096); !strings.Contains(text.String(), "end"); {
		n, err := screen.Read(buffer)
		if err != nil {
			t.Fatal(err)
		}
		text.Write(buffer[:n])
	}
	for _, want := range []string{"\r[#####     ]  50 %  run 1/2  batch 5/10  loss 1.000", "\r\\r of a name\r\n", `evil\x1b[2J: downloading`, "\rend"} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("%q lacks %q", text.String(), want)
		}
	}
	if strings.Contains(text.String(), "evil\x1b") {
		t.Errorf("%q", text.String())
	}
	var lines bytes.Buffer
	m := &meter{w: &lines}
	m.at(1, 2, func() string { return "line" })
	if lines.String() != "line\n" {
		t.Errorf("without a terminal: %q", lines.String())
	}
}
