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
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/gcn-layerwise/gcn/internal/longtest"
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
	source, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	first := true
	for _, l := range mpiLaunchers {
		t.Run(l.name, func(t *testing.T) {
			if _, err := exec.LookPath(l.name); err != nil {
				t.Skipf("%s is not installed (Debian: openmpi-bin, mpich)", l.name)
			}
			// Open MPI's launchers share a folder in TMPDIR: one that starts fails if another,
			// of another package's tests, removes it. The name is short, as sockets want.
			sessions, err := os.MkdirTemp("", "mpi")
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { os.RemoveAll(sessions) })
			t.Setenv("TMPDIR", sessions)
			t.Run("same bits", func(t *testing.T) { testRanksBits(t, gcn, l) })
			t.Run("ended", func(t *testing.T) { testRanksEnded(t, gcn, l) })
			t.Run("stopped", func(t *testing.T) { testRanksStopped(t, gcn, l) })
			t.Run("killed", func(t *testing.T) { testRanksKilled(t, gcn, l) })
			t.Run("rest", func(t *testing.T) {
				if !first { // the rest differs little between launchers: one shows it
					longtest.Skip(t)
				}
				first = false
				t.Run("auto", func(t *testing.T) { testRanksAuto(t, gcn, l) })
				longtest.Skip(t) // each takes seconds, and checks what seldom changes
				t.Run("several runs", func(t *testing.T) { testRanksSeveral(t, gcn, l) })
				t.Run("scores", func(t *testing.T) { testRanksScore(t, gcn, l) })
				t.Run("refused", func(t *testing.T) { testRanksRefused(t, gcn, l) })
				t.Run("revision", func(t *testing.T) { testRanksRevision(t, gcn, source, l) })
				t.Run("hosts", func(t *testing.T) { testRanksHosts(t, gcn, l) })
				t.Run("overflow", func(t *testing.T) { testRanksOverflow(t, gcn, l) })
				t.Run("reproduce", func(t *testing.T) { testRanksReproduce(t, gcn, l) })
			})
		})
	}
}

func ranksLine(more ...string) []string {
	return append([]string{"train", "--data", "synth:demo?nodes=2000&edges=10000", "--hidden", "16", "--batch", "64", "--micro", "4",
		"--patience", "0", "--eval-every", "5", "--schedule", "none?warm-up=0"}, more...)
}

// testRanksBits compares the parameters of 1 to 4 ranks with a process alone, with all data on
// each rank and with data in parts. The hidden rows of an evaluation are several chunks, which
// ranks share.
func testRanksBits(t *testing.T, gcn string, l mpiLauncher) {
	t.Chdir(t.TempDir())
	succeed(t, "datasets", "convert", "synth:demo?nodes=9000&edges=30000&features=12", "demo.store", "--features", "float16")
	type launch struct {
		method, dir, partition string
		ranks                  int
		cmd                    *exec.Cmd
		out, messages          bytes.Buffer
		err                    error
	}
	scores, want := regexp.MustCompile(`"(best_valid|test|batches)":[^,}]*`), map[string][]string{}
	var all []*launch
	for m, options := range []string{
		"ladies-flat-debiased --samples 64,64",
		"fastgcn-flat-debiased --samples 64,64",
		"labor --samples 2,2",
		"ladies-cv?every=3 --samples 64",
		"full",
	} {
		line := append(strings.Fields("train --data store:demo.store --hidden 16 --batch 64 --micro 4 --patience 0 --eval-every 3 --max-batches 5 --method"), strings.Fields(options)...)
		method, _, _ := strings.Cut(options, " ")
		want[method] = scores.FindAllString(succeed(t, append(line, "-q", "--json", "--out", method)...).stdout, -1)
		for n := 1; n <= 4; n++ {
			for k, partition := range []string{"none", "features", "all"} {
				if n != 1+(m+k)%4 && !longtest.Wanted() {
					continue // another number of ranks for each method and partition
				}
				dir := fmt.Sprintf("%s-%d-%s", method, n, partition)
				run := &launch{method: method, dir: dir, partition: partition, ranks: n}
				run.cmd = l.command(t.Context(), n, append(append([]string{gcn}, line...), "--out", dir, "--json", "--partition", partition)...)
				run.cmd.Stdout, run.cmd.Stderr = &run.out, &run.messages
				// Two launchers of Open MPI that start at once fail if both make the folder that they share.
				sessions, err := os.MkdirTemp("", "")
				if err != nil {
					t.Fatal(err)
				}
				run.cmd.Env = append(run.cmd.Env, "TMPDIR="+sessions)
				all = append(all, run)
			}
		}
	}
	var launches errgroup.Group
	launches.SetLimit(3) // a launcher mostly waits
	for _, run := range all {
		launches.Go(func() error {
			run.err = run.cmd.Run()
			return nil
		})
	}
	launches.Wait()
	for _, run := range all {
		if run.err != nil {
			t.Errorf("%s: %v\n%s", run.dir, run.err, &run.messages)
			continue
		}
		if !bytes.Equal(weightsOf(t, run.dir), weightsOf(t, run.method)) {
			t.Errorf("%s: other parameters than one process", run.dir)
		}
		if got := scores.FindAllString(run.out.String(), -1); len(got) != 3 || !slices.Equal(got, want[run.method]) {
			t.Errorf("%s: %s, want %s", run.dir, got, want[run.method])
		}
		checkRanksResult(t, run.dir, run.out.Bytes(), run.messages.String(), run.ranks, run.partition)
	}
	out, err := l.command(t.Context(), 2, append([]string{gcn}, ranksLine("--method", "saint-node", "--partition", "all", "--out", "refused")...)...).CombinedOutput()
	if err == nil || !strings.Contains(string(out), "this method reads rows of the whole graph") {
		t.Errorf("saint-node with a partition: %v\n%s", err, out)
	}
}

