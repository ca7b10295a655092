package pickle

import (
	"context"
	"errors"
	"fmt"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/gcn-layerwise/gcn/internal/npy"
)

// The files hold one tuple, pickled by Python 3.11 with NumPy 1.24 and SciPy 1.10:
//
//	g = collections.defaultdict(list); g[0] = [1, 1]; g[np.int64(1)] = [0, np.int32(2)]; g[2] = []
//	x = sp.csr_matrix(np.array([[0, 1.5, 0], [2, 0, 0]], dtype=np.float32))
//	(g, x, sp.csr_array(x), np.array([[0, 1], [1, 0]], dtype=np.int32),
//	 np.asfortranarray(np.array([[1, 2, 3], [4, 5, 6]], dtype=">i2")), np.array([True, False]),
//	 -2**40, 200, 70000, 1.25, "né\u20ac\U0001f600\\", b"\x00\x01'\"\n\xff", True, None,
//	 {"a": [1, (2, 3, 4, 5)]}, collections.OrderedDict(z=1), np.float32(2.5))
func TestProtocols(t *testing.T) {
	ctx := context.Background()
	for protocol := range 6 {
		file, err := os.ReadFile(fmt.Sprintf("testdata/protocol%d.pickle", protocol))
		if err != nil {
			t.Fatal(err)
		}
		v, err := Load(ctx, string(file), ArrayClasses())
		if err != nil {
			t.Fatalf("protocol %d: %v", protocol, err)
		}
		values := v.(Tuple)
		floats := func(v any) string {
			r, err := Array("a", v)
			if err != nil {
				return err.Error()
			}
			x, err := npy.All[float32](ctx, r)
			return fmt.Sprint(r.Shape, x, err)
		}
		graph := values[0].(*Dict)
		if len(graph.Keys) != 3 || graph.Keys[0] != any(0) || !reflect.DeepEqual(graph.Values[0], &List{[]any{1, 1}}) || floats(graph.Keys[1]) != "[] [1] <nil>" || floats(graph.Values[1].(*List).Items[1]) != "[] [2] <nil>" {
			t.Errorf("protocol %d: graph %v", protocol, graph)
		}
		for _, k := range []int{1, 2} {
			m := values[k].(*Object).State.(*Dict)
			if floats(m.Get("data")) != "[2] [1.5 2] <nil>" || floats(m.Get("indices")) != "[2] [1 0] <nil>" || floats(m.Get("indptr")) != "[3] [0 1 2] <nil>" || !reflect.DeepEqual(m.Get("_shape"), Tuple{2, 3}) {
				t.Errorf("protocol %d: matrix %v, %s", protocol, m, floats(m.Get("data")))
			}
		}
		for k, want := range map[int]string{3: "[2 2] [0 1 1 0] <nil>", 4: "[2 3] [1 2 3 4 5 6] <nil>", 5: "[2] [1 0] <nil>", 16: "[] [2.5] <nil>", 6: "a: not an array of numbers"} {
			if got := floats(values[k]); got != want {
				t.Errorf("protocol %d: value %d is %s, want %s", protocol, k, got, want)
			}
		}
		want := Tuple{-1 << 40, 200, 70000, 1.25, "né€😀\\", "\x00\x01'\"\n\xff", true, nil, &Dict{[]any{"a"}, []any{&List{[]any{1, Tuple{2, 3, 4, 5}}}}}, &Dict{[]any{"z"}, []any{1}}}
		if !reflect.DeepEqual(values[6:16], want) {
			t.Errorf("protocol %d: %v, want %v", protocol, values[6:16], want)
		}
		for n := range len(file) { // cut short anywhere
			if _, err := Load(ctx, string(file[:n]), ArrayClasses()); err == nil || strings.Contains(err.Error(), "\n") {
				t.Fatalf("protocol %d, %d bytes of %d: %v", protocol, n, len(file), err)
			}
		}
	}
}

