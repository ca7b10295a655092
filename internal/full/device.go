package full

import (
	"context"
	"errors"
	"fmt"

	"github.com/gcn-layerwise/gcn/internal/device"
	"github.com/gcn-layerwise/gcn/internal/plan"
	"github.com/gcn-layerwise/gcn/ops"
	G "gorgonia.org/gorgonia"
)

// scratch names memory on a device: of a level, with the number of a value.
type scratch struct {
	what  string
	level int
	k     int
}

// upload writes numbers to the device.
func upload(d *device.Device, name scratch, numbers []int32) (device.Pointer, error) {
	at, err := d.Scratch(name).Bytes(4 * int64(max(len(numbers), 1)))
	if err != nil {
		return 0, err
	}
	return at, device.Write(d, at, numbers)
}

// placed returns the run of level l on the device. It is kept for later calls.
func (p *pass) placed(l int) (*levelRun, error) {
	if p.gpu == nil {
		p.gpu = make([]*levelRun, len(p.levels))
	}
	if p.gpu[l] == nil {
		run, err := plan.Place(p.levels[l].Plan, p.Device)
		if err != nil {
			return nil, err
		}
		p.Device.OnClose(run.Close)
		r := &levelRun{Run: run.Run, gpu: run}
		r.begin(p, l)
		p.gpu[l] = r
	}
	p.gpu[l].read(p.Sources)
	p.gpu[l].gpu.Begin()
	return p.gpu[l], nil
}

// close frees the memory of p's runs on its device.
func (p *pass) close() (err error) {
	for _, r := range p.gpu {
		if r != nil {
			err = errors.Join(err, r.gpu.Close())
		}
	}
	p.gpu = nil
	return err
}

// onDevice computes the levels on the device. Values of a level stay there; P is there whole.
// constants are the values of no rows.
func (p *pass) onDevice(ctx context.Context, constants map[*G.Node]G.Value) ([]float32, error) {
	var logits []float32
	var held []device.Pointer // of the level below
	for l, level := range p.levels {
		count := len(p.need[l].nodes)
		values := make([]device.Pointer, level.Held)
		if level.Plan != nil && count > 0 {
			r, err := p.placed(l)
			if err != nil {
				return nil, err
			}
			for n, v := range constants {
				r.gpu.Give(n, v, 0, 0, 0)
			}
			if l > 0 {
				for k, at := range held {
					n := p.levels[l-1].Out[k]
					r.gpu.Give(n, nil, at, len(p.need[l-1].nodes), n.Shape()[1])
				}
			}
			for k := range values {
				if l == len(p.levels)-1 {
					break // each chunk is read
				}
				if values[k], err = p.Device.Scratch(scratch{"values", l % 2, k}).Floats(count * level.Out[k].Shape()[1]); err != nil {
					return nil, err
				}
			}
			part, err := p.runOnDevice(ctx, r, l, values)
			if err != nil {
				return nil, fmt.Errorf("layer %d: %w", l, err)
			}
			logits = part
		}
		held = values
	}
	return logits, nil
}

// runOnDevice computes the rows of level l, in chunks, and returns those of the last level.
func (p *pass) runOnDevice(ctx context.Context, r *levelRun, l int, values []device.Pointer) (logits []float32, err error) {
	d, level, need := p.Device, p.levels[l], &p.need[l]
	count := len(need.nodes)
	rows := ops.RowsOf{P: p.P}
	if rows.Laplacian, err = d.Laplacian(p.P); err != nil {
		return nil, err
	}
	ids, err := upload(d, scratch{"nodes", 0, 0}, need.nodes)
	if err != nil {
		return nil, err
	}
	if level.Reads && p.need[l-1].place != nil {
		if rows.Local, err = upload(d, scratch{"place", 0, 0}, p.need[l-1].place[:p.P.Nodes()]); err != nil {
			return nil, err
		}
	}
	if l == len(p.levels)-1 && p.wants(l, 0) == nil {
		if logits, err = logitsOf(count, level.Out[0].Shape()[1]); err != nil {
			return nil, err
		}
	}
	size := max(1024, min(1<<17, (1<<24)/max(level.Width, 1)))
	switch {
	case level.Mixed:
		size = count
	case p.Chunk > 0:
		size = p.Chunk
	}
	for lo := 0; lo < count; lo += size {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		hi := min(lo+size, count)
		rows.Nodes = device.Floats(ids, lo)
		if err := p.setOnDevice(r, l, lo, hi, rows); err != nil {
			return nil, err
		}
		for k, at := range values {
			if at != 0 {
				r.gpu.Into(k, device.Floats(at, lo*level.Out[k].Shape()[1]))
			}
		}
		if err := r.gpu.Compute(); err != nil {
			return nil, err
		}
		if err := p.takeFromDevice(r, l, lo, hi, values, logits); err != nil {
			return nil, err
		}
		p.done.add(hi - lo)
	}
	return logits, nil
}

