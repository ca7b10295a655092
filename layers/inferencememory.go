package layers

import (
	"context"
	"runtime"
	"slices"
	"sync"

	"github.com/gcn-layerwise/gcn/graph"
	"github.com/gcn-layerwise/gcn/internal/kernel"
	"github.com/gcn-layerwise/gcn/internal/memory"
	"github.com/gcn-layerwise/gcn/internal/parallel"
	"github.com/gcn-layerwise/gcn/internal/plan"
)

// inferenceMemory is the memory of a model's inference, reused from call to call.
type inferenceMemory struct {
	plan.InferenceMemory
	kept    keptRows
	input   keptInput
	ordered orderedInput
	set     nodeSet
}

// takeMemory returns the memory of the model's last inference, or new memory while another
// call uses it. The caller stores it in m.memory afterwards. It is not a sync.Pool, which
// may hold several memories, each as large as a layer.
func (m *GCN) takeMemory() *inferenceMemory {
	if memory := m.memory.Swap(nil); memory != nil {
		return memory
	}
	return new(inferenceMemory)
}

// Bytes returns the size of m, without the lists of rows.
func (m *inferenceMemory) Bytes() int64 {
	return m.InferenceMemory.Bytes() + 4*int64(cap(m.input.px)+cap(m.set.place)) + int64(cap(m.input.has))
}

// fewNodes is the largest number of nodes in a call of Infer that is made for its
// neighbourhood alone: it keeps no P·X, and concurrent calls reuse their memories.
const fewNodes = 256

// few reports whether Infer with these arguments is such a call, which has no bound.
func few(p *graph.Laplacian, x *graph.Features, nodes []int32) bool {
	return nodes != nil && len(nodes) <= fewNodes && p.Share == nil && x.Share == nil
}

// freeMemories holds the memories of calls for a few nodes, one for each call that ran at
// the same time. The zero value is empty.
type freeMemories struct {
	mutex sync.Mutex
	free  []*inferenceMemory
	bytes int64
}

// take returns a free memory, or a new one.
func (f *freeMemories) take() *inferenceMemory {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	last := len(f.free) - 1
	if last < 0 {
		return new(inferenceMemory)
	}
	m := f.free[last]
	f.free[last], f.free = nil, f.free[:last]
	f.bytes -= m.Bytes()
	return m
}

// give makes m free. It drops m if there is a free memory for every core, or if all would
// take more than a part of the memory limit.
func (f *freeMemories) give(m *inferenceMemory) {
	m.kept.forget()
	size := m.Bytes()
	f.mutex.Lock()
	defer f.mutex.Unlock()
	const small = 64 << 20 // Limit reads files
	if len(f.free) < runtime.GOMAXPROCS(0) && (f.bytes+size <= small || uint64(f.bytes+size) <= memory.Limit()/keptShare) {
		f.free = append(f.free, m)
		f.bytes += size
	}
}

// keptRows are the rows that inference needs for some nodes. They follow from the graph and
// the nodes alone, and are kept for the next call with the same ones.
type keptRows struct {
	p     *graph.Laplacian
	nodes []int32     // a copy; nil: all nodes
	rows  [][]int32   // of each layer
	sums  [][]float32 // row sums of P at these rows, when they were needed
	few   bool        // of useFew
	again bool        // there was a second call

	limit     uint64                  // bytes of memory
	matrices  []*kernel.LaplacianRows // of the rows of each layer, from the second call on
	histories bool                    // of a control need these rows, on each rank
	parts     []*rankRows             // of each layer, the rows that this rank holds; nil: not known
	divided   [][]int                 // of each layer, the shares of its rows that ranks compute; nil: not known
	orders    []bool                  // of the products, for parts and divided
	inputs    []int32                 // the nodes whose features are read, if the first layer computes X·W of few; nil: all

	// If ranks hold X together:
	x    *graph.Features
	px   []float32 // P·X at this rank's part of rows[0]; nil: not computed
	base int       // the first row of this part
}

