package formats

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"os"

	"github.com/nlpodyssey/gopickle/pickle"
	"github.com/nlpodyssey/gopickle/types"

	"github.com/gcn-layerwise/gcn/internal/memory"
	"github.com/gcn-layerwise/gcn/internal/regularfile"
)

// Planetoid's files are Python 2 pickles. A pickle is a program, which gopickle runs.
// Before that, scanPickle checks it: it allows only the opcodes and classes that
// arrays, sparse matrices, lists and dictionaries need.

// maxPickle is the largest pickle read: unpickling takes a multiple of it.
const maxPickle = 1 << 28

// loadPickle reads the one object of a pickle file.
func loadPickle(ctx context.Context, path string) (any, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("datasets: %w", err)
	}
	if info.Size() > maxPickle {
		return nil, fmt.Errorf("datasets: %s: pickle of %d bytes, at most %d are read", path, info.Size(), maxPickle)
	}
	raw, err := regularfile.Read(path)
	if err != nil {
		return nil, fmt.Errorf("datasets: %w", err)
	}
	object, err := unpickle(ctx, raw)
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if err != nil {
		return nil, fmt.Errorf("datasets: %s: %w", path, err)
	}
	return object, nil
}

// unpickle runs a pickle. gopickle does not check all that it reads, such as the
// number of items of a dictionary, so unpickle turns its panics into errors. Running
// out of memory cannot be caught: scanPickle checks lengths and memory beforehand.
func unpickle(ctx context.Context, raw []byte) (object any, err error) {
	if err := scanPickle(ctx, raw); err != nil {
		return nil, err
	}
	defer func() {
		if cause := recover(); cause != nil {
			object, err = nil, fmt.Errorf("not a valid pickle: %.200v", cause)
		}
	}()
	u := pickle.NewUnpickler(&pickleReader{Reader: bytes.NewReader(raw), ctx: ctx})
	u.FindClass = findClass
	if object, err = u.Load(); err != nil {
		return nil, fmt.Errorf("not a valid pickle: %.200s", err) // the error may have a whole list in it
	}
	return object, nil
}

// pickleReader reads a pickle until its context is done.
type pickleReader struct {
	*bytes.Reader
	ctx   context.Context
	calls int
}

func (r *pickleReader) ReadByte() (byte, error) {
	if r.calls++; r.calls%1024 == 0 && r.ctx.Err() != nil {
		return 0, r.ctx.Err()
	}
	return r.Reader.ReadByte()
}

// errClass is wrapped by errors about classes that are not allowed.
var errClass = errors.New("only arrays, sparse matrices, lists and dictionaries are read")

// findClass returns the stand-in for one of the classes that are allowed in a pickle.
func findClass(module, name string) (any, error) {
	switch module + " " + name {
	case "numpy.core.multiarray _reconstruct", "numpy._core.multiarray _reconstruct":
		return newArray{}, nil
	case "numpy ndarray":
		return arrayClass{}, nil
	case "numpy dtype":
		return newDtype{}, nil
	case "scipy.sparse.csr csr_matrix", "scipy.sparse._csr csr_matrix":
		return newMatrix{}, nil
	case "collections defaultdict":
		return newDefaultDict{}, nil
	case "__builtin__ list":
		return listClass{}, nil
	}
	return nil, fmt.Errorf("class %.60q of module %.60q: %w", name, module, errClass)
}

// opcode says how to skip an opcode's argument.
type opcode uint8

const (
	refused opcode = iota
	plain          // no argument
	fixed1         // one byte, and so on
	fixed2
	fixed4
	fixed8
	line     // up to a newline
	digits   // up to a newline, at most mostDigits bytes away
	counted1 // a length of one byte, then as many bytes
	counted4 // a length of four bytes, signed
	global   // two lines: module, name
)

// opcodes returns the allowed opcodes: the opcodes of protocols 0 to 3 for data.
// Persistent ids, extensions, instances and opcodes of later protocols are refused.
func opcodes() *[256]opcode {
	table := &[256]opcode{
		0x80: fixed1,   // PROTO
		'c':  global,   // GLOBAL
		'K':  fixed1,   // BININT1
		'M':  fixed2,   // BININT2
		'J':  fixed4,   // BININT
		'G':  fixed8,   // BINFLOAT
		'h':  fixed1,   // BINGET
		'q':  fixed1,   // BINPUT
		'j':  fixed4,   // LONG_BINGET
		'r':  fixed4,   // LONG_BINPUT
		'U':  counted1, // SHORT_BINSTRING
		'T':  counted4, // BINSTRING
		'X':  counted4, // BINUNICODE
		'B':  counted4, // BINBYTES
		'C':  counted1, // SHORT_BINBYTES
		0x8a: counted1, // LONG1
	}
	for _, c := range []byte("(.0N12tl]d})aesuRb\x81\x85\x86\x87\x88\x89") {
		table[c] = plain
	}
	for _, c := range []byte("SV") {
		table[c] = line
	}
	for _, c := range []byte("IFLgp") {
		table[c] = digits
	}
	return table
}