// Python 2 wrote texts and bytes in quotes in protocol 0.
func TestPython2(t *testing.T) {
	v, err := Load(context.Background(), `(S'a\\\'"\n\x00\xe9'`+"\n"+`S"it's"`+"\nI01\nI-7\nL12L\nF1.5\nV\\u20ac\xe9\ntp0\n.", nil)
	if want := (Tuple{"a\\'\"\n\x00\xe9", "it's", true, -7, 12, 1.5, "€é"}); err != nil || !reflect.DeepEqual(v, want) {
		t.Errorf("%q, %v", v, err)
	}
}

func TestHostile(t *testing.T) {
	for name, c := range map[string]struct{ program, want string }{
		"a call":                 {"\x80\x02cos\nsystem\nX\x02\x00\x00\x00ls\x85R.", `byte 2: class "system" of module "os" is not read`},
		"a call, protocol 4":     {"\x80\x04\x8c\x02os\x8c\x06system\x93X\x02\x00\x00\x00ls\x85R.", `byte 14: class "system" of module "os" is not read`},
		"an instance":            {"(ios\nsystem\n.", "byte 1: opcode 0x69"},
		"an old object":          {"(cos\nsystem\no.", `class "system"`},
		"a text as class":        {"U\x06systemU\x02ls\x85R.", "do not fit"},
		"an extension":           {"\x82\x01.", "opcode 0x82"},
		"a persistent id":        {"K\x01Q.", `class "id" of module "persistent"`},
		"a buffer outside":       {"\x97.", "opcode 0x97"},
		"protocol 6":             {"\x80\x06N.", "protocol 6"},
		"empty":                  {"", "byte 0: the file ends"},
		"without an end":         {"N", "byte 1: the file ends"},
		"a long text":            {"X\xff\xff\xff\xff", "the file ends"},
		"a longer text":          {"\x8d\xff\xff\xff\xff\xff\xff\xff\xff", "an integer of more than"},
		"a long line":            {"Vabc", "the file ends"},
		"a long integer":         {"\x8a\x09123456789.", "an integer of more than"},
		"many digits":            {"L" + strings.Repeat("9", 1<<20) + "L\n.", "value out of range"},
		"no integer":             {"Ix\n.", "invalid syntax"},
		"no float":               {"Fx\n.", "invalid syntax"},
		"no quotes":              {"Sx\n.", "not a string in quotes"},
		"half a quote":           {"S'\n.", "not a string in quotes"},
		"a bad escape":           {`S'\q'` + "\n.", "invalid syntax"},
		"no value":               {".", "do not fit"},
		"no mark":                {"N\x85t.", "do not fit"},
		"below a mark":           {"N(\x85.", "do not fit"},
		"a mark as value":        {"(.", "do not fit"},
		"an odd dictionary":      {"(Nd.", "do not fit"},
		"odd items":              {"}(K\x01u.", "do not fit"},
		"items of a number":      {"NK\x01a.", "do not fit"},
		"no such memo":           {"h\x07.", "nothing is kept"},
		"a wrong place":          {"Np-x\n.", "invalid syntax"},
		"a full dictionary":      {"ccollections\nOrderedDict\n](]\x85R.", "do not fit"},
		"values of a dictionary": {"ccollections\nOrderedDict\n]\x85R.", "OrderedDict with values"},
		"not Latin-1":            {"c_codecs\nencode\nX\x03\x00\x00\x00\xe2\x82\xacX\x06\x00\x00\x00latin1\x86R.", "not a letter of Latin-1"},
	} {
		v, err := Load(context.Background(), c.program, ArrayClasses())
		if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n") || len(err.Error()) > 400 {
			t.Errorf("%s: %v, %v; want %s", name, v, err, c.want)
		}
	}
}

