package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"math/rand/v2"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/gcn-layerwise/gcn/internal/longtest"
)

// buildCommand builds gcn into a temporary folder and returns its path.
func buildCommand(t *testing.T) string {
	t.Helper()
	if runtime.GOOS == "windows" || runtime.GOOS == "plan9" {
		t.Skip("needs signals")
	}
	path := filepath.Join(t.TempDir(), "gcn")
	if out, err := exec.Command("go", "build", "-o", path, ".").CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	return path
}

// TestProcess builds the command and disturbs its processes.
func TestProcess(t *testing.T) {
	if testing.Short() {
		t.Skip("builds the command and runs it many times")
	}
	gcn := buildCommand(t)
	t.Run("kill", func(t *testing.T) { testKill(t, gcn) })
	t.Run("signal", func(t *testing.T) { testSignal(t, gcn) })
	t.Run("closed pipe", func(t *testing.T) { testClosedPipe(t, gcn) })
	t.Run("full disk", func(t *testing.T) { testFullDisk(t, gcn) })
	t.Run("predict", func(t *testing.T) { testKillPredict(t, gcn) })
	t.Run("moved", func(t *testing.T) { testMoved(t, gcn) })
	t.Run("ranks", func(t *testing.T) { testRanks(t, gcn) })
	t.Run("refused", func(t *testing.T) { testRefused(t, gcn) })
	t.Run("hostile files", func(t *testing.T) {
		longtest.Skip(t)
		testHostileFiles(t, gcn)
	})
}

// testKill kills training processes at random moments, and repeats the same
// command line until one process ends by itself. The result must equal, bit for
// bit, the result of a run that was not killed.
func testKill(t *testing.T, gcn string) {
	t.Chdir(t.TempDir())
	line := trainArgs("--max-batches", "3000", "--patience", "0", "--eval-every", "20", "--config", checkpoints(t, 0), "--json", "-q", "--resume")
	whole := exec.Command(gcn, append(line, "--out", "whole")...)
	start := time.Now()
	want, err := whole.Output()
	if err != nil {
		t.Fatalf("the run that nobody disturbs: %v", err)
	}
	took := time.Since(start)
	rng := rand.New(rand.NewPCG(uint64(time.Now().UnixNano()), 0)) // other moments in each test run
	kills := 0
	var got []byte
	for done := false; !done; {
		cmd := exec.Command(gcn, append(line, "--out", "cut")...)
		var stdout, stderr bytes.Buffer
		cmd.Stdout, cmd.Stderr = &stdout, &stderr
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		// The first processes live too briefly to reach a checkpoint. Later ones
		// live longer, so that the run makes progress.
		life := time.Duration(rng.Float64() * float64(took) * min(0.05*float64(1+kills), 0.7))
		timer := time.AfterFunc(life, func() {
			_ = cmd.Process.Kill() // it may be done
		})
		err := cmd.Wait()
		timer.Stop()
		var exit *exec.ExitError
		switch {
		case err == nil:
			got, done = stdout.Bytes(), true
		case errors.As(err, &exit) && !exit.Exited():
			kills++
		default:
			t.Fatalf("after %d kills: %v: %s", kills, err, stderr.String())
		}
		if kills > 60 {
			t.Fatal("60 kills, and still not done")
		}
	}
	t.Logf("%d kills; undisturbed the run takes %v", kills, took)
	if kills < 3 {
		t.Errorf("only %d kills: the test shows little", kills)
	}
	if !bytes.Equal(weightsOf(t, "whole"), weightsOf(t, "cut")) {
		t.Error("the weights differ from the weights of a run that was not killed")
	}
	if a, b := untimed(t, want), untimed(t, got); a != b {
		t.Errorf("the results differ:\n%s\n%s", a, b)
	}
	if a, b := metrics(t, "whole"), metrics(t, "cut"); a != b {
		t.Error("metrics.jsonl differs in more than the seconds")
	}
	entries, err := os.ReadDir("cut")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if strings.HasSuffix(e.Name(), ".part") {
			t.Errorf("a half-written %s was left behind", e.Name())
		}
	}
}

