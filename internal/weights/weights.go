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
	"github.com/gcn-layerwise/gcn/internal/memory"
	"github.com/gcn-layerwise/gcn/internal/regularfile"
)

// Tensor is a named row-major tensor.
type Tensor struct {
	Name   string
	Shape  []int
	Values []float32
}

// ErrFormat is wrapped by errors about the contents of a file.
var ErrFormat = errors.New("not a usable file of weights")

// Read reads the tensors of a .safetensors, .pt or .pth file, in the order of the
// file. Their values must be float32. Errors name the file. Cost: the file's size.
func Read(ctx context.Context, path string) ([]Tensor, error) {
	decode := map[string]func(context.Context, []byte) ([]Tensor, error){
		".safetensors": decodeSafetensors, ".pt": decodeTorch, ".pth": decodeTorch,
	}[strings.ToLower(filepath.Ext(path))]
	if decode == nil {
		return nil, fmt.Errorf("%s: want a file ending in .safetensors, .pt or .pth", path)
	}
	data, err := regularfile.Read(path)
	var tensors []Tensor
	if err == nil {
		tensors, err = decode(ctx, data)
	}
	if err == nil && len(tensors) == 0 {
		err = fmt.Errorf("%w: it holds no tensor", ErrFormat)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return tensors, nil
}

// checkSize checks that the values fit in memory together.
func checkSize(tensors []Tensor) error {
	var bytes int64
	for _, t := range tensors {
		n, err := size(t.Shape)
		if err != nil {
			return fmt.Errorf("tensor %q: %w", t.Name, err)
		}
		bytes += 4 * int64(n)
	}
	return memory.Check("its values", bytes)
}

// CheckName returns an error if Write cannot write a file of that name.
func CheckName(path string) error {
	if strings.ToLower(filepath.Ext(path)) != ".safetensors" {
		return fmt.Errorf("%q: want a file ending in .safetensors", path)
	}
	return nil
}

// Write writes tensors to a .safetensors file, which it replaces whole. Names must
// differ, and shapes agree with the numbers of values.
func Write(path string, tensors []Tensor) error {
	if err := CheckName(path); err != nil {
		return err
	}
	seen := map[string]bool{}
	for _, t := range tensors {
		if n, err := size(t.Shape); err != nil || n != len(t.Values) || seen[t.Name] || t.Name == "" {
			return fmt.Errorf("%s: tensor %q of shape %v has %d values, or its name twice",
				path, t.Name, t.Shape, len(t.Values))
		}
		seen[t.Name] = true
	}
	return atomicfile.Write(path, func(w io.Writer) error { return Encode(w, nil, tensors) })
}

// size returns the number of values of a shape.
func size(shape []int) (int, error) {
	n := memory.Product(shape...)
	if n < 0 || n > math.MaxInt32 {
		return 0, fmt.Errorf("%w: shape %v: want 0 to 2³¹−1 values", ErrFormat, shape)
	}
	return int(n), nil
}
