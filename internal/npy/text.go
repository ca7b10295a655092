package npy

import (
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"unicode/utf8"
)

// Text tells whether the elements are texts: Python's str, such as "<U8", or bytes, such as
// "|S8".
func (r *Reader) Text() bool {
	kind, _, err := r.element()
	return err == nil && (kind == unicode || kind == octets)
}

// EachText calls visit with each element of an array of texts, in the order of the file, as
// UTF-8 without the zeros at its end. An element is valid until visit returns. Errors name
// the element: of visit, and of elements that are not Unicode, which wrap ErrFormat. When
// ctx is done, the error is the context's.
func (r *Reader) EachText(ctx context.Context, visit func(element []byte) error) error {
	kind, size, err := r.element()
	if err == nil && kind != unicode && kind != octets {
		err = fmt.Errorf("elements are %s, want texts: %w", r.Descr, ErrFormat)
	}
	if err != nil {
		return fmt.Errorf("npy: %s: %w", r.name, err)
	}
	n := r.Len()
	const piece = 1 << 16 // bytes read at a time, if elements are not longer
	buffer := make([]byte, min(n, max(piece/size, 1))*size)
	var letters []byte
	for done := 0; done < n; {
		if err := ctx.Err(); err != nil {
			return err
		}
		part := buffer[:min((n-done)*size, len(buffer))]
		if _, err := io.ReadFull(r.r, part); err != nil {
			return fmt.Errorf("npy: %s: element %d: %w", r.name, done, cutShort(err, "the data"))
		}
		for ; len(part) > 0; part, done = part[size:], done+1 {
			element, valid := part[:size], true
			if kind == unicode {
				letters, valid = appendLetters(letters[:0], element)
				element = letters
			}
			for len(element) > 0 && element[len(element)-1] == 0 {
				element = element[:len(element)-1]
			}
			if !valid || !utf8.Valid(element) {
				return fmt.Errorf("npy: %s: element %d is not Unicode text: %w", r.name, done, ErrFormat)
			}
			if err := visit(element); err != nil {
				return fmt.Errorf("npy: %s: element %d: %w", r.name, done, err)
			}
		}
	}
	return r.End()
}

// appendLetters appends UTF-32 letters as UTF-8. valid is false if one is not a letter.
func appendLetters(to, from []byte) (_ []byte, valid bool) {
	valid = true
	for k := 0; k < len(from); k += 4 {
		letter := binary.LittleEndian.Uint32(from[k:])
		valid = valid && letter <= utf8.MaxRune && utf8.ValidRune(rune(letter))
		to = utf8.AppendRune(to, rune(letter))
	}
	return to, valid
}

// WriteTexts writes n texts as a vector of NumPy's str, each padded with zeros to the
// longest. Text k, in UTF-8, is text(k), which is called twice.
func WriteTexts(w io.Writer, n int, text func(k int) string) error {
	longest := 1
	for k := range n {
		longest = max(longest, utf8.RuneCountInString(text(k)))
	}
	if _, err := w.Write(header(fmt.Sprintf("<U%d", longest), []int{n})); err != nil {
		return err
	}
	element := make([]byte, 0, 4*longest)
	for k := range n {
		element = element[:0]
		for _, letter := range text(k) {
			element = binary.LittleEndian.AppendUint32(element, uint32(letter))
		}
		if _, err := w.Write(element[:4*longest]); err != nil {
			return err
		}
		clear(element)
	}
	return nil
}
