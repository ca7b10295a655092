package device

import (
	"cmp"
	"errors"
	"fmt"
	"unsafe"
)

// Buffer is memory on the device. It grows to the largest size requested. NewBuffer
// makes an empty one; the caller frees it.
type Buffer struct {
	d    *Device
	at   Pointer
	size int64
}

// NewBuffer returns an empty buffer on d.
func (d *Device) NewBuffer() *Buffer { return &Buffer{d: d} }

// Bytes makes the buffer hold at least n bytes and returns its address. Growing waits
// for the device, changes the address and discards the content.
func (b *Buffer) Bytes(n int64) (Pointer, error) {
	if b.size >= n {
		return b.at, nil
	}
	if err := b.Free(); err != nil {
		return 0, err
	}
	// An eighth more than requested, so that batches of random size soon stop
	// growing it.
	size := (n + min(n/8, 1<<24) + 255) &^ 255
	at, err := b.d.driver.allocate(size)
	if err != nil {
		return 0, err
	}
	b.at, b.size = at, size
	b.d.usage.Bytes += size
	b.d.usage.Peak = max(b.d.usage.Peak, b.d.usage.Bytes)
	return at, nil
}

// Floats is Bytes for n float32 values.
func (b *Buffer) Floats(n int) (Pointer, error) { return b.Bytes(4 * int64(n)) }

// Free frees the memory. The buffer is then empty and can be used again.
func (b *Buffer) Free() error {
	if b.size == 0 {
		return nil
	}
	b.d.usage.Bytes -= b.size
	at := b.at
	b.at, b.size = 0, 0
	return failed(b.d.driver.free(at), "freeing memory")
}

// failed returns err, unless that is nil, with what failed.
func failed(err error, what string) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("device: %s: %w", what, err)
}

// number is a type with the same representation on host and device.
type number interface {
	~int32 | ~int64 | ~float32 | ~float64
}

func bytesOf[T number](x []T) (unsafe.Pointer, int64) {
	return unsafe.Pointer(unsafe.SliceData(x)), int64(len(x)) * int64(unsafe.Sizeof(*new(T)))
}

// Write copies x to the device at dst. It waits until it has read x.
func Write[T number](d *Device, dst Pointer, x []T) error {
	if len(x) == 0 {
		return nil
	}
	from, n := bytesOf(x)
	return failed(d.driver.write(dst, from, n), "copying to the device")
}

// Read waits for all queued work and copies len(x) values from src to x.
func Read[T number](d *Device, x []T, src Pointer) error {
	if len(x) == 0 {
		return nil
	}
	to, n := bytesOf(x)
	return failed(d.driver.read(to, src, n), "copying from the device")
}

// Copy queues a copy of n float32 values within the device.
func (d *Device) Copy(dst, src Pointer, n int) error {
	if n == 0 || dst == src {
		return nil
	}
	return failed(d.driver.copy(dst, src, 4*int64(n)), "copying within the device")
}

// Clear queues setting n bytes to 0.
func (d *Device) Clear(dst Pointer, n int64) error {
	return failed(d.driver.clear(dst, n), "clearing memory")
}

// Sync waits for all queued work.
func (d *Device) Sync() error {
	return failed(d.driver.sync(), "waiting")
}

// ringSize is the number of mini-batches in flight: one in computation, one in copy,
// two between them, so that the host seldom waits, and one that late readers may still read.
const ringSize = 5

// Uploader sends the arrays of a step to the device in one copy, from page-locked
// memory and on a stream of its own. The copy runs while the step before is computed.
//
//	Add, Add, …, Send   the addresses are set; work queued from now on may read them
//	Done                ends the step; work queued before the next Done may read them too
type Uploader struct {
	d     *Device
	ring  [ringSize]staging
	next  int // the staging of the next Send
	parts []part
	size  int64 // of parts, in bytes
}

// staging is the memory of one Send on both sides.
type staging struct {
	host       unsafe.Pointer // page-locked
	hostSize   int64
	device     Buffer
	sent, used event // the copy has ended; the last reader has ended
}

// part is one array to send.
type part struct {
	where  *Pointer
	offset int64
	write  func(at unsafe.Pointer) // copies the array
}

