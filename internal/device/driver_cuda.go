//go:build cuda

package device

import (
	"cmp"
	_ "embed"
	"errors"
	"fmt"
	"regexp"
	"unsafe"

	"gorgonia.org/cu"
	cublas "gorgonia.org/cu/blas"
)

// Built reports whether this is a build with the tag cuda.
const Built = true

//go:embed kernels.ptx
var kernelsPTX string

// cuda is the driver of the first GPU, through gorgonia.org/cu.
type cuda struct {
	module  cu.Module
	kernels map[string]cu.Function
	copies  cu.Stream
	blas    *cublas.Handle
}

func openDriver() (driver, error) {
	gpu, err := cu.GetDevice(0)
	if err = cmp.Or(cu.Available(), err); err != nil {
		return nil, fmt.Errorf("no CUDA device: %w", err)
	}
	c := &cuda{kernels: map[string]cu.Function{}}
	if err := c.open(gpu); err != nil {
		_ = c.close() // of the part that was opened
		return nil, fmt.Errorf("device: %w", err)
	}
	return c, nil
}

func (c *cuda) open(gpu cu.Device) (err error) {
	if _, err = gpu.MakeContext(cu.SchedAuto); err != nil {
		return err
	}
	if c.module, err = cu.LoadData(kernelsPTX); err != nil {
		return err
	}
	if c.copies, err = cu.MakeStream(cu.NonBlocking); err != nil {
		return err
	}
	for _, entry := range regexp.MustCompile(`\.entry (\w+)\(`).FindAllStringSubmatch(kernelsPTX, -1) {
		if c.kernels[entry[1]], err = c.module.Function(entry[1]); err != nil {
			return err
		}
	}
	c.blas, err = cublas.Current()
	return err
}

func (c *cuda) counts() Counts { return Counts(cu.ReadCounters()) }

func (c *cuda) close() error { return cmp.Or(c.copies.Destroy(), c.module.Unload()) }

func (c *cuda) allocate(bytes int64) (Pointer, error) {
	at, err := cu.MemAlloc(bytes)
	if err != nil {
		free, total, _ := cu.MemInfo()
		return 0, fmt.Errorf("device: %d bytes of memory, with %d of %d free: %w",
			bytes, free, total, err)
	}
	return Pointer(at), nil
}

func (c *cuda) free(p Pointer) error { return cu.MemFree(cu.DevicePtr(p)) }

func (c *cuda) pin(bytes int64) (unsafe.Pointer, error) { return cu.MemAllocHost(bytes) }

func (c *cuda) unpin(p unsafe.Pointer) error { return cu.MemFreeHost(p) }

func (c *cuda) write(dst Pointer, src unsafe.Pointer, bytes int64) error {
	return cu.MemcpyHtoD(cu.DevicePtr(dst), src, bytes)
}

func (c *cuda) read(dst unsafe.Pointer, src Pointer, bytes int64) error {
	return cu.MemcpyDtoH(dst, cu.DevicePtr(src), bytes)
}

func (c *cuda) copy(dst, src Pointer, bytes int64) error {
	return cu.Memcpy(cu.DevicePtr(dst), cu.DevicePtr(src), bytes)
}

func (c *cuda) clear(dst Pointer, bytes int64) error {
	return cu.MemsetD8(cu.DevicePtr(dst), 0, bytes)
}

func (c *cuda) sync() error { return cu.NoStream.Synchronize() }

func (c *cuda) send(dst Pointer, src unsafe.Pointer, bytes int64) error {
	return cu.MemcpyHtoDAsync(cu.DevicePtr(dst), src, bytes, c.copies)
}

func (c *cuda) launch(kernel string, blocks, threads int, args []uint64) error {
	f, ok := c.kernels[kernel]
	if !ok {
		return errors.New("kernels.ptx has no such kernel: run go run ./cuda/ptx")
	}
	words := unsafe.Slice((*cu.Arg)(unsafe.SliceData(args)), len(args))
	return f.Enqueue(cu.NoStream, cu.Dim{X: blocks}, cu.Dim{X: threads}, 0, words...)
}

func (c *cuda) sgemm(transA, transB bool, m, n, k int, a Pointer, lda int, b Pointer, ldb int, beta float32, to Pointer, ldc int) error {
	return c.blas.Sgemm(cublas.T(transA), cublas.T(transB), m, n, k, 1, cu.DevicePtr(a),
		lda, cu.DevicePtr(b), ldb, beta, cu.DevicePtr(to), ldc)
}

type cudaEvent struct {
	cu.Event
	c *cuda
}

func (c *cuda) newEvent() (event, error) {
	e, err := cu.MakeEvent(cu.DisableTiming)
	if err != nil {
		return nil, err
	}
	return &cudaEvent{e, c}, nil
}

func (c *cuda) stream(q queue) cu.Stream {
	if q == copies {
		return c.copies
	}
	return cu.NoStream
}

func (e *cudaEvent) record(q queue) error  { return e.Event.Record(e.c.stream(q)) }
func (e *cudaEvent) delay(q queue) error   { return e.c.stream(q).Wait(e.Event) }
func (e *cudaEvent) passed() (bool, error) { return e.Event.Done() }
func (e *cudaEvent) wait() error           { return e.Event.Synchronize() }
func (e *cudaEvent) destroy() error        { return e.Event.Destroy() }

// Describe names the GPU, the driver and cuBLAS in one line, or says why no GPU can be
// used.
func Describe() string {
	gpu, err := cu.GetDevice(0)
	if err = cmp.Or(cu.Available(), err); err != nil {
		return "built in; " + err.Error()
	}
	name, err := gpu.Name()
	bytes, failed := gpu.TotalMem()
	if err = cmp.Or(err, failed); err != nil {
		return "built in; " + err.Error()
	}
	version := cu.Version()
	products, err := cublas.Path()
	if err != nil {
		products = err.Error()
	}
	return fmt.Sprintf("%s, %d MiB, driver for CUDA %d.%d, %s", name,
		bytes>>20, version/1000, version%1000/10, products)
}
