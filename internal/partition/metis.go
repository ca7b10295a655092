//go:build !nodlopen && linux && (amd64 || arm64)

package partition

import (
	"fmt"
	"math"
	"path/filepath"
	"sync"
	"unsafe"

	"github.com/ebitengine/purego"

	"github.com/gcn-layerwise/gcn/graph"
)

// Metis is METIS, version 5, loaded from a shared library: multilevel k-way
// partitioning (Karypis & Kumar 1998, "Multilevel k-way Partitioning Scheme for
// Irregular Graphs"). It stays loaded for the life of the process.
type Metis struct {
	path  string
	kway  uintptr
	width int // bytes of METIS's integers, 4 or 8
}

// metisOptions is the length of METIS's array of options.
const metisOptions = 40

// libraries are names under which the dynamic linker may know METIS.
var libraries = [...]string{"libmetis.so.5", "libmetis.so"}

// FindMetis loads the first METIS that the system has, or returns an error.
func FindMetis() (*Metis, error) {
	var first error
	for _, path := range libraries {
		m, err := OpenMetis(path)
		if err == nil {
			return m, nil
		}
		if first == nil {
			first = err
		}
	}
	return nil, first
}

// OpenMetis loads the library at path, or the one that the dynamic linker finds
// under that name. Loading runs the library's own code.
func OpenMetis(path string) (*Metis, error) {
	handle, err := purego.Dlopen(path, purego.RTLD_NOW|purego.RTLD_LOCAL)
	if err != nil {
		return nil, fmt.Errorf("partition: %s cannot be loaded: %v", path, err)
	}
	m := &Metis{path: path}
	if m.kway, err = purego.Dlsym(handle, "METIS_PartGraphKway"); err != nil {
		return nil, fmt.Errorf("partition: %s has no METIS_PartGraphKway", path)
	}
	defaults, err := purego.Dlsym(handle, "METIS_SetDefaultOptions")
	if err != nil {
		return nil, fmt.Errorf("partition: %s has no METIS_SetDefaultOptions", path)
	}
	// METIS is built for integers of 4 or of 8 bytes and does not say which, but
	// sets 40 options to -1.
	options := make([]int64, metisOptions)
	purego.SyscallN(defaults, uintptr(unsafe.Pointer(&options[0])))
	m.width = 4
	if options[metisOptions-1] == -1 {
		m.width = 8
	}
	return m, nil
}

// Name says what was loaded.
func (m *Metis) Name() string { return fmt.Sprintf("METIS (%s)", filepath.Base(m.path)) }

// Partition splits the graph into parts and returns the part of each node. Parts
// may be empty. The adjacency matrix must be symmetric.
//
// Memory: a copy of the graph, and METIS's own. METIS handles SIGTERM and
// SIGABRT while it runs, and would end the process on running out of memory.
func (m *Metis) Partition(a *graph.CSR, parts int) ([]int32, error) {
	if err := check(a, parts); err != nil {
		return nil, err
	}
	if parts == 1 {
		return make([]int32, a.Rows), nil
	}
	if m.width == 8 {
		part, err := partGraph(m, make([]int64, a.Rows), a, parts)
		narrow := make([]int32, len(part))
		for v, p := range part {
			narrow[v] = int32(p)
		}
		return narrow, err
	}
	if a.NNZ() > math.MaxInt32 {
		return nil, fmt.Errorf("partition: %s counts in 32 bits, too few for %d entries", m.Name(), a.NNZ())
	}
	return partGraph(m, make([]int32, a.Rows), a, parts)
}

// running keeps calls of METIS apart: it seeds a random generator of the whole
// process.
var running sync.Mutex

// partGraph calls METIS_PartGraphKway with the integers of part.
func partGraph[T int32 | int64](m *Metis, part []T, a *graph.CSR, parts int) ([]T, error) {
	ptr, idx := make([]T, len(a.Ptr)), make([]T, max(len(a.Idx), 1))
	for i, p := range a.Ptr {
		ptr[i] = T(p)
	}
	for k, j := range a.Idx {
		idx[k] = T(j)
	}
	nodes, constraints, count := T(a.Rows), T(1), T(parts)
	var cut T
	running.Lock()
	restore := keepSignals()
	status, _, _ := purego.SyscallN(m.kway,
		uintptr(unsafe.Pointer(&nodes)), uintptr(unsafe.Pointer(&constraints)),
		uintptr(unsafe.Pointer(&ptr[0])), uintptr(unsafe.Pointer(&idx[0])),
		0, 0, 0, // weights of nodes and edges, sizes of nodes: all 1
		uintptr(unsafe.Pointer(&count)),
		0, 0, 0, // shares, imbalance, options: the defaults
		uintptr(unsafe.Pointer(&cut)), uintptr(unsafe.Pointer(&part[0])))
	restore()
	running.Unlock()
	if int32(status) != 1 {
		return nil, fmt.Errorf("partition: %s failed with status %d on %d nodes and %d parts", m.Name(), int32(status), a.Rows, parts)
	}
	for v, p := range part {
		if p < 0 || p >= count {
			return nil, fmt.Errorf("partition: %s put node %d into part %d of %d", m.Name(), v, p, parts)
		}
	}
	return part, nil
}
