package weights

import (
	"archive/zip"
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"path/filepath"
	"strings"

	"github.com/gcn-layerwise/gcn/internal/atomicfile"
	"github.com/gcn-layerwise/gcn/internal/half"
	"github.com/gcn-layerwise/gcn/internal/memory"
	"github.com/gcn-layerwise/gcn/internal/npy"
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

// Read reads the tensors of a .safetensors, .npz, .pt or .pth file, in the order of the
// file. Values are converted to float32. Errors name the file. Cost: the file's size.
func Read(ctx context.Context, path string) ([]Tensor, error) {
	decode := map[string]func(context.Context, []byte) ([]Tensor, error){
		".safetensors": decodeSafetensors, ".npz": decodeNPZ, ".pt": decodeTorch, ".pth": decodeTorch,
	}[strings.ToLower(filepath.Ext(path))]
	if decode == nil {
		return nil, fmt.Errorf("%s: want a file ending in .safetensors, .npz, .pt or .pth", path)
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

func decodeNPZ(ctx context.Context, data []byte) (tensors []Tensor, err error) {
	archive, err := npy.NewArchive("archive", bytes.NewReader(data), int64(len(data)))
	if err != nil {
		return nil, err
	}
	var readers []*npy.Reader
	for _, key := range archive.Keys() {
		r, err := archive.Open(key)
		if err != nil {
			return nil, err
		}
		defer r.Close()
		readers, tensors = append(readers, r), append(tensors, Tensor{Name: key, Shape: r.Shape})
	}
	err = checkSize(tensors)
	for k, r := range readers {
		if err == nil {
			tensors[k].Values, err = npy.All[float32](ctx, r)
		}
	}
	return tensors, err
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
	if extension := strings.ToLower(filepath.Ext(path)); extension != ".safetensors" && extension != ".npz" {
		return fmt.Errorf("%q: want a file ending in .safetensors or .npz", path)
	}
	return nil
}

// Write writes tensors to a .safetensors or .npz file, which it replaces whole. Names must
// differ, and shapes agree with the numbers of values.
func Write(path string, tensors []Tensor) error {
	write := map[string]func(io.Writer, []Tensor) error{".safetensors": writeSafetensors, ".npz": writeNPZ}[strings.ToLower(filepath.Ext(path))]
	if write == nil {
		return CheckName(path)
	}
	seen := map[string]bool{}
	for _, t := range tensors {
		if n, err := size(t.Shape); err != nil || n != len(t.Values) || seen[t.Name] || t.Name == "" {
			return fmt.Errorf("%s: tensor %q of shape %v has %d values, or its name twice", path, t.Name, t.Shape, len(t.Values))
		}
		seen[t.Name] = true
	}
	return atomicfile.Write(path, func(w io.Writer) error { return write(w, tensors) })
}

func writeNPZ(w io.Writer, tensors []Tensor) error {
	archive := zip.NewWriter(w)
	for _, t := range tensors {
		member, err := archive.CreateHeader(&zip.FileHeader{Name: t.Name + ".npy", Method: zip.Store})
		if err != nil {
			return err
		}
		if err := npy.Write(member, t.Values, t.Shape...); err != nil {
			return err
		}
	}
	return archive.Close()
}

// size returns the number of values of a shape.
func size(shape []int) (int, error) {
	n := memory.Product(shape...)
	if n < 0 || n > math.MaxInt32 {
		return 0, fmt.Errorf("%w: shape %v: want 0 to 2³¹−1 values", ErrFormat, shape)
	}
	return int(n), nil
}

// element is a type of stored numbers.
type element struct {
	bytes  int
	decode func(b []byte) float32
}

// elements returns the types by their names in safetensors.
func elements() map[string]element {
	order := binary.LittleEndian
	return map[string]element{
		"F32":  {4, func(b []byte) float32 { return math.Float32frombits(order.Uint32(b)) }},
		"F64":  {8, func(b []byte) float32 { return float32(math.Float64frombits(order.Uint64(b))) }},
		"F16":  {2, func(b []byte) float32 { return half.Float32(order.Uint16(b)) }},
		"BF16": {2, func(b []byte) float32 { return math.Float32frombits(uint32(order.Uint16(b)) << 16) }},
	}
}
