package weights

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
)

// machine interprets the pickle of a state_dict, of protocol 2. Python's pickletools lists
// the opcodes. Every count is checked against the program, so memory is at most a
// multiple of the program's size.
type machine struct {
	program []byte
	at      int
	stack   []any
	marks   []int
	memo    map[uint32]any
}

// Values of a program. Others are string, int, float64, bool and nil.
type (
	tuple []any
	list  struct{ items []any }
	dict  struct{ pairs []pair }
	pair  struct{ key, value any }
	class string // module and name

	storage struct {
		kind string // of its numbers, as in safetensors
		key  string
	}
	pickledTensor struct {
		storage       storage
		offset        int
		shape, stride []int
	}
)

// storageKind returns the type of the numbers in storages of a class.
func storageKind(c class) (string, bool) {
	switch c {
	case "torch FloatStorage":
		return "F32", true
	case "torch DoubleStorage":
		return "F64", true
	case "torch HalfStorage":
		return "F16", true
	case "torch BFloat16Storage":
		return "BF16", true
	case "torch LongStorage", "torch IntStorage", "torch ShortStorage", "torch CharStorage", "torch ByteStorage", "torch BoolStorage":
		return "integer", true // refused with the tensor's name
	}
	return "", false
}

// allowed reports whether a program may name the class.
func allowed(c class) bool {
	switch c {
	case "collections OrderedDict", "torch._utils _rebuild_tensor_v2", "torch._utils _rebuild_parameter":
		return true
	}
	_, is := storageKind(c)
	return is
}

var (
	errShort = errors.New("cut short")
	errStack = errors.New("values do not fit an opcode")
)

// run returns the program's result.
func (m *machine) run(ctx context.Context) (any, error) {
	for steps := 0; ; steps++ {
		if steps%4096 == 0 && ctx.Err() != nil {
			return nil, ctx.Err()
		}
		code, err := m.take(1)
		if err != nil {
			return nil, err
		}
		if code[0] == '.' {
			return m.pop()
		}
		if err := m.step(code[0]); err != nil {
			return nil, fmt.Errorf("byte %d: %w", m.at, err)
		}
	}
}

// take returns the next n bytes of the program.
func (m *machine) take(n int) ([]byte, error) {
	if n < 0 || n > len(m.program)-m.at {
		return nil, errShort
	}
	m.at += n
	return m.program[m.at-n : m.at], nil
}

func (m *machine) line() (string, error) {
	n := bytes.IndexByte(m.program[m.at:], '\n')
	if n < 0 {
		return "", errShort
	}
	m.at += n + 1
	return string(m.program[m.at-n-1 : m.at-1]), nil
}

// number returns a little-endian number of n bytes.
func (m *machine) number(n int) (uint32, error) {
	b, err := m.take(n)
	var v uint32
	for k, x := range b {
		v |= uint32(x) << (8 * k)
	}
	return v, err
}

func (m *machine) push(v any) { m.stack = append(m.stack, v) }

// floor is the lowest place of the stack that pop may take: above the last mark.
func (m *machine) floor() int {
	if len(m.marks) == 0 {
		return 0
	}
	return m.marks[len(m.marks)-1]
}

func (m *machine) pop() (any, error) {
	last := len(m.stack) - 1
	if last < m.floor() {
		return nil, errStack
	}
	v := m.stack[last]
	m.stack = m.stack[:last]
	return v, nil
}

// popN takes n values, the lowest first.
func (m *machine) popN(n int) ([]any, error) {
	from := len(m.stack) - n
	if from < m.floor() {
		return nil, errStack
	}
	values := append([]any(nil), m.stack[from:]...)
	m.stack = m.stack[:from]
	return values, nil
}

// popMark takes the values above the last mark, and the mark.
func (m *machine) popMark() ([]any, error) {
	if len(m.marks) == 0 {
		return nil, errStack
	}
	values, err := m.popN(len(m.stack) - m.floor())
	m.marks = m.marks[:len(m.marks)-1]
	return values, err
}

func (m *machine) top() (any, error) {
	v, err := m.pop()
	if err == nil {
		m.push(v)
	}
	return v, err
}

func (m *machine) step(code byte) error {
	switch code {
	case 0x80: // PROTO
		v, err := m.number(1)
		if err == nil && v != 2 {
			err = fmt.Errorf("pickle protocol %d, want 2, as torch.save writes by default", v)
		}
		return err
	case '(':
		m.marks = append(m.marks, len(m.stack))
	case '}':
		m.push(new(dict))
	case ']':
		m.push(new(list))
	case ')':
		m.push(tuple{})
	case 'N':
		m.push(nil)
	case 0x88, 0x89: // NEWTRUE, NEWFALSE
		m.push(code == 0x88)
	case 'K', 'M', 'J': // BININT1, BININT2, BININT
		v, err := m.number(map[byte]int{'K': 1, 'M': 2, 'J': 4}[code])
		if code == 'J' {
			m.push(int(int32(v)))
		} else {
			m.push(int(v))
		}
		return err
	case 0x8a: // LONG1
		return m.long()
	case 'G': // BINFLOAT
		b, err := m.take(8)
		if err == nil {
			m.push(math.Float64frombits(binary.BigEndian.Uint64(b)))
		}
		return err
	case 'X': // BINUNICODE
		n, err := m.number(4)
		if err != nil {
			return err
		}
		text, err := m.take(int(n))
		m.push(string(text))
		return err
	case 'q', 'r', 'h', 'j': // BINPUT, LONG_BINPUT, BINGET, LONG_BINGET
		return m.remember(code)
	case 'c':
		return m.class()
	case 0x85, 0x86, 0x87: // TUPLE1, TUPLE2, TUPLE3
		values, err := m.popN(int(code - 0x84))
		m.push(tuple(values))
		return err
	case 't':
		values, err := m.popMark()
		m.push(tuple(values))
		return err
	case 's', 'u', 'a', 'e': // SETITEM, SETITEMS, APPEND, APPENDS
		return m.fill(code)
	case 'Q':
		return m.persistent()
	case 'R':
		return m.reduce()
	case 'b': // BUILD: the state of an OrderedDict, which is the versions of modules
		_, err := m.pop()
		if v, topErr := m.top(); err == nil && topErr == nil {
			if _, is := v.(*dict); is {
				return nil
			}
		}
		return errStack
	default:
		return fmt.Errorf("opcode %#x is not allowed in a state_dict", code)
	}
	return nil
}

