package layers

import (
	"context"
	"errors"
	"fmt"

	"github.com/gcn-layerwise/gcn/graph"
	"github.com/gcn-layerwise/gcn/internal/full"
	"github.com/gcn-layerwise/gcn/internal/memory"
	"github.com/gcn-layerwise/gcn/ops"
	"github.com/gcn-layerwise/gcn/samplers"
)

// ExactInput is P·X of all nodes, with the row sums of P. X is data, so both are the same
// in every step. A GCN with GCNOptions.ExactInput reads rows of P·X in place of a sampled
// first propagation:
//
//	P(XW + 1⊗b) = (PX)W + (P1)⊗b.
//
// It is read-only in use. Any number of models may share it.
type ExactInput struct {
	p    *graph.Laplacian
	x    *graph.Features
	px   *graph.Features
	sums []float32
}

// NewExactInput computes P·X and the row sums of P. If the caller has P·X already, such as
// from a store, px is this matrix, in any precision; else it is nil.
//
// progress, if not nil, is called with the numbers of rows computed and of all rows, on
// the goroutine of the caller. Cost: 2·nnz(P)·x.Cols operations. Memory: the result,
// 4 bytes a value, and a few megabytes. A result that does not fit in memory is an error.
// ctx is checked every few thousand rows. If several ranks hold x together, they hold P·X
// together too, and all call NewExactInput; px is then nil or shared as x is.
func NewExactInput(ctx context.Context, p *graph.Laplacian, x, px *graph.Features, progress func(done, rows int)) (*ExactInput, error) {
	if ctx == nil || p == nil || x == nil {
		return nil, fmt.Errorf("layers: exact input needs a context, a Laplacian and features")
	}
	n := p.Nodes()
	for _, f := range []*graph.Features{x, px} {
		if f != nil && (f.Rows != n || f.Cols != x.Cols || !f.Sized()) {
			return nil, fmt.Errorf("layers: exact input: %d×%d features hold %d values, for %d nodes with %d features", f.Rows, f.Cols, f.Len(), n, x.Cols)
		}
	}
	e := &ExactInput{p: p, x: x, px: px}
	var err error
	if e.sums, err = p.RowSums(ctx); err != nil {
		return nil, fmt.Errorf("layers: exact input: %w", err)
	}
	if px != nil {
		return e, nil
	}
	if e.px, err = full.Propagate(ctx, p, x, progress); err != nil {
		if errors.Is(err, memory.ErrTooLarge) {
			err = fmt.Errorf("%w; a store made with --propagated keeps it on disk", err)
		}
		return nil, fmt.Errorf("layers: exact input: %w", err)
	}
	if x.Release != nil {
		x.Release() // only residual layers read the features again
	}
	nonzero, err := nonZero(ctx, e.px.Data, x.Share)
	if err != nil {
		return nil, fmt.Errorf("layers: exact input: %w", err)
	}
	if all := memory.Product(n, x.Cols); int64(nonzero) <= all/8 { // else a dense product is faster
		e.px.NonZero = nonzero
	}
	return e, nil
}

// nonZero returns the number of values that are not 0, of this rank and the others.
func nonZero(ctx context.Context, values []float32, share *graph.Share) (n int, err error) {
	for _, v := range values {
		if v != 0 {
			n++
		}
	}
	if share == nil {
		return n, nil
	}
	const digit = 1 << 24 // a float32 holds smaller integers exactly
	parts := make([][]float32, len(share.Bounds)-1)
	for r := range parts {
		parts[r] = make([]float32, 2)
	}
	parts[share.Rank][0], parts[share.Rank][1] = float32(n/digit), float32(n%digit)
	err, n = share.Gather(ctx, parts), 0
	for _, part := range parts {
		n += digit*int(part[0]) + int(part[1])
	}
	return n, err
}

// Bytes returns the size of P·X and of the row sums.
func (e *ExactInput) Bytes() int64 {
	return e.px.Bytes() + 4*int64(len(e.sums))
}

// of reports whether e is P·X of these features.
func (e *ExactInput) of(p *graph.Laplacian, x *graph.Features) bool {
	return e != nil && e.p == p && e.x == x
}

// inputSlot is the slot of a first convolution with exact input. Its output nodes are the
// input nodes of the sampler's lowest block.
type inputSlot struct {
	*ops.Slot
	exact *ExactInput
	sums  []float32 // of the current nodes
}

// set makes the input nodes of batch the slot's rows.
func (s *inputSlot) set(batch *samplers.MiniBatch) error {
	nodes := batch.Inputs()
	var err error
	if s.sums, err = gather(s.sums, s.exact.sums, nodes, "input"); err != nil {
		return fmt.Errorf("layers: %w", err)
	}
	return s.SetRows(nodes, s.sums)
}
