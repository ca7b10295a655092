package store

import (
	"cmp"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/gcn-layerwise/gcn/internal/memory"
)

// A safetensors file is a uint64, the length of the JSON that follows, and the values. The
// arrays hold each byte of the values once: https://github.com/huggingface/safetensors#format.

// ErrFormat is wrapped by errors about a file that is a damaged or incomplete store, or not a
// store.
var ErrFormat = errors.New("not a valid store")

// Array describes an array of a safetensors file. Offsets are its first byte and the byte
// after its last one, counted from the end of the header.
type Array struct {
	Name    string  `json:"-"`
	Type    string  `json:"dtype"` // such as "F32"
	Shape   []int   `json:"shape"`
	Offsets []int64 `json:"data_offsets"`

	Write func(*Writer) error `json:"-"` // writes all values, by Put
	Read  func(*File) error   `json:"-"` // reads them, if Vector made the array
}

// typeBytes returns the bytes of a number of a type, 0 for an unknown type.
func typeBytes(name string) int64 {
	return map[string]int64{
		"I64": 8, "U64": 8, "F64": 8, "I32": 4, "U32": 4, "F32": 4, "I16": 2, "U16": 2, "F16": 2, "BF16": 2,
		"I8": 1, "U8": 1, "BOOL": 1, "F8_E4M3": 1, "F8_E5M2": 1,
	}[name]
}

// bytes returns the size of the array, −1 if its shape or its type has none.
func (a Array) bytes() int64 {
	n := cmp.Or(typeBytes(a.Type), -1)
	for _, d := range a.Shape {
		n = memory.Product(n, int64(d))
	}
	return n
}

// DecodeHeader returns the arrays of a safetensors file, in the order of the file, and its
// metadata. text is the JSON; size counts the bytes after it.
func DecodeHeader(text []byte, size int64) (arrays []Array, metadata map[string]string, err error) {
	var entries map[string]json.RawMessage
	if err := json.Unmarshal(text, &entries); err != nil {
		return nil, nil, fmt.Errorf("its description: %w", err)
	}
	const notes = "__metadata__"
	if text, found := entries[notes]; found {
		_ = json.Unmarshal(text, &metadata) // other programs write what they like
		delete(entries, notes)
	}
	for name, text := range entries {
		a := Array{Name: name}
		if err := json.Unmarshal(text, &a); err != nil || len(a.Offsets) != 2 {
			return nil, nil, fmt.Errorf("tensor %q: want dtype, shape and data_offsets, whole numbers, found %.100q", name, text)
		}
		arrays = append(arrays, a)
	}
	slices.SortFunc(arrays, func(a, b Array) int {
		return cmp.Or(slices.Compare(a.Offsets, b.Offsets), strings.Compare(a.Name, b.Name))
	})
	end := int64(0)
	for _, a := range arrays {
		from := a.Offsets[0]
		to := a.Offsets[1]
		if from != end || to < from || to > size || to-from != a.bytes() {
			return nil, nil, fmt.Errorf("tensor %q of type %q and shape %v is at the bytes %d to %d of %d, and the tensors before it end at %d",
				a.Name, a.Type, a.Shape, from, to, size, end)
		}
		end = to
	}
	if end != size {
		return nil, nil, fmt.Errorf("%d bytes of values, and the tensors end at %d", size, end)
	}
	return arrays, metadata, nil
}

// EncodeHeader returns the length and the JSON of a safetensors file. It sets the offsets of
// the arrays, one after the other. metadata is encoded as JSON, an object of texts; nil means none.
// Spaces fill the header, so that the longest array begins at a multiple of align bytes if the ones
// before it let it. align is a multiple of 8, which the arrays as a whole always have.
func EncodeHeader(metadata any, arrays []Array, align int64) ([]byte, error) {
	var entries []string
	add := func(name string, value any) { // one by one, because a map would sort them by name
		text, _ := json.Marshal(map[string]any{name: value}) // of texts and whole numbers, which have no errors
		entries = append(entries, string(text[1:len(text)-1]))
	}
	if metadata != nil {
		add("__metadata__", metadata)
	}
	at := int64(0)
	longest := int64(0)
	shift := int64(0)
	for k := range arrays {
		a := &arrays[k]
		bytes := a.bytes()
		if bytes < 0 || bytes > math.MaxInt64-at {
			return nil, fmt.Errorf("array %q of type %q and shape %v is too large", a.Name, a.Type, a.Shape)
		}
		if bytes > longest {
			longest, shift = bytes, at&^7
		}
		a.Offsets = []int64{at, at + bytes}
		at += bytes
		add(a.Name, a)
	}
	text := "{" + strings.Join(entries, ",") + "}"
	text += strings.Repeat(" ", int(-(8+int64(len(text))+shift)&(align-1)))
	return append(binary.LittleEndian.AppendUint64(nil, uint64(len(text))), text...), nil
}
