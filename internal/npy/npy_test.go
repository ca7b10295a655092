package npy

import (
	"archive/zip"
	"bytes"
	"compress/flate"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/gcn-layerwise/gcn/internal/memory"
)

func encode[T Element](t testing.TB, values []T, shape ...int) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := Write(&b, values, shape...); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func reader(t testing.TB, file []byte) *Reader {
	t.Helper()
	r, err := NewReader("made.npy", bytes.NewReader(file), int64(len(file)))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// raw makes a file of the given dictionary and data.
func raw(dict string, data ...byte) []byte {
	b := append([]byte(magic), 1, 0)
	b = binary.LittleEndian.AppendUint16(b, uint16(len(dict)))
	return append(append(b, dict...), data...)
}

// The bytes numpy.save wrote for numpy.array([[1.5, -2], [3, 4]], '<f4').
func TestNumPyBytes(t *testing.T) {
	want := "\x93NUMPY\x01\x00v\x00{'descr': '<f4', 'fortran_order': False, 'shape': (2, 2), }" + strings.Repeat(" ", 58) + "\n" +
		"\x00\x00\xc0\x3f\x00\x00\x00\xc0\x00\x00\x40\x40\x00\x00\x80\x40"
	if got := encode(t, []float32{1.5, -2, 3, 4}, 2, 2); string(got) != want {
		t.Errorf("wrote %q\nwant  %q", got, want)
	}
	got, err := All[float32](context.Background(), reader(t, []byte(want)))
	if err != nil || !slices.Equal(got, []float32{1.5, -2, 3, 4}) {
		t.Errorf("read %v, %v", got, err)
	}
}

func TestRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rows, cols := rapid.IntRange(0, 50).Draw(t, "rows"), rapid.IntRange(1, 400).Draw(t, "cols")
		floats := make([]float32, rows*cols)
		ints := make([]int64, rows*cols)
		small := make([]int32, rows*cols)
		for k := range floats {
			floats[k] = float32(k) * 0.37
			ints[k] = int64(k) * -7_000_000_001
			small[k] = int32(k) * -70_001
		}
		var f, i, s bytes.Buffer
		if err := errors.Join(Write(&f, floats, rows, cols), Write(&i, ints, rows*cols), Write(&s, small, cols, rows)); err != nil {
			t.Fatal(err)
		}
		open := func(b *bytes.Buffer) *Reader {
			r, err := NewReader("x", b, int64(b.Len()))
			if err != nil {
				t.Fatal(err)
			}
			return r
		}
		fr := open(&f)
		if !slices.Equal(fr.Shape, []int{rows, cols}) {
			t.Fatalf("shape %v, want %d×%d", fr.Shape, rows, cols)
		}
		if got, err := All[float32](context.Background(), fr); err != nil || !slices.Equal(got, floats) {
			t.Fatalf("float32: %v", err)
		}
		if got, err := All[int64](context.Background(), open(&i)); err != nil || !slices.Equal(got, ints) {
			t.Fatalf("int64: %v", err)
		}
		if got, err := All[int32](context.Background(), open(&s)); err != nil || !slices.Equal(got, small) {
			t.Fatalf("int32: %v", err)
		}
	})
}

func TestWriteRefusesWrongShape(t *testing.T) {
	if err := Write(io.Discard, []int64{1, 2, 3}, 2, 2); err == nil {
		t.Error("wrote 3 values as a 2×2 array")
	}
}

