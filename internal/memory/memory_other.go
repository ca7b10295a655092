//go:build !linux

package memory

import (
	"errors"
	"math"
	"os"
)

// Limit returns math.MaxUint64: this system does not tell.
func Limit() uint64 { return math.MaxUint64 }

func addressSpace() uint64 { return math.MaxUint64 }

func adviseHuge([]float32) {}

// reserve cannot take disk space here: the caller writes zeros.
func reserve(*os.File, int64) error { return errors.ErrUnsupported }
