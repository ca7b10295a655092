package samplers

import (
	"math"
	"slices"

	"github.com/gcn-layerwise/gcn/graph"
	"github.com/gcn-layerwise/gcn/internal/kernel"
)

// numbering gives the input nodes of a block their local numbers 0, 1, … in the
// order of their first use. One call at a time may use it. Its memory is kept from
// block to block: 8 bytes per node of the graph, or, of a graph with more than
// mostCells nodes, up to 32 bytes per numbered node. The zero value is ready for begin.
type numbering struct {
	laplacian *graph.Laplacian
	cells     []numberCell // one per node of the graph; none if table is in use
	table     nodeTable    // of a large graph
	base      int32        // numbers below base belong to earlier blocks
	nodes     []int32      // the nodes that have a number, in order
}

// mostCells is the largest number of nodes of a graph whose numberings have a cell for
// each. The cells of a larger graph would lie outside of all caches, and each goroutine
// that samples would hold gigabytes of them.
const mostCells = 1 << 22

// numberCell holds the number and the scale of a node side by side, so that one
// random read fetches both.
type numberCell struct {
	number int32   // base + the local number
	scale  float32 // the node's ColScale
}

// begin forgets all numbers and makes room for the nodes of p. Cost: O(1), but O(cells) the first
// time and once in about 2³¹ numbers.
func (g *numbering) begin(p *graph.Laplacian) {
	n := p.Nodes()
	g.base += int32(len(g.nodes))
	if g.laplacian != p || g.base > math.MaxInt32-int32(n) {
		g.laplacian, g.base = p, 1
		if n > mostCells {
			n = 0
		}
		for i := range resize(&g.cells, n) {
			g.cells[i] = numberCell{scale: p.ColScale[i]}
		}
	}
	if len(g.cells) == 0 {
		g.table.reset(0)
	}
	g.nodes = g.nodes[:0]
}

// start numbers rows first, which must be distinct nodes of p. The error names a row that is not.
func (g *numbering) start(p *graph.Laplacian, rows []int32) error {
	g.begin(p)
	if err := g.table.check("seed", rows, p.Nodes()); err != nil {
		return err
	}
	for _, r := range rows {
		g.add(r)
	}
	return nil
}

// number returns the local number of node, or a negative number if it has none.
func (g *numbering) number(node int32) int32 {
	if len(g.cells) == 0 {
		return g.table.number(node)
	}
	return g.cells[node].number - g.base
}

// numberOrAdd returns the local number of node, and gives it the next one if it has
// none.
func (g *numbering) numberOrAdd(node int32) int32 {
	if c := g.number(node); c >= 0 {
		return c
	}
	return g.add(node)
}

// add gives node the next number.
func (g *numbering) add(node int32) int32 {
	c := int32(len(g.nodes))
	if len(g.cells) > 0 {
		g.cells[node].number = g.base + c
	} else {
		g.table.reserve(len(g.nodes)+1, g.nodes)
		g.table.add(node)
	}
	g.nodes = append(g.nodes, node)
	return c
}

// chunkNodes is the number of nodes that are numbered together.
const chunkNodes = 256

// numberEach gives each of nodes its number, or the next one if it has none. It sets numbers
// and the ColScale of each node; both have the length of nodes. It goes through a chunk of nodes
// several times, and prefetches the next chunk's cells or scales.
func (g *numbering) numberEach(nodes, numbers []int32, scales []float32) {
	if len(g.cells) == 0 {
		g.table.reserve(len(g.nodes)+len(nodes), g.nodes)
	}
	g.prefetch(nodes[:min(chunkNodes, len(nodes))])
	for len(nodes) > 0 {
		m := min(chunkNodes, len(nodes))
		g.prefetch(nodes[m:min(m+chunkNodes, len(nodes))])
		count := g.numberChunk(nodes[:m], numbers[:m], scales[:m])
		// In a loop of its own: a store to a place that depends on a number would make all
		// later reads of numbers wait.
		list := slices.Grow(g.nodes, count-len(g.nodes))[:count]
		for k, c := range numbers[:m] {
			list[c] = nodes[k]
		}
		g.nodes, nodes, numbers, scales = list, nodes[m:], numbers[m:], scales[m:]
	}
}

// prefetch brings what numberEach reads of nodes near.
func (g *numbering) prefetch(nodes []int32) {
	if len(g.cells) == 0 {
		kernel.Prefetch(g.laplacian.ColScale, nodes)
	} else {
		kernel.Prefetch(g.cells, nodes)
	}
}

// numberChunk does the numbers and scales of one chunk. It returns the number of nodes that have a
// number now.
func (g *numbering) numberChunk(nodes, numbers []int32, scales []float32) int {
	cells, base, count := g.cells, g.base, int32(len(g.nodes))
	if len(cells) == 0 {
		base = g.table.base
		for k, i := range nodes {
			scales[k] = g.laplacian.ColScale[i]
		}
		g.table.firstSlots(numbers, nodes)
		kernel.Prefetch(g.table.slots, numbers)
	}
	for k, i := range nodes {
		var number *int32
		if len(cells) > 0 {
			cell := &cells[i]
			number, scales[k] = &cell.number, cell.scale
		} else {
			slot := g.table.place(i)
			slot.node, number = i, &slot.number
		}
		// No branch: a processor cannot predict whether a node has a number.
		c := *number - base
		isNew := c >> 31 // all ones, or 0
		c = c&^isNew | count&isNew
		count -= isNew
		*number, numbers[k] = base+c, c
	}
	if len(cells) == 0 {
		g.table.size = count
	}
	return int(count)
}
