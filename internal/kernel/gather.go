package kernel

import "github.com/gcn-layerwise/gcn/internal/parallel"

// Gather copies rows of x: dst[i] = x[ids[i]]. Cost: bound by the memory.
func Gather(dst []float32, x []float32, ids []int32, width int) {
	checkLen("Gather", "dst", len(dst), len(ids)*width)
	parallel.For(len(ids), grain(width), func(lo, hi int) {
		ahead := rowsAhead(x, ids[lo:hi], width)
		for i := lo; i < hi; i++ {
			ahead.next()
			r := int(ids[i])
			copy(dst[i*width:(i+1)*width], x[r*width:(r+1)*width])
		}
	})
}

// Scatter copies to rows of dst: dst[ids[i]] = x[i]. The ids must be distinct;
// other rows of dst stay as they are. Cost: bound by the memory.
func Scatter(dst []float32, x []float32, ids []int32, width int) {
	checkLen("Scatter", "x", len(x), len(ids)*width)
	parallel.For(len(ids), grain(width), func(lo, hi int) {
		for i := lo; i < hi; i++ {
			r := int(ids[i])
			copy(dst[r*width:(r+1)*width], x[i*width:(i+1)*width])
		}
	})
}