// untimed returns a result without the fields that differ from run to run.
func untimed(t *testing.T, result []byte) string {
	t.Helper()
	var m map[string]any
	if err := json.Unmarshal(result, &m); err != nil {
		t.Fatalf("%v: %s", err, result)
	}
	for name := range m {
		if strings.HasSuffix(name, "_s") || strings.HasSuffix(name, "_ms_per_batch") || name == "peak_rss_mb" || name == "run_dir" {
			delete(m, name)
		}
	}
	text, err := json.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// metrics returns a run's metrics.jsonl without the seconds.
func metrics(t *testing.T, dir string) string {
	t.Helper()
	var b strings.Builder
	for line := range strings.Lines(string(readFile(t, filepath.Join(dir, "metrics.jsonl")))) {
		var m map[string]any
		if err := json.Unmarshal([]byte(line), &m); err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		delete(m, "seconds")
		text, err := json.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		b.Write(append(text, '\n'))
	}
	return b.String()
}

// testSignal interrupts a process as Ctrl-C does. The process saves a checkpoint,
// prints how to go on, and exits with 130.
func testSignal(t *testing.T, gcn string) {
	t.Chdir(t.TempDir())
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Minute)
	defer cancel()
	for _, sent := range []os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGHUP} {
		if signal.Ignored(sent.(syscall.Signal)) { // as under nohup: the command ignores it too
			continue
		}
		cmd := exec.CommandContext(ctx, gcn, trainArgs("--max-batches", "10000000", "--patience", "0", "--config", checkpoints(t, 0), "--out", "run", "--overwrite")...)
		var stderr bytes.Buffer
		cmd.Stderr = &stderr
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		waitForFile(t, "run/last.ckpt", nil) // it trains
		if err := cmd.Process.Signal(sent); err != nil {
			t.Fatal(err)
		}
		err := cmd.Wait()
		if cmd.ProcessState.ExitCode() != exitInterrupted {
			t.Fatalf("%v: %v, want exit code 130: %s", sent, err, stderr.String())
		}
		if message := lastLine(stderr.String()); !strings.Contains(message, "interrupted after") || !strings.Contains(message, "gcn train --out run --resume") {
			t.Errorf("%v: the last line is %q", sent, message)
		}
		if err := os.Remove("run/last.ckpt"); err != nil {
			t.Fatalf("%v: no checkpoint: %v", sent, err)
		}
	}
}

// testClosedPipe reads only the first lines of a run's output, as "2>&1 | head"
// does. The run saves its state and ends as after an interrupt.
func testClosedPipe(t *testing.T, gcn string) {
	t.Chdir(t.TempDir())
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	// The only checkpoint is the last one, at the end.
	cmd := exec.Command(gcn, trainArgs("--max-batches", "10000000", "--patience", "0", "--config", checkpoints(t, 3600), "--out", "run")...)
	cmd.Stdout, cmd.Stderr = w, w
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	w.Close()
	for lines := bufio.NewScanner(r); !strings.HasPrefix(lines.Text(), "batch "); {
		if !lines.Scan() {
			t.Fatalf("it ended before it trained: %v", cmd.Wait())
		}
	}
	r.Close()
	if err := cmd.Wait(); cmd.ProcessState.ExitCode() != exitInterrupted {
		t.Fatalf("%v, want exit code 130", err)
	}
	// The run resumes from its checkpoint, which is beyond the new limit.
	out, err := exec.Command(gcn, "train", "--out", "run", "--resume", "--max-batches", "1", "--json", "-q").Output()
	var result struct{ Batches int }
	if err == nil {
		err = json.Unmarshal(out, &result)
	}
	if err != nil || result.Batches < 10 {
		t.Errorf("going on: %v, %d batches", err, result.Batches)
	}
	// Other commands print no message when the reader closes the pipe.
	if r, w, err = os.Pipe(); err != nil {
		t.Fatal(err)
	}
	r.Close()
	defer w.Close()
	for _, args := range [][]string{{"methods"}, {"--help"}, {"completion", "bash"}} {
		cmd := exec.Command(gcn, args...)
		var stderr bytes.Buffer
		cmd.Stdout, cmd.Stderr = w, &stderr
		if err := cmd.Run(); cmd.ProcessState.ExitCode() != exitFailed || stderr.Len() > 0 {
			t.Errorf("gcn %s: %v: %s", strings.Join(args, " "), err, stderr.String())
		}
	}
}

