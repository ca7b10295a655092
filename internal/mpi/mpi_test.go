//go:build unix

package mpi

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// child names the program that a rank of a test runs.
const child = "GCN_MPI_TEST_CHILD"

func TestMain(m *testing.M) {
	if name := os.Getenv(child); name != "" {
		if err := children[name](context.Background()); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

var children = map[string]func(context.Context) error{
	"exchange": exchangeChild, "recover": recoverChild, "away": awayChild, "abort": abortChild, "cancel": cancelChild, "open": openChild,
	"late": lateChild, "absent": absentChild,
}

// launchers are the MPI launchers that CI installs, and their libraries.
var launchers = []struct{ name, library string }{{"mpirun.openmpi", "libmpi.so.40"}, {"mpirun.mpich", "libmpich.so.12"}}

// launch runs a child on n ranks and returns their output.
func launch(t *testing.T, launcher, name string, n int, env ...string) (string, error) {
	t.Helper()
	path, err := exec.LookPath(launcher)
	if err != nil {
		t.Skipf("%s is not installed (Debian: openmpi-bin, mpich)", launcher)
	}
	args := []string{"-n", strconv.Itoa(n)}
	if launcher == "mpirun.openmpi" {
		args = append(args, "--allow-run-as-root", "--oversubscribe")
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	// Open MPI's launchers share a folder in TMPDIR: one that starts fails if another, of
	// another package's tests, removes it. The name is short, as sockets want.
	sessions, err := os.MkdirTemp("", "mpi")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(sessions)
	cmd := exec.CommandContext(ctx, path, append(args, os.Args[0])...)
	cmd.Env = append(append(os.Environ(), child+"="+name, "TMPDIR="+sessions, "OMPI_MCA_btl_vader_single_copy_mechanism=none"), env...)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err = cmd.Run()
	if ctx.Err() != nil {
		t.Fatalf("%s hangs:\n%s", name, out.String())
	}
	return out.String(), err
}

func eachLauncher(t *testing.T, f func(t *testing.T, launcher string)) {
	for _, l := range launchers {
		t.Run(l.name, func(t *testing.T) { f(t, l.name) })
	}
}

// value is the value k that rank from sends to rank to.
func value(from, to, k int) float32 { return float32(1000*from + 100*to + k) }

func exchangeChild(ctx context.Context) error {
	w, err := Open(ctx, os.Getenv, time.Minute)
	if err != nil {
		return err
	}
	for round := range 50 {
		send, receive := make([][]float32, w.Size()), make([][]float32, w.Size())
		for k := range send {
			// Some parts are empty, and some are larger than a message of MPI.
			send[k] = make([]float32, round*(w.Rank()+k)%7*(1+9999*(round%2)))
			receive[k] = make([]float32, round*(w.Rank()+k)%7*(1+9999*(round%2)))
			for i := range send[k] {
				send[k][i] = value(w.Rank(), k, i)
			}
		}
		if err := w.Exchange(ctx, send, receive); err != nil {
			return err
		}
		for k := range receive {
			for i, v := range receive[k] {
				if v != value(k, w.Rank(), i) {
					return fmt.Errorf("round %d: rank %d got %v from %d at %d", round, w.Rank(), v, k, i)
				}
			}
		}
		runtime.GC()
	}
	all := make([][]float32, w.Size())
	for k := range all {
		all[k] = make([]float32, k+1)
	}
	for i := range all[w.Rank()] {
		all[w.Rank()][i] = value(w.Rank(), 0, i)
	}
	if err := w.Gather(ctx, all); err != nil {
		return err
	}
	for k := range all {
		for i, v := range all[k] {
			if v != value(k, 0, i) {
				return fmt.Errorf("rank %d gathered %v from %d", w.Rank(), v, k)
			}
		}
	}
	fmt.Printf("rank %d of %d on %s by %s\n", w.Rank(), w.Size(), w.Host(w.Rank()), w.Library())
	return w.Close()
}

func TestExchange(t *testing.T) {
	eachLauncher(t, func(t *testing.T, launcher string) {
		for _, n := range []int{1, 2, 3} {
			out, err := launch(t, launcher, "exchange", n)
			if err != nil {
				t.Fatalf("%d ranks: %v\n%s", n, err, out)
			}
			for k := range n {
				if !strings.Contains(out, fmt.Sprintf("rank %d of %d on ", k, n)) {
					t.Errorf("%d ranks: rank %d is missing:\n%s", n, k, out)
				}
			}
		}
	})
}

func recoverChild(ctx context.Context) (err error) {
	w, err := Open(ctx, os.Getenv, time.Minute)
	if err != nil {
		return err
	}
	for range 3 {
		func() {
			defer func() {
				if recover() == nil {
					err = fmt.Errorf("no panic")
				}
			}()
			var nothing *int
			*nothing = 1
		}()
	}
	if err != nil {
		return err
	}
	return w.Close()
}

// MPICH replaces Go's signal handlers while it is loaded.
func TestGoKeepsItsSignalHandlers(t *testing.T) {
	eachLauncher(t, func(t *testing.T, launcher string) {
		if out, err := launch(t, launcher, "recover", 2); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	})
}

func awayChild(ctx context.Context) error {
	w, err := Open(ctx, os.Getenv, time.Second)
	if err != nil {
		return err
	}
	parts := make([][]float32, w.Size())
	for k := range parts {
		parts[k] = make([]float32, 100_000)
	}
	if w.Rank() == 2 { // computes for longer than the timeout
		for start := time.Now(); time.Since(start) < 3*time.Second/2; {
		}
	}
	if err := w.Gather(ctx, parts); err != nil {
		return fmt.Errorf("a rank that computes: %w", err)
	}
	if w.Rank() == 1 {
		stop()
	}
	if err := w.Gather(ctx, parts); err != nil {
		fmt.Fprintln(os.Stderr, err)
		if w.Gather(ctx, parts) != err {
			fmt.Fprintln(os.Stderr, "the world is not broken")
		}
		time.Sleep(time.Second / 5) // MPICH's launcher drops the output that it has not read
		w.Abort(3)
	}
	return w.Close()
}

// A rank that is stopped is named. A rank that computes is not.
func TestLostRank(t *testing.T) {
	eachLauncher(t, func(t *testing.T, launcher string) {
		out, err := launch(t, launcher, "away", 3)
		host, _ := os.Hostname()
		if err == nil || !strings.Contains(out, "from rank 1 on "+host) || strings.Contains(out, "not broken") || strings.Contains(out, "computes") {
			t.Errorf("%v\n%s", err, out)
		}
	})
}

// stop stops this process. The other threads of a process go on for a moment after the call
// that stops it, so stop does not return.
func stop() {
	syscall.Kill(os.Getpid(), syscall.SIGSTOP)
	time.Sleep(time.Hour)
}

// lateChild stops rank 1 when it should leave the job, or while it leaves.
func lateChild(ctx context.Context) error {
	w, err := Open(ctx, os.Getenv, time.Second)
	if err != nil {
		return err
	}
	if w.Rank() == 1 {
		if os.Getenv("STOP") == "leaving" {
			if err := w.Barrier(ctx); err != nil {
				return err
			}
			close(w.beat.quit)
			<-w.beat.done
		}
		stop()
	}
	if err := w.Close(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		time.Sleep(time.Second / 5) // MPICH's launcher drops the output that it has not read
		w.Abort(3)
	}
	return nil
}

// A rank that is stopped at the end does not make the others wait forever.
func TestLostRankAtTheEnd(t *testing.T) {
	t.Parallel()
	eachLauncher(t, func(t *testing.T, launcher string) {
		t.Parallel()
		host, _ := os.Hostname()
		for stop, want := range map[string]string{"before": "no sign of life for 1s from rank 1 on " + host, "leaving": "one of them has not left the job"} {
			out, err := launch(t, launcher, "late", 3, "STOP="+stop)
			if err == nil || !strings.Contains(out, want) || strings.Contains(out, "Invalid") { // MPICH's launcher has codes of its own
				t.Errorf("stopped %s: %v\n%s", stop, err, out)
			}
		}
	})
}

// absentChild stops rank 1 before it joins.
func absentChild(ctx context.Context) error {
	if os.Getenv("OMPI_COMM_WORLD_RANK")+os.Getenv("PMI_RANK") == "1" {
		stop()
	}
	launcher, err := Launched(os.Getenv)
	if err != nil {
		return err
	}
	lib, err := open(launcher.libraries(runtime.GOOS))
	if err != nil {
		return err
	}
	_, err = joinWithin(ctx, lib, time.Second)
	return err
}

// A rank that never starts does not make the others wait forever.
func TestAbsentRank(t *testing.T) {
	t.Parallel()
	eachLauncher(t, func(t *testing.T, launcher string) {
		t.Parallel()
		out, err := launch(t, launcher, "absent", 3)
		if err == nil || !strings.Contains(out, "waited 1s for all ranks to start") { // MPICH's launcher has codes of its own
			t.Errorf("%v\n%s", err, out)
		}
	})
}

func abortChild(ctx context.Context) error {
	w, err := Open(ctx, os.Getenv, time.Minute)
	if err != nil {
		return err
	}
	if w.Rank() == 1 {
		w.Abort(7)
	}
	<-ctx.Done()
	return nil
}

func TestAbortEndsAllRanks(t *testing.T) {
	eachLauncher(t, func(t *testing.T, launcher string) {
		out, err := launch(t, launcher, "abort", 3)
		if exit, ok := err.(*exec.ExitError); !ok || exit.ExitCode() != 7 {
			t.Errorf("%v, want exit code 7\n%s", err, out)
		}
	})
}

func cancelChild(ctx context.Context) error {
	w, err := Open(ctx, os.Getenv, time.Minute)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, 200*time.Millisecond)
	defer cancel()
	if w.Rank() == 1 {
		time.Sleep(20 * time.Second)
	}
	parts := [][]float32{{1}, {2}}
	if err := w.Gather(ctx, parts); err != context.DeadlineExceeded {
		return fmt.Errorf("got %v", err)
	}
	w.Abort(5)
	return nil
}

func TestCancelledWhileWaiting(t *testing.T) {
	eachLauncher(t, func(t *testing.T, launcher string) {
		out, err := launch(t, launcher, "cancel", 2)
		if exit, ok := err.(*exec.ExitError); !ok || exit.ExitCode() != 5 {
			t.Errorf("%v, want exit code 5\n%s", err, out)
		}
	})
}

// noRanks is what openChild prints if it runs without MPI. No message of an error holds it.
const noRanks = "there are no ranks"

func openChild(ctx context.Context) error {
	w, err := Open(ctx, os.Getenv, time.Minute)
	if err != nil {
		return err
	}
	if w == nil {
		fmt.Println(noRanks)
		return nil
	}
	return w.Close()
}

func TestWrongLibrary(t *testing.T) {
	other := map[string]string{"mpirun.openmpi": launchers[1].library, "mpirun.mpich": launchers[0].library}
	eachLauncher(t, func(t *testing.T, launcher string) {
		out, err := launch(t, launcher, "open", 2, Variable+"="+other[launcher])
		if err == nil || strings.Contains(out, noRanks) || !strings.Contains(out, "mpi: ") {
			t.Errorf("%v\n%s", err, out)
		}
		out, err = launch(t, launcher, "open", 2, Variable+"=/nowhere/libmpi.so")
		if err == nil || strings.Contains(out, noRanks) || !strings.Contains(out, "/nowhere/libmpi.so") {
			t.Errorf("%v\n%s", err, out)
		}
		out, err = launch(t, launcher, "open", 2, Variable+"=off")
		if err != nil || strings.Count(out, noRanks) != 2 {
			t.Errorf("%v\n%s", err, out)
		}
	})
}

func TestLaunched(t *testing.T) {
	for _, c := range []struct {
		env  string
		want Launcher
		bad  bool
	}{
		{"", Launcher{}, false},
		{"OMPI_COMM_WORLD_SIZE=4 PMIX_RANK=0", Launcher{"Open MPI", 4}, false},
		{"OMPI_COMM_WORLD_SIZE=1", Launcher{"Open MPI", 1}, false},
		{"PMI_SIZE=2 PMI_RANK=1", Launcher{"MPICH", 2}, false},
		{"PMIX_RANK=0 SLURM_STEP_NUM_TASKS=8", Launcher{"PMIx", 8}, false},
		{"PMIX_RANK=0", Launcher{"PMIx", 0}, false},
		{"SLURM_NTASKS=8", Launcher{}, false}, // a batch script
		{"SLURM_STEP_NUM_TASKS=1", Launcher{}, false},
		{"SLURM_STEP_NUM_TASKS=8", Launcher{"SLURM", 8}, false},
		{"PMI_SIZE=two", Launcher{"MPICH", 0}, true},
		{"PMI_SIZE=0", Launcher{"MPICH", 0}, true},
	} {
		env := map[string]string{}
		for _, pair := range strings.Fields(c.env) {
			name, v, _ := strings.Cut(pair, "=")
			env[name] = v
		}
		got, err := Launched(func(name string) string { return env[name] })
		if got != c.want || (err != nil) != c.bad {
			t.Errorf("%s: got %v, %v", c.env, got, err)
		}
	}
}

func TestAloneNothingIsLoaded(t *testing.T) {
	w, err := Open(t.Context(), func(string) string { return "" }, 0)
	if w != nil || err != nil {
		t.Fatalf("got %v, %v", w, err)
	}
	maps, err := os.ReadFile("/proc/self/maps")
	if err == nil && strings.Contains(string(maps), "libmpi") {
		t.Error("an MPI library is loaded")
	}
}
