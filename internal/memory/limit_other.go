//go:build !linux

package memory

import "math"

func machineLimit() uint64 { return math.MaxUint64 }

func addressSpace() uint64 { return math.MaxUint64 }