// testFullDisk writes results to a file on a full device.
func testFullDisk(t *testing.T, gcn string) {
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Skip("no /dev/full here")
	}
	defer full.Close()
	for _, args := range [][]string{{"train", "--help"}, {"help"}, {"version"}, {"methods", "--json"}} {
		cmd := exec.Command(gcn, args...)
		var stderr bytes.Buffer
		cmd.Stdout, cmd.Stderr = full, &stderr
		if err := cmd.Run(); cmd.ProcessState.ExitCode() != exitFailed || !strings.Contains(stderr.String(), "standard output") {
			t.Errorf("gcn %s > /dev/full: %v: %s", strings.Join(args, " "), err, stderr.String())
		}
	}
}

// testKillPredict kills processes while they write scores. The old scores stay,
// and the next process removes the parts of the killed ones.
func testKillPredict(t *testing.T, gcn string) {
	t.Chdir(t.TempDir())
	succeed(t, "train", "--data", smallData, "--hidden", "8", "--samples", "32", "--max-batches", "2", "--out", "run", "-q")
	const rows = 100000 // a file that takes a while to write
	writeFile(t, "nodes.txt", []byte(strings.Repeat("7\n", rows)))
	predict := func() *exec.Cmd {
		return exec.Command(gcn, "predict", "--run", "run", "--out", "out/s.csv", "--nodes", "nodes.txt")
	}
	if err := os.Mkdir("out", 0o777); err != nil {
		t.Fatal(err)
	}
	const before, part = "the scores before\n", "out/.s.csv.part"
	writeFile(t, "out/s.csv", []byte(before))
	left := 0
	for range 4 {
		if err := os.Remove(part); err != nil && !errors.Is(err, os.ErrNotExist) {
			t.Fatal(err)
		}
		cmd := predict()
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		ended := make(chan error, 1)
		go func() { ended <- cmd.Wait() }()
		for len(ended) == 0 {
			if _, err := os.Stat(part); err == nil {
				break
			}
		}
		_ = cmd.Process.Kill() // it may be done
		<-ended
		if _, err := os.Stat(part); err != nil {
			writeFile(t, "out/s.csv", []byte(before)) // it was done
			continue
		}
		left++
		if scores := readFile(t, "out/s.csv"); string(scores) != before {
			t.Fatalf("after a kill %.100q is there", scores)
		}
	}
	if left == 0 {
		t.Error("no killed process left a part: the test shows nothing")
	}
	if out, err := predict().CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	entries, err := os.ReadDir("out")
	if err != nil || len(entries) != 1 {
		t.Errorf("%v are left, %v", entries, err)
	}
	if scores := readFile(t, "out/s.csv"); bytes.Count(scores, []byte("\n")) != rows+1 {
		t.Error("the scores are not whole")
	}
}

// waitForFile waits until a file that is not empty exists and is newer than old, which may be
// nil. It fails the test if none appears in a minute.
func waitForFile(t *testing.T, path string, old os.FileInfo) {
	t.Helper()
	for end := time.Now().Add(time.Minute); time.Now().Before(end); {
		if now, err := os.Stat(path); err == nil && now.Size() > 0 && (old == nil || !now.ModTime().Equal(old.ModTime())) {
			return
		}
		time.Sleep(time.Millisecond)
	}
	t.Fatalf("there is no new %s", path)
}

