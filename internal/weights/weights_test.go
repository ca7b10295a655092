package weights

import (
	"archive/zip"
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/gcn-layerwise/gcn/internal/memory"
	"github.com/gcn-layerwise/gcn/internal/pickle"
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
		path := filepath.Join(dir, "w.safetensors")
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
				t.Fatalf("%v came back as %v", want, x)
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
	header := `{"__metadata__":{"format":"pt"},"b":{"dtype":"F32","shape":[2],"data_offsets":[8,16]},"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},"d":{"dtype":"F32","shape":[],"data_offsets":[4,8]}}`
	file := append([]byte{byte(len(header)), byte(len(header) >> 8), 0, 0, 0, 0, 0, 0}, header...)
	file = append(file, 0, 0, 0xc0, 0x3f, 0, 0, 0, 0xc0, 0, 0, 0x80, 0x3f, 0, 0, 0, 0x40)
	got, err := decodeSafetensors(context.Background(), file)
	want := []Tensor{{"a", []int{1}, []float32{1.5}}, {"d", []int{}, []float32{-2}}, {"b", []int{2}, []float32{1, 2}}}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%v, %v", got, err)
	}
	for _, change := range [][2]string{{"F32", "I32"}, {`F32","shape":[2]`, `F64","shape":[1]`}, {`F32","shape":[2]`, `F16","shape":[4]`}, {`F32","shape":[2]`, `BF16","shape":[4]`},
		{"[4,8]", "[4,99]"}, {"[4,8]", "[8,4]"}, {`"shape":[2]`, `"shape":[3]`}, {`"shape":[2]`, `"shape":[-2]`}, {`[1]`, `x`}} {
		bad := bytes.Replace(file, []byte(change[0]), []byte(change[1]), 1)
		bad[0] = byte(len(header) + len(change[1]) - len(change[0]))
		if _, err := decodeSafetensors(context.Background(), bad); !errors.Is(err, ErrFormat) {
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
		if err := Write(filepath.Join(dir, "x.safetensors"), bad); err == nil {
			t.Errorf("no error about %v", bad)
		}
	}
}

