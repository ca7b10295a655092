// Package devicetest gives the tests of this module a device: the GPU of
// the machine or, without one, the emulated device of the project, if this module
// lies in it and there is a C++ compiler.
package devicetest

import (
	"os"
	"os/exec"
	"strings"
	"testing"
	"unsafe"

	"gorgonia.org/cu"
)

// Main is TestMain. root is the path from the test's folder to the project's.
func Main(m *testing.M, root string) {
	if os.Getenv("GCN_CUDA") == "" {
		// Asked in another process, since a driver is looked for only once.
		probe := exec.Command(os.Args[0], "-test.run=^$")
		probe.Env = append(os.Environ(), "GCN_CUDA=libcuda.so.1", "GCN_TEST_PROBE=1")
		if probe.Run() != nil {
			emulate(root)
		}
	}
	if os.Getenv("GCN_TEST_PROBE") != "" && cu.Available() != nil {
		os.Exit(1)
	}
	os.Exit(m.Run())
}

func emulate(root string) {
	build := exec.Command("go", "run", "./cuda/emulate")
	build.Dir = root
	build.Env = append(os.Environ(), "GOFLAGS=-mod=mod", "GOWORK=off")
	out, err := build.Output()
	if err != nil {
		return // the tests say that they lack a device
	}
	for line := range strings.Lines(string(out)) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), "=")
		os.Setenv(name, value)
	}
}

// Need skips the test where there is no device.
func Need(t testing.TB) {
	t.Helper()
	if err := cu.Available(); err != nil {
		t.Skipf("no device, and none emulated (go run ./cuda/emulate): %v", err)
	}
}

// Must ends the test with an error that should not be.
func Must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// Room takes device memory for n values, until the test ends.
func Room[T any](t testing.TB, n int) cu.DevicePtr {
	t.Helper()
	p, err := cu.MemAlloc(int64(n) * int64(unsafe.Sizeof(*new(T))))
	Must(t, err)
	t.Cleanup(func() { Must(t, cu.MemFree(p)) })
	return p
}

// Size is the memory of x in bytes.
func Size[T any](x []T) int64 { return int64(len(x)) * int64(unsafe.Sizeof(x[0])) }

// Put copies x to the device.
func Put[T any](t testing.TB, x []T) cu.DevicePtr {
	t.Helper()
	p := Room[T](t, len(x))
	Must(t, cu.MemcpyHtoD(p, unsafe.Pointer(&x[0]), Size(x)))
	return p
}

// Get waits and copies n values from the device.
func Get[T any](t testing.TB, p cu.DevicePtr, n int) []T {
	t.Helper()
	x := make([]T, n)
	Must(t, cu.MemcpyDtoH(unsafe.Pointer(&x[0]), p, Size(x)))
	return x
}
