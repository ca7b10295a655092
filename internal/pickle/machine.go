package pickle

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/gcn-layerwise/gcn/internal/memory"
)

// Values of a pickle. Others are nil, bool, int, float64, and string for both of Python's
// texts and bytes: Python 2 did not tell them apart.
type (
	Tuple []any
	List  struct{ Items []any }
	Dict  struct{ Keys, Values []any } // of equal keys the last one counts in Python
	Class string                       // module and name, with a blank between

	// Object is a call, and the state that the object was given afterwards.
	Object struct {
		Class     Class
		Arguments Tuple
		State     any
	}
)

// Persistent is the class of objects that lie outside the pickle. Their argument is the id.
const Persistent Class = "persistent id"

// Get returns the value of a key that is a text, or nil.
func (d *Dict) Get(key string) (value any) {
	for k := range d.Keys {
		if d.Keys[k] == any(key) {
			value = d.Values[k]
		}
	}
	return value
}

// machine runs a pickle. Python's pickletools describes the opcodes. Once err is set, values
// have no meaning.
type machine struct {
	program string
	at      int
	allowed []Class
	stack   []any // with marks
	memo    map[int]any
	err     error
	encoded int // bytes made of texts
}

type mark struct{}

// Load returns the value of a pickle. The errors are of one line and name the byte of the
// program. They wrap memory.ErrTooLarge if the values do not fit in memory. When ctx is done,
// the error is the context's.
func Load(ctx context.Context, program string, allowed []Class) (any, error) {
	m := &machine{program: program, allowed: allowed, memo: make(map[int]any)}
	for steps := 0; ; steps++ {
		if steps%4096 == 0 { // a value takes 100 bytes, on the stack and in the memo while they grow
			if err := cmp.Or(ctx.Err(), memory.Check("its values", 100*int64(steps))); err != nil {
				return nil, err
			}
		}
		start := m.at
		code := byte(m.number(1))
		if m.step(code); m.err != nil {
			return nil, fmt.Errorf("byte %d: %w", start, m.err)
		}
		if code == '.' {
			return m.top(), nil
		}
	}
}

func (m *machine) fail(err error) { m.err = cmp.Or(m.err, err) }

// need fails unless the values before the opcode fit it.
func (m *machine) need(fit bool) {
	if !fit {
		m.fail(errors.New("the values before the opcode do not fit it"))
	}
}

// take returns the next n bytes of the program.
func (m *machine) take(n int) string {
	if n < 0 || n > len(m.program)-m.at {
		m.fail(errors.New("the file ends within the pickle"))
		return ""
	}
	m.at += n
	return m.program[m.at-n : m.at]
}

// line returns the rest of the line.
func (m *machine) line() string {
	text, _, _ := strings.Cut(m.program[m.at:], "\n")
	return strings.TrimSuffix(m.take(len(text)+1), "\n")
}

// digits returns a line with a number, without the L of Python 2. A number is not longer.
func (m *machine) digits() string {
	line := m.line()
	return strings.TrimSuffix(line[:min(len(line), 100)], "L")
}

// number returns a little-endian number of n bytes.
func (m *machine) number(n int) int { return m.integer(m.take(n), false) }

func (m *machine) integer(b string, signed bool) int {
	var bytes [8]byte
	copy(bytes[:], b)
	v := int64(binary.LittleEndian.Uint64(bytes[:]))
	if unused := 64 - 8*len(b); signed && unused > 0 && unused < 64 {
		v = v << unused >> unused
	}
	if len(b) > 8 || int64(int(v)) != v || v < 0 && !signed {
		m.fail(fmt.Errorf("an integer of more than %d bits", strconv.IntSize-1))
	}
	return int(v)
}

func (m *machine) push(v any) { m.stack = append(m.stack, v) }

// pop takes n values, the lowest first, none of them a mark. They are valid until the next push.
func (m *machine) pop(n int) []any {
	from := len(m.stack) - n
	if from < 0 || slices.Contains(m.stack[from:], any(mark{})) {
		m.need(false)
		return make([]any, n)
	}
	values := m.stack[from:]
	m.stack = m.stack[:from]
	return values
}

