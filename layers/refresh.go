package layers

import (
	"context"
	"fmt"
	"slices"

	"github.com/gcn-layerwise/gcn/graph"
	"github.com/gcn-layerwise/gcn/internal/kernel"
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

	// RefreshInfer is Refresh, and then Infer of nodes over the matrix and the features of
	// the histories. Rows that both need are computed once.
	RefreshInfer(ctx context.Context, nodes []int32) ([]float32, error)

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
	kept keptRows  // of the nodes that batches are made of
	sums []float32 // P·1

	index    [][]int32      // of each convolution: a node's position in its needed rows, or −1
	slots    []*ops.Slot    // of the convolutions
	controls []*slotControl // of the convolutions; nil for the first one
	params   []float32      // of the last Refresh
	filled   bool           // the histories were computed from params
	joint    keptRows       // below the last layer, the rows of the last RefreshInfer
	linear   *linearControl // nil: none
}

// slotControl makes the control of a slot's blocks.
type slotControl struct {
	r       *refresher
	layer   int // of the convolution
	top     bool
	block   graph.Block
	control graph.Control
	sums    []float32

	from, to []int32 // positions of the block's nodes in the needed rows, below and here; −1: none
}

// useRefreshed makes slots keep refreshed histories if the batch's sampler asks for them.
// There is one slot for each convolution.
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
	if err := r.kept.use(context.Background(), p, outputs, len(slots)); err != nil {
		return fmt.Errorf("layers: control: %w", err)
	}
	r.kept.histories = true
	var rows int64
	for l := 1; l < len(slots); l++ {
		rows += int64(len(r.kept.rows[l-1])) + int64(len(r.kept.rows[l]))
	}
	size := int64(4)
	if o.ControlHalf {
		size = 2
	}
	if err := memory.Check(fmt.Sprintf("layers: histories of %d rows of width %d", rows, o.Hidden), memory.Product(rows, int64(o.Hidden), size)); err != nil {
		half := "half precision, "
		if o.ControlHalf {
			half = ""
		}
		return fmt.Errorf("%w; take %sa smaller width, a rolling control, or none", err, half)
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
		slots[l].KeepRefreshed(len(r.kept.rows[l-1])+len(r.kept.rows[l]), o.ControlHalf)
		r.controls[l] = &slotControl{r: r, layer: l, top: l == len(slots)-1}
	}
	var err error
	if r.sums, err = p.RowSums(context.Background()); err != nil {
		return fmt.Errorf("layers: control: %w", err)
	}
	b.refresher = r
	if o.ControlLinear {
		return r.useLinear(slots, o)
	}
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
	if len(b.Dst) != b.Matrix.Rows || len(b.Src) != b.Matrix.Cols || b.Matrix.Validate() != nil {
		return b, nil // the slot refuses it
	}
	// Short loops, so that the processor waits for many of these far reads at a time.
	var err error
	if c.from, err = positions(c.from, c.r.index[c.layer-1], b.Src, "input"); err != nil {
		return nil, err
	}
	if c.to, err = positions(c.to, c.r.index[c.layer], b.Dst, "output"); err != nil {
		return nil, err
	}
	c.sums = c.sums[:0]
	for _, v := range b.Dst {
		c.sums = append(c.sums, c.r.sums[v])
	}
	below := int32(len(c.r.kept.rows[c.layer-1]))
	m, from := &c.control.Matrix, c.from
	m.Rows, m.Cols = len(b.Dst), int(below)+len(c.r.kept.rows[c.layer])
	m.Ptr, m.Idx, m.Val = append(m.Ptr[:0], 0), m.Idx[:0], m.Val[:0]
	for i, at := range c.to {
		if at < 0 && c.top {
			return nil, fmt.Errorf("node %d has no history: it is none of the sampler's training nodes", b.Dst[i])
		}
		if at >= 0 {
			values := b.Matrix.RowValues(i)
			for k, j := range b.Matrix.Row(i) {
				value := float32(1)
				if values != nil {
					value = values[k]
				}
				if row := from[j]; row >= 0 {
					m.Idx, m.Val = append(m.Idx, row), append(m.Val, -value)
				}
			}
			m.Idx, m.Val = append(m.Idx, below+at), append(m.Val, 1)
		}
		m.Ptr = append(m.Ptr, int64(len(m.Idx)))
	}
	if c.top && c.r.linear != nil {
		if err := c.r.linear.set(b, c.to); err != nil {
			return nil, err
		}
	}
	c.block = graph.Block{Dst: b.Dst, Src: b.Src, Matrix: b.Matrix, Transposed: b.Transposed, RowSums: c.sums, NoiseScale: b.NoiseScale, Control: &c.control}
	return &c.block, nil
}

