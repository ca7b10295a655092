package datasets

import (
	"archive/zip"
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/gcn-layerwise/gcn/graph"
	"github.com/gcn-layerwise/gcn/internal/half"
)

const streamMemory = 1 << 30 // of the tests

// streamed converts a SPEC without holding it in memory.
func streamed(ctx context.Context, text, path string, o Options) error {
	spec, scheme, err := parse(text, o)
	if err != nil {
		return err
	}
	var source streamSource
	if scheme.Name == "synth" {
		m, err := synthFromSpec(spec)
		if err != nil {
			return err
		}
		source = &synthStream{spec: text, m: m}
	} else if source, err = findStream(ctx, spec, scheme, o); err != nil {
		return err
	}
	return streamToStore(ctx, source, text, path, o)
}

// A streamed store equals the store of the data in memory, byte for byte, however often
// the conversion is cancelled.
func TestStreamedSynthetic(t *testing.T) {
	ctx := t.Context()
	for _, text := range []string{
		"synth:demo?nodes=9000&features=10", "synth:papers100M?nodes=6000&features=6", "synth:proteins?nodes=2100&edges=6000",
		"synth:demo?nodes=9000&edges=0&features=2", "synth:demo?nodes=2&homophily=1", "synth:demo?nodes=1&edges=0",
	} {
		d := open(t, text)
		for _, p := range []Precision{"", Float16} {
			dir := t.TempDir()
			inMemory, path := filepath.Join(dir, "a"), filepath.Join(dir, "b")
			if err := writeStoreAs(ctx, inMemory, d, p, nil); err != nil {
				t.Fatal(err)
			}
			o := Options{Precision: p, Memory: streamMemory, checkpoint: 1}
			if err := streamed(ctx, text, path, o); err != nil {
				t.Fatal(err)
			}
			sameStores(t, text, path, inMemory)
			sameStores(t, text, cancelledOften(t, text, filepath.Join(dir, "c"), o), inMemory)
			if left, _ := filepath.Glob(filepath.Join(dir, ".*")); len(left) > 0 {
				t.Errorf("left behind: %q", left)
			}
		}
	}
}

func sameStores(t *testing.T, title, path, want string) {
	t.Helper()
	if !bytes.Equal(readBytes(t, path), readBytes(t, want)) {
		t.Errorf("%s: the stores differ", title)
	}
}