// checkRanksResult checks the one result of n ranks, and rank 0's messages.
func checkRanksResult(t *testing.T, run string, result []byte, messages string, n int, partition string) {
	fields := []string{fmt.Sprintf(`"ranks":%d,`, n), `"micro":4,`, `"hosts":1[,}]`}
	var texts []string
	if n > 1 {
		fields = append(fields, `"comm_ms_per_step":[0-9.]+,`, `"imbalance":[1-9][0-9.]*[,}]`, `"exchange_bytes_per_step":[1-9]`)
		if partition != "none" {
			fields = append(fields, `"held_share":0\.`, `"partition":"`+partition)
			texts = []string{"each holds about"}
		}
	}
	if bytes.Count(result, []byte("\n")) != 1 {
		t.Errorf("%s: want one result: %s", run, result)
	}
	for _, field := range fields {
		if !regexp.MustCompile(field).Match(result) {
			t.Errorf("%s: no %s in %s", run, field, result)
		}
	}
	for _, text := range texts {
		if !strings.Contains(messages, text) {
			t.Errorf("%s: no %q in the messages: %s", run, text, messages)
		}
	}
}

// testRanksSeveral trains several runs, each on all ranks.
func testRanksSeveral(t *testing.T, gcn string, l mpiLauncher) {
	t.Chdir(t.TempDir())
	line := ranksLine("--micro", "3", "--max-batches", "10", "--samples", "64,64", "--runs", "3", "-q", "--json", "--out")
	want, err := exec.Command(gcn, append(line, "alone")...).Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, stderrOf(err))
	}
	got, err := l.command(t.Context(), 2, append(append([]string{gcn}, line...), "shared")...).Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, stderrOf(err))
	}
	mean := regexp.MustCompile(`"test_mean":[^}]*`)
	if a, b := mean.Find(want), mean.Find(got); len(a) == 0 || !bytes.Equal(a, b) {
		t.Errorf("two ranks end with %s, one process with %s", b, a)
	}
	for _, seed := range []string{"seed-1", "seed-2", "seed-3"} {
		if !bytes.Equal(readFile(t, filepath.Join("shared", seed, "best.ckpt")), readFile(t, filepath.Join("alone", seed, "best.ckpt"))) {
			t.Errorf("%s differs", seed)
		}
	}
	again, err := l.command(t.Context(), 3, append(append([]string{gcn}, line...), "shared", "--resume")...).Output()
	if err != nil || !bytes.Equal(mean.Find(again), mean.Find(want)) {
		t.Errorf("resumed when done: %v\n%s%s", err, again, stderrOf(err))
	}
}

