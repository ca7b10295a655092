package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"
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
}

// testKill kills training processes at random moments and repeats the same
// command line until one is done. The result must be that of a run that nobody
// disturbed, bit for bit.
func testKill(t *testing.T, gcn string) {
	t.Chdir(t.TempDir())
	line := trainArgs("--max-batches", "3000", "--patience", "0", "--eval-every", "20", "--checkpoint-interval", "0", "--json", "-q", "--resume")
	whole := exec.Command(gcn, append(line, "--out", "whole")...)
	start := time.Now()
	want, err := whole.Output()
	if err != nil {
		t.Fatalf("the run that nobody disturbs: %v", err)
	}
	took := time.Since(start)
	rng := rand.New(rand.NewPCG(uint64(time.Now().UnixNano()), 0)) // the moments are not to be the same each time
	kills := 0
	var got []byte
	for done := false; !done; {
		cmd := exec.Command(gcn, append(line, "--out", "cut")...)
		var stdout, stderr bytes.Buffer
		cmd.Stdout, cmd.Stderr = &stdout, &stderr
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		// Short lives at first, among them none that reaches a checkpoint;
		// then longer ones, so that there is progress.
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
	if !bytes.Equal(weights(t, "whole"), weights(t, "cut")) {
		t.Error("the weights differ from those of the run that nobody disturbed")
	}
	if a, b := untimed(t, want), untimed(t, got); a != b {
		t.Errorf("the results differ:\n%s\n%s", a, b)
	}
	if a, b := metrics(t, "whole"), metrics(t, "cut"); a != b {
		t.Error("metrics.jsonl differs but for the seconds")
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

// untimed returns a result without what differs from run to run.
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

// testSignal interrupts a process as Ctrl-C does: it saves, says how to go on,
// and exits with 130.
func testSignal(t *testing.T, gcn string) {
	t.Chdir(t.TempDir())
	for _, signal := range []os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGHUP} {
		cmd := exec.Command(gcn, trainArgs("--max-batches", "10000000", "--patience", "0", "--checkpoint-interval", "0", "--out", "run", "--overwrite")...)
		var stderr bytes.Buffer
		cmd.Stderr = &stderr
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		for range 1000 { // until it trains
			if _, err := os.Stat("run/last.ckpt"); err == nil {
				break
			}
			time.Sleep(10 * time.Millisecond)
		}
		if err := cmd.Process.Signal(signal); err != nil {
			t.Fatal(err)
		}
		err := cmd.Wait()
		if cmd.ProcessState.ExitCode() != exitInterrupted {
			t.Fatalf("%v: %v, want exit code 130: %s", signal, err, stderr.String())
		}
		if message := lastLine(stderr.String()); !strings.Contains(message, "interrupted after") || !strings.Contains(message, "gcn train --out run --resume") {
			t.Errorf("%v: the last line is %q", signal, message)
		}
		if err := os.Remove("run/last.ckpt"); err != nil {
			t.Fatalf("%v: no checkpoint: %v", signal, err)
		}
	}
}

// testClosedPipe reads the first lines of a run and no more, as "2>&1 | head"
// does: the run saves its state and ends as after an interrupt.
func testClosedPipe(t *testing.T, gcn string) {
	t.Chdir(t.TempDir())
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	// No checkpoint is due but the one at the end.
	cmd := exec.Command(gcn, trainArgs("--max-batches", "10000000", "--patience", "0", "--checkpoint-interval", "1h", "--out", "run")...)
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
	// It goes on from where it was, which is further than there is to go.
	out, err := exec.Command(gcn, "train", "--out", "run", "--resume", "--max-batches", "1", "--json", "-q").Output()
	var result struct{ Batches int }
	if err == nil {
		err = json.Unmarshal(out, &result)
	}
	if err != nil || result.Batches < 10 {
		t.Errorf("going on: %v, %d batches", err, result.Batches)
	}
	// Other commands say nothing about a reader that has enough.
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

// testFullDisk writes results to a file that takes nothing.
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
