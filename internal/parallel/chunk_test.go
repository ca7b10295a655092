package parallel_test

import (
	"context"
	"errors"
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
