package layers

import (
	"context"
	"runtime"
	"slices"
	"sync"

	"github.com/gcn-layerwise/gcn/graph"
	"github.com/gcn-layerwise/gcn/internal/memory"
	"github.com/gcn-layerwise/gcn/internal/plan"
)

// inferenceMemory is the memory of a model's inference, reused from call to call.
type inferenceMemory struct {
	plan.InferenceMemory
	kept keptInput
	set  nodeSet
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
	return m.InferenceMemory.Bytes() + 4*int64(cap(m.kept.px)+cap(m.kept.sums)+cap(m.set.place))
}

// fewNodes is the largest number of nodes in a call of Infer that is made for its
// neighbourhood alone: it keeps no P·X, and concurrent calls reuse their memories.
const fewNodes = 256

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

// keptInput is the part of inference that follows from the graph, the features and the
// nodes alone. It is kept for the next call with the same ones.
type keptInput struct {
	p      *graph.Laplacian
	x      *graph.Features
	nodes  []int32 // a copy; nil: all nodes
	rows   [][]int32
	inputs []int32 // the nodes whose features are read, if the first layer computes X·W of few; nil: all
	onHost bool    // P·X can be kept

	px, sums []float32 // P·X and P·1 at rows[0], from row base on; nil: not kept
	base     int
	from     int // the first row of them that is computed
	filled   int // after the last one
}

// use makes k the part for these arguments. It keeps a part of equal arguments.
func (k *keptInput) use(ctx context.Context, p *graph.Laplacian, x *graph.Features, nodes []int32, layers int) (err error) {
	if k.p == p && k.x == x && len(k.rows) == layers && (k.nodes == nil) == (nodes == nil) && slices.Equal(k.nodes, nodes) {
		return nil
	}
	// Free the old memory before the new is allocated.
	*k = keptInput{p: p, x: x, nodes: slices.Clone(nodes), onHost: k.onHost}
	if k.rows, err = new(nodeSet).neededRows(ctx, nil, p, k.nodes, layers); err != nil {
		*k = keptInput{onHost: k.onHost}
	}
	return err
}

// useFew makes k the part for a few nodes. It keeps nothing but the memory of the lists.
func (m *inferenceMemory) useFew(ctx context.Context, p *graph.Laplacian, nodes []int32, layers int, inputs bool) (err error) {
	k := &m.kept
	k.nodes, k.onHost, k.inputs = nodes, false, nil
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
func (k *keptInput) forget() {
	k.nodes = nil
	if top := len(k.rows) - 1; top >= 0 {
		k.rows[top] = nil
	}
}

// keptShare is the part of the memory limit that a kept P·X may take.
const keptShare = 8

// firstInput gives the first layer's P·X.
type firstInput struct {
	kept  *keptInput // with px and sums to read or to fill; nil: computed at each call
	exact *ExactInput
	px    plan.Rows // of exact
	all   bool      // rows[0] lists every node in order
}

// first chooses where the first layer's P·X comes from.
func (r *inference) first(kept *keptInput) error {
	in, layer, rows := &r.input, r.model.layers[0], kept.rows[0]
	switch n := r.p.Nodes(); {
	case r.model.exact != nil:
		in.exact = r.model.exact
		in.all = len(rows) == n && (len(r.model.layers) > 1 || kept.nodes == nil)
		var err error
		in.px, err = r.Features(in.exact.px)
		return err
	case layer.dense || !kept.onHost || r.transformFirst(0, r.x, rows):
		return nil
	case r.features.Share != nil:
		in.kept = kept
		return kept.fill(r)
	}
	if kept.px == nil {
		if uint64(len(rows))*uint64(layer.in)*4 > memory.Limit()/keptShare {
			return nil
		}
		kept.px, kept.sums = make([]float32, len(rows)*layer.in), make([]float32, len(rows))
	}
	in.kept = kept
	return nil
}

// mixed returns P·X and the row sums of P at the needed rows lo to lo+n, for features x.
func (in *firstInput) mixed(r *inference, x plan.Rows, lo, n int) (mixed, sums plan.Span, err error) {
	switch {
	case in.exact != nil:
		if sums, err = r.Scratch(plan.Sums, n); err != nil {
			return
		}
		if err = r.RowSums(sums, lo, n); err != nil {
			return
		}
		if in.all {
			mixed, err = r.Part(in.px, lo, n)
		} else {
			mixed, err = r.Own(in.px, lo, n)
		}
		return
	case in.kept == nil:
		return r.propagate(x, lo, n)
	}
	k := in.kept
	if lo < k.from { // ranks shared the rows before
		k.from, k.filled = lo, lo
	}
	mixed, sums = plan.HostSpan(k.px[(lo-k.base)*x.Width:]), plan.HostSpan(k.sums[lo-k.base:])
	if k.filled >= lo+n {
		return
	}
	if err = r.Propagate(mixed, x, lo, n); err != nil {
		return
	}
	if err = r.RowSums(sums, lo, n); err != nil {
		return
	}
	if lo != k.filled {
		k.from = lo
	}
	k.filled = lo + n
	return
}
