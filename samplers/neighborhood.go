package samplers

import (
	"fmt"

	"github.com/gcn-layerwise/gcn/graph"
)

// neighborhood is the union of the columns that are not zero on a layer's rows,
// and every entry of those rows, walked once. One belongs to one worker; its
// memory is reused from layer to layer.
type neighborhood struct {
	nodes  []int32   // the columns, in order of first occurrence
	norms2 []float64 // ‖QP^[i]‖² of each, divided by ColScale²
	// entries holds, row after row, the number in nodes of each entry's column:
	// the row's own node first, then its neighbours in stored order.
	entries []int32
	number  []int32 // of every node of the graph: 1 + its number in nodes, or 0
}

// walk collects the neighborhood of rows, distinct nodes of p. The error says
// which row is not a node or is there twice. forget must follow.
func (h *neighborhood) walk(p *graph.Laplacian, rows []int32) error {
	n := p.Nodes()
	if len(h.number) != n {
		h.number = make([]int32, n)
	}
	h.nodes, h.norms2, h.entries = h.nodes[:0], h.norms2[:0], h.entries[:0]
	if err := checkNodes(rows, h.number); err != nil {
		return err
	}
	entries := 0
	for _, r := range rows {
		entries += p.RowNNZ(int(r))
	}
	if cap(h.entries) < entries {
		h.entries = make([]int32, 0, entries+entries/4)
	}
	adjacency := p.Adjacency
	nodes, norms2, list, number := h.nodes, h.norms2, h.entries[:entries], h.number
	at := 0
	for _, r := range rows {
		scale := float64(p.RowScale[r])
		r2 := scale * scale
		c := number[r]
		if c == 0 {
			nodes, norms2 = append(nodes, r), append(norms2, r2)
			c = int32(len(nodes))
			number[r] = c
		} else {
			norms2[c-1] += r2
		}
		list[at] = c - 1
		at++
		values := adjacency.RowValues(int(r))
		for k, j := range adjacency.Row(int(r)) {
			e2 := r2
			if values != nil {
				e2 *= float64(values[k]) * float64(values[k])
			}
			c := number[j]
			if c == 0 {
				nodes, norms2 = append(nodes, j), append(norms2, e2)
				c = int32(len(nodes))
				number[j] = c
			} else {
				norms2[c-1] += e2
			}
			list[at] = c - 1
			at++
		}
	}
	h.nodes, h.norms2, h.entries = nodes, norms2, list
	return nil
}

// forget makes the neighborhood ready for the next walk. Cost: O(len(nodes)).
func (h *neighborhood) forget() {
	for _, i := range h.nodes {
		h.number[i] = 0
	}
}

// checkNodes returns an error unless rows are distinct nodes. mark has a zero
// for every node, before and after.
func checkNodes(rows, mark []int32) error {
	var err error
	checked := len(rows)
	for k, r := range rows {
		if r < 0 || int(r) >= len(mark) {
			err = fmt.Errorf("samplers: seed %d is node %d, outside [0, %d)", k, r, len(mark))
		} else if mark[r] != 0 {
			err = fmt.Errorf("samplers: seed %d is node %d, which is a seed already", k, r)
		}
		if err != nil {
			checked = k
			break
		}
		mark[r] = 1
	}
	for _, r := range rows[:checked] {
		mark[r] = 0
	}
	return err
}

// fill sets block to the rows over the columns of the neighborhood: column c of
// the neighborhood becomes column local[c] of the block, times factor[local[c]],
// and is left out where local[c] < 0. block.Src must be set already.
func (h *neighborhood) fill(block *graph.Block, p *graph.Laplacian, rows []int32, local []int32, factor []float64) {
	m := startBlock(block, rows)
	adjacency := p.Adjacency
	m.Idx = resize(m.Idx, len(h.entries))
	m.Val = resize(m.Val, len(h.entries))
	idx, val := m.Idx, m.Val
	at, from := 0, 0
	for i, r := range rows {
		entries := h.entries[from : from+p.RowNNZ(int(r))]
		from += len(entries)
		scale := float64(p.RowScale[r])
		values := adjacency.RowValues(int(r))
		for k, c := range entries {
			l := local[c]
			if l < 0 {
				continue
			}
			v := scale * factor[l]
			if values != nil && k > 0 {
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

// startBlock sets block's output nodes and the size of its matrix, given its
// input nodes, and returns the matrix, whose rows are still to be filled.
func startBlock(block *graph.Block, rows []int32) *graph.CSR {
	block.Dst = append(block.Dst[:0], rows...)
	m := &block.Matrix
	m.Rows, m.Cols = len(rows), len(block.Src)
	m.Ptr = resize(m.Ptr, len(rows)+1)
	m.Ptr[0] = 0
	return m
}
