package full

import (
	"context"
	"fmt"
	"hash/fnv"
	"math"
	"math/bits"
	"slices"
	"unsafe"

	"github.com/gcn-layerwise/gcn/graph"
	"github.com/gcn-layerwise/gcn/internal/plan"
)

// Ranks are the processes that share the rows of a call. Each computes a part of every level's
// rows and gets the others' parts, so all have the result. All ranks call Infer with equal
// arguments. A train.Group is Ranks.
type Ranks interface {
	Rank() int
	Size() int

	// Gather fills parts[r] with parts[r] of each rank r.
	Gather(ctx context.Context, parts [][]float32) error
}

// owners returns the share by which ranks hold parts of the data; nil: each has all.
func (p *pass) owners() *graph.Share {
	if p.P.Share != nil {
		return p.P.Share
	}
	for _, level := range p.levels {
		for _, d := range level.Data {
			if x := p.source(d.Source).X; x.Share != nil {
				return x.Share
			}
		}
	}
	return nil
}

// rowsAt returns the rows of nodes, which may repeat, from the rows of ascending nodes.
func rowsAt(nodes, ascending []int32, rows plan.Matrix) []float32 {
	at := make([]float32, 0, len(nodes)*rows.Cols)
	for _, v := range nodes {
		k, _ := slices.BinarySearch(ascending, v)
		at = append(at, rows.Part(k, k+1).Data...)
	}
	return at
}

// shares returns the parts of the rows of s that the ranks compute: rank r has the rows
// shares[r] to shares[r+1]−1. A rank that holds a part of the data computes the rows of its
// own nodes. Otherwise the shares are of about equal work.
func (p *pass) shares(s *stage) (shares []int) {
	if share := p.owners(); share != nil {
		for _, bound := range share.Bounds {
			at, _ := slices.BinarySearch(s.nodes, int32(bound))
			shares = append(shares, at)
		}
		return shares
	}
	if p.ranks == 1 {
		return []int{0, len(s.nodes)}
	}
	const row = 32                      // a row's dense products take as long as this number of entries of P
	work := make([]int, len(s.nodes)+1) // of the rows before each
	for i, v := range s.nodes {
		if work[i+1] = work[i] + row; s.Reads {
			work[i+1] += p.P.RowNNZ(int(v))
		}
	}
	for rank := range p.ranks + 1 {
		at, _ := slices.BinarySearch(work, work[len(s.nodes)]*rank/p.ranks)
		shares = append(shares, at)
	}
	return shares
}

// agree returns an error if the ranks would divide the work differently. Without it a rank
// could wait for rows that no other rank sends. It compares sizes: not edges, features or
// weights, which package train compares. The digest travels in the bits of a float32.
func (p *pass) agree(ctx context.Context) error {
	if p.Ranks == nil {
		if p.owners() != nil {
			return fmt.Errorf("other ranks hold parts of the data: inference needs these ranks, and the CPU")
		}
		return nil
	}
	digest := fnv.New32a()
	for l, level := range p.levels {
		fmt.Fprint(digest, level.Width, len(level.Out), p.shares(&p.stages[l]))
	}
	digests := slices.Repeat([]float32{math.Float32frombits(digest.Sum32())}, p.ranks)
	if err := p.Ranks.Gather(ctx, slices.Collect(slices.Chunk(digests, 1))); err != nil {
		return err
	}
	for rank, other := range digests {
		if math.Float32bits(other) != digest.Sum32() {
			return fmt.Errorf("rank %d infers with a model or data of other sizes than rank %d: all ranks need the same", rank, p.rank)
		}
	}
	return nil
}

// partsOf cuts a row-major matrix of the given width into one part for each rank. Rank r has the rows
// bounds[r] to bounds[r+1]−1.
func partsOf(values []float32, bounds []int, width int) (parts [][]float32) {
	for r, lo := range bounds[:len(bounds)-1] {
		parts = append(parts, values[lo*width:bounds[r+1]*width])
	}
	return parts
}

// join adds the nodes, of n, that are in the sets of other ranks. A set travels as a bit a node.
func (s *stage) join(ctx context.Context, share *graph.Share, n int) error {
	words := n/32 + 1
	all := make([]float32, words*(len(share.Bounds)-1))
	sets := unsafe.Slice((*uint32)(unsafe.Pointer(&all[0])), len(all))
	own := sets[words*share.Rank:]
	for _, v := range s.nodes {
		own[v/32] |= 1 << (v % 32)
	}
	if err := share.Gather(ctx, slices.Collect(slices.Chunk(all, words))); err != nil {
		return err
	}
	for at, set := range sets {
		for ; set != 0; set &= set - 1 {
			s.add(int32(at%words*32 + bits.TrailingZeros32(set)))
		}
	}
	return nil
}
