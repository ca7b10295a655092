package memory

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"unsafe"

	"github.com/edsrzf/mmap-go"
)

// Large returns n zeros, of a type without pointers, in huge pages where the system has them. It is
// for values that are read or written at random: with small pages each of them costs a walk through
// the page table too. All of it counts as used memory once parts all over it are written.
func Large[T any](n int) []T {
	values := make([]T, n)
	adviseHuge(unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(values))), n*int(unsafe.Sizeof(*new(T)))))
	return values
}

// Spilled returns n zeros that lie in a file in dir instead of in memory: the system writes
// them to the disk when it needs the memory. "" is the system's folder of temporary files.
// The disk space is taken at once, so a later write cannot fail for want of it. free gives it
// back.
//
// Where the system allows it, the file has no name: nothing is left if the process is killed.
func Spilled(dir string, n int) (values []float32, free func() error, err error) {
	bytes := 4 * int64(max(n, 1)) // an empty file cannot be mapped
	f, err := os.CreateTemp(dir, "gcn-scratch-")
	if err != nil {
		return nil, nil, fmt.Errorf("a scratch file: %w", err)
	}
	removed := os.Remove(f.Name()) // an open file cannot be removed on Windows
	done := func(err error) error {
		err = errors.Join(err, f.Close())
		if removed != nil {
			err = errors.Join(err, os.Remove(f.Name()))
		}
		return err
	}
	var m mmap.MMap
	err = reserve(f, bytes)
	if errors.Is(err, errors.ErrUnsupported) {
		_, err = io.CopyN(f, zeros{}, bytes)
	}
	if err == nil {
		m, err = mmap.Map(f, mmap.RDWR, 0)
	}
	if err != nil {
		return nil, nil, fmt.Errorf("%s of scratch space in %s: %w", Text(bytes), filepath.Dir(f.Name()), done(err))
	}
	values = unsafe.Slice((*float32)(unsafe.Pointer(unsafe.SliceData(m))), n)
	return values, func() error { return done(m.Unmap()) }, nil
}

// zeros is a reader that does not end.
type zeros struct{}

func (zeros) Read(b []byte) (int, error) {
	clear(b)
	return len(b), nil
}
