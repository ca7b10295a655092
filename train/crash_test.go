//go:build !windows && !plan9 && !js && !wasip1

package train

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/gcn-layerwise/gcn/layers"
)

// childFolder is a variable of the environment. If it is set, the test binary trains in
// the folder that it names, and runs no tests.
const childFolder = "GCN_TEST_TRAIN_IN"

func TestMain(m *testing.M) {
	if dir := os.Getenv(childFolder); dir != "" {
		os.Exit(child(dir))
	}
	os.Exit(m.Run())
}

// crashOptions is a run of 200 batches with a checkpoint every three.
func crashOptions(dir string) Options {
	return Options{
		MaxBatches: 200, Patience: Unlimited, Batch: 32, EvalEvery: 3, Seed: 21, Workers: 2,
		Adam: Adam{LR: 0.01}, CheckpointInterval: 1, Dir: dir, Resume: true,
	}
}

// crashRun returns a model and a function that trains it. It needs no *testing.T, because
// the child process has none.
func crashRun() (*layers.Model, func(Options) error) {
	t := new(noTest)
	d := smallData(t, 300, 3)
	m := smallModel(t, d)
	return m, func(o Options) error {
		_, err := Fit(context.Background(), m, d, o)
		return err
	}
}

// noTest replaces a test in the child process, where a failure panics.
type noTest struct{ testing.TB }

func (*noTest) Helper()           {}
func (*noTest) Fatal(args ...any) { panic(fmt.Sprint(args...)) }

func child(dir string) int {
	_, fit := crashRun()
	if err := fit(crashOptions(dir)); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// TestKilledRunResumes kills a process with SIGKILL, at random moments and while it
// writes files, and restarts it until it is done. Sometimes it moves the folder before the restart.
// The run must end with the weights and files of an undisturbed process.
func TestKilledRunResumes(t *testing.T) {
	executable, err := os.Executable()
	if err != nil {
		t.Skip(err)
	}
	whole := t.TempDir()
	m, fit := crashRun()
	if err := fit(crashOptions(whole)); err != nil {
		t.Fatal(err)
	}
	want, wantFiles := weightsOf(t, m), runFiles(t, whole)
	rng := rand.New(rand.NewPCG(uint64(time.Now().UnixNano()), 0))
	dir := filepath.Join(t.TempDir(), "run")
	moves := 0
	const leastKills, mostStarts = 12, 60
	kills, writing := 0, 0
	var batches []int
	for start := 0; ; start++ {
		if start == mostStarts {
			t.Fatalf("not done after %d starts; last checkpoints at %v", start, batches)
		}
		process := exec.Command(executable, "-test.run=^$")
		process.Env = append(os.Environ(), childFolder+"="+dir)
		process.Stderr = os.Stderr
		if err := process.Start(); err != nil {
			t.Fatal(err)
		}
		ended := make(chan error, 1)
		go func() { ended <- process.Wait() }()
		var done bool
		if kills < leastKills {
			midWrite := start%2 == 1
			if midWrite {
				midWrite = waitForPart(dir, rng.IntN(5), ended)
			} else if !waitForStart(dir, batches, ended) {
				time.Sleep(time.Duration(rng.IntN(8000)) * time.Microsecond)
			}
			if err := process.Process.Signal(syscall.SIGKILL); err != nil && !errors.Is(err, os.ErrProcessDone) {
				t.Fatal(err)
			}
			if midWrite {
				writing++
			}
		}
		err := <-ended
		done = err == nil
		if !done {
			var exit *exec.ExitError
			if !errors.As(err, &exit) || exit.Exited() {
				t.Fatalf("start %d: %v", start, err)
			}
			kills++
			if rng.IntN(3) == 0 {
				moved := filepath.Join(filepath.Dir(dir), fmt.Sprint("moved", start))
				if err := os.Rename(dir, moved); err == nil {
					dir = moved
					moves++
				} else if !errors.Is(err, fs.ErrNotExist) {
					t.Fatal(err)
				}
			}
		}
		batches = append(batches, checkpointed(t, dir))
		checkResult(t, dir)
		if done {
			break
		}
	}
	t.Logf("%d kills, %d of them while a file was being written, %d after a move; checkpoints found at %v", kills, writing, moves, batches)
	if kills < 4 {
		t.Errorf("only %d kills: the run is too short to tell", kills)
	}
	if got := runFiles(t, dir); got != wantFiles {
		t.Errorf("files hold\n%.3000s\nwant\n%.3000s", got, wantFiles)
	}
	fresh, _ := crashRun()
	if _, err := LoadParameters(dir, fresh); err != nil || !slices.Equal(weightsOf(t, fresh), want) {
		t.Errorf("the weights differ (%v)", err)
	}
}

// waitForPart waits until the process has begun to write a file for the given number of
// times. It returns false if the process ends first, or after two seconds.
func waitForPart(dir string, times int, ended chan error) bool {
	deadline := time.Now().Add(2 * time.Second)
	for before := false; time.Now().Before(deadline) && len(ended) == 0; {
		parts, _ := filepath.Glob(filepath.Join(dir, ".*.part"))
		now := len(parts) > 0
		if now && !before {
			if times--; times < 0 {
				return true
			}
		}
		before = now
	}
	return false
}

// waitForStart waits until the process writes a checkpoint. If it does not, and there
// was a checkpoint before, waitForStart returns true.
func waitForStart(dir string, batches []int, ended chan error) bool {
	old, err := os.Stat(filepath.Join(dir, lastFile))
	deadline := time.Now().Add(2 * time.Second)
	for time.Now().Before(deadline) && len(ended) == 0 {
		now, nowErr := os.Stat(filepath.Join(dir, lastFile))
		if nowErr == nil && (err != nil || now.ModTime() != old.ModTime()) {
			return false
		}
		time.Sleep(100 * time.Microsecond)
	}
	return len(batches) > 0
}

// checkpointed returns the batch of the folder's last checkpoint, or 0 if there is none.
// The checkpoints must not be damaged.
func checkpointed(t *testing.T, dir string) int {
	t.Helper()
	for _, name := range []string{bestFile, lastFile} {
		c, err := readCheckpoint(filepath.Join(dir, name))
		switch {
		case errors.Is(err, fs.ErrNotExist):
		case err != nil:
			t.Fatal(err)
		case name == lastFile:
			return c.State.Batch
		}
	}
	return 0
}

// checkResult checks that the JSON files in the folder are not damaged.
func checkResult(t *testing.T, dir string) {
	t.Helper()
	for _, name := range []string{configFile, resultFile} {
		text, err := os.ReadFile(filepath.Join(dir, name))
		if err == nil && !json.Valid(text) {
			t.Fatalf("%s is damaged: %q", name, text)
		}
	}
}