func TestElementTypes(t *testing.T) {
	f64 := math.Float64bits(0.5)
	for _, c := range []struct {
		descr string
		data  []byte
		want  float32
	}{
		{"<f4", binary.LittleEndian.AppendUint32(nil, math.Float32bits(-2.25)), -2.25},
		{"<f2", []byte{0x00, 0xc1}, -2.5},
		{"<f8", binary.LittleEndian.AppendUint64(nil, f64), 0.5},
		{"|i1", []byte{0xff}, -1},
		{"<i2", []byte{0xfe, 0xff}, -2},
		{"<i4", []byte{0xfd, 0xff, 0xff, 0xff}, -3},
		{"<i8", []byte{0xfc, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff}, -4},
		{"|u1", []byte{0xff}, 255},
		{"<u2", []byte{0xff, 0xff}, 65535},
		{"<u4", []byte{0, 0, 0, 0x80}, 1 << 31},
		{"<u8", []byte{0, 0, 0, 0, 0, 0, 0, 0x80}, 1 << 63},
		{"|b1", []byte{1}, 1},
	} {
		file := raw("{'descr': '"+c.descr+"', 'fortran_order': False, 'shape': (1,), }\n", c.data...)
		if got, err := All[float32](context.Background(), reader(t, file)); err != nil || got[0] != c.want {
			t.Errorf("%s: %v, %v; want %v", c.descr, got, err, c.want)
		}
		got, err := All[int64](context.Background(), reader(t, file))
		switch {
		case strings.HasPrefix(c.descr, "<f"):
			if err == nil || !strings.Contains(err.Error(), "want integers") {
				t.Errorf("%s as int64: %v, %v; want an error", c.descr, got, err)
			}
		case c.descr == "<u8":
			if !errors.Is(err, ErrFormat) {
				t.Errorf("%s as int64: %v, %v; want an error", c.descr, got, err)
			}
		case err != nil || got[0] != int64(c.want):
			t.Errorf("%s as int64: %v, %v; want %v", c.descr, got, err, int64(c.want))
		}
	}
}

func TestInt32sOutOfRange(t *testing.T) {
	for _, v := range []int64{math.MaxInt32 + 1, math.MinInt32 - 1} {
		_, err := All[int32](context.Background(), reader(t, encode(t, []int64{0, 1, v}, 3)))
		if err == nil || !strings.Contains(err.Error(), "made.npy: element 2 is too large") {
			t.Errorf("%d: %v", v, err)
		}
	}
}

func TestFortranOrder(t *testing.T) {
	file := raw("{'descr': '|u1', 'fortran_order': True, 'shape': (2, 3), }\n", 1, 4, 2, 5, 3, 6)
	got, err := All[int32](context.Background(), reader(t, file))
	if want := []int32{1, 2, 3, 4, 5, 6}; err != nil || !slices.Equal(got, want) {
		t.Errorf("%v, %v; want %v", got, err, want)
	}
}

