package cu_test

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"
	"testing"
	"time"
	"unsafe"

	"gorgonia.org/cu"
	"gorgonia.org/cu/internal/count"
	"gorgonia.org/cu/internal/devicetest"
)

func TestMain(m *testing.M) { devicetest.Main(m, "../..") }

var must = devicetest.Must

// device makes the context of the first device, or skips the test.
func device(t testing.TB) (gpu cu.Device, emulated bool) {
	t.Helper()
	devicetest.Need(t)
	gpu, err := cu.GetDevice(0)
	must(t, err)
	_, err = gpu.MakeContext(cu.SchedAuto)
	must(t, err)
	name, err := gpu.Name()
	must(t, err)
	return gpu, strings.HasPrefix(name, "Emulated")
}

// kernel loads one of the kernels of probe.cu.
func kernel(t testing.TB, name string) cu.Function {
	t.Helper()
	ptx, err := os.ReadFile(filepath.Join("..", "probe", "probe.ptx"))
	if err != nil {
		t.Skip(err)
	}
	m, err := cu.LoadData(string(ptx))
	must(t, err)
	t.Cleanup(func() { must(t, m.Unload()) })
	f, err := m.Function(name)
	must(t, err)
	return f
}

// pinned is a slice in memory of the host that asynchronous copies may use.
func pinned[T any](t testing.TB, n int) []T {
	t.Helper()
	p, err := cu.MemAllocHost(int64(n) * int64(unsafe.Sizeof(*new(T))))
	must(t, err)
	t.Cleanup(func() { must(t, cu.MemFreeHost(p)) })
	return unsafe.Slice((*T)(p), n)
}

func stream(t testing.TB) cu.Stream {
	t.Helper()
	s, err := cu.MakeStream(cu.NonBlocking)
	must(t, err)
	t.Cleanup(func() { must(t, s.Destroy()) })
	return s
}

func event(t testing.TB, flags cu.EventFlags) cu.Event {
	t.Helper()
	e, err := cu.MakeEvent(flags)
	must(t, err)
	t.Cleanup(func() { must(t, e.Destroy()) })
	return e
}

func TestDevice(t *testing.T) {
	gpu, _ := device(t)
	n, err := cu.NumDevices()
	must(t, err)
	if n < 1 || !gpu.IsGPU() || cu.CPU.IsGPU() || gpu.String() != "GPU(0)" || cu.CPU.String() != "CPU" {
		t.Errorf("%d devices, %v, %v", n, gpu, cu.CPU)
	}
	total, err := gpu.TotalMem()
	must(t, err)
	warp, err := gpu.Attribute(cu.WarpSize)
	must(t, err)
	if total < 1<<30 || warp != 32 || cu.Version() < 11000 {
		t.Errorf("%d bytes, warps of %d threads, driver %d", total, warp, cu.Version())
	}
	if _, err := cu.GetDevice(99); err == nil {
		t.Error("device 99 is there")
	}
	if _, err := gpu.Attribute(99999); err == nil {
		t.Error("attribute 99999 is known")
	}
	if _, err := cu.CPU.MakeContext(cu.SchedAuto); err == nil {
		t.Error("the CPU has a context")
	}
}

func TestContextIsSharedAndStays(t *testing.T) {
	gpu, _ := device(t)
	a, err := gpu.MakeContext(cu.SchedAuto)
	must(t, err)
	b, err := cu.CurrentContext()
	must(t, err)
	if a != b || a.Handle() == 0 || a.Device() != gpu {
		t.Errorf("contexts %v and %v", a, b)
	}
	x := devicetest.Put(t, []float32{1, 2, 3})
	ctx := cu.NewBatchedContext(cu.CtxFromCUContext(gpu, a, cu.SchedAuto), gpu)
	ctx.Started()
	ctx.WorkAvailable()
	must(t, ctx.Close())
	must(t, ctx.Close())
	if got := devicetest.Get[float32](t, x, 3); got[2] != 3 {
		t.Errorf("memory is %v after another user of the context closed it", got)
	}
	if err := cu.SetCurrentContext(cu.CUContext{}); !errors.Is(err, cu.InvalidContext) {
		t.Errorf("no context: %v", err)
	}
}

