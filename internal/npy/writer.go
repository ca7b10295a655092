package npy

import (
	"encoding/binary"
	"fmt"
	"io"
	"slices"
	"strings"
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
	var zero T
	order := "<"
	size := binary.Size(zero)
	if size == 1 {
		order = "|"
	}
	letter := fmt.Sprintf("%T", zero)[:1] // f, i, u or b: NumPy's letter, too
	tuple := strings.ReplaceAll(strings.Trim(fmt.Sprint(shape), "[]"), " ", ", ")
	if len(shape) == 1 {
		tuple += ","
	}
	dict := fmt.Sprintf("{'descr': '%s%s%d', 'fortran_order': False, 'shape': (%s), }",
		order, letter, size, tuple)
	const before = 10
	padded := (before + len(dict) + 1 + 63) / 64 * 64 // the data start at a multiple of 64 bytes
	dict += strings.Repeat(" ", padded-before-len(dict)-1) + "\n"
	header := binary.LittleEndian.AppendUint16([]byte(magic+"\x01\x00"), uint16(len(dict)))
	if _, err := w.Write(append(header, dict...)); err != nil {
		return err
	}
	return WriteValues(w, values)
}

// WriteValues writes the next values of an array, in C order.
func WriteValues[T Element](w io.Writer, values []T) error {
	for part := range slices.Chunk(values, 1<<13) { // binary.Write makes a copy of its values
		if err := binary.Write(w, binary.LittleEndian, part); err != nil {
			return err
		}
	}
	return nil
}
