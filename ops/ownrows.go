package ops

import (
	"fmt"

	"github.com/gcn-layerwise/gcn/graph"
	"github.com/gcn-layerwise/gcn/internal/kernel"
	"github.com/gcn-layerwise/gcn/internal/plan"
	G "gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// OwnRows returns the rows of h that belong to the output nodes of slot's block: h is
// (len(Src), width), the result (len(Dst), width). A residual connection adds them to the
// layer's output. A run fails if an output node is not among the input nodes: full, node-wise
// and subgraph samplers have all of them there, layer-wise ones with KeepSelf or IncludeRows.
// Cost: one pass over the result.
func OwnRows(slot *Slot, h *G.Node) (*G.Node, error) {
	if slot == nil {
		return nil, fmt.Errorf("ops: OwnRows needs a slot")
	}
	if err := checkMatrix("OwnRows", h); err != nil {
		return nil, err
	}
	slot.otherReader = "OwnRows"
	return apply(&ownRows{base: base{name: "OwnRows"}, slot: slot}, tensor.Shape{slot.dst, h.Shape()[1]}, h)
}

// own returns the row of the block's input that belongs to each output node. what names the
// op in the error.
func (s *Slot) own(what string) ([]int32, error) {
	b, err := s.current(what)
	if err != nil {
		return nil, err
	}
	if s.ownFound {
		return s.ownRows, nil
	}
	s.ownRows = scratch(s.ownRows, len(b.Dst))
	var at map[int32]int32 // of each input node
	for i, v := range b.Dst {
		own := int32(i) // most samplers number the rows first
		if i >= len(b.Src) || b.Src[i] != v {
			if at == nil {
				at = make(map[int32]int32, len(b.Src))
				for j, u := range b.Src {
					at[u] = int32(j)
				}
			}
			var there bool
			if own, there = at[v]; !there {
				return nil, fmt.Errorf("ops: %s: output node %d of the block is not among its input nodes, so its row is not known; "+
					"full, neighbor, labor, cluster and the saint methods keep a row's own node, and so does samplers.LayerWise with KeepSelf: %w", what, v, graph.ErrInvalid)
			}
		}
		s.ownRows[i] = own
	}
	s.ownFound = true
	return s.ownRows, nil
}

type ownRows struct {
	base
	slot *Slot
}

func (op *ownRows) Compute(r *plan.Run, out *plan.Buffer, in ...G.Value) (G.Value, error) {
	x, err := matrixOf(op.name, in[0])
	if err != nil {
		return nil, err
	}
	slot := plan.In(r, op.slot)
	own, err := slot.own(op.name)
	if err != nil {
		return nil, err
	}
	if err := op.checkRows(x.rows, len(slot.block.Src)); err != nil {
		return nil, err
	}
	value, data := out.Matrix(len(own), x.cols)
	kernel.Gather(data, x.data, own, x.cols)
	return value, nil
}

// Rows says that op reads the input rows of its slot, and gives the output rows.
func (op *ownRows) Rows() (any, plan.RowKind) { return op.slot, plan.OwnRows }

func (op *ownRows) checkRows(got, want int) error {
	if got != want {
		return fmt.Errorf("ops: OwnRows: %d rows, its block has %d: %w", got, want, ErrShape)
	}
	return nil
}

func (op *ownRows) Place(p *plan.Placement) (plan.Kernel, error) {
	q := slotOf(p, op.slot)
	q.needs.own = true
	return func(in []*plan.Array, out *plan.Result) (*plan.Array, error) {
		rows, cols, x, err := in[0].Matrix(op.name)
		if err != nil {
			return nil, err
		}
		if err := op.checkRows(rows, len(q.block.Src)); err != nil {
			return nil, err
		}
		n := len(q.block.Dst)
		value, to, err := out.Matrix(n, cols)
		if err != nil {
			return nil, err
		}
		return value, p.Device().Gather(to, x, q.own, n, cols)
	}, nil
}

// SymDiff gives the gradient's op h too, for the shape.
func (op *ownRows) SymDiff(in G.Nodes, _, grad *G.Node) (G.Nodes, error) {
	d := op.gradients()
	d.add(0, &ownRowsBack{base: base{name: "OwnRowsBack"}, forward: op}, in[0], grad)
	return d.nodes, d.err
}

// ownRowsBack puts the gradient's rows where they belong. All other rows are zero.
type ownRowsBack struct {
	base
	forward *ownRows
}

func (op *ownRowsBack) Compute(r *plan.Run, out *plan.Buffer, in ...G.Value) (G.Value, error) {
	grad, err := matrixOf(op.forward.name, in[1])
	if err != nil {
		return nil, err
	}
	slot := plan.In(r, op.forward.slot)
	own, err := slot.own(op.forward.name)
	if err != nil {
		return nil, err
	}
	if err := op.forward.checkRows(grad.rows, len(own)); err != nil {
		return nil, err
	}
	value, data := out.Matrix(len(slot.block.Src), grad.cols)
	clear(data)
	for i, row := range own {
		copy(data[int(row)*grad.cols:(int(row)+1)*grad.cols], grad.data[i*grad.cols:(i+1)*grad.cols])
	}
	return value, nil
}

func (op *ownRowsBack) Place(p *plan.Placement) (plan.Kernel, error) {
	q := slotOf(p, op.forward.slot)
	q.needs.own = true
	return func(in []*plan.Array, out *plan.Result) (*plan.Array, error) {
		rows, cols, grad, err := in[1].Matrix(op.forward.name)
		if err != nil {
			return nil, err
		}
		if err := op.forward.checkRows(rows, len(q.block.Dst)); err != nil {
			return nil, err
		}
		n := len(q.block.Src)
		value, to, err := out.Matrix(n, cols)
		if err != nil {
			return nil, err
		}
		if err := p.Device().Clear(to, 4*int64(n)*int64(cols)); err != nil {
			return nil, err
		}
		return value, p.Device().Scatter(to, grad, q.own, 0, rows, cols)
	}, nil
}
