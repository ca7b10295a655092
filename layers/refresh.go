package layers

import (
	"context"
	"fmt"

	"github.com/gcn-layerwise/gcn/graph"
	"github.com/gcn-layerwise/gcn/internal/memory"
	"github.com/gcn-layerwise/gcn/internal/plan"
	"github.com/gcn-layerwise/gcn/ops"
	"github.com/gcn-layerwise/gcn/samplers"
)

// Refreshed is a sampler whose model keeps H̄ and P·H̄ and refreshes them at some batches,
// such as a LayerWise with ControlRefresh.
type Refreshed interface {
	samplers.Sampler

	// Refreshed returns the matrix P and the nodes that batches are made of (nil: all),
	// and whether the model must keep histories.
	Refreshed() (p *graph.Laplacian, outputs []int32, refreshed bool)
}

// Refresher fills histories that training steps read and do not change. GCN is one. Calls
// are for the goroutine that trains.
type Refresher interface {
	// Refresh computes the histories from the current parameters.
	Refresh(ctx context.Context) error

	// Restore computes them from the parameters of the last Refresh, which are in
	// Batch.State: a resumed run calls it after it has restored the state.
	Restore(ctx context.Context) error
}

// refresher keeps, for each convolution that reads activations H, the rows that a batch can
// read: H̄ of the neighbours of the convolution's outputs, and P·H̄ of the outputs. The
// needed rows of a convolution are its possible outputs.
type refresher struct {
	p    *graph.Laplacian
	x    *graph.Features
	kept keptInput // its rows are the needed rows of each convolution
	sums []float32 // P·1

	index    [][]int32      // of each convolution: a node's position in its needed rows, or −1
	slots    []*ops.Slot    // of the convolutions
	controls []*slotControl // of the convolutions; nil for the first one
	params   []float32      // of the last Refresh
	filled   bool           // the histories were computed from params
}

// slotControl makes the control of a slot's blocks.
type slotControl struct {
	r       *refresher
	layer   int // of the convolution
	top     bool
	block   graph.Block
	control graph.Control
	sums    []float32
}

// useRefreshed makes slots keep refreshed histories if the batch's sampler asks for them.
// slots are those of the convolutions.
func (b *Batch) useRefreshed(slots []*ops.Slot, x *graph.Features, o GCNOptions) error {
	s, ok := b.sampler.(Refreshed)
	if !ok {
		return nil
	}
	p, outputs, refreshed := s.Refreshed()
	if !refreshed {
		return nil
	}
	if len(slots) == 1 {
		return fmt.Errorf("layers: control: the only layer reads features, so there are no activations to keep; use exact input or more layers")
	}
	if p == nil || p.Nodes() != x.Rows {
		return fmt.Errorf("layers: control: the sampler's Laplacian does not fit features of %d nodes", x.Rows)
	}
	r := &refresher{p: p, x: x, slots: slots, index: make([][]int32, len(slots)), controls: make([]*slotControl, len(slots))}
	if err := r.kept.use(context.Background(), p, x, outputs, len(slots)); err != nil {
		return fmt.Errorf("layers: control: %w", err)
	}
	var rows int64
	for l := 1; l < len(slots); l++ {
		rows += int64(len(r.kept.rows[l-1])) + int64(len(r.kept.rows[l]))
	}
	if err := memory.Check(fmt.Sprintf("layers: histories of %d rows of width %d", rows, o.Hidden), memory.Product(rows, int64(o.Hidden), 4)); err != nil {
		return fmt.Errorf("%w; train with a smaller width, with a rolling control, or without one", err)
	}
	for l := range slots {
		r.index[l] = make([]int32, p.Nodes())
		for v := range r.index[l] {
			r.index[l][v] = -1
		}
		for i, v := range r.kept.rows[l] {
			r.index[l][v] = int32(i)
		}
		if l == 0 {
			continue
		}
		slots[l].KeepRefreshed(len(r.kept.rows[l-1]) + len(r.kept.rows[l]))
		r.controls[l] = &slotControl{r: r, layer: l, top: l == len(slots)-1}
	}
	var err error
	if r.sums, err = p.RowSums(context.Background()); err != nil {
		return fmt.Errorf("layers: control: %w", err)
	}
	b.refresher = r
	return nil
}

// checkRefreshed returns an error if the sampler needs refreshed histories and there are
// none, or empty ones.
func (b *Batch) checkRefreshed() error {
	s, ok := b.sampler.(Refreshed)
	if !ok {
		return nil
	}
	switch _, _, refreshed := s.Refreshed(); {
	case !refreshed:
	case b.refresher == nil:
		return fmt.Errorf("layers: the sampler's control needs a model that refreshes histories, such as GCN; take a rolling control, or none")
	case !b.refresher.filled:
		return fmt.Errorf("layers: the control has no history yet: call the model's Refresh before the first batch")
	}
	return nil
}

// controlled returns the block of layer l with its control, if there is one.
func (b *Batch) controlled(l int, block *graph.Block) (*graph.Block, error) {
	if b.refresher == nil || block == nil {
		return block, nil
	}
	if b.input != nil {
		l++
	}
	if c := b.refresher.controls[l]; c != nil {
		return c.of(block)
	}
	return block, nil
}

