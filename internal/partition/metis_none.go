//go:build nodlopen || !linux || !(amd64 || arm64)

package partition

import (
	"errors"

	"github.com/gcn-layerwise/gcn/graph"
)

// Metis is METIS loaded from a shared library, which this build cannot do: the
// platform is not Linux, or the build tag nodlopen is set.
type Metis struct{}

var errNoLibrary = errors.New("partition: this build cannot load shared libraries")

// FindMetis returns an error.
func FindMetis() (*Metis, error) { return nil, errNoLibrary }

// OpenMetis returns an error.
func OpenMetis(string) (*Metis, error) { return nil, errNoLibrary }

// Name returns METIS.
func (*Metis) Name() string { return "METIS" }

// Partition returns an error.
func (*Metis) Partition(*graph.CSR, int) ([]int32, error) { return nil, errNoLibrary }
