package npy

import (
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"strconv"
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
	n := 1
	for _, d := range shape {
		n *= d
	}
	if n != len(values) {
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
	_, err := w.Write(header(descr[T](), shape))
	return err
}

// WriteValues writes the next values of an array, in C order.
func WriteValues[T Element](w io.Writer, values []T) error {
	const piece = 1 << 13
	buffer := make([]byte, 0, 8*min(piece, len(values)))
	for len(values) > 0 {
		part := values[:min(piece, len(values))]
		values = values[len(part):]
		buffer = buffer[:0]
		for _, v := range part {
			buffer = appendValue(buffer, v)
		}
		if _, err := w.Write(buffer); err != nil {
			return err
		}
	}
	return nil
}

// WriteText writes one string as NumPy's bytes, an array without dimensions.
func WriteText(w io.Writer, text string) error {
	if _, err := w.Write(header(fmt.Sprintf("|S%d", len(text)), nil)); err != nil {
		return err
	}
	_, err := io.WriteString(w, text)
	return err
}

func descr[T Element]() string {
	var zero T
	switch any(zero).(type) {
	case float32:
		return "<f4"
	case float64:
		return "<f8"
	case int32:
		return "<i4"
	case int64:
		return "<i8"
	case uint8:
		return "|u1"
	default:
		return "|b1"
	}
}

func appendValue[T Element](b []byte, value T) []byte {
	switch v := any(value).(type) {
	case float32:
		return binary.LittleEndian.AppendUint32(b, math.Float32bits(v))
	case float64:
		return binary.LittleEndian.AppendUint64(b, math.Float64bits(v))
	case int32:
		return binary.LittleEndian.AppendUint32(b, uint32(v))
	case int64:
		return binary.LittleEndian.AppendUint64(b, uint64(v))
	case uint8:
		return append(b, v)
	case bool:
		if v {
			return append(b, 1)
		}
	}
	return append(b, 0)
}

// header returns magic, version, length and dictionary. Padding makes the data start
// at a multiple of 64 bytes.
func header(descr string, shape []int) []byte {
	dims := make([]string, len(shape))
	for k, d := range shape {
		dims[k] = strconv.Itoa(d)
	}
	tuple := strings.Join(dims, ", ")
	if len(shape) == 1 {
		tuple += ","
	}
	dict := fmt.Sprintf("{'descr': '%s', 'fortran_order': False, 'shape': (%s), }", descr, tuple)
	const before = 10
	padded := (before + len(dict) + 1 + 63) / 64 * 64
	dict += strings.Repeat(" ", padded-before-len(dict)-1) + "\n"
	b := append([]byte(magic), 1, 0)
	b = binary.LittleEndian.AppendUint16(b, uint16(len(dict)))
	return append(b, dict...)
}
