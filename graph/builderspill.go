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
// allows it, and takes 8 bytes an edge at once. Finish with BuildSpilled, also after an error.
func (b *Builder) Spill(dir string, edges int64) error {
	values, free, err := memory.Spilled(dir, int(2*edges))
	if err != nil {
		return fmt.Errorf("graph: edges: %w", err)
	}
	if len(values) > 0 {
		b.chunks = []edgeChunk{{edges: unsafe.Slice((*Edge)(unsafe.Pointer(unsafe.SliceData(values))), edges)[:0]}}
	}
	b.spilled, b.free = dir, free
	return nil
}

// Discard gives the file of Spill back without a matrix.
func (b *Builder) Discard() error {
	if b.free == nil {
		return nil
	}
	free := b.free
	*b = Builder{nodes: b.nodes}
	return free()
}

// BuildSpilled is Build after Spill, for edges without weights. It sorts as many rows at a time
// as take so many bytes, and at least one; for each such part it reads all edges. The columns
// of the matrix lie in a file beside that of the edges, which it removes; free gives it back.
// Memory beside bytes: 8 bytes a node. progress, if not nil, is called with the entries sorted
// so far, of all.
func (b *Builder) BuildSpilled(ctx context.Context, bytes int64, progress func(done, all int64)) (m *CSR, r Report, free func() error, err error) {
	ptr, report := b.offsets(false), b.report
	values, free, err := memory.Spilled(b.spilled, int(ptr[b.nodes]))
	if err != nil {
		return nil, Report{}, nil, errors.Join(fmt.Errorf("graph: columns: %w", err), b.Discard())
	}
	m = &CSR{Rows: b.nodes, Cols: b.nodes, Ptr: ptr, Idx: unsafe.Slice((*int32)(unsafe.Pointer(unsafe.SliceData(values))), len(values))}
	var at int64 // entries kept
	part := &CSR{}
	var next []int64
	all := ptr[b.nodes]
	for lo := 0; lo < b.nodes; lo += part.Rows {
		if err := ctx.Err(); err != nil {
			return nil, Report{}, nil, errors.Join(err, free(), b.Discard())
		}
		const row = 2 * 8
		first, hi := ptr[lo], lo+1
		for hi < b.nodes && 4*(ptr[hi+1]-first)+row*int64(hi+1-lo) <= bytes {
			hi++
		}
		part.Rows, part.Cols = hi-lo, b.nodes
		part.Ptr = part.Ptr[:0]
		for _, p := range ptr[lo : hi+1] {
			part.Ptr = append(part.Ptr, p-first)
		}
		last := ptr[hi]
		next = b.fill(part, lo, false, next)
		for i, p := range part.Ptr[:part.Rows] {
			ptr[lo+i] = at + p
		}
		at += int64(copy(m.Idx[at:], part.Idx))
		if progress != nil {
			progress(last, all)
		}
	}
	ptr[b.nodes], m.Idx = at, m.Idx[:at]
	report.keep(at, false)
	if err := b.Discard(); err != nil {
		return nil, Report{}, nil, errors.Join(err, free())
	}
	return m, report, free, nil
}
