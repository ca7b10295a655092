package partition

import "container/heap"

// grow grows the parts one after the other, and returns the part of each node. A part
// starts at the border of earlier parts if there is one. It takes, among its
// neighbours, the node that leaves the fewest edges to the outside, until it has its
// share; without neighbours it takes the next free node.
func (g *level) grow(to balanced) []int32 {
	n, parts := g.Rows, to.parts
	part := make([]int32, n)
	outside := make([]int64, n) // weight of edges to nodes without a part
	border := make([]int32, n)  // a stack: at the bottom all nodes, node 0 highest; on top of them nodes next to earlier parts
	var left int64
	for v := range part {
		part[v], border[n-1-v] = -1, int32(v)
		left += g.node[v]
		for k := g.Ptr[v]; k < g.Ptr[v+1]; k++ {
			outside[v] += g.edge(k)
		}
	}
	inside := make([]int64, n) // weight of edges to the growing part
	var frontier queue
	met := make([]int32, n) // time at which the node became a neighbour of the part
	var clock int32
	remaining := n
	for p := range parts {
		share := (left + int64(parts-p) - 1) / int64(parts-p)
		var weight int64
		frontier = frontier[:0]
		for remaining >= parts-p && weight < share {
			v := int32(-1)
			for v < 0 || part[v] >= 0 { // of a node that is in the frontier twice, the newest score is the highest: the others follow it
				if last := len(border) - 1; len(frontier) > 0 {
					v = heap.Pop(&frontier).(candidate).node
				} else {
					v, border = border[last], border[:last]
				}
			}
			w := g.node[v]
			if weight+w > to.limit && p < parts-1 { // the first node fits: a cluster is at most a quarter of a part
				border = append(border, v)
				break
			}
			part[v] = int32(p)
			weight += w
			remaining--
			for k := g.Ptr[v]; k < g.Ptr[v+1]; k++ {
				if u := g.Idx[k]; part[u] < 0 {
					if inside[u] == 0 {
						clock++
						met[u] = clock
					}
					inside[u] += g.edge(k)
					heap.Push(&frontier, candidate{2*inside[u] - outside[u], met[u], u})
				}
			}
		}
		left -= weight
		for _, c := range frontier {
			if u := c.node; part[u] < 0 && inside[u] > 0 {
				border = append(border, u)
				// For the next parts, these edges are cut.
				outside[u] -= inside[u]
				inside[u] = 0
			}
		}
	}
	return part
}

func (g *level) edge(k int64) int64 {
	if g.weight == nil {
		return 1
	}
	return int64(g.weight[k])
}

// queue is a heap of candidates: the highest score first, then the earliest met,
// which makes parts round.
type queue []candidate

type candidate struct {
	score int64
	met   int32
	node  int32
}

func (q queue) Len() int { return len(q) }

func (q queue) Less(i, j int) bool {
	a, b := q[i], q[j]
	return a.score > b.score || a.score == b.score && a.met < b.met
}

func (q queue) Swap(i, j int) { q[i], q[j] = q[j], q[i] }

func (q *queue) Push(c any) { *q = append(*q, c.(candidate)) }

func (q *queue) Pop() any {
	last := len(*q) - 1
	c := (*q)[last]
	*q = (*q)[:last]
	return c
}