// popMark takes the values above the last mark, and the mark.
func (m *machine) popMark() []any {
	at := len(m.stack) - 1
	for at >= 0 && m.stack[at] != any(mark{}) {
		at--
	}
	m.need(at >= 0)
	values := m.stack[at+1:]
	m.stack = m.stack[:max(at, 0)]
	return values
}

func (m *machine) top() any {
	v := m.pop(1)[0]
	m.push(v)
	return v
}

func (m *machine) step(code byte) {
	switch code {
	case '.': // STOP
		m.top()
	case 0x80: // PROTO
		if protocol := m.number(1); protocol > 5 {
			m.fail(fmt.Errorf("pickle protocol %d, 0 to 5 are read", protocol))
		}
	case 0x95: // FRAME
		m.take(8)
	case '(': // MARK
		m.push(mark{})
	case 'N':
		m.push(nil)
	case 0x88, 0x89: // NEWTRUE, NEWFALSE
		m.push(code == 0x88)
	case 'K', 'M': // BININT1, BININT2
		m.push(m.number(int(code-'K')/2 + 1))
	case 'J': // BININT
		m.push(m.integer(m.take(4), true))
	case 0x8a, 0x8b: // LONG1, LONG4
		m.push(m.integer(m.take(m.number(int(code-0x8a)*3+1)), true))
	case 'I', 'L': // INT, also for a boolean, and LONG
		line := m.digits()
		n, err := strconv.Atoi(line)
		m.fail(err)
		if m.push(n); line == "00" || line == "01" {
			m.stack[len(m.stack)-1] = n == 1
		}
	case 'F': // FLOAT
		v, err := strconv.ParseFloat(m.digits(), 64)
		m.fail(err)
		m.push(v)
	case 'G': // BINFLOAT
		b := append([]byte(m.take(8)), make([]byte, 8)...)
		m.push(math.Float64frombits(binary.BigEndian.Uint64(b)))
	case 'S': // STRING
		m.push(m.quoted(m.line()))
	case 'V': // UNICODE
		m.push(m.unicode(m.line()))
	case 'U', 'C', 0x8c: // SHORT_BINSTRING, SHORT_BINBYTES, SHORT_BINUNICODE
		m.push(m.take(m.number(1)))
	case 'T', 'X', 'B': // BINSTRING, BINUNICODE, BINBYTES
		m.push(m.take(m.number(4)))
	case 0x8d, 0x8e, 0x96: // BINUNICODE8, BINBYTES8, BYTEARRAY8
		m.push(m.take(m.number(8)))
	case ')': // EMPTY_TUPLE
		m.push(Tuple(nil))
	case 't': // TUPLE
		m.push(append(Tuple(nil), m.popMark()...))
	case 0x85, 0x86, 0x87: // TUPLE1, TUPLE2, TUPLE3
		m.push(append(Tuple(nil), m.pop(int(code-0x84))...))
	case ']': // EMPTY_LIST
		m.push(new(List))
	case 'l': // LIST
		m.push(&List{append([]any(nil), m.popMark()...)})
	case '}': // EMPTY_DICT
		m.push(new(Dict))
	case 'd': // DICT
		dict := new(Dict)
		m.fill(m.popMark(), dict)
		m.push(dict)
	case 'a': // APPEND
		m.fill(m.pop(1), m.top())
	case 's': // SETITEM
		m.fill(m.pop(2), m.top())
	case 'e', 'u': // APPENDS, SETITEMS
		m.fill(m.popMark(), m.top())
	case 'p', 'q', 'r', 0x94: // PUT, BINPUT, LONG_BINPUT, MEMOIZE
		m.memo[m.place(code)] = m.top()
	case 'g', 'h', 'j': // GET, BINGET, LONG_BINGET
		v, there := m.memo[m.place(code)]
		if m.push(v); !there {
			m.fail(errors.New("nothing is kept at this place"))
		}
	case 'c': // GLOBAL
		m.class(m.line(), m.line())
	case 0x93: // STACK_GLOBAL
		names := m.pop(2)
		m.class(names[0], names[1])
	case 'Q': // BINPERSID
		id := append(Tuple(nil), m.pop(1)...)
		m.class("persistent", "id")
		m.call(m.pop(1)[0], id)
	case 'R', 0x81: // REDUCE, NEWOBJ
		values := m.pop(2)
		m.call(values[0], values[1])
	case 'b': // BUILD. The attributes of others, such as dictionaries, are not kept.
		state := m.pop(1)[0]
		if object, is := m.top().(*Object); is {
			object.State = state
		}
	default:
		m.fail(fmt.Errorf("opcode %#x, which data do not need", code))
	}
}

