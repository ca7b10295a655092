package datasets

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"flag"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gcn-layerwise/gcn/graph"
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
		// Reading without mmap gives the same.
		s, err := loadStore(path, false)
		if err != nil {
			t.Fatal(err)
		}
		read, err := s.data(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		sameData(t, read, want)
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

// A file made by hand from the layout in store.go opens.
func TestStoreLayout(t *testing.T) {
	le := binary.LittleEndian
	meta := []byte(`{"metric":"accuracy","classes":2,"notes":["by hand"],"future":1}`)
	floats := func(v ...float32) (b []byte) {
		for _, x := range v {
			b = le.AppendUint32(b, math.Float32bits(x))
		}
		return b
	}
	ints := func(v ...uint32) (b []byte) {
		for _, x := range v {
			b = le.AppendUint32(b, x)
		}
		return b
	}
	var ptr []byte
	for _, p := range []uint64{0, 1, 3, 4} { // the path 0 – 1 – 2
		ptr = le.AppendUint64(ptr, p)
	}
	sections := []struct {
		kind, element uint32
		rows, cols    uint64
		content       []byte
	}{
		{1, 1, uint64(len(meta)), 1, meta},
		{2, 3, 4, 1, ptr},
		{3, 2, 4, 1, ints(1, 0, 2, 1)},
		{5, 4, 3, 2, floats(1, 2, 3, 4, 5, 6)},
		{6, 2, 3, 1, ints(0, 1, math.MaxUint32)},
		{8, 2, 1, 1, ints(0)},
		{9, 2, 1, 1, ints(1)},
	}
	file := make([]byte, 64+48*len(sections))
	for k, s := range sections {
		for len(file)%64 != 0 {
			file = append(file, 0)
		}
		e := file[64+48*k:]
		le.PutUint32(e, s.kind)
		le.PutUint32(e[4:], s.element)
		le.PutUint64(e[8:], s.rows)
		le.PutUint64(e[16:], s.cols)
		le.PutUint64(e[24:], uint64(len(file)))
		le.PutUint64(e[32:], uint64(len(s.content)))
		le.PutUint32(e[40:], crc32.Checksum(s.content, crc32.MakeTable(crc32.Castagnoli)))
		file = append(file, s.content...)
	}
	copy(file, "GCNSTORE")
	le.PutUint32(file[8:], 1)
	le.PutUint32(file[12:], uint32(len(sections)))
	le.PutUint64(file[16:], uint64(len(file)))
	le.PutUint32(file[56:], crc32.Checksum(file[:64+48*len(sections)], crc32.MakeTable(crc32.Castagnoli)))
	path := filepath.Join(t.TempDir(), "hand.store")
	write(t, path, file)
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

// Stores that versions 1 and 2 of the format wrote stay readable.
func TestStoreGolden(t *testing.T) {
	for name, want := range map[string]*Data{"v1.store": madeVariant(t, 20, 1, 1), "v2.store": halved(t, madeVariant(t, 20, 1, 1))} {
		path := filepath.Join("testdata", name)
		if os.Getenv("UPDATE_GOLDEN") != "" {
			if err := os.MkdirAll("testdata", 0o755); err != nil {
				t.Fatal(err)
			}
			if err := WriteStore(context.Background(), path, want); err != nil {
				t.Fatal(err)
			}
		}
		if version := readBytes(t, path)[8]; version != name[1]-'0' {
			t.Errorf("%s is of version %d", path, version)
		}
		sameData(t, open(t, "store:"+path), want)
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

// fixHeader makes header and checksum agree again.
func fixHeader(b []byte) {
	if len(b) < headerBytes {
		return
	}
	le := binary.LittleEndian
	end := min(uint64(headerBytes)+entryBytes*uint64(le.Uint32(b[12:])), uint64(len(b)))
	le.PutUint64(b[16:], uint64(len(b)))
	le.PutUint32(b[56:], 0)
	le.PutUint32(b[56:], crc32.Checksum(b[:end], castagnoli()))
}

// fixSections makes the sections' checksums agree with their contents.
func fixSections(b []byte) {
	fixHeader(b)
	sections, err := decodeHeader(b, uint64(len(b)))
	if err != nil {
		return
	}
	for k, s := range sections {
		binary.LittleEndian.PutUint32(b[headerBytes+entryBytes*k+40:], crc32.Checksum(b[s.offset:s.offset+s.bytes], castagnoli()))
	}
	fixHeader(b)
}

func TestStoreDamaged(t *testing.T) {
	for version, d := range map[byte]*Data{1: madeVariant(t, 40, 3, 1), 2: halved(t, madeVariant(t, 40, 3, 1))} {
		good := readBytes(t, writeStoreFile(t, d))
		if good[8] != version {
			t.Errorf("version %d, want %d", good[8], version)
		}
		testDamage(t, good)
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
	sections, err := decodeHeader(good, uint64(len(good)))
	if err != nil {
		t.Fatal(err)
	}
	// A change of any byte is found, except in the padding.
	inside := func(at int) bool {
		for _, s := range sections {
			if uint64(at) >= s.offset && uint64(at) < s.offset+s.bytes {
				return true
			}
		}
		return at < headerBytes+entryBytes*len(sections)
	}
	for at := 0; at < len(good); at += 1 + at%13 {
		b := bytes.Clone(good)
		b[at] ^= 0x10
		if err := try(b); (err != nil) != inside(at) {
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
	for _, s := range sections {
		if s.kind == sectionMeta || s.kind == sectionTasks {
			continue
		}
		b := bytes.Clone(good)
		for k := range s.bytes {
			b[s.offset+k] = 0xff // ids of -1, and NaN
		}
		fixSections(b)
		if err := try(b); err == nil {
			t.Errorf("%v of ones: opened", s.kind)
		}
	}
	newer := bytes.Clone(good)
	newer[8] = storeVersion + 1
	fixHeader(newer)
	if err := try(newer); !errors.Is(err, ErrVersion) {
		t.Errorf("a newer version: %v", err)
	}
	unknown := bytes.Clone(good)
	unknown[headerBytes] = 99
	fixHeader(unknown)
	if err := try(unknown); !errors.Is(err, ErrFormat) {
		t.Errorf("an unknown section: %v", err)
	}
}

// lastChangeIsKept tells whether the system keeps a time of change that programs
// cannot set.
func lastChangeIsKept(t *testing.T, path string) bool {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		t.Fatal(err)
	}
	changed, err := lastChange(f)
	if err != nil {
		t.Fatal(err)
	}
	return !changed.Equal(info.ModTime())
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
		s, err := loadStore(path, true)
		if err != nil {
			t.Fatal(err)
		}
		defer s.unmap()
		return o.recorded(s)
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
	sections, err := decodeHeader(b, uint64(len(b)))
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range sections {
		if s.kind == sectionIdx {
			b[s.offset+uint64(at)] ^= 0x40
		}
	}
	write(t, path, b)
	if recorded() {
		t.Error("recorded after it changed")
	}
	if _, err := Open(ctx, "store:"+path, o); err == nil {
		t.Error("a damaged store was opened")
	}
	// Open finds damage behind an old time of modification only if the system keeps
	// another time. Verify finds it anyway, and removes the record.
	if err := os.Chtimes(path, past, past); err != nil {
		t.Fatal(err)
	}
	if lastChangeIsKept(t, path) {
		if recorded() {
			t.Error("the record goes by the time of modification alone")
		}
		if _, err := Open(ctx, "store:"+path, o); !errors.Is(err, ErrFormat) || !strings.Contains(err.Error(), path) {
			t.Errorf("a damaged store with an old time of modification: %v", err)
		}
	}
	if err := Verify(ctx, "store:"+path, o); !errors.Is(err, ErrFormat) && !errors.Is(err, graph.ErrInvalid) {
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
	path := filepath.Join(o.Cache, "pubmed.store")
	if err := WriteStore(ctx, path, made(t, 5000, 3)); err != nil {
		t.Fatal(err)
	}
	b := readBytes(t, path)
	sections, err := decodeHeader(b, uint64(len(b)))
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range sections {
		if e.kind == sectionFeatures {
			b[e.offset] ^= 1
		}
	}
	write(t, path, b)
	s, err := loadStore(path, true)
	if err != nil {
		t.Fatal(err)
	}
	o.record(s)
	s.unmap()
	d, err := Open(ctx, "pubmed", o)
	if err != nil {
		t.Fatal(err)
	}
	d.Close()
	for range 2 {
		if err := Verify(ctx, "pubmed", o); !errors.Is(err, ErrFormat) {
			t.Errorf("a damaged store: %v", err)
		}
	}
	if _, err := Open(ctx, "pubmed", o); !errors.Is(err, ErrOffline) {
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

// Synthetic data written straight to a store equal the data made in memory, for any
// buffer.
func TestStoreOfSynthetic(t *testing.T) {
	for _, text := range []string{"synth:demo?nodes=9000&features=10", "synth:proteins?nodes=1000&edges=3000"} {
		direct, inMemory := filepath.Join(t.TempDir(), "a"), filepath.Join(t.TempDir(), "b")
		d := open(t, text)
		spec, err := parseSpec(text)
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range []Precision{"", Float16} {
			if err := writeStoreAs(context.Background(), inMemory, d, p, nil); err != nil {
				t.Fatal(err)
			}
			for _, buffer := range []int{1, 2 * 2048 * 10, synthBuffer} {
				if err := synthToStore(context.Background(), spec, direct, buffer, p); err != nil {
					t.Fatal(err)
				}
				if !bytes.Equal(readBytes(t, direct), readBytes(t, inMemory)) {
					t.Errorf("%s %s, %d at a time: the stores differ", text, p, buffer)
				}
			}
		}
	}
}

func TestConvert(t *testing.T) {
	ctx := context.Background()
	dir := t.TempDir()
	want := made(t, 50, 2)
	source := filepath.Join(dir, "in")
	writeFiles(t, source, npyFiles(t, want))
	for _, target := range []string{"x.store", "x.store", "out.npy/", "out.npy/"} { // twice: replaced
		spec, err := Convert(ctx, "npy:"+source, filepath.Join(dir, target)+target[len(strings.TrimSuffix(target, "/")):], Options{})
		if err != nil {
			t.Fatal(err)
		}
		sameData(t, open(t, spec), want)
	}
	// Tasks keep their metric and their unknown labels.
	tasks := madeVariant(t, 30, 1, 2)
	tasks.Metric = MicroF1
	path := writeStoreFile(t, tasks)
	spec, err := Convert(ctx, "store:"+path, filepath.Join(dir, "tasks")+"/", Options{})
	if err != nil {
		t.Fatal(err)
	}
	sameData(t, open(t, spec), tasks)
	weighted := madeVariant(t, 30, 1, 1)
	if spec, err = Convert(ctx, "store:"+writeStoreFile(t, weighted), filepath.Join(dir, "weighted")+"/", Options{}); err != nil {
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

// An incomplete export does not open: indptr.npy comes last.
func TestNumPyExportIsWholeOrDoesNotOpen(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "out")
	d := made(t, 50, 2)
	if err := WriteNumPy(context.Background(), dir, d); err != nil {
		t.Fatal(err)
	}
	whole := &countdown{Context: context.Background(), left: 1 << 30}
	if err := WriteNumPy(whole, dir, made(t, 50, 3)); err != nil {
		t.Fatal(err)
	}
	const files = 3 // not written yet
	cancelled := &countdown{Context: context.Background(), left: 1<<30 - whole.left - files}
	if err := WriteNumPy(cancelled, dir, made(t, 50, 4)); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	if _, err := Open(context.Background(), "npy:"+dir, Options{}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("half an export: %v", err)
	}
}

// countdown is a context that is done after left calls of Err.
type countdown struct {
	context.Context
	mu   sync.Mutex
	left int
}

func (c *countdown) Err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.left--; c.left < 0 {
		return context.Canceled
	}
	return nil
}

// Data without labels could not be opened again. They are refused before a file is replaced.
func TestWriteUnlabelled(t *testing.T) {
	in := edgeListFiles(t, map[string]string{"e": "0,1\n1,2\n"})
	spec, _, _ := strings.Cut(in("D/e?features=degree"), "&split")
	good, dir := made(t, 50, 3), t.TempDir()
	if err := WriteNumPy(t.Context(), dir, good); err != nil {
		t.Fatal(err)
	}
	store := writeStoreFile(t, good)
	for _, to := range []string{store, dir + "/", "ogb:" + t.TempDir()} {
		if _, err := Convert(t.Context(), spec, to, Options{Unlabelled: true}); err == nil || !strings.Contains(err.Error(), "data without labels are not written") {
			t.Errorf("%s: %v", to, err)
		}
	}
	sameData(t, open(t, "store:"+store), good)
	sameData(t, open(t, "npy:"+dir), good)
}

// WriteNumPy refuses invalid data before it changes the folder.
func TestNumPyExportIsValidatedFirst(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "out")
	want := made(t, 50, 2)
	if err := WriteNumPy(context.Background(), dir, want); err != nil {
		t.Fatal(err)
	}
	for name, spoil := range map[string]func(*Data){
		"label":   func(d *Data) { d.Labels.Class[3] = 77 },
		"feature": func(d *Data) { d.Features.Data[3] = float32(math.NaN()) },
		"split":   func(d *Data) { d.Split.Test = d.Split.Train },
		"shape":   func(d *Data) { d.Features.Cols = 7 },
		"loop":    func(d *Data) { d.Graph.Idx[d.Graph.Ptr[5]] = 5 },
	} {
		d := made(t, 50, 3)
		spoil(d)
		if err := WriteNumPy(context.Background(), dir, d); !errors.Is(err, graph.ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
		sameData(t, open(t, "npy:"+dir), want)
	}
	cancelled, cancel := context.WithCancel(context.Background())
	cancel()
	if err := WriteNumPy(cancelled, dir, made(t, 50, 3)); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	sameData(t, open(t, "npy:"+dir), want)
}

// Nil data, graphs and contexts are errors, or count as empty.
func TestNilData(t *testing.T) {
	var none context.Context
	path := filepath.Join(t.TempDir(), "x.store")
	for name, d := range map[string]*Data{"data": nil, "parts": {}, "features": {Graph: &graph.CSR{Ptr: []int64{0}}, Labels: &graph.Labels{}}} {
		for call, err := range map[string]error{
			"WriteStore": WriteStore(context.Background(), path, d),
			"WriteNumPy": WriteNumPy(context.Background(), path+"/", d),
			"Validate":   d.Validate(),
		} {
			if !errors.Is(err, graph.ErrInvalid) {
				t.Errorf("%s of nil %s: %v", call, name, err)
			}
		}
		if info := Describe(d); info.Nodes != 0 || info.Edges != 0 || info.WriteText(io.Discard) != nil {
			t.Errorf("nil %s: %+v", name, info)
		}
		if d.Nodes() != 0 || d.Edges() != 0 || d.Close() != nil {
			t.Errorf("nil %s: %d nodes", name, d.Nodes())
		}
	}
	if err := (&Data{}).Laplacian().Validate(); !errors.Is(err, graph.ErrInvalid) {
		t.Errorf("Laplacian without a graph: %v", err)
	}
	good := made(t, 30, 1)
	_, openErr := Open(none, "synth:demo", Options{})
	_, convertErr := Convert(none, "synth:demo", path, Options{})
	for call, err := range map[string]error{
		"Open": openErr, "Convert": convertErr, "Verify": Verify(none, "synth:demo", Options{}),
		"WriteStore": WriteStore(none, path, good), "WriteNumPy": WriteNumPy(none, path, good),
	} {
		if err == nil || !strings.Contains(err.Error(), "nil context") {
			t.Errorf("%s without a context: %v", call, err)
		}
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

func TestSwapBytes(t *testing.T) {
	b := []byte{1, 2, 3, 4, 5, 6, 7, 8}
	swapBytes(b, 4)
	if !bytes.Equal(b, []byte{4, 3, 2, 1, 8, 7, 6, 5}) {
		t.Errorf("by 4: %v", b)
	}
	swapBytes(b, 8)
	if !bytes.Equal(b, []byte{5, 6, 7, 8, 1, 2, 3, 4}) {
		t.Errorf("by 8: %v", b)
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
		fixSections(b)
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
