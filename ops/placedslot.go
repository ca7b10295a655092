package ops

import (
	"fmt"
	"slices"

	"github.com/gcn-layerwise/gcn/graph"
	"github.com/gcn-layerwise/gcn/internal/device"
	"github.com/gcn-layerwise/gcn/internal/plan"
)

// placedSlot is the part of a slot's block that lies on the device in this run.
type placedSlot struct {
	slot  *Slot
	needs blockParts
	block *graph.Block // that is there

	matrix, transposed, control device.Sparse
	src, dst, sums              device.Pointer
}

// blockParts says which parts of a block are read.
type blockParts struct{ matrix, transposed, control, src, dst, sums bool }

// placedSlots are the slots of a placement. Layers of one subgraph share a block,
// which is sent once.
type placedSlots struct{ all []*placedSlot }

// slotOf returns s on the device of p.
func slotOf(p *plan.Placement, s *Slot) *placedSlot {
	slots, made := plan.StateOf[placedSlots](p, placedSlots{}.key())
	if made {
		p.AddInput(slots)
	}
	for _, q := range slots.all {
		if q.slot == s {
			return q
		}
	}
	q := &placedSlot{slot: s}
	slots.all = append(slots.all, q)
	return q
}

// key names the slots among the states of a placement.
func (placedSlots) key() any { return (*placedSlots)(nil) }

// Send adds the present blocks to the upload.
func (s *placedSlots) Send(u *device.Uploader) error {
	for k, q := range s.all {
		b, err := q.slot.current("Placement")
		if err != nil {
			return err
		}
		q.block = b
		if err := checkEntries(b); err != nil {
			return err
		}
		if s.same(k) == nil {
			q.send(u)
		}
	}
	return nil
}

// Sent gives slots that share a block the places of the first one.
func (s *placedSlots) Sent() {
	for k, q := range s.all {
		if o := s.same(k); o != nil {
			slot, needs := q.slot, q.needs
			*q = *o
			q.slot, q.needs = slot, needs
		}
	}
}

// same returns the first slot before slot k of which the same is sent, or nil.
func (s *placedSlots) same(k int) *placedSlot {
	q := s.all[k]
	if i := slices.IndexFunc(s.all[:k], func(o *placedSlot) bool { return o.block == q.block && o.needs == q.needs }); i >= 0 {
		return s.all[i]
	}
	return nil
}

// checkEntries reports a block whose row pointers do not fit in int32.
func checkEntries(b *graph.Block) error {
	n := b.Matrix.NNZ()
	if b.Control != nil {
		n = max(n, b.Control.Matrix.NNZ())
	}
	if n > 1<<31-1 {
		return fmt.Errorf("ops: block of %d entries; a device takes fewer than 2³¹: %w", n, ErrShape)
	}
	return nil
}

func (q *placedSlot) send(u *device.Uploader) {
	sparse := func(to *device.Sparse, a *graph.CSR) {
		to.Rows, to.Cols = a.Rows, a.Cols
		device.AddNarrow(u, &to.Ptr, a.Ptr)
		device.Add(u, &to.Idx, a.Idx)
		device.Add(u, &to.Val, a.Val)
	}
	b := q.block
	if q.needs.matrix {
		sparse(&q.matrix, &b.Matrix)
	}
	if q.needs.transposed {
		sparse(&q.transposed, &b.Transposed)
	}
	if q.needs.control && b.Control != nil {
		sparse(&q.control, &b.Control.Matrix)
	}
	if q.needs.src {
		device.Add(u, &q.src, b.Src)
	}
	if q.needs.dst {
		device.Add(u, &q.dst, b.Dst)
	}
	if q.needs.sums {
		device.Add(u, &q.sums, b.RowSums)
	}
}

// rowSums returns where the row sums of slot's block are, 0 without a slot.
func (q *placedSlot) rowSums(what string, rows int) (device.Pointer, error) {
	if q == nil {
		return 0, nil
	}
	if len(q.block.RowSums) != rows {
		return 0, fmt.Errorf("ops: %s: %d rows, its block puts out %d: %w", what, rows, len(q.block.RowSums), ErrShape)
	}
	return q.sums, nil
}
