package cublas

// #include "cublas.h"
import "C"

import (
	"fmt"
	"sync"

	"gorgonia.org/cu"
	"gorgonia.org/cu/internal/count"
)

// Status is the result of a call of cuBLAS that failed. It is an error.
type Status int32

func (s Status) Error() string {
	if name := C.gcn_cublas_status_name(C.status(s)); name != nil {
		return fmt.Sprintf("%s (%d)", C.GoString(name), int32(s))
	}
	return fmt.Sprintf("cuBLAS status %d", int32(s))
}

// CallError says which call of cuBLAS failed, and how.
type CallError struct {
	Call   string
	Status Status
}

func (e *CallError) Error() string { return fmt.Sprintf("cublas: %s: %v", e.Call, e.Status) }

// Unwrap gives the Status.
func (e *CallError) Unwrap() error { return e.Status }

// Handle multiplies matrices in one context. It may be used by several
// goroutines; their calls take turns.
type Handle struct {
	mu      sync.Mutex
	context cu.CUContext
	h       C.handle
}

// workspaceSize is NVIDIA's advice for Hopper, the largest for any GPU.
const workspaceSize = 32 << 20

// The handles of this process: one for each context, which live as long.
var handles struct {
	sync.Mutex
	of map[cu.CUContext]*Handle
}

// Current returns the handle of the current context, and makes it the first time: that
// takes tens of milliseconds, and 32 MiB of device memory beside cuBLAS' own.
func Current() (*Handle, error) {
	c, err := cu.CurrentContext()
	if err != nil {
		return nil, err
	}
	if l := load(); l.err != nil {
		return nil, l.err
	}
	handles.Lock()
	defer handles.Unlock()
	if h := handles.of[c]; h != nil {
		return h, nil
	}
	stream, err := c.Main().Handle()
	if err != nil {
		return nil, err
	}
	h := &Handle{context: c}
	// A workspace that the handle keeps makes equal calls give equal bits. Without the
	// memory for it, the handle goes without.
	workspace, _ := cu.MemAlloc(workspaceSize)
	if s := C.gcn_cublas_create(h.c(), &h.h, C.handle(stream),
		C.uint64_t(workspace), workspaceSize); s != 0 {
		return nil, &CallError{"cublasCreate", Status(s)}
	}
	if handles.of == nil {
		handles.of = map[cu.CUContext]*Handle{}
	}
	handles.of[c] = h
	return h, nil
}

func (h *Handle) c() C.handle { return C.handle(h.context.Handle()) }

func check(s C.status, call string) error {
	if s == 0 {
		return nil
	}
	return &CallError{call, Status(s)}
}

// T says whether a factor is transposed.
type T bool

func (t T) op() C.int {
	if t {
		return 1
	}
	return 0
}

// Sgemm queues C := alpha·op(A)·op(B) + beta·C for matrices by columns: op(A) is
// m×k, op(B) is k×n. With beta 0, C need not hold numbers. For matrices by rows,
// exchange A with B and m with n.
func (h *Handle) Sgemm(ta, tb T, m, n, k int, alpha float32, a cu.DevicePtr, lda int, b cu.DevicePtr, ldb int,
	beta float32, c cu.DevicePtr, ldc int) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	count.Products.Add(1)
	s := C.gcn_cublas_sgemm(h.c(), h.h, ta.op(), tb.op(), C.int(m), C.int(n), C.int(k),
		C.float(alpha), C.uint64_t(a), C.int(lda), C.uint64_t(b), C.int(ldb), C.float(beta), C.uint64_t(c), C.int(ldc))
	if s == 0 {
		return nil
	}
	return check(s, fmt.Sprintf("cublasSgemm(m=%d n=%d k=%d lda=%d ldb=%d ldc=%d)",
		m, n, k, lda, ldb, ldc))
}
