package partition

import (
	"fmt"
	"math"

	"github.com/gcn-layerwise/gcn/graph"
)

// imbalance is the share by which a part may exceed the average size.
const imbalance = 0.05

// Multilevel splits the graph into the given number of parts and returns the
// part of each node. No part is empty, and none has more than 1.05 times the
// average number of nodes, rounded up. The adjacency matrix must be symmetric.
//
// The method is multilevel partitioning with size-constrained label propagation
// (Meyerhenke, Sanders & Schulz 2014, "Partitioning Complex Networks via
// Size-Constrained Clustering", arXiv:1402.3281). Unlike matchings, label propagation
// also coarsens graphs with hubs. Each level contracts clusters of nodes, far smaller
// than a part, until the graph is small. Parts of the smallest graph grow greedily
// (Karypis & Kumar 1998). Back on each finer level, label propagation moves nodes
// between parts.
//
// Cost: O(edges) per level and round, about 20 passes over the edges in all. Memory:
// about 8 bytes per stored entry and 30 per node, beside the graph.
func Multilevel(a *graph.CSR, parts int) ([]int32, error) {
	n := a.Rows
	if err := check(a, parts); err != nil {
		return nil, err
	}
	part := make([]int32, n)
	if parts == 1 {
		return part, nil
	}
	limit := int64(math.Ceil((1 + imbalance) * math.Ceil(float64(n)/float64(parts))))
	finest := &level{ptr: a.Ptr, idx: a.Idx}
	levels := []*level{finest}
	var maps [][]int32
	scratch := new(connections)
	for {
		fine := levels[len(levels)-1]
		if fine.nodes() <= coarsest*parts || len(levels) > 20 {
			break
		}
		cluster, count := fine.cluster(clusterLimit(n, parts, fine.nodes()), scratch)
		if float64(count) > 0.95*float64(fine.nodes()) {
			break
		}
		maps = append(maps, cluster)
		levels = append(levels, fine.contract(cluster, count, scratch))
	}
	coarse := levels[len(levels)-1]
	part = coarse.grow(parts, limit)
	for l := len(levels) - 1; l > 0; l-- {
		levels[l].refine(part, parts, limit, 10, scratch)
		finer := make([]int32, levels[l-1].nodes())
		for v, c := range maps[l-1] {
			finer[v] = part[c]
		}
		part = finer
		levels[l] = nil
	}
	finest.refine(part, parts, limit, 4, scratch)
	finest.balance(part, parts, limit, scratch)
	finest.refine(part, parts, limit, 1, scratch)
	return part, nil
}

// coarsest is the approximate number of nodes per part in the coarsest graph.
const coarsest = 12

// clusterLimit returns the largest weight of a cluster on a level of now nodes, for a
// graph of n nodes. A cluster has up to eight times the mean weight of a node, and at
// most a quarter of the weight of a part, so that parts can be balanced.
func clusterLimit(n, parts, now int) int64 {
	mean := float64(n) / float64(now)
	return int64(math.Max(2, math.Min(8*mean, float64(n)/float64(parts)/4)))
}

func check(a *graph.CSR, parts int) error {
	if parts < 1 || parts > a.Rows {
		return fmt.Errorf("partition: %d parts of %d nodes, want between 1 and the number of nodes", parts, a.Rows)
	}
	return nil
}

// level is one of the graphs, finest to coarsest. The weight of a coarse node or edge
// is the sum of the weights contracted into it.
type level struct {
	ptr    []int64
	idx    []int32
	weight []int32 // of edges; nil: all 1
	node   []int32 // weights of nodes; nil: all 1
}

func (g *level) nodes() int { return len(g.ptr) - 1 }

func (g *level) nodeWeight(v int) int64 {
	if g.node == nil {
		return 1
	}
	return int64(g.node[v])
}

// connections adds up the weight of the edges between one node and each cluster or
// part.
type connections struct {
	weight []int64
	labels []int32 // the clusters or parts with an edge to the node
}

// reset makes room for n clusters. All weights are 0 before collect, and again after
// forget.
func (c *connections) reset(n int) {
	if len(c.weight) < n {
		c.weight = make([]int64, n)
	}
}