// scanPickle goes through a pickle without running it. It reports, with the offset,
// an opcode or class that is not allowed, a length beyond the end, too many open
// marks, and numbers of too many digits; also a pickle without an end, and objects
// that would not fit in memory.
func scanPickle(ctx context.Context, raw []byte) error {
	table := opcodes()
	const (
		deepest    = 1000 // marks
		mostDigits = 100  // reading a number takes time quadratic in its digits
		// About how many bytes the unpickler allocates for an opcode.
		markCost, memoCost, objectCost = 320, 96, 128
	)
	marks, steps := 0, 0
	tally := memory.Tally{What: "its contents"}
	for at := 0; at < len(raw); {
		if steps++; steps%(1<<16) == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		code, start := raw[at], at
		rest := raw[at+1:]
		need := 0
		switch table[code] {
		case refused:
			return fmt.Errorf("byte %d: opcode 0x%02x is not used by data in pickle protocols 0 to 3", start, code)
		case plain:
		case fixed1:
			need = 1
		case fixed2:
			need = 2
		case fixed4:
			need = 4
		case fixed8:
			need = 8
		case line:
			need = lineLength(rest)
		case digits:
			if need = lineLength(rest); need > mostDigits && need <= len(rest) {
				return fmt.Errorf("byte %d: number of %d digits, at most %d are read", start, need-1, mostDigits)
			}
		case counted1:
			if need = 1; len(rest) >= 1 {
				need += int(rest[0])
			}
		case counted4:
			if need = 4; len(rest) >= 4 {
				n := binary.LittleEndian.Uint32(rest)
				if n > math.MaxInt32 {
					return fmt.Errorf("byte %d: string of %d bytes", start, n)
				}
				need = int(min(int64(need)+int64(n), math.MaxInt)) // on 32 bits it may not fit
			}
		case global:
			module := lineLength(rest)
			if need = module; module <= len(rest) {
				name := lineLength(rest[module:])
				if need += name; need <= len(rest) {
					if _, err := findClass(string(rest[:module-1]), string(rest[module:need-1])); err != nil {
						return fmt.Errorf("byte %d: %w", start, err)
					}
				}
			}
		}
		if need > len(rest) {
			return fmt.Errorf("byte %d: the file ends within opcode 0x%02x", start, code)
		}
		cost := int64(objectCost + 3*need)
		switch code {
		case '.':
			return nil
		case 'q', 'r', 'p':
			cost = memoCost
		case 0x80:
			if rest[0] > 3 {
				return fmt.Errorf("byte %d: pickle protocol %d, 0 to 3 are read", start, rest[0])
			}
		case '(':
			cost = markCost
			if marks++; marks > deepest {
				return fmt.Errorf("byte %d: more than %d marks open", start, deepest)
			}
		case 't', 'l', 'd', 'e', 'u', '1':
			marks--
		}
		if err := tally.Add(cost); err != nil {
			return err
		}
		at += 1 + need
	}
	return errors.New("the file ends before the pickle does")
}

// lineLength returns the length of the first line with its newline, or len(b)+1
// without a newline.
func lineLength(b []byte) int {
	if n := bytes.IndexByte(b, '\n'); n >= 0 {
		return n + 1
	}
	return len(b) + 1
}

// The types below stand in for the allowed classes. gopickle calls their methods.

// newArray is numpy.core.multiarray._reconstruct: it makes an array, which the opcode
// BUILD fills.
type newArray struct{}

func (newArray) Call(args ...any) (any, error) { return &pickledArray{}, nil }

// arrayClass is numpy.ndarray; it occurs only as an argument of newArray.
type arrayClass struct{}

// listClass is __builtin__.list; it occurs only as the factory of a defaultdict.
type listClass struct{}

type newDefaultDict struct{}

func (newDefaultDict) Call(args ...any) (any, error) { return types.NewDict(), nil }

type newDtype struct{}

func (newDtype) Call(args ...any) (any, error) {
	if len(args) == 0 {
		return nil, errors.New("dtype without a name")
	}
	name, isString := args[0].(string)
	if !isString {
		return nil, fmt.Errorf("dtype %T, want a name", args[0])
	}
	return &dtype{name: name}, nil
}

// dtype is an element type: "f4" with byte order "<".
type dtype struct{ name, order string }

// PySetState takes (version, byte order, …).
func (t *dtype) PySetState(state any) error {
	tuple, isTuple := state.(*types.Tuple)
	if !isTuple || tuple.Len() < 2 {
		return errors.New("dtype state is not a tuple of two or more")
	}
	order, isString := tuple.Get(1).(string)
	if !isString {
		return errors.New("dtype byte order is not a string")
	}
	t.order = order
	return nil
}

// pickledArray is a NumPy array: little-endian bytes in C order.
type pickledArray struct {
	shape []int
	dtype string
	data  string
}