func TestLaunch(t *testing.T) {
	device(t)
	f := kernel(t, "probe_add")
	const n = 1000
	a, b, want := make([]float32, n), make([]float32, n), make([]float32, n)
	for i := range a {
		a[i], b[i] = float32(i), float32(i*i)
		want[i] = a[i] + b[i]
	}
	x, y, z := devicetest.Put(t, a), devicetest.Put(t, b), devicetest.Room[float32](t, n)
	must(t, f.Enqueue(cu.NoStream, cu.Dim{X: 4}, cu.Dim{X: 256}, 0, cu.Arg(z), cu.Arg(x), cu.Arg(y), cu.Arg(n)))
	if got := devicetest.Get[float32](t, z, n); fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("sum is %v…", got[:10])
	}

	if err := f.Enqueue(cu.NoStream, cu.Dim{X: 4}, cu.Dim{X: 256}, 0, cu.Arg(z)); err == nil || !strings.Contains(err.Error(), "probe_add has 4 parameters, not 1") {
		t.Errorf("a missing argument: %v", err)
	}
	if err := f.Enqueue(cu.NoStream, cu.Dim{}, cu.Dim{X: 1025}, 0, make([]cu.Arg, 4)...); !errors.Is(err, cu.InvalidValue) {
		t.Errorf("1025 threads: %v", err)
	}
	if err := (cu.Function{}).Enqueue(cu.NoStream, cu.Dim{}, cu.Dim{}, 0); err == nil {
		t.Error("no function was launched")
	}
	if allocs := testing.AllocsPerRun(50, func() {
		if f.Enqueue(cu.NoStream, cu.Dim{X: 4}, cu.Dim{X: 256}, 0, cu.Arg(z), cu.Arg(x), cu.Arg(y), cu.Arg(n)) != nil {
			t.Error("launch")
		}
	}); allocs > 0 {
		t.Errorf("a launch allocates %v times", allocs)
	}
}

func TestArguments(t *testing.T) {
	device(t)
	f := kernel(t, "probe_arguments")
	signed := func(v int64) cu.Arg { return cu.Arg(v) }
	out := devicetest.Room[float64](t, 6)
	must(t, f.Enqueue(cu.NoStream, cu.Dim{}, cu.Dim{}, 0, cu.Arg(out), cu.Arg(7), cu.Arg(300), signed(-70000), cu.Arg(math.Float32bits(0.25)), cu.Arg(math.Float64bits(1e-9)), signed(-1<<40)))
	got := devicetest.Get[float64](t, out, 6)
	if want := []float64{7, 300, -70000, 0.25, 1e-9, -1 << 40}; fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("arguments arrive as %v, want %v", got, want)
	}
}

func TestGrid(t *testing.T) {
	device(t)
	f := kernel(t, "probe_where")
	grid, block := cu.Dim{X: 3, Y: 2, Z: 2}, cu.Dim{X: 4, Y: 3, Z: 2}
	threads := 12 * 24
	out := devicetest.Room[int32](t, 6*threads)
	must(t, f.Enqueue(cu.NoStream, grid, block, 0, cu.Arg(out)))
	got := devicetest.Get[int32](t, out, 6*threads)
	k := 0
	for bz := range grid.Z {
		for by := range grid.Y {
			for bx := range grid.X {
				for tz := range block.Z {
					for ty := range block.Y {
						for tx := range block.X {
							want := []int32{int32(bx), int32(by), int32(bz), int32(tx), int32(ty), int32(tz)}
							if fmt.Sprint(got[k:k+6]) != fmt.Sprint(want) {
								t.Fatalf("thread %d is at %v, want %v", k/6, got[k:k+6], want)
							}
							k += 6
						}
					}
				}
			}
		}
	}
}

func TestBarriersAndSharedMemory(t *testing.T) {
	device(t)
	f := kernel(t, "probe_scan")
	const blocks = 5
	x := make([]int32, 256*blocks)
	for i := range x {
		x[i] = int32(i%17 - 5)
	}
	y := devicetest.Room[int32](t, len(x))
	must(t, f.Enqueue(cu.NoStream, cu.Dim{X: blocks}, cu.Dim{X: 256}, 0, cu.Arg(y), cu.Arg(devicetest.Put(t, x))))
	got := devicetest.Get[int32](t, y, len(x))
	sum := int32(0)
	for i := range x {
		if i%256 == 0 {
			sum = 0
		}
		if sum += x[i]; got[i] != sum {
			t.Fatalf("running sum %d is %d, want %d", i, got[i], sum)
		}
	}
}

// shuffled is the lane that lane reads, by the rules of PTX's shfl.sync.
func shuffled(how string, lane, by, width int) int {
	first := lane &^ (width - 1)
	last := first + width - 1
	from := lane
	switch how {
	case "idx":
		return first | by&(width-1)
	case "up":
		if from = lane - by; from < first {
			return lane
		}
	case "down":
		if from = lane + by; from > last {
			return lane
		}
	case "xor":
		if from = lane ^ by; from > last {
			return lane
		}
	}
	return from
}

