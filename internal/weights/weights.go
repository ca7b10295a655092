package weights

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"path/filepath"
	"strings"

	"github.com/gcn-layerwise/gcn/internal/atomicfile"
	"github.com/gcn-layerwise/gcn/internal/half"
	"github.com/gcn-layerwise/gcn/internal/memory"
)

// Tensor is a named row-major tensor.
type Tensor struct {
	Name   string
	Shape  []int
	Values []float32
}

// ErrFormat is wrapped by errors about the contents of a file.
var ErrFormat = errors.New("not a usable file of weights")

// Read reads the tensors of a .safetensors, .npz, .pt or .pth file, in the order of the
// file. Values are converted to float32. Errors name the file. Cost: the file's size.
func Read(ctx context.Context, path string) ([]Tensor, error) {
	read := map[string]func(context.Context, string) ([]Tensor, error){
		".safetensors": readSafetensors, ".npz": readNPZ, ".pt": readTorch, ".pth": readTorch,
	}[strings.ToLower(filepath.Ext(path))]
	if read == nil {
		return nil, fmt.Errorf("%s: want a file ending in .safetensors, .npz, .pt or .pth", path)
	}
	tensors, err := read(ctx, path)
	if err == nil && len(tensors) == 0 {
		err = fmt.Errorf("%w: it holds no tensor", ErrFormat)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return tensors, nil
}

// CheckName returns an error if Write cannot write a file of that name.
func CheckName(path string) error {
	switch strings.ToLower(filepath.Ext(path)) {
	case ".safetensors", ".npz":
		return nil
	}
	return fmt.Errorf("%q: want a file ending in .safetensors or .npz", path)
}

// Write writes tensors to a .safetensors or .npz file, which it replaces whole. Names must
// differ, and shapes agree with the numbers of values.
func Write(path string, tensors []Tensor) error {
	if err := CheckName(path); err != nil {
		return err
	}
	seen := map[string]bool{}
	for _, t := range tensors {
		if n, err := size(t.Shape); err != nil || n != len(t.Values) || seen[t.Name] || t.Name == "" {
			return fmt.Errorf("%s: tensor %q of shape %v has %d values, or its name twice", path, t.Name, t.Shape, len(t.Values))
		}
		seen[t.Name] = true
	}
	write := writeSafetensors
	if strings.EqualFold(filepath.Ext(path), ".npz") {
		write = writeNPZ
	}
	return atomicfile.Write(path, func(w io.Writer) error { return write(w, tensors) })
}

// size returns the number of values of a shape.
func size(shape []int) (int, error) {
	n := int64(1)
	for _, d := range shape {
		if n = memory.Product(n, int64(d)); n < 0 {
			return 0, fmt.Errorf("%w: a tensor of shape %v", ErrFormat, shape)
		}
	}
	if n > math.MaxInt32 {
		return 0, fmt.Errorf("%w: a tensor of shape %v: more than 2³¹−1 values", ErrFormat, shape)
	}
	return int(n), nil
}

// element is a type of stored numbers.
type element struct {
	bytes  int
	decode func(b []byte) float32
}

// elements returns the type with a name in safetensors.
func elements(name string) (element, bool) {
	switch name {
	case "F32":
		return element{4, func(b []byte) float32 { return math.Float32frombits(little32(b)) }}, true
	case "F64":
		return element{8, func(b []byte) float32 {
			return float32(math.Float64frombits(uint64(little32(b)) | uint64(little32(b[4:]))<<32))
		}}, true
	case "F16":
		return element{2, func(b []byte) float32 { return half.Float32(uint16(b[0]) | uint16(b[1])<<8) }}, true
	case "BF16":
		return element{2, func(b []byte) float32 { return math.Float32frombits(uint32(b[0])<<16 | uint32(b[1])<<24) }}, true
	}
	return element{}, false
}

func little32(b []byte) uint32 {
	return uint32(b[0]) | uint32(b[1])<<8 | uint32(b[2])<<16 | uint32(b[3])<<24
}

// values decodes n numbers of data.
func (e element) values(data []byte, n int) []float32 {
	out := make([]float32, n)
	for i := range out {
		out[i] = e.decode(data[i*e.bytes:])
	}
	return out
}
