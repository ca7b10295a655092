package train

import (
	"math"
	"math/rand/v2"
	"testing"

	"golang.org/x/sync/errgroup"
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

func TestOrderedSum(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for m := 1; m <= 17; m++ {
		for _, length := range []int{1, 5, 100} {
			leaves := make([][]float32, m)
			for k := range leaves {
				leaves[k] = make([]float32, length)
				for i := range leaves[k] {
					leaves[k][i] = float32(random.NormFloat64() * math.Exp(10*random.Float64()))
				}
			}
			want := treeSum(leaves, 0, m)
			for size := 1; size <= m; size++ {
				groups := NewLocalGroup(size)
				var all errgroup.Group
				for rank, g := range groups {
					all.Go(func() error {
						s := orderedSum{leaves: m, length: length}
						for range 2 { // the second time with memory of the first
							lo, hi := share(m, rank, size)
							for leaf := lo; leaf < hi; leaf++ {
								s.add(leaf, leaves[leaf])
							}
							got := make([]float32, length)
							if err := s.total(t.Context(), g, got); err != nil {
								return err
							}
							for i := range got {
								if math.Float32bits(got[i]) != math.Float32bits(want[i]) {
									t.Errorf("%d leaves, %d ranks, rank %d: value %d is %v, want %v", m, size, rank, i, got[i], want[i])
									break
								}
							}
						}
						return nil
					})
				}
				if err := all.Wait(); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
}