// of returns b with the control [−P̃ I] over the history's rows H̄ and P·H̄, so
// that P̃H + [−P̃ I][H̄; PH̄] = P̃(H − H̄) + PH̄, and with the row sums of P. It is valid
// until the next call.
func (c *slotControl) of(b *graph.Block) (*graph.Block, error) {
	from, to := c.r.index[c.layer-1], c.r.index[c.layer]
	if len(b.Dst) != b.Matrix.Rows || len(b.Src) != b.Matrix.Cols || b.Matrix.Validate() != nil {
		return b, nil // the slot refuses it
	}
	for k, v := range b.Src {
		if v < 0 || int(v) >= len(from) {
			return nil, fmt.Errorf("input node %d of the block is %d, outside [0, %d)", k, v, len(from))
		}
	}
	below := int32(len(c.r.kept.rows[c.layer-1]))
	m := &c.control.Matrix
	m.Rows, m.Cols = len(b.Dst), int(below)+len(c.r.kept.rows[c.layer])
	m.Ptr, m.Idx, m.Val = append(m.Ptr[:0], 0), m.Idx[:0], m.Val[:0]
	c.sums = c.sums[:0]
	for i, v := range b.Dst {
		if v < 0 || int(v) >= len(to) {
			return nil, fmt.Errorf("output node %d of the block is %d, outside [0, %d)", i, v, len(to))
		}
		at := to[v]
		if at < 0 && c.top {
			return nil, fmt.Errorf("node %d has no history: it is none of the sampler's training nodes", v)
		}
		if at >= 0 {
			values := b.Matrix.RowValues(i)
			for k, j := range b.Matrix.Row(i) {
				value := float32(1)
				if values != nil {
					value = values[k]
				}
				if row := from[b.Src[j]]; row >= 0 {
					m.Idx, m.Val = append(m.Idx, row), append(m.Val, -value)
				}
			}
			m.Idx, m.Val = append(m.Idx, below+at), append(m.Val, 1)
		}
		m.Ptr = append(m.Ptr, int64(len(m.Idx)))
		c.sums = append(c.sums, c.r.sums[v])
	}
	c.block = graph.Block{Dst: b.Dst, Src: b.Src, Matrix: b.Matrix, Transposed: b.Transposed, RowSums: c.sums, Control: &c.control}
	return &c.block, nil
}

// Refresh implements Refresher. For a model whose sampler has no ControlRefresh it does
// nothing.
//
// It computes the rows over full neighbourhoods, without dropout, as Infer does, for about
// its cost. Memory beside the histories: as for Infer.
func (m *GCN) Refresh(ctx context.Context) error {
	r := m.Batch.refresher
	if r == nil {
		return nil
	}
	if err := r.fill(ctx, m); err != nil {
		r.filled = false
		return fmt.Errorf("layers: refreshing the histories: %w", err)
	}
	r.filled = true
	return m.eachValue(func(at int, values []float32) { copy(r.params[at:], values) })
}

// Restore implements Refresher.
func (m *GCN) Restore(ctx context.Context) error {
	r := m.Batch.refresher
	if r == nil {
		return nil
	}
	current := make([]float32, len(r.params))
	err := m.eachValue(func(at int, values []float32) {
		copy(current[at:], values)
		copy(values, r.params[at:])
	})
	if err != nil {
		return err
	}
	err = m.Refresh(ctx)
	if back := m.eachValue(func(at int, values []float32) { copy(values, current[at:]) }); err == nil {
		err = back
	}
	return err
}

// eachValue calls f with the memory of each parameter, and its place among the values of
// all parameters.
func (m *GCN) eachValue(f func(at int, values []float32)) error {
	at := 0
	for _, p := range m.Parameters {
		values, err := valueOf(p)
		if err != nil {
			return err
		}
		f(at, values)
		at += len(values)
	}
	return nil
}

// fill computes all histories with the current parameters of m.
func (r *refresher) fill(ctx context.Context, m *GCN) error {
	if ctx == nil {
		return fmt.Errorf("the context is nil")
	}
	model, err := m.inference(r.p, r.x, nil)
	if err != nil {
		return err
	}
	memory := m.takeMemory()
	defer m.memory.Store(memory)
	k, err := plan.NewKernels(m.Device, r.p, &memory.InferenceMemory)
	if err != nil {
		return err
	}
	if m.Ranks != nil && m.Ranks.Size() > 1 && m.Device == nil {
		model.ranks = m.Ranks
	}
	in, err := model.begin(ctx, k, r.p, r.x)
	if err != nil {
		return err
	}
	r.kept.onHost = m.Device == nil
	if err := in.first(&r.kept); err != nil {
		return err
	}
	h := in.x
	for l := range model.layers {
		rows := r.kept.rows[l]
		if err := k.Needed(rows, len(rows) == r.p.Nodes() && r.kept.nodes == nil); err != nil {
			return err
		}
		if l > 0 {
			all := r.slots[l].Histories()
			if len(all) != 1 {
				return fmt.Errorf("convolution %d has %d histories, want 1", l, len(all))
			}
			history, below := all[0].Values(), r.kept.rows[l-1]
			if err := k.Copy(history[:len(below)*h.Width], h.Span); err != nil {
				return err
			}
			if err := r.propagated(in, l, h, history[len(below)*h.Width:]); err != nil {
				return err
			}
		}
		if l == len(model.layers)-1 {
			return nil
		}
		if h, err = in.hidden(l, h, rows); err != nil {
			return err
		}
		if l == 0 {
			k.Released(r.x)
		}
	}
	return nil
}

// propagated writes P·H at the needed rows of convolution l to dst.
func (r *refresher) propagated(in *inference, l int, h plan.Rows, dst []float32) error {
	rows := r.kept.rows[l]
	chunk := in.ChunkRows(h.Width)
	err := in.chunks(len(rows), chunk, in.bring(l, rows), func(lo, n int) error {
		mixed, err := in.Scratch(plan.Mixed, n*h.Width)
		if err != nil {
			return err
		}
		if err := in.Propagate(mixed, h, lo, n); err != nil {
			return err
		}
		return in.Copy(dst[lo*h.Width:(lo+n)*h.Width], mixed)
	})
	if err != nil {
		return err
	}
	return in.gather(dst, len(rows), h.Width, chunk)
}
