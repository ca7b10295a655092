// Package partition splits the nodes of a graph into parts of nearly equal size
// with few edges between them.
//
//	graph.CSR, number of parts ─▶ Multilevel ─▶ part of each node ─▶ samplers.Clusters
//
// It ignores the weights of edges, and is deterministic: the same graph and
// number of parts give the same split.
package partition

import (
	"cmp"
	"fmt"
	"math"
	"slices"

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
	if parts < 1 || parts > n {
		return nil, fmt.Errorf("partition: %d parts of %d nodes, want between 1 and the number of nodes", parts, n)
	}
	mean := float64(n) / float64(parts)
	to := balanced{
		parts: parts,
		least: max(int64(3*n/(4*parts)), 1),
		limit: int64(math.Ceil((1 + imbalance) * math.Ceil(mean))), lighter: 1,
	}
	g := &level{
		CSR:         *a,
		node:        slices.Repeat([]int64{1}, n),
		connections: &connections{sum: make([]int64, n)},
	}
	for rounds := 20; rounds > 0 && g.Rows > coarsest*parts; rounds-- {
		// A cluster has up to eight times the mean weight of a node, and at most a quarter of
		// the weight of a part, so that parts can be balanced.
		most := max(2, min(8*float64(n)/float64(g.Rows), mean/4))
		cluster, count := g.cluster(int64(most))
		if float64(count) > 0.95*float64(g.Rows) {
			break
		}
		g = g.contract(cluster, count)
	}
	part := g.grow(to)
	for ; g.finer != nil; g = g.finer {
		g.refine(part, to, 10)
		for v, c := range g.number {
			g.number[v] = part[c]
		}
		part = g.number
	}
	g.refine(part, to, 4)
	balance := to
	balance.above = true
	g.refine(part, balance, 1)
	g.refine(part, to, 1)
	return part, nil
}

// balanced says what parts are wanted, and their weights.
type balanced struct {
	parts        int
	least, limit int64 // least: a part does not give away nodes below it
	lighter      int64 // ties go to the lighter part, if it is lighter by so many times the node's weight
	above        bool  // only nodes of parts above limit move, and these always, to the first of equal parts
}

// coarsest is the approximate number of nodes per part in the coarsest graph.
const coarsest = 12

// level is one of the graphs, finest to coarsest. The weight of a coarse node or edge
// is the sum of the weights contracted into it.
type level struct {
	graph.CSR
	weight []int32 // of edges; nil: all 1
	node   []int64 // weights of nodes

	finer  *level  // that was contracted into this one; nil: the graph itself
	number []int32 // of its nodes: the node here

	*connections // all levels share them
}

// connections adds up the weight of the edges between one node and each cluster or
// part. Labels that are not among its labels have the weight 0.
type connections struct {
	sum    []int64
	labels []int32 // the clusters or parts with an edge to the node
}

// collect adds the edges of the nodes by label. It begins at 0.
func (g *level) collect(label []int32, nodes ...int32) {
	c := g.connections
	for _, l := range c.labels {
		c.sum[l] = 0
	}
	c.labels = c.labels[:0]
	for _, v := range nodes {
		for k := g.Ptr[v]; k < g.Ptr[v+1]; k++ {
			l := label[g.Idx[k]]
			if c.sum[l] == 0 {
				c.labels = append(c.labels, l)
			}
			c.sum[l] += g.edge(k)
		}
	}
}

// cluster groups nodes by label propagation: each node in turn joins the cluster with
// most edges to it that stays within limit. It returns the cluster of each node, and
// the number of clusters.
func (g *level) cluster(limit int64) (label []int32, count int) {
	n := g.Rows
	label = sorted(n, func(int32) int64 { return 0 }) // 0 … n−1: each node is a cluster of its own
	// By increasing degree: hubs choose last, when clusters have formed.
	order := sorted(n, func(v int32) int64 { return g.Ptr[v+1] - g.Ptr[v] })
	g.move(order, label, balanced{parts: n, limit: limit}, 3, n/50-1)
	number := make([]int32, n)
	for v, l := range label {
		if number[l] == 0 {
			count++
			number[l] = int32(count)
		}
		label[v] = number[l] - 1
	}
	return label, count
}

// move moves the nodes, in turn, each to the label with most edges to it whose weight stays within
// the limit, unless the own label would fall below the least. It stops after the given number of rounds, or after a
// round that moves no more than enough nodes. A node that must move goes to any label with room if its
// neighbours' have none.
func (g *level) move(order, label []int32, to balanced, rounds, enough int) {
	weight, next := g.weights(label, to.parts), int32(0)
	for moved := enough + 1; rounds > 0 && moved > enough; rounds-- {
		moved = 0
		for _, v := range order {
			own, w := label[v], g.node[v]
			if weight[own]-w < to.least || to.above && weight[own] <= to.limit {
				continue
			}
			g.collect(label, v)
			best, most := own, g.sum[own]
			if to.above {
				for weight[next]+w > to.limit {
					next = (next + 1) % int32(to.parts)
				}
				best, most = next, 0
			}
			for _, l := range g.labels {
				c := g.sum[l]
				if l != own && weight[l]+w <= to.limit && (c > most || c == most && !to.above && weight[l]+to.lighter*w < weight[best]) {
					best, most = l, c
				}
			}
			if best != own {
				weight[own] -= w
				weight[best] += w
				label[v] = best
				moved++
			}
		}
	}
}

// sorted returns n nodes by increasing key, then by number.
func sorted(n int, key func(v int32) int64) []int32 {
	order := make([]int32, n)
	for v := range order {
		order[v] = int32(v)
	}
	slices.SortStableFunc(order, func(a, b int32) int { return cmp.Compare(key(a), key(b)) })
	return order
}

// contract returns the graph of clusters, without the edges inside a cluster.
func (g *level) contract(cluster []int32, count int) *level {
	a := graph.CSR{Rows: count, Ptr: make([]int64, count+1)}
	var weight []int32
	members := sorted(len(cluster), func(v int32) int64 { return int64(cluster[v]) })
	for l := range count {
		size := 0
		for size < len(members) && cluster[members[size]] == int32(l) {
			size++
		}
		g.collect(cluster, members[:size]...)
		members = members[size:]
		for _, o := range g.labels {
			if int(o) != l {
				a.Idx = append(a.Idx, o)
				weight = append(weight, int32(min(g.sum[o], math.MaxInt32)))
			}
		}
		a.Ptr[l+1] = int64(len(a.Idx))
	}
	return &level{a, weight, g.weights(cluster, count), g, cluster, g.connections}
}

// refine moves each node to the part with most edges to it that stays within limit;
// ties go to the lighter part. It stops after the given number of rounds, or after a
// round that moves at most one node in 200. A part does not fall below three quarters
// of the average.
func (g *level) refine(part []int32, to balanced, rounds int) {
	order := sorted(g.Rows, func(int32) int64 { return 0 })
	g.move(order, part, to, rounds, g.Rows/200)
}

func (g *level) weights(part []int32, parts int) []int64 {
	weight := make([]int64, parts)
	for v, p := range part {
		weight[p] += g.node[v]
	}
	return weight
}
