package samplers

import (
	"github.com/gcn-layerwise/gcn/graph"
	"github.com/gcn-layerwise/gcn/internal/kernel"
)

// neighborhood holds the columns that are not zero on a layer's rows, and every
// entry of these rows. The columns are numbered, the rows' own nodes first. One
// call at a time may use it; its memory is reused from layer to layer.
type neighborhood struct {
	numbering           // nodes: the columns
	norms2    []float64 // of each column: ‖QP^[i]‖² / ColScale²
	scales    []float32 // of each column: ColScale
	// entries holds the column number of each entry, row after row: the row's own
	// node first, then its neighbours in stored order.
	entries     []int32
	ends        []int     // of each row in entries
	weights     []float32 // of each entry, in A+I; empty: all are 1
	entryScales []float32 // ColScale of each entry
	positions   []int64   // of each entry: its place in the adjacency matrix, −1 for the row's own; not of walk
	numbers     []int32   // of each entry, before they are in entries
	inside      []uint64  // one bit a node of the graph, to fit into a cache; 0 but in walkInside
}

// walk collects the neighborhood of rows. It returns the errors of start.
func (h *neighborhood) walk(p *graph.Laplacian, rows []int32) error {
	if err := h.start(p, rows); err != nil {
		return err
	}
	adjacency, entries := p.Adjacency, 0
	ends := resize(&h.ends, len(rows))
	for i, r := range rows {
		entries += p.RowNNZ(int(r))
		ends[i] = entries
	}
	list, weights, at := resize(&h.entries, entries), h.weights[:0], 0
	for i, r := range rows {
		prefetchRow(adjacency, rows, i)
		list[at] = r
		at += 1 + copy(list[at+1:], adjacency.Row(int(r)))
		if adjacency.Val != nil {
			weights = append(append(weights, 1), adjacency.RowValues(int(r))...)
		}
	}
	numbers, entryScales := resize(&h.numbers, entries), resize(&h.entryScales, entries)
	h.numberEach(list, numbers, entryScales)
	kernel.Prefetch(p.RowScale, rows)
	scales, norms2 := resize(&h.scales, len(h.nodes)), resize(&h.norms2, len(h.nodes))
	clear(norms2)
	at = 0
	for i, r := range rows {
		own, r2 := entryScales[at:ends[i]], square(p.RowScale[r])
		for k, c := range numbers[at:ends[i]] {
			scales[c] = own[k]
			e2 := r2
			if len(weights) > 0 {
				e2 *= square(weights[at+k])
			}
			norms2[c] += e2
		}
		at = ends[i]
	}
	h.entries, h.numbers, h.weights = numbers, list, weights
	return nil
}

// prefetchRow brings the row of A near that is read a few rows after row i.
func prefetchRow(adjacency *graph.CSR, rows []int32, i int) {
	const ahead, entries = 32, 1024 // the processor prefetches the rest of a long row by itself
	if i += ahead; i < len(rows) {
		row := adjacency.Row(int(rows[i]))
		kernel.PrefetchSlice(row[:min(len(row), entries)])
	}
}

// walkInside is walk after start, for the entries of a set of nodes, which have numbers, and the
// rows' own entries. It makes no norms and scales.
func (h *neighborhood) walkInside(set, rows []int32) {
	adjacency, inside := h.laplacian.Adjacency, resize(&h.inside, h.laplacian.Nodes()/64+1)
	for _, i := range set {
		inside[uint32(i)/64] |= 1 << (uint32(i) % 64)
	}
	entries, positions, weights, ends := h.entries[:0], h.positions[:0], h.weights[:0], h.ends[:0]
	for i, r := range rows {
		prefetchRow(adjacency, rows, i)
		entries, positions = append(entries, int32(i)), append(positions, -1)
		weights = append(weights, 1)
		first, values := adjacency.First(int(r)), adjacency.RowValues(int(r))
		for k, j := range adjacency.Row(int(r)) {
			if inside[uint32(j)/64]>>(uint32(j)%64)&1 != 0 {
				entries, positions = append(entries, h.number(j)), append(positions, first+int64(k))
				weights = append(weights, float32(graph.Weight(values, k)))
			}
		}
		ends = append(ends, len(entries))
	}
	for _, i := range set {
		inside[uint32(i)/64] = 0
	}
	h.entries, h.positions, h.weights, h.ends = entries, positions, weights, ends
}

// fill sets block to the entries walked over the drawn columns. Column c of the
// neighborhood becomes column local[c] of the block, times factor[local[c]]; it is
// left out if local[c] < 0. If own is not nil, the row's own node is column own[i] of row
// i, without a factor. The caller sets block.Src first.
func (h *neighborhood) fill(block *graph.Block, rows []int32, local, own []int32, factor []float64) {
	m := startBlock(block, rows)
	idx, val, weights := resize(&m.Idx, len(h.entries)), resize(&m.Val, len(h.entries)), h.weights
	at, first := 0, 0
	for i, r := range rows {
		scale := float64(h.laplacian.RowScale[r])
		if own != nil {
			idx[at], val[at] = own[i], float32(scale*float64(h.laplacian.ColScale[r]))
			at, first = at+1, first+1
		}
		end := h.ends[i]
		for k, c := range h.entries[first:end] {
			l := local[c]
			if l < 0 {
				continue
			}
			v := scale * factor[l]
			if len(weights) > 0 {
				v *= float64(weights[first+k])
			}
			idx[at], val[at] = l, float32(v)
			at++
		}
		first = end
		m.Ptr[i+1] = int64(at)
	}
	m.Idx, m.Val = idx[:at], val[:at]
	block.Finish()
}

// startBlock sets the output nodes of block and the size of its matrix, and
// returns the matrix for its rows to be filled. The caller sets block.Src first.
func startBlock(block *graph.Block, rows []int32) *graph.CSR {
	block.Dst = append(block.Dst[:0], rows...)
	startMatrix(&block.Matrix, len(rows), len(block.Src))
	return &block.Matrix
}

// startMatrix sets the size of m, empties it, and makes room for the ends of its rows.
func startMatrix(m *graph.CSR, rows, cols int) {
	m.Rows, m.Cols, m.Idx, m.Val = rows, cols, m.Idx[:0], m.Val[:0]
	resize(&m.Ptr, rows+1)[0] = 0
}
