package graph

import "context"

// Share says which rows of a matrix this process holds, if several processes, its ranks,
// hold the matrix together. All ranks call Fetch and Gather equally often and in the same
// order, one call at a time: each call is an exchange between all of them.
type Share struct {
	Rank   int
	Bounds []int // rank r holds the rows Bounds[r] to Bounds[r+1]−1

	// Fetch makes the given rows readable until the next call of Fetch. Rows may be
	// listed more than once; the rank's own rows are always readable.
	Fetch func(ctx context.Context, rows []int32) error
	// Gather fills parts[r] with parts[r] of each rank r.
	Gather func(ctx context.Context, parts [][]float32) error
	// Attach makes x, which holds this rank's own rows, a matrix that the ranks hold
	// together. It sets x.Place and x.Share.
	Attach func(x *Features)
}

// Own returns the range [lo, hi) of rows that this rank holds.
func (s *Share) Own() (lo, hi int) { return s.Bounds[s.Rank], s.Bounds[s.Rank+1] }
