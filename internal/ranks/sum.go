package ranks

import (
	"context"
	"math/bits"
	"slices"

	"gorgonia.org/vecf32"
)

// Sum adds one vector for each leaf of a fixed binary tree. The sum has the same
// bits for any number of ranks that share the leaves, because float32 additions happen in
// the order of the tree. An all-reduce of MPI would not guarantee this.
//
// A rank holds a range of leaves. It adds its leaves as they come, and keeps one vector
// for each largest subtree that it has whole. These vectors then travel in segments: rank r
// gets segment r of all of them and adds them up to the root.
type Sum struct {
	Leaves int // of the tree
	Length int // of a vector
	done   []subtree
	free   [][]float32
	Sent   int64 // bytes that this rank sent to others

	send, receive, parts [][]float32 // memory of exchange
}

// subtree is the sum of the leaves lo to hi−1.
type subtree struct {
	lo, hi int
	sum    []float32
}

// split returns the first leaf of the right child of the subtree [lo, hi).
func split(lo, hi int) int { return lo + 1<<(bits.Len(uint(hi-lo-1))-1) }

// isNode reports whether [lo, hi) is a subtree. The number of its leaves is a power of two, or its
// last leaf is the tree's. Its first leaf is a multiple of that power, or of the next one.
func (s *Sum) isNode(lo, hi int) bool {
	power := 1 << bits.Len(uint(hi-lo-1))
	return lo%power == 0 && (hi-lo == power || hi == s.Leaves)
}

// Add adds the next leaf, whose number is leaf, to this rank's sums. It copies the values.
func (s *Sum) Add(leaf int, values []float32) {
	var sum []float32
	if last := len(s.free) - 1; last >= 0 {
		sum, s.free = s.free[last], s.free[:last]
	} else {
		sum = make([]float32, s.Length)
	}
	copy(sum, values)
	s.done = append(s.done, subtree{leaf, leaf + 1, sum})
	for len(s.done) > 1 {
		left := s.done[len(s.done)-2]
		right := s.done[len(s.done)-1]
		if !s.isNode(left.lo, right.hi) {
			return
		}
		vecf32.Add(left.sum, right.sum)
		s.free = append(s.free, right.sum)
		s.done = append(s.done[:len(s.done)-2], subtree{left.lo, right.hi, left.sum})
	}
}

// Total adds the sums of all ranks and writes the result to dst on every rank. A nil
// group is this process alone.
func (s *Sum) Total(ctx context.Context, g Group, dst []float32) error {
	defer func() {
		for _, t := range s.done {
			s.free = append(s.free, t.sum)
		}
		s.done = s.done[:0]
	}()
	if g == nil || g.Size() == 1 {
		copy(dst, sumOf(s.done, 0, s.Leaves))
		return nil
	}
	return s.exchange(ctx, g, dst)
}

// exchange is Total over several ranks.
func (s *Sum) exchange(ctx context.Context, g Group, dst []float32) error {
	me := g.Rank()
	ranks := g.Size()
	if len(s.send) != ranks {
		s.send = make([][]float32, ranks)
		s.receive = make([][]float32, ranks)
		s.parts = make([][]float32, ranks)
	}
	send, receive, parts := s.send, s.receive, s.parts
	first, last := Range(s.Length, me, ranks)
	for r := range ranks {
		lo, hi := Range(s.Length, r, ranks)
		parts[r] = dst[lo:hi]
		send[r] = send[r][:0]
		for _, t := range s.done {
			send[r] = append(send[r], t.sum[lo:hi]...)
		}
		n := (last - first) * len(s.subtrees(Range(s.Leaves, r, ranks)))
		receive[r] = slices.Grow(receive[r][:0], n)[:n]
	}
	for r := range ranks {
		if r != me { // the sums, and afterwards this rank's segment of the total
			s.Sent += 4 * int64(len(send[r])+last-first)
		}
	}
	if err := g.Exchange(ctx, send, receive); err != nil {
		return err
	}
	var known []subtree
	for r := range ranks {
		for k, t := range s.subtrees(Range(s.Leaves, r, ranks)) {
			t.sum = receive[r][k*(last-first) : (k+1)*(last-first)]
			known = append(known, t)
		}
	}
	copy(parts[me], sumOf(known, 0, s.Leaves))
	return g.Gather(ctx, parts)
}

// subtrees returns the largest subtrees within the leaves first to last−1, without sums.
func (s *Sum) subtrees(first, last int) (all []subtree) {
	for first < last {
		hi := last
		for !s.isNode(first, hi) {
			hi--
		}
		all = append(all, subtree{lo: first, hi: hi})
		first = hi
	}
	return all
}

// sumOf returns the sum of the leaves lo to hi−1. It adds sums of known subtrees, and
// overwrites them.
func sumOf(known []subtree, lo, hi int) []float32 {
	for _, t := range known {
		if t.lo == lo && t.hi == hi {
			return t.sum
		}
	}
	at := split(lo, hi)
	sum := sumOf(known, lo, at)
	vecf32.Add(sum, sumOf(known, at, hi))
	return sum
}
