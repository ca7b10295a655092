package main

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// mpiLauncher is an MPI launcher that CI installs.
type mpiLauncher struct {
	name  string
	args  []string
	other string // the library of the other one
	rank  string // the variable with a process's rank
}

var mpiLaunchers = []mpiLauncher{
	{"mpirun.openmpi", []string{"--allow-run-as-root", "--oversubscribe"}, "libmpich.so.12", "OMPI_COMM_WORLD_RANK"},
	{"mpirun.mpich", nil, "libmpi.so.40", "PMI_RANK"},
}

// command returns the command that runs args on n ranks.
func (l mpiLauncher) command(ctx context.Context, n int, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, l.name, append(append([]string{"-n", strconv.Itoa(n)}, l.args...), args...)...)
	cmd.Env = append(os.Environ(), "OMPI_MCA_btl_vader_single_copy_mechanism=none")
	return cmd
}

// testRanks trains on several MPI ranks.
func testRanks(t *testing.T, gcn string) {
	for _, l := range mpiLaunchers {
		t.Run(l.name, func(t *testing.T) {
			if _, err := exec.LookPath(l.name); err != nil {
				t.Skipf("%s is not installed (Debian: openmpi-bin, mpich)", l.name)
			}
			t.Run("same bits", func(t *testing.T) { testRanksBits(t, gcn, l) })
			t.Run("partition", func(t *testing.T) { testRanksPartition(t, gcn, l) })
			t.Run("auto", func(t *testing.T) { testRanksAuto(t, gcn, l) })
			t.Run("several runs", func(t *testing.T) { testRanksSeveral(t, gcn, l) })
			t.Run("scores", func(t *testing.T) { testRanksScore(t, gcn, l) })
			t.Run("refused", func(t *testing.T) { testRanksRefused(t, gcn, l) })
			t.Run("stopped", func(t *testing.T) { testRanksStopped(t, gcn, l) })
			t.Run("reproduce", func(t *testing.T) { testRanksReproduce(t, gcn, l) })
			t.Run("bench", func(t *testing.T) { testRanksBench(t, gcn, l) })
			t.Run("killed", func(t *testing.T) { testRanksKilled(t, gcn, l) })
		})
	}
}

func ranksLine(more ...string) []string {
	return append([]string{"train", "--data", "synth:demo?nodes=2000&edges=10000", "--hidden", "16", "--batch", "64", "--micro", "4",
		"--patience", "0", "--eval-every", "5"}, more...)
}

// testRanksBits compares the parameters of 1 to 4 ranks with a process alone.
func testRanksBits(t *testing.T, gcn string, l mpiLauncher) {
	t.Chdir(t.TempDir())
	for _, c := range []struct {
		method, samples string
		ranks           []int
	}{
		{"ladies-flat-debiased", "64,64", []int{1, 2, 3, 4}},
		{"fastgcn-flat-debiased", "64,64", []int{3}},
		{"labor", "2,2", []int{2}},
		{"ladies-cv", "64", []int{3}},
		{"full", "", []int{4}},
	} {
		var sizes []string
		if c.samples != "" {
			sizes = []string{"--samples", c.samples}
		}
		line := ranksLine(append(sizes, "--max-batches", "10", "--method", c.method, "-q", "--out")...)
		alone := c.method
		if out, err := exec.Command(gcn, append(line, alone)...).CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		want := readFile(t, filepath.Join(alone, "best.ckpt"))
		for _, n := range c.ranks {
			dir := fmt.Sprintf("%s-%d", c.method, n)
			out, err := l.command(t.Context(), n, append(append([]string{gcn}, line...), dir, "--json")...).Output()
			if err != nil {
				t.Fatalf("%s on %d ranks: %v\n%s", c.method, n, err, stderrOf(err))
			}
			if lines := strings.Count(string(out), "\n"); lines != 1 || !strings.Contains(string(out), fmt.Sprintf(`"ranks":%d,`, n)) ||
				(n > 1) != regexp.MustCompile(`"comm_ms_per_step":[0-9.]+,"imbalance":[1-9][0-9.]*[,}]`).Match(out) {
				t.Errorf("%s on %d ranks: %d lines, want one result: %s", c.method, n, lines, out)
			}
			if !bytes.Equal(readFile(t, filepath.Join(dir, "best.ckpt")), want) {
				t.Errorf("%s: %d ranks end with other parameters than one process", c.method, n)
			}
		}
	}
}

