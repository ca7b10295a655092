package ranks

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"golang.org/x/sync/errgroup"
	"pgregory.net/rapid"
)

// treeSum is the obvious recursion.
func treeSum(leaves [][]float32, lo, hi int) []float32 {
	if hi-lo == 1 {
		return leaves[lo]
	}
	at := lo + 1
	for at-lo < hi-at {
		at = lo + 2*(at-lo)
	}
	left, right := treeSum(leaves, lo, at), treeSum(leaves, at, hi)
	sum := make([]float32, len(left))
	for k := range sum {
		sum[k] = left[k] + right[k]
	}
	return sum
}

// The sum has the bits of the obvious recursion on every rank, for any numbers of leaves,
// ranks and values, also in the second sum, which uses the memory of the first.
func TestOrderedSum(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := rapid.IntRange(1, 40).Draw(t, "leaves")
		size := rapid.IntRange(1, min(m, 9)).Draw(t, "ranks")
		length := rapid.IntRange(1, 70).Draw(t, "values")
		random := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 2))
		sums := make([]Sum, size)
		groups := NewLocal(size)
		for range 2 {
			leaves := make([][]float32, m)
			for k := range leaves {
				leaves[k] = make([]float32, length)
				for i := range leaves[k] {
					leaves[k][i] = float32(random.NormFloat64() * math.Exp(10*random.Float64()))
				}
			}
			want := treeSum(leaves, 0, m)
			results := make([][]float32, size)
			all, ctx := errgroup.WithContext(context.Background())
			for rank, g := range groups {
				all.Go(func() error {
					s := &sums[rank]
					s.Leaves, s.Length = m, length
					lo, hi := Range(m, rank, size)
					for leaf := lo; leaf < hi; leaf++ {
						s.Add(leaf, leaves[leaf])
					}
					results[rank] = make([]float32, length)
					return s.Total(ctx, g, results[rank])
				})
			}
			if err := all.Wait(); err != nil {
				t.Fatal(err)
			}
			for rank, got := range results {
				if !slices.EqualFunc(got, want, func(x, y float32) bool { return math.Float32bits(x) == math.Float32bits(y) }) {
					t.Fatalf("rank %d: %v, want %v", rank, got, want)
				}
			}
		}
	})
}
