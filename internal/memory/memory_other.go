//go:build !linux

package memory

import (
	"math"
	"os"
)

// Limit returns math.MaxUint64: this system does not tell.
func Limit() uint64 { return math.MaxUint64 }

func addressSpace() uint64 { return math.MaxUint64 }

func adviseHuge([]float32) {}

// reserve makes a new file that many bytes long, and takes the disk space for them.
func reserve(f *os.File, bytes int64) error { return writeZeros(f, bytes) }
