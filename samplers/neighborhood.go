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
}

// walk collects the neighborhood of rows. It returns the errors of start.
func (h *neighborhood) walk(p *graph.Laplacian, rows []int32) error {
	if err := h.start(p, rows); err != nil {
		return err
	}
	entries := 0
	h.ends = resize(h.ends, len(rows))
	for i, r := range rows {
		entries += p.RowNNZ(int(r))
		h.ends[i] = entries
	}
	h.entries, h.weights = resize(h.entries, entries), h.weights[:0]
	list := h.entries
	adjacency := p.Adjacency
	at := 0
	for i, r := range rows {
		prefetchRow(adjacency, rows, i)
		list[at] = r
		at += 1 + copy(list[at+1:], adjacency.Row(int(r)))
		if adjacency.Val != nil {
			h.weights = append(append(h.weights, 1), adjacency.RowValues(int(r))...)
		}
	}
	h.numbers = resize(h.numbers, entries)
	h.entryScales = resize(h.entryScales, entries)
	h.numberEach(h.entries, h.numbers, h.entryScales)
	kernel.Prefetch(p.RowScale, rows)
	h.weigh(rows)
	return nil
}

// weigh sets the scales and norms of the columns. After it, entries holds numbers in place
// of nodes.
func (h *neighborhood) weigh(rows []int32) {
	h.scales = resize(h.scales, len(h.nodes))
	h.norms2 = resize(h.norms2, len(h.nodes))
	clear(h.norms2)
	scales, norms2, weights := h.scales, h.norms2, h.weights
	at := 0
	for i, r := range rows {
		end := h.ends[i]
		numbers, own := h.numbers[at:end], h.entryScales[at:end]
		scales[i] = own[0] // the row's own node
		r2 := square(h.laplacian.RowScale[r])
		for k, c := range numbers {
			scales[c] = own[k]
			e2 := r2
			if len(weights) > 0 {
				e2 *= square(weights[at+k])
			}
			norms2[c] += e2
		}
		at = end
	}
	h.entries, h.numbers = h.numbers, h.entries
}

// prefetchRow brings the row of A near that is read a few rows after row i.
func prefetchRow(adjacency *graph.CSR, rows []int32, i int) {
	const ahead, entries = 32, 1024 // the processor prefetches the rest of a long row by itself
	if i += ahead; i < len(rows) {
		row := adjacency.Row(int(rows[i]))
		kernel.PrefetchSlice(row[:min(len(row), entries)])
	}
}

// walkInside is walk after start, for the entries of nodes in a set, which have numbers, and the
// rows' own entries. It makes no norms and scales.
func (h *neighborhood) walkInside(inside *nodeSet, rows []int32) {
	adjacency := h.laplacian.Adjacency
	entries, positions, ends := h.entries[:0], h.positions[:0], h.ends[:0]
	for i, r := range rows {
		prefetchRow(adjacency, rows, i)
		entries, positions = append(entries, int32(i)), append(positions, -1)
		first := adjacency.First(int(r))
		for k, j := range adjacency.Row(int(r)) {
			if inside.has(j) {
				entries, positions = append(entries, h.number(j)), append(positions, first+int64(k))
			}
		}
		ends = append(ends, len(entries))
	}
	h.entries, h.positions, h.ends, h.weights = entries, positions, ends, h.weights[:0]
	for _, at := range h.positions {
		weight := float32(1)
		if at >= 0 && adjacency.Val != nil {
			weight = adjacency.Val[at]
		}
		h.weights = append(h.weights, weight)
	}
}

// fill sets block to the entries walked over the drawn columns. Column c of the
// neighborhood becomes column local[c] of the block, times factor[local[c]]; it is
// left out if local[c] < 0. If own is not nil, the row's own node is column own[i] of row
// i, without a factor. The caller sets block.Src first.
func (h *neighborhood) fill(block *graph.Block, rows []int32, local, own []int32, factor []float64) {
	m := startBlock(block, rows)
	m.Idx = resize(m.Idx, len(h.entries))
	m.Val = resize(m.Val, len(h.entries))
	idx, val, weights := m.Idx, m.Val, h.weights
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
	m.Ptr = resize(m.Ptr, rows+1)
	m.Ptr[0] = 0
}
