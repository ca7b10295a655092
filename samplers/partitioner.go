package samplers

import (
	"github.com/gcn-layerwise/gcn/graph"
	"github.com/gcn-layerwise/gcn/internal/partition"
)

// Partitioner splits a graph into parts of about equal size with few edges
// between them.
type Partitioner interface {
	// Name names the partitioner in Cluster.Describe.
	Name() string

	// Partition returns the part of each node, in [0, parts). Parts may be
	// empty. The adjacency matrix is symmetric; Partition must not change it.
	Partition(adjacency *graph.CSR, parts int) ([]int32, error)
}

// Multilevel is the built-in partitioner: size-constrained label propagation on
// several levels (Meyerhenke, Sanders & Schulz 2014, arXiv:1402.3281). It gives
// the same parts on every machine.
type Multilevel struct{}

// Name returns "built-in multilevel".
func (Multilevel) Name() string { return "built-in multilevel" }

// Partition implements Partitioner. No part is empty.
func (Multilevel) Partition(adjacency *graph.CSR, parts int) ([]int32, error) {
	return partition.Multilevel(adjacency, parts)
}
