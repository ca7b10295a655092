package full

import (
	"cmp"
	"context"
	"fmt"
	"hash/fnv"
	"math"
	"math/bits"
	"slices"
	"unsafe"

	"github.com/gcn-layerwise/gcn/graph"
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

// ascending returns the nodes in ascending order, and the place of each of these among the
// nodes; nil if they ascend already.
func ascending(nodes []int32) (sorted []int32, places []int) {
	if slices.IsSorted(nodes) {
		return nodes, nil
	}
	places = make([]int, len(nodes))
	for k := range places {
		places[k] = k
	}
	slices.SortStableFunc(places, func(a, b int) int { return cmp.Compare(nodes[a], nodes[b]) })
	for _, at := range places {
		sorted = append(sorted, nodes[at])
	}
	return sorted, places
}

// inPlaces returns the rows in the order of the nodes that ascending was given.
func inPlaces(rows []float32, places []int) []float32 {
	if len(places) == 0 {
		return rows
	}
	width, moved := len(rows)/len(places), make([]float32, len(rows))
	for k, at := range places {
		copy(moved[at*width:(at+1)*width], rows[k*width:])
	}
	return moved
}

// shares returns the parts of the rows of s that the ranks compute: rank r has the rows
// shares[r] to shares[r+1]−1. A rank that holds a part of the data computes the rows of its
// own nodes. Otherwise the shares are of about equal work.
func (p *pass) shares(s *stage) []int {
	nodes := s.nodes
	if p.ranks == 1 {
		return []int{0, len(nodes)}
	}
	if share := p.owners(); share != nil {
		return ownShares(share, nodes)
	}
	all := 0
	for _, v := range nodes {
		all += p.work(s, v)
	}
	done, shares := 0, []int{0}
	for i, v := range nodes {
		for len(shares) < p.ranks && done*p.ranks >= all*len(shares) {
			shares = append(shares, i)
		}
		done += p.work(s, v)
	}
	for len(shares) <= p.ranks {
		shares = append(shares, len(nodes))
	}
	return shares
}

// work returns an estimate of the work for the row of node v of s.
func (p *pass) work(s *stage, v int32) int {
	const row = 32 // a row's dense products take as long as this number of entries of P
	if s.Reads {
		return row + p.P.RowNNZ(int(v))
	}
	return row
}

// ownShares returns the parts of ascending nodes that belong to each rank.
func ownShares(s *graph.Share, nodes []int32) (shares []int) {
	for _, bound := range s.Bounds {
		at, _ := slices.BinarySearch(nodes, int32(bound))
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
	fmt.Fprint(digest, p.P.Nodes())
	for l := range p.stages {
		s := &p.stages[l]
		fmt.Fprint(digest, " ", len(s.nodes), s.Width, len(s.Out), p.shares(s))
	}
	own := math.Float32frombits(digest.Sum32())
	parts := make([][]float32, p.ranks)
	for rank := range parts {
		parts[rank] = []float32{own}
	}
	if err := p.Ranks.Gather(ctx, parts); err != nil {
		return err
	}
	for rank, part := range parts {
		if math.Float32bits(part[0]) != digest.Sum32() {
			return fmt.Errorf("rank %d infers with a model or data of other sizes than rank %d: all ranks need the same", rank, p.rank)
		}
	}
	return nil
}

// join adds the nodes, of n, that are in the sets of other ranks.
func (r *rows) join(ctx context.Context, share *graph.Share, n int) error {
	const word = 32
	size := (n + word - 1) / word
	parts := make([][]float32, len(share.Bounds)-1)
	for rank := range parts {
		parts[rank] = make([]float32, size)
	}
	words := func(rank int) []uint32 {
		return unsafe.Slice((*uint32)(unsafe.Pointer(unsafe.SliceData(parts[rank]))), size)
	}
	own := words(share.Rank)
	for v := range int32(n) {
		if r.has(v) {
			own[v/word] |= 1 << (v % word)
		}
	}
	if err := share.Gather(ctx, parts); err != nil {
		return err
	}
	for rank := range parts {
		for k, set := range words(rank) {
			for ; set != 0; set &= set - 1 {
				r.add(int32(k*word + bits.TrailingZeros32(set)))
			}
		}
	}
	return nil
}
