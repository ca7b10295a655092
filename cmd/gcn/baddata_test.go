package main

import (
	"bytes"
	"errors"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/klauspost/compress/gzip"

	"github.com/gcn-layerwise/gcn/internal/npy"
)

// writeArray writes a .npy file.
func writeArray[T npy.Element](t *testing.T, path string, values []T, shape ...int) {
	t.Helper()
	if len(shape) == 0 {
		shape = []int{len(values)}
	}
	var b bytes.Buffer
	if err := npy.Write(&b, values, shape...); err != nil {
		t.Fatal(err)
	}
	writeFile(t, path, b.Bytes())
}

// writeRing writes an npy: folder with a ring of 12 nodes, 2 features and 3
// classes.
func writeRing(t *testing.T, dir string) {
	t.Helper()
	if err := os.Mkdir(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	const n = 12
	indptr, indices := []int64{0}, []int32{}
	feat, labels := []float32{}, []int64{}
	for i := range n {
		indices = append(indices, int32((i+n-1)%n), int32((i+1)%n))
		indptr = append(indptr, int64(len(indices)))
		feat = append(feat, float32(i), 1)
		labels = append(labels, int64(i%3))
	}
	writeArray(t, filepath.Join(dir, "indptr.npy"), indptr)
	writeArray(t, filepath.Join(dir, "indices.npy"), indices)
	writeArray(t, filepath.Join(dir, "feat.npy"), feat, n, 2)
	writeArray(t, filepath.Join(dir, "labels.npy"), labels)
	writeArray(t, filepath.Join(dir, "train.npy"), []int64{0, 1, 2, 3, 4, 5})
	writeArray(t, filepath.Join(dir, "valid.npy"), []int64{6, 7, 8})
	writeArray(t, filepath.Join(dir, "test.npy"), []int64{9, 10, 11})
}

// TestBadData damages one file of a data set at a time: training must refuse
// it in one line that names the file and the place.
func TestBadData(t *testing.T) {
	t.Chdir(t.TempDir())
	writeRing(t, "ring")
	args := []string{"-q", "--samples", "4,4", "--max-batches", "2"}
	succeed(t, append([]string{"train", "--data", "npy:ring", "--out", "ok"}, args...)...)
	for name, c := range map[string]struct {
		damage func(dir string)
		words  string
	}{
		"missing": {func(dir string) { os.Remove(filepath.Join(dir, "indices.npy")) }, "indices.npy"},
		"truncated": {func(dir string) {
			path := filepath.Join(dir, "feat.npy")
			data := readFile(t, path)
			writeFile(t, path, data[:len(data)-3])
		}, "feat.npy"},
		"truncated header": {func(dir string) {
			path := filepath.Join(dir, "indices.npy")
			writeFile(t, path, readFile(t, path)[:20])
		}, "indices.npy"},
		"empty file":         {func(dir string) { writeFile(t, filepath.Join(dir, "train.npy"), nil) }, "train.npy"},
		"index out of range": {func(dir string) { patch(t, filepath.Join(dir, "indices.npy"), int32(3), int32(12)) }, "index-out-of-range,row 2,entry 5,column 12"},
		"NaN feature": {func(dir string) {
			patch(t, filepath.Join(dir, "feat.npy"), float32(5), float32(math.NaN()))
		}, "NaN,5"},
		"overlapping splits": {func(dir string) {
			writeArray(t, filepath.Join(dir, "valid.npy"), []int64{5, 6})
		}, "valid,5,train"},
		"label out of range": {func(dir string) {
			writeArray(t, filepath.Join(dir, "labels.npy"), []int64{0, 1, 2, 0, 1, 2, -5, 1, 2, 0, 1, 2})
		}, "-5"},
		"split out of range": {func(dir string) {
			writeArray(t, filepath.Join(dir, "test.npy"), []int64{9, 12})
		}, "test,12"},
		"empty training set": {func(dir string) { writeArray(t, filepath.Join(dir, "train.npy"), []int64{}) }, "train,empty"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := strings.ReplaceAll(name, " ", "-")
			copyFolder(t, "ring", dir)
			c.damage(dir)
			words := append(strings.Split(c.words, ","), dir)
			fail(t, exitFailed, words, append([]string{"train", "--data", "npy:" + dir}, args...)...)
			fail(t, exitFailed, words, "datasets", "info", "npy:"+dir)
			fail(t, exitFailed, words, "eval", "--run", "ok", "--data", "npy:"+dir)
		})
	}
	if _, err := os.Stat("runs"); err == nil {
		t.Error("a refused data set left a run's folder behind")
	}
}

