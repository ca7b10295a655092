package ops

import (
	"cmp"
	"fmt"

	"github.com/gcn-layerwise/gcn/graph"
	"github.com/gcn-layerwise/gcn/internal/device"
	"github.com/gcn-layerwise/gcn/internal/kernel"
	"github.com/gcn-layerwise/gcn/internal/plan"
)

// Slot holds one layer's block of the current mini-batch. The ops of that layer share it.
// A graph is built and compiled once over its slots; each step sets the next blocks and
// runs the graph.
//
// A slot belongs to one graph and, like the machine that runs it, to one goroutine. A run
// that works beside others has a slot of its own: see For.
type Slot struct {
	dst, src int // nominal sizes

	history   History // as the slot keeps them, without a width; of no rows: it keeps none
	histories []*History

	scalesNoise bool   // the dropout of its input obeys Block.NoiseScale
	otherReader string // an op that reads the input otherwise than Propagate; or ""
	observed    bool   // see ObserveNorms

	slotBatch
}

// slotBatch is a slot's part of the batch, and what is computed of it.
type slotBatch struct {
	block *graph.Block
	rows  graph.Block // of SetRows
	full  RowsOf      // see SetFull

	edges   kernel.Edges // of block, for attention
	ownRows []int32      // of block, for OwnRows and attention

	edgesFound, ownFound bool

	squares []float32 // of the last run
}

// For returns a slot for r alone, without a block: r reads it in place of s. Its options are
// those of s at this time. A run over it reads the histories of s, and leaves no rows for
// History.Commit.
func (s *Slot) For(r *plan.Run) *Slot {
	own := *s
	own.slotBatch = slotBatch{}
	plan.Use(r, s, &own)
	return &own
}

// NewSlot returns an empty slot. The sizes are nominal: they give the nodes their shapes
// and guide choices by cost. Blocks of any size may be set.
func NewSlot(dst, src int) *Slot {
	return &Slot{dst: max(dst, 1), src: max(src, 1)}
}

// Nominal returns the sizes of NewSlot: the nominal output and input rows of the layer.
func (s *Slot) Nominal() (dst, src int) { return s.dst, s.src }

// Set makes b the block of the next runs. The slot keeps b without a copy: it must not
// change until these runs have ended. If b is empty, or its parts do not fit together,
// the error wraps graph.ErrInvalid, and the slot keeps its old block. Cost: O(NNZ).
func (s *Slot) Set(b *graph.Block) error {
	if b == nil {
		return fmt.Errorf("ops: no block to set: %w", graph.ErrInvalid)
	}
	rows, cols := len(b.Dst), len(b.Src)
	m, t := &b.Matrix, &b.Transposed
	switch {
	case rows == 0 || cols == 0:
		return fmt.Errorf("ops: block of %d output and %d input nodes is empty: %w", rows, cols, graph.ErrInvalid)
	case m.Rows != rows || m.Cols != cols || t.Rows != cols || t.Cols != rows || len(b.RowSums) != rows:
		return fmt.Errorf("ops: block of %d output and %d input nodes has a %d×%d matrix, a %d×%d transpose and %d row sums: %w",
			rows, cols, m.Rows, m.Cols, t.Rows, t.Cols, len(b.RowSums), graph.ErrInvalid)
	}
	// Check here: kernels do not check indices, and a panic in the machine's goroutine
	// would end the process. A value that is not finite would show only in the loss.
	if err := cmp.Or(m.Validate(), t.Validate()); err != nil {
		return fmt.Errorf("ops: block matrix or transpose: %w", err)
	}
	if m.NNZ() != t.NNZ() || m.NNZ() > 0 && (m.Val == nil) != (t.Val == nil) {
		return fmt.Errorf("ops: block matrix of %d entries and %d values has a transpose of %d and %d: %w", m.NNZ(), len(m.Val), t.NNZ(), len(t.Val), graph.ErrInvalid)
	}
	for i, sum := range b.RowSums {
		if sum-sum != 0 {
			return fmt.Errorf("ops: sum of block row %d is %v, not finite: %w", i, sum, graph.ErrInvalid)
		}
	}
	if err := cmp.Or(s.checkControl(b), s.checkNoiseScale(b)); err != nil {
		return err
	}
	s.use(b)
	return nil
}

// checkNoiseScale returns an error if b scales the noise of a dropout that does not obey, or
// that another op reads too.
func (s *Slot) checkNoiseScale(b *graph.Block) error {
	switch {
	case len(b.NoiseScale) == 0:
		return nil
	case s.otherReader != "":
		return fmt.Errorf("ops: block scales the noise of its input's dropout for Propagate, but %s reads the input too: leave one of them out: %w", s.otherReader, graph.ErrInvalid)
	case !s.scalesNoise:
		return fmt.Errorf("ops: block scales the noise of its input's dropout: make the input with ActivateSources, or use a sampler that does not scale it: %w", graph.ErrInvalid)
	}
	return b.CheckNoiseScale()
}

// use makes b the current block.
func (s *Slot) use(b *graph.Block) {
	s.block = b
	s.edgesFound, s.ownFound = false, false
	s.full = RowsOf{}
}

// SetFull is Set without checks, for rows of P over full neighbourhoods. b has no transpose, and
// may have no entries; own is the row of the input that belongs to each output node.
func (s *Slot) SetFull(b *graph.Block, own []int32, rows RowsOf) {
	s.use(b)
	s.full, s.ownRows, s.ownFound = rows, own, true
}

// RowsOf are rows of P over full neighbourhoods. The rest is for a block without entries.
type RowsOf struct {
	P     *graph.Laplacian
	Place []int32 // by node, its row of the input; nil: row v is node v

	// The same on a device, with the output nodes and the row sums of P there; or nil and 0.
	Laplacian          *device.Laplacian
	Nodes, Local, Sums device.Pointer
}

// SetRows makes nodes the output nodes of the next runs, with their row sums of P. It is
// for a layer whose propagation is known already: OutputFeatures and Affine read the slot,
// Propagate returns an error. The slices must not change until the runs have ended. After
// an error, which wraps graph.ErrInvalid, the slot keeps its old block.
func (s *Slot) SetRows(nodes []int32, sums []float32) error {
	if len(nodes) == 0 || len(nodes) != len(sums) {
		return fmt.Errorf("ops: %d output nodes with %d row sums: %w", len(nodes), len(sums), graph.ErrInvalid)
	}
	s.rows.Dst, s.rows.RowSums = nodes, sums
	s.use(&s.rows)
	return nil
}

// current returns the current block.
func (s *Slot) current() (*graph.Block, error) {
	if s.block == nil {
		return nil, fmt.Errorf("ops: a slot has no block: call Slot.Set before the run")
	}
	return s.block, nil
}

// of returns what c reads in place of s, and its block. Without a block c fails, and the block is
// empty.
func (s *Slot) of(c *plan.Call) (*Slot, *graph.Block) {
	own := plan.In(c.Run, s)
	b, err := own.current()
	if err != nil {
		c.Fail(err)
		b = new(graph.Block)
	}
	return own, b
}

// rowSums returns the row sums of s's block for c, one for each row of an input; nothing if s is nil.
func (s *Slot) rowSums(c *plan.Call, rows int) (sums plan.Floats) {
	if s == nil {
		return sums
	}
	_, b := s.of(c)
	if len(b.Dst) != rows {
		c.Sizes("input has %d rows, its block %d output nodes", rows, len(b.Dst))
	}
	if sums.Data = b.RowSums; c.Device != nil {
		sums.At = slotOf(c.Run, s).sums
	}
	return sums
}
