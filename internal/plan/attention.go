package plan

import (
	"slices"

	"github.com/gcn-layerwise/gcn/graph"
	"github.com/gcn-layerwise/gcn/internal/device"
	"github.com/gcn-layerwise/gcn/internal/kernel"
)

// mostCoefficients is the number of coefficients that inference computes at a time, unless
// one row has more.
const mostCoefficients = 1 << 22

// neighborhoods lists rows with all their neighbours, as attention reads them. Its memory
// is reused.
type neighborhoods struct{ edges kernel.Edges }

// each calls f with the edges of successive parts of rows, each a row's own node and then
// its neighbours, and with the first row of the part. Column j is node j, or index[j] if
// index is not nil. With plain, edges have no weights.
func (b *neighborhoods) each(p *graph.Laplacian, rows, index []int32, heads int, plain bool, f func(first int, e kernel.Edges) error) error {
	for lo := 0; lo < len(rows); {
		hi, entries := lo, 0
		for ; hi < len(rows); hi++ {
			next := entries + p.RowNNZ(int(rows[hi]))
			if hi > lo && next*heads > mostCoefficients {
				break
			}
			entries = next
		}
		if err := f(lo, b.list(p, rows[lo:hi], index, entries, plain)); err != nil {
			return err
		}
		lo = hi
	}
	return nil
}

func (b *neighborhoods) list(p *graph.Laplacian, rows, index []int32, entries int, plain bool) kernel.Edges {
	e := &b.edges
	e.Ptr, e.Own = resize(e.Ptr, len(rows)+1), resize(e.Own, len(rows))
	e.Idx = slices.Grow(e.Idx[:0], entries)
	e.Ptr[0] = 0
	for i, v := range rows {
		e.Idx = append(append(e.Idx, v), p.Adjacency.Row(int(v))...)
		e.Own[i], e.Ptr[i+1] = v, int64(len(e.Idx))
	}
	if index != nil {
		for _, columns := range [][]int32{e.Idx, e.Own} {
			for k, v := range columns {
				columns[k] = index[v]
			}
		}
	}
	list := *e
	if plain || p.Adjacency.Val == nil {
		list.Weight = nil
		return list
	}
	e.Weight = slices.Grow(e.Weight[:0], entries)
	for _, v := range rows {
		e.Weight = append(append(e.Weight, 1), p.Adjacency.RowValues(int(v))...)
	}
	list.Weight = e.Weight
	return list
}

func (k *cpuKernels) Scores(dst, z, vector Span, n, heads, width int) error {
	kernel.AttentionScores(dst.host, z.host, vector.host, n, heads, width)
	return nil
}

func (k *cpuKernels) Attend(dst Span, a kernel.Attention, plain bool, z Rows, s, t, bias Span, lo, n int) error {
	return k.memory.neighborhoods.each(k.p, k.rows[lo:lo+n], z.Index.host, a.Heads, plain, func(first int, e kernel.Edges) error {
		alpha, err := k.Scratch(Coefficients, len(e.Idx)*a.Heads)
		if err != nil {
			return err
		}
		a.Edges = e
		a.Coefficients(alpha.host, s.host, t.host)
		a.Attend(dst.host[first*a.Out():], alpha.host, z.host, bias.host)
		return nil
	})
}

func (k *cudaKernels) Scores(dst, z, vector Span, n, heads, width int) error {
	return k.d.AttentionScores(dst.at, z.at, vector.at, n, heads, width)
}

func (k *cudaKernels) Attend(dst Span, a kernel.Attention, plain bool, z Rows, s, t, bias Span, lo, n int) error {
	return k.neighborhoods.each(k.p, k.rows[lo:lo+n], z.Index.copied, a.Heads, plain, func(first int, e kernel.Edges) error {
		edges, err := k.sendEdges(e)
		if err != nil {
			return err
		}
		alpha, err := k.Scratch(Coefficients, len(e.Idx)*a.Heads)
		if err != nil {
			return err
		}
		on := device.Attention{Edges: edges, Heads: a.Heads, Width: a.Width, Average: a.Average, Slope: kernel.LeakySlope, Keep: 1}
		return k.d.AttendScored(on, dst.From(first*a.Out()).at, alpha.at, s.at, t.at, z.at, bias.at)
	})
}

// sendEdges copies e, without its columns' lists, to the device.
func (k *cudaKernels) sendEdges(e kernel.Edges) (device.Edges, error) {
	to := device.Edges{Rows: e.Rows()}
	numbers := k.numbers[:0]
	for _, p := range e.Ptr {
		numbers = append(numbers, int32(p))
	}
	own := len(numbers)
	numbers = append(numbers, e.Own...)
	idx := len(numbers)
	k.numbers = append(numbers, e.Idx...)
	at, err := k.d.Scratch(edgesScratch).Bytes(4 * int64(len(k.numbers)))
	if err != nil {
		return to, err
	}
	to.Ptr, to.Own, to.Idx = at, device.Floats(at, own), device.Floats(at, idx)
	if err := device.Write(k.d, at, k.numbers); err != nil || e.Weight == nil {
		return to, err
	}
	if to.Weight, err = k.d.Scratch(edgeWeightsScratch).Floats(len(e.Weight)); err != nil {
		return to, err
	}
	return to, device.Write(k.d, to.Weight, e.Weight)
}
