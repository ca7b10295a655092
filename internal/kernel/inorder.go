package kernel

import (
	"context"
	"fmt"
	"runtime/debug"
	"sync"

	"github.com/gcn-layerwise/gcn/graph"
)

// InOrder computes rows of P·X with few random reads of X, for a dense X in a mapped file
// larger than memory. It reads X once from its first row to its last, a tile at a time, and
// adds to each row of the result the entries whose columns are in the tile:
//
//	tile of X   │■│ │ │ │      rows ─▶ [ sums so far ] ◀─ entries in this tile
//
// Only the sums, and a copy of the rows' columns, are in memory. The copy's memory is used
// again by the next call. The zero value has tiles of the usual size. It is for one goroutine.
type InOrder struct {
	Tile int // rows of X in a tile; 0 means 256 MiB of X

	entries orderedEntries
}

// inOrderTile is the usual size of a tile in bytes. A tile and the next one should fit in the
// page cache. With smaller tiles there are fewer entries to add at a time.
const inOrderTile = 256 << 20

// InOrderBytes returns the memory that a row of P with the given number of entries takes in
// Propagate, beside its row of the result.
func InOrderBytes(entries int) int64 { return 4 + 8 + 4 + 4*int64(entries) }

// Propagate sets row i of dst, len(rows)×x.Cols, to row rows[i] of P·X. It has the same bits
// as from PropagateRows and PropagateRowsHalf: both add the self-loop, then the neighbours
// in ascending order. The columns of each row of P must ascend, as ValidateAdjacency
// demands. x must be dense. The self-loops' rows of X are read first, in the opposite order
// of rows, which should ascend.
//
// progress, if not nil, is called now and then with the share of the work that is done. ctx
// is checked at each tile.
func (o *InOrder) Propagate(ctx context.Context, dst []float32, p *graph.Laplacian, rows []int32, x *graph.Features, progress func(share float64)) error {
	n, width := p.Nodes(), x.Cols
	checkLen("Propagate", "dst", len(dst), len(rows)*width)
	if len(rows) == 0 || width == 0 {
		return nil
	}
	entries := &o.entries
	if progress == nil {
		progress = func(float64) {}
	}
	// Shares of the bytes that are read from a large file, about.
	const copied, own = 0.2, 0.6
	if err := entries.copy(ctx, p, rows); err != nil {
		return err
	}
	progress(copied)
	err := selfLoops(ctx, dst, p, rows, x, func(share float64) { progress(copied + (own-copied)*share) })
	if err != nil {
		return err
	}
	tile := o.Tile
	if tile < 1 {
		tile = max(inOrderTile*x.Rows/max(int(x.Bytes()), 1), 1)
	}
	var ids []int32
	var reading sync.WaitGroup
	defer reading.Wait()
	read := func(lo, hi int) { // on a goroutine: the call that starts to read many rows takes time
		if x.Prefetch == nil || lo >= hi {
			return
		}
		reading.Wait()
		ids = ids[:0]
		for i := lo; i < hi; i++ {
			ids = append(ids, int32(i))
		}
		reading.Go(func() { x.Prefetch(ids) })
	}
	read(0, min(tile, n))
	for lo := 0; lo < n; lo += tile {
		if err := ctx.Err(); err != nil {
			return err
		}
		hi := min(lo+tile, n)
		read(hi, min(hi+tile, n))
		withScratch(len(rows), grain(width*4), width, func(s *halfScratch, i int) {
			entries.next(&s.row, p, i, rows[i], hi)
			if len(s.row.Idx) > 0 {
				s.add(rowOf(dst, i, width), x, true)
			}
		})
		progress(own + (1-own)*float64(hi)/float64(n))
	}
	return nil
}

// selfLoops sets dst to the products of the rows' own features.
func selfLoops(ctx context.Context, dst []float32, p *graph.Laplacian, rows []int32, x *graph.Features, progress func(share float64)) error {
	return graph.FromLast(ctx, rows, x.Prefetch, func(lo, hi int) error {
		withScratch(hi-lo, grain(x.Cols), x.Cols, func(s *halfScratch, i int) {
			r := rows[lo+i]
			s.row.Idx, s.row.Val = append(s.row.Idx[:0], r), append(s.row.Val[:0], p.RowScale[r]*p.ColScale[r])
			s.add(rowOf(dst, lo+i, x.Cols), x, false)
		})
		progress(1 - float64(lo)/float64(len(rows)))
		return nil
	})
}

// orderedEntries are the columns of some rows of P, with a place in each row.
type orderedEntries struct {
	ptr     []int64
	done    []int32 // entries of each row before the current tile
	columns []int32
}

// copy copies the columns of rows: in a file larger than memory they may be far from each
// other, and each tile reads them.
func (e *orderedEntries) copy(ctx context.Context, p *graph.Laplacian, rows []int32) error {
	e.ptr = append(e.ptr[:0], 0)
	resize(&e.done, len(rows))
	clear(e.done)
	for i, r := range rows {
		e.ptr = append(e.ptr, e.ptr[i]+int64(p.Adjacency.Degree(int(r))))
	}
	resize(&e.columns, int(e.ptr[len(rows)]))
	return graph.FromLast(ctx, rows, p.Adjacency.Prefetch, func(lo, hi int) error {
		for i, r := range rows[lo:hi] {
			own := p.Adjacency.Row(int(r))
			for k := 1; k < len(own); k++ {
				if own[k-1] >= own[k] {
					return fmt.Errorf("kernel: the columns of row %d do not ascend: %w", r, graph.ErrInvalid)
				}
			}
			copy(e.columns[e.ptr[lo+i]:], own)
		}
		return nil
	})
}

// resize sets the length of s to n, in its memory if n fits. A smaller memory is freed before
// the new one is allocated.
func resize(s *[]int32, n int) {
	if cap(*s) >= n {
		*s = (*s)[:n]
		return
	}
	large := cap(*s) > 1<<24
	*s = nil
	if large {
		debug.FreeOSMemory()
	}
	*s = make([]int32, n)
}

// next sets row to the entries of row r, number i of the rows, that are not done yet and have
// columns below end.
func (e *orderedEntries) next(row *graph.CSR, p *graph.Laplacian, i int, r int32, end int) {
	row.Idx, row.Val = row.Idx[:0], row.Val[:0]
	columns, first := e.columns[e.ptr[i]:e.ptr[i+1]], int(e.done[i])
	last := first
	for last < len(columns) && int(columns[last]) < end {
		last++
	}
	if last == first {
		return
	}
	e.done[i] = int32(last)
	appendEntries(row, p, r, columns[first:last], first)
}