// A short pickle cannot take all memory, or never end.
func TestBombs(t *testing.T) {
	text := strings.Repeat("a", 1<<16)
	again := "X\x00\x00\x01\x00" + text + "q\x00(" + strings.Repeat("c_codecs\nencode\nh\x00U\x06latin1\x86R", 1<<10) + "t."
	if _, err := Load(context.Background(), again, ArrayClasses()); err == nil || !strings.Contains(err.Error(), "again and again") {
		t.Error(err)
	}
	deep := "]q\x00" + strings.Repeat("h\x00h\x00\x86q\x00", 200) + "." // 2²⁰⁰ values, if it were a tree
	if _, err := Load(context.Background(), deep, ArrayClasses()); err != nil {
		t.Error(err)
	}
	if v, err := Load(context.Background(), "]q\x00h\x00a.", ArrayClasses()); err != nil || v.(*List).Items[0] != v {
		t.Errorf("a list in itself: %v", err)
	}
	nested := strings.Repeat("(", 1<<20) + strings.Repeat("t", 1<<20) + "."
	if _, err := Load(context.Background(), nested, ArrayClasses()); err != nil {
		t.Error(err)
	}
}

func TestBadArrays(t *testing.T) {
	dtype := &Object{"numpy dtype", Tuple{"i4", 0, 1}, Tuple{3, "<", nil}}
	array := func(state ...any) any { return &Object{"numpy.core.multiarray _reconstruct", nil, Tuple(state)} }
	many := Tuple(slices.Repeat([]any{1}, 65))
	for name, c := range map[string]struct {
		value any
		want  string
	}{
		"a number": {1, "a: not an array of numbers"}, "nothing": {nil, "not an array"}, "without a state": {array(), "not an array"},
		"another state":        {array(1, Tuple{2}, dtype, false), "not an array"},
		"a shape of texts":     {array(1, Tuple{"x"}, dtype, false, ""), "not an array"},
		"a negative shape":     {array(1, Tuple{-1}, dtype, false, ""), "not an array"},
		"too many dimensions":  {array(1, many, dtype, false, "abcd"), "not an array"},
		"no element type":      {array(1, Tuple{1}, 5, false, "abcd"), "not an array"},
		"Python objects":       {array(1, Tuple{1}, &Object{"numpy dtype", Tuple{"O8"}, Tuple{3, "|"}}, false, &List{}), "Python objects"},
		"a record":             {array(1, Tuple{1}, &Object{"numpy dtype", Tuple{"V8"}, Tuple{3, "|"}}, false, "abcdefgh"), "is not one of"},
		"too few bytes":        {array(1, Tuple{2}, dtype, false, "abcd"), "holds 4 bytes of data, but <i4 of shape [2] takes 8"},
		"more than all memory": {array(1, Tuple{1<<31 - 1, 1<<31 - 1, 1<<31 - 1}, dtype, false, "abcd"), "too large"},
	} {
		if _, err := Array("a", c.value); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %s", name, err, c.want)
		}
	}
}

func TestCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := Load(ctx, "N.", nil); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

func FuzzLoad(f *testing.F) {
	for protocol := range 6 {
		file, err := os.ReadFile(fmt.Sprintf("testdata/protocol%d.pickle", protocol))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(file)
	}
	f.Add([]byte("}(]q\x00h\x00a]u."))
	f.Add([]byte("(lp0\nI1\na(dp1\nS'a'\nI2\ns."))
	f.Fuzz(func(t *testing.T, file []byte) {
		v, err := Load(context.Background(), string(file), append(ArrayClasses(), Persistent))
		if err == nil {
			var r interface{ Len() int }
			if r, err = Array("a", v); err == nil && r.Len() > len(file) {
				t.Errorf("%d elements of %d bytes", r.Len(), len(file))
			}
		}
		if err != nil && (strings.Contains(err.Error(), "\n") || len(err.Error()) > 1000) {
			t.Errorf("error of several lines: %q", err)
		}
	})
}

func Example() {
	// The pickle of {"a": [1, 2]} in protocol 2.
	v, err := Load(context.Background(), "\x80\x02}q\x00U\x01aq\x01]q\x02(K\x01K\x02es.", ArrayClasses())
	fmt.Println(v.(*Dict).Get("a").(*List).Items, err)
	// Output: [1 2] <nil>
}
