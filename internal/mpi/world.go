package mpi

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"
	"sync"
	"time"
	"unsafe"
)

// Variable is the environment variable that chooses the MPI library: auto, off, or a
// path. Empty means auto: the library of the launcher, if there is one.
const Variable = "GCN_MPI"

// World is the ranks of a job. Its methods are collective: all ranks call them in the same
// order, with sizes that fit. Calls of one process must not overlap.
type World struct {
	lib        *library
	rank, size int
	hosts      []string // of each rank

	mu      sync.Mutex     // held during a call of a method
	broken  error          // of the first call that failed; the ranks no longer agree
	leaving bool           // Close has begun to end MPI
	pinned  runtime.Pinner // the memory of the messages under way

	calls sync.Mutex // held during calls of the library, which serves one thread at a time
	beat  heartbeat

	status status // of calls in which nobody reads it
}

// status is an MPI_Status, which has 20 to 32 bytes.
type status [256]byte

// Open joins the ranks that a launcher started. Without a launcher, or if the
// environment's GCN_MPI is off, it returns nil and loads nothing. A library that does not
// know the launcher's ranks is an error: each process would take itself for the whole job.
// The caller closes the World, or aborts it.
//
// A rank that gives no sign of life for the time timeout is lost, for example because it is
// stopped or its network has failed: a call that waits for it ends with an error that names
// it. A rank that computes is not lost. Open waits for all ranks to start, as long as timeout
// but at least a minute. A timeout of 0 means to wait forever.
func Open(ctx context.Context, getenv func(string) string, timeout time.Duration) (*World, error) {
	choice := getenv(Variable)
	if choice == "off" {
		return nil, nil
	}
	launcher, err := Launched(getenv)
	if err != nil || launcher.Name == "" {
		return nil, err
	}
	names := launcher.libraries(runtime.GOOS)
	if choice != "" && choice != "auto" {
		names = []string{choice}
	}
	if err := keepCode(getenv); err != nil {
		return nil, fmt.Errorf("mpi: %w", err)
	}
	signals := saveSignals()
	defer signals.restore()
	lib, err := open(names)
	if err != nil {
		return nil, fmt.Errorf("mpi: started by %s, but its library cannot be loaded (%s=PATH names one, %s=off runs every process alone): %w",
			launcher.Name, Variable, Variable, err)
	}
	start := timeout
	if timeout > 0 {
		start = max(timeout, leastStart)
	}
	w, err := joinWithin(ctx, lib, start)
	if err != nil {
		return nil, err
	}
	if launcher.Size > 0 && w.size != launcher.Size {
		return nil, fmt.Errorf("mpi: %s started %d ranks, but %s counts %d: it belongs to another launcher; %s=PATH names the right library",
			launcher.Name, launcher.Size, lib.version, w.size, Variable)
	}
	w.startHeartbeat(timeout)
	return w, w.meet(ctx)
}

// leastStart is the least time in which all ranks must start: a busy machine takes seconds.
const leastStart = time.Minute

// joinWithin is join until ctx ends, or for the time timeout; 0 means forever. After an error
// the process must end: MPI may still wait for the other ranks.
func joinWithin(ctx context.Context, lib *library, timeout time.Duration) (*World, error) {
	w := new(World)
	return w, within(ctx, timeout, "waited %s for all ranks to start: one of them has not started, or is stopped or cut off",
		func(context.Context) error { return w.join(lib) })
}

