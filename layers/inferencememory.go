package layers

import (
	"runtime"
	"sync"

	"github.com/gcn-layerwise/gcn/graph"
	"github.com/gcn-layerwise/gcn/internal/memory"
	"github.com/gcn-layerwise/gcn/internal/plan"
)

// inferenceMemory is the memory of a model's inference, reused from call to call.
type inferenceMemory struct {
	plan.InferenceMemory
	kept    keptRows
	input   keptInput
	ordered orderedInput
	set     nodeSet
	last    InferenceBound // of the last call of bound
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

// keptShare is the part of the memory limit that a kept P·X may take.
const keptShare = 8
