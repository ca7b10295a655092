package full

import (
	"context"
	"fmt"
	"runtime/debug"

	"github.com/gcn-layerwise/gcn/graph"
	"github.com/gcn-layerwise/gcn/internal/kernel"
	"github.com/gcn-layerwise/gcn/internal/memory"
	"github.com/gcn-layerwise/gcn/internal/plan"
)

// supply gives the rows of one of a level's data.
type supply struct {
	plan.Source

	px            []float32 // P·X at the level's rows lo to hi−1
	lo, hi, calls int       // calls for these nodes that did not find px
	known         bool      // px was computed
}

// rows returns the rows of nodes, which are the rows of the level from lo on: a part of a
// matrix that has them one after the other, or else in the memory of to.
func (s *supply) rows(p *graph.Laplacian, to *[]float32, nodes []int32, lo int) ([]float32, error) {
	cols, x, prefetch := s.X.Cols, s.X, s.X.Prefetch
	n := len(nodes) * cols
	if s.Propagated {
		if s.lo <= lo && lo+len(nodes) <= s.hi {
			return s.px[(lo-s.lo)*cols:][:n], nil
		}
		prefetch = p.Adjacency.Prefetch
	}
	if prefetch != nil {
		prefetch(nodes)
	}
	if !s.Propagated && x.Data != nil && x.Share == nil && consecutive(nodes) {
		return x.Data[int(nodes[0])*cols:][:n], nil
	}
	if cap(*to) < n {
		*to = make([]float32, n)
	}
	rows := (*to)[:n]
	if s.Propagated {
		kernel.PropagateFeaturesInto(rows, p, nodes, x)
		return rows, nil
	}
	places, err := x.Places(nil, nodes)
	if err != nil {
		return nil, err
	}
	kernel.GatherFeatures(rows, x, places)
	return rows, nil
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

// supply computes P·X at the rows of s from lo on, of a share that ends before last, and
// keeps it for later calls if there is memory for all of them. The first call for its nodes may be
// the only one: it keeps no P·X. Where X is read in the order of a file, supply computes as many rows
// as fit. Else each chunk computes its own. supply returns the end of its rows: a multiple of size
// after lo, or last. A rank without rows calls it too, so that the others get its features.
func (p *pass) supply(ctx context.Context, s *stage, lo, last, size int) (hi int, err error) {
	hi = last
	if p.few() || p.Device != nil {
		return hi, nil // each chunk computes its rows
	}
	for k := range s.data {
		d := &s.data[k]
		there := d.known && d.lo <= lo && d.hi >= hi
		if !d.Propagated || there || lo == hi && d.X.Share == nil {
			continue
		}
		ordered, end := p.inFileOrder(d.X, s.nodes), hi
		if d.X.Share == nil {
			end = p.fits(d, s.nodes, lo, hi, size, ordered)
		}
		if d.known, d.calls = false, d.calls+1; d.X.Share == nil && !ordered && (end < hi || d.calls == 1) {
			continue
		}
		n := (end - lo) * d.X.Cols
		if cap(d.px) < n {
			if d.px != nil {
				d.px = nil
				debug.FreeOSMemory() // as in values
			}
			if err := memory.Check(fmt.Sprintf("P·X of %d nodes with %d features", end-lo, d.X.Cols), 4*int64(n)); err != nil {
				return 0, err
			}
			d.px = memory.Large(n)
		}
		if err := p.propagate(ctx, d.px[:n], s.nodes[lo:end], d.X, ordered); err != nil {
			return 0, err
		}
		d.known, d.lo, d.hi, hi = true, lo, end, end
	}
	return hi, nil
}

// propagate sets px to P·X at the nodes. If ordered is true, it reads X in the order of its file.
func (p *pass) propagate(ctx context.Context, px []float32, nodes []int32, x *graph.Features, ordered bool) error {
	switch {
	case x.Share != nil:
		return propagateShared(ctx, px, p.P, nodes, x)
	case ordered:
		p.passes++
		return p.product.Propagate(ctx, px, p.P, nodes, x, nil)
	}
	return graph.EachPart(ctx, nodes, p.P.Adjacency.Prefetch, func(lo, hi int) error {
		kernel.PropagateFeaturesInto(px[lo*x.Cols:hi*x.Cols], p.P, nodes[lo:hi], x)
		return nil
	})
}

// fits returns the end of the rows from lo on whose P·X fits in memory: a multiple of size after
// lo, or hi. In the order of X's file its computation takes memory too.
func (p *pass) fits(d *supply, nodes []int32, lo, hi, size int, ordered bool) (end int) {
	const share = 8 // the kept P·X may take a part of the memory, or all but a part of a bound
	left := int64(memory.Limit() / share)
	if p.most > 0 {
		left = (p.left() + 4*int64(cap(d.px))) / share * (share - 1)
	}
	for end = lo; end < hi; {
		next := min(end+size, hi)
		for _, v := range nodes[end:next] {
			left -= 4 * int64(d.X.Cols)
			if ordered {
				left -= kernel.InOrderBytes(p.P.Adjacency.Degree(int(v)))
			}
		}
		if left < 0 && end > lo {
			break
		}
		end = next
	}
	return end
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
	all := make([]float32, x.Rows*width)
	mixed := make([]float32, min(chunk, len(rows))*width)
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
	px := &graph.Features{
		Rows: x.Rows,
		Cols: x.Cols,
		Data: memory.Large((hi - lo) * x.Cols),
	}
	if x.Share != nil {
		err := propagateShared(ctx, px.Data, p, allRows(p).nodes[lo:hi], x)
		if err == nil {
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