// cancelledOften converts a SPEC. It cancels at every report of progress once, and before
// it goes on, it adds bytes to the files, as a killed process may have done.
func cancelledOften(t *testing.T, text, path string, o Options) string {
	t.Helper()
	for stop := 1; ; stop++ {
		ctx, cancel := context.WithCancel(t.Context())
		seen := 0
		o.Progress = func(FetchProgress) {
			if seen++; seen == 2+stop%5 || stop == 1 { // a block of P·X reports thrice or more
				cancel()
			}
		}
		err := streamed(ctx, text, path, o)
		cancel()
		if err == nil {
			return path
		}
		if !errors.Is(err, context.Canceled) || stop > 1000 {
			t.Fatal(err)
		}
		if !isMissing(path) {
			t.Fatal("an incomplete store is there")
		}
		work := filepath.Join(filepath.Dir(path), "."+filepath.Base(path)+".convert")
		files, err := os.ReadDir(work)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range files {
			if name := f.Name(); strings.HasSuffix(name, ".edges") || name == "store" {
				half, err := os.OpenFile(filepath.Join(work, name), os.O_WRONLY|os.O_APPEND, 0)
				if err == nil {
					_, err = half.WriteString("written by halves")
				}
				if err := errors.Join(err, half.Close()); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
}

// binaryFolder writes the files of an OGB folder in the binary layout: directed arcs, some
// repeated, self-loops, unknown labels.
func binaryFolder(t testing.TB, d *Data, arcs []graph.Edge, method uint16, halves bool) string {
	t.Helper()
	dir := t.TempDir()
	ends := make([]int64, 2*len(arcs))
	for k, e := range arcs {
		ends[k], ends[len(arcs)+k] = int64(e.U), int64(e.V)
	}
	n, x := d.Nodes(), d.Features
	feat := array(t, x.Data, n, x.Cols)
	if halves {
		feat = fmt.Appendf(nil, "\x93NUMPY\x01\x00\x76\x00%-117s\n", fmt.Sprintf("{'descr': '<f2', 'fortran_order': False, 'shape': (%d, %d), }", n, x.Cols))
		for _, v := range x.Data {
			h := half.FromFloat32(v)
			feat = append(feat, byte(h), byte(h>>8))
		}
	}
	labels := make([]float32, n)
	for i, c := range d.Labels.Class {
		if labels[i] = float32(c); c < 0 {
			labels[i] = float32(math.NaN())
		}
	}
	write(t, filepath.Join(dir, "raw", "data.npz"), archive(t, method, map[string][]byte{
		"edge_index": array(t, ends, 2, len(arcs)), "node_feat": feat,
		"num_nodes_list": array(t, []int64{int64(n)}), "num_edges_list": array(t, []int64{int64(len(arcs))}),
		"node_year": array(t, make([]int64, n), n, 1),
	}))
	write(t, filepath.Join(dir, "raw", "node-label.npz"), archive(t, method, map[string][]byte{"node_label": array(t, labels, n, 1)}))
	for name, ids := range map[string][]int32{"train": d.Split.Train, "valid": d.Split.Valid, "test": d.Split.Test} {
		write(t, filepath.Join(dir, "split", "time", name+".csv.gz"), zipped(t, column(ids)))
	}
	return dir
}

// The binary layout gives the data of the text layout, in memory and streamed.
func TestOGBBinary(t *testing.T) {
	for _, method := range []uint16{zip.Store, zip.Deflate} {
		want := made(t, 300, 7)
		arcs := append(arcsOf(want, 3), graph.Edge{U: 5, V: 5}, graph.Edge{U: 7, V: 7}, arcsOf(want, 3)[0])
		dir := binaryFolder(t, want, arcs, method, method == zip.Deflate)
		got := open(t, "ogb:"+dir)
		if method == zip.Store {
			sameData(t, got, want)
		}
		if got.Report.SelfLoops < 2 || got.Report.Given != int64(len(arcs)) {
			t.Errorf("report %+v of %d edges", got.Report, len(arcs))
		}
		for _, p := range []Precision{"", Float16} {
			inMemory, path := filepath.Join(dir, "a"), filepath.Join(dir, "b")
			if err := writeStoreAs(t.Context(), inMemory, got, p, nil); err != nil {
				t.Fatal(err)
			}
			spec, err := Convert(t.Context(), "ogb:"+dir, path, Options{Precision: p, Scratch: filepath.Join(dir, "scratch")})
			if err != nil {
				t.Fatal(err)
			}
			sameStores(t, spec, path, inMemory)
			if left, err := os.ReadDir(filepath.Join(dir, "scratch")); err != nil || len(left) > 0 {
				t.Errorf("scratch files are left: %v, %v", left, err)
			}
			sameStores(t, spec, cancelledOften(t, "ogb:"+dir, filepath.Join(dir, "c"+string(p)), Options{Precision: p, checkpoint: 1}), inMemory)
		}
	}
}

// A store in a folder that is not there is an error before the work.
func TestConvertNowhere(t *testing.T) {
	o := Options{Progress: func(p FetchProgress) { t.Errorf("stage %s", p.Stage) }}
	path := filepath.Join(t.TempDir(), "nowhere", "x.store")
	if _, err := Convert(t.Context(), "synth:demo?nodes=100", path, o); err == nil || !strings.Contains(err.Error(), "nowhere") {
		t.Errorf("error %v", err)
	}
}

// The edges of several pieces are in order from any place on.
func TestOGBBinaryFaults(t *testing.T) {
	d := made(t, 20, 1)
	arcs := arcsOf(d, 1)
	for name, change := range map[string]func(*[]graph.Edge){
		"outside [0, 20)": func(e *[]graph.Edge) { *e = append(*e, graph.Edge{U: 3, V: 20}) },
	} {
		bad := arcs
		change(&bad)
		dir := binaryFolder(t, d, bad, zip.Deflate, false)
		_, err := Open(t.Context(), "ogb:"+dir, Options{})
		if err == nil || !strings.Contains(err.Error(), name) || !strings.Contains(err.Error(), "data.npz") {
			t.Errorf("want an error with %q, got %v", name, err)
		}
		if _, err := Convert(t.Context(), "ogb:"+dir, filepath.Join(dir, "x"), Options{}); err == nil || !isMissing(filepath.Join(dir, "x")) {
			t.Errorf("converted: %v", err)
		}
	}
	broken := made(t, 20, 1)
	broken.Features.Data[7] = float32(math.Inf(1))
	dir := binaryFolder(t, broken, arcs, zip.Store, false)
	if _, err := Convert(t.Context(), "ogb:"+dir, filepath.Join(dir, "x"), Options{}); err == nil || !strings.Contains(err.Error(), "node_feat: feature") {
		t.Errorf("infinite feature: %v", err)
	}
	dir = binaryFolder(t, d, arcs, zip.Store, false)
	if err := os.Remove(filepath.Join(dir, "split", "time", "test.csv.gz")); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(t.Context(), "ogb:"+dir, Options{}); err == nil || !strings.Contains(err.Error(), "test.csv.gz") {
		t.Errorf("without a file: %v", err)
	}
	// An unfinished conversion of other data stays.
	dir = binaryFolder(t, d, arcs, zip.Store, false)
	path := filepath.Join(dir, "x")
	ctx, cancel := context.WithCancel(t.Context())
	o := Options{checkpoint: 1, Progress: func(FetchProgress) { cancel() }}
	if err := streamed(ctx, "ogb:"+dir, path, o); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	if err := streamed(t.Context(), "synth:demo?nodes=100", path, Options{}); err == nil || !strings.Contains(err.Error(), "unfinished") {
		t.Errorf("over another conversion: %v", err)
	}
	if err := streamed(t.Context(), "ogb:"+dir, path, Options{}); err != nil {
		t.Error(err)
	}
	if err := streamed(t.Context(), "ogb:"+dir, path, Options{Memory: 1 << 20}); err == nil || !strings.Contains(err.Error(), "of memory") {
		t.Errorf("within 1 MB: %v", err)
	}
}

// An unfinished conversion keeps its scratch folder, with or without the option, and refuses
// another one. At the end nothing is left in it.
func TestStreamScratch(t *testing.T) {
	d := made(t, 300, 7)
	spec := "ogb:" + binaryFolder(t, d, arcsOf(d, 3), zip.Store, false)
	dir := t.TempDir()
	path, scratch := filepath.Join(dir, "x"), filepath.Join(dir, "scratch")
	for _, stage := range []string{"edges", "rows"} {
		ctx, cancel := context.WithCancel(t.Context())
		o := Options{checkpoint: 1, Scratch: scratch, Progress: func(p FetchProgress) {
			if p.Stage == stage {
				cancel()
			}
		}}
		if err := streamed(ctx, spec, path, o); !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
		if err := streamed(t.Context(), spec, path, Options{Scratch: dir}); err == nil || !strings.Contains(err.Error(), scratch) {
			t.Errorf("%s: with another scratch folder: %v", stage, err)
		}
		if err := streamed(t.Context(), spec, path, Options{}); err != nil {
			t.Errorf("%s: without the option: %v", stage, err)
		}
		if left, err := os.ReadDir(scratch); err != nil || len(left) > 0 {
			t.Errorf("%s: scratch files are left: %v, %v", stage, left, err)
		}
	}
}

// A process that is killed at random leaves files from which the next goes on. The result
// equals the store of the data in memory.
func TestStreamKilled(t *testing.T) {
	if testing.Short() {
		t.Skip("kills processes")
	}
	const text = "synth:papers100M?nodes=60000&features=16"
	dir := t.TempDir()
	inMemory, path := filepath.Join(dir, "a"), filepath.Join(dir, "b")
	if _, err := Convert(t.Context(), text, inMemory, Options{}); err != nil {
		t.Fatal(err)
	}
	killOften(t, "stream "+text+" "+path, 20, 400)
	sameStores(t, text, path, inMemory)
}

// killOften starts a child process with some work again and again, and kills it after 30 to
// 30+longest milliseconds, until it ends by itself or was killed most times. The last child is
// not killed.
func killOften(t *testing.T, work string, most, longest int) {
	child := func() *exec.Cmd {
		c := exec.Command(os.Args[0])
		c.Env = append(os.Environ(), "DATASETS_TEST_CHILD="+work)
		return c
	}
	random := rand.New(rand.NewPCG(1, 2))
	kills := 0
	for ; kills < most; kills++ {
		c := child()
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		timer := time.AfterFunc(time.Duration(30+random.IntN(longest))*time.Millisecond, func() { c.Process.Kill() }) // it may have ended
		err := c.Wait()
		timer.Stop()
		if err == nil {
			break
		}
	}
	if kills == most {
		if out, err := child().CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	t.Logf("killed %d times", kills)
}

// TestEdgeBuckets compares with graph.Builder, also where a bucket does not fit in memory.
func TestEdgeBuckets(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		n := rapid.IntRange(1, 60).Draw(rt, "nodes")
		node := rapid.Int32Range(0, int32(n-1))
		edges := rapid.SliceOfN(rapid.Custom(func(rt *rapid.T) graph.Edge {
			return graph.Edge{U: node.Draw(rt, "u"), V: node.Draw(rt, "v")}
		}), 0, 200).Draw(rt, "edges")
		builder, err := graph.NewBuilder(n)
		if err != nil {
			rt.Fatal(err)
		}
		if err := builder.AddEdges(edges); err != nil {
			rt.Fatal(err)
		}
		want, report := builder.Build()
		dir, err := os.MkdirTemp(t.TempDir(), "")
		if err != nil {
			rt.Fatal(err)
		}
		state := &bucketState{Shift: 4, Edges: make([]int64, (n-1)>>4+1)} // up to 4 buckets
		state.Rows = make([]int64, len(state.Edges))
		b := edgeBuckets{dir: dir, nodes: n, state: state}
		half := len(edges) / 2
		err = errors.Join(b.open(), b.put(edges[:half]), b.put(edges[half:]), b.sync(), b.close())
		if err != nil {
			rt.Fatal(err)
		}
		s := &rowScratch{most: int64(rapid.IntRange(1, 20).Draw(rt, "columns in memory"))}
		got := &graph.CSR{Rows: n, Cols: n, Ptr: []int64{0}}
		for k := range b.state.Rows {
			if b.state.Rows[k], err = b.buildOne(t.Context(), k, s); err != nil {
				rt.Fatal(err)
			}
			lo, hi := b.span(k)
			err := errors.Join(
				b.eachPiece(t.Context(), b.path(k, "rows"), 0, int64(hi-lo)*4, func(piece []byte) error {
					counts, err := view[int32](piece)
					for _, c := range counts {
						got.Ptr = append(got.Ptr, got.NNZ()+int64(c))
					}
					return err
				}),
				b.eachPiece(t.Context(), b.path(k, "rows"), int64(hi-lo)*4, b.state.Rows[k]*4, func(piece []byte) error {
					columns, err := view[int32](piece)
					got.Idx = append(got.Idx, columns...)
					return err
				}))
			if err != nil {
				rt.Fatal(err)
			}
		}
		if fmt.Sprint(got.Ptr, got.Idx) != fmt.Sprint(want.Ptr, want.Idx) {
			rt.Fatalf("rows %v %v, want %v %v", got.Ptr, got.Idx, want.Ptr, want.Idx)
		}
		if b.report() != report {
			rt.Fatalf("report %+v, want %+v", b.report(), report)
		}
	})
}

// A killed conversion repeats at most a sixteenth of a stage: of a stage of a few gigabytes
// too, which a save each 2 GiB would leave to begin again.
func TestCheckpoint(t *testing.T) {
	for _, c := range []struct{ total, want int64 }{
		{0, 64 << 20}, {1 << 30, 64 << 20}, {4 << 30, 256 << 20}, {32 << 30, 2 << 30}, {1 << 40, 2 << 30},
	} {
		if got := new(streamer).checkpoint(c.total); got != c.want {
			t.Errorf("checkpoint(%d) = %d, want %d", c.total, got, c.want)
		}
	}
	if got := (&streamer{options: Options{checkpoint: 5}}).checkpoint(1 << 40); got != 5 {
		t.Errorf("with an option: %d, want 5", got)
	}
}