func TestShuffles(t *testing.T) {
	device(t)
	f := kernel(t, "probe_shuffle")
	out := devicetest.Room[int64](t, 256)
	for _, width := range []int{32, 16, 8, 2} {
		for _, by := range []int{0, 1, 2, 5, 15} {
			must(t, f.Enqueue(cu.NoStream, cu.Dim{}, cu.Dim{X: 32}, 0, cu.Arg(out), cu.Arg(by), cu.Arg(width)))
			got := devicetest.Get[int64](t, out, 256)
			for lane := range 32 {
				half := int64(0)
				if lane < 16 {
					half = int64(lane ^ 1)
				}
				anyAll := int64(3)
				want := []int64{
					3 * int64(shuffled("idx", lane, by, width)), 3 * int64(shuffled("up", lane, by, width)),
					3 * int64(shuffled("down", lane, by, width)), int64(shuffled("xor", lane, by, width)),
					int64(shuffled("xor", lane, by, width)), 0b01001001001001001001001001001001, anyAll, half,
				}
				for k, w := range want {
					if got[32*k+lane] != w {
						t.Fatalf("width %d, by %d, lane %d, kind %d: %d, want %d", width, by, lane, k, got[32*k+lane], w)
					}
				}
			}
		}
	}
}

// The stream of copies runs ahead of the main stream, as training does; the
// events order them.
func TestStreamsAndEvents(t *testing.T) {
	device(t)
	f := kernel(t, "probe_add")
	const n, steps = 4096, 40
	copies := stream(t)
	ones := make([]float32, n)
	for i := range ones {
		ones[i] = 1
	}
	one, sum := devicetest.Put(t, ones), devicetest.Room[float32](t, n)
	must(t, cu.MemsetD8(sum, 0, 4*n))
	var host [2][]float32
	var dev [2]cu.DevicePtr
	var sent, used [2]cu.Event
	for k := range 2 {
		host[k], dev[k] = pinned[float32](t, n), devicetest.Room[float32](t, n)
		sent[k], used[k] = event(t, cu.DisableTiming), event(t, cu.DisableTiming)
	}
	want := float32(0)
	for step := range steps {
		k := step % 2
		must(t, sent[k].Synchronize()) // the buffer is free to be written
		for i := range host[k] {
			host[k][i] = float32(step)
		}
		must(t, copies.Wait(used[k]))
		must(t, cu.MemcpyHtoDAsync(dev[k], unsafe.Pointer(&host[k][0]), 4*n, copies))
		must(t, sent[k].Record(copies))
		must(t, cu.NoStream.Wait(sent[k]))
		must(t, f.Enqueue(cu.NoStream, cu.Dim{X: n / 256}, cu.Dim{X: 256}, 0, cu.Arg(sum), cu.Arg(sum), cu.Arg(dev[k]), cu.Arg(n)))
		must(t, f.Enqueue(cu.NoStream, cu.Dim{X: n / 256}, cu.Dim{X: 256}, 0, cu.Arg(sum), cu.Arg(sum), cu.Arg(one), cu.Arg(n)))
		must(t, used[k].Record(cu.NoStream))
		want += float32(step) + 1
	}
	for i, v := range devicetest.Get[float32](t, sum, n) {
		if v != want {
			t.Fatalf("element %d is %v, want %v", i, v, want)
		}
	}
}

// A missing wait must show on the emulated device; on a GPU it may or may not.
func TestMissingWaitShows(t *testing.T) {
	if _, emulated := device(t); !emulated {
		t.Skip("only on the emulated device")
	}
	if mode := os.Getenv("GCN_EMULATOR"); strings.Contains(mode, "eager") || strings.Contains(mode, "early") {
		t.Skip("work that nobody waits for is done")
	}
	x, host := devicetest.Room[float32](t, 1), pinned[float32](t, 1)
	must(t, cu.MemsetD8(x, 0, 4))
	must(t, cu.NoStream.Synchronize())
	host[0] = 5
	copies := stream(t)
	must(t, cu.MemcpyHtoDAsync(x, unsafe.Pointer(&host[0]), 4, copies))
	if got := devicetest.Get[float32](t, x, 1); got[0] != 0 {
		t.Errorf("a copy that nobody waited for is there: %v", got)
	}
	host[0] = 6 // too early
	must(t, copies.Synchronize())
	if got := devicetest.Get[float32](t, x, 1); got[0] != 6 {
		t.Errorf("pinned memory was read when the copy was queued: %v", got)
	}
}

