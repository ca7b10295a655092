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
	entryScales []float32 // ColScale of each entry
	numbers     []int32   // of each entry, before they are in entries
}

// start numbers rows, which must be distinct nodes of p. The error names a row that is not.
func (h *neighborhood) start(p *graph.Laplacian, rows []int32) error {
	h.begin(p, h.nodes)
	return h.addDistinct(rows)
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
	h.entries = resize(h.entries, entries)
	list := h.entries
	adjacency := p.Adjacency
	at := 0
	for i, r := range rows {
		prefetchRow(adjacency, rows, i)
		list[at] = r
		at += 1 + copy(list[at+1:], adjacency.Row(int(r)))
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
	scales, norms2 := h.scales, h.norms2
	at := 0
	for i, r := range rows {
		end := h.ends[i]
		numbers, own := h.numbers[at:end], h.entryScales[at:end]
		at = end
		scales[i] = own[0] // the row's own node
		scale := float64(h.laplacian.RowScale[r])
		r2 := scale * scale
		values := h.laplacian.Adjacency.RowValues(int(r))
		for k, c := range numbers {
			scales[c] = own[k]
			e2 := r2
			if values != nil && k > 0 {
				e2 *= square(values[k-1])
			}
			norms2[c] += e2
		}
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

// fill sets block to the rows of P over the drawn columns. Column c of the
// neighborhood becomes column local[c] of the block, times factor[local[c]]; it is
// left out if local[c] < 0. If own is not nil, the row's own node is column own[i] of row
// i, without a factor. The caller sets block.Src first.
func (h *neighborhood) fill(block *graph.Block, rows []int32, local, own []int32, factor []float64) {
	m := startBlock(block, rows)
	adjacency := h.laplacian.Adjacency
	m.Idx = resize(m.Idx, len(h.entries))
	m.Val = resize(m.Val, len(h.entries))
	idx, val := m.Idx, m.Val
	at, from := 0, 0
	for i, r := range rows {
		entries := h.entries[from:h.ends[i]]
		from = h.ends[i]
		scale := float64(h.laplacian.RowScale[r])
		values := adjacency.RowValues(int(r))
		first := 0
		if own != nil {
			idx[at], val[at] = own[i], float32(scale*float64(h.scales[i]))
			first, at = 1, at+1
		}
		for k, c := range entries[first:] {
			l := local[c]
			if l < 0 {
				continue
			}
			v := scale * factor[l]
			if k += first; values != nil && k > 0 {
				v *= float64(values[k-1])
			}
			idx[at], val[at] = l, float32(v)
			at++
		}
		m.Ptr[i+1] = int64(at)
	}
	m.Idx, m.Val = idx[:at], val[:at]
	block.Finish()
}

// fillAmong is fill after start, without walk: it reads the rows, and looks up the columns in
// drawn.
func (h *neighborhood) fillAmong(drawn *nodeSet, block *graph.Block, rows, local, own []int32, factor []float64) {
	m := startBlock(block, rows)
	adjacency := h.laplacian.Adjacency
	for i, r := range rows {
		prefetchRow(adjacency, rows, i)
		scale := float64(h.laplacian.RowScale[r])
		if own != nil {
			m.Idx, m.Val = append(m.Idx, own[i]), append(m.Val, float32(scale*float64(h.laplacian.ColScale[r])))
		} else if l := local[i]; l >= 0 {
			m.Idx, m.Val = append(m.Idx, l), append(m.Val, float32(scale*factor[l]))
		}
		values := adjacency.RowValues(int(r))
		for k, j := range adjacency.Row(int(r)) {
			if drawn.has(j) {
				l := local[h.number(j)]
				m.Idx, m.Val = append(m.Idx, l), append(m.Val, float32(scale*factor[l]*graph.Weight(values, k)))
			}
		}
		m.Ptr[i+1] = int64(len(m.Idx))
	}
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
