package cu

// #cgo linux LDFLAGS: -ldl
// #include <stdlib.h>
// #include "driver.h"
import "C"

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
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

// folders are where containers, WSL and some distributions put the driver without
// telling the dynamic linker.
var folders = []string{"/usr/local/nvidia/lib64", "/usr/local/nvidia/lib",
	"/usr/lib/wsl/lib", "/usr/lib64/nvidia", "/run/opengl-driver/lib"}

// candidates are the files to try, in order.
func candidates(getenv func(string) string) []string {
	if name := getenv("GCN_CUDA"); name != "" {
		return []string{name}
	}
	names := []string{"libcuda.so.1", "libcuda.so"}
	for _, dir := range folders {
		names = append(names, filepath.Join(dir, "libcuda.so.1"))
	}
	return names
}

// open finds the driver: where GCN_CUDA says, or where the dynamic linker looks, or
// in the folders above.
func open() error {
	var reason string
	for _, name := range candidates(os.Getenv) {
		failed := openAt(name)
		if failed == "" {
			return nil
		}
		// A name that the linker does not know says little; a file that exists and
		// cannot be used says more.
		if _, err := os.Stat(name); reason == "" || err == nil {
			reason = failed
		}
	}
	return fmt.Errorf("cu: %w: %s", ErrNoDriver, reason)
}

// openAt returns the reason of its failure, or "".
func openAt(name string) (failed string) {
	p := C.CString(name)
	defer C.free(unsafe.Pointer(p))
	text := C.gcn_cu_open(p)
	if text != nil {
		defer C.free(unsafe.Pointer(text))
		return C.GoString(text)
	}
	if !strings.ContainsRune(name, '/') {
		return ""
	}
	// The driver loads its compiler of PTX by name when first wanted; where the
	// linker does not look, that finds it only if it is loaded already.
	for _, part := range []string{"libnvidia-ptxjitcompiler.so.1", "libnvidia-nvvm.so.4"} {
		q := C.CString(filepath.Join(filepath.Dir(name), part))
		C.gcn_cu_preload(q)
		C.free(unsafe.Pointer(q))
	}
	return ""
}

// Available returns nil if the driver is there and has at least one device;
// otherwise the reason why not, on one line.
func Available() error {
	_, err := gpus()
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