// PySetState takes (version, shape, dtype, is Fortran, bytes).
func (a *pickledArray) PySetState(state any) error {
	tuple, isTuple := state.(*types.Tuple)
	if !isTuple || tuple.Len() != 5 {
		return errors.New("array state is not a tuple of five")
	}
	shape, err := intTuple(tuple.Get(1))
	if err != nil {
		return fmt.Errorf("array shape: %w", err)
	}
	t, isDtype := tuple.Get(2).(*dtype)
	if !isDtype {
		return errors.New("array element type is not a dtype")
	}
	if fortran, _ := tuple.Get(3).(bool); fortran && len(shape) > 1 {
		return errors.New("array in Fortran order")
	}
	var data string
	switch raw := tuple.Get(4).(type) {
	case string:
		data = raw
	case []byte:
		data = string(raw)
	default:
		return errors.New("array data is not a string of bytes")
	}
	size, known := map[string]int{"f4": 4, "f8": 8, "i4": 4, "i8": 8, "u1": 1, "i1": 1, "b1": 1}[t.name]
	if !known || t.order == ">" {
		return fmt.Errorf("array of element type %q, byte order %q", t.name, t.order)
	}
	n := 1
	for _, d := range shape {
		if d < 0 || d > 0 && n > math.MaxInt32/d {
			return fmt.Errorf("array of shape %v", shape)
		}
		n *= d
	}
	if n*size != len(data) {
		return fmt.Errorf("array of shape %v and type %s holds %d bytes, want %d", shape, t.name, len(data), n*size)
	}
	*a = pickledArray{shape: shape, dtype: t.name, data: data}
	return nil
}

// element returns value k as a float64. That is exact, except for i8 beyond 2⁵³.
func (a *pickledArray) element(k int) float64 {
	switch a.dtype {
	case "f4":
		return float64(math.Float32frombits(uint32(a.integer(k, 4))))
	case "f8":
		return math.Float64frombits(uint64(a.integer(k, 8)))
	case "i4":
		return float64(int32(a.integer(k, 4)))
	case "i8":
		return float64(a.integer(k, 8))
	case "i1":
		return float64(int8(a.data[k]))
	}
	return float64(a.data[k])
}

func (a *pickledArray) integer(k, size int) int64 {
	var u uint64
	for b := size - 1; b >= 0; b-- {
		u = u<<8 | uint64(a.data[k*size+b])
	}
	return int64(u)
}

// len returns the number of elements.
func (a *pickledArray) len() int {
	n := 1
	for _, d := range a.shape {
		n *= d
	}
	return n
}

func (a *pickledArray) int32s() ([]int32, error) {
	if len(a.shape) != 1 || a.dtype[0] == 'f' {
		return nil, fmt.Errorf("array of shape %v and type %s, want a vector of integers", a.shape, a.dtype)
	}
	values := make([]int32, a.len())
	for k := range values {
		v := a.element(k)
		if v < math.MinInt32 || v > math.MaxInt32 {
			return nil, fmt.Errorf("element %d is %v", k, v)
		}
		values[k] = int32(v)
	}
	return values, nil
}

// newMatrix is scipy.sparse.csr.csr_matrix. The opcode NEWOBJ makes an empty matrix,
// and BUILD sets its attributes.
type newMatrix struct{}

func (newMatrix) PyNew(args ...any) (any, error) { return &pickledMatrix{}, nil }

// Call makes an empty matrix too, in copy protocols below 2.
func (newMatrix) Call(args ...any) (any, error) { return &pickledMatrix{}, nil }

// pickledMatrix is a SciPy CSR matrix; other attributes are ignored.
type pickledMatrix struct {
	shape                 []int
	data, indices, indptr *pickledArray
}

func (m *pickledMatrix) PyDictSet(key, value any) error {
	name, _ := key.(string)
	var to **pickledArray
	switch name {
	case "_shape":
		var err error
		m.shape, err = intTuple(value)
		return err
	case "data":
		to = &m.data
	case "indices":
		to = &m.indices
	case "indptr":
		to = &m.indptr
	default:
		return nil
	}
	a, isArray := value.(*pickledArray)
	if !isArray {
		return fmt.Errorf("attribute %s of a sparse matrix is not an array", name)
	}
	*to = a
	return nil
}

func intTuple(value any) ([]int, error) {
	tuple, isTuple := value.(*types.Tuple)
	if !isTuple {
		return nil, fmt.Errorf("%T, want a tuple of integers", value)
	}
	ints := make([]int, tuple.Len())
	for k := range ints {
		v, isInt := tuple.Get(k).(int)
		if !isInt || v < 0 || v > math.MaxInt32 {
			// The error omits the value, which may contain itself.
			return nil, fmt.Errorf("element %d of a tuple is not an integer in [0, %d]", k, math.MaxInt32)
		}
		ints[k] = v
	}
	return ints, nil
}