// testMoved moves the folder of a training process, and starts another process
// that trains in a new folder of the same name. The first fails, and goes on in the moved folder;
// each ends with the weights of a run alone.
func testMoved(t *testing.T, gcn string) {
	t.Chdir(t.TempDir())
	line := func(out, seed string) []string {
		return trainArgs("--max-batches", "1500", "--patience", "0", "--eval-every", "100", "--config", checkpoints(t, 0), "-q", "--out", out, "--seed", seed)
	}
	succeed(t, line("one", "1")...)
	succeed(t, line("two", "2")...)
	first := exec.Command(gcn, line("run", "1")...)
	var stderr bytes.Buffer
	first.Stderr = &stderr
	if err := first.Start(); err != nil {
		t.Fatal(err)
	}
	waitForFile(t, "run/last.ckpt", nil)
	if err := os.Rename("run", "moved"); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command(gcn, line("run", "2")...).CombinedOutput(); err != nil {
		t.Errorf("the second: %v: %s", err, out)
	}
	err := first.Wait()
	if first.ProcessState.ExitCode() != exitFailed || !strings.Contains(stderr.String(), "run/.lock was moved, removed or replaced") {
		t.Errorf("the first: %v: %s", err, stderr.String())
	}
	succeed(t, "train", "--out", "moved", "--resume", "-q")
	for dir, like := range map[string]string{"moved": "one", "run": "two"} {
		if !bytes.Equal(weightsOf(t, dir), weightsOf(t, like)) || metrics(t, dir) != metrics(t, like) {
			t.Errorf("%s holds other weights than a run alone", dir)
		}
		if a, b := untimed(t, readFile(t, dir+"/result.json")), untimed(t, readFile(t, like+"/result.json")); a != b {
			t.Errorf("the results differ:\n%s\n%s", a, b)
		}
		succeed(t, "eval", "--run", dir)
	}
}

// testRefused gives commands that must be refused while several runs go on, then
// kills or interrupts the runs. The command that the message names must end with
// the weights of undisturbed runs.
func testRefused(t *testing.T, gcn string) {
	t.Chdir(t.TempDir())
	line := trainArgs("--runs", "2", "--max-batches", "3000", "--patience", "0", "--eval-every", "100", "--config", checkpoints(t, 0), "-q")
	succeed(t, append(line, "--out", "whole")...)
	for _, signal := range []os.Signal{os.Kill, os.Interrupt} {
		old, _ := os.Stat("cut/config.json")
		cmd := exec.Command(gcn, append(line, "--out", "cut", "--resume")...)
		var stderr bytes.Buffer
		cmd.Stderr = &stderr
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		waitForFile(t, "cut/config.json", old) // it has begun
		for _, args := range [][]string{
			{"--out", "cut", "--overwrite", "--runs", "2", "--hidden", "8"},
			{"--out", "cut", "--overwrite", "--hidden", "8"},
			{"--out", "cut", "--resume", "--lr", "0.5"},
		} {
			if out, err := exec.Command(gcn, append(trainArgs("-q"), args...)...).CombinedOutput(); err == nil {
				t.Errorf("gcn train %v was not refused: %s", args, out)
			}
		}
		_ = cmd.Process.Signal(signal) // it may be done
		_ = cmd.Wait()
		if message := lastLine(stderr.String()); signal == os.Interrupt && message != "" {
			words := strings.Fields(message)
			at := slices.Index(words, "gcn")
			if at < 0 {
				t.Fatalf("the last line is %q", message)
			}
			if out, err := exec.Command(gcn, words[at+1:]...).CombinedOutput(); err != nil {
				t.Errorf("%q: %v: %s", message, err, out)
			}
		}
	}
	succeed(t, append(line, "--out", "cut", "--resume")...)
	for _, seed := range []string{"/seed-1", "/seed-2"} {
		if !bytes.Equal(weightsOf(t, "whole"+seed), weightsOf(t, "cut"+seed)) {
			t.Errorf("cut%s has other weights than an undisturbed run", seed)
		}
	}
}
