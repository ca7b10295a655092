package full

import (
	"context"
	"fmt"

	"github.com/gcn-layerwise/gcn/graph"
	"github.com/gcn-layerwise/gcn/internal/kernel"
	"github.com/gcn-layerwise/gcn/internal/memory"
	"github.com/gcn-layerwise/gcn/internal/plan"
	G "gorgonia.org/gorgonia"
)

// supply gives the rows of one of a level's data.
type supply struct {
	node *G.Node
	plan.Source

	px     []float32 // P·X at the level's rows lo to hi−1
	lo, hi int
	first  int  // the row of px[0]
	keeps  bool // px has room for all rows of this process
}

// use makes s give the rows of source as the value of n. It keeps P·X of the same source.
func (s *supply) use(n *G.Node, source plan.Source) {
	if s.node != n || s.Source != source {
		*s = supply{node: n, Source: source, px: s.px}
	}
}

// rows returns the rows of nodes, which are the rows of the level from lo on: a part of a
// matrix that has them one after the other, or else in the memory of to.
func (s *supply) rows(p *graph.Laplacian, to *[]float32, nodes []int32, lo int) ([]float32, error) {
	cols, x := s.X.Cols, s.X
	n := len(nodes) * cols
	if s.Propagated && (s.keeps || s.lo <= lo && lo+len(nodes) <= s.hi) {
		rows := s.px[(lo-s.first)*cols:][:n]
		if lo < s.lo || lo+len(nodes) > s.hi {
			s.propagate(rows, p, nodes)
		}
		return rows, nil
	}
	if first := int(nodes[0]); !s.Propagated && x.Data != nil && x.Share == nil && consecutive(nodes) {
		if x.Prefetch != nil {
			x.Prefetch(nodes)
		}
		return x.Data[first*cols:][:n], nil
	}
	if cap(*to) < n {
		*to = make([]float32, n)
	}
	rows := (*to)[:n]
	if s.Propagated {
		s.propagate(rows, p, nodes)
		return rows, nil
	}
	if x.Prefetch != nil {
		x.Prefetch(nodes)
	}
	places, err := x.Places(nil, nodes)
	switch {
	case err != nil:
		return nil, err
	case x.Sparse != nil:
		kernel.GatherSparse(rows, x.Sparse, places)
	case x.Half != nil:
		kernel.GatherHalf(rows, x.Half, places, cols)
	default:
		kernel.Gather(rows, x.Data, places, cols)
	}
	return rows, nil
}

// propagate sets to to P·X at the nodes.
func (s *supply) propagate(to []float32, p *graph.Laplacian, nodes []int32) {
	if p.Adjacency.Prefetch != nil {
		p.Adjacency.Prefetch(nodes)
	}
	kernel.PropagateFeaturesInto(to, p, nodes, s.X)
}

// consecutive reports whether each node follows the one before.
func consecutive(nodes []int32) bool {
	if int(nodes[len(nodes)-1]-nodes[0]) != len(nodes)-1 {
		return false
	}
	for k, v := range nodes {
		if v != nodes[0]+int32(k) {
			return false
		}
	}
	return true
}

// supply prepares the data of the rows of level l from lo on, of a share that ends before
// last: it computes P·X at these rows where X is read in the order of a file, or shared by
// ranks. It returns the end of these rows: a multiple of size after lo, or last. A rank without
// rows calls it too, so that the others get its features.
func (p *pass) supply(ctx context.Context, l, lo, last, size int) (hi int, err error) {
	nodes := p.need[l].nodes
	hi = last
	if p.few() || p.Device != nil {
		return hi, nil // each chunk computes its rows
	}
	for k := range p.data[l] {
		s := &p.data[l][k]
		there := s.lo <= lo && s.hi >= hi && (lo < hi || s.keeps)
		if !s.Propagated || there || lo == hi && s.X.Share == nil {
			continue
		}
		ordered, budget := p.inFileOrder(s.X, nodes), p.budget()
		end := lo
		for end < hi && budget >= 0 {
			next := min(end+size, hi)
			if budget -= bytesOf(p.P, s.X, nodes[end:next], ordered); budget >= 0 || end == lo || s.X.Share != nil {
				end = next
			}
		}
		s.lo, s.hi, s.first = 0, 0, lo
		if s.keeps = end == hi; !s.keeps && !ordered {
			continue // each chunk computes its rows
		}
		if n := (end - lo) * s.X.Cols; cap(s.px) < n {
			s.px = nil
			if err := memory.Check(fmt.Sprintf("P·X of %d nodes with %d features", end-lo, s.X.Cols), 4*int64(n)); err != nil {
				return 0, err
			}
			s.px = memory.Large(n)
		}
		switch to := s.px[:(end-lo)*s.X.Cols]; {
		case s.X.Share != nil:
			err = propagateShared(ctx, to, p.P, nodes[lo:end], s.X)
		case ordered:
			p.passes++
			err = p.product.Propagate(ctx, to, p.P, nodes[lo:end], s.X, nil)
		default:
			continue
		}
		if err != nil {
			return 0, err
		}
		s.lo, s.hi, hi = lo, end, end
	}
	return hi, nil
}

// supplied ends the supply of level l: the kept P·X of the rows first to last−1 is complete.
func (p *pass) supplied(l, first, last int) {
	for k := range p.data[l] {
		s := &p.data[l][k]
		if s.Propagated && s.keeps && s.first == first {
			s.lo, s.hi = first, last
		}
		if s.Propagated && s.X.Release != nil {
			s.X.Release() // few levels read the features again
		}
	}
}

// randomRead is how much longer it takes to read a page at random than in order.
const randomRead = 8