func TestBadFiles(t *testing.T) {
	good := encode(t, []int64{1, 2, 3, 4}, 4)
	dict := func(d string) []byte { return raw(d+"\n", 0, 0, 0, 0) }
	for name, c := range map[string]struct {
		file []byte
		want string
	}{
		"empty":            {nil, "ends within the first 12 bytes"},
		"not npy":          {[]byte("hello, world"), "starts with"},
		"cut in header":    {good[:40], "ends within the header"},
		"cut in data":      {good[:len(good)-1], "holds 31 bytes of data, but <i8 of shape [4] takes 32"},
		"longer":           {append(slices.Clone(good), 0), "holds 33 bytes"},
		"version 9":        {append([]byte(magic+"\x09\x00"), good[8:]...), `starts with "\x93NUMPY\t\x00"`},
		"record":           {dict("{'descr': [('a', '<i4')], 'fortran_order': False, 'shape': (1,), }"), "want the keys descr, of one element type, fortran_order and shape"},
		"missing key":      {dict("{'descr': '<i4', 'shape': (1,), }"), "want the keys descr, of one element type, fortran_order and shape"},
		"key twice":        {dict("{'descr': '<i4', 'descr': '<i4', 'shape': (1,), }"), "want the keys descr, of one element type, fortran_order and shape"},
		"unknown key":      {dict("{'descr': '<i4', 'x': 1}"), "want the keys descr, of one element type, fortran_order and shape"},
		"negative size":    {dict("{'descr': '<i4', 'fortran_order': False, 'shape': (-1,), }"), "want the keys descr, of one element type, fortran_order and shape"},
		"huge size":        {dict("{'descr': '<i4', 'fortran_order': False, 'shape': (99999999999999999999,), }"), "is too large"},
		"huge product":     {dict("{'descr': '<i4', 'fortran_order': False, 'shape': (4294967296, 4294967296), }"), "too large"},
		"large product":    {dict("{'descr': '<i4', 'fortran_order': False, 'shape': (2147483647, 2147483647, 2), }"), "too large"},
		"claims too much":  {dict("{'descr': '<i4', 'fortran_order': False, 'shape': (500000000,), }"), "takes 2000000000"},
		"text after dict":  {dict("{'descr': '<i4', 'fortran_order': False, 'shape': (1,), } x"), "want the keys descr, of one element type, fortran_order and shape"},
		"no dict":          {dict("[]"), "want the keys descr, of one element type, fortran_order and shape"},
		"boolean misspelt": {dict("{'descr': '<i4', 'fortran_order': 0, 'shape': (1,), }"), "want the keys descr, of one element type, fortran_order and shape"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := NewReader("f.npy", bytes.NewReader(c.file), int64(len(c.file)))
			if err == nil || !errors.Is(err, ErrFormat) || !strings.HasPrefix(err.Error(), "npy: f.npy: ") || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v\nwant npy: f.npy: … %s …", err, c.want)
			}
			if err != nil && strings.Contains(err.Error(), "\n") {
				t.Errorf("error of several lines: %q", err)
			}
		})
	}
}

// Arrays of kinds that are not read are said to be that, not damaged.
func TestOtherKinds(t *testing.T) {
	for descr, want := range map[string]string{
		"|O": `"|O" is of Python objects`, "|O8": "Python objects", "<c8": `"<c8" is not one of`, "<M8[ns]": "is not one of", ">U1": "is not one of", "<f16": "is not one of", "<u3": "is not one of",
	} {
		file := raw("{'descr': '"+descr+"', 'fortran_order': False, 'shape': (1,), }\n", 0, 0, 0, 0)
		_, err := NewReader("f.npy", bytes.NewReader(file), int64(len(file)))
		if err == nil || errors.Is(err, ErrFormat) || !strings.HasPrefix(err.Error(), "npy: f.npy: ") || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", descr, err)
		}
	}
	_, err := All[int64](context.Background(), reader(t, encode(t, []float64{1}, 1)))
	if want := "npy: made.npy: elements are <f8, want integers"; err == nil || err.Error() != want {
		t.Errorf("floats as integers: %v, want %s", err, want)
	}
}

