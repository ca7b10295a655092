package markup

import (
	"encoding/xml"
	"testing"
	"unicode"
)

// TestClean puts every character below U+20000 into a document. The result parses,
// and all printable characters are unchanged.
func TestClean(t *testing.T) {
	for r := rune(0); r < 0x20000; r++ {
		text := string(Clean([]byte("a" + string(r) + "b")))
		if unicode.IsPrint(r) && text != "a"+string(r)+"b" {
			t.Fatalf("%q is changed to %q", r, text)
		}
		if r == '<' || r == '&' {
			continue // escaped before
		}
		var back string
		if err := xml.Unmarshal([]byte("<t>"+text+"</t>"), &back); err != nil {
			t.Fatalf("%q: %v", r, err)
		}
	}
	for raw, want := range map[string]string{
		"\x1b[31m\x00": "\ufffd[31m\ufffd", "\xff\xfe": "\ufffd\ufffd", "a\u202eb\u2066c": "a\ufffdb\ufffdc", "\tä\n": "\tä\n", "\r": "\ufffd", "\u0085": "\ufffd",
	} {
		if got := string(Clean([]byte(raw))); got != want {
			t.Errorf("%q is cleaned to %q, want %q", raw, got, want)
		}
	}
}
