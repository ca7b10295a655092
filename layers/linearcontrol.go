package layers

import (
	"context"
	"fmt"
	"slices"

	"github.com/gcn-layerwise/gcn/graph"
	"github.com/gcn-layerwise/gcn/internal/full"
	"github.com/gcn-layerwise/gcn/internal/memory"
	"github.com/gcn-layerwise/gcn/ops"
	G "gorgonia.org/gorgonia"
)

// linearControl fills an ops.LinearControl of the second convolution: P·(P·X) at the nodes
// that batches are made of, which is data, and W̄ and the slopes at each refresh.
type linearControl struct {
	*ops.LinearControl
	exact      *ExactInput
	x, w       *G.Node // rows of P·X, and the weight of the first convolution
	activation ops.Activation
	b          *G.Node   // its bias; nil: none
	r          []float32 // factor of the bias in each node's row: the row sums of P, or 1
	pr         []float32 // P·r at the nodes that batches are made of
	rho        []float32 // of the current batch
	slopes     []float32 // of the last refresh
	known      bool      // P·(P·X) and pr are there
}

// OptionError says which option of GCNOptions is wrong, and why.
type OptionError struct {
	Option string // the name of the field
	Reason string
}

func (e *OptionError) Error() string { return fmt.Sprintf("layers: %s: %s", e.Option, e.Reason) }

// CheckLinearControl returns an OptionError for an option that excludes ControlLinear. With
// such an option, the first convolution's output is not act(P·X·W + (P·1)⊗b), its slope is
// not known, or more than the second propagation reads it.
func (o GCNOptions) CheckLinearControl() error {
	const (
		slope = "it excludes the linear control, which needs the slope of the activation of P·X·W itself"
		input = "it excludes the linear control: a part of the activations is then not from P·X·W"
		reads = "it excludes the linear control: other parts of the model read the activations too"
	)
	for _, c := range []struct {
		excludes       bool
		option, reason string
	}{
		{o.Norm != NormNone, o.Norm.String(), slope}, {o.Residual, "Residual", input},
		{o.HiddenResidual != ResidualNone, "HiddenResidual",
			reads}, {o.OwnState, "OwnState", reads},
		{o.Activation == ops.ActivationGELU, "Activation", "GELU excludes the linear control: its slope does not follow from its value; take ELU or ReLU"},
	} {
		if c.excludes {
			return &OptionError{c.option, c.reason}
		}
	}
	return nil
}

// useLinear adds the linear control to the histories of the second of two convolutions.
func (r *refresher) useLinear(slots []*ops.Slot, o GCNOptions) error {
	if o.ExactInput == nil || len(slots) != 2 {
		return fmt.Errorf("layers: ControlLinear needs exact input and two convolutions, the model has %d; leave it out", len(slots))
	}
	if err := o.CheckLinearControl(); err != nil {
		return err
	}
	rows, features := len(r.rows[1]), o.ExactInput.px.Cols
	if err := memory.Check(fmt.Sprintf("layers: P·(P·X) of %d nodes with %d features", rows,
		features), memory.Product(int64(rows), int64(features), 4)); err != nil {
		return fmt.Errorf("%w; leave out the linear control (linear=0)", err)
	}
	c, err := ops.NewLinearControl(slots[1], rows, features, o.Hidden)
	r.linear = &linearControl{
		LinearControl: c,
		exact:         o.ExactInput,
		activation:    o.Activation,
		r:             r.sums,
		pr:            make([]float32, rows),
	}
	if o.BiasAfter {
		r.linear.r = slices.Repeat([]float32{1}, r.p.Nodes())
	}
	return err
}

// set sets the rows of P·(P·X) and ρ = Pr − P̃r for the output nodes of block, whose rows are
// given.
func (c *linearControl) set(block *graph.Block, rows []int32) error {
	c.rho = c.rho[:0]
	for i, row := range rows {
		rest := float64(c.pr[row])
		values := block.Matrix.RowValues(i)
		for k, j := range block.Matrix.Row(i) {
			rest -= graph.Weight(values, k) * float64(c.r[block.Src[j]])
		}
		c.rho = append(c.rho, float32(rest))
	}
	return c.SetRows(rows, c.rho)
}

// propagate sets P·(P·X) and P·r of the wanted nodes at the first call. index has the row of each node.
func (c *linearControl) propagate(ctx context.Context, call full.Call, wanted, index []int32) error {
	if c.known {
		return nil
	}
	c.SetPropagated(0, nil) // allocates: parts are written at the same time
	for _, of := range []struct {
		x  *graph.Features
		to rowsOfNodes
	}{
		{c.exact.px, rowsOfNodes{c.SetPropagated, index, 0}},
		{&graph.Features{
			Rows: len(c.r),
			Cols: 1,
			Data: c.r,
		}, rowsOfNodes{func(first int, rows []float32) { copy(c.pr[first:], rows) }, index, 0}},
	} {
		g := G.NewGraph()
		slot := ops.NewSlot(1, 1)
		px, err := ops.Features(g, of.x, slot)
		if err == nil {
			px, err = ops.Propagate(slot, px)
		}
		if err != nil {
			return err
		}
		m, err := full.New(px, []*ops.Slot{slot}, new(ops.Mode), px)
		if err != nil {
			return err
		}
		set := func(_ *G.Node, nodes []int32, rows []float32) { of.to.set(nodes, rows) }
		size := len(wanted)
		if of.x.Prefetch == nil { // in memory: in parts, as all would be there twice
			size = 1 << 12
		}
		for nodes := range slices.Chunk(wanted, size) {
			c := full.Call{P: call.P, Nodes: nodes, Ranks: call.Ranks, Wanted: set}
			if _, err = m.Infer(ctx, c); err != nil {
				return err
			}
		}
	}
	c.known = true
	return nil
}

// slopeRows is the most rows of H̄ whose slopes are averaged.
const slopeRows = 4096

// linearise sets W̄ and b̄ to the parameters of the first convolution, and the slopes to their
// means over rows at equal distances of the first n of history, which holds H̄.
func (c *linearControl) linearise(history *ops.History, n int) error {
	w, err := valueOf(c.w)
	if err != nil {
		return err
	}
	b, err := valueOf(c.b)
	if err != nil {
		return err
	}
	width := history.Width()
	sums := make([]float64, width)
	step := (n + slopeRows - 1) / slopeRows
	for k := 0; k < n; k += step {
		for j, h := range history.Row(k) {
			switch { // of act, from its value
			case h > 0:
				sums[j]++
			case c.activation == ops.ActivationELU:
				sums[j] += 1 + float64(h)
			}
		}
	}
	c.slopes = c.slopes[:0]
	for _, sum := range sums {
		c.slopes = append(c.slopes, float32(sum/float64((n+step-1)/step)))
	}
	return c.SetPoint(w, b, c.slopes)
}