// inFileOrder reports whether P·X at the nodes is better computed with X read in order: X is
// in a file, does not fit in memory, and is smaller than the pages of the nodes' neighbours.
func (p *pass) inFileOrder(x *graph.Features, nodes []int32) bool {
	if x.Release == nil || x.Sparse != nil || p.P.Share != nil || x.Prefetch == nil && (p.most == 0 || x.Bytes() <= p.most) {
		return false
	}
	const page = 4096
	most := x.Bytes() / (page * randomRead)
	for _, v := range nodes {
		if most -= int64(p.P.RowNNZ(int(v))); most < 0 {
			return true
		}
	}
	return false
}

// bytesOf returns the memory that P·X at the nodes takes, and its computation in the order of
// X's file.
func bytesOf(p *graph.Laplacian, x *graph.Features, nodes []int32, ordered bool) int64 {
	bytes := 4 * int64(x.Cols) * int64(len(nodes))
	if ordered {
		for _, v := range nodes {
			bytes += kernel.InOrderBytes(p.Adjacency.Degree(int(v)))
		}
	}
	return bytes
}

// panelWidth is the number of columns of features that each rank holds whole while P·X is
// computed from features that the ranks hold together. It is a multiple of the vectors of
// the kernels, so that a column has the same bits as in a product of all columns.
const panelWidth = 32

// propagateShared sets px to the given rows of P·X, of features that several ranks hold
// together. Each rank receives x once, panel after panel of columns, and holds one panel. All
// ranks call it.
func propagateShared(ctx context.Context, px []float32, p *graph.Laplacian, rows []int32, x *graph.Features) error {
	const chunk = 4096
	width := min(panelWidth, x.Cols)
	values := memory.Product(int64(x.Rows), int64(width), 4)
	if err := memory.Check(fmt.Sprintf("%d columns of X", width), values); err != nil {
		return err
	}
	all, mixed := make([]float32, x.Rows*width), make([]float32, min(chunk, len(rows))*width)
	lo, hi := x.Share.Own()
	for from := 0; from < x.Cols; from += panelWidth {
		width := min(panelWidth, x.Cols-from)
		parts := make([][]float32, len(x.Share.Bounds)-1)
		for rank := range parts {
			parts[rank] = all[x.Share.Bounds[rank]*width : x.Share.Bounds[rank+1]*width]
		}
		own := parts[x.Share.Rank]
		for i := range hi - lo {
			copy(own[i*width:(i+1)*width], x.Row(i)[from:])
		}
		if err := x.Share.Gather(ctx, parts); err != nil {
			return err
		}
		for at := 0; at < len(rows); at += chunk {
			part := rows[at:min(at+chunk, len(rows))]
			kernel.PropagateRows(mixed[:len(part)*width], p, part, all[:x.Rows*width], width, nil)
			for i := range part {
				copy(px[(at+i)*x.Cols+from:][:width], mixed[i*width:])
			}
		}
	}
	return nil
}

// Propagate returns P·X of all nodes, or of the rows that this rank holds of x, if ranks share
// it. progress, if not nil, is called with the numbers of rows computed and of all rows. Cost:
// 2·nnz(P)·x.Cols operations; memory: the result. ctx is checked every few thousand rows.
func Propagate(ctx context.Context, p *graph.Laplacian, x *graph.Features, progress func(done, rows int)) (*graph.Features, error) {
	lo, hi := 0, p.Nodes()
	if x.Share != nil {
		lo, hi = x.Share.Own()
	}
	what := fmt.Sprintf("P·X of %d nodes with %d features", hi-lo, x.Cols)
	if err := memory.Check(what, memory.Product(int64(hi-lo), int64(x.Cols), 4)); err != nil {
		return nil, err
	}
	px := &graph.Features{Rows: x.Rows, Cols: x.Cols, Data: memory.Large((hi - lo) * x.Cols)}
	if x.Share != nil {
		rows := make([]int32, hi-lo)
		for i := range rows {
			rows[i] = int32(lo + i)
		}
		err := propagateShared(ctx, px.Data, p, rows, x)
		if err == nil {
			x.Share.Attach(px)
		}
		return px, err
	}
	return px, kernel.PropagateFeatures(ctx, p, nil, x, func(at int, rows []float32) error {
		copy(px.Data[at*x.Cols:], rows)
		if progress != nil {
			progress(at+len(rows)/x.Cols, hi)
		}
		return nil
	})
}

// PropagateAt calls f for parts of P·X at the given nodes, with the number of a part's first
// node. f must not keep the rows. If ranks hold parts of p or x, all call it: each computes the
// rows of its own nodes.
func PropagateAt(ctx context.Context, p *graph.Laplacian, nodes []int32, x *graph.Features, ranks Ranks, f func(first int, rows []float32) error) error {
	share := p.Share
	if share == nil {
		share = x.Share
	}
	if share == nil {
		return kernel.PropagateFeatures(ctx, p, nodes, x, f)
	}
	nodes, places := ascending(nodes)
	shares := ownShares(share, nodes)
	lo, hi := shares[share.Rank], shares[share.Rank+1]
	if err := memory.Check(fmt.Sprintf("P·X of %d nodes with %d features", len(nodes), x.Cols), memory.Product(int64(len(nodes)), int64(x.Cols), 4)); err != nil {
		return err
	}
	all := make([]float32, len(nodes)*x.Cols)
	own := all[lo*x.Cols : hi*x.Cols]
	if x.Share != nil {
		if err := propagateShared(ctx, own, p, nodes[lo:hi], x); err != nil {
			return err
		}
	} else {
		kernel.PropagateFeaturesInto(own, p, nodes[lo:hi], x)
	}
	if err := gather(ctx, ranks, all, x.Cols, shares); err != nil {
		return err
	}
	return f(0, inPlaces(all, places))
}
