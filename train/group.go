package train

import (
	"context"
	"unsafe"
)

// Group is the processes, or goroutines, that train one model together. They are called
// ranks. All ranks call Exchange and Gather in the same order, with sizes that fit. After
// an error the group cannot be used any more. A Group is for one goroutine.
//
// A World of MPI is a Group, and so are the members of NewLocalGroup.
type Group interface {
	Rank() int // of this process, from 0
	Size() int // number of ranks

	// Exchange sends send[r] to each rank r, and fills receive[r] with the values of
	// rank r. receive[r] has the length of the sent part. It returns soon when ctx ends.
	Exchange(ctx context.Context, send, receive [][]float32) error
	// Gather fills parts[r] with parts[r] of each rank r.
	Gather(ctx context.Context, parts [][]float32) error
}

// share returns the range [lo, hi) of n things that belong to rank r of size.
func share(n, r, size int) (lo, hi int) { return n * r / size, n * (r + 1) / size }

// Broadcast returns rank 0's data on every rank of g. The other ranks' data are not used.
func Broadcast(ctx context.Context, g Group, data []byte) ([]byte, error) {
	// The ranks must know how much they gather, so the length comes first.
	length := make([]float32, 2)
	n := (*uint64)(unsafe.Pointer(&length[0]))
	*n = uint64(len(data))
	parts := make([][]float32, g.Size())
	parts[0] = length
	if err := g.Gather(ctx, parts); err != nil {
		return nil, err
	}
	values := make([]float32, (*n+3)/4)
	if g.Rank() == 0 {
		copy(asBytes(values), data)
	}
	parts[0] = values
	err := g.Gather(ctx, parts)
	return asBytes(values)[:*n], err
}