// positions sets at to the positions of nodes, by the index. which names the nodes in the error.
func positions(at, index, nodes []int32, which string) ([]int32, error) {
	at = at[:0]
	for k, v := range nodes {
		if v < 0 || int(v) >= len(index) {
			return at, fmt.Errorf("%s node %d of the block is %d, outside [0, %d)", which, k, v, len(index))
		}
		at = append(at, index[v])
	}
	return at, nil
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
	_, err := r.refresh(ctx, m, nil)
	return err
}

// RefreshInfer implements Refresher. On the CPU of one process it is one pass, with the same
// bits as Refresh and Infer.
func (m *GCN) RefreshInfer(ctx context.Context, nodes []int32) ([]float32, error) {
	r := m.Batch.refresher
	if r == nil {
		return nil, fmt.Errorf("layers: the model has no histories to refresh")
	}
	if m.Device == nil && (m.Ranks == nil || m.Ranks.Size() == 1) && len(nodes) > 0 {
		return r.refresh(ctx, m, nodes)
	}
	if err := m.Refresh(ctx); err != nil {
		return nil, err
	}
	return m.Infer(ctx, r.p, r.x, nodes)
}

// refresh fills the histories, and returns the logits of nodes if there are any.
func (r *refresher) refresh(ctx context.Context, m *GCN, nodes []int32) ([]float32, error) {
	logits, err := r.fill(ctx, m, nodes)
	if err != nil {
		r.filled = false
		return nil, fmt.Errorf("layers: refreshing the histories: %w", err)
	}
	r.filled = true
	return logits, m.eachValue(func(at int, values []float32) { copy(r.params[at:], values) })
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

// fill computes all histories with the current parameters of m, and the logits of nodes if
// there are any.
func (r *refresher) fill(ctx context.Context, m *GCN, nodes []int32) ([]float32, error) {
	if ctx == nil {
		return nil, fmt.Errorf("the context is nil")
	}
	model, err := m.inference(r.p, r.x, nodes)
	if err != nil {
		return nil, err
	}
	memory := m.takeMemory()
	defer m.memory.Store(memory)
	k, err := plan.NewKernels(m.Device, r.p, &memory.InferenceMemory)
	if err != nil {
		return nil, err
	}
	if r.x.Share != nil || r.p.Share != nil {
		model.ranks = m.sharing()
	}
	kept := &r.kept // rows of the hidden layers
	if len(nodes) > 0 {
		if err := memory.kept.use(ctx, r.p, nodes, len(model.layers)); err != nil {
			return nil, err
		}
		kept = r.union(&memory.kept)
	}
	in, err := model.begin(ctx, k, r.p, r.x, memory, kept, m.Device == nil)
	if err != nil {
		return nil, err
	}
	if r.linear != nil {
		if err := r.linear.propagate(in, &r.kept); err != nil {
			return nil, err
		}
	}
	// The order of a layer's products depends on its rows. Each row has the bits that it has
	// alone only if all three lists have the same order.
	top := len(model.layers) - 1
	if kept != &r.kept {
		own, others := model.orders(&r.kept), model.orders(&memory.kept)
		if !slices.Equal(own[:top], others[:top]) {
			if _, err := r.run(in, &r.kept, own); err != nil {
				return nil, err
			}
			return model.run(ctx, k, r.p, r.x, memory, m.Device == nil)
		}
		h, err := r.run(in, kept, others)
		if err != nil {
			return nil, err
		}
		return in.top(h, &memory.kept)
	}
	_, err = r.run(in, kept, in.orders)
	return nil, err
}

// union returns the rows of both the histories and the given pass, for all but the last
// layer.
func (r *refresher) union(with *keptRows) *keptRows {
	u, top := &r.joint, len(r.kept.rows)-1
	if u.p == r.p && slices.Equal(u.nodes, with.nodes) {
		return u
	}
	*u = keptRows{p: r.p, nodes: with.nodes, rows: make([][]int32, top+1), sums: make([][]float32, top+1)}
	u.rows[top] = with.rows[top]
	needed := make([]bool, r.p.Nodes())
	for l := range top {
		clear(needed)
		for _, rows := range [][]int32{r.kept.rows[l], with.rows[l]} {
			for _, v := range rows {
				needed[v] = true
			}
		}
		for v, is := range needed {
			if is {
				u.rows[l] = append(u.rows[l], int32(v))
			}
		}
	}
	return u
}

// run computes the hidden layers at the rows of kept, which include the rows of the histories,
// and fills the histories. It returns the last hidden layer.
func (r *refresher) run(in *inference, kept *keptRows, orders []bool) (h plan.Rows, err error) {
	in.orders = orders
	h = in.x
	for l := range in.model.layers {
		if l > 0 {
			if err := r.history(in, l, h, kept); err != nil {
				return h, err
			}
		}
		if l == len(in.model.layers)-1 {
			return h, nil
		}
		if h, err = in.hidden(l, h, kept); err != nil {
			return h, err
		}
	}
	return h, nil
}

// history fills the history of convolution l from h, the output of the layer below at the
// rows of kept.
func (r *refresher) history(in *inference, l int, h plan.Rows, kept *keptRows) error {
	all := r.slots[l].Histories()
	if len(all) != 1 {
		return fmt.Errorf("convolution %d has %d histories, want 1", l, len(all))
	}
	history, rows := all[0], r.kept.rows[l-1]
	history.SetRows(0, nil) // allocates: parts are written at the same time
	var err error
	if len(rows) == len(kept.rows[l-1]) {
		err = in.toHistory(history, 0, h.Span, h.Count*h.Width)
	} else {
		at, ids := 0, make([]int32, len(rows)) // both lists ascend
		for i, v := range rows {
			for kept.rows[l-1][at] < v {
				at++
			}
			ids[i] = int32(at)
		}
		err = in.chunks(in.even(len(rows), h.Width), h.Width, nil, func(part *inference, lo, n int) error {
			own, err := part.Scratch(plan.Mixed, n*h.Width)
			if err != nil {
				return err
			}
			kernel.Gather(own.Host(), h.Host(), ids[lo:lo+n], h.Width)
			return part.toHistory(history, lo, own, n*h.Width)
		})
	}
	if err == nil && r.linear != nil {
		err = r.linear.linearise(in.model.layers[0].w, in.model.layers[0].b, history, len(rows))
	}
	if err == nil {
		err = in.need(&r.kept, l)
	}
	if err != nil {
		return err
	}
	return r.propagated(in, l, h, history)
}

// toHistory sets rows of a history, from the first one on, to the first n values of x.
func (r *inference) toHistory(history *ops.History, first int, x plan.Span, n int) error {
	if rows := x.Host(); rows != nil {
		history.SetRows(first, rows[:n])
		return nil
	}
	at := first * history.Width()
	return r.Copy(history.Values()[at:at+n], x)
}

// propagated writes P·H at the needed rows of convolution l to the history, after H̄.
func (r *refresher) propagated(in *inference, l int, h plan.Rows, history *ops.History) error {
	below, rows := len(r.kept.rows[l-1]), len(r.kept.rows[l])
	if in.ranks != nil {
		all, err := in.Scratch(plan.Transformed, rows*h.Width)
		if err != nil {
			return err
		}
		shares := in.even(rows, h.Width)
		err = in.chunks(shares, h.Width, in.bringRows(in.rows), func(part *inference, lo, n int) error {
			return part.Propagate(all.From(lo*h.Width), h, lo, n)
		})
		if err == nil {
			err = in.gather(all.Host(), h.Width, shares)
		}
		if err != nil {
			return err
		}
		return in.toHistory(history, below, all, rows*h.Width)
	}
	return in.chunks(in.even(rows, h.Width), h.Width, nil, func(part *inference, lo, n int) error {
		mixed, err := part.Propagated(h, lo, n)
		if err != nil {
			return err
		}
		return part.toHistory(history, below+lo, mixed, n*h.Width)
	})
}
