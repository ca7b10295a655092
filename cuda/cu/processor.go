package cu

// #include <stdlib.h>
import "C"

import (
	"fmt"
	"sync"
	"unsafe"
)

// processor takes the place of the driver in a context of the CPU: it has memory of
// the host. Each call in such a context is done when it returns.
type processor struct {
	mu     sync.Mutex
	arenas map[DevicePtr]int64 // size of each, in bytes
}

func (p *processor) alloc(bytes int64) (DevicePtr, error) {
	if bytes <= 0 {
		return 0, fmt.Errorf("cu: %d bytes of memory: %w", bytes, InvalidValue)
	}
	m := C.calloc(1, C.size_t(bytes)) // C.malloc would end the process where there is too little
	if m == nil {
		return 0, fmt.Errorf("cu: %d bytes of memory: %w", bytes, OutOfMemory)
	}
	at := DevicePtr(uintptr(m))
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.arenas == nil {
		p.arenas = map[DevicePtr]int64{}
	}
	p.arenas[at] = bytes
	return at, nil
}

func (p *processor) free(at DevicePtr) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if _, ok := p.arenas[at]; !ok {
		return fmt.Errorf("cu: %v was not allocated: %w", at, InvalidValue)
	}
	delete(p.arenas, at)
	C.free(pointer(at))
	return nil
}

// within returns an error unless the bytes at an address lie in one allocation. A
// value with more rows than its graph was compiled for may not.
func (p *processor) within(at DevicePtr, bytes int64) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	for start, size := range p.arenas {
		if at >= start && at+DevicePtr(bytes) <= start+DevicePtr(size) {
			return nil
		}
	}
	return fmt.Errorf("cu: %d bytes at %v are not in allocated memory: %w", bytes, at, InvalidValue)
}

func (p *processor) copyIn(dst DevicePtr, src unsafe.Pointer, bytes int64) error {
	if err := p.within(dst, bytes); err != nil {
		return err
	}
	copy(unsafe.Slice((*byte)(pointer(dst)), bytes), unsafe.Slice((*byte)(src), bytes))
	return nil
}

func (p *processor) copyOut(dst unsafe.Pointer, src DevicePtr, bytes int64) error {
	if err := p.within(src, bytes); err != nil {
		return err
	}
	copy(unsafe.Slice((*byte)(dst), bytes), unsafe.Slice((*byte)(pointer(src)), bytes))
	return nil
}

// pointer is the address as Go's; the memory is not Go's.
func pointer(p DevicePtr) unsafe.Pointer { return *(*unsafe.Pointer)(unsafe.Pointer(&p)) }