// within returns f's error, or the cause of ctx's end if that comes first. After the time timeout
// the cause is late, about this time; 0 means forever.
func within(ctx context.Context, timeout time.Duration, late string, f func(ctx context.Context) error) error {
	if timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, timeout, fmt.Errorf("mpi: "+late, timeout))
		defer cancel()
	}
	done := make(chan error, 1)
	go func() { done <- f(ctx) }()
	select {
	case err := <-done:
		if ended := context.Cause(ctx); ended != nil && errors.Is(err, context.DeadlineExceeded) {
			return ended
		}
		return err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// join initialises MPI.
func (w *World) join(lib *library) error {
	var provided, rank, size int32
	if err := lib.failure("MPI_Init_thread", lib.initThread(nil, nil, lib.serialized, &provided)); err != nil {
		return err
	}
	if provided < lib.serialized {
		return fmt.Errorf("mpi: %s does not serve programs of several threads", lib.version)
	}
	err := cmp.Or(lib.failure("MPI_Comm_rank", lib.commRank(lib.world, &rank)), lib.failure("MPI_Comm_size", lib.commSize(lib.world, &size)))
	w.lib, w.rank, w.size = lib, int(rank), int(size)
	return err
}

// meet tells every rank the hosts of all.
func (w *World) meet(ctx context.Context) error {
	const length = 64
	parts, names := make([][]float32, w.size), make([][]byte, w.size)
	for k := range parts {
		parts[k] = make([]float32, length)
		names[k] = unsafe.Slice((*byte)(unsafe.Pointer(&parts[k][0])), 4*length)
	}
	host, _ := os.Hostname()
	copy(names[w.rank], cmp.Or(host, "unknown"))
	if err := w.Gather(ctx, parts); err != nil {
		return err
	}
	for _, name := range names {
		host, _, _ := strings.Cut(string(name), "\x00")
		w.hosts = append(w.hosts, host)
	}
	return nil
}

// Rank returns the number of this process, from 0.
func (w *World) Rank() int { return w.rank }

// Size returns the number of ranks.
func (w *World) Size() int { return w.size }

// Host returns the host of a rank.
func (w *World) Host(rank int) string { return w.hosts[rank] }

// Library returns the name and version of the MPI library.
func (w *World) Library() string { return w.lib.version }

// Exchange sends send[r] to each rank r, and fills receive[r] with the values of rank r.
// receive[r] has the length of the part that rank r sends to this one. After an exchange
// that failed the world is broken: only Abort works. The values travel as bits.
func (w *World) Exchange(ctx context.Context, send, receive [][]float32) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.broken == nil {
		w.broken = w.exchange(ctx, send, receive)
	}
	return w.broken
}

// Gather fills parts[r] with parts[r] of each rank r. The parts have the same lengths on
// all ranks.
func (w *World) Gather(ctx context.Context, parts [][]float32) error {
	send := make([][]float32, w.size)
	for k := range send {
		send[k] = parts[w.rank]
	}
	return w.Exchange(ctx, send, parts)
}

// Barrier returns when all ranks have called it.
func (w *World) Barrier(ctx context.Context) error {
	parts := make([][]float32, w.size)
	for k := range parts {
		parts[k] = make([]float32, 1)
	}
	return w.Gather(ctx, parts)
}

// request is a message under way.
type request struct {
	handle handle
	rank   int
}

func (w *World) exchange(ctx context.Context, send, receive [][]float32) error {
	var sends, receives []request
	// Each rank begins with its right neighbour, so that no rank gets all messages at once.
	for step := 1; step < w.size; step++ {
		from, to := (w.rank-step+w.size)%w.size, (w.rank+step)%w.size
		var err error
		if receives, err = w.post(receives, "MPI_Irecv", w.lib.irecv, receive[from], from); err == nil {
			sends, err = w.post(sends, "MPI_Isend", w.lib.isend, send[to], to)
		}
		if err != nil {
			return err // the memory stays pinned: messages may be under way
		}
	}
	copy(receive[w.rank], send[w.rank])
	if err := w.wait(ctx, append(receives, sends...)); err != nil {
		return err
	}
	w.pinned.Unpin()
	return nil
}

// post starts the messages of data. Their counts are ints in C.
func (w *World) post(requests []request, name string,
	call func(unsafe.Pointer, int32, handle, int32, int32, handle, *handle) int32, data []float32, rank int,
) ([]request, error) {
	const most = 1 << 28 // values a message: a gibibyte
	w.calls.Lock()
	defer w.calls.Unlock()
	for len(data) > 0 {
		n := min(len(data), most)
		w.pinned.Pin(&data[0])
		r := request{rank: rank}
		if err := w.lib.failure(name, call(unsafe.Pointer(&data[0]), int32(n), w.lib.float, int32(rank), valuesTag, w.lib.world, &r.handle)); err != nil {
			return requests, err
		}
		requests, data = append(requests, r), data[n:]
	}
	return requests, nil
}

