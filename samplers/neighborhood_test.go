package samplers

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/gcn-layerwise/gcn/graph"
)

// BenchmarkNeighborhood collects the neighborhood of 1024 random rows of 42 random columns, on
// graphs of growing size.
func BenchmarkNeighborhood(b *testing.B) {
	for _, n := range []int{1 << 20, 1 << 22, 1 << 24, 1 << 26} {
		const rows, degree, entries = 1024, 42, 1 << 24
		every := max(n*degree/entries, 1) // the other nodes have no neighbours
		a := &graph.CSR{Rows: n, Cols: n, Ptr: make([]int64, n+1), Idx: make([]int32, n/every*degree+degree)}
		rng := rand.New(rand.NewPCG(1, 2))
		for k := range a.Idx {
			a.Idx[k] = int32(rng.IntN(n))
		}
		for v := range n {
			if a.Ptr[v+1] = a.Ptr[v]; v%every == 0 {
				a.Ptr[v+1] += degree
			}
		}
		p := graph.NewLaplacian(a)
		b.Run(fmt.Sprintf("nodes=%d", n), func(b *testing.B) {
			var h neighborhood
			seeds := make([]int32, 0, rows)
			for b.Loop() {
				first := rng.IntN(n / every / rows)
				seeds = seeds[:0]
				for i := range rows {
					seeds = append(seeds, int32((i*(n/every/rows)+first)*every))
				}
				h.walk(p, seeds)
			}
		})
	}
}