func TestQueries(t *testing.T) {
	device(t)
	f := kernel(t, "probe_count")
	x := devicetest.Put(t, []int64{0})
	end := event(t, cu.DisableTiming)
	if done, err := end.Done(); err != nil || !done {
		t.Errorf("an event that was never recorded: %v, %v", done, err)
	}
	for range 20 {
		must(t, f.Enqueue(cu.NoStream, cu.Dim{}, cu.Dim{}, 0, cu.Arg(x), cu.Arg(100)))
	}
	must(t, end.Record(cu.NoStream))
	for deadline := time.Now().Add(10 * time.Second); ; {
		done, err := end.Done()
		must(t, err)
		if done {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("the event never comes")
		}
	}
	if got := devicetest.Get[int64](t, x, 1); got[0] != 20 {
		t.Errorf("counted %d of 20", got[0])
	}
	if err := cu.NoStream.Destroy(); err == nil {
		t.Error("the main stream was destroyed")
	}
	for _, err := range []error{(cu.Event{}).Synchronize(), (cu.Event{}).Record(cu.NoStream), (cu.Event{}).Destroy()} {
		if err == nil {
			t.Error("no event was accepted")
		}
	}
}

func TestMemoryErrors(t *testing.T) {
	_, emulated := device(t)
	x := devicetest.Room[float32](t, 10)
	host := make([]float32, 100)
	if emulated { // a GPU's driver knows its allocations in larger pieces
		for name, err := range map[string]error{
			"copy past the end":   cu.MemcpyHtoD(x, unsafe.Pointer(&host[0]), 400),
			"copy from past it":   cu.MemcpyDtoH(unsafe.Pointer(&host[0]), x+36, 8),
			"copy within past it": cu.Memcpy(x+20, x, 40),
			"set past the end":    cu.MemsetD8(x, 0, 41),
			"free within memory":  cu.MemFree(x + 8),
		} {
			if !errors.Is(err, cu.InvalidValue) {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
	if _, err := cu.MemAlloc(0); !errors.Is(err, cu.InvalidValue) {
		t.Errorf("no bytes: %v", err)
	}
	_, err := cu.MemAlloc(1 << 50)
	var call *cu.CallError
	if !errors.Is(err, cu.OutOfMemory) || !errors.As(err, &call) || !strings.Contains(err.Error(), "cuMemAlloc(1125899906842624 bytes): CUDA_ERROR_OUT_OF_MEMORY (2): out of memory") {
		t.Errorf("a pebibyte: %v", err)
	}
	if p := x + 4; p.Uintptr() != x.Uintptr()+4 || p.MemSize() != 0 || x.String() != fmt.Sprintf("0x%x", uintptr(x)) {
		t.Errorf("%v and %v", x, p)
	}
}

// Random allocations, copies, sets and frees against the same on slices.
func TestMemoryFuzz(t *testing.T) {
	device(t)
	free0, total, err := cu.MemInfo()
	must(t, err)
	for seed := range uint64(4) {
		rng := rand.New(rand.NewPCG(seed, 1))
		type block struct {
			p    cu.DevicePtr
			want []byte
		}
		var blocks []block
		check := func(b block) {
			got := make([]byte, len(b.want))
			must(t, cu.MemcpyDtoH(unsafe.Pointer(&got[0]), b.p, int64(len(got))))
			if !bytes.Equal(got, b.want) {
				t.Fatalf("seed %d: %d bytes at %v differ", seed, len(got), b.p)
			}
		}
		for range 600 {
			switch op := rng.IntN(6); {
			case op == 0 || len(blocks) == 0:
				n := 1 + rng.IntN(9000)
				p, err := cu.MemAlloc(int64(n))
				must(t, err)
				b := block{p, make([]byte, n)}
				must(t, cu.MemsetD8(b.p, 0, int64(n)))
				blocks = append(blocks, b)
			case op == 1:
				k := rng.IntN(len(blocks))
				check(blocks[k])
				must(t, cu.MemFree(blocks[k].p))
				blocks = append(blocks[:k], blocks[k+1:]...)
			case op == 2:
				b := blocks[rng.IntN(len(blocks))]
				lo := rng.IntN(len(b.want))
				n := 1 + rng.IntN(len(b.want)-lo)
				v := byte(rng.Uint32())
				must(t, cu.MemsetD8(b.p+cu.DevicePtr(lo), v, int64(n)))
				for i := range n {
					b.want[lo+i] = v
				}
			case op == 3:
				b := blocks[rng.IntN(len(blocks))]
				lo := rng.IntN(len(b.want))
				src := make([]byte, 1+rng.IntN(len(b.want)-lo))
				for i := range src {
					src[i] = byte(rng.Uint32())
				}
				must(t, cu.MemcpyHtoD(b.p+cu.DevicePtr(lo), unsafe.Pointer(&src[0]), int64(len(src))))
				copy(b.want[lo:], src)
				clear(src) // it is free again
			case op == 4:
				a, b := blocks[rng.IntN(len(blocks))], blocks[rng.IntN(len(blocks))]
				n := 1 + rng.IntN(min(len(a.want), len(b.want)))
				if a.p == b.p {
					continue // overlapping copies are not defined
				}
				must(t, cu.Memcpy(a.p, b.p, int64(n)))
				copy(a.want[:n], b.want[:n])
			default:
				check(blocks[rng.IntN(len(blocks))])
			}
		}
		for _, b := range blocks {
			check(b)
			must(t, cu.MemFree(b.p))
		}
	}
	if free, total2, err := cu.MemInfo(); err != nil || free < free0-64<<20 || total != total2 {
		t.Errorf("%d of %d bytes free after all, %d of %d before, %v", free, total2, free0, total, err)
	}
}

// Goroutines share the context; each has its stream, and moves between threads.
func TestConcurrentUse(t *testing.T) {
	device(t)
	f := kernel(t, "probe_add")
	const n, goroutines, rounds = 1024, 8, 30
	ones := make([]float32, n)
	for i := range ones {
		ones[i] = 1
	}
	one := devicetest.Put(t, ones)
	must(t, cu.NoStream.Synchronize()) // it is used on other streams
	var wg sync.WaitGroup
	for g := range goroutines {
		wg.Go(func() {
			err := func() error {
				s := cu.NoStream
				if g%2 == 1 {
					var err error
					if s, err = cu.MakeStream(cu.NonBlocking); err != nil {
						return err
					}
					defer s.Destroy()
				}
				p, err := cu.MemAlloc(4 * n)
				if err != nil {
					return err
				}
				defer cu.MemFree(p)
				if err := cu.MemsetD8(p, 0, 4*n); err != nil {
					return err
				}
				if err := cu.NoStream.Synchronize(); err != nil { // it is used on s
					return err
				}
				for range rounds {
					if err := f.Enqueue(s, cu.Dim{X: 4}, cu.Dim{X: 256}, 0, cu.Arg(p), cu.Arg(p), cu.Arg(one), cu.Arg(n)); err != nil {
						return err
					}
					runtime.Gosched()
				}
				if err := s.Synchronize(); err != nil {
					return err
				}
				got := make([]float32, n)
				if err := cu.MemcpyDtoH(unsafe.Pointer(&got[0]), p, 4*n); err != nil {
					return err
				}
				for i, v := range got {
					if v != rounds {
						return fmt.Errorf("element %d is %v", i, v)
					}
				}
				return nil
			}()
			if err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
}

func TestModules(t *testing.T) {
	_, emulated := device(t)
	before := count.ModuleLoads.Load()
	f := kernel(t, "probe_add")
	kernel(t, "probe_add")
	if n := count.ModuleLoads.Load() - before; n > 1 {
		t.Errorf("the same PTX was compiled %d times", n)
	}
	if f.String() != "probe_add" {
		t.Errorf("it is called %v", f)
	}
	_, err := cu.LoadData(".version 7.0\n.target sm_80\n.address_size 64\nno PTX\n")
	var call *cu.CallError
	if !errors.As(err, &call) || call.Log == "" || strings.Contains(err.Error(), "\n") {
		t.Errorf("bad PTX: %v", err)
	}
	if emulated {
		_, err := cu.LoadData("// source sha256:0000 internal/device/kernels.cu\n.visible .entry k(\n)\n")
		if !errors.Is(err, cu.InvalidPTX) || !strings.Contains(err.Error(), "was not built of what this PTX was compiled from") {
			t.Errorf("PTX of another source: %v", err)
		}
	}
	ptx, err := os.ReadFile(filepath.Join("..", "probe", "probe.ptx"))
	must(t, err)
	m, err := cu.LoadData(string(ptx))
	must(t, err)
	if _, err := m.Function("probe_none"); !errors.Is(err, cu.NotFound) {
		t.Errorf("no such kernel: %v", err)
	}
	must(t, m.Unload())
	for _, err := range []error{(cu.Module{}).Unload(), func() error { _, err := (cu.Module{}).Function("f"); return err }()} {
		if err == nil {
			t.Error("no module was accepted")
		}
	}
}

func TestCounters(t *testing.T) {
	gpu, _ := device(t)
	reads := int64(0) // 1 where the device could read Go's memory itself, so that a copy waits
	if v, err := gpu.Attribute(cu.PageableMemoryAccess); err == nil && v != 0 {
		reads = 1
	}
	f := kernel(t, "probe_count")
	before := cu.ReadCounters()
	x := devicetest.Put(t, []int64{0})
	for range 3 {
		must(t, f.Enqueue(cu.NoStream, cu.Dim{}, cu.Dim{}, 0, cu.Arg(x), cu.Arg(1)))
	}
	devicetest.Get[int64](t, x, 1)
	must(t, cu.NoStream.Synchronize())
	want := before
	want.Launches += 3
	want.Syncs += 2 + reads
	want.CopiesIn++
	want.CopiesOut++
	want.BytesIn += 8
	want.Allocs++
	if got := cu.ReadCounters(); got != want {
		t.Errorf("counted %+v, want %+v", got, want)
	}
}

// Gorgonia's engine opens a device with and without a GPU, and computes nothing on it.
func TestBatchedContext(t *testing.T) {
	gpu, err := cu.GetDevice(0)
	must(t, err)
	c, err := gpu.MakeContext(cu.SchedAuto)
	must(t, err)
	_ = cu.SetCurrentContext(c)
	if n, err := cu.NumDevices(); err != nil || n < 1 {
		t.Errorf("%d devices, %v", n, err)
	}
	v, err := gpu.Attributes(cu.MaxThreadsPerBlock, cu.MaxGridDimX)
	must(t, err)
	free, total, err := cu.MemInfo()
	must(t, err)
	if v[0] < 1 || v[1] < 1 || free < 1 || total < free {
		t.Errorf("attributes %v, %d of %d bytes free", v, free, total)
	}
	arena, err := cu.MemAllocManaged(16, cu.AttachGlobal)
	must(t, err)
	*(*byte)(*(*unsafe.Pointer)(unsafe.Pointer(&arena))) = 1 // memory of the host
	must(t, cu.MemFree(arena))
	if _, err := cu.MemAllocManaged(math.MaxInt64, cu.AttachGlobal); !errors.Is(err, cu.OutOfMemory) {
		t.Errorf("too much memory: %v", err)
	}
	ctx := *cu.NewBatchedContext(cu.CtxFromCUContext(gpu, c, cu.SchedAuto), gpu)
	ctx.DoWork()
	ctx.MemcpyHtoD(0, nil, 0)
	must(t, ctx.Errors())
	for k, refused := range []func(){
		func() { ctx.MemcpyHtoD(0, nil, 4) },
		func() { ctx.MemcpyDtoH(nil, 0, 4) },
		func() { ctx.Memcpy(0, 0, 4) },
		func() { ctx.LaunchAndSync(cu.Function{}, 1, 1, 1, 1, 1, 1, 0, cu.NoStream, nil) },
	} {
		refused()
		if err := ctx.Errors(); err == nil || !strings.Contains(err.Error(), "elementwise node") || ctx.Errors() != nil {
			t.Errorf("call %d of a plain node: %v", k, err)
		}
	}
	if err := ctx.Do(func() error { return os.ErrClosed }); err != os.ErrClosed {
		t.Errorf("Do: %v", err)
	}
	if err := ctx.Close(); err == nil {
		t.Error("a context that no engine runs on was closed without an error, on which Gorgonia hangs")
	}
	go ctx.Started()
	if ctx.WorkAvailable() == nil || ctx.ErrChan() == nil || ctx.Work() == nil || ctx.String() != gpu.String() {
		t.Error("channels, name")
	}
	must(t, ctx.Close())
	if _, open := <-ctx.WorkAvailable(); open {
		t.Error("work came of nowhere")
	}
	none := cu.BatchedContext{}
	if none.Errors() != nil || none.Close() != nil {
		t.Error("the zero value has errors")
	}
	none.Cleanup()
}

// faulty runs a wrong kernel in a process of its own, since the error stays with
// the device.
func faulty(t *testing.T, name, environment, want string) {
	t.Helper()
	if os.Getenv("GCN_TEST_FAULT") == name {
		return
	}
	if _, emulated := device(t); !emulated {
		t.Skip("only on the emulated device")
	}
	kernel(t, "probe_add") // skips where there is no PTX
	cmd := exec.Command(os.Args[0], "-test.run=^TestFault$", "-test.v")
	cmd.Env = append(os.Environ(), "GCN_TEST_FAULT="+name, "GCN_EMULATOR="+environment)
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), want) {
		t.Errorf("%s: %v, want %q in:\n%s", name, err, want, out)
	}
}

func TestWrongKernels(t *testing.T) {
	faulty(t, "probe_lost_barrier", "", "a barrier that some threads of the block never come to, in kernel probe_lost_barrier, block (0, 0, 0), thread (0, 0, 0)")
	faulty(t, "probe_lost_shuffle", "", "a shuffle whose mask names a thread that has ended or never was, in kernel probe_lost_shuffle")
	faulty(t, "probe_write", "", "which is not memory of the device, in kernel probe_write")
	faulty(t, "probe_write_little", "", "were written past their end, at byte 40")
	for _, order := range []string{"", "order=1", "order=5", "order=6"} {
		faulty(t, "probe_race", order, "race result")
	}
	for _, order := range []string{"", "order=1,", "order=5,"} {
		faulty(t, "probe_race", order+"check", " of shared memory was ")
		faulty(t, "probe_race_blocks", order+"check", "and with no barrier since is ")
		faulty(t, "probe_race_read", order+"check", "a race: byte ")
		faulty(t, "probe_race_last", order+"check", "a race: byte 0 of an allocation of 1024 bytes was ")
		faulty(t, "probe_race_last_of_block", order+"check", "a race: byte 0 of an allocation of 1024 bytes was ")
	}
	faulty(t, "probe_read_past", "check", "byte 40 of an allocation of 40 bytes is read, in kernel probe_read_past, block (0, 0, 0), thread (0, 0, 0)")
	faulty(t, "probe_write_little", "check", "byte 40 of an allocation of 40 bytes is written")
	faulty(t, "probe_write_odd", "", "not a multiple of the size of what lies there, in kernel probe_write")
	faulty(t, "host", "", "invalid memory address")
}

// TestFault is the other process of TestWrongKernels.
func TestFault(t *testing.T) {
	name := os.Getenv("GCN_TEST_FAULT")
	if name == "" {
		t.Skip("it is run by TestWrongKernels")
	}
	device(t)
	checked := strings.Contains(os.Getenv("GCN_EMULATOR"), "check")
	p, err := cu.MemAlloc(40)
	must(t, err)
	switch name {
	case "host":
		defer func() {
			if r := recover(); r != nil {
				t.Log(r)
			}
		}()
		debug.SetPanicOnFault(true)
		t.Error(*(*byte)(*(*unsafe.Pointer)(unsafe.Pointer(&p))))
	case "probe_write", "probe_write_little", "probe_write_odd", "probe_read_past":
		n, at, want := int64(5000), p, cu.IllegalAddress
		switch name {
		case "probe_write_little":
			n = 11
		case "probe_write_odd":
			n, at, want = 1, p+2, cu.MisalignedAddress
		case "probe_read_past":
			n = 10
		}
		f := kernel(t, strings.TrimSuffix(strings.TrimSuffix(name, "_little"), "_odd"))
		must(t, f.Enqueue(cu.NoStream, cu.Dim{}, cu.Dim{X: 32}, 0, cu.Arg(at), cu.Arg(n)))
		err := cu.NoStream.Synchronize()
		if name == "probe_write_little" && !checked { // it shows later
			must(t, err)
			err = cu.MemFree(p)
		}
		wrong(t, err, want)
	default:
		y, err := cu.MemAlloc(4 * 256)
		must(t, err)
		grid, block := cu.Dim{}, cu.Dim{X: 256}
		switch name {
		case "probe_race_blocks", "probe_race_read":
			grid.X, block.X = 4, 64
		case "probe_race_last":
			grid.X, block.X = 3, 1
		case "probe_race_last_of_block":
			block.X = 3
		}
		must(t, kernel(t, strings.TrimSuffix(name, "_of_block")).Enqueue(cu.NoStream, grid, block, 0, cu.Arg(y)))
		err = cu.NoStream.Synchronize()
		if name == "probe_race" && !checked {
			must(t, err)
			got := devicetest.Get[int32](t, y, 256)
			wrong := 0
			for i, v := range got {
				if int(v) != (i+100)%256 {
					wrong++
				}
			}
			if wrong == 0 {
				t.Error("the race does not show")
			}
			t.Logf("race result: %d wrong", wrong)
			return
		}
		wrong(t, err, cu.LaunchFailed)
	}
}

// wrong checks that err is want, and ends the process: after such an error the device
// is of no more use, not even for freeing.
func wrong(t *testing.T, err, want error) {
	if !errors.Is(err, want) {
		t.Fatalf("error %v, want %v", err, want)
	}
	if _, err := cu.MemAlloc(4); !errors.Is(err, want) {
		t.Fatalf("the error does not stay: %v", err)
	}
	os.Exit(0)
}

// Allowed communication between threads works on a GPU, and the emulated device does
// not report it as a race, in any order of the threads.
func TestHandingOn(t *testing.T) {
	if _, emulated := device(t); emulated && os.Getenv("GCN_TEST_HANDING") == "" {
		for _, order := range []string{"0", "1", "5"} {
			cmd := exec.Command(os.Args[0], "-test.run=^TestHandingOn$", "-test.v")
			cmd.Env = append(os.Environ(), "GCN_TEST_HANDING=1", "GCN_EMULATOR=check,order="+order)
			if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), "--- PASS: TestHandingOn") {
				t.Errorf("order %s: %v\n%s", order, err, out)
			}
		}
		return
	}
	y, flag := devicetest.Room[int32](t, 1024), devicetest.Put(t, []int32{0})
	must(t, kernel(t, "probe_handing_on").Enqueue(cu.NoStream, cu.Dim{X: 4}, cu.Dim{X: 256}, 0, cu.Arg(y), cu.Arg(flag)))
	got := devicetest.Get[int32](t, y, 1024)
	for i, v := range got {
		want := (i%256+100)%256 ^ 1
		if i%2 == 0 {
			want += ((i+1)%256+100)%256 ^ 1
		}
		if int(v) != want {
			t.Fatalf("y[%d] = %d, want %d", i, v, want)
		}
	}
}

// TestWithout runs itself where a library or device is missing.
func TestWithout(t *testing.T) {
	if os.Getenv("GCN_TEST_WITHOUT") != "" {
		fmt.Println("available:", cu.Available())
		_, err := cu.MemAlloc(4)
		fmt.Println("alloc:", err)
		_, err = cu.Device(0).MakeContext(cu.SchedAuto)
		fmt.Println("context:", errors.Is(err, cu.ErrNoDriver), errors.Is(err, cu.NoDevice))
		fmt.Println("version:", cu.Version())
		return
	}
	driver := os.Getenv("GCN_CUDA")
	empty := filepath.Join(t.TempDir(), "libcuda.so.1")
	must(t, os.WriteFile(empty, []byte("no library"), 0o644))
	for _, c := range []struct{ name, driver, emulator, want string }{
		{"no driver", "/nowhere/libcuda.so.1", "", "available: cu: no NVIDIA driver: /nowhere/libcuda.so.1: cannot open shared object file: No such file or directory\n"},
		{"a file that is no library", empty, "", "available: cu: no NVIDIA driver: " + empty + ": "},
		{"a library that is no driver", "libc.so.6", "", "available: cu: no NVIDIA driver: libc.so.6 has no cuInit: the driver is older than this program needs\n"},
		{"no device", driver, "devices=0", "available: cu: cuInit: CUDA_ERROR_NO_DEVICE (100): no CUDA-capable device is detected\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.emulator != "" {
				if _, emulated := device(t); !emulated {
					t.Skip("only on the emulated device")
				}
			}
			cmd := exec.Command(os.Args[0], "-test.run=^TestWithout$")
			cmd.Env = append(os.Environ(), "GCN_TEST_WITHOUT=1", "GCN_CUDA="+c.driver, "GCN_EMULATOR="+c.emulator)
			out, err := cmd.CombinedOutput()
			if err != nil || !strings.Contains(string(out), c.want) {
				t.Errorf("%v, want %q in:\n%s", err, c.want, out)
			}
			if no := c.emulator == ""; !strings.Contains(string(out), fmt.Sprintf("context: %v %v\n", no, !no)) {
				t.Errorf("errors of the wrong kind:\n%s", out)
			}
		})
	}
}