// collect adds up the edges of v by label.
func (c *connections) collect(g *level, v int, label []int32) {
	c.labels = c.labels[:0]
	for k := g.ptr[v]; k < g.ptr[v+1]; k++ {
		l := label[g.idx[k]]
		if l < 0 {
			continue
		}
		if c.weight[l] == 0 {
			c.labels = append(c.labels, l)
		}
		c.weight[l] += g.edge(k)
	}
}

func (c *connections) forget() {
	for _, l := range c.labels {
		c.weight[l] = 0
	}
}

// cluster groups nodes by label propagation: each node in turn joins the cluster with
// most edges to it that stays within limit. It returns the cluster of each node, and
// the number of clusters.
func (g *level) cluster(limit int64, scratch *connections) (label []int32, count int) {
	n := g.nodes()
	label = make([]int32, n)
	weight := make([]int64, n)
	for v := range label {
		label[v], weight[v] = int32(v), g.nodeWeight(v)
	}
	scratch.reset(n)
	order := g.byDegree()
	const rounds = 3
	for range rounds {
		moved := 0
		for _, v := range order {
			scratch.collect(g, int(v), label)
			own, w := label[v], g.nodeWeight(int(v))
			best, most := own, scratch.weight[own]
			for _, l := range scratch.labels {
				// Ties go to the lighter cluster, so that clusters grow evenly.
				c := scratch.weight[l]
				if l != own && (c > most || c == most && weight[l] < weight[best]) && weight[l]+w <= limit {
					best, most = l, c
				}
			}
			scratch.forget()
			if best != own {
				weight[own] -= w
				weight[best] += w
				label[v] = best
				moved++
			}
		}
		if moved < n/50 {
			break
		}
	}
	number := make([]int32, n)
	for _, l := range label {
		if number[l] == 0 {
			count++
			number[l] = int32(count)
		}
	}
	for v, l := range label {
		label[v] = number[l] - 1
	}
	return label, count
}

// byDegree returns the nodes by increasing degree, then by number: hubs choose last,
// when clusters have formed.
func (g *level) byDegree() []int32 {
	n := g.nodes()
	highest := int64(0)
	for v := range n {
		highest = max(highest, g.ptr[v+1]-g.ptr[v])
	}
	start := make([]int32, highest+2)
	for v := range n {
		start[g.ptr[v+1]-g.ptr[v]+1]++
	}
	for d := range highest {
		start[d+1] += start[d]
	}
	order := make([]int32, n)
	for v := range n {
		d := g.ptr[v+1] - g.ptr[v]
		order[start[d]] = int32(v)
		start[d]++
	}
	return order
}

// contract returns the graph of clusters, without the edges inside a cluster.
func (g *level) contract(cluster []int32, count int, scratch *connections) *level {
	scratch.reset(count)
	c := &level{ptr: make([]int64, count+1), node: make([]int32, count)}
	members, ends := make([]int32, len(cluster)), make([]int32, count)
	for v, l := range cluster {
		ends[l]++
		c.node[l] += int32(g.nodeWeight(v))
	}
	for l := 1; l < count; l++ {
		ends[l] += ends[l-1]
	}
	for v := len(cluster) - 1; v >= 0; v-- {
		l := cluster[v]
		ends[l]--
		members[ends[l]] = int32(v)
	}
	var touched []int32
	for l := range count {
		last := len(members)
		if l+1 < count {
			last = int(ends[l+1])
		}
		touched = touched[:0]
		for _, v := range members[ends[l]:last] {
			scratch.collect(g, int(v), cluster)
			// collect lists a label only while its weight is 0, so once per cluster.
			touched = append(touched, scratch.labels...)
		}
		for _, o := range touched {
			if int(o) != l {
				c.idx = append(c.idx, o)
				c.weight = append(c.weight, int32(min(scratch.weight[o], math.MaxInt32)))
			}
			scratch.weight[o] = 0
		}
		c.ptr[l+1] = int64(len(c.idx))
	}
	return c
}
