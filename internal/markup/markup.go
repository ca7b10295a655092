// Package markup keeps text from outside harmless in the pages and pictures that
// hold it.
//
//	names, titles ─▶ escaped text ─▶ markup.Clean ─▶ HTML, SVG
package markup

import (
	"bytes"
	"unicode"
)

// Clean replaces by U+FFFD the characters that a document cannot hold or that
// would act on a page or a terminal: control characters but tabs and line ends,
// those that change the direction of writing, and bytes that are no UTF-8. Marks
// such as < are not its concern: text is escaped before.
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
