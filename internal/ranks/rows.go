package ranks

import (
	"context"
	"fmt"
	"slices"
	"sort"

	"github.com/gcn-layerwise/gcn/graph"
)

// rows is a matrix whose rows the ranks of a group hold together. It brings rows from the ranks
// that hold them. A fetch is three exchanges: of the numbers of rows that each rank asks of each
// other, of their ids, and of the rows. All ranks call it together, also a rank that needs no row.
// Rows travel as bytes.
type rows struct {
	*Partition
	x    *graph.Features                    // nil: the matrix is the graph's
	size func(row int32) int                // bytes of a row, known on all ranks
	pack func(dst []byte, row int32) []byte // appends one of this rank's rows

	place []int32                   // of each row, its number in the matrix: own rows, then fetched ones; −1: not here
	clear func()                    // takes the fetched rows out of the matrix
	add   func(row int32, b []byte) // adds a row to the matrix, behind the others

	here   []int32 // the fetched rows
	asked  []int32 // of the next update
	staged []part  // their rows
}

// part is the rows that came from one rank, one after the other.
type part struct {
	ids    []int32
	values []float32 // padded to whole values
}

// own returns the range of rows that this rank holds.
func (r *rows) own() (lo, hi int) {
	rank := r.Group.Rank()
	return r.bounds[rank], r.bounds[rank+1]
}

// fetch is graph.Share.Fetch.
func (r *rows) fetch(ctx context.Context, wanted []int32) error {
	parts, err := r.get(ctx, slices.Clone(wanted))
	if err == nil {
		r.install(parts)
	}
	return err
}

// install makes rows readable, in the place of those before.
func (r *rows) install(parts []part) {
	for _, v := range r.here {
		r.place[v] = -1
	}
	r.here = r.here[:0]
	r.clear()
	lo, hi := r.own()
	for _, p := range parts {
		bytes := Bytes(p.values)
		for _, v := range p.ids {
			r.place[v] = int32(hi - lo + len(r.here))
			r.here = append(r.here, v)
			r.add(v, bytes[:r.size(v)])
			bytes = bytes[r.size(v):]
		}
	}
}

// get returns those of the missing rows that other ranks hold, each once. It uses the memory of
// missing.
func (r *rows) get(ctx context.Context, missing []int32) ([]part, error) {
	lo, hi := r.own()
	size := r.Group.Size()
	slices.Sort(missing)
	missing = slices.DeleteFunc(slices.Compact(missing), func(v int32) bool { return int(v) >= lo && int(v) < hi })
	parts := make([]part, size)
	asked := make([][]int32, size)
	send := make([][]float32, size)
	receive := make([][]float32, size)
	counts := make([][]int32, size)
	for rank := range parts {
		at := sort.Search(len(missing), func(k int) bool { return int(missing[k]) >= r.bounds[rank+1] })
		parts[rank].ids, missing = missing[:at], missing[at:]
		counts[rank] = make([]int32, 1)
		send[rank], receive[rank] = as[float32]([]int32{int32(at)}), as[float32](counts[rank])
	}
	if err := r.exchange(ctx, send, receive); err != nil {
		return nil, err
	}
	for rank := range parts {
		asked[rank] = make([]int32, counts[rank][0])
		send[rank], receive[rank] = as[float32](parts[rank].ids), as[float32](asked[rank])
	}
	if err := r.exchange(ctx, send, receive); err != nil {
		return nil, err
	}
	for rank := range parts {
		send[rank] = make([]float32, r.words(asked[rank]))
		bytes := Bytes(send[rank])[:0]
		for _, v := range asked[rank] {
			if int(v) < lo || int(v) >= hi {
				return nil, fmt.Errorf("ranks: rank %d asks rank %d for row %d, outside [%d, %d)",
					rank, r.Group.Rank(), v, lo, hi)
			}
			bytes = r.pack(bytes, v)
		}
		parts[rank].values = make([]float32, r.words(parts[rank].ids))
		receive[rank] = parts[rank].values
	}
	return parts, r.exchange(ctx, send, receive)
}

// words returns the number of float32 values that rows need.
func (r *rows) words(rows []int32) int {
	bytes := 0
	for _, v := range rows {
		bytes += r.size(v)
	}
	return (bytes + 3) / 4
}

func (r *rows) exchange(ctx context.Context, send, receive [][]float32) error {
	for rank, values := range send {
		if rank != r.Group.Rank() {
			r.sent += 4 * int64(len(values))
		}
	}
	return r.Group.Exchange(ctx, send, receive)
}
