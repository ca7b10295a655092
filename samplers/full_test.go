package samplers

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/gcn-layerwise/gcn/graph"
)

// TestFullOrdersDenseBlocks: the input nodes of a dense block ascend, and so do the columns of each
// row after its own node. The block is P.
func TestFullOrdersDenseBlocks(t *testing.T) {
	const n = 600
	rng := rand.New(rand.NewPCG(1, 2))
	a := randomGraph(n, n*n/2, true, 3)
	for _, p := range []*graph.Laplacian{graph.NewLaplacian(a), graph.NewRowLaplacian(a)} {
		var batch MiniBatch
		seeds := seedNodes(n, n-100, rng)
		if err := Prepared(&Full{Laplacian: p, Depth: 1}).Sample(context.Background(), seeds, rng, &batch); err != nil {
			t.Fatal(err)
		}
		block := batch.Blocks[0]
		if err := block.Validate(n); err != nil {
			t.Fatal(err)
		}
		if block.Matrix.NNZ() < denseBlock*int64(len(seeds)) || !slices.IsSorted(block.Src) {
			t.Fatalf("%d entries, %d input nodes that ascend: %v", block.Matrix.NNZ(), len(block.Src), slices.IsSorted(block.Src))
		}
		dense, got := p.Dense(), scatter(block, n)
		for i, r := range block.Dst {
			if row := block.Matrix.Row(i); block.Src[row[0]] != r || !slices.IsSorted(row[1:]) {
				t.Fatalf("row %d does not begin with its own node and ascend", i)
			}
			for j := range n {
				if want := dense[int(r)*n+j]; math.Abs(got[i*n+j]-want) > 1e-7 {
					t.Fatalf("P[%d][%d] = %v, want %v", r, j, got[i*n+j], want)
				}
			}
		}
	}
}