// Every type of numbers is read as every other that can hold it, in either byte order, whole
// and in pieces, and in Fortran order.
func TestByteOrders(t *testing.T) {
	ctx := context.Background()
	for _, c := range []struct {
		descr string
		bytes []byte // 1, 2 and 3, big-endian
	}{
		{"f2", []byte{0x3c, 0, 0x40, 0, 0x42, 0}}, {"f4", []byte{0x3f, 0x80, 0, 0, 0x40, 0, 0, 0, 0x40, 0x40, 0, 0}},
		{"f8", []byte{0x3f, 0xf0, 0, 0, 0, 0, 0, 0, 0x40, 0, 0, 0, 0, 0, 0, 0, 0x40, 8, 0, 0, 0, 0, 0, 0}},
		{"i1", []byte{1, 2, 3}}, {"u1", []byte{1, 2, 3}}, {"i2", []byte{0, 1, 0, 2, 0, 3}}, {"u2", []byte{0, 1, 0, 2, 0, 3}},
		{"i4", []byte{0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0, 3}}, {"u4", []byte{0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0, 3}},
		{"i8", append(append(append(make([]byte, 7), 1), append(make([]byte, 7), 2)...), append(make([]byte, 7), 3)...)},
		{"u8", append(append(append(make([]byte, 7), 1), append(make([]byte, 7), 2)...), append(make([]byte, 7), 3)...)},
	} {
		width := len(c.bytes) / 3
		for _, order := range []string{"<", ">"} {
			const n = 3 * 40_000 // more than a piece
			var data []byte
			for k := range n {
				element := slices.Clone(c.bytes[k%3*width : (k%3+1)*width])
				if order == "<" {
					slices.Reverse(element)
				}
				data = append(data, element...)
			}
			for _, fortran := range []bool{false, true} {
				python := map[bool]string{false: "False", true: "True"}[fortran]
				file := raw(fmt.Sprintf("{'shape': (3, %d), 'fortran_order': %s, 'descr': '%s%s'}\n", n/3, python, order, c.descr), data...)
				value := func(k int) int {
					if fortran {
						k = k/(n/3) + k%(n/3)*3
					}
					return k%3 + 1
				}
				got, err := All[float32](ctx, reader(t, file))
				if err != nil || len(got) != n {
					t.Fatalf("%s%s: %d values, %v", order, c.descr, len(got), err)
				}
				for k, v := range got {
					if int(v) != value(k) {
						t.Fatalf("%s%s, Fortran order %v: value %d is %v, want %d", order, c.descr, fortran, k, v, value(k))
					}
				}
				if c.descr[0] == 'f' || fortran {
					continue
				}
				ints, err := All[int64](ctx, reader(t, file))
				pieces, r := make([]int32, n), reader(t, file)
				err = errors.Join(err, Read(ctx, r, pieces[:5]), r.Skip(ctx, 70_000), Read(ctx, r, pieces[70_005:]))
				for k := range ints {
					if int(ints[k]) != value(k) || (k < 5 || k >= 70_005) && int(pieces[k]) != value(k) {
						t.Fatalf("%s%s: value %d is %v, and %v in pieces", order, c.descr, k, ints[k], pieces[k])
					}
				}
				if err != nil || len(ints) != n {
					t.Errorf("%s%s: %d values, %v", order, c.descr, len(ints), err)
				}
			}
		}
	}
}

