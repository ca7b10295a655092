package npy

import (
	"encoding/binary"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Element is an element type of written arrays.
type Element interface {
	float32 | float64 | int32 | int64 | uint8 | bool
}

// Write writes values as an array of the given shape, in C order and version 1.0 of
// the format. The error is w's, or says that the shape does not have len(values)
// elements. It needs a buffer of 64 KB.
func Write[T Element](w io.Writer, values []T, shape ...int) error {
	if n := (&Header{Shape: shape}).Len(); n != len(values) {
		return fmt.Errorf("npy: %d values do not fill shape %v", len(values), shape)
	}
	if err := WriteHeader[T](w, shape...); err != nil {
		return err
	}
	return WriteValues(w, values)
}

// WriteHeader begins an array of the given shape. As many values must follow, by
// WriteValues.
func WriteHeader[T Element](w io.Writer, shape ...int) error {
	var zero T
	order, size := "<", binary.Size(zero)
	if size == 1 {
		order = "|"
	}
	letter := fmt.Sprintf("%T", zero)[:1] // f, i, u or b: NumPy's letter, too
	return writeHeader(w, order+letter+strconv.Itoa(size), shape)
}

// WriteValues writes the next values of an array, in C order.
func WriteValues[T Element](w io.Writer, values []T) error {
	var buffer []byte
	for part := range slices.Chunk(values, 1<<13) {
		var err error
		if buffer, err = binary.Append(buffer[:0], binary.LittleEndian, part); err != nil {
			return err
		}
		if _, err := w.Write(buffer); err != nil {
			return err
		}
	}
	return nil
}

// WriteText writes one string as NumPy's bytes, an array without dimensions.
func WriteText(w io.Writer, text string) error {
	if err := writeHeader(w, fmt.Sprintf("|S%d", len(text)), nil); err != nil {
		return err
	}
	_, err := io.WriteString(w, text)
	return err
}

// WriteTexts writes n texts as a vector of NumPy's str, each padded with zeros to the
// longest. Text k, in UTF-8, is text(k), which is called twice.
func WriteTexts(w io.Writer, n int, text func(k int) string) error {
	longest := 1
	for k := range n {
		longest = max(longest, utf8.RuneCountInString(text(k)))
	}
	if err := writeHeader(w, fmt.Sprintf("<U%d", longest), []int{n}); err != nil {
		return err
	}
	for k := range n {
		element := make([]byte, 0, 4*longest)
		for _, letter := range text(k) {
			element = binary.LittleEndian.AppendUint32(element, uint32(letter))
		}
		if _, err := w.Write(element[:4*longest]); err != nil {
			return err
		}
	}
	return nil
}

// writeHeader writes magic, version, length and dictionary. Padding makes the data start
// at a multiple of 64 bytes.
func writeHeader(w io.Writer, descr string, shape []int) error {
	tuple := strings.Trim(strings.Join(strings.Fields(fmt.Sprint(shape)), ", "), "[]")
	if len(shape) == 1 {
		tuple += ","
	}
	dict := fmt.Sprintf("{'descr': '%s', 'fortran_order': False, 'shape': (%s), }", descr, tuple)
	const before = 10
	padded := (before + len(dict) + 1 + 63) / 64 * 64
	dict += strings.Repeat(" ", padded-before-len(dict)-1) + "\n"
	b := binary.LittleEndian.AppendUint16([]byte(magic+"\x01\x00"), uint16(len(dict)))
	_, err := w.Write(append(b, dict...))
	return err
}
