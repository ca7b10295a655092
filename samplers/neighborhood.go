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
	entries   graph.CSR // the rows of A+I over these columns: a row's own node first, then its neighbours in stored order
	columns   []int32   // the node of each entry
	rowScales []float32 // of each row: RowScale
	norms2    []float64 // of each column: see columnNorms2
	positions []int64   // of each entry: its place in the adjacency matrix, −1 for the row's own; not of walk
	inside    []uint64  // one bit a node of the graph, to fit into a cache; 0 but in walkInside
}

// walk collects the neighborhood of rows, which are distinct nodes of p.
func (h *neighborhood) walk(p *graph.Laplacian, rows []int32) {
	h.begin(p, rows)
	m, columns := &h.entries, resize(&h.columns, h.gatherRowScales(rows))[:0]
	if startMatrix(m, len(rows), 0); p.Adjacency.Val == nil {
		m.Val = nil // walkInside makes one
	}
	for i, r := range rows {
		prefetchRow(p.Adjacency, rows, i)
		columns = append(append(columns, r), p.Adjacency.Row(int(r))...)
		if p.Adjacency.Val != nil {
			m.Val = append(append(m.Val, 1), p.Adjacency.RowValues(int(r))...)
		}
		m.Ptr[i+1] = int64(len(columns))
	}
	h.numberEach(columns, resize(&m.Idx, len(columns)))
	h.columns, m.Cols = columns, len(h.nodes)
}

// gatherRowScales sets rowScales, and returns the number of entries of rows in P. Its random reads do
// not wait for each other, since the loop does nothing else. They bring the rows' Ptr near too.
func (h *neighborhood) gatherRowScales(rows []int32) (entries int) {
	p, scales := h.laplacian, resize(&h.rowScales, len(rows))
	for i, r := range rows {
		scales[i] = p.RowScale[r]
		entries += p.RowNNZ(int(r))
	}
	return entries
}

// columnNorms2 returns ‖QP^[i]‖²/ColScale_i² of each column i, for the rows that were walked.
func (h *neighborhood) columnNorms2() []float64 {
	norms2 := resize(&h.norms2, len(h.nodes))
	clear(norms2)
	for i, scale := range h.rowScales {
		r2, weights := square(scale), h.entries.RowValues(i)
		for k, c := range h.entries.Row(i) {
			norms2[c] += float64(r2 * square(graph.Weight(weights, k)))
		}
	}
	return norms2
}

// prefetchRow brings the row of A near that is read a few rows after row i.
func prefetchRow(adjacency *graph.CSR, rows []int32, i int) {
	const ahead, entries = 32, 1024 // the processor prefetches the rest of a long row by itself
	if i += ahead; i < len(rows) {
		row := adjacency.Row(int(rows[i]))
		kernel.PrefetchSlice(row[:min(len(row), entries)])
	}
}

// walkInside sets m to the rows of A+I, after begin: to the entries of a set of nodes, which have
// numbers. A row's own entry is the first, if the row is in the set.
func (h *neighborhood) walkInside(m *graph.CSR, set, rows []int32) {
	startMatrix(m, len(rows), len(h.nodes))
	adjacency, inside := h.laplacian.Adjacency, resize(&h.inside, h.laplacian.Nodes()/64+1)
	for _, i := range set {
		inside[uint32(i)/64] |= 1 << (uint32(i) % 64)
	}
	entries, positions, weights := m.Idx, h.positions[:0], m.Val
	h.gatherRowScales(rows)
	for i, r := range rows {
		prefetchRow(adjacency, rows, i)
		if inside[uint32(r)/64]>>(uint32(r)%64)&1 != 0 {
			entries, positions = append(entries, h.number(r)), append(positions, -1)
			weights = append(weights, 1)
		}
		first, values := adjacency.First(int(r)), adjacency.RowValues(int(r))
		for k, j := range adjacency.Row(int(r)) {
			if inside[uint32(j)/64]>>(uint32(j)%64)&1 != 0 {
				entries, positions = append(entries, h.number(j)), append(positions, first+int64(k))
				weights = append(weights, float32(graph.Weight(values, k)))
			}
		}
		m.Ptr[i+1] = int64(len(entries))
	}
	for _, i := range set {
		inside[uint32(i)/64] = 0
	}
	m.Idx, m.Val, h.positions = entries, weights, positions
}

// fill sets block to the entries of rows, the last that were walked, over the drawn columns. Column c of the
// neighborhood becomes column local[c] of the block, times factor[local[c]]; it is
// left out if local[c] < 0. If own is not nil, the row's own node is column own[i] of row
// i, without a factor. The caller sets block.Src first.
func (h *neighborhood) fill(block *graph.Block, rows []int32, local, own []int32, factor []float64) {
	m := startBlock(block, rows)
	idx, val := resize(&m.Idx, len(h.entries.Idx)), resize(&m.Val, len(h.entries.Idx))
	at := 0
	for i := range rows {
		scale, first, weights := float64(h.rowScales[i]), 0, h.entries.RowValues(i)
		if own != nil {
			idx[at], val[at] = own[i], float32(scale*float64(h.scales[i]))
			at, first = at+1, 1
		}
		for k, c := range h.entries.Row(i)[first:] {
			if l := local[c]; l >= 0 {
				idx[at], val[at] = l, float32(scale*factor[l]*graph.Weight(weights, first+k))
				at++
			}
		}
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