func archive(t testing.TB, method uint16, members map[string][]byte) []byte {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for name, content := range members {
		w, err := z.CreateHeader(&zip.FileHeader{Name: name + ".npy", Method: method})
		if err == nil {
			_, err = w.Write(content)
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

func TestArchive(t *testing.T) {
	for _, method := range []uint16{zip.Store, zip.Deflate} {
		file := archive(t, method, map[string][]byte{
			"x": encode(t, []float32{1, 2, 3}, 3),
			"y": encode(t, make([]int64, 100_000), 100, 1000), // compresses a thousandfold
		})
		path := filepath.Join(t.TempDir(), "a.npz")
		if err := os.WriteFile(path, file, 0o600); err != nil {
			t.Fatal(err)
		}
		a, err := OpenArchive(path)
		if err != nil {
			t.Fatal(err)
		}
		if got := slices.Sorted(slices.Values(a.Keys())); !slices.Equal(got, []string{"x", "y"}) {
			t.Errorf("keys %v", got)
		}
		r, err := a.Open("y")
		if err != nil {
			t.Fatal(err)
		}
		if got, err := All[int32](context.Background(), r); err != nil || len(got) != 100_000 {
			t.Errorf("y: %d values, %v", len(got), err)
		}
		if _, err := a.Open("z"); err == nil || !strings.Contains(err.Error(), `no array "z"; it holds x, y`) {
			t.Errorf("missing member: %v", err)
		}
		if err := errors.Join(r.Close(), a.Close()); err != nil {
			t.Error(err)
		}
	}
}

// A member whose bytes were changed fails its checksum.
func TestArchiveChecksum(t *testing.T) {
	file := archive(t, zip.Store, map[string][]byte{"x": encode(t, []float32{1, 2, 3}, 3)})
	at := bytes.Index(file, []byte("\x00\x00\x80\x3f"))
	file[at] ^= 1
	a, err := NewArchive("a.npz", bytes.NewReader(file), int64(len(file)))
	if err != nil {
		t.Fatal(err)
	}
	r, err := a.Open("x")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := All[float32](context.Background(), r); !errors.Is(err, zip.ErrChecksum) {
		t.Errorf("got %v, want a checksum error", err)
	}
}

func TestArchiveRepeatedMember(t *testing.T) {
	var file bytes.Buffer
	z := zip.NewWriter(&file)
	for range 2 {
		if _, err := z.Create("x.npy"); err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := NewArchive("a.npz", bytes.NewReader(file.Bytes()), int64(file.Len())); !errors.Is(err, ErrFormat) || !strings.Contains(err.Error(), `two members "x.npy"`) {
		t.Errorf("error %v", err)
	}
}

func TestOpenNamesMissingFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "none.npy")
	if _, err := Open(path); !errors.Is(err, os.ErrNotExist) || !strings.Contains(err.Error(), "none.npy") {
		t.Errorf("Open: %v", err)
	}
	if _, err := OpenArchive(path); !errors.Is(err, os.ErrNotExist) || !strings.Contains(err.Error(), "none.npy") {
		t.Errorf("OpenArchive: %v", err)
	}
}

// readEvery reads a file with every method.
func readEvery(open func() (*Reader, error)) error {
	for _, read := range []func(*Reader) (int, error){
		func(r *Reader) (int, error) { v, err := All[float32](context.Background(), r); return len(v), err },
		func(r *Reader) (int, error) { v, err := All[int64](context.Background(), r); return len(v), err },
		func(r *Reader) (int, error) { v, err := All[int32](context.Background(), r); return len(v), err },
		func(r *Reader) (int, error) { v, err := r.Texts(context.Background()); return len(v), err },
	} {
		r, err := open()
		if err != nil {
			return nil
		}
		if n, err := read(r); err == nil && n != r.Len() {
			return fmt.Errorf("read %d values of %d", n, r.Len())
		}
	}
	return nil
}

func FuzzRead(f *testing.F) {
	f.Add(encode(f, []float32{1, 2, 3, 4}, 2, 2))
	f.Add(encode(f, []int64{1, 2, 3, 1 << 40}, 4))
	f.Add(encode(f, []bool{true, false}, 2))
	f.Add(raw("{'descr': '<U1', 'fortran_order': False, 'shape': (2,), }", 'a', 0, 0, 0, 0xe9, 0, 0, 0))
	f.Add(raw("{'descr': '|S2', 'fortran_order': False, 'shape': (2,), }", 'a', 0, 0xc3, 0xa9))
	f.Add(raw("{'descr': '|u1', 'fortran_order': True, 'shape': (2L, 3L), }\n", 1, 4, 2, 5, 3, 6))
	f.Fuzz(func(t *testing.T, file []byte) {
		if err := readEvery(func() (*Reader, error) { return NewReader("fuzz", bytes.NewReader(file), int64(len(file))) }); err != nil {
			t.Error(err)
		}
	})
}

func FuzzArchive(f *testing.F) {
	f.Add(archive(f, zip.Store, map[string][]byte{"x": encode(f, []float32{1, 2, 3}, 3)}))
	f.Add(archive(f, zip.Deflate, map[string][]byte{"x": encode(f, make([]int64, 9), 3, 3), "y": nil}))
	f.Fuzz(func(t *testing.T, file []byte) {
		a, err := NewArchive("fuzz", bytes.NewReader(file), int64(len(file)))
		if err != nil {
			return
		}
		for _, key := range a.Keys() {
			if err := readEvery(func() (*Reader, error) { return a.Open(key) }); err != nil {
				t.Error(err)
			}
		}
	})
}

func BenchmarkRead(b *testing.B) {
	const n = 1 << 20
	read := func(name string, file []byte, values func(*Reader) error) {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(file)))
			for b.Loop() {
				if err := values(reader(b, file)); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
	floats := func(r *Reader) error { _, err := All[float32](context.Background(), r); return err }
	ints := func(r *Reader) error { _, err := All[int32](context.Background(), r); return err }
	read("float32", encode(b, make([]float32, n), n), floats)
	read("float64", encode(b, make([]float64, n), n), floats)
	read("int64", encode(b, make([]int64, n), n), ints)
	read("int32", encode(b, make([]int32, n), n), ints)
	read("bool", encode(b, make([]bool, n), n), ints)
}

func BenchmarkWrite(b *testing.B) {
	values := make([]float32, 1<<20)
	b.SetBytes(4 << 20)
	for b.Loop() {
		if err := Write(io.Discard, values, 1<<20); err != nil {
			b.Fatal(err)
		}
	}
}

// A shape with product 0 may have huge dimensions. Reading it must take neither memory
// nor time.
func TestEmptyFortranArray(t *testing.T) {
	for _, shape := range []string{fmt.Sprintf("(0, %d)", math.MaxInt/4), fmt.Sprintf("(%d, 0)", math.MaxInt/4), "(0, 0)"} {
		head := fmt.Sprintf("%-117s\n", "{'descr': '<f4', 'fortran_order': True, 'shape': "+shape+"}")
		values, err := All[float32](context.Background(), reader(t, []byte(magic+"\x01\x00\x76\x00"+head)))
		if err != nil || len(values) != 0 {
			t.Errorf("%s: %d values, %v", shape, len(values), err)
		}
	}
}

// A member that claims more than the memory is refused before memory is allocated.
func TestArchiveClaim(t *testing.T) {
	if math.MaxInt == math.MaxInt32 {
		t.Skip("the shape does not fit in an int")
	}
	const claim int64 = 1 << 50
	var b, packed bytes.Buffer
	z := zip.NewWriter(&b)
	deflate, err := flate.NewWriter(&packed, flate.BestSpeed)
	if err == nil {
		fmt.Fprintf(deflate, "%s\x01\x00\x76\x00%-117s\nsome data", magic, fmt.Sprintf("{'descr': '<f4', 'fortran_order': False, 'shape': (%d,)}", (claim-128)/4))
		err = deflate.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	w, err := z.CreateRaw(&zip.FileHeader{Name: "x.npy", Method: zip.Deflate, CompressedSize64: uint64(packed.Len()), UncompressedSize64: uint64(claim)})
	if err == nil {
		_, err = w.Write(packed.Bytes())
	}
	if err := errors.Join(err, z.Close()); err != nil {
		t.Fatal(err)
	}
	a, err := NewArchive("a.npz", bytes.NewReader(b.Bytes()), int64(b.Len()))
	if err != nil {
		t.Fatal(err)
	}
	r, err := a.Open("x")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := All[float32](context.Background(), r); !errors.Is(err, memory.ErrTooLarge) || !strings.Contains(err.Error(), "a.npz: x: ") {
		t.Errorf("got %v", err)
	}
}

// Values that do not fit in memory are an error before memory is allocated.
func TestTooLargeArray(t *testing.T) {
	if math.MaxInt == math.MaxInt32 {
		t.Skip("the shape does not fit in an int")
	}
	const claim int64 = 1 << 60
	head := fmt.Sprintf("%s\x01\x00\x76\x00%-117s\n", magic, fmt.Sprintf("{'descr': '|u1', 'fortran_order': False, 'shape': (%d,)}", claim-128))
	r, err := NewReader("x.npy", strings.NewReader(head), claim)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := All[int64](context.Background(), r); !errors.Is(err, memory.ErrTooLarge) || !strings.Contains(err.Error(), "npy: x.npy: shape [") {
		t.Errorf("got %v", err)
	}
}

func TestCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := All[float32](ctx, reader(t, encode(t, []float32{1, 2}, 2))); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}