func (m *machine) long() error {
	n, err := m.number(1)
	if err != nil {
		return err
	}
	b, err := m.take(int(n))
	if err != nil || n > 8 {
		return errShort
	}
	var v int64
	for k, x := range b {
		v |= int64(x) << (8 * k)
	}
	if n > 0 && n < 8 && b[n-1]&0x80 != 0 {
		v -= 1 << (8 * n)
	}
	m.push(int(v))
	return nil
}

func (m *machine) remember(code byte) error {
	width := 1
	if code == 'r' || code == 'j' {
		width = 4
	}
	k, err := m.number(width)
	if err != nil {
		return err
	}
	if code == 'q' || code == 'r' {
		v, err := m.top()
		m.memo[k] = v
		return err
	}
	v, there := m.memo[k]
	if !there {
		return errStack
	}
	m.push(v)
	return nil
}

func (m *machine) class() error {
	module, err := m.line()
	if err != nil {
		return err
	}
	name, err := m.line()
	if err != nil {
		return err
	}
	c := class(module + " " + name)
	if !allowed(c) {
		return fmt.Errorf("class %.60q of module %.60q is not allowed in a state_dict", name, module)
	}
	m.push(c)
	return nil
}

func (m *machine) fill(code byte) error {
	var values []any
	var err error
	switch code {
	case 's':
		values, err = m.popN(2)
	case 'a':
		values, err = m.popN(1)
	default:
		values, err = m.popMark()
	}
	if err != nil {
		return err
	}
	v, err := m.top()
	if err != nil {
		return err
	}
	switch into := v.(type) {
	case *dict:
		if code == 'a' || code == 'e' || len(values)%2 != 0 {
			return errStack
		}
		for k := 0; k < len(values); k += 2 {
			into.pairs = append(into.pairs, pair{values[k], values[k+1]})
		}
		return nil
	case *list:
		if code == 's' || code == 'u' {
			return errStack
		}
		into.items = append(into.items, values...)
		return nil
	}
	return errStack
}

// persistent replaces ("storage", class, key, place, count) by a storage.
func (m *machine) persistent() error {
	v, err := m.pop()
	if err != nil {
		return err
	}
	id, ok := v.(tuple)
	if !ok || len(id) != 5 || id[0] != "storage" {
		return errStack
	}
	of, isClass := id[1].(class)
	key, isText := id[2].(string)
	kind, known := storageKind(of)
	if !isClass || !isText || !known {
		return errStack
	}
	m.push(storage{kind, key})
	return nil
}

// reduce calls one of the allowed classes.
func (m *machine) reduce() error {
	values, err := m.popN(2)
	if err != nil {
		return err
	}
	arguments, ok := values[1].(tuple)
	if !ok {
		return errStack
	}
	switch values[0] {
	case class("collections OrderedDict"):
		if len(arguments) != 0 {
			return errStack
		}
		m.push(new(dict))
		return nil
	case class("torch._utils _rebuild_parameter"):
		if len(arguments) == 3 {
			if t, is := arguments[0].(*pickledTensor); is {
				m.push(t)
				return nil
			}
		}
	case class("torch._utils _rebuild_tensor_v2"):
		if t := rebuild(arguments); t != nil {
			m.push(t)
			return nil
		}
	}
	return errStack
}

// rebuild returns a tensor, or nil if the arguments are not its.
func rebuild(arguments tuple) *pickledTensor {
	if len(arguments) < 4 {
		return nil
	}
	s, isStorage := arguments[0].(storage)
	offset, isInt := arguments[1].(int)
	shape, stride := ints(arguments[2]), ints(arguments[3])
	if !isStorage || !isInt || offset < 0 || shape == nil || stride == nil || len(shape) != len(stride) {
		return nil
	}
	return &pickledTensor{s, offset, shape, stride}
}

// ints returns a tuple of numbers that are not negative, or nil.
func ints(v any) []int {
	values, ok := v.(tuple)
	if !ok {
		return nil
	}
	out := make([]int, len(values))
	for k, x := range values {
		n, is := x.(int)
		if !is || n < 0 || n > math.MaxInt32 {
			return nil
		}
		out[k] = n
	}
	return out
}
