package samplers

import (
	"fmt"
	"os"

	"github.com/gcn-layerwise/gcn/graph"
	"github.com/gcn-layerwise/gcn/internal/partition"
)

// Partitioner splits a graph into parts of about equal size with few edges
// between them.
type Partitioner interface {
	Name() string

	// Partition returns the part of each node, in [0, parts). Parts may be
	// empty. The adjacency matrix is symmetric and is not changed.
	Partition(adjacency *graph.CSR, parts int) ([]int32, error)
}

// Multilevel is the built-in partitioner: size-constrained label propagation on
// several levels. It gives the same parts on every machine.
type Multilevel struct{}

// Name returns "built-in multilevel".
func (Multilevel) Name() string { return "built-in multilevel" }

// Partition implements Partitioner. No part is empty.
func (Multilevel) Partition(adjacency *graph.CSR, parts int) ([]int32, error) {
	return partition.Multilevel(adjacency, parts)
}

// METIS returns the partitioner of libmetis 5: from the shared library at path,
// or, with an empty path, wherever the system has it. METIS is a little better
// than Multilevel, most of all on meshes, and several times slower. Linux only.
func METIS(path string) (Partitioner, error) {
	open := partition.FindMetis
	if path != "" {
		open = func() (*partition.Metis, error) { return partition.OpenMetis(path) }
	}
	m, err := open()
	if err != nil {
		return nil, err
	}
	return m, nil
}

// metisVariable names the environment variable that DefaultPartitioner reads.
const metisVariable = "GCN_METIS"

// DefaultPartitioner returns METIS where the system has it, and Multilevel{}
// elsewhere. The environment variable GCN_METIS overrides that: "off" means
// Multilevel{}, and anything but "auto" is the path of the library, which must
// load then.
func DefaultPartitioner() (Partitioner, error) {
	switch path := os.Getenv(metisVariable); path {
	case "", "auto":
		if m, err := METIS(""); err == nil {
			return m, nil
		}
		return Multilevel{}, nil
	case "off":
		return Multilevel{}, nil
	default:
		m, err := METIS(path)
		if err != nil {
			return nil, fmt.Errorf("samplers: %s: %w", metisVariable, err)
		}
		return m, nil
	}
}
