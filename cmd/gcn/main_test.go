package main

import (
	"math"
	"testing"
)

func TestHeapLimit(t *testing.T) {
	for limit, want := range map[uint64]int64{20 << 30: (20 << 30) / 10 * 9, math.MaxUint64: math.MaxInt64} {
		if got := heapLimit(limit); got != want {
			t.Errorf("of %d bytes: %d, want %d", limit, got, want)
		}
	}
}
