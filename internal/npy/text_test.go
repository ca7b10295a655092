package npy

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/gcn-layerwise/gcn/internal/npy/npytest"
)

func texts(t testing.TB, file []byte) ([]string, error) {
	t.Helper()
	r, err := NewReader("made.npy", bytes.NewReader(file), int64(len(file)))
	if err != nil {
		return nil, err
	}
	return r.Texts(context.Background())
}

// The bytes that numpy.save wrote for numpy.array(["a", "né"]), and for the same as bytes.
func TestTextBytes(t *testing.T) {
	unicode := "\x93NUMPY\x01\x00v\x00{'descr': '<U2', 'fortran_order': False, 'shape': (2,), }" + strings.Repeat(" ", 60) + "\n" +
		"a\x00\x00\x00\x00\x00\x00\x00n\x00\x00\x00\xe9\x00\x00\x00"
	octets := "\x93NUMPY\x01\x00v\x00{'descr': '|S3', 'fortran_order': False, 'shape': (2,), }" + strings.Repeat(" ", 60) + "\n" +
		"a\x00\x00n\xc3\xa9"
	for _, file := range []string{unicode, octets} {
		if got, err := texts(t, []byte(file)); err != nil || len(got) != 2 || got[0] != "a" || got[1] != "né" {
			t.Errorf("%q, %v", got, err)
		}
	}
}

// Any texts without zeros at their ends come back.
func TestTextRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := rapid.SliceOfN(rapid.String().Filter(func(s string) bool { return utf8.ValidString(s) && !strings.HasSuffix(s, "\x00") }), 1, 40).Draw(t, "texts")
		file := npytest.Texts(want...)
		r, err := NewReader("x", bytes.NewReader(file), int64(len(file)))
		if err != nil || !r.Text() {
			t.Fatal(err)
		}
		if got, err := r.Texts(context.Background()); err != nil || !slices.Equal(got, want) {
			t.Fatalf("%q, %v, want %q", got, err, want)
		}
	})
}

// Arrays that are no texts, or not Unicode, are errors; so are numbers read from texts.
func TestBadTexts(t *testing.T) {
	dict := func(descr string) string {
		return "{'descr': '" + descr + "', 'fortran_order': False, 'shape': (1,), }"
	}
	for name, file := range map[string][]byte{
		"beyond Unicode": raw(dict("<U1"), 0, 0, 0x11, 0), "half a pair": raw(dict("<U1"), 0, 0xd8, 0, 0), "Latin-1": raw(dict("|S1"), 0xe9),
		"cut short": raw(dict("<U2"), 'a', 0, 0, 0), "too many": raw(dict("|S1"), 'a', 'b'),
	} {
		if got, err := texts(t, file); !errors.Is(err, ErrFormat) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
	for name, file := range map[string][]byte{
		"big-endian": raw(dict(">U1"), 0, 0, 0, 'a'), "no letters": raw(dict("<U0")), "objects": raw(dict("|O")), "too long": raw(dict("<U1048577")), "numbers": encode(t, []int32{1}),
	} {
		if got, err := texts(t, file); err == nil || errors.Is(err, ErrFormat) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
	r := reader(t, raw(dict("<U1"), 'a', 0, 0, 0))
	if _, err := All[int64](context.Background(), r); err == nil || !strings.Contains(err.Error(), "want integers") {
		t.Errorf("texts as integers: %v", err)
	}
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := reader(t, raw(dict("|S1"), 'a')).Texts(ended); !errors.Is(err, context.Canceled) {
		t.Errorf("a context that is done: %v", err)
	}
}