// torchFile makes a file of torch.save from its members.
func torchFile(t testing.TB, method uint16, members map[string]string) []byte {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for name, content := range members {
		w, err := z.CreateHeader(&zip.FileHeader{Name: name, Method: method})
		if err == nil {
			_, err = w.Write([]byte(content))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

const (
	head    = "\x80\x02ccollections\nOrderedDict\n)R"
	tensor0 = "ctorch._utils\n_rebuild_tensor_v2\n((X\x07\x00\x00\x00storagectorch\nFloatStorage\nX\x01\x00\x00\x000X\x03\x00\x00\x00cpuK\x02tQK\x00K\x02\x85K\x01\x85\x89ccollections\nOrderedDict\n)RtR"
	good    = head + "(X\x01\x00\x00\x00a" + tensor0 + "u."
)

// TestStateDict reads programs that are a state_dict, and programs that are none.
func TestStateDict(t *testing.T) {
	for name, c := range map[string]struct{ program, want string }{
		"a tensor":            {good, ""},
		"a parameter":         {head + "(X\x01\x00\x00\x00actorch._utils\n_rebuild_parameter\n(" + tensor0 + "\x89ccollections\nOrderedDict\n)RtRu.", ""},
		"protocol 4":          {strings.Replace(good, "\x80\x02", "\x80\x04", 1), ""},
		"in a checkpoint":     {"\x80\x02}X\x10\x00\x00\x00model_state_dict" + strings.TrimSuffix(good[2:], ".") + "s.", ""},
		"a call":              {"\x80\x02cos\nsystem\nX\x02\x00\x00\x00ls\x85R.", `data.pkl: byte 2: class "system" of module "os" is not read`},
		"cut short":           {good[:60], "data.pkl: byte"},
		"no dictionary":       {"\x80\x02K\x01.", "holds no state_dict"},
		"a number as value":   {head + "X\x01\x00\x00\x00aK\x01s.", `entry 1, "a", is no tensor`},
		"a class as value":    {head + "X\x01\x00\x00\x00actorch\nFloatStorage\ns.", `entry 1, "a", is no tensor`},
		"a number as key":     {head + "K\x01" + tensor0 + "s.", `entry 1, "", is no tensor with a name`},
		"a deep key":          {"]q\x00" + strings.Repeat("h\x00h\x00\x86q\x00", 200) + "}h\x00" + tensor0 + "s.", `entry 1, "", is no tensor with a name`},
		"another id":          {strings.Replace(good, "storage", "garbage", 1), "is no tensor"},
		"another offset":      {strings.Replace(good, "QK\x00", "QN", 1), "is no tensor"},
		"beyond the storage":  {strings.Replace(good, "QK\x00", "QK\x01", 1), "offset 1 in a storage of 2 numbers"},
		"a far offset":        {strings.Replace(good, "QK\x00", "Q\x8a\x08\xff\xff\xff\xff\xff\xff\xff\x7f", 1), "in a storage of 2 numbers"},
		"a negative stride":   {strings.Replace(good, "K\x02\x85K\x01\x85", "K\x02\x85J\xff\xff\xff\xff\x85", 1), "is no tensor"},
		"strides too few":     {strings.Replace(good, "K\x02\x85K\x01\x85", "K\x02\x85)", 1), "is no tensor"},
		"larger than storage": {strings.Replace(good, "K\x02\x85K\x01\x85", "K\x03\x85K\x00\x85", 1), "shape [3] in a storage of 2 numbers"},
		"integers":            {strings.Replace(good, "FloatStorage", "LongStorage", 1), `tensor "a": not a usable file of weights: it is a torch LongStorage, want float32`},
		"no storage":          {strings.Replace(good, "\x01\x00\x00\x000", "\x01\x00\x00\x007", 1), `tensor "a": not a usable file of weights: open archive/data/7`},
		"a storage above":     {strings.Replace(good, "\x01\x00\x00\x000", "\x02\x00\x00\x00..", 1), `tensor "a": `},
	} {
		for _, method := range []uint16{zip.Store, zip.Deflate} {
			file := torchFile(t, method, map[string]string{"archive/data.pkl": c.program, "archive/byteorder": "little", "archive/data/0": "\x00\x00\x80\x3f\x00\x00\x00\x40"})
			got, err := decodeTorch(context.Background(), file)
			if c.want == "" {
				if err != nil || !reflect.DeepEqual(got, []Tensor{{"a", []int{2}, []float32{1, 2}}}) {
					t.Errorf("%s: %v, %v", name, got, err)
				}
			} else if !errors.Is(err, ErrFormat) || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
				t.Errorf("%s: %v, %v; want %s", name, got, err, c.want)
			}
		}
	}
	for name, c := range map[string]struct {
		members map[string]string
		want    string
	}{
		"big-endian":  {map[string]string{"archive/data.pkl": good, "archive/byteorder": "big", "archive/data/0": "12345678"}, `byte order "big"`},
		"no data.pkl": {map[string]string{"archive/data/0": "12345678"}, "data.pkl"},
		"twice":       {map[string]string{"a/data.pkl": good, "a/data/0": "12345678", "a/data/../data/0": "12345678"}, ""},
	} {
		if _, err := decodeTorch(context.Background(), torchFile(t, zip.Store, c.members)); c.want != "" && (!errors.Is(err, ErrFormat) || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestHostileTensors reads tensors of one storage that together are larger than the memory,
// members that claim more than the memory, and tensors that share their bytes.
func TestHostileTensors(t *testing.T) {
	var many []Tensor
	for k := range 1 << 14 { // 64 TiB
		many = append(many, Tensor{Name: fmt.Sprint(k), Shape: []int{1 << 30}})
	}
	if err := checkSize(many); !errors.Is(err, memory.ErrTooLarge) {
		t.Errorf("64 TiB of tensors: error %v", err)
	}
	shared := head + "(" + strings.Repeat("X\x01\x00\x00\x00a"+strings.Replace(tensor0, "K\x02\x85K\x01\x85", "J\xff\xff\xff\x7f\x85K\x00\x85", 1), 1<<13) + "u."
	object, err := pickle.Load(context.Background(), shared, torchClasses())
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := stateDict(object); !errors.Is(err, memory.ErrTooLarge) {
		t.Errorf("64 TiB of views: error %v", err)
	}
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for k := range 1 << 10 {
		if _, err := z.CreateRaw(&zip.FileHeader{Name: fmt.Sprint("archive/data/", k), Method: zip.Deflate, UncompressedSize64: 1 << 40}); err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := decodeTorch(context.Background(), b.Bytes()); !errors.Is(err, memory.ErrTooLarge) {
		t.Errorf("an archive that claims a petabyte: error %v", err)
	}
	header := `{"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},"b":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}}`
	file := append([]byte{byte(len(header)), 0, 0, 0, 0, 0, 0, 0}, header+"\x00\x00\x00\x00"...)
	if got, err := decodeSafetensors(context.Background(), file); !errors.Is(err, ErrFormat) {
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
		got, err := decodeSafetensors(context.Background(), file)
		if (err == nil) != c.valid || err != nil && (!errors.Is(err, ErrFormat) || strings.Contains(err.Error(), "Go ")) {
			t.Errorf("%s: %v, error %v", c.name, got, err)
		}
	}
}

// TestSmallBomb reads small archives with members of 100 MB and more, which no tensor needs. They are
// refused before the members are unpacked.
func TestSmallBomb(t *testing.T) {
	zeros := strings.Repeat("\x00", 100_000_000)                                                                             // 97 kB
	beyond := strings.Replace(strings.Replace(good, "K\x02tQ", "J\x40\x78\x7d\x01tQ", 1), "QK\x00", "QJ\x3f\x78\x7d\x01", 1) // of 25,000,000 numbers the last and one more
	for _, c := range []struct{ program, storage, want string }{
		{good, zeros, "data/0: 100000000 bytes, at most 8 are read"},
		{good + zeros, "12345678", "data.pkl: 100000161 bytes, at most 67108864 are read"},
		{beyond, zeros, "offset 24999999 in a storage of 25000000 numbers"},
		{strings.Replace(good, "K\x02tQ", "J\xff\xff\xff\x7ftQ", 1), "12345678", "a storage of 8 bytes, want 8589934588"},
	} {
		file := torchFile(t, zip.Deflate, map[string]string{"archive/data.pkl": c.program, "archive/data/0": c.storage})
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err := decodeTorch(context.Background(), file)
		if runtime.ReadMemStats(&after); !errors.Is(err, ErrFormat) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("error %v, want %s", err, c.want)
		}
		if taken := after.TotalAlloc - before.TotalAlloc; taken > 1<<20 {
			t.Errorf("%s: %d bytes of memory for a file of %d", c.want, taken, len(file))
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

// FuzzProgram runs programs in place of the data.pkl of a file.
func FuzzProgram(f *testing.F) {
	f.Add([]byte(good))
	f.Fuzz(func(t *testing.T, program []byte) {
		object, err := pickle.Load(context.Background(), string(program), torchClasses())
		if err != nil {
			return
		}
		tensors, views, err := stateDict(object)
		if err != nil {
			return
		}
		for k, v := range views {
			if v.check(tensors[k].Shape) != nil || v.count != 16 {
				continue
			}
			if values := v.values(make([]byte, 64), tensors[k].Shape); len(values) > 16 {
				t.Errorf("%d values of 64 bytes", len(values))
			}
		}
	})
}

func FuzzSafetensors(f *testing.F) {
	var b bytes.Buffer
	if err := Encode(&b, nil, []Tensor{{"a.weight", []int{2, 1}, []float32{1, 2}}, {"a.bias", []int{1}, []float32{3}}}); err != nil {
		f.Fatal(err)
	}
	f.Add(b.Bytes())
	f.Fuzz(func(t *testing.T, data []byte) {
		tensors, err := decodeSafetensors(context.Background(), data)
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
