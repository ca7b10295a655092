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

	"github.com/gcn-layerwise/gcn/graph"
	"github.com/gcn-layerwise/gcn/internal/half"
)

const streamMemory = 1 << 30 // of the tests

// A store whose graph is built in files equals the store of the data in memory, byte for byte.
// A conversion that is cancelled at any time leaves nothing.
func TestStreamedSynthetic(t *testing.T) {
	ctx := t.Context()
	for _, text := range []string{
		"synth:demo?nodes=9000&features=10", "synth:papers100M?nodes=6000&features=6", "synth:proteins?nodes=2100&edges=6000",
		"synth:demo?nodes=9000&edges=0&features=2", "synth:demo?nodes=2&homophily=1", "synth:demo?nodes=1&edges=0",
	} {
		d := open(t, text)
		for _, p := range []bool{false, true} {
			dir := t.TempDir()
			inMemory, path := filepath.Join(dir, "a"), filepath.Join(dir, "b")
			if err := writeStore(ctx, inMemory, d, nil, &Options{Half: p}); err != nil {
				t.Fatal(err)
			}
			if _, err := Convert(ctx, text, path, Options{Half: p}); err != nil {
				t.Fatal(err)
			}
			sameStores(t, text, path, inMemory)
			o := Options{Half: p, Memory: streamMemory, window: 1000}
			if _, err := Convert(ctx, text, path, o); err != nil {
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

// cancelledOften converts a SPEC. It cancels at one report of progress after the other.
func cancelledOften(t *testing.T, text, path string, o Options) string {
	t.Helper()
	for stop := 1; ; stop++ {
		ctx, cancel := context.WithCancel(t.Context())
		seen := 0
		o.Progress = func(FetchProgress) {
			if seen++; seen == stop {
				cancel()
			}
		}
		_, err := Convert(ctx, text, path, o)
		cancel()
		if err == nil && seen < stop {
			return path
		}
		if err == nil { // cancelled at the last report
			if err := os.Remove(path); err != nil {
				t.Fatal(err)
			}
			continue
		}
		if !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
		if files, err := filepath.Glob(filepath.Join(filepath.Dir(path), ".*")); err != nil || len(files) > 0 || !isMissing(path) {
			t.Fatalf("left behind: %q, %v", files, err)
		}
		stop += stop / 8
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
		for _, p := range []bool{false, true} {
			inMemory, path := filepath.Join(dir, "a"), filepath.Join(dir, "b")
			if err := writeStore(t.Context(), inMemory, got, nil, &Options{Half: p}); err != nil {
				t.Fatal(err)
			}
			spec, err := Convert(t.Context(), "ogb:"+dir, path, Options{Half: p, Scratch: filepath.Join(dir, "scratch")})
			if err != nil {
				t.Fatal(err)
			}
			sameStores(t, spec, path, inMemory)
			if left, err := os.ReadDir(filepath.Join(dir, "scratch")); err != nil || len(left) > 0 {
				t.Errorf("scratch files are left: %v, %v", left, err)
			}
			sameStores(t, spec, cancelledOften(t, "ogb:"+dir, filepath.Join(dir, fmt.Sprint("c", p)), Options{Half: p, window: 1000}), inMemory)
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
	if _, err := Convert(t.Context(), "ogb:"+dir, filepath.Join(dir, "x"), Options{}); err == nil || !strings.Contains(err.Error(), "node_feat: rows from 0 on: graph: feature 3 of node 1") {
		t.Errorf("infinite feature: %v", err)
	}
	dir = binaryFolder(t, d, arcs, zip.Store, false)
	if err := os.Remove(filepath.Join(dir, "split", "time", "test.csv.gz")); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(t.Context(), "ogb:"+dir, Options{}); err == nil || !strings.Contains(err.Error(), "test.csv.gz") {
		t.Errorf("without a file: %v", err)
	}
	dir = binaryFolder(t, d, arcs, zip.Store, false)
	if _, err := Convert(t.Context(), "ogb:"+dir, filepath.Join(dir, "x"), Options{Memory: 1 << 20}); err == nil || !strings.Contains(err.Error(), "of memory") {
		t.Errorf("within 1 MB: %v", err)
	}
}

// A process that is killed at random leaves no store, and at most a hidden file that the next
// one removes. The result equals the store of the data in memory.
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
	killOften(t, "stream "+text+" "+path, path, inMemory, 12, 400)
	if left, _ := filepath.Glob(filepath.Join(dir, ".*")); len(left) > 0 {
		t.Errorf("left behind: %q", left)
	}
}

// killOften starts a child process with some work, and kills it after 30 to 30+longest
// milliseconds, so many times. Then it lets one end. path must be missing, or equal want.
func killOften(t *testing.T, work, path, want string, times, longest int) {
	random := rand.New(rand.NewPCG(1, 2))
	killed := 0
	for k := range times + 1 {
		c := exec.Command(os.Args[0])
		c.Env = append(os.Environ(), "DATASETS_TEST_CHILD="+work)
		c.Stderr = os.Stderr
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		if k < times {
			timer := time.AfterFunc(time.Duration(30+random.IntN(longest))*time.Millisecond, func() { c.Process.Kill() }) // it may have ended
			defer timer.Stop()
		}
		if err := c.Wait(); err != nil {
			killed++
			if k == times {
				t.Fatal(err)
			}
		}
		if !isMissing(path) {
			sameStores(t, work, path, want)
			if k < times {
				os.Remove(path)
			}
		}
	}
	if isMissing(path) || killed == 0 {
		t.Errorf("killed %d times, and the store is missing: %v", killed, isMissing(path))
	}
}
