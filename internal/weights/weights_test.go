package weights

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/gcn-layerwise/gcn/internal/memory"
	"pgregory.net/rapid"
)

func TestRoundTrip(t *testing.T) {
	dir := t.TempDir()
	rapid.Check(t, func(t *rapid.T) {
		names := rapid.SliceOfNDistinct(rapid.StringMatching(`[a-zA-Z0-9_.é"]{1,9}`), 1, 5, rapid.ID[string]).Draw(t, "names")
		var tensors []Tensor
		for _, name := range names {
			shape := rapid.SliceOfN(rapid.IntRange(0, 4), 0, 3).Draw(t, "shape")
			n, err := size(shape)
			if err != nil {
				t.Fatal(err)
			}
			tensors = append(tensors, Tensor{name, shape, rapid.SliceOfN(rapid.Float32(), n, n).Draw(t, "values")})
		}
		for _, extension := range []string{".safetensors", ".npz"} {
			path := filepath.Join(dir, "w"+extension)
			if err := Write(path, tensors); err != nil {
				t.Fatal(err)
			}
			got, err := Read(context.Background(), path)
			if err != nil {
				t.Fatal(err)
			}
			byName := map[string]Tensor{}
			for _, x := range got {
				byName[x.Name] = x
			}
			for _, want := range tensors {
				x := byName[want.Name]
				if fmt.Sprint(x.Shape) != fmt.Sprint(want.Shape) || len(got) != len(tensors) || !reflect.DeepEqual(bits(x.Values), bits(want.Values)) {
					t.Fatalf("%s: %v came back as %v", extension, want, x)
				}
			}
		}
	})
}

func bits(values []float32) []uint32 {
	out := make([]uint32, len(values))
	for i, v := range values {
		out[i] = math.Float32bits(v)
	}
	return out
}

// TestSafetensorsBytes reads a file written by hand after the format's description.
func TestSafetensorsBytes(t *testing.T) {
	header := `{"__metadata__":{"format":"pt"},"b":{"dtype":"BF16","shape":[2],"data_offsets":[12,16]},"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},"d":{"dtype":"F64","shape":[],"data_offsets":[4,12]},"h":{"dtype":"F16","shape":[1],"data_offsets":[16,18]}}`
	file := append([]byte{byte(len(header)), byte(len(header) >> 8), 0, 0, 0, 0, 0, 0}, header...)
	file = append(file, 0, 0, 0xc0, 0x3f, 0, 0, 0, 0, 0, 0, 0, 0xc0, 0x80, 0x3f, 0, 0x40, 0, 0x3c)
	got, err := decodeSafetensors(file)
	want := []Tensor{{"a", []int{1}, []float32{1.5}}, {"d", []int{}, []float32{-2}}, {"b", []int{2}, []float32{1, 2}}, {"h", []int{1}, []float32{1}}}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%v, %v", got, err)
	}
	for _, change := range [][2]string{{"F64", "I64"}, {"[4,12]", "[4,99]"}, {"[4,12]", "[12,4]"}, {`"shape":[2]`, `"shape":[3]`}, {`"shape":[2]`, `"shape":[-2]`}, {`[1]`, `x`}} {
		bad := bytes.Replace(file, []byte(change[0]), []byte(change[1]), 1)
		bad[0] = byte(len(header) + len(change[1]) - len(change[0]))
		if _, err := decodeSafetensors(bad); !errors.Is(err, ErrFormat) {
			t.Errorf("%s: error %v", change[1], err)
		}
	}
}

func TestErrors(t *testing.T) {
	dir := t.TempDir()
	if _, err := Read(context.Background(), filepath.Join(dir, "x.bin")); err == nil || !strings.Contains(err.Error(), ".safetensors") {
		t.Error(err)
	}
	if _, err := Read(context.Background(), filepath.Join(dir, "none.pt")); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
	if err := Write(filepath.Join(dir, "x.pt"), []Tensor{{"a", nil, []float32{1}}}); err == nil {
		t.Error("no error about a format that is not written")
	}
	for _, bad := range [][]Tensor{{{"a", []int{2}, []float32{1}}}, {{"", nil, []float32{1}}}, {{"a", nil, []float32{1}}, {"a", nil, []float32{1}}}} {
		if err := Write(filepath.Join(dir, "x.npz"), bad); err == nil {
			t.Errorf("no error about %v", bad)
		}
	}
}

