package samplers

import "fmt"

// numbering gives the nodes of a block's input their local numbers, 0, 1, … in
// the order in which they come. One belongs to one worker; its memory, 4 bytes a
// node of the graph, is kept from block to block.
type numbering struct {
	number []int32 // of every node of the graph: 1 + its local number, or 0
	nodes  []int32 // the nodes numbered
}

// begin makes room for a graph of n nodes and appends to nodes from now on.
// Forget must follow.
func (g *numbering) begin(n int, nodes []int32) {
	if len(g.number) != n {
		g.number = make([]int32, n)
	}
	g.nodes = nodes[:0]
}

// addDistinct numbers rows, which must be nodes that are not there yet; the
// error says which is not.
func (g *numbering) addDistinct(rows []int32) error {
	for k, r := range rows {
		if r < 0 || int(r) >= len(g.number) {
			return fmt.Errorf("samplers: seed %d is node %d, outside [0, %d)", k, r, len(g.number))
		}
		if g.number[r] != 0 {
			return fmt.Errorf("samplers: seed %d is node %d, which is a seed already", k, r)
		}
		g.nodes = append(g.nodes, r)
		g.number[r] = int32(len(g.nodes))
	}
	return nil
}

// local returns the local number of node, giving it the next one if it has none.
func (g *numbering) local(node int32) int32 {
	c := g.number[node]
	if c == 0 {
		g.nodes = append(g.nodes, node)
		c = int32(len(g.nodes))
		g.number[node] = c
	}
	return c - 1
}

// forget takes all numbers back. Cost: O(nodes numbered).
func (g *numbering) forget() {
	for _, i := range g.nodes {
		g.number[i] = 0
	}
}