// use makes k the rows for these arguments. It keeps the rows of equal arguments.
func (k *keptRows) use(ctx context.Context, p *graph.Laplacian, nodes []int32, layers int) (err error) {
	if k.p == p && len(k.rows) == layers && (k.nodes == nil) == (nodes == nil) && slices.Equal(k.nodes, nodes) {
		k.again = true
		return nil
	}
	// Free the old memory before the new is allocated.
	*k = keptRows{p: p, limit: k.limit, nodes: slices.Clone(nodes), sums: make([][]float32, layers), matrices: make([]*kernel.LaplacianRows, layers)}
	if k.rows, err = new(nodeSet).neededRows(ctx, nil, p, k.nodes, layers); err != nil {
		*k = keptRows{limit: k.limit}
	}
	return err
}

// useFew makes k the rows for a few nodes. It keeps nothing but the memory of the lists.
func (m *inferenceMemory) useFew(ctx context.Context, p *graph.Laplacian, nodes []int32, layers int, inputs bool) (err error) {
	k := &m.kept
	k.p, k.nodes, k.few, k.inputs, k.divided = p, nodes, true, nil, nil
	if !inputs {
		k.rows, err = m.set.neededRows(ctx, k.rows, p, nodes, layers)
		return err
	}
	rows, err := m.set.neededRows(ctx, append([][]int32{k.inputs}, k.rows...), p, nodes, layers+1)
	if err == nil {
		k.inputs, k.rows = rows[0], rows[1:]
	}
	return err
}

// forget drops the caller's nodes.
func (k *keptRows) forget() {
	k.nodes = nil
	if top := len(k.rows) - 1; top >= 0 {
		k.rows[top] = nil
	}
}

// whole reports whether the rows of layer l list every node in order.
func (k *keptRows) whole(l int) bool {
	return len(k.rows[l]) == k.p.Nodes() && (l < len(k.rows)-1 || k.nodes == nil)
}

// rowSums returns the row sums of P at the rows of layer l.
func (k *keptRows) rowSums(ctx context.Context, l int) ([]float32, error) {
	if rows := k.rows[l]; k.sums[l] == nil {
		sums := make([]float32, len(rows))
		err := graph.EachPart(ctx, rows, k.p.Adjacency.Prefetch, func(lo, hi int) error {
			rowSums(sums[lo:hi], k.p, rows[lo:hi])
			return nil
		})
		if err != nil {
			return nil, err
		}
		k.sums[l] = sums
	}
	return k.sums[l], nil
}

// rowSums sets sums to the row sums of P at rows.
func rowSums(sums []float32, p *graph.Laplacian, rows []int32) {
	parallel.For(len(rows), 1024, func(lo, hi int) {
		for i := lo; i < hi; i++ {
			sums[i] = float32(p.RowSum(int(rows[i])))
		}
	})
}

// matrix returns the rows of P that layer l needs, written out over the rows of the layer
// below, as writeOut does.
func (k *keptRows) matrix(l int) *kernel.LaplacianRows {
	if len(k.matrices) == 0 {
		return nil
	}
	if k.matrices[l] == nil {
		k.matrices[l] = k.writeOut(k.rows[l], 0, len(k.rows[l]), k.rows[l-1])
	}
	return k.matrices[l]
}

// writeOut returns the rows first to last−1 of P, of the list rows, written out over the rows
// below; nil in the first call, and if they would take a large part of the memory.
func (k *keptRows) writeOut(rows []int32, first, last int, below []int32) *kernel.LaplacianRows {
	if !k.again || k.few || k.p.Share != nil {
		return nil
	}
	entries := 0
	for _, v := range rows[first:last] {
		entries += k.p.RowNNZ(int(v))
	}
	if 8*uint64(entries) > k.bytes()/(8*keptShare) {
		return nil
	}
	return kernel.NewLaplacianRows(k.p, rows, first, last, below)
}