const (
	spinTime      = 200 * time.Microsecond // less than drawing a mini-batch takes; an exchange of gradients through shared memory fits in
	shortestPause = 20 * time.Microsecond
	longestPause  = time.Millisecond
	idleTest      = 5 * time.Microsecond // more than a test of a request takes that moves no data
)

// wait returns when all requests are done. MPI's own waiting would keep a core busy, and
// would not watch ctx. It pauses between two tests for at most a sixteenth of the time since
// the last progress, so a pause delays the end by little. MPI moves data only while it is
// called: a test that takes long has moved data, and the next test follows at once.
func (w *World) wait(ctx context.Context, requests []request) error {
	for since := time.Now(); ; {
		begun := time.Now()
		left, err := w.test(requests)
		if err != nil || len(left) == 0 {
			return err
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		if begun.Sub(since) > spinTime {
			// The samplers work while this goroutine waits. Not before: the other rank
			// may need the next test, and a sampler on this core keeps it for a mini-batch.
			runtime.Gosched()
		}
		now := time.Now()
		if len(left) < len(requests) || now.Sub(begun) > time.Duration(1+len(left))*idleTest {
			since = now // data moved, or another goroutine worked meanwhile
		}
		requests = left
		if idle := now.Sub(since); idle > spinTime {
			pause(min(max(idle/16, shortestPause), longestPause))
		}
	}
}

// test returns the requests that are not done. It is an error if one is to a rank that is lost.
func (w *World) test(requests []request) (left []request, err error) {
	w.calls.Lock()
	defer w.calls.Unlock()
	left = requests[:0]
	for _, r := range requests {
		var done int32
		if err := w.lib.failure("MPI_Test", w.lib.test(&r.handle, &done, unsafe.Pointer(&w.status))); err != nil {
			return nil, err
		}
		if done == 0 {
			left = append(left, r)
		}
	}
	for _, r := range left {
		if b := &w.beat; b.limit > 0 && b.silent[r.rank] > b.limit {
			host := "another host"
			if r.rank < len(w.hosts) {
				host = w.hosts[r.rank]
			}
			return nil, fmt.Errorf("mpi: no sign of life for %s from rank %d on %s", b.timeout(), r.rank, host)
		}
	}
	return left, nil
}

// Abort ends all ranks of the job with that exit code. It does not return.
func (w *World) Abort(code int) {
	for range 100 { // a call of the heartbeat takes microseconds, unless the library hangs
		if w.calls.TryLock() {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	// A launcher also ends the job if a rank ends with an error.
	if !w.leaving { // else the library may not know its ranks any more
		time.AfterFunc(abortTime, func() { os.Exit(code) })
		w.lib.abort(w.lib.world, int32(code))
	}
	os.Exit(code)
}

// abortTime is the longest time that the library may take to abort.
const abortTime = 5 * time.Second

// Close leaves the job when all ranks have called it. A broken world cannot be left, only
// aborted. Close waits for other ranks as the timeout of Open says.
func (w *World) Close() error {
	if err := w.Barrier(context.Background()); err != nil {
		return err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.broken, w.leaving = errors.New("mpi: closed"), true
	close(w.beat.quit)
	<-w.beat.done
	// All ranks have come this far. They send no more signs of life, so leaving has a time of
	// its own: it takes milliseconds, unless a rank is stopped.
	return within(context.Background(), w.beat.timeout(), "all ranks are done, but for %s one of them has not left the job: it is stopped or cut off",
		func(ctx context.Context) error {
			if err := w.settleBeats(ctx); err != nil {
				return err
			}
			return w.lib.failure("MPI_Finalize", w.lib.finalize())
		})
}

// Exit ends this process with that code, after Close. It does not return. It calls C's exit
// and not os.Exit: MPICH 5 signs a rank off at the launcher in a handler of exit. Without it
// the launcher kills the ranks that have not ended yet, and fails.
func (w *World) Exit(code int) {
	w.lib.exit(int32(code))
	os.Exit(code)
}
