package ops

import (
	"fmt"
	"math"

	"github.com/gcn-layerwise/gcn/graph"
	"github.com/gcn-layerwise/gcn/internal/kernel"
)

// attend returns the current block as attention reads it: the weight of an entry is the sampler's,
// times the edge's in A+I, times a factor of the row. The error names a block without column scales,
// or one whose output nodes are not all among its input nodes.
func (s *Slot) attend() (_ kernel.Edges, err error) {
	if !s.edgesFound {
		if s.edges.Own, err = s.own(); err == nil {
			err = fillEdges(&s.edges, s.block)
		}
		s.edgesFound = err == nil
	}
	return s.edges, err
}

// fillEdges sets e to b, in the memory of the block before.
func fillEdges(e *kernel.Edges, b *graph.Block) error {
	m := &b.Matrix
	switch {
	case b.Control != nil:
		return fmt.Errorf("ops: Attention: the block has a control variate for P, and attention has no P: use a method without histories")
	case m.NNZ() > math.MaxInt32:
		return fmt.Errorf("ops: Attention: block of %d entries, want fewer than 2³¹: %w", m.NNZ(), ErrShape)
	case len(b.ColScale) != len(b.Src):
		return fmt.Errorf("ops: Attention: block of %d input nodes has %d column scales, so the sampler's weights are not known: %w", len(b.Src), len(b.ColScale), graph.ErrInvalid)
	}
	e.Ptr, e.Idx = m.Ptr, m.Idx
	e.Weight = scratch(e.Weight, len(m.Idx))
	for k, j := range m.Idx {
		v := float32(graph.Weight(m.Val, k))
		w := v / b.ColScale[j]
		if !(w >= 0) || w-w != 0 {
			return fmt.Errorf("ops: Attention: entry %d of the block has value %v and column scale %v: their ratio must be finite and at least 0: %w", k, v, b.ColScale[j], graph.ErrInvalid)
		}
		e.Weight[k] = w
	}
	e.Cols = len(b.Src)
	if b.Transposed.Rows != e.Cols {
		return nil // a block of Slot.SetFull has no gradient
	}
	e.Row, e.Entry, e.ColPtr = scratch(e.Row, len(m.Idx)), scratch(e.Entry, len(m.Idx)), scratch(e.ColPtr, e.Cols+1)
	clear(e.ColPtr)
	for _, j := range m.Idx {
		e.ColPtr[j+1]++
	}
	for j := range e.Cols {
		e.ColPtr[j+1] += e.ColPtr[j]
	}
	for i := range m.Rows {
		for k := m.Ptr[i]; k < m.Ptr[i+1]; k++ {
			at := &e.ColPtr[m.Idx[k]]
			e.Row[*at], e.Entry[*at] = int32(i), int32(k)
			*at++
		}
	}
	copy(e.ColPtr[1:], e.ColPtr[:e.Cols]) // each is now the next one's start
	e.ColPtr[0] = 0
	return nil
}
