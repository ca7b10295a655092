package samplers

import (
	"math"
	"slices"

	"github.com/gcn-layerwise/gcn/graph"
	"github.com/gcn-layerwise/gcn/internal/kernel"
	"github.com/gcn-layerwise/gcn/internal/memory"
)

// numbering gives the input nodes of a block their local numbers 0, 1, … in the
// order of their first use. One call at a time may use it, for one graph. Its memory is kept from
// block to block: 8 bytes per node of the graph, or, of a graph with more than
// mostSlots nodes, up to 32 bytes per numbered node. The zero value is ready for begin.
type numbering struct {
	nodeTable
	laplacian *graph.Laplacian
	nodes     []int32   // the nodes that have a number, in order
	scales    []float32 // their ColScale
	ofRows    []int32   // memory of begin
}

// mostSlots is the largest number of nodes of a graph whose numberings have a slot for
// each. The slots of a larger graph would lie outside of all caches, and each goroutine
// that samples would hold gigabytes of them.
const mostSlots = 1 << 22

// begin forgets all numbers, and numbers rows first, which are distinct nodes of p. Cost: O(rows), but
// O(slots) the first time and once in about 2³⁰ numbers.
func (g *numbering) begin(p *graph.Laplacian, rows []int32) {
	if n := p.Nodes(); n <= mostSlots && g.laplacian != p {
		g.nodeTable = nodeTable{slots: memory.Large[nodeSlot](n), factor: 1, base: 1}
		for k, c := range p.ColScale {
			g.slots[k].node = int32(math.Float32bits(c))
		}
	}
	g.laplacian, g.nodes, g.scales = p, g.nodes[:0], g.scales[:0]
	g.reset(len(rows))
	g.numberEach(rows, resize(&g.ofRows, len(rows)))
}

// numberOrAdd returns the local number of node, and gives it the next one if it has
// none.
func (g *numbering) numberOrAdd(node int32) int32 {
	g.reserve(len(g.nodes)+1, g.nodes)
	number, isNew := g.add(node)
	if isNew {
		g.nodes = append(g.nodes, node)
		g.scales = append(g.scales, g.colScale(node))
	}
	return number
}

// chunkNodes is the number of nodes that are numbered together: about as many as the reads that a
// processor waits for at a time.
const chunkNodes = 32

// numberEach sets numbers to the number of each of nodes, which is the next one if it has none. Both
// have the same length. It goes through a chunk of nodes several times, and prefetches the next
// chunk's slots.
func (g *numbering) numberEach(nodes, numbers []int32) {
	g.reserve(len(g.nodes)+len(nodes), g.nodes)
	g.prefetch(nodes, numbers)
	for len(nodes) > 0 {
		m := min(chunkNodes, len(nodes))
		g.prefetch(nodes[m:], numbers[m:])
		slots, base, count := g.slots, g.base, int32(len(g.nodes))
		for k, i := range nodes[:m] {
			slot := &slots[g.firstSlot(i)]
			if g.factor != 1 {
				slot = search(slots, base, i, g.firstSlot(i))
				slot.node = i
			}
			// No branch: a processor cannot predict whether a node has a number.
			c := slot.number - base
			isNew := c >> 31 // all ones, or 0
			c = c&^isNew | count&isNew
			count -= isNew
			slot.number, numbers[k] = base+c, c
		}
		// In a loop of its own: a store to a place that depends on a number would make all
		// later reads of numbers wait.
		list := slices.Grow(g.nodes, int(count)-len(g.nodes))[:count]
		for k, c := range numbers[:m] {
			list[c] = nodes[k]
		}
		scales := g.scales
		for _, v := range list[len(g.nodes):] {
			scales = append(scales, g.colScale(v))
		}
		g.size, g.nodes, g.scales, nodes, numbers = count, list, scales, nodes[m:], numbers[m:]
	}
}

// colScale returns the ColScale of node.
func (g *numbering) colScale(node int32) float32 {
	if g.factor == 1 {
		return math.Float32frombits(uint32(g.slots[node].node))
	}
	return g.laplacian.ColScale[node]
}

// prefetch brings the slots and the scales of the first chunk of nodes near. numbers is memory for it.
func (g *numbering) prefetch(nodes, numbers []int32) {
	nodes = nodes[:min(chunkNodes, len(nodes))]
	if g.factor != 1 {
		kernel.Prefetch(g.laplacian.ColScale, nodes)
		for k, node := range nodes {
			numbers[k] = int32(g.firstSlot(node))
		}
		nodes = numbers[:len(nodes)]
	}
	kernel.Prefetch(g.slots, nodes)
}
