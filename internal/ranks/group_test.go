package ranks

import (
	"context"
	"math"
	"testing"

	"golang.org/x/sync/errgroup"
)

// onRanks runs f on each rank of a local group.
func onRanks(t *testing.T, size int, f func(ctx context.Context, g Group) error) {
	t.Helper()
	all, ctx := errgroup.WithContext(t.Context())
	for _, g := range NewLocal(size) {
		all.Go(func() error { return f(ctx, g) })
	}
	if err := all.Wait(); err != nil {
		t.Fatal(err)
	}
}

// The imbalance is the slowest rank's time over the mean.
func TestImbalance(t *testing.T) {
	for size, want := range map[int]float64{1: 1, 4: 1.6} { // times 1, 2, 3, 4: 4 over 2.5
		onRanks(t, size, func(ctx context.Context, g Group) error {
			got, err := Imbalance(ctx, g, float64(g.Rank()+1))
			if math.Abs(got-want) > 1e-6 {
				t.Errorf("rank %d of %d: %v, want %v", g.Rank(), size, got, want)
			}
			return err
		})
	}
}

// Differ finds the first rank and text that differ from rank 0's, on every rank.
func TestDiffer(t *testing.T) {
	for _, c := range []struct{ odd, text, wantRank, wantText int }{{-1, 0, -1, 0}, {2, 1, 2, 1}, {1, 0, 1, 0}} {
		onRanks(t, 4, func(ctx context.Context, g Group) error {
			texts := [][]byte{[]byte("program"), []byte("data")}
			if g.Rank() == c.odd {
				texts[c.text] = []byte("other")
			}
			rank, text, err := Differ(ctx, g, texts...)
			if rank != c.wantRank || text != c.wantText {
				t.Errorf("rank %d: %d and %d, want %d and %d", g.Rank(), rank, text, c.wantRank, c.wantText)
			}
			return err
		})
	}
}

// Broadcast gives every rank the bytes of rank 0, of any number.
func TestBroadcast(t *testing.T) {
	for _, text := range []string{"", "a", "0123456789"} {
		onRanks(t, 3, func(ctx context.Context, g Group) error {
			var own []byte
			if g.Rank() == 0 {
				own = []byte(text)
			}
			got, err := Broadcast(ctx, g, own)
			if string(got) != text {
				t.Errorf("rank %d: %q, want %q", g.Rank(), got, text)
			}
			return err
		})
	}
}