// setOnDevice sets the slots and the data of the rows lo to hi−1 of level l.
func (p *pass) setOnDevice(r *levelRun, l, lo, hi int, rows ops.RowsOf) error {
	d, level, need := p.Device, p.levels[l], &p.need[l]
	nodes := need.nodes[lo:hi]
	if err := r.setRows(p, nodes); err != nil {
		return err
	}
	switch {
	case level.Reads && level.Lists:
		r.block.fill(p.P, nodes, &p.need[l-1])
		r.below.SetFull(p.P, &r.block.Block, r.block.own, lo > 0)
	case l > 0:
		sums, err := d.Scratch(scratch{"sums", 0, 0}).Floats(len(nodes))
		if err == nil {
			err = d.RowSums(sums, rows.Laplacian, rows.Nodes, 0, len(nodes))
		}
		if err != nil {
			return err
		}
		rows.Sums = sums
		r.setRowsOf(p, l, lo, hi, rows)
	}
	for k := range p.data[l] {
		s := &p.data[l][k]
		x, err := d.Features(s.X)
		if err != nil {
			return err
		}
		at := device.Floats(x, int(nodes[0])*s.X.Cols)
		if s.Propagated || !consecutive(nodes) {
			if at, err = d.Scratch(scratch{"data", 0, k}).Floats(len(nodes) * s.X.Cols); err != nil {
				return err
			}
			if s.Propagated {
				err = d.Propagate(at, rows.Laplacian, rows.Nodes, 0, len(nodes), x, 0, s.X.Cols)
			} else {
				err = d.Gather(at, x, rows.Nodes, len(nodes), s.X.Cols)
			}
			if err != nil {
				return err
			}
		}
		r.gpu.Give(s.node, nil, at, len(nodes), s.X.Cols)
	}
	return nil
}

// takeFromDevice moves results of the rows lo to hi−1 of level l to values, to the logits, or to
// the caller.
func (p *pass) takeFromDevice(r *levelRun, l, lo, hi int, values []device.Pointer, logits []float32) error {
	d, level := p.Device, p.levels[l]
	for k, n := range level.Out {
		rows, width, at, err := r.gpu.Also(k)
		if err == nil && (rows != hi-lo || width != n.Shape()[1]) {
			err = fmt.Errorf("%v has %d×%d values for %d rows: %w", n, rows, width, hi-lo, ops.ErrShape)
		}
		if err != nil {
			return err
		}
		if k < len(values) && values[k] != 0 {
			if to := device.Floats(values[k], lo*width); to != at {
				if err := d.Copy(to, at, rows*width); err != nil {
					return err
				}
			}
		}
		if k == 0 && logits != nil {
			if err := device.Read(d, logits[lo*width:hi*width], at); err != nil {
				return err
			}
		}
		if wanted := p.wants(l, k); wanted != nil {
			read := make([]float32, rows*width)
			if err := device.Read(d, read, at); err != nil {
				return err
			}
			if err := p.Wanted(wanted, p.need[l].nodes[lo:hi], read); err != nil {
				return err
			}
		}
	}
	return nil
}