// TestMachineRefuses runs programs that are no state_dict.
func TestMachineRefuses(t *testing.T) {
	for name, program := range map[string]string{
		"a call":         "\x80\x02cos\nsystem\nX\x02\x00\x00\x00ls\x85R.",
		"protocol 4":     "\x80\x04}.",
		"cut short":      "\x80\x02X\xff\xff\xff\xff",
		"empty":          "",
		"empty stack":    "\x80\x02.",
		"no mark":        "\x80\x02u.",
		"below the mark": "\x80\x02}(sR.",
		"unknown memo":   "\x80\x02h\x07.",
		"wrong reduce":   "\x80\x02ccollections\nOrderedDict\n}R.",
		"odd items":      "\x80\x02}(K\x01u.",
		"wrong storage":  "\x80\x02K\x01Q.",
	} {
		if _, err := (&machine{program: []byte(program), memo: map[uint32]any{}}).run(context.Background()); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

// TestHostileTensors reads tensors at an offset that overflows, tensors of one storage that
// together are larger than the memory, and a key that is too deep to print.
func TestHostileTensors(t *testing.T) {
	tensor := pickledTensor{storage{"F32", "0"}, math.MaxInt, []int{2}, []int{1}}
	if values, err := tensor.values(make([]byte, 64)); !errors.Is(err, ErrFormat) {
		t.Errorf("an offset that overflows: %v, error %v", values, err)
	}
	shared := &pickledTensor{storage{"F32", "0"}, 0, []int{1 << 30}, []int{1}}
	many := new(dict)
	for k := range 1 << 14 { // 64 TiB
		many.pairs = append(many.pairs, pair{fmt.Sprint(k), shared})
	}
	if _, err := stateDict(many); !errors.Is(err, memory.ErrTooLarge) {
		t.Errorf("64 TiB of tensors: error %v", err)
	}
	var deep any = tuple{}
	for range 30 { // text of 4 GiB
		deep = tuple{deep, deep}
	}
	if _, err := stateDict(&dict{[]pair{{deep, nil}}}); !errors.Is(err, ErrFormat) {
		t.Errorf("a deep key: error %v", err)
	}
	header := `{"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},"b":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}}`
	file := append([]byte{byte(len(header)), 0, 0, 0, 0, 0, 0, 0}, header+"\x00\x00\x00\x00"...)
	if got, err := decodeSafetensors(file); !errors.Is(err, ErrFormat) {
		t.Errorf("tensors of the same bytes: %v, error %v", got, err)
	}
	for _, c := range []struct {
		name, a, b string
		bytes      int
		valid      bool
	}{
		{"one after another", "[0,4]", "[4,8]", 8, true},
		{"the second one first", "[4,8]", "[0,4]", 8, true},
		{"the same bytes, and bytes of no tensor", "[0,4]", "[0,4]", 8, false},
		{"a gap", "[0,4]", "[8,12]", 12, false},
		{"bytes at the end", "[0,4]", "[4,8]", 10, false},
		{"half a byte", "[0,4]", "[4,7.5]", 8, false},
	} {
		header := `{"a":{"dtype":"F32","shape":[1],"data_offsets":` + c.a + `},"b":{"dtype":"F32","shape":[1],"data_offsets":` + c.b + `}}`
		file := append(append([]byte{byte(len(header)), 0, 0, 0, 0, 0, 0, 0}, header...), make([]byte, c.bytes)...)
		got, err := decodeSafetensors(file)
		if (err == nil) != c.valid || err != nil && (!errors.Is(err, ErrFormat) || strings.Contains(err.Error(), "Go ")) {
			t.Errorf("%s: %v, error %v", c.name, got, err)
		}
	}
}

const recorded = "../../train/testdata/torch/"

func FuzzTorch(f *testing.F) {
	for _, name := range []string{"gcn.pt", "sage.pt"} {
		data, err := os.ReadFile(recorded + name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		tensors, err := decodeTorch(context.Background(), data)
		checkTensors(t, tensors, err)
	})
}

// FuzzProgram runs programs in place of the data.pkl of a recorded file.
func FuzzProgram(f *testing.F) {
	f.Add([]byte("\x80\x02ccollections\nOrderedDict\n)R(X\x01\x00\x00\x00actorch._utils\n_rebuild_tensor_v2\n((X\x07\x00\x00\x00storagectorch\nFloatStorage\nX\x01\x00\x00\x000X\x03\x00\x00\x00cpuK\x02tQK\x00K\x02\x85K\x01\x85\x89ccollections\nOrderedDict\n)RtRu."))
	f.Fuzz(func(t *testing.T, program []byte) {
		object, err := (&machine{program: program, memo: map[uint32]any{}}).run(context.Background())
		if err != nil {
			return
		}
		entries, err := stateDict(object)
		if err != nil {
			return
		}
		for _, e := range entries {
			values, err := e.value.(*pickledTensor).values(make([]byte, 64))
			if err == nil && len(values) > 64 {
				t.Errorf("%d values of 64 bytes", len(values))
			}
		}
	})
}

func FuzzSafetensors(f *testing.F) {
	var b bytes.Buffer
	if err := writeSafetensors(&b, []Tensor{{"a.weight", []int{2, 1}, []float32{1, 2}}, {"a.bias", []int{1}, []float32{3}}}); err != nil {
		f.Fatal(err)
	}
	f.Add(b.Bytes())
	f.Fuzz(func(t *testing.T, data []byte) {
		tensors, err := decodeSafetensors(data)
		checkTensors(t, tensors, err)
	})
}

func checkTensors(t *testing.T, tensors []Tensor, err error) {
	for _, x := range tensors {
		if n, sizeErr := size(x.Shape); err == nil && (sizeErr != nil || n != len(x.Values)) {
			t.Errorf("%q: %d values of shape %v", x.Name, len(x.Values), x.Shape)
		}
	}
}

func Example() {
	dir, err := os.MkdirTemp("", "weights")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "model.safetensors")
	if err := Write(path, []Tensor{{"linear.bias", []int{2}, []float32{0.5, -1}}}); err != nil {
		fmt.Println(err)
		return
	}
	tensors, err := Read(context.Background(), path)
	fmt.Println(tensors, err)
	// Output:
	// [{linear.bias [2] [0.5 -1]}] <nil>
}
