package samplers

import (
	"fmt"
	"math"

	"github.com/gcn-layerwise/gcn/graph"
)

// numbering gives the nodes of a block's input their local numbers, 0, 1, … in
// the order in which they come. One belongs to one worker; its memory, 8 bytes a
// node of the graph, is kept from block to block. The zero value is ready for
// begin.
type numbering struct {
	laplacian *graph.Laplacian
	cells     []numberCell // of every node of the graph
	symmetric bool         // RowScale is ColScale
	base      int32        // what is below it in cells was given to another block
	nodes     []int32      // the nodes numbered
}

// numberCell is what is wanted of a node when it is met: two reads at random in
// one.
type numberCell struct {
	number int32   // base + the local number
	scale  float32 // the node's ColScale
}

// begin forgets all numbers, makes room for the nodes of p, and appends those
// numbered to nodes from now on. Cost: O(1), but for the first time and once in
// about 2³¹ numbers.
func (g *numbering) begin(p *graph.Laplacian, nodes []int32) {
	n := p.Nodes()
	g.base += int32(len(g.nodes))
	if g.laplacian != p || g.base > math.MaxInt32-int32(n) {
		g.laplacian, g.base = p, 1
		g.symmetric = n > 0 && &p.RowScale[0] == &p.ColScale[0]
		g.cells = resize(g.cells, n)
		for i := range g.cells {
			g.cells[i] = numberCell{scale: p.ColScale[i]}
		}
	}
	g.nodes = nodes[:0]
}

// addDistinct numbers rows, which must be nodes that are not there yet; the
// error says which is not.
func (g *numbering) addDistinct(rows []int32) error {
	for k, r := range rows {
		if r < 0 || int(r) >= len(g.cells) {
			return fmt.Errorf("samplers: seed %d is node %d, outside [0, %d)", k, r, len(g.cells))
		}
		if g.number(r) >= 0 {
			return fmt.Errorf("samplers: seed %d is node %d, which is a seed already", k, r)
		}
		g.add(r)
	}
	return nil
}

// number returns the local number of node, below 0 if it has none.
func (g *numbering) number(node int32) int32 { return g.cells[node].number - g.base }

// rowScale returns the node's RowScale, from its cell where that has it.
func (g *numbering) rowScale(node int32) float32 {
	if g.symmetric {
		return g.cells[node].scale
	}
	return g.laplacian.RowScale[node]
}

// local returns the local number of node, giving it the next one if it has none.
func (g *numbering) local(node int32) int32 {
	if c := g.number(node); c >= 0 {
		return c
	}
	return g.add(node)
}

// add gives node the next number.
func (g *numbering) add(node int32) int32 {
	c := int32(len(g.nodes))
	g.cells[node].number = g.base + c
	g.nodes = append(g.nodes, node)
	return c
}

// touch reads the cells of nodes once, in a loop without branches, so that the
// processor waits for many cache misses at a time. What it returns means
// nothing, but must be kept lest the reading be optimised away.
func (g *numbering) touch(nodes []int32) (touched int32) {
	cells := g.cells
	for _, i := range nodes {
		touched ^= cells[i].number
	}
	return touched
}
