//go:build darwin || dragonfly || freebsd || linux || openbsd || solaris || netbsd || windows

package memory

import (
	"errors"
	"fmt"
	"os"
	"unsafe"

	"github.com/edsrzf/mmap-go"
)

// Spilled returns n zeros that lie in a file in dir instead of in memory: the system writes
// them to the disk when it needs the memory. "" is the system's folder of temporary files.
// The disk space is taken at once, so a later write cannot fail for want of it; an error says
// how much there is. free gives it back.
//
// Where the system allows it, the file has no name: nothing is left if the process is killed.
func Spilled(dir string, n int) (values []float32, free func() error, err error) {
	bytes := Product(4, int64(n))
	if n == 0 {
		return nil, func() error { return nil }, nil
	}
	if dir == "" {
		dir = os.TempDir()
	}
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
	if err := reserve(f, dir, bytes); err != nil {
		return nil, nil, fmt.Errorf("%s of scratch space in %s: %w", Text(uint64(bytes)), dir, done(err))
	}
	m, err := mmap.Map(f, mmap.RDWR, 0)
	if err != nil {
		return nil, nil, fmt.Errorf("mapping a scratch file in %s: %w", dir, done(err))
	}
	values = unsafe.Slice((*float32)(unsafe.Pointer(unsafe.SliceData(m))), n)
	return values, func() error { return done(m.Unmap()) }, nil
}

// writeZeros makes a file that many bytes long on a system that cannot take disk space
// otherwise.
func writeZeros(f *os.File, bytes int64) error {
	zeros := make([]byte, 1<<20)
	for ; bytes > 0; bytes -= int64(len(zeros)) {
		if _, err := f.Write(zeros[:min(bytes, int64(len(zeros)))]); err != nil {
			return err
		}
	}
	return nil
}
