package cublas

// #cgo linux LDFLAGS: -ldl
// #include <stdlib.h>
// #include "cublas.h"
import "C"

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"unsafe"

	"gorgonia.org/cu"
)

// ErrNoLibrary is in the chain of every error that comes of not having found
// libcublas.
var ErrNoLibrary = errors.New("no cuBLAS library")

type loaded struct {
	path string
	err  error
}

// The library can be loaded once in a process.
var load = sync.OnceValue(func() loaded {
	set, err := cu.Symbol("cuCtxSetCurrent")
	if err != nil {
		return loaded{err: err}
	}
	var reason string
	for _, path := range candidates(os.Getenv, cu.Version()/1000) {
		failed := open(path, set)
		if failed == "" {
			return loaded{path: path}
		}
		// A name that the linker does not know says little; a file that exists and
		// cannot be used says more.
		if reason == "" || strings.ContainsRune(path, '/') {
			reason = failed
		}
	}
	return loaded{err: fmt.Errorf("cublas: %w: %s (GCN_CUBLAS may name one)",
		ErrNoLibrary, reason)}
})

// Path is the file that was loaded, or the reason why none was.
func Path() (string, error) {
	l := load()
	return l.path, l.err
}

func open(path string, set uintptr) (failed string) {
	// A wheel may not say where its other half lies; loaded first, it is found.
	if strings.ContainsRune(path, '/') {
		lt := strings.Replace(path, "libcublas.so", "libcublasLt.so", 1)
		if _, err := os.Stat(lt); err == nil && lt != path {
			q := C.CString(lt)
			C.gcn_cublas_preload(q)
			C.free(unsafe.Pointer(q))
		}
	}
	p := C.CString(path)
	defer C.free(unsafe.Pointer(p))
	text := C.gcn_cublas_open(p, C.uintptr_t(set))
	if text == nil {
		return ""
	}
	defer C.free(unsafe.Pointer(text))
	return C.GoString(text)
}

// versions are those that are tried, the newest first.
var versions = []int{13, 12, 11}

// candidates are the files to try, in order, for a driver of CUDA's given major
// version: older libraries run on it, newer ones do not.
func candidates(getenv func(string) string, driver int) []string {
	if path := getenv("GCN_CUBLAS"); path != "" {
		return []string{path}
	}
	var names, found []string
	for _, v := range versions {
		if v <= driver {
			names = append(names, fmt.Sprint("libcublas.so.", v))
		}
	}
	for _, dir := range folders(getenv) {
		for _, name := range names {
			files, _ := filepath.Glob(filepath.Join(dir, name)) // a pattern that is written here
			found = append(found, files...)
		}
	}
	return append(names, found...)
}

// folders are patterns of the folders that may hold the library.
func folders(getenv func(string) string) []string {
	var dirs []string
	add := func(root string, under ...string) {
		if root == "" {
			return
		}
		for _, u := range under {
			dirs = append(dirs, filepath.Join(root, u))
		}
	}
	for _, name := range []string{"CUDA_HOME", "CUDA_PATH"} {
		add(getenv(name), "lib64", "lib")
	}
	add("/usr/local", "cuda/lib64", "cuda-*/lib64", "cuda*/targets/*/lib")
	add("/opt", "cuda/lib64")

	// Python's folders: of the environments that are active, of every python on
	// the path, of the system, and of the user.
	wheels := func(prefix string) {
		for _, site := range []string{"lib/python3*/site-packages",
			"lib/python3*/dist-packages", "lib/python3/dist-packages"} {
			add(prefix, filepath.Join(site, "nvidia/*/lib"), filepath.Join(site, "torch/lib"))
		}
	}
	for _, name := range []string{"VIRTUAL_ENV", "CONDA_PREFIX"} {
		add(getenv(name), "lib")
		wheels(getenv(name))
	}
	for _, dir := range filepath.SplitList(getenv("PATH")) {
		if python, _ := filepath.Glob(filepath.Join(dir, "python3*")); len(python) > 0 {
			wheels(filepath.Dir(dir))
			// The interpreter of an environment is a link into another prefix.
			if real, err := filepath.EvalSymlinks(python[0]); err == nil {
				wheels(filepath.Dir(filepath.Dir(real)))
			}
		}
	}
	wheels("/usr")
	wheels("/usr/local")
	if home := getenv("HOME"); home != "" {
		wheels(filepath.Join(home, ".local"))
	}
	return dirs
}