// testRanksPartition compares ranks that hold the data in parts with a process alone.
func testRanksPartition(t *testing.T, gcn string, l mpiLauncher) {
	t.Chdir(t.TempDir())
	data := "synth:demo?nodes=2000&edges=10000"
	if out, err := exec.Command(gcn, "datasets", "convert", data, "demo.store", "--features", "float16").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, c := range []struct {
		method, samples, partition string
		ranks                      int
	}{
		{"ladies-flat-debiased", "64,64", "all", 4},
		{"fastgcn-flat-debiased", "64,64", "all", 3},
		{"labor", "2,2", "all", 2},
		{"ladies-cv", "64", "features", 3},
		{"ladies-cv", "64", "all", 2},
		{"full", "", "features", 3},
	} {
		line := ranksLine("--data", "store:demo.store", "--max-batches", "10", "--method", c.method, "--overwrite")
		if c.samples != "" {
			line = append(line, "--samples", c.samples)
		}
		if out, err := exec.Command(gcn, append(line, "-q", "--out", "alone")...).CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		cmd := l.command(t.Context(), c.ranks, append(append([]string{gcn}, line...), "--out", "parts", "--json", "--partition", c.partition)...)
		var messages bytes.Buffer
		cmd.Stderr = &messages
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("%s on %d ranks: %v\n%s", c.method, c.ranks, err, &messages)
		}
		if !bytes.Equal(readFile(t, "parts/best.ckpt"), readFile(t, "alone/best.ckpt")) {
			t.Errorf("%s, partition %s: %d ranks end with other parameters than one process", c.method, c.partition, c.ranks)
		}
		for _, field := range []string{`"exchange_bytes_per_step":`, `"held_share":`, `"partition":"` + c.partition} {
			if !strings.Contains(string(out), field) {
				t.Errorf("no %s in %s", field, out)
			}
		}
		for _, text := range []string{"each holds about", "an update: each rank sends"} {
			if !strings.Contains(messages.String(), text) {
				t.Errorf("no %q in the messages: %s", text, &messages)
			}
		}
	}
	out, err := l.command(t.Context(), 2, append([]string{gcn}, ranksLine("--method", "saint-node", "--partition", "all", "--out", "refused")...)...).CombinedOutput()
	if err == nil || !strings.Contains(string(out), "saint-node reads rows of the whole graph") {
		t.Errorf("saint-node with a partition: %v\n%s", err, out)
	}
}

// testRanksSeveral deals whole runs to ranks.
func testRanksSeveral(t *testing.T, gcn string, l mpiLauncher) {
	t.Chdir(t.TempDir())
	line := ranksLine("--micro", "1", "--max-batches", "10", "--samples", "64,64", "--runs", "3", "-q", "--json", "--out")
	want, err := exec.Command(gcn, append(line, "alone")...).Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, stderrOf(err))
	}
	got, err := l.command(t.Context(), 2, append(append([]string{gcn}, line...), "dealt")...).Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, stderrOf(err))
	}
	mean := regexp.MustCompile(`"test_mean":[^}]*`)
	if a, b := mean.Find(want), mean.Find(got); len(a) == 0 || !bytes.Equal(a, b) {
		t.Errorf("two ranks end with %s, one process with %s", b, a)
	}
	for _, seed := range []string{"seed-1", "seed-2", "seed-3"} {
		if !bytes.Equal(readFile(t, filepath.Join("dealt", seed, "best.ckpt")), readFile(t, filepath.Join("alone", seed, "best.ckpt"))) {
			t.Errorf("%s differs", seed)
		}
	}
	again, err := l.command(t.Context(), 3, append(append([]string{gcn}, line...), "dealt", "--resume")...).Output()
	if err != nil || !bytes.Equal(mean.Find(again), mean.Find(want)) {
		t.Errorf("resumed when done: %v\n%s%s", err, again, stderrOf(err))
	}
}

// testRanksScore shares the rows of evaluation and prediction.
func testRanksScore(t *testing.T, gcn string, l mpiLauncher) {
	t.Chdir(t.TempDir())
	data := "synth:demo?nodes=9000&edges=30000"
	if out, err := exec.Command(gcn, "train", "--data", data, "--max-batches", "5", "--hidden", "16", "-q", "--out", "run").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, args := range [][]string{{"eval", "--run", "run"}, {"predict", "--run", "run", "--out", "scores.npy"}} {
		want, err := exec.Command(gcn, args...).Output()
		if err != nil {
			t.Fatalf("%v\n%s", err, stderrOf(err))
		}
		file, _ := os.ReadFile("scores.npy")
		os.Remove("scores.npy")
		got, err := l.command(t.Context(), 2, append([]string{gcn}, args...)...).Output()
		if err != nil || !bytes.Equal(got, want) {
			t.Errorf("gcn %s on 2 ranks: %v\n%s%s\nwant %s", args[0], err, got, stderrOf(err), want)
		}
		if again, _ := os.ReadFile("scores.npy"); !bytes.Equal(again, file) {
			t.Errorf("gcn %s: 2 ranks write other scores", args[0])
		}
	}
}

