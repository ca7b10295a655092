package train

import "context"

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
