//go:build !linux

package memory

import (
	"errors"
	"math"
	"os"
)

// addressSpace does not know the limit here.
func addressSpace() uint64 { return math.MaxUint64 }

func adviseHuge([]byte) {}

// reserve cannot take disk space here: the caller writes zeros.
func reserve(*os.File, int64) error { return errors.ErrUnsupported }