// keptInput is P·X of the rows that calls of inference have needed so far.
type keptInput struct {
	p *graph.Laplacian
	x *graph.Features

	px  []float32 // a row a node; nil: not kept
	has []bool    // the nodes whose row is computed
}

// keptShare is the part of the memory limit that a kept P·X may take.
const keptShare = 8

// use makes k the memory of P·X for these arguments. It keeps the rows of equal arguments,
// and px stays nil if P·X is too large.
func (k *keptInput) use(p *graph.Laplacian, x *graph.Features, limit uint64) {
	if k.p == p && k.x == x {
		return
	}
	*k = keptInput{p: p, x: x}
	if uint64(x.Rows)*uint64(x.Cols)*4 <= limit/keptShare {
		// A page that no row is written to takes no memory.
		k.px, k.has = make([]float32, x.Rows*x.Cols), make([]bool, x.Rows)
	}
}

// firstInput gives the first layer's P·X.
type firstInput struct {
	px   plan.Rows  // P·X, a row a node
	all  bool       // px has all rows
	kept *keptInput // the rows of px that are computed; nil: none
	once bool       // no node is needed twice, so that goroutines can fill px
	part *keptRows  // with P·X of this rank's rows, if ranks hold X together; else nil

	ordered *orderedInput // P·X of some rows at a time, with X read in order; nil: not so
}

// first chooses where the first layer's P·X comes from.
func (r *inference) first(kept *keptRows, m *inferenceMemory) (err error) {
	in, input, top := &r.input, &m.input, len(r.model.layers)-1
	switch {
	case r.model.exact != nil:
		in.px, err = r.Features(r.model.exact.px)
		in.all = true
	case !r.onHost || kept.few || r.orders[0] || r.model.layers[0].dense || r.x.Sparse():
	case r.features.Share != nil:
		in.part = kept
		err = kept.propagateShared(r)
	default:
		if input.use(r.p, r.features, kept.bytes()); input.px == nil && m.ordered.wanted(r, kept) {
			in.ordered, m.ordered.memory = &m.ordered, &m.InferenceMemory
		}
		if input.px != nil {
			in.px = plan.Rows{Span: plan.HostSpan(input.px), Width: r.x.Width, Count: r.x.Count}
			in.kept, in.once = input, top > 0 || kept.nodes == nil
		}
	}
	return err
}

// mixed returns P·X at the needed rows lo to lo+n. It is valid until the next call of
// mixed, Part or Own.
func (in *firstInput) mixed(r *inference, lo, n int) (plan.Span, error) {
	if k := in.part; k != nil {
		return plan.HostSpan(k.px[(lo-k.base)*k.x.Cols:]), nil
	}
	if o := in.ordered; o != nil {
		return plan.HostSpan(o.px[(lo-o.base)*r.features.Cols:]), nil
	}
	rows := r.rows[lo : lo+n]
	if !in.all && (in.kept == nil || !in.kept.holds(rows)) {
		mixed, err := r.Propagated(r.x, lo, n)
		if err == nil && in.once {
			in.kept.add(rows, mixed.Host())
		}
		return mixed, err
	}
	// Rows above the last layer's are in ascending order, without repeats.
	if first := rows[0]; r.ordered && int(rows[n-1]-first) == n-1 {
		return r.Part(in.px, int(first), n)
	}
	return r.Own(in.px, lo, n)
}

func (k *keptInput) holds(rows []int32) bool {
	for _, v := range rows {
		if !k.has[v] {
			return false
		}
	}
	return true
}

// add keeps P·X of the given rows.
func (k *keptInput) add(rows []int32, px []float32) {
	width := k.x.Cols
	for i, v := range rows {
		copy(k.px[int(v)*width:][:width], px[i*width:])
		k.has[v] = true
	}
}
