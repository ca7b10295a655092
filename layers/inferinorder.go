package layers

import (
	"github.com/gcn-layerwise/gcn/internal/kernel"
	"github.com/gcn-layerwise/gcn/internal/memory"
	"github.com/gcn-layerwise/gcn/internal/plan"
)

// orderedInput is P·X of some of the first layer's rows at a time. X is read from its first
// row to its last for each: rows that are read at random from a file larger than memory take
// longer.
type orderedInput struct {
	product kernel.InOrder
	memory  *plan.InferenceMemory
	px      []float32
	sums    []float32 // of the rows of P; nil: the layer has no use for them
	base    int       // the first row of px
	blocks  int       // computed so far
}

// randomRead is how much longer it takes to read a page at random than in order.
const randomRead = 8

// wanted reports whether P·X at the rows of the first layer is better computed in order: X
// is in a file, does not fit in memory, and is smaller than the pages of the rows' neighbours.
func (o *orderedInput) wanted(r *inference, kept *keptRows) bool {
	x := r.features
	if x.Release == nil || r.p.Share != nil || x.Prefetch == nil && (kept.limit == 0 || uint64(x.Bytes()) <= kept.limit) {
		return false
	}
	const page = 4096
	most := x.Bytes() / (page * randomRead)
	for _, v := range kept.rows[0] {
		if most -= int64(r.p.RowNNZ(int(v))); most < 0 {
			return true
		}
	}
	return false
}

// next computes P·X at the needed rows from lo on, as many chunks as fit in memory, and
// returns the row after them.
func (o *orderedInput) next(r *inference, lo, last, chunk int) (hi int, err error) {
	budget := int64(memory.Limit() / 4)
	if o.memory.Limit > 0 {
		budget = o.memory.Left() / 8 * 7
	}
	width := r.features.Cols
	for hi = lo; hi < last; {
		end := min(hi+chunk, last)
		budget -= rowBytes(r, r.rows[hi:end])
		if budget < 0 && hi > lo {
			break
		}
		hi = end
	}
	if n := (hi - lo) * width; len(o.px) < n {
		o.px = nil
		o.px = memory.Large(n)
	}
	o.base, o.blocks = lo, o.blocks+1
	before := 0
	progress := func(share float64) {
		done := int(share * float64(hi-lo))
		r.progress.add(done - before)
		before = done
	}
	if err = o.product.Propagate(r.ctx, o.px[:(hi-lo)*width], r.p, r.rows[lo:hi], r.features, progress); err == nil && o.sums != nil {
		o.product.RowSums(o.sums[lo:hi], r.p, r.rows[lo:hi])
	}
	return hi, err
}

// bytes returns the memory in which one pass over X computes P·X at all needed rows.
func (o *orderedInput) bytes(r *inference) int64 { return rowBytes(r, r.rows) / 7 * 8 }

// rowBytes returns the memory of P·X at rows, with their columns.
func rowBytes(r *inference, rows []int32) int64 {
	bytes := 4 * int64(r.features.Cols) * int64(len(rows))
	for _, v := range rows {
		bytes += kernel.InOrderBytes(r.p.Adjacency.Degree(int(v)))
	}
	return bytes
}

// end drops the memory of the first layer.
func (o *orderedInput) end() { *o = orderedInput{blocks: o.blocks} }
