//go:build cuda

package ops

import (
	"fmt"

	"github.com/gcn-layerwise/gcn/internal/device"
	G "gorgonia.org/gorgonia"
)

// place gathers the rows, unless every reader does so by itself.
func (op *features) place(p *Placement, n *G.Node) (func([]*array) (*array, error), error) {
	x, err := p.d.Features(op.x)
	if err != nil {
		return nil, err
	}
	q, out := p.slot(op.slot), p.result(n)
	skipped := op.skipped()
	if !skipped {
		q.needs.dst = q.needs.dst || op.outputs
		q.needs.src = q.needs.src || !op.outputs
	}
	return func([]*array) (*array, error) {
		ids, at := q.block.Src, q.src
		if op.outputs {
			ids, at = q.block.Dst, q.dst
		}
		for k, v := range ids {
			if v < 0 || int(v) >= op.x.Rows {
				return nil, fmt.Errorf("ops: Features: node %d of the block is %d, outside the %d rows of features: %w", k, v, op.x.Rows, ErrShape)
			}
		}
		if skipped {
			out.shape, out.empty = append(out.shape[:0], len(ids), op.x.Cols), true
			return &out.array, nil
		}
		a, to, err := out.shaped(len(ids), op.x.Cols)
		if err != nil {
			return nil, err
		}
		return a, p.d.Gather(to, x, at, len(ids), op.x.Cols)
	}, nil
}

func (op *propagate) place(p *Placement, n *G.Node) (func([]*array) (*array, error), error) {
	q, out := p.slot(op.slot), p.result(n)
	var history *placedHistory
	if op.history != nil {
		var err error
		if history, err = p.history(op.history); err != nil {
			return nil, err
		}
		q.needs.control, q.needs.src = true, true
	}
	var x device.Pointer
	gathers := op.source != nil && op.source.skipped()
	if gathers {
		var err error
		if x, err = p.d.Features(op.source.x); err != nil {
			return nil, err
		}
		q.needs.src = true
	}
	q.needs.matrix = q.needs.matrix || !op.transposed
	q.needs.transposed = q.needs.transposed || op.transposed
	return func(in []*array) (*array, error) {
		m, ids, from, cols := q.matrix, device.Pointer(0), x, 0
		if op.transposed {
			m = q.transposed
		}
		if gathers {
			ids, cols = q.src, op.source.x.Cols
		} else {
			rows, width, at, err := in[0].matrix("Propagate")
			if err != nil {
				return nil, err
			}
			if rows != m.Cols {
				return nil, fmt.Errorf("ops: Propagate: %d×%d matrix times %d×%d: %w", m.Rows, m.Cols, rows, width, ErrShape)
			}
			from, cols = at, width
		}
		a, to, err := out.shaped(m.Rows, cols)
		if err != nil {
			return nil, err
		}
		if err := p.d.SpMM(to, m, ids, from, cols); err != nil || history == nil {
			return a, err
		}
		rows := from
		if op.activations != nil {
			rows = stateOf[placedActivate](p, op.activations).whole
		}
		return a, history.add(p, q, to, rows, cols)
	}, nil
}
