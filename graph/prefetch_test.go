package graph

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"testing"
)

// All rows are in one part each. A part is read ahead once, before it is visited.
func TestFromLast(t *testing.T) {
	for _, n := range []int{0, 1, prefetchedRows, prefetchedRows + 1, 5*prefetchedRows - 3} {
		rows := make([]int32, n)
		for i := range rows {
			rows[i] = int32(2 * i)
		}
		least := n
		prefetch := func(part []int32) {
			if len(part) == 0 || len(part) > prefetchedRows || part[len(part)-1] != rows[least-1] {
				t.Errorf("%d rows: %d rows read ahead before row %d", n, len(part), least)
			}
			least -= len(part)
		}
		last := n
		visit := func(lo, hi int) error {
			if hi != last || lo >= hi {
				t.Errorf("%d rows: part %d to %d after row %d", n, lo, hi, last)
			}
			last = lo
			return nil
		}
		if err := FromLast(t.Context(), rows, prefetch, visit); err != nil || last != 0 || least != 0 {
			t.Errorf("%d rows: %v; rows before %d not visited, before %d not read ahead", n, err, last, least)
		}
		last = n
		if err := FromLast(t.Context(), rows, nil, visit); err != nil || last != 0 {
			t.Errorf("%d rows without reading ahead: %v; rows before %d not visited", n, err, last)
		}
		if !slices.IsSorted(rows) {
			t.Error("the rows changed")
		}
	}
}

func TestFromLastStops(t *testing.T) {
	rows := make([]int32, 4*prefetchedRows)
	failed := errors.New("failed")
	var running atomic.Int32
	prefetch := func([]int32) {
		running.Add(1)
		defer running.Add(-1)
	}
	calls := 0
	err := FromLast(t.Context(), rows, prefetch, func(lo, hi int) error {
		calls++
		return failed
	})
	if err != failed || calls != 1 || running.Load() != 0 {
		t.Errorf("%v after %d calls; %d goroutines", err, calls, running.Load())
	}
	ctx, cancel := context.WithCancel(t.Context())
	calls = 0
	err = FromLast(ctx, rows, prefetch, func(lo, hi int) error {
		calls++
		cancel()
		return nil
	})
	if !errors.Is(err, context.Canceled) || calls != 1 || running.Load() != 0 {
		t.Errorf("%v after %d calls; %d goroutines", err, calls, running.Load())
	}
}
