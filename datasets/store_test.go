package datasets

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"flag"
	"fmt"
	"hash/crc32"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gcn-layerwise/gcn/graph"
	"github.com/gcn-layerwise/gcn/internal/store"
)

// TestMain lets the tests start processes that they can kill, and keeps their
// cache apart from the user's.
func TestMain(m *testing.M) {
	flag.Parse()
	if task := os.Getenv("DATASETS_TEST_CHILD"); task != "" {
		os.Exit(child(task))
	}
	cache, err := os.MkdirTemp("", "gcn-test")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Setenv("GCN_DATA", cache)
	os.Unsetenv("GCN_MIRROR")
	code := m.Run()
	os.RemoveAll(cache)
	os.Exit(code)
}

// madeVariant returns a data set in one of the forms of a store's contents.
func madeVariant(t testing.TB, n int, seed uint64, variant int) *Data {
	t.Helper()
	d := made(t, n, seed)
	if variant&1 != 0 { // weighted
		d.Graph.Val = make([]float32, len(d.Graph.Idx))
		for i := range n {
			for k := d.Graph.Ptr[i]; k < d.Graph.Ptr[i+1]; k++ {
				d.Graph.Val[k] = float32(i)*float32(d.Graph.Idx[k]) + 0.5
			}
		}
	}
	if variant&2 != 0 { // tasks
		d.Labels = &graph.Labels{Tasks: 2, Multi: make([]float32, 2*n)}
		d.Labels.Multi[0] = 1
		d.Labels.Multi[1] = float32(math.NaN())
		d.Metric = ROCAUC
	}
	if variant&4 != 0 { // nothing to choose by or to test on
		d.Split.Valid, d.Split.Test = nil, nil
	}
	if variant&8 != 0 { // names
		for k := range d.Labels.Outputs() {
			d.Labels.Names = append(d.Labels.Names, fmt.Sprintf("%cöß\n%d", 'a'+k, k))
		}
		d.NodeNames = new(graph.Names)
		for i := range n {
			d.NodeNames.Append(strings.Repeat("ñ", i%3) + fmt.Sprint(i%7))
		}
	}
	d.Report = graph.Report{Given: 7, SelfLoops: 1, Duplicates: 2, Edges: d.Edges()}
	d.Notes = []string{"a note, with \"quotes\"\nand lines"}
	if err := d.Validate(); err != nil {
		t.Fatal(err)
	}
	return d
}

func writeStoreFile(t testing.TB, d *Data) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "made.store")
	if err := WriteStore(context.Background(), path, d); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestStoreRoundTrip(t *testing.T) {
	dir := t.TempDir()
	for variant := range 16 {
		want := madeVariant(t, 10+31*variant, uint64(variant), variant)
		path := filepath.Join(dir, "made.store")
		if err := WriteStore(context.Background(), path, want); err != nil {
			t.Fatal(err)
		}
		got := open(t, "store:"+path)
		sameData(t, got, want)
		if got.Name != "store:"+path || got.Report != want.Report || !slices.Equal(got.Notes, append([]string{"made from made"}, want.Notes...)) {
			t.Errorf("name %q, report %+v, notes %q", got.Name, got.Report, got.Notes)
		}
		if (got.Graph.Val == nil) != (want.Graph.Val == nil) {
			t.Error("weighted differs")
		}
		if err := got.Validate(); err != nil {
			t.Error(err)
		}
		// A copy of a copy is the same file.
		again := filepath.Join(dir, "again.store")
		if err := WriteStore(context.Background(), again, got); err != nil {
			t.Fatal(err)
		}
		a, b := readBytes(t, path), readBytes(t, again)
		if !bytes.Equal(a, b) {
			t.Error("a copy of the store differs")
		}
		if err := errors.Join(got.Close(), got.Close()); err != nil {
			t.Error(err)
		}
	}
}

