package ops

import (
	"fmt"
	"slices"

	"github.com/gcn-layerwise/gcn/graph"
	"github.com/gcn-layerwise/gcn/internal/device"
	"github.com/gcn-layerwise/gcn/internal/plan"
)

// placedSlot holds the parts of a slot's block that this run has on the device.
type placedSlot struct {
	slot  *Slot
	needs blockParts
	block *graph.Block // the block on the device
	same  *placedSlot  // a slot that has sent the same parts of the same block; or nil

	matrix, transposed, control device.Sparse
	src, dst, sums, own, noise  device.Pointer
	edges                       device.Edges
}

// blockParts selects the parts of a block that some ops read. The others are small, and always
// sent.
type blockParts uint8

const (
	partMatrix blockParts = 1 << iota
	partTransposed
	partOwn
	partEdges
	partNoise // only in training
)

// placedSlots are the slots of a run. Layers of one sampled subgraph share a block,
// which is sent once.
type placedSlots []*placedSlot

// slotOf returns s on the device of r, or a slot with the same block there.
func slotOf(r *plan.Run, s *Slot) *placedSlot {
	q := plan.StateOf[placedSlot](r, s)
	if q.slot == nil {
		slots := plan.StateOf[placedSlots](r, "slots")
		if *slots == nil {
			r.AddInput(func(u *device.Uploader) error { return slots.send(r, u) })
		}
		q.slot = s
		*slots = append(*slots, q)
	}
	if q.same != nil {
		return q.same
	}
	return q
}

// send adds the current blocks to the upload.
func (s placedSlots) send(r *plan.Run, u *device.Uploader) error {
	for k, q := range s {
		slot := plan.In(r, q.slot)
		b, err := slot.current()
		if err != nil {
			return err
		}
		n := b.Matrix.NNZ()
		if b.Control != nil {
			n = max(n, b.Control.NNZ())
		}
		if n > 1<<31-1 { // row pointers are int32
			return fmt.Errorf("ops: block of %d entries; a GPU takes fewer than 2³¹: %w", n, ErrShape)
		}
		q.block, q.same = b, nil
		if i := slices.IndexFunc(s[:k], func(o *placedSlot) bool { return o.block == b && o.needs == q.needs }); i >= 0 {
			q.same = s[i]
		} else if err := q.send(u, slot); err != nil {
			return err
		}
	}
	return nil
}

// send adds the parts of slot's block that ops read to the upload.
func (q *placedSlot) send(u *device.Uploader, slot *Slot) error {
	b := q.block
	if q.needs&partOwn != 0 {
		own, err := slot.own()
		if err != nil {
			return err
		}
		device.Add(u, &q.own, own)
	}
	if on := slot.full; on.Laplacian != nil { // in place of entries
		q.dst, q.sums = on.Nodes, on.Sums
		return nil
	}
	device.Add(u, &q.src, b.Src)
	device.Add(u, &q.dst, b.Dst)
	device.Add(u, &q.sums, b.RowSums)
	device.Add(u, &q.noise, b.NoiseScale)
	sparse := func(sent bool, to *device.Sparse, a *graph.CSR) {
		if sent {
			to.Rows, to.Cols = a.Rows, a.Cols
			device.AddNarrow(u, &to.Ptr, a.Ptr)
			device.Add(u, &to.Idx, a.Idx)
			device.Add(u, &to.Val, a.Val)
		}
	}
	sparse(q.needs&partMatrix != 0, &q.matrix, &b.Matrix)
	sparse(q.needs&partTransposed != 0, &q.transposed, &b.Transposed)
	sparse(b.Control != nil, &q.control, b.Control)
	if q.needs&partEdges == 0 {
		return nil
	}
	e, err := slot.attend()
	if err != nil {
		return err
	}
	to := &q.edges
	device.AddNarrow(u, &to.Ptr, e.Ptr)
	device.Add(u, &to.Idx, e.Idx)
	device.Add(u, &to.Weight, e.Weight)
	device.Add(u, &to.Own, e.Own)
	device.Add(u, &to.ColPtr, e.ColPtr)
	device.Add(u, &to.Entry, e.Entry)
	device.Add(u, &to.Row, e.Row)
	return nil
}