func stderrOf(err error) string {
	if exit, ok := err.(*exec.ExitError); ok {
		return string(exit.Stderr)
	}
	return ""
}

// testRanksAuto checks that all ranks train with what rank 0 chooses for auto: a method that
// is not the default, and for a run that they resume the interval that it has.
func testRanksAuto(t *testing.T, gcn string, l mpiLauncher) {
	for _, options := range []string{
		"--data synth:demo?nodes=40&edges=60&features=4&classes=2 --samples auto",
		"--data synth:demo?nodes=300&edges=1500 --samples 5 --batch 20 --eval-every auto",
	} {
		t.Chdir(t.TempDir())
		line := append([]string{"train", "--hidden", "8", "--micro", "3", "--resume", "-q"}, strings.Fields(options)...)
		for _, limit := range []string{"20", "40"} {
			line := append(line, "--max-batches", limit, "--out")
			succeed(t, append(line, "alone")...)
			if out, err := l.command(t.Context(), 2, append(append([]string{gcn}, line...), "ranks")...).CombinedOutput(); err != nil {
				t.Fatalf("%s, %s updates: %v\n%s", options, limit, err, out)
			}
			if !bytes.Equal(weightsOf(t, "alone"), weightsOf(t, "ranks")) {
				t.Errorf("%s, %s updates: two ranks give other weights", options, limit)
			}
		}
	}
}

// testRanksRefused starts ranks that cannot train together.
func testRanksRefused(t *testing.T, gcn string, l mpiLauncher) {
	t.Chdir(t.TempDir())
	for rank := range 2 {
		succeed(t, "datasets", "convert", fmt.Sprintf("synth:demo?nodes=500&edges=1000&seed=%d", rank), fmt.Sprintf("s%d", rank))
	}
	for name, c := range map[string]struct {
		script string // of each rank
		want   string
	}{
		"without --micro": {gcn + " train --max-batches 1 --out a", "--micro"},
		"other library":   {"GCN_MPI=" + l.other + " " + gcn + " train --micro 2 --max-batches 1 --out b", "GCN_MPI"},
		"other data":      {gcn + ` train --data "synth:demo?nodes=500&edges=1000&seed=$` + l.rank + `" --micro 2 --max-batches 1 --out c`, "differs from rank 0 in its data"},
		"other settings":  {gcn + " train --data 'synth:demo?nodes=500&edges=1000' --hidden 1$" + l.rank + " --micro 2 --max-batches 1 --out d", "differs from rank 0 in its settings"},
		"other BLAS":      {"[ $" + l.rank + " = 0 ] || export GCN_BLAS=gonum; " + gcn + " train --data 'synth:demo?nodes=500&edges=1000' --micro 2 --max-batches 1 --out g", "differs from rank 0 in its BLAS"},
		"other store":     {gcn + " train --data store:$PWD/s$" + l.rank + " --micro 2 --max-batches 1 --out h", "rank 1 on "},
		"no store":        {gcn + " train --data store:$PWD/s$((2*" + l.rank + ")) --micro 2 --max-batches 1 --out i", "rank 1 on "},
		"histories":       {gcn + " train --data 'synth:demo?nodes=500&edges=1000' --method vrgcn --micro 2 --max-batches 1 --out e", "histories"},
	} {
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
		cmd := l.command(ctx, 2, "sh", "-c", c.script)
		out, err := cmd.CombinedOutput()
		cancel()
		if _, ended := err.(*exec.ExitError); !ended || ctx.Err() == context.DeadlineExceeded || !strings.Contains(string(out), c.want) {
			t.Errorf("%s: %v, want a message with %q\n%s", name, err, c.want, out)
		}
	}
	out, err := l.command(t.Context(), 3, gcn, "version").CombinedOutput()
	if err != nil || strings.Count(string(out), "BLAS") != 1 || !strings.Contains(string(out), "3 ranks") {
		t.Errorf("gcn version on 3 ranks: %v\n%s", err, out)
	}
}

