package cu

// #cgo noescape gcn_cu_copy_in
// #cgo noescape gcn_cu_copy_in_at_once
// #cgo noescape gcn_cu_copy_out_at_once
// #cgo nocallback gcn_cu_copy_in
// #cgo nocallback gcn_cu_copy_in_at_once
// #cgo nocallback gcn_cu_copy_out_at_once
// #include <stdlib.h>
// #include "driver.h"
import "C"

import (
	"fmt"
	"sync"
	"unsafe"

	"gorgonia.org/cu/internal/count"
)

// DevicePtr is an address in the memory of a device. It is a Memory of
// gorgonia.org/tensor.
type DevicePtr uintptr

// Uintptr is the address.
func (p DevicePtr) Uintptr() uintptr { return uintptr(p) }

// MemSize is 0: an address does not know the size of its memory. Gorgonia calls it
// only in Engine.Memcpy, which it never calls.
func (p DevicePtr) MemSize() uintptr { return 0 }

// String is the address in hexadecimal.
func (p DevicePtr) String() string { return fmt.Sprintf("0x%x", uintptr(p)) }

// MemAttachFlags say which streams may use managed memory.
type MemAttachFlags byte

// AttachGlobal lets every stream use it.
const AttachGlobal MemAttachFlags = 1

// MemAlloc takes that many bytes of device memory, on a boundary of at least 256
// bytes, with no defined contents. It waits for the device; take memory before
// the loop, not within. Zero bytes are an error of the driver.
func MemAlloc(bytes int64) (DevicePtr, error) {
	c, err := now()
	if err != nil {
		return 0, err
	}
	var p C.CUdeviceptr
	if err := checkf(C.gcn_cu_alloc(c.handle, &p, C.size_t(bytes)),
		"cuMemAlloc(%d bytes)", bytes); err != nil {
		return 0, err
	}
	count.Allocs.Add(1)
	return DevicePtr(p), nil
}

// arenas are the addresses of MemAllocManaged.
var arenas sync.Map

// MemAllocManaged takes memory of the host, for the arena of Gorgonia's engine: nothing
// on the device uses it.
func MemAllocManaged(bytes int64, _ MemAttachFlags) (DevicePtr, error) {
	m := C.calloc(1, C.size_t(bytes)) // C.malloc would end the process if there is too little
	if m == nil {
		return 0, fmt.Errorf("cu: %d bytes of memory: %w", bytes, OutOfMemory)
	}
	p := DevicePtr(uintptr(m))
	arenas.Store(p, m)
	return p, nil
}

// MemFree frees memory of MemAlloc, after waiting for work that may use it, or of
// MemAllocManaged.
func MemFree(p DevicePtr) error {
	if m, ok := arenas.LoadAndDelete(p); ok {
		C.free(m.(unsafe.Pointer))
		return nil
	}
	c, err := now()
	if err != nil {
		return err
	}
	return checkf(C.gcn_cu_free(c.handle, C.CUdeviceptr(p)), "cuMemFree(%v)", p)
}

// MemAllocHost takes pinned memory of the host, which asynchronous copies can
// read and write while the program goes on. It is not Go's: free it with
// MemFreeHost. Taking it is slow (about a millisecond for each few MB).
func MemAllocHost(bytes int64) (unsafe.Pointer, error) {
	c, err := now()
	if err != nil {
		return nil, err
	}
	var p unsafe.Pointer
	const portable = 1 // CU_MEMHOSTALLOC_PORTABLE: pinned for every context
	err = checkf(C.gcn_cu_host_alloc(c.handle, &p, C.size_t(bytes),
		portable), "cuMemHostAlloc(%d bytes)", bytes)
	return p, err
}

// MemFreeHost frees memory of MemAllocHost.
func MemFreeHost(p unsafe.Pointer) error {
	c, err := now()
	if err != nil {
		return err
	}
	return check(C.gcn_cu_host_free(c.handle, p), "cuMemFreeHost")
}

// MemcpyHtoD copies to the device, on the main stream, after the work queued
// there. When it returns src may be changed; the copy itself may still run.
func MemcpyHtoD(dst DevicePtr, src unsafe.Pointer, bytes int64) error {
	c, err := now()
	if err != nil {
		return err
	}
	count.CopiesIn.Add(1)
	count.BytesIn.Add(bytes)
	var wait C.int
	if c.readsHost {
		wait = 1
		count.Syncs.Add(1)
	}
	r := C.gcn_cu_copy_in_at_once(c.handle, C.CUdeviceptr(dst),
		src, C.size_t(bytes), c.main, wait)
	return checkf(r, "cuMemcpyHtoD(%d bytes to %v)", bytes, dst)
}

// MemcpyDtoH copies to the host and waits, for the copy and for all that was
// queued on the main stream before it.
func MemcpyDtoH(dst unsafe.Pointer, src DevicePtr, bytes int64) error {
	c, err := now()
	if err != nil {
		return err
	}
	count.CopiesOut.Add(1)
	count.Syncs.Add(1)
	r := C.gcn_cu_copy_out_at_once(c.handle, dst, C.CUdeviceptr(src), C.size_t(bytes), c.main)
	return checkf(r, "cuMemcpyDtoH(%d bytes from %v)", bytes, src)
}

// MemcpyHtoDAsync copies to the device on the stream. src must be pinned, and
// left alone until the stream has come past the copy.
func MemcpyHtoDAsync(dst DevicePtr, src unsafe.Pointer, bytes int64, stream Stream) error {
	c, h, err := stream.use()
	if err != nil {
		return err
	}
	count.CopiesIn.Add(1)
	count.BytesIn.Add(bytes)
	r := C.gcn_cu_copy_in(c.handle, C.CUdeviceptr(dst), src, C.size_t(bytes), h)
	return checkf(r, "cuMemcpyHtoDAsync(%d bytes to %v)", bytes, dst)
}

// Memcpy copies within the device, on the main stream.
func Memcpy(dst, src DevicePtr, bytes int64) error {
	c, err := now()
	if err != nil {
		return err
	}
	count.Copies.Add(1)
	r := C.gcn_cu_copy(c.handle, C.CUdeviceptr(dst), C.CUdeviceptr(src), C.size_t(bytes), c.main)
	return checkf(r, "cuMemcpyDtoD(%d bytes from %v to %v)", bytes, src, dst)
}

// MemsetD8 sets n bytes on the main stream.
func MemsetD8(dst DevicePtr, v byte, n int64) error {
	c, err := now()
	if err != nil {
		return err
	}
	return checkf(C.gcn_cu_set8(c.handle, C.CUdeviceptr(dst), C.uchar(v),
		C.size_t(n), c.main), "cuMemsetD8(%d bytes at %v)", n, dst)
}
