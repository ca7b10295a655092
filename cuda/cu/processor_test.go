package cu_test

import (
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"strings"
	"testing"
	"unsafe"

	"gorgonia.org/cu"
)

// Where there is no GPU, the calls of Gorgonia's engine work on the CPU. The test
// runs itself where there is no driver.
func TestProcessor(t *testing.T) {
	if os.Getenv("GCN_TEST_PROCESSOR") == "" {
		cmd := exec.Command(os.Args[0], "-test.run=^TestProcessor$")
		cmd.Env = append(os.Environ(), "GCN_TEST_PROCESSOR=1", "GCN_CUDA=/nowhere/libcuda.so.1")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%v:\n%s", err, out)
		}
		return
	}
	n, err := cu.NumDevices()
	must(t, err)
	d, err := cu.GetDevice(0)
	must(t, err)
	if n != 1 || d != cu.CPU {
		t.Fatalf("%d devices, the first is %v: want one, the CPU", n, d)
	}
	if _, err := cu.GetDevice(1); !errors.Is(err, cu.ErrNoDriver) {
		t.Errorf("device 1: %v", err)
	}
	c, err := d.MakeContext(cu.SchedAuto)
	must(t, err)
	must(t, cu.SetCurrentContext(c))
	v, err := d.Attributes(cu.MaxThreadsPerBlock, cu.MaxGridDimX)
	must(t, err)
	if v[0] < 1 || v[1] < 1 {
		t.Errorf("attributes %v", v)
	}
	if free, total, err := cu.MemInfo(); err != nil || free < 1 || total < free {
		t.Errorf("memory: %d of %d free, %v", free, total, err)
	}
	p, err := cu.MemAllocManaged(16, cu.AttachGlobal)
	must(t, err)
	ctx := cu.NewBatchedContext(cu.CtxFromCUContext(d, c, cu.SchedAuto), d)
	got := []float32{1, -2, 3, 4}
	ctx.MemcpyHtoD(p, unsafe.Pointer(&got[0]), 16)
	ctx.Memcpy(p+8, p, 4)
	m, err := cu.LoadData(cu.Elementwise)
	must(t, err)
	square, err := m.Function("square_f32")
	must(t, err)
	size := int64(3)
	ctx.LaunchAndSync(square, 1, 1, 1, 4, 1, 1, 0, cu.NoStream, []unsafe.Pointer{unsafe.Pointer(&p), unsafe.Pointer(&size)})
	ctx.MemcpyDtoH(unsafe.Pointer(&got[0]), p, 16)
	must(t, ctx.Errors())
	if want := []float32{1, 4, 1, 4}; fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("computed %v, want %v", got, want)
	}
	ctx.MemcpyHtoD(p+8, unsafe.Pointer(&got[0]), 16)
	if err := ctx.Errors(); !errors.Is(err, cu.InvalidValue) {
		t.Errorf("a copy beyond the end: %v", err)
	}
	other, err := cu.LoadData(".visible .entry k(\n)\n")
	must(t, err)
	k, err := other.Function("k")
	must(t, err)
	if err := k.Enqueue(cu.NoStream, cu.Dim{}, cu.Dim{}, 0); err == nil || !strings.Contains(err.Error(), "kernel k needs a GPU") {
		t.Errorf("a kernel in PTX: %v", err)
	}
	for name, call := range map[string]func() error{
		"MemAlloc":     func() error { _, err := cu.MemAlloc(4); return err },
		"MemAllocHost": func() error { _, err := cu.MemAllocHost(4); return err },
		"MemsetD8":     func() error { return cu.MemsetD8(p, 0, 4) },
		"MakeStream":   func() error { _, err := cu.MakeStream(cu.NonBlocking); return err },
		"MakeEvent":    func() error { _, err := cu.MakeEvent(cu.DisableTiming); return err },
		"a pinned copy on the main stream": func() error {
			return cu.MemcpyHtoDAsync(p, unsafe.Pointer(&got[0]), 4, c.Main())
		},
	} {
		if err := call(); !errors.Is(err, cu.ErrNoDriver) {
			t.Errorf("%s: %v, want that there is no driver", name, err)
		}
	}
	must(t, m.Unload())
	must(t, cu.MemFree(p))
	if err := cu.MemFree(p); !errors.Is(err, cu.InvalidValue) {
		t.Errorf("freed twice: %v", err)
	}
	if _, err := cu.MemAllocManaged(math.MaxInt64, cu.AttachGlobal); !errors.Is(err, cu.OutOfMemory) {
		t.Errorf("too much memory: %v", err)
	}
}

// The kernels of Elementwise in every shape, and on a GPU behind queued work.
func TestElementwise(t *testing.T) {
	device(t)
	m, err := cu.LoadData(cu.Elementwise)
	must(t, err)
	p, err := cu.MemAllocManaged(32, cu.AttachGlobal)
	must(t, err)
	defer cu.MemFree(p)
	a, b := []float64{6, 8}, []float64{3, 2}
	for name, want := range map[string][4]float64{
		"div_vv_f64": {2, 4, 3, 2}, "div_vs_f64": {2, 8.0 / 3, 3, 2}, "div_sv_f64": {6, 8, 2, 3}, "div_ss_f64": {2, 8, 3, 2},
		"gte_vs_f64": {1, 1, 3, 2}, "lt_sv_f64": {6, 8, 0, 0},
	} {
		f, err := m.Function(name)
		must(t, err)
		must(t, cu.MemcpyHtoD(p, unsafe.Pointer(&a[0]), 16))
		must(t, cu.MemcpyHtoD(p+16, unsafe.Pointer(&b[0]), 16))
		must(t, f.Enqueue(cu.NoStream, cu.Dim{}, cu.Dim{}, 0, cu.Arg(p), cu.Arg(p+16), cu.Arg(2)))
		var got [4]float64
		must(t, cu.MemcpyDtoH(unsafe.Pointer(&got[0]), p, 32))
		if got != want {
			t.Errorf("%s gives %v, want %v", name, got, want)
		}
	}
	for _, name := range append(cu.BinaryKernels(), cu.UnaryKernels()...) {
		if _, err := m.Function(name); err != nil {
			t.Error(err)
		}
	}
	for _, name := range []string{"", "div", "div_vv", "div_xx_f32", "mod_vv_f32", "sinh_f64", "sin_f16"} {
		if _, err := m.Function(name); !errors.Is(err, cu.NotFound) {
			t.Errorf("kernel %q: %v", name, err)
		}
	}
}