// NewUploader returns an uploader on d. The caller closes it.
func (d *Device) NewUploader() (*Uploader, error) {
	u := &Uploader{d: d}
	for k := range u.ring {
		s := &u.ring[k]
		s.device.d = d
		var err error
		if s.sent, err = d.driver.newEvent(); err == nil {
			s.used, err = d.driver.newEvent()
		}
		if err != nil {
			return nil, errors.Join(failed(err, "making an event"), u.Close())
		}
	}
	return u, nil
}

// Add adds x to the next Send, which sets *where to x's address, or 0 for an empty x.
// x must not change until then.
func Add[T number](u *Uploader, where *Pointer, x []T) {
	_, n := bytesOf(x)
	u.add(where, n, func(at unsafe.Pointer) { copy(unsafe.Slice((*T)(at), len(x)), x) })
}

// AddNarrow is Add of x converted to int32. The values must fit.
func AddNarrow(u *Uploader, where *Pointer, x []int64) {
	u.add(where, 4*int64(len(x)), func(at unsafe.Pointer) {
		to := unsafe.Slice((*int32)(at), len(x))
		for k, v := range x {
			to[k] = int32(v)
		}
	})
}

func (u *Uploader) add(where *Pointer, bytes int64, write func(at unsafe.Pointer)) {
	if *where = 0; bytes > 0 {
		u.parts = append(u.parts, part{where, u.size, write})
		u.size += (bytes + 15) &^ 15
	}
}

// Send queues the copy of the added arrays. It waits only if the copy of five calls
// ago has not ended, or if memory must grow.
func (u *Uploader) Send() error {
	defer func() {
		clear(u.parts) // they point at the caller's memory
		u.parts, u.size = u.parts[:0], 0
	}()
	s := &u.ring[u.next]
	if err := u.ready(s); err != nil {
		return failed(err, "sending a mini-batch")
	}
	at, err := s.device.Bytes(u.size)
	if err != nil {
		return err
	}
	for k := range u.parts {
		p := &u.parts[k]
		p.write(unsafe.Add(s.host, p.offset))
		*p.where = at + Pointer(p.offset)
	}
	if u.size == 0 {
		return nil
	}
	// The copy waits for the end of the step after the memory's last one, since late readers may
	// be queued until then. Later kernels wait for the copy.
	return failed(cmp.Or(
		u.ring[(u.next+1)%ringSize].used.delay(copies),
		u.d.driver.send(at, s.host, u.size),
		s.sent.record(copies),
		s.sent.delay(main),
	), "sending a mini-batch")
}

// ready waits until the page-locked memory of s is free, and makes it large enough.
func (u *Uploader) ready(s *staging) error {
	done, err := s.sent.passed()
	if err == nil && !done {
		err = s.sent.wait()
	}
	if err != nil {
		return err
	}
	if s.hostSize >= u.size {
		return nil
	}
	if s.host != nil {
		if err := u.d.driver.unpin(s.host); err != nil {
			return err
		}
		u.d.usage.Pinned -= s.hostSize
		s.host, s.hostSize = nil, 0
	}
	size := u.size + u.size/8
	host, err := u.d.driver.pin(size)
	if err != nil {
		return err
	}
	s.host, s.hostSize = host, size
	u.d.usage.Pinned += size
	return nil
}

// Done states that only work queued before the next Done reads the arrays of the last Send.
func (u *Uploader) Done() error {
	used := u.ring[u.next].used
	u.next = (u.next + 1) % ringSize
	return failed(used.record(main), "marking the end of a use")
}

// Close waits for the device and frees the uploader's memory.
func (u *Uploader) Close() error {
	err := u.d.Sync()
	for k := range u.ring {
		s := &u.ring[k]
		if s.host != nil {
			u.d.usage.Pinned -= s.hostSize
			err = cmp.Or(err, u.d.driver.unpin(s.host))
			s.host, s.hostSize = nil, 0
		}
		err = cmp.Or(err, s.device.Free())
		for _, e := range []event{s.sent, s.used} {
			if e != nil { // NewUploader may have failed half-way
				err = cmp.Or(err, e.destroy())
			}
		}
	}
	return err
}
