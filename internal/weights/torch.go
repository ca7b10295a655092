package weights

import (
	"archive/zip"
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"io/fs"
	"math"
	"path"
	"strings"

	"github.com/gcn-layerwise/gcn/internal/memory"
	"github.com/gcn-layerwise/gcn/internal/pickle"
)

// torchClasses returns the Python classes that a state_dict may have. check refuses all storages but
// FloatStorage, and names the tensor.
func torchClasses() []pickle.Class {
	return []pickle.Class{
		"collections OrderedDict", "torch._utils _rebuild_tensor_v2", "torch._utils _rebuild_parameter", pickle.Persistent,
		"torch FloatStorage", "torch DoubleStorage", "torch HalfStorage", "torch BFloat16Storage",
		"torch LongStorage", "torch IntStorage", "torch ShortStorage", "torch CharStorage", "torch ByteStorage", "torch BoolStorage",
	}
}

// decodeTorch reads the zip archive of torch.save: NAME/data.pkl, and a member NAME/data/KEY
// for each storage.
func decodeTorch(ctx context.Context, data []byte) ([]Tensor, error) {
	archive, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		return nil, fmt.Errorf("%w: not a zip archive: save it by torch.save of PyTorch 1.6 or later", ErrFormat)
	}
	folder, total := "", uint64(0)
	for _, f := range archive.File {
		if total += min(f.UncompressedSize64, 1<<47); path.Base(f.Name) == "data.pkl" && strings.Count(f.Name, "/") == 1 {
			folder = path.Dir(f.Name)
		}
	}
	if err := memory.Check("its contents", int64(min(total, 1<<62))); err != nil {
		return nil, err
	}
	read := func(name string, most int64) (text []byte, err error) {
		info, err := fs.Stat(archive, folder+"/"+name)
		if err != nil {
			return nil, fmt.Errorf("%w: %.100v: save the model's state_dict by torch.save", ErrFormat, err)
		}
		if info.Size() > most {
			err = fmt.Errorf("%d bytes, at most %d are read", info.Size(), most)
		} else {
			text, err = fs.ReadFile(archive, folder+"/"+name) // no more than the archive says
		}
		if err != nil {
			err = fmt.Errorf("%w: %.100s: %w", ErrFormat, name, err)
		}
		return text, err
	}
	const mostProgram = 1 << 26 // bytes, far above those of a model of many layers
	program, err := read("data.pkl", mostProgram)
	if err != nil {
		return nil, err
	}
	if order, err := read("byteorder", mostProgram); err == nil && string(order) != "little" { // old versions have none
		return nil, fmt.Errorf("%w: byte order %.16q, want little", ErrFormat, order)
	}
	object, err := pickle.Load(ctx, string(program), torchClasses())
	if err != nil {
		return nil, fmt.Errorf("%w: data.pkl: %w", ErrFormat, err)
	}
	tensors, views, err := stateDict(object)
	if err != nil {
		return nil, err
	}
	storages := map[string][]byte{}
	for k, v := range views {
		t := &tensors[k]
		want := 4 * v.count
		err := v.check(t.Shape)
		raw, there := storages[v.key]
		if err == nil && !there {
			raw, err = read("data/"+v.key, int64(want))
			storages[v.key] = raw
		}
		if err == nil && len(raw) != want {
			err = fmt.Errorf("%w: a storage of %d bytes, want %d", ErrFormat, len(raw), want)
		}
		if err != nil {
			return nil, fmt.Errorf("tensor %q: %w", t.Name, err)
		}
		t.Values = v.values(raw, t.Shape)
	}
	return tensors, nil
}

// view is the place of a tensor in a storage.
type view struct {
	key    string // of the storage
	kind   pickle.Class
	count  int // numbers of the storage
	offset int
	stride []int
}

// stateDict returns the tensors of a dictionary, or of the dictionary "state_dict" or
// "model_state_dict" in it, without their values. Tensors may share a storage, so the file
// can be smaller than the values.
func stateDict(object any) (tensors []Tensor, views []view, err error) {
	d, ok := object.(*pickle.Dict)
	if !ok {
		return nil, nil, fmt.Errorf("%w: it holds no state_dict: save model.state_dict()", ErrFormat)
	}
	for _, key := range []string{"model_state_dict", "state_dict"} {
		if inner, is := d.Get(key).(*pickle.Dict); is {
			d = inner
		}
	}
	for k, key := range d.Keys {
		name, named := key.(string) // other keys may be as deep as the file is long
		v, shape, is := tensor(d.Values[k])
		if !named || !is {
			return nil, nil, fmt.Errorf("%w: entry %d, %.60q, is no tensor with a name: save model.state_dict()", ErrFormat, k+1, name)
		}
		tensors, views = append(tensors, Tensor{Name: name, Shape: shape}), append(views, v)
	}
	return tensors, views, checkSize(tensors)
}

// tensor returns the place and the shape of a tensor.
func tensor(value any) (v view, shape []int, is bool) {
	if parameter := arguments(value, "torch._utils _rebuild_parameter", 3); parameter[0] != nil {
		value = parameter[0]
	}
	call := arguments(value, "torch._utils _rebuild_tensor_v2",
		4) // storage, offset, shape, strides, …
	id, _ := arguments(call[0], pickle.Persistent, 1)[0].(pickle.Tuple) // "storage", class, key, device, count
	v.offset, is = call[1].(int)
	if !is || v.offset < 0 || len(id) != 5 || id[0] != "storage" {
		return v, nil, false
	}
	v.kind, _ = id[1].(pickle.Class) // without a class check fails, without a key or a count its storage
	v.key, _ = id[2].(string)
	v.count, _ = id[4].(int)
	shape, err := pickle.Ints(call[2])
	v.stride, _ = pickle.Ints(call[3])
	return v, shape, err == nil && len(shape) == len(v.stride) && v.count >= 0 && v.count <= math.MaxInt32
}

// arguments returns those of a call of a class, n at least; if there is no such call, they are nil.
func arguments(v any, class pickle.Class, n int) pickle.Tuple {
	if o, is := v.(*pickle.Object); is && o.Class == class && len(o.Arguments) >= n {
		return o.Arguments
	}
	return make(pickle.Tuple, n)
}

// check reports a tensor whose numbers are not float32, or that is not inside its storage.
func (v *view) check(shape []int) error {
	n, err := size(shape)
	last := min(v.offset, v.count)
	for k, d := range shape {
		last += max(d-1, 0) * min(v.stride[k], v.count) // d and the numbers of a storage are below 2³¹
		last = min(last, v.count)
	}
	switch {
	case v.kind != "torch FloatStorage":
		return fmt.Errorf("%w: it is a %s, want float32: convert it by model.float()", ErrFormat, v.kind)
	case err != nil || n > v.count:
		return fmt.Errorf("%w: shape %v in a storage of %d numbers", ErrFormat, shape, v.count)
	case n > 0 && last >= v.count:
		return fmt.Errorf("%w: shape %v, strides %v and offset %d in a storage of %d numbers",
			ErrFormat, shape, v.stride, v.offset, v.count)
	}
	return nil
}

// values returns the values of a tensor of a checked shape, row-major, from its storage.
func (v *view) values(raw []byte, shape []int) []float32 {
	n, _ := size(shape)
	out := make([]float32, n)
	for i := range out {
		at, rest := v.offset, i
		for k := len(shape) - 1; k >= 0; k-- {
			at, rest = at+rest%shape[k]*v.stride[k], rest/shape[k]
		}
		out[i] = math.Float32frombits(binary.LittleEndian.Uint32(raw[4*at:]))
	}
	return out
}
