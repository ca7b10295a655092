package weights

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/gcn-layerwise/gcn/internal/regularfile"
)

// A safetensors file is a uint64, the length of the JSON that follows, and the values. The tensors
// hold each byte of the values once: https://github.com/huggingface/safetensors#format.

type safetensorsEntry struct {
	Type    string `json:"dtype"`
	Shape   []int  `json:"shape"`
	Offsets [2]int `json:"data_offsets"`
}

func readSafetensors(_ context.Context, path string) ([]Tensor, error) {
	data, err := regularfile.Read(path)
	if err != nil {
		return nil, err
	}
	return decodeSafetensors(data)
}

func decodeSafetensors(data []byte) ([]Tensor, error) {
	if len(data) < 8 {
		return nil, fmt.Errorf("%w: %d bytes", ErrFormat, len(data))
	}
	length := binary.LittleEndian.Uint64(data)
	if length > uint64(len(data)-8) {
		return nil, fmt.Errorf("%w: a description of %d bytes in a file of %d", ErrFormat, length, len(data))
	}
	var entries map[string]json.RawMessage
	if err := json.Unmarshal(data[8:8+length], &entries); err != nil {
		return nil, fmt.Errorf("%w: its description: %w", ErrFormat, err)
	}
	body := data[8+length:]
	type place struct {
		name     string
		shape    []int
		kind     element
		from, to int // bytes of body
	}
	var places []place
	for name, text := range entries {
		if name == "__metadata__" {
			continue
		}
		var e safetensorsEntry
		if err := json.Unmarshal(text, &e); err != nil {
			return nil, fmt.Errorf("%w: tensor %q: want dtype, shape and data_offsets, whole numbers, found %.100q", ErrFormat, name, text)
		}
		kind, known := elements(e.Type)
		n, err := size(e.Shape)
		switch from, to := e.Offsets[0], e.Offsets[1]; {
		case !known:
			return nil, fmt.Errorf("%w: tensor %q is of type %q, want F32, F64, F16 or BF16", ErrFormat, name, e.Type)
		case err != nil:
			return nil, fmt.Errorf("tensor %q: %w", name, err)
		case from < 0 || to < from || to > len(body) || to-from != n*kind.bytes:
			return nil, fmt.Errorf("%w: tensor %q of shape %v is at the bytes %d to %d of %d", ErrFormat, name, e.Shape, from, to, len(body))
		default:
			places = append(places, place{name, e.Shape, kind, from, to})
		}
	}
	slices.SortFunc(places, func(a, b place) int {
		return cmp.Or(cmp.Compare(a.from, b.from), cmp.Compare(a.to, b.to), strings.Compare(a.name, b.name))
	})
	end := 0
	for _, p := range places {
		if p.from != end {
			return nil, fmt.Errorf("%w: tensor %q begins at byte %d of the values, and the tensors before it end at %d", ErrFormat, p.name, p.from, end)
		}
		end = p.to
	}
	if end != len(body) {
		return nil, fmt.Errorf("%w: %d bytes of values, and the tensors end at %d", ErrFormat, len(body), end)
	}
	var tensors []Tensor
	for _, p := range places {
		tensors = append(tensors, Tensor{p.name, p.shape, p.kind.values(body[p.from:p.to], (p.to-p.from)/p.kind.bytes)})
	}
	return tensors, nil
}

func writeSafetensors(w io.Writer, tensors []Tensor) error {
	var header bytes.Buffer
	header.WriteByte('{')
	at := 0
	for k, t := range tensors {
		if k > 0 {
			header.WriteByte(',')
		}
		name, err := json.Marshal(t.Name)
		if err != nil {
			return err
		}
		entry, err := json.Marshal(safetensorsEntry{"F32", append([]int{}, t.Shape...), [2]int{at, at + 4*len(t.Values)}})
		if err != nil {
			return err
		}
		fmt.Fprintf(&header, "%s:%s", name, entry)
		at += 4 * len(t.Values)
	}
	header.WriteByte('}')
	for header.Len()%8 != 0 { // so that the values are aligned
		header.WriteByte(' ')
	}
	if _, err := w.Write(binary.LittleEndian.AppendUint64(nil, uint64(header.Len()))); err != nil {
		return err
	}
	if _, err := w.Write(header.Bytes()); err != nil {
		return err
	}
	for _, t := range tensors {
		b := make([]byte, 0, 4*len(t.Values))
		for _, v := range t.Values {
			b = binary.LittleEndian.AppendUint32(b, math.Float32bits(v))
		}
		if _, err := w.Write(b); err != nil {
			return err
		}
	}
	return nil
}
