package weights

import (
	"archive/zip"
	"bytes"
	"context"
	"fmt"
	"io"
	"path"
	"strings"

	"github.com/gcn-layerwise/gcn/internal/memory"
	"github.com/gcn-layerwise/gcn/internal/regularfile"
)

// maxProgram is the largest pickle that is read: a state_dict's takes about 100 bytes a
// tensor.
const maxProgram = 1 << 24

func readTorch(ctx context.Context, file string) ([]Tensor, error) {
	data, err := regularfile.Read(file)
	if err != nil {
		return nil, err
	}
	return decodeTorch(ctx, data)
}

// decodeTorch reads the zip archive of torch.save: NAME/data.pkl, and a member NAME/data/KEY
// for each storage.
func decodeTorch(ctx context.Context, data []byte) ([]Tensor, error) {
	archive, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		return nil, fmt.Errorf("%w: not a zip archive: save it by torch.save of PyTorch 1.6 or later", ErrFormat)
	}
	var folder string
	var program []byte
	for _, f := range archive.File {
		if path.Base(f.Name) == "data.pkl" && strings.Count(f.Name, "/") == 1 {
			folder = path.Dir(f.Name)
			if program, err = member(f, maxProgram); err != nil {
				return nil, err
			}
		}
	}
	if program == nil {
		return nil, fmt.Errorf("%w: no data.pkl: save the model's state_dict by torch.save", ErrFormat)
	}
	members := map[string]*zip.File{}
	for _, f := range archive.File {
		members[f.Name] = f
	}
	if f := members[folder+"/byteorder"]; f != nil {
		if order, err := member(f, 16); err != nil || string(order) != "little" {
			return nil, fmt.Errorf("%w: byte order %.16q, want little", ErrFormat, order)
		}
	}
	object, err := (&machine{program: program, memo: map[uint32]any{}}).run(ctx)
	if err != nil {
		return nil, fmt.Errorf("%w: data.pkl: %w", ErrFormat, err)
	}
	entries, err := stateDict(object)
	if err != nil {
		return nil, err
	}
	var tensors []Tensor
	contents := map[string][]byte{}
	for _, e := range entries {
		t := e.value.(*pickledTensor)
		raw, there := contents[t.storage.key]
		if !there {
			f := members[folder+"/data/"+t.storage.key]
			if f == nil {
				return nil, fmt.Errorf("%w: tensor %q: no member data/%.40s", ErrFormat, e.key, t.storage.key)
			}
			if raw, err = member(f, int64(len(data))); err != nil {
				return nil, err
			}
			contents[t.storage.key] = raw
		}
		values, err := t.values(raw)
		if err != nil {
			return nil, fmt.Errorf("tensor %q: %w", e.key, err)
		}
		tensors = append(tensors, Tensor{e.key.(string), t.shape, values})
	}
	return tensors, nil
}

// member returns the contents of a member of at most so many bytes.
func member(f *zip.File, most int64) ([]byte, error) {
	if f.UncompressedSize64 > uint64(most) {
		return nil, fmt.Errorf("%w: member %.60s of %d bytes", ErrFormat, f.Name, f.UncompressedSize64)
	}
	r, err := f.Open()
	if err != nil {
		return nil, fmt.Errorf("%w: member %.60s: %w", ErrFormat, f.Name, err)
	}
	defer r.Close()
	text, err := io.ReadAll(io.LimitReader(r, most+1))
	if err != nil {
		return nil, fmt.Errorf("%w: member %.60s: %w", ErrFormat, f.Name, err)
	}
	return text, nil
}

// stateDict returns the entries of a dictionary of tensors, or of the dictionary "state_dict"
// or "model_state_dict" in it.
func stateDict(object any) ([]pair, error) {
	d, ok := object.(*dict)
	if !ok {
		return nil, fmt.Errorf("%w: it holds no state_dict: save model.state_dict()", ErrFormat)
	}
	for _, e := range d.pairs {
		if inner, is := e.value.(*dict); is && (e.key == "state_dict" || e.key == "model_state_dict") {
			d = inner
			break
		}
	}
	var bytes int64
	for i, e := range d.pairs {
		name, named := e.key.(string)
		t, is := e.value.(*pickledTensor)
		if !named { // other keys may be as deep as the file is long
			return nil, fmt.Errorf("%w: the key of entry %d is no text: save model.state_dict()", ErrFormat, i+1)
		}
		if !is {
			return nil, fmt.Errorf("%w: entry %.60q is no tensor: save model.state_dict()", ErrFormat, name)
		}
		n, err := size(t.shape)
		if err != nil {
			return nil, err
		}
		bytes += 4 * int64(n)
	}
	// Tensors may share a storage, so the file can be smaller.
	return d.pairs, memory.Check("its values", bytes)
}

// values returns the tensor's values, row-major.
func (t *pickledTensor) values(raw []byte) ([]float32, error) {
	kind, known := elements(t.storage.kind)
	if !known {
		return nil, fmt.Errorf("%w: it holds %s numbers, want float32, float64, float16 or bfloat16", ErrFormat, t.storage.kind)
	}
	n, err := size(t.shape)
	if err != nil {
		return nil, err
	}
	count := len(raw) / kind.bytes
	last := int64(min(t.offset, count)) // so that no sum overflows
	for k, d := range t.shape {
		if d > 0 {
			step := memory.Product(int64(d-1), int64(t.stride[k]))
			if step < 0 || step > int64(count) {
				last = int64(count)
				break
			}
			last += step
		}
	}
	if n > count || n > 0 && last >= int64(count) {
		return nil, fmt.Errorf("%w: shape %v, strides %v and offset %d in a storage of %d numbers", ErrFormat, t.shape, t.stride, t.offset, count)
	}
	out := make([]float32, n)
	place := make([]int, len(t.shape))
	at := t.offset
	for i := range out {
		out[i] = kind.decode(raw[at*kind.bytes:])
		for k := len(place) - 1; k >= 0; k-- {
			place[k]++
			at += t.stride[k]
			if place[k] < t.shape[k] {
				break
			}
			at -= place[k] * t.stride[k]
			place[k] = 0
		}
	}
	return out, nil
}
