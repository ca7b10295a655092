package cu

// #cgo noescape gcn_cu_launch
// #cgo nocallback gcn_cu_launch
// #include <stdlib.h>
// #include "driver.h"
import "C"

import (
	"fmt"
	"strings"
	"unsafe"

	"gorgonia.org/cu/internal/count"
)

// Module is a set of kernels that the driver has compiled and loaded.
type Module struct{ m *module }

type module struct {
	c      *context
	handle C.handle
	image  string
	uses   int
	params map[string]int // of each kernel, read in the PTX
}

// LoadData compiles an image, PTX as text, into the current context. An image
// that is loaded already is shared. On error CallError.Log holds the words of
// the compiler.
func LoadData(image string) (Module, error) {
	c, err := now()
	if err != nil {
		return Module{}, err
	}
	c.modules.Lock()
	defer c.modules.Unlock()
	if m := c.loaded[image]; m != nil {
		m.uses++
		return Module{m}, nil
	}
	text := C.CString(image)
	defer C.free(unsafe.Pointer(text))
	const logSize = 8192
	log := (*C.char)(C.calloc(1, logSize))
	defer C.free(unsafe.Pointer(log))
	m := &module{c: c, image: image, uses: 1, params: parameters(image)}
	if r := C.gcn_cu_module_load(c.handle, &m.handle, text, log, logSize-1); r != 0 {
		words := strings.Join(strings.Fields(C.GoString(log)), " ")
		return Module{}, &CallError{Call: "cuModuleLoadDataEx", Result: Result(r), Log: words}
	}
	count.ModuleLoads.Add(1)
	c.loaded[image] = m
	return Module{m}, nil
}

// Unload gives the module up; the last to do so unloads it, after which its
// functions must not be launched.
func (m Module) Unload() error {
	if m.m == nil {
		return check(C.CUresult(InvalidValue), "cuModuleUnload")
	}
	c := m.m.c
	c.modules.Lock()
	defer c.modules.Unlock()
	if m.m.uses--; m.m.uses != 0 {
		return nil
	}
	delete(c.loaded, m.m.image)
	return check(C.gcn_cu_module_unload(c.handle, m.m.handle), "cuModuleUnload")
}

// Function finds a kernel by its name.
func (m Module) Function(name string) (Function, error) {
	if m.m == nil {
		return Function{}, check(C.CUresult(InvalidValue), "cuModuleGetFunction")
	}
	f := Function{c: m.m.c, name: name, params: -1}
	p := C.CString(name)
	defer C.free(unsafe.Pointer(p))
	if n, ok := m.m.params[name]; ok {
		f.params = n
	}
	r := C.gcn_cu_module_function(m.m.c.handle, &f.h, m.m.handle, p)
	return f, checkf(r, "cuModuleGetFunction(%s)", name)
}

// parameters reads how many parameters each kernel in a PTX text has. The driver
// cannot be asked before CUDA 12.4, and reads past the end of the arguments if
// there are too few.
func parameters(ptx string) map[string]int {
	n := map[string]int{}
	for {
		_, rest, ok := strings.Cut(ptx, ".entry")
		if !ok {
			return n
		}
		ptx = rest
		name, rest, ok := strings.Cut(rest, "(")
		if !ok {
			return n
		}
		list, body, ok := strings.Cut(rest, ")")
		if !ok {
			return n
		}
		n[strings.TrimSpace(name)] = strings.Count(list, ".param ")
		ptx = body
	}
}

// Function is a kernel.
type Function struct {
	c      *context
	h      C.handle
	name   string
	params int // -1 if not known
}

// String is the name of the kernel.
func (f Function) String() string { return f.name }

// Dim is the size of a grid in blocks or of a block in threads. A component of 0
// counts as 1.
type Dim struct{ X, Y, Z int }

// Arg is one argument of a kernel, of at most 8 bytes.
type Arg uint64

var errNoFunction = fmt.Errorf("cu: a Function must come from Module.Function")

// maxArgs is how many arguments a kernel may have here.
const maxArgs = 64

// Enqueue launches the kernel on the stream, with so many bytes of dynamic
// shared memory, and returns at once. A wrong number of arguments is an error.
// It allocates nothing.
func (f Function) Enqueue(stream Stream, grid, block Dim, shared int, args ...Arg) error {
	if f.c == nil {
		return errNoFunction
	}
	if f.params >= 0 && len(args) != f.params || len(args) > maxArgs {
		return fmt.Errorf("cu: %s has %d parameters, not %d", f.name, f.params, len(args))
	}
	var words *C.uint64_t
	if len(args) > 0 {
		words = (*C.uint64_t)(unsafe.Pointer(unsafe.SliceData(args)))
	}
	return f.launch(stream, grid, block, shared, words, len(args))
}

func (f Function) launch(stream Stream, grid, block Dim, shared int, words *C.uint64_t, n int) error {
	h := f.c.main
	if stream.c != nil {
		h = stream.h
	}
	at := func(v int) C.uint { return C.uint(max(v, 1)) }
	count.Launches.Add(1)
	r := C.gcn_cu_launch(f.c.handle, f.h, at(grid.X), at(grid.Y), at(grid.Z), at(block.X), at(block.Y), at(block.Z),
		C.uint(shared), h, words, C.int(n))
	if r == 0 {
		return nil
	}
	return checkf(r, "cuLaunchKernel(%s, grid %v, block %v, %d bytes shared)",
		f.name, grid, block, shared)
}
