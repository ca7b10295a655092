package full

import (
	"github.com/gcn-layerwise/gcn/graph"
	"github.com/gcn-layerwise/gcn/internal/device"
	"github.com/gcn-layerwise/gcn/internal/plan"
	"github.com/gcn-layerwise/gcn/ops"
)

// upload writes numbers to the device.
func upload(d *device.Device, what string, numbers []int32) (device.Pointer, error) {
	at, err := d.Scratch([2]any{what, 0}).Bytes(4 * int64(max(len(numbers), 1)))
	if err != nil {
		return 0, err
	}
	return at, device.Write(d, at, numbers)
}

// rowsOf returns the rows of P of s. On a device P is there whole.
func (p *pass) rowsOf(s *stage) (rows ops.RowsOf, err error) {
	d := p.Device
	if rows.P = p.P; d == nil {
		return rows, nil
	}
	if rows.Laplacian, err = d.Laplacian(p.P); err != nil {
		return rows, err
	}
	if rows.Nodes, err = upload(d, "nodes", s.nodes); err == nil && s.Reads && s.below.place != nil {
		rows.Local, err = upload(d, "place", s.below.place[:p.P.Nodes()])
	}
	return rows, err
}

// setRows sets the slots, the labels and the data of the rows lo to hi−1 of s.
func (p *pass) setRows(r *levelRun, s *stage, lo, hi int, on ops.RowsOf) error {
	nodes := s.nodes[lo:hi]
	if on.Nodes != 0 {
		on.Nodes = device.Floats(on.Nodes, lo)
	}
	if r.above != nil { // they are its input nodes
		r.rows.Src = nodes
		r.above.SetFull(&r.rows, nil, ops.RowsOf{P: p.P})
	}
	if r.targets != nil {
		if err := p.setLabels(r, nodes); err != nil {
			return err
		}
	}
	if s.below != nil {
		if err := p.setBelow(r, s, lo, hi, on); err != nil {
			return err
		}
	}
	for k, d := range s.Data {
		x := &s.data[k]
		m := plan.Matrix{Rows: hi - lo, Cols: x.X.Cols}
		var err error
		if p.Device == nil {
			m.Data, err = x.rows(p.P, &r.data[k], nodes, lo)
		} else {
			m.At, err = x.onDevice(p.Device, k, nodes, on)
		}
		if err != nil {
			return err
		}
		r.Give(d.Node, m)
	}
	return nil
}

// setBelow makes the rows lo to hi−1 of s the output rows of the slot below: with a block's
// entries, or, in their place, rows of P.
func (p *pass) setBelow(r *levelRun, s *stage, lo, hi int, on ops.RowsOf) error {
	b, below := &r.block, &s.below.rows
	if s.Reads && (s.Lists || p.Device == nil && s.Sparse) {
		r.fill(p.P, s.nodes[lo:hi], below)
		b.RowSums = p.rowSums(s, lo, hi)
		r.below.SetFull(b, r.own, ops.RowsOf{P: p.P})
		return nil
	}
	r.own = r.own[:0]
	*b = graph.Block{Dst: s.nodes[lo:hi]}
	if d := p.Device; d == nil {
		b.RowSums = p.rowSums(s, lo, hi)
	} else {
		var err error
		if on.Sums, err = d.Scratch([2]any{"sums", 0}).Floats(hi - lo); err == nil {
			err = d.RowSums(on.Sums, on.Laplacian, on.Nodes, 0, hi-lo)
		}
		if err != nil {
			return err
		}
	}
	if s.Reads {
		b.Src, on.Place = below.nodes, below.place
		for _, v := range b.Dst {
			if below.place != nil {
				v = below.place[v]
			}
			r.own = append(r.own, v)
		}
	}
	r.below.SetFull(b, r.own, on)
	return nil
}

// onDevice returns the rows of nodes, as rows does, on the device. They are data k of a level.
func (s *supply) onDevice(d *device.Device, k int, nodes []int32, on ops.RowsOf) (device.Pointer, error) {
	x, err := d.Features(s.X)
	if err != nil || !s.Propagated && consecutive(nodes) {
		return device.Floats(x, int(nodes[0])*s.X.Cols), err
	}
	at, err := d.Scratch([2]any{"data", k}).Floats(len(nodes) * s.X.Cols)
	switch {
	case err != nil:
		return 0, err
	case s.Propagated:
		return at, d.Propagate(at, on.Laplacian, on.Nodes, 0, len(nodes), x, 0, s.X.Cols)
	}
	return at, d.Gather(at, x, on.Nodes, len(nodes), s.X.Cols)
}
