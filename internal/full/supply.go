package full

import (
	"context"
	"fmt"
	"slices"

	"github.com/gcn-layerwise/gcn/graph"
	"github.com/gcn-layerwise/gcn/internal/kernel"
	"github.com/gcn-layerwise/gcn/internal/memory"
	"github.com/gcn-layerwise/gcn/internal/plan"
)

// supply gives the rows of one of a level's data.
type supply struct {
	plan.Source

	px     []float32 // P·X at the level's rows lo to hi−1
	lo, hi int
	known  bool // px was computed
}

// rows returns the rows of nodes, which are the rows of the level from lo on: a part of px, or
// of X if the level has all nodes, or else in the memory of to.
func (s *supply) rows(p *graph.Laplacian, to *[]float32, nodes []int32, lo int, whole bool) ([]float32, error) {
	x, n, prefetch := s.X, len(nodes)*s.X.Cols, s.X.Prefetch
	if s.lo <= lo && lo+len(nodes) <= s.hi {
		return s.px[(lo-s.lo)*x.Cols:][:n], nil
	}
	if s.Propagated {
		prefetch = p.Adjacency.Prefetch
	}
	if prefetch != nil {
		prefetch(nodes)
	}
	if whole && !s.Propagated && x.Data != nil && x.Share == nil {
		return x.Data[lo*x.Cols:][:n], nil
	}
	*to = slices.Grow((*to)[:0], n)[:n]
	if s.Propagated {
		kernel.PropagateFeaturesInto(*to, p, nodes, x)
		return *to, nil
	}
	places, err := x.Places(nil, nodes)
	if err == nil {
		kernel.GatherFeatures(*to, x, places)
	}
	return *to, err
}

// supply computes P·X at the rows of s from lo on, of a share that ends before last, and
// keeps it for later calls if there is memory for all of them. The first call for its nodes may be
// the only one: it keeps a P·X that is small beside the memory. Where X is read in the order of a file, supply computes as many rows
// as fit. Else each chunk computes its own. supply returns the end of its rows: a multiple of size
// after lo, or last. A rank without rows calls it too, so that the others get its features.
func (p *pass) supply(ctx context.Context, s *stage, lo, last, size int) (hi int, err error) {
	hi = last
	if p.few() || p.Device != nil {
		return hi, nil // each chunk computes its rows
	}
	for k := range s.data {
		d := &s.data[k]
		x, shared := d.X, d.X.Share != nil
		if !d.Propagated || d.known && d.lo <= lo && d.hi >= hi || lo == hi && !shared {
			continue
		}
		ordered, end := p.inFileOrder(x, s.nodes), hi
		if !shared {
			end = p.fits(d, s.nodes, lo, hi, size, ordered)
		}
		nodes := s.nodes[lo:end]
		const small = 64 // parts of the memory
		if !shared && !ordered && (end < hi || !p.again && uint64(4*len(nodes)*x.Cols) > memory.Limit()/small) {
			continue
		}
		px, err := reserve(&d.px, len(nodes)*x.Cols, propagatedText(len(nodes), x))
		switch {
		case err != nil:
		case shared:
			err = propagateShared(ctx, px, p.P, nodes, x)
		case ordered:
			p.passes++
			err = p.product.Propagate(ctx, px, p.P, nodes, x, nil)
		default:
			err = graph.FromLast(ctx, nodes, p.P.Adjacency.Prefetch, func(lo, hi int) error {
				kernel.PropagateFeaturesInto(px[lo*x.Cols:hi*x.Cols], p.P, nodes[lo:hi], x)
				return nil
			})
		}
		if err != nil {
			return 0, err
		}
		d.known, d.lo, d.hi, hi = true, lo, end, end
	}
	return hi, nil
}

