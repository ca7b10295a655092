package parallel_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/gcn-layerwise/gcn/internal/parallel"
)

func TestChunks(t *testing.T) {
	calls := make([]atomic.Int32, 1000)
	err := parallel.Chunks(context.Background(), len(calls), func(chunk int) error {
		calls[chunk].Add(1)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for chunk := range calls {
		if n := calls[chunk].Load(); n != 1 {
			t.Fatalf("chunk %d: %d calls, want 1", chunk, n)
		}
	}
	wrong := errors.New("wrong")
	var later atomic.Int32
	err = parallel.Chunks(context.Background(), 1_000_000, func(chunk int) error {
		if chunk == 3 {
			return wrong
		}
		later.Add(1)
		return nil
	})
	if !errors.Is(err, wrong) || later.Load() == 1_000_000-1 {
		t.Errorf("error %v after %d other chunks", err, later.Load())
	}
	ctx, cancel := context.WithCancel(context.Background())
	err = parallel.Chunks(ctx, 1_000_000, func(int) error { cancel(); return nil })
	if !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

// TestEntries compares with a plain loop over the rows, on a matrix of several stripes.
func TestEntries(t *testing.T) {
	const n = 300_000
	random := rand.New(rand.NewPCG(1, 1))
	ptr, idx := []int64{0}, []int32{}
	want := make([][]int32, n) // rows of each column
	for i := range int32(n) {
		row := []int32{random.Int32N(n), random.Int32N(n), random.Int32N(n), i}
		slices.Sort(row)
		row = slices.Compact(row)
		idx = append(idx, row...)
		ptr = append(ptr, int64(len(idx)))
		for _, j := range row {
			want[j] = append(want[j], i)
		}
	}
	got := make([][]int32, n)
	err := parallel.Entries(context.Background(), ptr, idx, func(row int, column int32) bool {
		got[column] = append(got[column], int32(row))
		return true
	})
	if err != nil {
		t.Fatal(err)
	}
	for j := range got {
		if !slices.Equal(got[j], want[j]) {
			t.Fatalf("column %d: rows %v, want %v", j, got[j], want[j])
		}
	}
}
