package store

import (
	"os"

	"github.com/edsrzf/mmap-go"
)

// mapFile maps a file for reading. The bytes are valid until unmap is called.
func mapFile(f *os.File) (b []byte, unmap func() error, err error) {
	m, err := mmap.Map(f, mmap.RDONLY, 0)
	return m, m.Unmap, err
}