// TestDriverInAFolder runs itself with a driver that only its path leads to: the
// compiler of PTX beside it must be loaded too.
func TestDriverInAFolder(t *testing.T) {
	if os.Getenv("GCN_TEST_FOLDER") != "" {
		fmt.Println("available:", cu.Available())
		maps, err := os.ReadFile("/proc/self/maps")
		must(t, err)
		fmt.Println("compiler:", bytes.Contains(maps, []byte("compiler-of-ptx")))
		return
	}
	driver := os.Getenv("GCN_CUDA")
	if _, emulated := device(t); !emulated || runtime.GOOS != "linux" {
		t.Skip("only on the emulated device, on Linux")
	}
	dir := t.TempDir()
	library, err := os.ReadFile(driver)
	must(t, err)
	must(t, os.WriteFile(filepath.Join(dir, "compiler-of-ptx"), library, 0o755)) // any library
	must(t, os.Symlink("compiler-of-ptx", filepath.Join(dir, "libnvidia-ptxjitcompiler.so.1")))
	must(t, os.Symlink(driver, filepath.Join(dir, "libcuda.so.1")))
	cmd := exec.Command(os.Args[0], "-test.run=^TestDriverInAFolder$")
	cmd.Env = append(os.Environ(), "GCN_TEST_FOLDER=1", "GCN_CUDA="+filepath.Join(dir, "libcuda.so.1"))
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "available: <nil>\ncompiler: true\n") {
		t.Errorf("%v:\n%s", err, out)
	}
}

func BenchmarkEnqueue(b *testing.B) {
	device(b)
	f := kernel(b, "probe_count")
	x := devicetest.Put(b, []int64{0})
	for b.Loop() {
		must(b, f.Enqueue(cu.NoStream, cu.Dim{}, cu.Dim{}, 0, cu.Arg(x), cu.Arg(1)))
	}
	must(b, cu.NoStream.Synchronize())
}
