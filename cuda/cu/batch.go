package cu

import (
	"errors"
	"sync"
	"time"
	"unsafe"
)

// errPlain is the error of a run of Gorgonia's own machine that reaches its CUDA engine.
var errPlain = errors.New("cu: Gorgonia's own machine computes no elementwise node, product or reshape in a build with the tag cuda: build without it, or run the graph by package train")

// Context is Gorgonia's view of a context: it runs calls and collects their errors.
type Context interface {
	CUDAContext() CUContext
	// Work yields nothing: nothing is queued.
	Work() <-chan func() error
	ErrChan() chan error
	// Started tells that the engine of the context has started.
	Started()
	// Error is the first error since errors were last taken, and stays.
	Error() error
	Close() error
}

// Ctx is the one implementation of Context.
type Ctx struct {
	c       CUContext
	work    chan func() error
	errs    chan error
	mu      sync.Mutex
	err     error
	signal  chan struct{}
	started chan struct{} // closed by Started
	start   sync.Once
	watched bool // someone waits for signals
	closed  bool
}

var _ Context = (*Ctx)(nil)

// CtxFromCUContext wraps a context.
func CtxFromCUContext(_ Device, c CUContext, _ ContextFlags) *Ctx {
	return &Ctx{
		c:       c,
		work:    make(chan func() error),
		errs:    make(chan error, 1),
		signal:  make(chan struct{}),
		started: make(chan struct{}),
	}
}

// CUDAContext returns the wrapped context. Without a GPU it is the zero value.
func (c *Ctx) CUDAContext() CUContext { return c.c }

// Work yields nothing.
func (c *Ctx) Work() <-chan func() error { return c.work }

// ErrChan would take an engine's answer to work; there is no work.
func (c *Ctx) ErrChan() chan error { return c.errs }

// Started lets those go on that wait in WorkAvailable.
func (c *Ctx) Started() { c.start.Do(func() { close(c.started) }) }

// Error is the first error since errors were last taken.
func (c *Ctx) Error() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err
}

// take is Error, and forgets it.
func (c *Ctx) take() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	err := c.err
	c.err = nil
	return err
}

func (c *Ctx) note(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err == nil && !c.closed {
		c.err = err
	}
}

var errNotStarted = errors.New("cu: the engine of this context was never started")

// Close ends the goroutines that wait for signals; the primary context stays.
// It is an error if none waits: then the start of Gorgonia's engine has failed, and
// without the error the engine would wait without end for its own goroutine.
func (c *Ctx) Close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.watched {
		return errNotStarted
	}
	if !c.closed {
		c.closed = true
		c.err = nil // an engine that saw it now would not come to its end
		close(c.signal)
	}
	return nil
}

// BatchedContext has the methods of the context that queued its calls. Its calls for plain
// nodes are refused: Errors returns the reason. It may be copied; the copies share all
// state. The zero value has no context.
type BatchedContext struct {
	Context
	Device
	ctx *Ctx
}

// NewBatchedContext wraps a context.
func NewBatchedContext(c *Ctx, d Device) *BatchedContext {
	return &BatchedContext{Context: c, Device: d, ctx: c}
}

// startTime is how long WorkAvailable waits for Started. An engine starts within
// microseconds.
const startTime = time.Second

// WorkAvailable is closed by Close and yields nothing before. It waits, a second
// at most, until Started was called: Gorgonia's machines call it after they have
// started an engine, which locks itself while it starts, and then copy the engine
// whenever they use it. So they copy it at rest.
func (b *BatchedContext) WorkAvailable() <-chan struct{} {
	select {
	case <-b.ctx.started:
	case <-time.After(startTime):
		b.ctx.Started()
	}
	b.ctx.mu.Lock()
	defer b.ctx.mu.Unlock()
	b.ctx.watched = true
	return b.ctx.signal
}

// DoWork has nothing to do: nothing is queued.
func (b *BatchedContext) DoWork() {}

// Do runs fn.
func (b *BatchedContext) Do(fn func() error) error { return fn() }

// Errors returns the first error since the last call of Errors, or nil. It waits for
// nothing. Gorgonia calls it at the end of a run, and where an op on the processor
// follows one on the device.
func (b *BatchedContext) Errors() error {
	if b.ctx == nil {
		return nil
	}
	return b.ctx.take()
}

// Cleanup has nothing to free.
func (b *BatchedContext) Cleanup() {}

// Close is Ctx.Close.
func (b *BatchedContext) Close() error {
	if b.ctx == nil {
		return nil
	}
	return b.ctx.Close()
}

// MemAlloc is refused.
func (b *BatchedContext) MemAlloc(bytes int64) (DevicePtr, error) { return 0, errPlain }

// Memcpy is refused.
func (b *BatchedContext) Memcpy(dst, src DevicePtr, bytes int64) { b.ctx.note(errPlain) }

// MemcpyHtoD is refused, but for no bytes: a value that is on the device already.
func (b *BatchedContext) MemcpyHtoD(dst DevicePtr, src unsafe.Pointer, bytes int64) {
	if bytes != 0 {
		b.ctx.note(errPlain)
	}
}

// MemcpyDtoH is refused.
func (b *BatchedContext) MemcpyDtoH(dst unsafe.Pointer, src DevicePtr, bytes int64) {
	b.ctx.note(errPlain)
}

// LaunchAndSync is refused.
func (b *BatchedContext) LaunchAndSync(f Function, gridDimX, gridDimY, gridDimZ int, blockDimX, blockDimY, blockDimZ int,
	sharedMemBytes int, stream Stream, kernelParams []unsafe.Pointer) {
	b.ctx.note(errPlain)
}