// fits returns the end of the rows from lo on whose P·X fits in memory: a multiple of size after
// lo, or hi. In the order of X's file its computation takes memory too.
func (p *pass) fits(d *supply, nodes []int32, lo, hi, size int, ordered bool) (end int) {
	const share = 8 // the kept P·X may take a part of the memory, or all but a part of a bound
	left := int64(memory.Limit() / share)
	if p.most > 0 {
		left = (p.left() + 4*int64(cap(d.px))) / share * (share - 1)
	}
	for end = lo; end < hi; end = min(end+size, hi) {
		for _, v := range nodes[end:min(end+size, hi)] {
			left -= 4 * int64(d.X.Cols)
			if ordered {
				left -= kernel.InOrderBytes(p.P.Adjacency.Degree(int(v)))
			}
		}
		if left < 0 && end > lo {
			return end
		}
	}
	return hi
}

// inFileOrder reports whether P·X at the nodes is better computed with X read in order: X is
// in a file, does not fit in memory, and is smaller than the pages of the nodes' neighbours.
func (p *pass) inFileOrder(x *graph.Features, nodes []int32) bool {
	if x.Release == nil || x.Sparse != nil || p.P.Share != nil || x.Prefetch == nil && (p.most == 0 || x.Bytes() <= p.most) {
		return false
	}
	const page = 4096 * 8 // a page read at random takes as long as 8 in order
	most := x.Bytes() / page
	for _, v := range nodes {
		if most -= int64(p.P.RowNNZ(int(v))); most < 0 {
			return true
		}
	}
	return false
}

// panelWidth is the number of columns of features that each rank holds whole while P·X is
// computed from features that the ranks hold together. It is a multiple of the vectors of
// the kernels, so that a column has the same bits as in a product of all columns.
const panelWidth = 32

// propagateShared sets px to the given rows of P·X, of features that several ranks hold
// together. Each rank receives x once, panel after panel of columns, and holds one panel. All
// ranks call it.
func propagateShared(ctx context.Context, px []float32, p *graph.Laplacian, rows []int32, x *graph.Features) error {
	most := min(panelWidth, x.Cols)
	values := memory.Product(x.Rows+len(rows), most, 4)
	if err := memory.Check(fmt.Sprintf("%d columns of X", most), values); err != nil {
		return err
	}
	all, mixed := make([]float32, x.Rows*most), make([]float32, len(rows)*most)
	for from := 0; from < x.Cols; from += panelWidth {
		width := min(panelWidth, x.Cols-from)
		parts := partsOf(all, x.Share.Bounds, width)
		own := parts[x.Share.Rank]
		for i := range len(own) / width {
			copy(own[i*width:][:width], x.Row(i)[from:])
		}
		if err := x.Share.Gather(ctx, parts); err != nil {
			return err
		}
		kernel.PropagateRows(mixed[:len(rows)*width], p, rows, all[:x.Rows*width], width, nil)
		for i := range rows {
			copy(px[i*x.Cols+from:][:width], mixed[i*width:])
		}
	}
	return nil
}

// propagatedText names P·X in an error.
func propagatedText(nodes int, x *graph.Features) string {
	return fmt.Sprintf("P·X of %d nodes with %d features", nodes, x.Cols)
}

// Propagate returns P·X of all nodes, or of the rows that this rank holds of x, if ranks share
// it. progress, if not nil, is called with the numbers of rows computed and of all rows, unless ranks
// share x. Cost: 2·nnz(P)·x.Cols operations; memory: the result. ctx is checked every few thousand rows.
func Propagate(ctx context.Context, p *graph.Laplacian, x *graph.Features, progress func(done, rows int)) (*graph.Features, error) {
	lo, hi := 0, p.Nodes()
	if x.Share != nil {
		lo, hi = x.Share.Own()
	}
	px := &graph.Features{Rows: x.Rows, Cols: x.Cols}
	var err error
	if px.Data, err = reserve(&px.Data, (hi-lo)*x.Cols, propagatedText(hi-lo, x)); err != nil {
		return nil, err
	}
	if x.Share != nil {
		if err = propagateShared(ctx, px.Data, p, kernel.OrAll(nil, p)[lo:hi], x); err == nil {
			x.Share.Attach(px)
		}
		return px, err
	}
	return px, kernel.PropagateFeatures(ctx, p, x, func(at int, rows []float32) error {
		copy(px.Data[at*x.Cols:], rows)
		if progress != nil {
			progress(at+len(rows)/x.Cols, hi)
		}
		return nil
	})
}
