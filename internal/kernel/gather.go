package kernel

import (
	"github.com/gcn-layerwise/gcn/graph"
	"github.com/gcn-layerwise/gcn/internal/parallel"
)

// Gather copies rows of x: dst[i] = x[ids[i]]. Cost: bound by the memory.
func Gather(dst []float32, x []float32, ids []int32, width int) {
	gather(dst, x, ids, width, func(to, from []float32) { copy(to, from) })
}

// GatherFeatures sets row i of dst, a dense matrix, to row ids[i] of x, in single precision.
func GatherFeatures(dst []float32, x *graph.Features, ids []int32) {
	switch {
	case x.Sparse != nil:
		gatherSparse(dst, x.Sparse, ids)
	case x.Half != nil:
		gather(dst, x.Half, ids, x.Cols, widen)
	default:
		Gather(dst, x.Data, ids, x.Cols)
	}
}

// gather calls move for each row of dst with row ids[i] of x.
func gather[T any](dst []float32, x []T, ids []int32, width int, move func(to []float32, from []T)) {
	checkLen("Gather", "dst", len(dst), len(ids)*width)
	parallel.For(len(ids), grain(width), func(lo, hi int) {
		ahead := rowsAhead(x, ids[lo:hi], width)
		for i := lo; i < hi; i++ {
			ahead.next()
			move(rowOf(dst, i, width), rowOf(x, int(ids[i]), width))
		}
	})
}

// Scatter copies to rows of dst: dst[ids[i]] = x[i]. The ids must be distinct;
// other rows of dst stay as they are. Cost: bound by the memory.
func Scatter(dst []float32, x []float32, ids []int32, width int) {
	checkLen("Scatter", "x", len(x), len(ids)*width)
	parallel.For(len(ids), grain(width), func(lo, hi int) {
		for i := lo; i < hi; i++ {
			copy(rowOf(dst, int(ids[i]), width), rowOf(x, i, width))
		}
	})
}
