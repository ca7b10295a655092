package layers

import (
	"context"
	"fmt"
	"slices"

	"github.com/gcn-layerwise/gcn/graph"
	"github.com/gcn-layerwise/gcn/internal/full"
	"github.com/gcn-layerwise/gcn/internal/memory"
	"github.com/gcn-layerwise/gcn/internal/parallel"
	"github.com/gcn-layerwise/gcn/ops"
	"github.com/gcn-layerwise/gcn/samplers"
	G "gorgonia.org/gorgonia"
)

// Refreshed is a sampler whose model keeps H̄ and P·H̄ and refreshes them at some batches,
// such as a LayerWise with ControlRefresh.
type Refreshed interface {
	samplers.Sampler

	// Refreshed returns the matrix P and the nodes that batches are made of (nil: all),
	// and whether the model must keep histories.
	Refreshed() (p *graph.Laplacian, outputs []int32, refreshed bool)
}

// refresher keeps, for each convolution that reads activations H, the rows that a batch can
// read: H̄ of the neighbours of the convolution's outputs, and P·H̄ of the outputs. The
// needed rows of a convolution are its possible outputs.
type refresher struct {
	p     *graph.Laplacian
	x     *graph.Features
	nodes []int32   // that batches are made of
	rows  [][]int32 // of each convolution, the needed ones
	sums  []float32 // P·1

	index    [][]int32      // of each convolution: a node's position in its needed rows, or −1
	slots    []*ops.Slot    // of the convolutions
	controls []*slotControl // of the convolutions; nil for the first one
	params   []float32      // of the last Refresh
	filled   bool           // the histories were computed from params
	linear   *linearControl // nil: none

	full *full.Model // P·H of the last convolution, with wanted
	kept map[*G.Node]rowsOfNodes
}

// rowsOfNodes are rows that some nodes have: node v has row first + index[v], or none if index[v]
// is negative.
type rowsOfNodes struct {
	setRows func(first int, rows []float32)
	index   []int32
	first   int
}

// set sets the rows of nodes. Calls for other nodes may be concurrent.
func (r rowsOfNodes) set(nodes []int32, rows []float32) {
	width := len(rows) / len(nodes)
	parallel.For(len(nodes), 256, func(lo, hi int) {
		for k := lo; k < hi; k++ {
			if at := r.index[nodes[k]]; at >= 0 {
				r.setRows(r.first+int(at), rows[k*width:(k+1)*width])
			}
		}
	})
}

// slotControl makes the control of a slot's blocks.
type slotControl struct {
	r       *refresher
	layer   int // of the convolution
	block   graph.Block
	control graph.CSR
	sums    []float32

	from, to []int32 // positions of the block's nodes in the needed rows, below and here; −1: none
}

// refreshed is Refreshed of the batch's sampler; false if it has no such method.
func (b *Batch) refreshed() (p *graph.Laplacian, outputs []int32, refreshed bool) {
	if s, ok := b.sampler.(Refreshed); ok {
		return s.Refreshed()
	}
	return nil, nil, false
}

