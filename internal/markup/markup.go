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
// change the direction of writing, noncharacters, and bytes that are not UTF-8. It does not escape
// marks such as <: callers escape text before.
func Clean(document []byte) []byte {
	return bytes.Map(func(r rune) rune {
		if r != '\t' && r != '\n' && unicode.In(r, unicode.Cc, unicode.Bidi_Control, unicode.Noncharacter_Code_Point) {
			return unicode.ReplacementChar
		}
		return r
	}, document)
}
