package ops

import (
	"cmp"
	"fmt"

	"github.com/gcn-layerwise/gcn/graph"
	"github.com/gcn-layerwise/gcn/internal/device"
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
	if err := checkSlot("OwnRows", slot, h); err != nil {
		return nil, err
	}
	slot.otherReader = "OwnRows"
	return apply(&ownRows{base{
		name:  "OwnRows",
		slot:  slot,
		parts: partOwn,
		rows:  plan.OwnRows,
	}}, tensor.Shape{slot.dst, h.Shape()[1]}, h)
}

// own returns the row of the block's input that belongs to each output node.
func (s *Slot) own() ([]int32, error) {
	b, err := s.current()
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
				return nil, fmt.Errorf("ops: output node %d of the block is not among its input nodes, so its row is not known; "+
					"full, neighbor, labor, cluster and the saint methods keep a row's own node, and so does samplers.LayerWise with KeepSelf: %w", v, graph.ErrInvalid)
			}
		}
		s.ownRows[i] = own
	}
	s.ownFound = true
	return s.ownRows, nil
}

// ownOf returns the block of s for c, and the result of own, also on c's device.
func (s *Slot) ownOf(c *plan.Call) (b *graph.Block, own []int32, at device.Pointer) {
	slot, b := s.of(c)
	own, err := slot.own()
	if c.Fail(err); c.Device != nil {
		at = slotOf(c.Run, s).own
	}
	return b, own, at
}

type ownRows struct{ base }

func (op *ownRows) Compute(c *plan.Call) error {
	x := c.Matrix(0)
	b, own, at := op.slot.ownOf(c)
	if x.Rows != len(b.Src) {
		return c.Sizes("%d rows, its block has %d", x.Rows, len(b.Src))
	}
	to := c.OutMatrix(len(own), x.Cols)
	return c.On(func() error {
		return c.Device.Gather(to.At, x.At, at, to.Rows, to.Cols)
	}, func() {
		kernel.Gather(to.Data, x.Data, own, x.Cols)
	})
}

// differentiate gives the gradient's op h too, for the shape.
func (op *ownRows) differentiate(d *gradients, _, grad *G.Node) {
	d.add(0, op.backward("Back", op.scatter), op.inputs[0], grad)
}

// scatter puts the gradient's rows where they belong. All other rows are zero.
func (op *ownRows) scatter(c *plan.Call) error {
	grad := c.Matrix(1)
	b, own, at := op.slot.ownOf(c)
	if grad.Rows != len(own) {
		return c.Sizes("gradient of %d rows, its block has %d output nodes", grad.Rows, len(own))
	}
	to := c.OutMatrix(len(b.Src), grad.Cols)
	return c.On(func() error {
		return cmp.Or(
			c.Device.Clear(to.At, 4*int64(to.Rows)*int64(to.Cols)),
			c.Device.Scatter(to.At, grad.At, at, 0, grad.Rows, grad.Cols),
		)
	}, func() {
		clear(to.Data)
		kernel.Scatter(to.Data, grad.Data, own, grad.Cols)
	})
}