// patch replaces the first occurrence of a value in an array file.
func patch[T npy.Element](t *testing.T, path string, from, to T) {
	t.Helper()
	encode := func(v T) []byte {
		var b bytes.Buffer
		if err := npy.Write(&b, []T{v}, 1); err != nil {
			t.Fatal(err)
		}
		return b.Bytes()[b.Len()-4:] // the types used here have four bytes
	}
	const header = 128
	data := readFile(t, path)
	at := bytes.Index(data[header:], encode(from))
	if at < 0 {
		t.Fatalf("%s does not hold %v", path, from)
	}
	copy(data[header+at:], encode(to))
	writeFile(t, path, data)
}

// TestBadPickle trains on Planetoid files that are cut short, or whose pickles
// ask to run a command.
func TestBadPickle(t *testing.T) {
	t.Chdir(t.TempDir())
	for name, content := range map[string]string{
		"cut":    "\x80\x02cscipy.sparse.csr\ncsr_matrix\nq\x01)\x81q\x02}q\x03(U\x06",
		"empty":  "",
		"system": "cos\nsystem\n(S'touch owned'\ntR.",
	} {
		for _, part := range []string{"x", "tx", "allx", "y", "ty", "ally", "graph"} {
			writeFile(t, "ind."+name+"."+part, []byte(content))
		}
		writeFile(t, "ind."+name+".test.index", []byte("0\n"))
		fail(t, exitFailed, []string{"ind." + name + "."}, "train", "--data", "planetoid:"+name)
		fail(t, exitFailed, []string{"ind." + name + "."}, "train", "--data", "planetoid:./"+name)
	}
	if _, err := os.Stat("owned"); err == nil {
		t.Fatal("a pickle ran a command")
	}
}

// testHostileFiles runs the command on data that would take all memory. With a
// limited address space the command ends with an error. Without a limit it ends
// soon after a signal.
func testHostileFiles(t *testing.T, gcn string) {
	t.Chdir(t.TempDir())
	writeFile(t, "edges.csv", []byte("0,1\n"))
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	for range 16 {
		if _, err := z.Write(bytes.Repeat([]byte("1\n"), 1<<19)); err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	writeFile(t, "labels.csv.gz", b.Bytes())
	const labels = "edges:edges.csv?labels=labels.csv.gz"
	soon := 4 * time.Second      // 2 where nothing else runs
	if runtime.GOOS == "linux" { // the command knows the limit there
		for _, args := range [][]string{
			{"datasets", "info", labels},
			{"train", "-q", "--data", "synth:demo?nodes=2147483647", "--out", "none"},
		} {
			cmd := exec.Command("sh", append([]string{"-c", `ulimit -v 6000000 && exec "$0" "$@"`, gcn}, args...)...)
			start := time.Now()
			text, err := cmd.CombinedOutput()
			soon = max(soon, 2*time.Since(start)) // a busy machine
			if code := cmd.ProcessState.ExitCode(); code != exitDone && code != exitFailed || bytes.Contains(text, []byte("goroutine ")) {
				t.Errorf("gcn %v: %v: %.1000s", args, err, text)
			}
		}
	}
	for _, life := range []time.Duration{50 * time.Millisecond, 400 * time.Millisecond, 1500 * time.Millisecond} {
		cmd := exec.Command(gcn, "datasets", "info", labels)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		told := make(chan time.Time, 1)
		timer := time.AfterFunc(life, func() {
			_ = cmd.Process.Signal(syscall.SIGTERM) // it may be done
			told <- time.Now()
		})
		err := cmd.Wait()
		if timer.Stop() {
			continue // it was done
		}
		if took := time.Since(<-told); took > soon {
			t.Errorf("told to end after %v, it ended %v later", life, took)
		}
		var exit *exec.ExitError
		if err != nil && (!errors.As(err, &exit) || exit.ExitCode() != exitInterrupted && exit.Exited()) {
			t.Errorf("told to end after %v: %v", life, err)
		}
	}
}
