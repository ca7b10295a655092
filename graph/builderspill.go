package graph

import (
	"context"
	"errors"
	"fmt"
	"unsafe"

	"github.com/gcn-layerwise/gcn/internal/memory"
)

// Spill makes an empty builder keep its edges, at most so many, in a file in dir instead of in
// memory; "" is the system's folder of temporary files. The file has no name where the system
// allows it, and takes 8 bytes an edge at once. Finish with BuildSpilled and Close.
func (b *Builder) Spill(dir string, edges int64) error {
	b.spilled = dir
	values, err := b.scratch("edges", 2*edges)
	b.chunks = []edgeChunk{{values: values[:0]}}
	return err
}

// scratch returns so many values in a file, until Close.
func (b *Builder) scratch(what string, n int64) ([]int32, error) {
	values, free, err := memory.Spilled(b.spilled, int(n))
	if err != nil {
		return nil, fmt.Errorf("graph: %s: %w", what, err)
	}
	b.files = append(b.files, free)
	return unsafe.Slice((*int32)(unsafe.Pointer(unsafe.SliceData(values))), n), nil
}

// Close gives the files of Spill and BuildSpilled back, with the matrix.
func (b *Builder) Close() (err error) {
	for _, free := range b.files {
		err = errors.Join(err, free())
	}
	*b = Builder{nodes: b.nodes}
	return err
}

// BuildSpilled is Build after Spill, for edges without weights. It sorts as many rows at a time
// as take so many bytes, and at least one group, of 16 to 65536 rows; for each such part it reads
// all edges. The columns of the matrix lie in a second file, beside the file of the edges. The file
// of the edges is removed. The matrix is valid until Close. Memory beside bytes: 8 bytes a node, and
// 16 for each entry of the groups that are sorted at a time, one a core. progress, if not nil, is
// called with the entries sorted so far, of all.
func (b *Builder) BuildSpilled(ctx context.Context, bytes int64, progress func(done, all int64)) (*CSR, Report, error) {
	starts := b.groupStarts()
	columns, err := b.scratch("columns", starts[len(starts)-1])
	if err != nil {
		return nil, Report{}, err
	}
	m := &CSR{Idx: columns}
	report, err := b.fill(ctx, m, starts, bytes, progress)
	if err != nil {
		return nil, Report{}, err
	}
	freeEdges := b.files[0]
	b.chunks, b.files = nil, b.files[1:]
	return m, report, freeEdges()
}
