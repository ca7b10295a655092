package train

import (
	"context"
	"encoding/binary"
	"fmt"
	"slices"
	"sort"
	"unsafe"
)

// rowExchange brings rows of a matrix from the ranks that hold them. A fetch is three
// exchanges: of the numbers of rows that each rank asks of each other, of their ids, and of
// the rows. All ranks call it together, also a rank that needs no row. Rows travel as bytes.
type rowExchange struct {
	group  Group
	bounds []int                              // rank r holds the rows bounds[r] to bounds[r+1]−1
	size   func(row int32) int                // bytes of a row, known on all ranks
	pack   func(dst []byte, row int32) []byte // appends one of this rank's rows

	sent int64 // bytes sent to other ranks
}

// part is the rows that came from one rank, one after the other.
type part struct {
	ids    []int32
	values []float32 // padded to whole values
}

// missing sorts rows and returns those, each once, that other ranks hold. It uses the memory of rows.
func (e *rowExchange) missing(rows []int32) []int32 {
	slices.Sort(rows)
	rows = slices.Compact(rows)
	lo, hi := int32(e.bounds[e.group.Rank()]), int32(e.bounds[e.group.Rank()+1])
	return slices.DeleteFunc(rows, func(v int32) bool { return v >= lo && v < hi })
}

// fetch returns the given rows, which are sorted, distinct and other ranks', by rank.
func (e *rowExchange) fetch(ctx context.Context, rows []int32) ([]part, error) {
	ranks, me := e.group.Size(), e.group.Rank()
	parts := make([]part, ranks)
	send, receive := make([][]float32, ranks), make([][]float32, ranks)
	for rank := range parts {
		at := sort.Search(len(rows), func(k int) bool { return int(rows[k]) >= e.bounds[rank+1] })
		parts[rank].ids, rows = rows[:at], rows[at:]
		send[rank], receive[rank] = make([]float32, 1), make([]float32, 1)
		binary.NativeEndian.PutUint32(asBytes(send[rank]), uint32(len(parts[rank].ids)))
	}
	if err := e.exchange(ctx, send, receive); err != nil {
		return nil, err
	}
	asked := make([][]int32, ranks)
	for rank := range parts {
		asked[rank] = make([]int32, binary.NativeEndian.Uint32(asBytes(receive[rank])))
		send[rank], receive[rank] = asFloats(parts[rank].ids), asFloats(asked[rank])
	}
	if err := e.exchange(ctx, send, receive); err != nil {
		return nil, err
	}
	for rank := range parts {
		send[rank] = make([]float32, e.words(asked[rank]))
		bytes := asBytes(send[rank])[:0]
		for _, v := range asked[rank] {
			if int(v) < e.bounds[me] || int(v) >= e.bounds[me+1] {
				return nil, fmt.Errorf("train: rank %d asks rank %d for row %d, outside [%d, %d)", rank, me, v, e.bounds[me], e.bounds[me+1])
			}
			bytes = e.pack(bytes, v)
		}
		parts[rank].values = make([]float32, e.words(parts[rank].ids))
		receive[rank] = parts[rank].values
	}
	return parts, e.exchange(ctx, send, receive)
}

// words returns the number of float32 values that rows need.
func (e *rowExchange) words(rows []int32) int {
	bytes := 0
	for _, v := range rows {
		bytes += e.size(v)
	}
	return (bytes + 3) / 4
}

func (e *rowExchange) exchange(ctx context.Context, send, receive [][]float32) error {
	for rank, values := range send {
		if rank != e.group.Rank() {
			e.sent += 4 * int64(len(values))
		}
	}
	return e.group.Exchange(ctx, send, receive)
}

// asFloats returns the memory of values, which keep their bits.
func asFloats(values []int32) []float32 {
	return unsafe.Slice((*float32)(unsafe.Pointer(unsafe.SliceData(values))), len(values))
}