// testRanksStopped stops a rank for good while it trains: the others name it.
func testRanksStopped(t *testing.T, gcn string, l mpiLauncher) {
	t.Chdir(t.TempDir())
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	cmd := l.command(ctx, 3, append([]string{gcn}, ranksLine("--max-batches", "1000000", "--rank-timeout", "2s", "--out", "run", "-q")...)...)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	for stopped := false; !stopped && ctx.Err() == nil; time.Sleep(50 * time.Millisecond) {
		if text, _ := os.ReadFile("run/metrics.jsonl"); len(text) == 0 {
			continue
		}
		for _, pid := range processesOf(gcn) {
			environment, _ := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid))
			if bytes.Contains(environment, []byte(l.rank+"=1\x00")) {
				stopped = syscall.Kill(pid, syscall.SIGSTOP) == nil
			}
		}
	}
	err := cmd.Wait()
	host, _ := os.Hostname()
	if _, ended := err.(*exec.ExitError); !ended || ctx.Err() != nil || !strings.Contains(out.String(), "no sign of life for 2s from rank 1 on "+host) {
		t.Errorf("%v\n%s", err, out.String())
	}
}

// testRanksReproduce shares the cells of a table.
func testRanksReproduce(t *testing.T, gcn string, l mpiLauncher) {
	t.Chdir(t.TempDir())
	line := []string{gcn, "reproduce", "table7", "--data", "synth:demo?nodes=500&edges=2500&features=8", "--runs", "2", "--batch", "32", "--hidden", "8",
		"--max-batches", "20", "-q", "--out"}
	if out, err := exec.Command(line[0], append(line[1:], "alone")...).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	out, err := l.command(t.Context(), 2, append(line, "shared")...).CombinedOutput()
	if err != nil || bytes.Count(out, []byte("saved in")) != 1 {
		t.Fatalf("%v\n%s", err, out)
	}
	if !bytes.Equal(readFile(t, "alone/table7.csv"), readFile(t, "shared/table7.csv")) {
		t.Error("two ranks make another table")
	}
}

// testRanksBench measures two ranks.
func testRanksBench(t *testing.T, gcn string, l mpiLauncher) {
	t.Chdir(t.TempDir())
	out, err := l.command(t.Context(), 2, gcn, "bench", "ranks", "--data", "synth:demo?nodes=500&edges=1000", "--hidden", "8", "--batch", "32", "--samples", "32",
		"--micro", "2", "--updates", "5", "--ranks", "1,2", "--json").Output()
	if err != nil || bytes.Count(out, []byte("\n")) != 1 || !bytes.Contains(out, []byte(`"ranks":2,`)) || !bytes.Contains(out, []byte(`"predicted_here"`)) {
		t.Errorf("%v\n%s%s", err, out, stderrOf(err))
	}
}

// testRanksKilled kills a rank, or ends the launcher by SIGTERM, at random moments. It goes
// on with another number of ranks until the run is done.
func testRanksKilled(t *testing.T, gcn string, l mpiLauncher) {
	t.Chdir(t.TempDir())
	line := append([]string{gcn}, ranksLine("--max-batches", "400", "--samples", "64,64", "--checkpoint-interval", "0", "-q", "--resume", "--out")...)
	start := time.Now()
	if out, err := l.command(t.Context(), 2, append(line, "whole")...).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	whole := time.Since(start)
	random := rand.New(rand.NewPCG(1, 1))
	for attempt := 0; ; attempt++ {
		if attempt > 60 {
			t.Fatal("the run does not end")
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		cmd := l.command(ctx, 1+random.IntN(4), append(line, "parts")...)
		var out bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &out
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		if attempt < 20 {
			time.Sleep(time.Duration(random.Float64() * float64(whole)))
			if attempt%4 == 0 {
				cmd.Process.Signal(syscall.SIGTERM)
			} else if ranks := processesOf(gcn); len(ranks) > 0 {
				syscall.Kill(ranks[random.IntN(len(ranks))], syscall.SIGKILL)
			}
		}
		err := cmd.Wait()
		cancel()
		if ctx.Err() == context.DeadlineExceeded {
			t.Fatalf("a launcher hangs\n%s", out.String())
		}
		if err == nil {
			break
		}
		if attempt >= 20 {
			t.Fatalf("%v\n%s", err, out.String())
		}
	}
	if !bytes.Equal(readFile(t, "parts/best.ckpt"), readFile(t, "whole/best.ckpt")) {
		t.Error("the run that was killed ends with other parameters")
	}
}

// processesOf returns the processes that run the program at path.
func processesOf(path string) (pids []int) {
	entries, _ := filepath.Glob("/proc/[0-9]*/exe")
	for _, entry := range entries {
		if target, err := os.Readlink(entry); err == nil && target == path {
			if pid, err := strconv.Atoi(filepath.Base(filepath.Dir(entry))); err == nil {
				pids = append(pids, pid)
			}
		}
	}
	return pids
}