// place returns the place in the memo that an opcode means.
func (m *machine) place(code byte) int {
	switch code {
	case 'q', 'h':
		return m.number(1)
	case 'r', 'j':
		return m.number(4)
	case 'p', 'g':
		n, err := strconv.Atoi(m.digits())
		m.fail(err)
		return n
	}
	return len(m.memo)
}

// fill adds values to a list, or pairs of keys and values to a dictionary.
func (m *machine) fill(values []any, to any) {
	switch to := to.(type) {
	case *List:
		to.Items, values = append(to.Items, values...), nil
	case *Dict:
		for ; len(values) > 1; values = values[2:] {
			to.Keys, to.Values = append(to.Keys, values[0]), append(to.Values, values[1])
		}
	}
	m.need(len(values) == 0)
}

// class pushes a class.
func (m *machine) class(module, name any) {
	left, _ := module.(string)
	right, _ := name.(string)
	c := Class(left + " " + right)
	if !slices.Contains(m.allowed, c) {
		m.fail(fmt.Errorf("class %.60q of module %.60q is not read", right, left))
	}
	m.push(c)
}

// call pushes the object of a call. A call that only wraps a value becomes the value.
func (m *machine) call(class, arguments any) {
	c, isClass := class.(Class)
	list, isTuple := arguments.(Tuple)
	m.need(isClass && isTuple)
	var first any
	if len(list) > 0 {
		first = list[0]
	}
	text, _ := first.(string)
	switch _, isClass := first.(Class); c {
	case "collections OrderedDict", "collections defaultdict":
		if m.push(new(Dict)); first != nil && !isClass {
			m.fail(fmt.Errorf("%s with values", c))
		}
	case "_codecs encode", "__builtin__ bytes": // Python 3 makes bytes so in the protocols 0 to 2
		m.push(m.latin1(text))
	default:
		m.push(&Object{Class: c, Arguments: list})
	}
}

// latin1 returns the bytes of a text.
func (m *machine) latin1(text string) string {
	if m.encoded += len(text); m.encoded > len(m.program) {
		m.fail(errors.New("texts are made bytes again and again"))
		return ""
	}
	b := make([]byte, 0, len(text))
	for _, letter := range text {
		if b = append(b, byte(letter)); letter > 0xff {
			m.fail(fmt.Errorf("%q is not a letter of Latin-1", letter))
		}
	}
	return string(b)
}

// quoted returns the bytes of a string as Python 2 prints it.
func (m *machine) quoted(line string) string {
	if len(line) < 2 || line[0] != line[len(line)-1] || strings.IndexByte(`'"`, line[0]) < 0 {
		m.fail(fmt.Errorf("%.40q is not a string in quotes", line))
		return ""
	}
	return m.unescape(strings.NewReplacer(`\\`, `\\`, `\'`, `'`, `\"`, `\"`, `"`, `\"`).Replace(line[1 : len(line)-1]))
}

// unicode decodes Latin-1. The escapes \u with four digits and \U with eight are letters
// outside of it.
func (m *machine) unicode(line string) string {
	text := make([]rune, 0, len(line))
	for _, b := range []byte(line) {
		text = append(text, rune(b))
	}
	return m.unescape(strings.ReplaceAll(string(text), `"`, `\"`))
}

// unescape decodes a text with the escapes of Go.
func (m *machine) unescape(text string) string {
	text, err := strconv.Unquote(`"` + text + `"`)
	m.fail(err)
	return text
}
