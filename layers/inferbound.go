package layers

import (
	"fmt"

	"github.com/gcn-layerwise/gcn/graph"
	"github.com/gcn-layerwise/gcn/internal/memory"
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

// bound makes m keep to b. It drops memory of calls with another bound, which may be larger.
func (m *inferenceMemory) bound(b InferenceBound, p *graph.Laplacian, d *ops.Device) error {
	if b != m.last {
		*m = inferenceMemory{last: b}
	}
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

// CheckBound returns an error if Bound is too small for Infer with these arguments. Infer returns
// the same error, but a caller may want it before other work.
func (m *GCN) CheckBound(p *graph.Laplacian, x *graph.Features, nodes []int32) error {
	if p == nil || x == nil {
		return errNoData
	}
	if few(p, x, nodes) {
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
