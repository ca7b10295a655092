package layers

import (
	"fmt"

	"github.com/gcn-layerwise/gcn/graph"
	"github.com/gcn-layerwise/gcn/internal/kernel"
	"github.com/gcn-layerwise/gcn/internal/memory"
	"github.com/gcn-layerwise/gcn/internal/plan"
	"github.com/gcn-layerwise/gcn/ops"
)

// InferenceBound bounds the memory of inference on the CPU. The zero value sets no bound. The
// result has the same bits with any bound.
type InferenceBound struct {
	// Memory is the number of bytes that inference of more than 256 nodes may take, beside
	// the logits and the lists of nodes; 0 means half of the memory, at most 8 GiB. A mapped
	// store does not count. The output of a hidden layer that does not fit lies in a file in
	// the folder Scratch, "" for the system's folder of temporary files, until Infer returns.
	Memory  int64
	Scratch string
}

// bytes returns the bound.
func (b InferenceBound) bytes() int64 {
	if b.Memory > 0 {
		return b.Memory
	}
	const usual = 8 << 30
	return int64(min(memory.Limit()/2, usual))
}

// bound makes m keep to b.
func (m *inferenceMemory) bound(b InferenceBound, p *graph.Laplacian, d *ops.Device) error {
	m.Limit, m.Dir, m.kept.limit = 0, "", 0
	if b == (InferenceBound{}) {
		return nil
	}
	if d != nil {
		return fmt.Errorf("layers: inference: a bound of memory is for the CPU")
	}
	// The scales of P, the set of needed rows, and the index of a layer.
	const node = 4 + 4 + 4
	fixed, bytes := node*int64(p.Nodes()), b.bytes()
	if bytes <= fixed {
		return fmt.Errorf("layers: inference takes more than %s of memory for %d nodes, and may take %s: %w",
			memory.Text(uint64(fixed)), p.Nodes(), memory.Text(uint64(max(bytes, 0))), memory.ErrTooLarge)
	}
	m.Limit, m.Dir, m.kept.limit = bytes-fixed, b.Scratch, uint64(bytes)
	return nil
}

// CheckBound returns an error if Bound is too small for an inference of nodes over p; nil nodes
// are all. Infer returns the same error, but only after the work before it.
func (m *GCN) CheckBound(p *graph.Laplacian, nodes []int32) error {
	if nodes != nil && len(nodes) <= fewNodes && p.Share == nil {
		return nil
	}
	return new(inferenceMemory).bound(m.Bound, p, m.Device)
}

// bytes returns the memory that inference may take in all.
func (k *keptRows) bytes() uint64 {
	if k.limit > 0 {
		return k.limit
	}
	return memory.Limit()
}

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
