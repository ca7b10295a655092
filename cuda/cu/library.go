package cu

// #cgo linux LDFLAGS: -ldl
// #include <stdlib.h>
// #include "driver.h"
import "C"

import (
	"fmt"
	"os"
	"sync"
	"unsafe"
)

// The driver can be loaded once in a process, like the device it drives.
var load = sync.OnceValue(func() error {
	err := open()
	if err != nil {
		return err
	}
	return check(C.gcn_cu_init(), "cuInit")
})

// open finds the driver: where GCN_CUDA says, or where the dynamic linker
// looks, or in the folders that containers and WSL put it in.
func open() error {
	names := []string{"libcuda.so.1", "libcuda.so",
		"/usr/local/nvidia/lib64/libcuda.so.1", "/usr/lib/wsl/lib/libcuda.so.1", "/usr/lib64/nvidia/libcuda.so.1"}
	if name := os.Getenv("GCN_CUDA"); name != "" {
		names = []string{name}
	}
	var first string
	for _, name := range names {
		p := C.CString(name)
		failed := C.gcn_cu_open(p)
		C.free(unsafe.Pointer(p))
		if failed == nil {
			return nil
		}
		if first == "" {
			first = C.GoString(failed)
		}
		C.free(unsafe.Pointer(failed))
	}
	return fmt.Errorf("cu: %w: %s", ErrNoDriver, first)
}

// Available returns nil if the driver is there and has at least one device;
// otherwise the reason why not, on one line.
func Available() error {
	n, err := NumDevices()
	if err == nil && n == 0 {
		err = &CallError{Call: "cuDeviceGetCount", Result: NoDevice}
	}
	return err
}

// Version is the version of CUDA that the driver supports: 1000·major+10·minor,
// or 0 if there is no driver.
func Version() int {
	if load() != nil {
		return 0
	}
	var v C.int
	if C.gcn_cu_driver_version(&v) != 0 {
		return 0
	}
	return int(v)
}

// Symbol is the address of a function of the driver, for calls that this
// package does not make.
func Symbol(name string) (uintptr, error) {
	if err := load(); err != nil {
		return 0, err
	}
	p := C.CString(name)
	defer C.free(unsafe.Pointer(p))
	if a := C.gcn_cu_symbol(p); a != 0 {
		return uintptr(a), nil
	}
	return 0, fmt.Errorf("cu: the driver has no %s", name)
}
