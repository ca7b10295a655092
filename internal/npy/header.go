package npy

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
)

// ErrFormat is wrapped by every error about the contents of a file. Errors of reading
// do not wrap it.
var ErrFormat = errors.New("not a valid NumPy file")

const magic = "\x93NUMPY"

// Header describes the array of a file.
type Header struct {
	Descr   string // element type in NumPy's notation, such as "<f4"
	Fortran bool   // columns first
	Shape   []int  // empty for a scalar
}

// Len returns the number of elements.
func (h *Header) Len() int {
	n := 1
	for _, d := range h.Shape {
		n *= d
	}
	return n
}

// kind is the kind of an element, from Header.Descr.
type kind uint8

const (
	float kind = iota + 1
	signed
	unsigned
	boolean
	unicode // UTF-32 letters
	octets  // bytes
)

func (h *Header) element() (kind, int, error) {
	fail := func() (kind, int, error) {
		if strings.HasPrefix(h.Descr, "|O") {
			return 0, 0, fmt.Errorf("array of Python objects (%q), which are not read: save numbers, or names as np.array([\"\" if v is None else str(v) for v in y]): %w", h.Descr, ErrFormat)
		}
		return 0, 0, fmt.Errorf("element type %q is not one of f2 f4 f8 i1 i2 i4 i8 u1 u2 u4 u8 b1 U S, little-endian: %w", h.Descr, ErrFormat)
	}
	if len(h.Descr) < 3 {
		return fail()
	}
	order, letter := h.Descr[0], h.Descr[1]
	size, err := strconv.Atoi(h.Descr[2:])
	if err != nil || size < 0 || size > 1<<20 || h.Descr[2] == '+' {
		return fail()
	}
	switch {
	case letter == 'S' && order == '|' && size > 0:
		return octets, size, nil
	case order != '<' && (order != '|' || size != 1):
		return fail()
	case letter == 'U' && size > 0:
		return unicode, 4 * size, nil
	case letter == 'f' && (size == 2 || size == 4 || size == 8):
		return float, size, nil
	case letter == 'i' && (size == 1 || size == 2 || size == 4 || size == 8):
		return signed, size, nil
	case letter == 'u' && (size == 1 || size == 2 || size == 4 || size == 8):
		return unsigned, size, nil
	case letter == 'b' && size == 1:
		return boolean, size, nil
	}
	return fail()
}

func readHeader(r io.Reader) (Header, int64, error) {
	var start [12]byte
	if _, err := io.ReadFull(r, start[:10]); err != nil {
		return Header{}, 0, cutShort(err, "the first 10 bytes")
	}
	if string(start[:6]) != magic {
		return Header{}, 0, fmt.Errorf("starts with %q, not %q: %w", start[:6], magic, ErrFormat)
	}
	length, read := 0, int64(10)
	switch major := start[6]; major {
	case 1:
		length = int(binary.LittleEndian.Uint16(start[8:]))
	case 2, 3:
		if _, err := io.ReadFull(r, start[10:12]); err != nil {
			return Header{}, 0, cutShort(err, "the header's length")
		}
		read = 12
		n := binary.LittleEndian.Uint32(start[8:])
		if n > 1<<20 {
			return Header{}, 0, fmt.Errorf("header of %d bytes: %w", n, ErrFormat)
		}
		length = int(n)
	default:
		return Header{}, 0, fmt.Errorf("format version %d.%d, want 1 to 3: %w", major, start[7], ErrFormat)
	}
	dict := make([]byte, length)
	if _, err := io.ReadFull(r, dict); err != nil {
		return Header{}, 0, cutShort(err, "the header")
	}
	h, err := parseDict(string(dict))
	return h, read + int64(length), err
}

func cutShort(err error, what string) error {
	if err == io.EOF || err == io.ErrUnexpectedEOF {
		return fmt.Errorf("ends within %s: %w", what, ErrFormat)
	}
	return fmt.Errorf("reading %s: %w", what, err)
}

// parseDict reads the header's Python dictionary. Its keys must be descr,
// fortran_order and shape.
func parseDict(dict string) (Header, error) {
	p := literal{rest: dict}
	var h Header
	seen := map[string]bool{}
	p.expect('{')
	for p.err == nil && !p.accept('}') {
		key := p.quoted()
		p.expect(':')
		switch key {
		case "descr":
			h.Descr = p.quoted()
		case "fortran_order":
			h.Fortran = p.boolean()
		case "shape":
			h.Shape = p.tuple()
		default:
			p.fail("key %q", key)
		}
		if seen[key] {
			p.fail("key %q twice", key)
		}
		seen[key] = true
		if !p.accept(',') {
			p.expect('}')
			break
		}
	}
	if strings.TrimSpace(p.rest) != "" {
		p.fail("%.20q after the dictionary", p.rest)
	}
	if len(seen) != 3 {
		p.fail("%d of the keys descr, fortran_order, shape", len(seen))
	}
	return h, p.err
}

// numbers checks that h is of an array of numbers whose size can be counted. It returns the
// size of a number.
func (h *Header) numbers() (width int, err error) {
	_, width, err = h.element()
	if err != nil {
		return 0, err
	}
	total := int64(width)
	for _, d := range h.Shape {
		if d > 0 && total > math.MaxInt/int64(d) {
			return 0, fmt.Errorf("shape %v of %s is too large: %w", h.Shape, h.Descr, ErrFormat)
		}
		total *= int64(d)
	}
	return width, nil
}

// literal parses the Python literals of a header; err is the first error.
type literal struct {
	rest string
	err  error
}

func (p *literal) fail(format string, args ...any) {
	if p.err == nil {
		p.err = fmt.Errorf("header: %s: %w", fmt.Sprintf(format, args...), ErrFormat)
	}
}

func (p *literal) accept(c byte) bool {
	p.rest = strings.TrimLeft(p.rest, " \t\r\n")
	if p.rest == "" || p.rest[0] != c {
		return false
	}
	p.rest = p.rest[1:]
	return true
}

func (p *literal) expect(c byte) {
	if !p.accept(c) {
		p.fail("want %q before %.20q", c, p.rest)
		p.rest = ""
	}
}

func (p *literal) quoted() string {
	quote := byte('\'')
	if !p.accept(quote) {
		quote = '"'
		p.expect(quote)
	}
	value, rest, found := strings.Cut(p.rest, string(quote))
	if !found {
		p.fail("string without an end")
	}
	p.rest = rest
	return value
}

func (p *literal) boolean() bool {
	p.rest = strings.TrimLeft(p.rest, " ")
	for _, word := range []string{"True", "False"} {
		if rest, found := strings.CutPrefix(p.rest, word); found {
			p.rest = rest
			return word == "True"
		}
	}
	p.fail("want True or False before %.20q", p.rest)
	return false
}

func (p *literal) tuple() []int {
	var values []int
	p.expect('(')
	for p.err == nil && !p.accept(')') {
		p.rest = strings.TrimLeft(p.rest, " ")
		digits := 0
		for digits < len(p.rest) && p.rest[digits] >= '0' && p.rest[digits] <= '9' {
			digits++
		}
		n, err := strconv.ParseInt(p.rest[:digits], 10, 64)
		if err != nil || len(values) == 32 {
			p.fail("want a dimension before %.20q", p.rest)
			return nil
		}
		if n > math.MaxInt {
			p.fail("dimension %d is too large", n)
			return nil
		}
		values = append(values, int(n))
		p.rest = strings.TrimPrefix(p.rest[digits:], "L") // the mark of a long in Python 2
		if !p.accept(',') {
			p.expect(')')
			break
		}
	}
	return values
}
