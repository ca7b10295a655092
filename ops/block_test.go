package ops

import (
	"math/rand/v2"

	"github.com/gcn-layerwise/gcn/graph"
)

// randomBlock returns a block over distinct random nodes of [0, nodes), with
// about a third of its entries set. If it has several rows, one is empty.
func randomBlock(rng *rand.Rand, dst, src, nodes int) *graph.Block {
	b := new(graph.Block)
	for _, v := range rng.Perm(nodes)[:dst] {
		b.Dst = append(b.Dst, int32(v))
	}
	for _, v := range rng.Perm(nodes)[:src] {
		b.Src = append(b.Src, int32(v))
	}
	b.Matrix = graph.CSR{Rows: dst, Cols: src, Ptr: []int64{0}, Val: []float32{}}
	for i := range dst {
		for j := range src {
			if i != 1 && rng.IntN(3) == 0 {
				b.Matrix.Idx = append(b.Matrix.Idx, int32(j))
				b.Matrix.Val = append(b.Matrix.Val, float32(rng.NormFloat64()))
			}
		}
		b.Matrix.Ptr = append(b.Matrix.Ptr, int64(len(b.Matrix.Idx)))
	}
	b.Finish()
	return b
}

// randomChain returns blocks of the given sizes, input first. The output nodes of each
// are the input nodes of the next.
func randomChain(rng *rand.Rand, nodes int, sizes ...int) []*graph.Block {
	var blocks []*graph.Block
	for l := range len(sizes) - 1 {
		b := randomBlock(rng, sizes[l+1], sizes[l], nodes)
		if l > 0 {
			b.Src = blocks[l-1].Dst
		}
		blocks = append(blocks, b)
	}
	return blocks
}

// randomEdges returns a block for attention of dst ≤ src rows: positive values, column
// scales, and output nodes among the input nodes, in another order. Row 1 is empty, and
// row 0 has an entry of weight 0.
func randomEdges(rng *rand.Rand, dst, src, nodes int) *graph.Block {
	b := randomBlock(rng, dst, src, nodes)
	for i, j := range rng.Perm(src)[:dst] {
		b.Dst[i] = b.Src[j]
	}
	for k, v := range b.Matrix.Val {
		b.Matrix.Val[k] = max(v, -v)
	}
	if b.Matrix.Ptr[1] > 1 {
		b.Matrix.Val[0] = 0
	}
	for range b.Src {
		b.ColScale = append(b.ColScale, 0.5+rng.Float32())
	}
	b.Finish()
	return b
}

func randomFeatures(rng *rand.Rand, rows, cols int) *graph.Features {
	return &graph.Features{Rows: rows, Cols: cols, Data: randomValues(rng, rows*cols)}
}

// thinned returns random features with few values that are not 0.
func thinned(rng *rand.Rand, rows, cols int) *graph.Features {
	x := randomFeatures(rng, rows, cols)
	for k := range x.Data {
		if rng.IntN(10) > 0 {
			x.Data[k] = 0
		}
	}
	return x
}

func randomValues(rng *rand.Rand, n int) []float32 {
	x := make([]float32, n)
	for k := range x {
		x[k] = float32(rng.NormFloat64())
	}
	return x
}
