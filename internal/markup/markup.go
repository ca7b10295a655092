// Package markup makes text from outside harmless in pages and pictures.
//
//	names, titles ─▶ escaped text ─▶ markup.Clean ─▶ HTML, SVG
package markup

import (
	"bytes"
	"unicode"
)

// Clean replaces characters by U+FFFD that a document cannot hold, or that act on a
// page or a terminal: control characters except tabs and line ends, characters that
// change the direction of writing, and bytes that are not UTF-8. It does not escape
// marks such as <: callers escape text before.
func Clean(document []byte) []byte {
	return bytes.Map(func(r rune) rune {
		switch {
		case r == '\t' || r == '\n':
			return r
		case unicode.IsControl(r), unicode.Is(unicode.Bidi_Control, r), r == '\ufffe', r == '\uffff':
			return unicode.ReplacementChar
		}
		return r
	}, document)
}
