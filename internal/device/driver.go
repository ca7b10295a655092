package device

import "unsafe"

// driver is what the package asks of CUDA's driver and of cuBLAS. The build with
// the tag cuda has one (driver_cuda.go); in other builds openDriver is an error,
// so that everything above this interface compiles in both.
type driver interface {
	name() string
	counts() Counts
	close() error

	allocate(bytes int64) (Pointer, error)
	free(Pointer) error
	pin(bytes int64) (unsafe.Pointer, error) // page-locked memory of the host
	unpin(unsafe.Pointer) error

	// write waits until the host's memory is read; read waits for all that was
	// queued.
	write(dst Pointer, src unsafe.Pointer, bytes int64) error
	read(dst unsafe.Pointer, src Pointer, bytes int64) error
	copy(dst, src Pointer, bytes int64) error
	clear(dst Pointer, bytes int64) error
	sync() error

	// send queues a copy from page-locked memory on the queue of copies.
	send(dst Pointer, src unsafe.Pointer, bytes int64) error
	newEvent() (event, error)

	// launch queues a kernel on the main queue; args are good until it returns.
	launch(kernel string, blocks, threads int, args []uint64) error
	// sgemm queues C = op(A)·op(B) + beta·C in the order of columns, as cuBLAS
	// has it.
	sgemm(transA, transB bool, m, n, k int, a Pointer, lda int, b Pointer, ldb int, beta float32, c Pointer, ldc int) error
}

// queue is one of the two that the driver works on side by side.
type queue uint8

const (
	main   queue = iota // kernels and products
	copies              // mini-batches on their way to the device
)

// event marks a place in a queue.
type event interface {
	record(queue) error    // the event is now: what was queued so far
	delay(queue) error     // what is queued from now on runs after the event
	passed() (bool, error) // it does not wait
	wait() error           // of the host
	destroy() error
}

// Counts are what this process has asked of the driver since it started.
type Counts struct {
	Launches, Products          int64 // kernels, and products by cuBLAS
	Syncs                       int64 // waits of the host
	CopiesIn, CopiesOut, Copies int64 // host to device, device to host, within the device
	BytesIn                     int64
	Allocs                      int64 // of device memory
}

// Since returns what was counted after an earlier reading.
func (c Counts) Since(earlier Counts) Counts {
	return Counts{
		Launches: c.Launches - earlier.Launches, Products: c.Products - earlier.Products, Syncs: c.Syncs - earlier.Syncs,
		CopiesIn: c.CopiesIn - earlier.CopiesIn, CopiesOut: c.CopiesOut - earlier.CopiesOut, Copies: c.Copies - earlier.Copies,
		BytesIn: c.BytesIn - earlier.BytesIn, Allocs: c.Allocs - earlier.Allocs,
	}
}
