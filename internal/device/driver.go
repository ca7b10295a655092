package device

import "unsafe"

// driver is the part of CUDA's driver and of cuBLAS that this package uses. Builds
// with the tag cuda implement it in driver_cuda.go. In other builds openDriver returns
// an error, so the rest of the package compiles in both.
type driver interface {
	counts() Counts
	close() error

	allocate(bytes int64) (Pointer, error)
	free(Pointer) error
	pin(bytes int64) (unsafe.Pointer, error) // allocates page-locked host memory
	unpin(unsafe.Pointer) error              // frees it

	// write waits until it has read the host's memory; read waits for all queued
	// work. copy and clear only queue.
	write(dst Pointer, src unsafe.Pointer, bytes int64) error
	read(dst unsafe.Pointer, src Pointer, bytes int64) error
	copy(dst, src Pointer, bytes int64) error
	clear(dst Pointer, bytes int64) error
	sync() error

	// send queues a copy from page-locked memory on the queue copies.
	send(dst Pointer, src unsafe.Pointer, bytes int64) error
	newEvent() (event, error)

	// launch queues a kernel on the main queue. It does not keep args.
	launch(kernel string, blocks, threads int, args []uint64) error
	// sgemm queues C = op(A)·op(B) + beta·C on the main queue, for column-major
	// matrices.
	sgemm(transA, transB bool, m, n, k int, a Pointer, lda int, b Pointer, ldb int, beta float32, c Pointer, ldc int) error
}

// queue is a stream of the driver. The two queues run concurrently.
type queue uint8

const (
	main   queue = iota // kernels and products
	copies              // copies of mini-batches to the device
)

type event interface {
	record(queue) error    // marks the end of the work queued so far
	delay(queue) error     // makes work queued from now on wait for the mark
	passed() (bool, error) // reports whether the mark is reached, without waiting
	wait() error           // makes the host wait for the mark
	destroy() error
}

// Counts are numbers of driver calls by this process since it started.
type Counts struct {
	Launches, Products          int64 // kernels; products by cuBLAS
	Syncs                       int64 // waits of the host
	CopiesIn, CopiesOut, Copies int64 // host to device, device to host, within the device
	BytesIn                     int64 // bytes copied to the device
	Allocs                      int64 // allocations of device memory
}