// useRefreshed makes slots keep refreshed histories if the batch's sampler asks for them.
// There is one slot for each convolution.
func (b *Batch) useRefreshed(slots []*ops.Slot, x *graph.Features, o GCNOptions) error {
	p, outputs, refreshed := b.refreshed()
	if !refreshed {
		return nil
	}
	if len(slots) == 1 {
		return fmt.Errorf("layers: control: the only layer reads features, so there are no activations to keep; use exact input or more layers")
	}
	if p == nil || p.Nodes() != x.Rows {
		return fmt.Errorf("layers: control: the sampler's Laplacian does not fit features of %d nodes", x.Rows)
	}
	r := &refresher{
		p:        p,
		x:        x,
		nodes:    outputs,
		slots:    slots,
		index:    make([][]int32, len(slots)),
		controls: make([]*slotControl, len(slots)),
	}
	var err error
	if r.rows, err = full.Rows(context.Background(), p, outputs, len(slots)); err != nil {
		return fmt.Errorf("layers: control: %w", err)
	}
	var rows int64
	for l := 1; l < len(slots); l++ {
		rows += int64(len(r.rows[l-1])) + int64(len(r.rows[l]))
	}
	size := int64(4)
	half := "half precision, "
	if o.ControlHalf {
		size, half = 2, ""
	}
	if err := memory.Check(fmt.Sprintf("layers: histories of %d rows of width %d", rows,
		o.Hidden), memory.Product(rows, int64(o.Hidden), size)); err != nil {
		return fmt.Errorf("%w; take %sa smaller width, a rolling control, or none", err, half)
	}
	for l := range slots {
		r.index[l] = slices.Repeat([]int32{-1}, p.Nodes())
		for i, v := range r.rows[l] {
			r.index[l][v] = int32(i)
		}
		if l == 0 {
			continue
		}
		slots[l].KeepRefreshed(len(r.rows[l-1])+len(r.rows[l]), o.ControlHalf)
		r.controls[l] = &slotControl{r: r, layer: l}
	}
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
	switch _, _, refreshed := b.refreshed(); {
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
	r := b.refresher
	if r == nil || block == nil {
		return block, nil
	}
	if c := r.controls[len(r.slots)-len(b.slots)+l]; c != nil {
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
	if c.from, err = gather(c.from, c.r.index[c.layer-1], b.Src, "input"); err != nil {
		return nil, err
	}
	if c.to, err = gather(c.to, c.r.index[c.layer], b.Dst, "output"); err != nil {
		return nil, err
	}
	if c.sums, err = gather(c.sums, c.r.sums, b.Dst, "output"); err != nil {
		return nil, err
	}
	below := int32(len(c.r.rows[c.layer-1]))
	top := c.layer == len(c.r.slots)-1
	m, from := &c.control, c.from
	m.Rows = len(b.Dst)
	m.Cols = int(below) + len(c.r.rows[c.layer])
	m.Ptr = append(m.Ptr[:0], 0)
	m.Idx = m.Idx[:0]
	m.Val = m.Val[:0]
	for i, at := range c.to {
		if at < 0 && top {
			return nil, fmt.Errorf("node %d has no history: it is none of the sampler's training nodes", b.Dst[i])
		}
		if at >= 0 {
			values := b.Matrix.RowValues(i)
			for k, j := range b.Matrix.Row(i) {
				if row := from[j]; row >= 0 {
					m.Idx = append(m.Idx, row)
					m.Val = append(m.Val, -float32(graph.Weight(values, k)))
				}
			}
			m.Idx = append(m.Idx, below+at)
			m.Val = append(m.Val, 1)
		}
		m.Ptr = append(m.Ptr, int64(len(m.Idx)))
	}
	if top && c.r.linear != nil {
		if err := c.r.linear.set(b, c.to); err != nil {
			return nil, err
		}
	}
	c.block = *b
	c.block.RowSums, c.block.Control = c.sums, &c.control
	return &c.block, nil
}

// gather sets dst to the nodes' elements of table. which names the nodes in the error.
func gather[T any](dst, table []T, nodes []int32, which string) ([]T, error) {
	dst = dst[:0]
	for k, v := range nodes {
		if v < 0 || int(v) >= len(table) {
			return dst, fmt.Errorf("%s node %d of the block is %d, outside [0, %d)",
				which, k, v, len(table))
		}
		dst = append(dst, table[v])
	}
	return dst, nil
}

// Refresh computes the histories that training steps read and do not change, from the current
// parameters. For a model whose sampler has no ControlRefresh it does nothing. It is for the
// goroutine that trains, as Restore is.
//
// It computes the rows over full neighbourhoods, without dropout, as Infer does, for about
// its cost. Memory beside the histories: as for Infer.
func (m *GCN) Refresh(ctx context.Context) error {
	r := m.Batch.refresher
	if r == nil {
		return nil
	}
	if err := r.fill(ctx, m); err != nil {
		return err
	}
	return m.eachValue(func(at int, values []float32) { copy(r.params[at:], values) })
}

// compile compiles the pass that fills the histories.
func (r *refresher) compile(m *GCN) error {
	if err := m.eachValue(func(_ int, values []float32) { r.params = append(r.params, values...) }); err != nil {
		return err
	}
	var wanted G.Nodes
	r.kept = make(map[*G.Node]rowsOfNodes)
	for l, conv := range m.Convolutions[1:] {
		history := r.slots[l+1].Histories()[0]
		wanted = append(wanted, conv.input, conv.mixed)
		r.kept[conv.input] = rowsOfNodes{history.SetRows, r.index[l], 0}
		r.kept[conv.mixed] = rowsOfNodes{history.SetRows, r.index[l+1], len(r.rows[l])}
	}
	var err error
	if r.full, err = m.Batch.compile(wanted[len(wanted)-1], len(r.slots), wanted...); err != nil {
		return fmt.Errorf("layers: control: %w", err)
	}
	return nil
}

// fill fills the histories by a pass over the rows that they need.
func (r *refresher) fill(ctx context.Context, m *GCN) (err error) {
	defer func() {
		if r.filled = err == nil; err != nil {
			err = fmt.Errorf("layers: refreshing the histories: %w", err)
		}
	}()
	if ctx == nil {
		return fmt.Errorf("the context is nil")
	}
	c, err := m.call(r.p, r.x, r.nodes)
	if err != nil {
		return err
	}
	if r.linear != nil {
		if err := r.linear.propagate(ctx, c, r.rows[1], r.index[1]); err != nil {
			return err
		}
	}
	for _, v := range r.kept {
		v.setRows(0, nil) // allocates: parts are written at the same time
	}
	c.Bound, c.Progress = full.Bound{}, nil
	c.Wanted = func(n *G.Node, nodes []int32, rows []float32) { r.kept[n].set(nodes, rows) }
	if _, err := r.full.Infer(ctx, c); err != nil || r.linear == nil {
		return err
	}
	return r.linear.linearise(r.slots[1].Histories()[0], len(r.rows[0]))
}

// RefreshOperations returns about the number of operations of a refresh of the histories, in
// multiply-adds of a dense product; 0 if there are none.
func (b *Batch) RefreshOperations(ctx context.Context) (float64, error) {
	r := b.refresher
	if r == nil {
		return 0, nil
	}
	return r.full.Operations(ctx, r.p, r.nodes)
}

// Restore computes the histories from the parameters of the last Refresh, which are in
// Batch.State: a resumed run calls it after it has restored the state.
func (m *GCN) Restore(ctx context.Context) error {
	r := m.Batch.refresher
	if r == nil {
		return nil
	}
	swap := func(at int, values []float32) {
		for k, v := range values {
			values[k], r.params[at+k] = r.params[at+k], v
		}
	}
	if err := m.eachValue(swap); err != nil {
		return err
	}
	err := r.fill(ctx, m)
	if back := m.eachValue(swap); err == nil {
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