func readBytes(t testing.TB, path string) []byte {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// A file made by hand from the layout in internal/store opens.
func TestStoreLayout(t *testing.T) {
	le := binary.LittleEndian
	var content []byte
	sums := "00000000"
	array := func(words ...uint32) {
		from := len(content)
		for _, v := range words {
			content = le.AppendUint32(content, v)
		}
		sums += fmt.Sprintf(" %08x", crc32.Checksum(content[from:], crc32.MakeTable(crc32.Castagnoli)))
	}
	array(0, 0, 1, 0, 3, 0, 4, 0) // the path 0 – 1 – 2
	array(math.Float32bits(1), math.Float32bits(2), math.Float32bits(3), math.Float32bits(4), math.Float32bits(5), math.Float32bits(6))
	array(1, 0, 2, 1)
	array(0, 1, math.MaxUint32)
	array(0)
	array(1)
	header := `{"__metadata__":{"format":"gcn store 1","crc32c":"` + sums + `","data":"{\"metric\":\"accuracy\",\"schema\":{\"features\":2,\"classes\":2},\"notes\":[\"by hand\"],\"future\":1}"},` +
		`"indptr":{"dtype":"I64","shape":[4],"data_offsets":[0,32]},"feat":{"dtype":"F32","shape":[3,2],"data_offsets":[32,56]},` +
		`"indices":{"dtype":"I32","shape":[4],"data_offsets":[56,72]},"labels":{"dtype":"I32","shape":[3],"data_offsets":[72,84]},` +
		`"train":{"dtype":"I32","shape":[1],"data_offsets":[84,88]},"valid":{"dtype":"I32","shape":[1],"data_offsets":[88,92]}}`
	for len(header)%8 != 0 {
		header += " "
	}
	file := append(le.AppendUint64(nil, uint64(len(header))), header...)
	sum := crc32.Checksum(file, crc32.MakeTable(crc32.Castagnoli))
	copy(file[bytes.Index(file, []byte("00000000")):], fmt.Sprintf("%08x", sum))
	path := filepath.Join(t.TempDir(), "hand.safetensors")
	write(t, path, append(file, content...))
	want := &Data{
		Graph:    &graph.CSR{Rows: 3, Cols: 3, Ptr: []int64{0, 1, 3, 4}, Idx: []int32{1, 0, 2, 1}},
		Features: &graph.Features{Rows: 3, Cols: 2, Data: []float32{1, 2, 3, 4, 5, 6}},
		Labels:   &graph.Labels{Classes: 2, Class: []int32{0, 1, -1}},
		Split:    Split{Train: []int32{0}, Valid: []int32{1}}, Metric: Accuracy,
	}
	d := open(t, "store:"+path)
	sameData(t, d, want)
	if len(d.Notes) != 1 || d.Notes[0] != "by hand" {
		t.Errorf("notes %q", d.Notes)
	}
}

// halved converts the features of d to half precision.
func halved(t testing.TB, d *Data) *Data {
	t.Helper()
	x, err := d.Features.ToHalf()
	if err != nil {
		t.Fatal(err)
	}
	d.Features = x
	return d
}

// storeLayout returns the arrays of a store, and the byte at which they begin; 0 if the header
// is damaged.
func storeLayout(b []byte) (arrays []store.Array, start int) {
	if len(b) < 8 || binary.LittleEndian.Uint64(b) > uint64(len(b)-8) {
		return nil, 0
	}
	start = 8 + int(binary.LittleEndian.Uint64(b))
	arrays, _, err := store.DecodeHeader(b[8:start], int64(len(b)-start))
	if err != nil {
		return nil, 0
	}
	return arrays, start
}

// arrayIn returns the bytes of an array of a store.
func arrayIn(t testing.TB, b []byte, name string) []byte {
	t.Helper()
	arrays, start := storeLayout(b)
	for _, a := range arrays {
		if a.Name == name {
			return b[start+int(a.Offsets[0]) : start+int(a.Offsets[1])]
		}
	}
	t.Fatalf("no array %s", name)
	return nil
}

// fixSums makes the checksums of a store agree with its arrays and its header.
func fixSums(b []byte) {
	arrays, start := storeLayout(b)
	at := bytes.Index(b, []byte(`"crc32c":"`)) + len(`"crc32c":"`)
	if start == 0 || at < 10 || at+9*(len(arrays)+1) > start {
		return
	}
	table := crc32.MakeTable(crc32.Castagnoli)
	for k, a := range arrays {
		copy(b[at+9*(k+1):], fmt.Sprintf("%08x", crc32.Checksum(b[start+int(a.Offsets[0]):start+int(a.Offsets[1])], table)))
	}
	copy(b[at:], "00000000")
	copy(b[at:], fmt.Sprintf("%08x", crc32.Checksum(b[:start], table)))
}

// changedHeader replaces a text in the header of a store by one of the same length.
func changedHeader(t testing.TB, b []byte, from, to string) []byte {
	t.Helper()
	if len(from) != len(to) || !bytes.Contains(b, []byte(from)) {
		t.Fatalf("no %q in the header, or another length", from)
	}
	b = bytes.Replace(b, []byte(from), []byte(to), 1)
	fixSums(b)
	return b
}

func TestStoreDamaged(t *testing.T) {
	for _, d := range []*Data{madeVariant(t, 40, 3, 1), halved(t, madeVariant(t, 40, 3, 1))} {
		testDamage(t, readBytes(t, writeStoreFile(t, d)))
	}
}

func testDamage(t *testing.T, good []byte) {
	path := filepath.Join(t.TempDir(), "bad.store")
	try := func(b []byte) error {
		write(t, path, b)
		d, err := Open(context.Background(), "store:"+path, Options{Cache: filepath.Join(t.TempDir(), "none")})
		if err == nil {
			d.Close()
		} else if !strings.Contains(err.Error(), path) || strings.Contains(err.Error(), "\n") {
			t.Errorf("error %q is not one line with the file's name", err)
		}
		return err
	}
	arrays, start := storeLayout(good)
	// A change of any byte is found.
	for at := 0; at < len(good); at += 1 + at%13 {
		b := bytes.Clone(good)
		b[at] ^= 0x10
		if err := try(b); !errors.Is(err, ErrFormat) {
			t.Errorf("byte %d turned over: %v", at, err)
		}
	}
	for size := 0; size < len(good); size += 97 {
		if err := try(good[:size]); !errors.Is(err, ErrFormat) {
			t.Errorf("cut to %d bytes: %v", size, err)
		}
	}
	if err := try(append(bytes.Clone(good), 0)); !errors.Is(err, ErrFormat) {
		t.Errorf("a byte more: %v", err)
	}
	// With correct checksums, the contents must still be valid.
	for _, a := range arrays {
		b := bytes.Clone(good)
		for k := a.Offsets[0]; k < a.Offsets[1]; k++ {
			b[start+int(k)] = 0xff // ids of -1, and NaN
		}
		if bytes.Equal(b, good) {
			t.Errorf("%s: nothing changed", a.Name)
		}
		fixSums(b)
		if err := try(b); err == nil && a.Name != "labels" {
			t.Errorf("%s of ones: opened", a.Name)
		}
	}
	if err := try(changedHeader(t, bytes.Clone(good), "gcn store 1", "gcn store 2")); !errors.Is(err, ErrFormat) {
		t.Errorf("another version: %v", err)
	}
	if err := try(changedHeader(t, bytes.Clone(good), `"indices"`, `"sindice"`)); !errors.Is(err, ErrFormat) {
		t.Errorf("without columns: %v", err)
	}
}

// A store is read whole at its first opening, and again only after a change.
func TestStoreRecord(t *testing.T) {
	path := writeStoreFile(t, made(t, 400, 3))
	o := Options{Cache: t.TempDir()}
	ctx := context.Background()
	past := time.Now().Add(-time.Hour)
	if err := os.Chtimes(path, past, past); err != nil {
		t.Fatal(err)
	}
	recorded := func() bool {
		s, err := store.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		_, missing := os.Stat(s.RecordPath(o.Cache))
		return missing == nil
	}
	if recorded() {
		t.Error("recorded before it was read")
	}
	d, err := Open(ctx, "store:"+path, o)
	if err != nil {
		t.Fatal(err)
	}
	at := d.Features.Rows // a feature's place in the file, to damage
	d.Close()
	if !recorded() {
		t.Error("not recorded after it was read")
	}
	b := readBytes(t, path)
	arrayIn(t, b, "indices")[at] ^= 0x40
	write(t, path, b)
	if recorded() {
		t.Error("recorded after it changed")
	}
	if _, err := Open(ctx, "store:"+path, o); err == nil {
		t.Error("a damaged store was opened")
	}
	// Open does not find damage behind the old time of modification. Verify finds it, and removes
	// the record.
	if err := os.Chtimes(path, past, past); err != nil {
		t.Fatal(err)
	}
	if !recorded() {
		t.Error("another record for the same time of modification")
	}
	if err := verify(ctx, "store:"+path, o); !errors.Is(err, ErrFormat) && !errors.Is(err, graph.ErrInvalid) {
		t.Errorf("verify: %v", err)
	}
	if recorded() {
		t.Error("recorded after verify found it damaged")
	}
}

// TestVerifyReadsNamedStores records a damaged store of a named data set as valid. Open
// trusts the record. Verify must not, and must remove it.
func TestVerifyReadsNamedStores(t *testing.T) {
	ctx := context.Background()
	o := Options{Cache: t.TempDir(), Offline: true}
	path := filepath.Join(o.Cache, "pubmed.safetensors")
	if err := WriteStore(ctx, path, made(t, 5000, 3)); err != nil {
		t.Fatal(err)
	}
	b := readBytes(t, path)
	arrayIn(t, b, "feat")[0] ^= 1
	write(t, path, b)
	s, err := store.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	write(t, s.RecordPath(o.Cache), nil)
	s.Close()
	d, err := Open(ctx, "pubmed", o)
	if err != nil {
		t.Fatal(err)
	}
	d.Close()
	for range 2 {
		if err := verify(ctx, "pubmed", o); !errors.Is(err, ErrFormat) {
			t.Errorf("a damaged store: %v", err)
		}
	}
	if _, err := Open(ctx, "pubmed", o); !errors.Is(err, ErrFormat) || !strings.Contains(err.Error(), "delete the file") {
		t.Errorf("after that: %v", err)
	}
}

func TestStoreKeys(t *testing.T) {
	path := writeStoreFile(t, made(t, 100, 3))
	d := open(t, "store:"+path+"?split=50/25/25&seed=4&normalize=standardize&metric=micro-f1")
	if len(d.Split.Train) != 50 || d.Metric != MicroF1 {
		t.Errorf("%d training nodes, metric %s", len(d.Split.Train), d.Metric)
	}
	var mean float64
	for _, i := range d.Split.Train {
		mean += float64(d.Features.Row(int(i))[0]) / 50
	}
	if math.Abs(mean) > 1e-6 {
		t.Errorf("mean of a standardised feature is %v", mean)
	}
	for _, bad := range []string{"?normalize=rows", "?metric=rocauc", "?seed=3", "?nodes=4"} {
		if _, err := Open(context.Background(), "store:"+path+bad, Options{}); err == nil {
			t.Errorf("%s: opened", bad)
		}
	}
}

func TestConvert(t *testing.T) {
	ctx := context.Background()
	dir := t.TempDir()
	want := made(t, 50, 2)
	source := filepath.Join(dir, "in")
	writeFiles(t, source, npyFiles(t, want))
	for range 2 { // the second one replaces the first
		spec, err := Convert(ctx, "npy:"+source, filepath.Join(dir, "x.store"), Options{})
		if err != nil {
			t.Fatal(err)
		}
		sameData(t, open(t, spec), want)
	}
	// Tasks keep their metric and their unknown labels.
	tasks := madeVariant(t, 30, 1, 2)
	tasks.Metric = MicroF1
	path := writeStoreFile(t, tasks)
	spec, err := Convert(ctx, "store:"+path, filepath.Join(dir, "tasks"), Options{})
	if err != nil {
		t.Fatal(err)
	}
	sameData(t, open(t, spec), tasks)
	weighted := madeVariant(t, 30, 1, 1)
	if spec, err = Convert(ctx, "store:"+writeStoreFile(t, weighted), filepath.Join(dir, "weighted"), Options{}); err != nil {
		t.Fatal(err)
	}
	sameData(t, open(t, spec), weighted)
	// Files of other programs are left alone.
	mine := filepath.Join(dir, "thesis.txt")
	write(t, mine, []byte("two years of work"))
	if _, err := Convert(ctx, "npy:"+source, mine, Options{}); err == nil || string(readBytes(t, mine)) != "two years of work" {
		t.Errorf("over a text file: %v", err)
	}
	if _, err := Convert(ctx, "npy:"+source, dir, Options{}); err == nil {
		t.Error("over a folder")
	}
	cancelled, cancel := context.WithCancel(ctx)
	cancel()
	if _, err := Convert(cancelled, "synth:demo", filepath.Join(dir, "no"), Options{}); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	if files, _ := filepath.Glob(filepath.Join(dir, ".*.part*")); len(files) > 0 || !isMissing(filepath.Join(dir, "no")) {
		t.Errorf("left behind: %q", files)
	}
}

// Data without labels could not be opened again. They are refused before a file is replaced.
func TestWriteUnlabelled(t *testing.T) {
	in := edgeListFiles(t, map[string]string{"e": "0,1\n1,2\n"})
	spec, _, _ := strings.Cut(in("D/e?features=degree"), "&split")
	good := made(t, 50, 3)
	store := writeStoreFile(t, good)
	if _, err := Convert(t.Context(), spec, store, Options{Unlabelled: true}); err == nil || !strings.Contains(err.Error(), "data without labels are not written") {
		t.Error(err)
	}
	sameData(t, open(t, "store:"+store), good)
}

// Nil data, graphs and contexts are errors, or count as empty.
func TestNilData(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.store")
	for name, d := range map[string]*Data{"data": nil, "parts": {}, "features": {Graph: &graph.CSR{Ptr: []int64{0}}, Labels: &graph.Labels{}}} {
		for call, err := range map[string]error{
			"WriteStore": WriteStore(context.Background(), path, d),
			"Validate":   d.Validate(),
		} {
			if !errors.Is(err, graph.ErrInvalid) {
				t.Errorf("%s of nil %s: %v", call, name, err)
			}
		}
		if info := Describe(d); info.Nodes != 0 || info.Edges != 0 {
			t.Errorf("nil %s: %+v", name, info)
		}
		if d.Nodes() != 0 || d.Edges() != 0 || d.Close() != nil {
			t.Errorf("nil %s: %d nodes", name, d.Nodes())
		}
	}
	if err := (&Data{}).Laplacian().Validate(); !errors.Is(err, graph.ErrInvalid) {
		t.Errorf("Laplacian without a graph: %v", err)
	}
	if !isMissing(path) {
		t.Error("a file was left")
	}
}

func TestWriteStoreRefusesInvalidData(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.store")
	for name, spoil := range map[string]func(*Data){
		"one direction": func(d *Data) {
			d.Graph = &graph.CSR{Rows: 30, Cols: 30, Ptr: append([]int64{0}, slices.Repeat([]int64{1}, 30)...), Idx: []int32{3}}
		},
		"feature":  func(d *Data) { d.Features.Data[3] = float32(math.Inf(1)) },
		"split":    func(d *Data) { d.Split.Test = d.Split.Train },
		"classes":  func(d *Data) { d.Labels.Classes = 100_000_000 },
		"nothing":  func(d *Data) { d.Graph = nil },
		"loop":     func(d *Data) { d.Graph.Idx[d.Graph.Ptr[5]] = 5 },
		"too high": func(d *Data) { d.Graph.Idx[len(d.Graph.Idx)-1] = 30 },
	} {
		d := made(t, 30, 1)
		spoil(d)
		if err := WriteStore(context.Background(), path, d); !errors.Is(err, graph.ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if !isMissing(path) {
		t.Error("a file was left")
	}
}

// FuzzStore damages a store and repairs its checksums. Opening it must give an error or
// valid data.
func FuzzStore(f *testing.F) {
	for variant := range 16 {
		d := madeVariant(f, 12, 1, variant)
		f.Add(readBytes(f, writeStoreFile(f, d)))
		f.Add(readBytes(f, writeStoreFile(f, halved(f, d))))
		f.Add(readBytes(f, writeStoreFile(f, thinned(f, 12, 1, variant))))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		fixSums(b)
		path := filepath.Join(t.TempDir(), "f.store")
		write(t, path, b)
		d, err := Open(context.Background(), "store:"+path, Options{Cache: filepath.Join(path, "none")})
		if err != nil {
			return
		}
		if err := d.Validate(); err != nil {
			t.Errorf("invalid data: %v", err)
		}
		d.Close()
	})
}

func BenchmarkOpenStore(b *testing.B) {
	path := filepath.Join(b.TempDir(), "x.store")
	if _, err := Convert(context.Background(), "synth:arxiv", path, Options{}); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		d, err := Open(context.Background(), "store:"+path, Options{})
		if err != nil {
			b.Fatal(err)
		}
		d.Close()
	}
}