// testRanksScore shares the rows of evaluation and prediction.
func testRanksScore(t *testing.T, gcn string, l mpiLauncher) {
	t.Chdir(t.TempDir())
	data := "synth:demo?nodes=9000&edges=30000"
	costs := regexp.MustCompile(`(?m)^(wall s|peak rss mb) .*\n`)
	if out, err := exec.Command(gcn, "train", "--data", data, "--max-batches", "5", "--hidden", "16", "-q", "--out", "run").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, args := range [][]string{{"eval", "--run", "run"}, {"predict", "--run", "run", "--out", "scores.npy", "--logits"}} {
		want, err := exec.Command(gcn, args...).Output()
		if err != nil {
			t.Fatalf("%v\n%s", err, stderrOf(err))
		}
		file, _ := os.ReadFile("scores.npy")
		os.Remove("scores.npy")
		got, err := l.command(t.Context(), 2, append([]string{gcn}, args...)...).Output()
		if err != nil || !bytes.Equal(costs.ReplaceAll(got, nil), costs.ReplaceAll(want, nil)) {
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

// testRanksAuto checks that all ranks train with rank 0's choices for auto: a method that is
// not the default, and the interval that a resumed run has.
func testRanksAuto(t *testing.T, gcn string, l mpiLauncher) {
	for options, limits := range map[string][]string{
		"--data synth:demo?nodes=40&edges=60&features=4&classes=2 --samples auto":          {"20", "40"},
		"--data synth:demo?nodes=300&edges=1500 --samples 5 --batch 20 --eval-every auto":  {"20", "40"},
		"--data synth:mag?nodes=3000&edges=20000 --batch 64 --eval-every 10 --patience 20": {"auto"},
	} {
		t.Chdir(t.TempDir())
		line := append([]string{"train", "--hidden", "8", "--micro", "3", "--resume", "-q"}, strings.Fields(options)...)
		for _, limit := range limits {
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
	var launches errgroup.Group
	launches.SetLimit(8) // Open MPI's launcher waits two seconds after an error
	for _, c := range map[string]struct {
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
		launches.Go(func() error {
			failTogether(t, l, 2, c.script, c.want)
			return nil
		})
	}
	// An error that all ranks find is printed once.
	for args, code := range map[string]int{
		"train --no-such-flag":                        exitUsage,
		"nosuch":                                      exitUsage,
		"train --rank-timeout -1s":                    exitUsage,
		"train --hidden 0":                            exitUsage,
		"train --data nosuch:graph --micro 3":         exitUsage,
		"train --data npy:/no/such/graph --micro 3":   exitFailed,
		"train --data store:/no/such/store --micro 3": exitFailed,
		"eval --run /no/such/run":                     exitFailed,
	} {
		launches.Go(func() error {
			out, err := l.command(t.Context(), 3, append([]string{gcn}, strings.Fields(args)...)...).CombinedOutput()
			if exit, ok := err.(*exec.ExitError); !ok || exit.ExitCode() != code || strings.Count(string(out), "gcn: rank 0 on ") != 1 || strings.Count(string(out), "gcn: ") != 1 {
				t.Errorf("gcn %s on 3 ranks: %v, want exit code %d and one message\n%s", args, err, code, out)
			}
			return nil
		})
	}
	launches.Wait()
	failTogether(t, l, 2, "[ $"+l.rank+" = 0 ] || flag=--no-such-flag; exec "+gcn+" train --data 'synth:demo?nodes=500&edges=1000' --micro 2 --max-batches 1 --out k $flag",
		"gcn: rank 1 on ", "unknown flag --no-such-flag")
	out, err := l.command(t.Context(), 3, gcn, "version").CombinedOutput()
	if err != nil || strings.Count(string(out), "\nblas threads ") != 1 || !strings.Contains(string(out), "3 ranks") {
		t.Errorf("gcn version on 3 ranks: %v\n%s", err, out)
	}
}

// testRanksRevision starts a rank from a program that was built in another way, without git's
// revision. source is the folder of the command.
func testRanksRevision(t *testing.T, gcn, source string, l mpiLauncher) {
	t.Chdir(t.TempDir())
	other := filepath.Join(t.TempDir(), "gcn")
	build := exec.Command("go", "build", "-buildvcs=false", "-ldflags=-s", "-o", other, ".")
	build.Dir = source
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	for _, partition := range []string{"none", "all"} {
		script := fmt.Sprintf("if [ $%s = 1 ]; then gcn=%s; else gcn=%s; fi; exec $gcn train --data 'synth:demo?nodes=500&edges=1000' --micro 2 --max-batches 1 --eval-every 5 --out %s --partition %s",
			l.rank, other, gcn, partition, partition)
		failTogether(t, l, 2, script, "rank 1 on ", "differs from rank 0 in its program")
	}
}

// failTogether runs a script on n ranks. It must fail before the ranks would find a silent one,
// with a message that holds the words. It returns the output.
func failTogether(t *testing.T, l mpiLauncher, n int, script string, words ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute-5*time.Second)
	defer cancel()
	sessions, err := os.MkdirTemp("", "") // of this launcher alone: see testRanksBits
	if err != nil {
		t.Error(err)
	}
	defer os.RemoveAll(sessions)
	cmd := l.command(ctx, n, "sh", "-c", script)
	cmd.Env = append(cmd.Env, "TMPDIR="+sessions)
	out, err := cmd.CombinedOutput()
	if _, ended := err.(*exec.ExitError); !ended || ctx.Err() != nil {
		t.Errorf("%s: %v\n%s", script, err, out)
	}
	for _, word := range words {
		if !strings.Contains(string(out), word) {
			t.Errorf("%s: no %q in\n%s", script, word, out)
		}
	}
	return string(out)
}

// testRanksHosts gives rank 1 a host name of its own. The result counts the hosts, and errors
// name the host of their rank.
func testRanksHosts(t *testing.T, gcn string, l mpiLauncher) {
	t.Chdir(t.TempDir())
	writeFile(t, "elsewhere.sh", []byte("echo elsewhere >/proc/sys/kernel/hostname\nexec \"$@\"\n"))
	if out, err := exec.Command("unshare", "--uts", "sh", "elsewhere.sh", "true").CombinedOutput(); err != nil {
		t.Skipf("another host name needs root and unshare: %v: %s", err, out)
	}
	writeFile(t, "rank.sh", []byte("[ $"+l.rank+" = 0 ] && exec \"$@\"\nexec unshare --uts sh elsewhere.sh \"$@\"\n"))
	line := append([]string{"sh", "rank.sh", gcn}, ranksLine("--max-batches", "5", "--samples", "64,64", "--partition", "all", "--out", "run", "--json", "-q")...)
	out, err := l.command(t.Context(), 3, line...).Output()
	if err != nil || !strings.Contains(string(out), `"ranks":3,"hosts":2,`) {
		t.Errorf("%v\n%s%s", err, out, stderrOf(err))
	}
	failTogether(t, l, 2, "exec sh rank.sh "+gcn+" train --data \"synth:demo?nodes=500&edges=1000&seed=$"+l.rank+"\" --micro 2 --max-batches 1 --out other",
		"rank 1 on elsewhere differs from rank 0 in its data")
}

// testRanksOverflow trains on a node whose features overflow. The rank that draws it tells all
// ranks, in the same update.
func testRanksOverflow(t *testing.T, gcn string, l mpiLauncher) {
	t.Chdir(t.TempDir())
	const n, columns = 3000, 64 // a ring
	indptr, indices, feat, labels, train := make([]int64, n+1), make([]int64, 2*n), make([]float32, columns*n), make([]int64, n), make([]int64, n-100)
	for v := range n {
		indptr[v+1] = int64(2 * (v + 1))
		indices[2*v], indices[2*v+1] = int64((v+n-1)%n), int64((v+1)%n)
		feat[columns*v], labels[v] = 1, int64(v%2)
		if v < len(train) {
			train[v] = int64(v)
		}
	}
	for c := range columns {
		feat[columns*250+c] = 3e38
	}
	if err := os.Mkdir("ring", 0o777); err != nil {
		t.Fatal(err)
	}
	writeArray(t, "ring/indptr.npy", indptr)
	writeArray(t, "ring/indices.npy", indices)
	writeArray(t, "ring/feat.npy", feat, n, columns)
	writeArray(t, "ring/labels.npy", labels)
	writeArray(t, "ring/train.npy", train)
	writeArray(t, "ring/valid.npy", []int64{2950, 2951})
	writeArray(t, "ring/test.npy", []int64{2960, 2961})
	for _, partition := range []string{"none", "features", "all"} {
		out := failTogether(t, l, 3, gcn+" train --data npy:ring --hidden 8 --samples 4,4 --batch 4 --micro 3 --max-batches 100000 --patience 0 --eval-every 5 --lr 1 --config "+checkpoints(t, 0)+" --out "+partition+
			" --partition "+partition, "rank 0 on ", "train: update ", "not finite")
		if strings.Count(out, "not finite") != 1 {
			t.Errorf("partition %s: more than one line of the loss\n%s", partition, out)
		}
		if _, err := os.Stat(partition + "/last.ckpt"); err != nil {
			t.Errorf("partition %s: no update was saved: %v", partition, err)
		}
	}
}

// testRanksEnded ends the launcher by SIGTERM. Rank 0 saves the last update in the second that
// the launcher gives, and another number of ranks goes on.
func testRanksEnded(t *testing.T, gcn string, l mpiLauncher) {
	t.Chdir(t.TempDir())
	random := rand.New(rand.NewPCG(2, 2))
	for k, partition := range []string{"none", "features", "all"} {
		if partition != "all" && !longtest.Wanted() {
			continue
		}
		line := ranksLine("--samples", "64,64", "--config", checkpoints(t, 3600), "-q", "--resume", "--partition", partition, "--out", partition)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		cmd := l.command(ctx, 2+k, append(append([]string{gcn}, line...), "--max-batches", "1000000")...)
		var out bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &out
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		waitForFile(t, filepath.Join(partition, "metrics.jsonl"), nil)
		time.Sleep(time.Duration(random.IntN(int(time.Second / 2))))
		if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
		if err := cmd.Wait(); err == nil || ctx.Err() != nil {
			t.Fatalf("%s: %v\n%s", partition, err, out.String())
		}
		saved := 0
		if found := regexp.MustCompile(`"state\\":{\\"seed\\":1,\\"batch\\":(\d+),`).FindSubmatch(readFile(t, filepath.Join(partition, "last.ckpt"))); found != nil {
			saved, _ = strconv.Atoi(string(found[1]))
		}
		if saved < 5 {
			t.Fatalf("%s: %d updates were saved\n%s", partition, saved, out.String())
		}
		more := []string{"--max-batches", strconv.Itoa(saved + 7)}
		if text, err := l.command(ctx, 4-k, append(append([]string{gcn}, line...), more...)...).CombinedOutput(); err != nil {
			t.Fatalf("%s: %v\n%s", partition, err, text)
		}
		succeed(t, append(ranksLine("--samples", "64,64", "-q", "--out", partition+"-whole"), more...)...)
		if !bytes.Equal(weightsOf(t, partition), weightsOf(t, partition+"-whole")) {
			t.Errorf("%s: the run that was ended goes on to other parameters", partition)
		}
	}
}

// Methods that ranks cannot share are refused before the data are read, with the reason and
// another choice, also in one process: the number of ranks is no part of a run.
func TestRefusedWithMicro(t *testing.T) {
	t.Chdir(t.TempDir())
	for options, words := range map[string]string{ // comma-separated
		"--method vrgcn --samples 2,2 --micro 2":                                        "--method vrgcn,another rank may have,--method ladies-cv",
		"--method vrgcn --exact-input --samples 2 --micro 2":                            "--method vrgcn,another rank may have,--method ladies-cv",
		"--method ladies-debiased?control=rolling --samples 16,16 --micro 2":            "control=rolling,another rank may have,--method ladies-cv",
		"--method ladies-debiased?control=rolling --exact-input --samples 16 --micro 2": "control=rolling,another rank may have,--method ladies-cv",
		"--method mvs --samples 16 --micro 2":                                           "--method mvs,another rank may have,--method ladies-cv",
		"--method as-gcn --samples 16,16 --micro 2":                                     "learns from each mini-batch,another rank may have,ladies-flat-debiased",
		"--seeds loss --samples 16,16 --micro 2":                                        "--seeds loss,another rank may have,--seeds uniform",
		"--seeds gradient --samples 16,16 --micro 2":                                    "--seeds gradient,another rank may have,--seeds uniform",
		"--partition all --eval-every auto":                                             "one rank alone,say a number",
	} {
		fail(t, exitUsage, strings.Split(words, ","), append(strings.Fields("train --data npy:/no/such/graph --max-batches 1 --out refused"), strings.Fields(options)...)...)
	}
}

// testRanksStopped stops a rank for good while it trains: the others name it.
func testRanksStopped(t *testing.T, gcn string, l mpiLauncher) {
	for _, partition := range []string{"none", "all"} {
		if partition != "all" && !longtest.Wanted() {
			continue
		}
		testRanksStoppedWith(t, gcn, l, partition)
	}
}

func testRanksStoppedWith(t *testing.T, gcn string, l mpiLauncher, partition string) {
	t.Chdir(t.TempDir())
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	cmd := l.command(ctx, 3, append([]string{gcn}, ranksLine("--max-batches", "1000000", "--rank-timeout", "2s", "--out", "run", "-q", "--partition", partition)...)...)
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
				stopped = exec.Command("kill", "-STOP", strconv.Itoa(pid)).Run() == nil
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
	line := []string{gcn, "reproduce", "table7", "--data", "synth:demo?nodes=500&edges=2500&features=8", "--runs", "2",
		"--config", smallReproduction(t, ""), "-q", "--out"}
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

// testRanksKilled kills a rank twenty times, at random moments. Each time the same command
// goes on with another number of ranks, which hold the data in another way, until the run is
// done. If it is done before twenty kills, it begins again.
func testRanksKilled(t *testing.T, gcn string, l mpiLauncher) {
	longtest.Skip(t)
	t.Chdir(t.TempDir())
	line := ranksLine("--max-batches", "600", "--samples", "64,64", "--config", checkpoints(t, 0), "-q", "--resume", "--out")
	succeed(t, append(line, "whole")...)
	random := rand.New(rand.NewPCG(1, 1))
	partitions := []string{"none", "features", "all"}
	ranks, kills, done, trained := 1, 0, 0, 0
	for kills < 20 || done == 0 {
		ranks = 1 + (ranks+random.IntN(3))%4 // another number
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		cmd := l.command(ctx, ranks, append(append([]string{gcn}, line...), "parts", "--partition", partitions[random.IntN(3)])...)
		var out bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &out
		var left []int // ranks, when the launcher did not end in time
		cmd.Cancel = func() error {
			left = processesOf(gcn)
			return cmd.Process.Kill()
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		killed := false
		if kills < 20 {
			time.Sleep(time.Duration(random.Float64() * float64(time.Second)))
			if pids := processesOf(gcn); len(pids) > 0 {
				rank, _ := os.FindProcess(pids[random.IntN(len(pids))]) // never an error on Unix
				killed = rank.Kill() == nil
				time.AfterFunc(20*time.Second, cancel)
			}
		}
		err := cmd.Wait()
		hangs := ctx.Err() != nil
		cancel()
		switch {
		case hangs && (!killed || len(left) > 0):
			t.Fatalf("after %d kills, a launcher and %d ranks hang\n%s", kills, len(left), out.String())
		case err == nil:
			done++
			if !bytes.Equal(weightsOf(t, "parts"), weightsOf(t, "whole")) {
				t.Fatalf("after %d kills, the run ends with other parameters", kills)
			}
			if kills < 20 {
				if err := os.RemoveAll("parts"); err != nil {
					t.Fatal(err)
				}
			}
		case !killed:
			t.Fatalf("after %d kills: %v\n%s", kills, err, out.String())
		default:
			if kills++; hangs { // Open MPI 4.1 does if a rank dies while it connects (PMIX ERROR: UNREACHABLE)
				t.Logf("after %d kills, the launcher hangs without ranks\n%s", kills, out.String())
			}
			if text, _ := os.ReadFile("parts/metrics.jsonl"); len(text) > 0 {
				trained++
			}
		}
	}
	t.Logf("%d kills, %d of them after the first evaluation; the run was done %d times", kills, trained, done)
	if trained == 0 {
		t.Error("no rank was killed while it trained: the test shows nothing")
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
