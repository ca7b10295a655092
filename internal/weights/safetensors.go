package weights

import (
	"context"
	"encoding/binary"
	"fmt"
	"io"

	"github.com/gcn-layerwise/gcn/internal/npy"
	"github.com/gcn-layerwise/gcn/internal/store"
)

func decodeSafetensors(_ context.Context, data []byte) ([]Tensor, error) {
	tensors, _, err := Decode(data)
	return tensors, err
}

// Decode returns the tensors of a safetensors file, in the order of the file, and its metadata.
// Their values must be float32. Errors wrap ErrFormat.
func Decode(data []byte) (tensors []Tensor, metadata map[string]string, err error) {
	if len(data) < 8 || binary.LittleEndian.Uint64(data) > uint64(len(data)-8) {
		return nil, nil, fmt.Errorf("%w: its %d bytes end within the description", ErrFormat, len(data))
	}
	values := data[8+binary.LittleEndian.Uint64(data):]
	arrays, metadata, err := store.DecodeHeader(data[8:len(data)-len(values)], int64(len(values)))
	if err != nil {
		return nil, nil, fmt.Errorf("%w: %w", ErrFormat, err)
	}
	for _, a := range arrays {
		if a.Type != "F32" {
			return nil, nil, fmt.Errorf("%w: tensor %q is of type %q, want F32: convert it, in PyTorch by model.float()", ErrFormat, a.Name, a.Type)
		}
		n, err := size(a.Shape)
		if err != nil {
			return nil, nil, fmt.Errorf("tensor %q: %w", a.Name, err)
		}
		t := Tensor{a.Name, a.Shape, make([]float32, n)}
		_, _ = binary.Decode(values[a.Offsets[0]:], binary.LittleEndian,
			t.Values) // DecodeHeader checked the sizes
		tensors = append(tensors, t)
	}
	return tensors, metadata, nil
}

// Encode writes tensors as a safetensors file. metadata is encoded as JSON, an object of texts;
// nil means none.
func Encode(w io.Writer, metadata any, tensors []Tensor) error {
	arrays := make([]store.Array, len(tensors))
	for k, t := range tensors {
		arrays[k] = store.Array{
			Name:  t.Name,
			Type:  "F32",
			Shape: append([]int{}, t.Shape...),
		}
	}
	header, err := store.EncodeHeader(metadata, arrays, 8)
	if err != nil {
		return err
	}
	if _, err := w.Write(header); err != nil {
		return err
	}
	for _, t := range tensors {
		if err := npy.WriteValues(w, t.Values); err != nil {
			return err
		}
	}
	return nil
}
