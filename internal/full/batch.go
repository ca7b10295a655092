package full

import (
	"github.com/gcn-layerwise/gcn/graph"
	"github.com/gcn-layerwise/gcn/internal/device"
	"github.com/gcn-layerwise/gcn/internal/kernel"
	"github.com/gcn-layerwise/gcn/internal/plan"
	"github.com/gcn-layerwise/gcn/ops"
)

// upload writes numbers to the device.
func upload(d *device.Device, what string, numbers []int32) (device.Pointer, error) {
	at, err := d.Scratch(what).Floats(max(len(numbers), 1))
	if err != nil {
		return 0, err
	}
	return at, device.Write(d, at, numbers)
}

// rowsOf returns the rows of P of s. On a device P is there whole.
func (p *pass) rowsOf(s *stage) (on ops.RowsOf, err error) {
	if on.P = p.P; s.Reads {
		on.Place = s.below.place
	}
	d := p.Device
	if d == nil {
		return on, nil
	}
	if on.Laplacian, err = d.Laplacian(p.P); err != nil {
		return on, err
	}
	if on.Nodes, err = upload(d, "nodes", s.nodes); err == nil && on.Place != nil {
		on.Local, err = upload(d, "place", on.Place)
	}
	return on, err
}

// setRows sets the slots and the data of the rows lo to hi−1 of s.
func (p *pass) setRows(r *levelRun, s *stage, lo, hi int, on ops.RowsOf) (err error) {
	nodes := s.nodes[lo:hi]
	if on.Nodes != 0 {
		on.Nodes = device.Floats(on.Nodes, lo)
	}
	if r.above != nil { // they are its input nodes
		r.above.SetFull(&graph.Block{Src: nodes}, nil, ops.RowsOf{})
	}
	if r.below != nil {
		err = p.setBelow(r, s, lo, hi, on)
	}
	for k := 0; k < len(s.Data) && err == nil; k++ {
		x := &s.data[k]
		m := plan.Matrix{Rows: hi - lo, Cols: x.X.Cols}
		if p.Device == nil {
			m.Data, err = x.rows(p.P, &r.data[k], nodes, lo, s.whole)
		} else {
			m.At, err = x.onDevice(p.Device, k, m, on)
		}
		r.Give(s.Data[k].Node, m.Floats, m.Rows, m.Cols)
	}
	return err
}

// setBelow makes the rows lo to hi−1 of s the output rows of the slot below: with a block's
// entries, or, in their place, rows of P.
func (p *pass) setBelow(r *levelRun, s *stage, lo, hi int, on ops.RowsOf) (err error) {
	b := &r.block
	b.Dst, r.own = s.nodes[lo:hi], r.own[:0]
	if s.Reads {
		for _, v := range b.Dst {
			if on.Place != nil {
				v = on.Place[v]
			}
			r.own = append(r.own, v)
		}
		if prefetch := p.P.Adjacency.Prefetch; prefetch != nil {
			prefetch(b.Dst)
		}
	}
	d := p.Device
	switch {
	case s.Reads && (s.Lists || d == nil && s.Sparse):
		kernel.Rows(&b.Matrix, p.P, b.Dst, on.Place)
		b.Matrix.Cols = len(b.Src)
		b.RowSums, on = p.rowSums(s, lo, hi), ops.RowsOf{P: p.P}
	case d == nil:
		b.RowSums = p.rowSums(s, lo, hi)
	default:
		if on.Sums, err = d.Scratch("sums").Floats(hi - lo); err == nil {
			err = d.RowSums(on.Sums, on.Laplacian, on.Nodes, 0, hi-lo)
		}
	}
	r.below.SetFull(b, r.own, on)
	return err
}

// onDevice returns the rows of on, as rows does, on the device, for a matrix of m's size. They are
// data k of a level.
func (s *supply) onDevice(d *device.Device, k int, m plan.Matrix, on ops.RowsOf) (device.Pointer, error) {
	x, err := d.Features(s.X)
	if err != nil {
		return 0, err
	}
	at, err := d.Scratch([2]any{"data", k}).Floats(m.Rows * m.Cols)
	switch {
	case err != nil:
		return 0, err
	case s.Propagated:
		return at, d.Propagate(at, on.Laplacian, on.Nodes, 0, m.Rows, x, 0, m.Cols)
	}
	return at, d.Gather(at, x, on.Nodes, m.Rows, m.Cols)
}
