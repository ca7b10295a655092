package cu

// #include "driver.h"
import "C"

import (
	"math"
	"sync"
	"sync/atomic"
)

// CUContext is the primary context of a device. The zero value is none.
type CUContext struct{ *context }

// context is the state that the process has once for each device.
type context struct {
	handle C.handle
	device Device
	main   C.handle // the stream of all work that names none

	// The device can read memory of the host that is not pinned, so that a copy of
	// it may be under way when the call returns.
	readsHost bool

	modules sync.Mutex
	loaded  map[string]*module // by image
}

// The primary contexts of this process, and the current one, in which functions
// without a receiver work. A context is made once and lives as long as the process:
// the end of one machine must leave the memory of others alone.
var (
	contexts struct {
		sync.Mutex
		of map[Device]*context
	}
	current atomic.Pointer[context]
)

// ContextFlags are accepted for compatibility: a primary context takes its
// scheduling from the process.
type ContextFlags byte

// SchedAuto leaves it to the driver how to wait.
const SchedAuto ContextFlags = 0

// MakeContext gives the primary context of the device and makes it the context that
// functions without a receiver work in. The first call for a device takes a
// good part of a second. It returns OutOfMemory itself, not wrapped, as
// Gorgonia compares it. Where there is no GPU, Gorgonia's device CPU has no context,
// which is no error.
func (d Device) MakeContext(ContextFlags) (CUContext, error) {
	if d == CPU && Available() != nil {
		return CUContext{}, nil
	}
	if err := d.ready(); err != nil {
		return CUContext{}, err
	}
	c, err := primary(d)
	if err != nil {
		return CUContext{}, err
	}
	current.Store(c)
	return CUContext{c}, nil
}

func primary(d Device) (*context, error) {
	contexts.Lock()
	defer contexts.Unlock()
	if c := contexts.of[d]; c != nil {
		return c, nil
	}
	if contexts.of == nil {
		contexts.of = map[Device]*context{}
	}
	c := &context{device: d, loaded: map[string]*module{}}
	r := C.gcn_cu_primary_context(&c.handle, C.CUdevice(d))
	if Result(r) == OutOfMemory {
		return nil, OutOfMemory
	}
	if err := checkf(r, "cuDevicePrimaryCtxRetain(%d)", int(d)); err != nil {
		return nil, err
	}
	// Non-blocking: not ordered against the legacy stream, which nothing here uses.
	if err := check(C.gcn_cu_stream_create(c.handle, &c.main,
		C.uint(NonBlocking)), "cuStreamCreate"); err != nil {
		return nil, err
	}
	// A driver that does not know the attribute has no such device.
	reads, err := d.Attribute(PageableMemoryAccess)
	c.readsHost = err == nil && reads != 0
	contexts.of[d] = c
	return c, nil
}

// now is the context of functions without a receiver.
func now() (*context, error) {
	if c := current.Load(); c != nil {
		return c, nil
	}
	c, err := Device(0).MakeContext(SchedAuto)
	return c.context, err
}

// CurrentContext is the context in which functions without a receiver work. If
// there is none yet, it makes the context of device 0.
func CurrentContext() (CUContext, error) {
	c, err := now()
	return CUContext{c}, err
}

// SetCurrentContext chooses the context that functions without a receiver work
// in, for all goroutines.
func SetCurrentContext(c CUContext) error {
	if c.context == nil {
		return check(C.CUresult(InvalidContext), "cuCtxSetCurrent")
	}
	current.Store(c.context)
	return check(C.gcn_cu_context_set(c.handle), "cuCtxSetCurrent")
}

// Device is the device that the context is of.
func (c CUContext) Device() Device { return c.device }

// Handle is the driver's own handle, for libraries that want it.
func (c CUContext) Handle() uintptr { return uintptr(c.handle) }

// Main is the stream of all work that names no stream.
func (c CUContext) Main() Stream { return Stream{c.context, c.main} }

// MemInfo returns the free and the total memory of the device, in bytes. Without a GPU
// both are the largest number: only an allocation tells.
func MemInfo() (free, total int64, err error) {
	c, err := now()
	if err != nil {
		return math.MaxInt64, math.MaxInt64, nil
	}
	var f, t C.size_t
	err = check(C.gcn_cu_memory_info(c.handle, &f, &t), "cuMemGetInfo")
	return int64(f), int64(t), err
}
