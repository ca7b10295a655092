package device

import (
	"cmp"
	"errors"

	"github.com/gcn-layerwise/gcn/graph"
)

// ErrNotBuilt is the error of Open in a build without the tag cuda.
var ErrNotBuilt = errors.New("this program was built without CUDA: build it by go build -modfile go.cuda.mod -tags cuda ./cmd/gcn")

// Device is a GPU and the arrays that stay on it until Close.
type Device struct {
	driver driver
	args   [32]uint64 // arguments of the kernel that is being queued
	usage  Usage

	// resident holds copies, by their source, and scratch memory, by its name.
	resident map[any]*Buffer
	closers  []func() error
}

// Usage is the memory that a Device holds, in bytes, without the memory of the driver
// and of cuBLAS.
type Usage struct {
	Bytes, Peak int64 // on the device: now, and the largest so far
	Pinned      int64 // page-locked memory of the host
}

// Open returns the first GPU. The error says in one line whether the build, the driver
// or the GPU is missing.
func Open() (*Device, error) {
	d, err := openDriver()
	if err != nil {
		return nil, err
	}
	return &Device{driver: d, resident: map[any]*Buffer{}}, nil
}

// Counts returns the number of driver calls of this process so far.
func (d *Device) Counts() Counts { return d.driver.counts() }

// Usage returns the memory that d holds.
func (d *Device) Usage() Usage { return d.usage }

// Close frees the resident arrays and the driver's objects. Buffers, uploaders and
// pointers of d must not be used afterwards.
func (d *Device) Close() error {
	var err error
	for _, c := range d.closers {
		err = cmp.Or(err, c())
	}
	d.closers = nil
	for key, b := range d.resident {
		err = cmp.Or(err, b.Free())
		delete(d.resident, key)
	}
	return cmp.Or(err, d.driver.close())
}

// OnClose makes Close call f first.
func (d *Device) OnClose(f func() error) { d.closers = append(d.closers, f) }

// keep returns the resident memory under key. The first call allocates n bytes and calls fill.
func (d *Device) keep(key any, n int64, fill func(at Pointer) error) (Pointer, error) {
	b := d.Scratch(key)
	if b.size > 0 {
		return b.at, nil
	}
	at, err := b.Bytes(n)
	if err == nil {
		err = fill(at)
	}
	if err != nil {
		return 0, errors.Join(err, b.Free())
	}
	return at, nil
}

// keepCopy returns the resident copy of x under key, made at the first call; 0 if x is empty.
func keepCopy[T number](d *Device, key any, x []T) (Pointer, error) {
	_, n := bytesOf(x)
	return d.keep(key, n, func(at Pointer) error { return Write(d, at, x) })
}

// Scratch returns the buffer of that name, empty at the first call. Close frees it.
func (d *Device) Scratch(name any) *Buffer {
	b, ok := d.resident[name]
	if !ok {
		b = d.NewBuffer()
		d.resident[name] = b
	}
	return b
}

// Features returns the address of x in single precision, dense. The first call copies it
// and waits. x must not change while d is open.
func (d *Device) Features(x *graph.Features) (Pointer, error) {
	if x.Share != nil {
		return 0, errors.New("device: features that several ranks hold together: a GPU needs them whole")
	}
	if x.Half == nil && x.Sparse == nil {
		return keepCopy(d, x, x.Data)
	}
	return d.keep(x, 4*int64(x.Rows)*int64(x.Cols), func(at Pointer) error {
		var part []float32
		for i := range x.Rows {
			part = append(part, x.Row(i)...)
			if len(part) < 1<<22 && i < x.Rows-1 {
				continue
			}
			if err := Write(d, Floats(at, (i+1)*x.Cols-len(part)), part); err != nil {
				return err
			}
			part = part[:0]
		}
		return nil
	})
}

// Laplacian returns p on the device. The first call copies it and waits. It takes 8
// bytes a node and 4 an entry of the adjacency matrix, 4 more an entry for weights,
// and 4 a node for each distinct scale. p must not change while d is open.
func (d *Device) Laplacian(p *graph.Laplacian) (*Laplacian, error) {
	l := new(Laplacian)
	var errs [5]error
	l.Ptr, errs[0] = keepCopy(d, &p.Adjacency.Ptr, p.Adjacency.Ptr)
	l.Idx, errs[1] = keepCopy(d, &p.Adjacency.Idx, p.Adjacency.Idx)
	l.Val, errs[2] = keepCopy(d, &p.Adjacency.Val, p.Adjacency.Val)
	l.RowScale, errs[3] = keepCopy(d, &p.RowScale, p.RowScale)
	l.ColScale = l.RowScale
	if len(p.ColScale) > 0 && &p.ColScale[0] != &p.RowScale[0] {
		l.ColScale, errs[4] = keepCopy(d, &p.ColScale, p.ColScale)
	}
	return l, cmp.Or(errs[:]...)
}
