package layers

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/gcn-layerwise/gcn/graph"
	"github.com/gcn-layerwise/gcn/internal/full"
	"github.com/gcn-layerwise/gcn/internal/kernel"
	"github.com/gcn-layerwise/gcn/internal/plan"
	G "gorgonia.org/gorgonia"
)

// InferenceBound bounds the memory of inference on the CPU. The zero value sets no bound. The
// result has the same bits with any bound. Its field Memory is the number of bytes that inference
// of more than 256 nodes may take, beside the logits and the lists of nodes; 0 means half of the
// memory, at most 8 GiB. A mapped store does not count. The output of a hidden layer that does not
// fit lies in a file in the folder Scratch, "" for the system's folder of temporary files, until
// Infer returns.
type InferenceBound = full.Bound

// Ranks are the processes that share the rows of an inference. Each computes a part of every
// layer's rows and gets the others' parts, so all have the result, with the same bits as one
// process. All ranks call Infer with equal arguments. A train.Group is Ranks.
type Ranks = full.Ranks

// sources maps the data of the model to the data that a call over p and x reads in their place.
func (m *GCN) sources(p *graph.Laplacian, x *graph.Features) map[plan.Source]plan.Source {
	propagated := plan.Source{X: x, Propagated: true}
	for _, e := range []*ExactInput{m.known, m.exact} {
		if e.of(p, x) {
			propagated = plan.Source{X: e.px}
		}
	}
	read := x
	if m.x.Sparse != nil { // its ops read the sparse form
		read = x.ToSparse()
	}
	sources := map[plan.Source]plan.Source{{X: m.x}: {X: read}, {X: m.x, Propagated: true}: propagated}
	if m.exact != nil {
		sources[plan.Source{X: m.exact.px}] = propagated
	}
	return sources
}

// call returns the call of an inference.
func (m *GCN) call(p *graph.Laplacian, x *graph.Features, nodes []int32) (full.Call, error) {
	switch {
	case p == nil || x == nil:
		return full.Call{}, fmt.Errorf("layers: inference needs a Laplacian and features")
	case m.full == nil:
		return full.Call{}, fmt.Errorf("layers: inference: the GCN is not of NewGCN; put a model of your own into a Model")
	}
	if x.Rows != p.Nodes() || x.Cols != m.x.Cols || !x.Sized() {
		return full.Call{}, fmt.Errorf("layers: inference: %d×%d features hold %d values, for %d nodes and a model that reads %d features",
			x.Rows, x.Cols, x.Len(), p.Nodes(), m.x.Cols)
	}
	c := full.Call{
		P:        p,
		Nodes:    nodes,
		Sources:  m.sources(p, x),
		Bound:    m.Bound,
		Progress: m.Progress,
		Device:   m.Device,
	}
	if m.Ranks != nil && m.Ranks.Size() > 1 && m.Device == nil {
		c.Ranks, c.Progress = m.Ranks, nil
	}
	return c, nil
}

// infer returns the outputs of a compiled model.
func infer(ctx context.Context, m *full.Model, c full.Call) ([]float32, error) {
	values, err := m.Infer(ctx, c)
	if err != nil {
		return nil, fmt.Errorf("layers: inference: %w", err)
	}
	return values, nil
}

// Infer returns the logits of nodes (nil: all nodes) over full neighbourhoods with the
// current parameters, without dropout. The result is row-major, (len(nodes), outputs); row
// i belongs to nodes[i]. p and x may be those of another graph.
//
// It runs the expression graph that training uses, layer by layer in chunks of rows, on the
// model's device. It computes only rows that the given nodes depend on. Nodes may be repeated;
// each occurrence has its row. Up to 256 nodes cost time for their neighbourhood, not for the
// graph.
//
// Memory beside the result: a few numbers a node; one chunk's intermediate rows; the output
// of two layers; and P·X of the first layer's rows, if it takes at most a 64th of the memory, or,
// from the second call for the same nodes on, an eighth. m.Bound bounds it. The memory is reused by the next call. A GPU copies the features
// and the Laplacian at the first call and keeps them until the device is closed.
//
// A further call for the same nodes uses the list of rows and P·X of earlier calls. So p and x must
// not change between two calls. P·X of sparse features is not kept. A model with exact input has
// P·X already.
//
// On the CPU the result has the same bits for any number of cores. A GPU gives the same bits at
// each call, which agree with the CPU's up to rounding. On the CPU, calls may run concurrently
// while no parameter changes; each has memory of its own. ctx is checked at each chunk. An
// output that does not fit in memory is an error before it is allocated.
func (m *GCN) Infer(ctx context.Context, p *graph.Laplacian, x *graph.Features, nodes []int32) ([]float32, error) {
	c, err := m.call(p, x, nodes)
	if err != nil {
		return nil, err
	}
	return infer(ctx, m.full, c)
}

// Reuse lets the next Infer write its result into the memory of logits, an earlier result of any
// length, which the caller must not use any more. The model holds it until then. Calls may be
// concurrent, and with Infer. A GCN that is not of NewGCN ignores it.
func (m *GCN) Reuse(logits []float32) {
	if m.full != nil {
		m.full.Reuse(logits)
	}
}

// InferHidden returns the output of a convolution, with norm and activation and without
// dropout, for nodes (nil: all nodes), and its number of columns. layer counts the
// convolutions from 1. The rest is as for Infer, but nothing is kept for a further call. A model
// of FormEquation has its logits at the last layer.
func (m *GCN) InferHidden(ctx context.Context, p *graph.Laplacian, x *graph.Features, nodes []int32, layer int) ([]float32, int, error) {
	if layer < 1 || layer > len(m.hidden) {
		return nil, 0, fmt.Errorf("layers: inference: the model has the layers 1 to %d, not %d",
			len(m.hidden), layer)
	}
	c, err := m.call(p, x, nodes)
	if err != nil {
		return nil, 0, err
	}
	output := m.hidden[layer-1]
	compiled, err := m.Batch.compile(output, layer)
	if err != nil {
		return nil, 0, err
	}
	values, err := infer(ctx, compiled, c)
	return values, output.Shape()[1], errors.Join(err, compiled.Close())
}

// ReadPropagated makes Infer read P·X from e, which any number of models may share, in
// place of computing it. Training does not change: that is GCNOptions.ExactInput. nil undoes
// it. A model that does not read P·X of dense features ignores it: one with attention, an input
// layer or sparse features, or that computes X·W first.
func (m *GCN) ReadPropagated(e *ExactInput) { m.known = e }

// CheckBound returns an error if Bound is too small for Infer with these arguments. Infer returns
// the same error, but a caller may want it before other work.
func (m *GCN) CheckBound(p *graph.Laplacian, x *graph.Features, nodes []int32) error {
	c, err := m.call(p, x, nodes)
	if err != nil {
		return err
	}
	if err := c.CheckBound(); err != nil {
		return fmt.Errorf("layers: %w", err)
	}
	return nil
}

// InferOverlay returns the logits of nodes of a changed graph, row-major: the bits of Infer for
// these nodes on a graph that is built anew with the changes and numbers its nodes in the same
// order.
//
// It works on the CPU. Calls may run concurrently, and with Infer, while no parameter
// changes. Cost, in time: the nodes' neighbourhood of as many edges as the model has
// convolutions, with its features. Memory: the same, or of one edge less if the model reads only
// P·X. ReadPropagated saves the time for rows of P·X that no change has touched.
func (m *GCN) InferOverlay(ctx context.Context, o *graph.Overlay, nodes []int32) ([]float32, error) {
	hops := len(m.Convolutions)
	propagated := m.full != nil && !m.full.ReadsInputs()
	if propagated {
		hops--
	}
	p, ids, err := o.Around(nodes, hops)
	if err != nil {
		return nil, fmt.Errorf("layers: inference: %w", err)
	}
	places := make([]int32, len(nodes))
	for k, v := range nodes {
		places[k] = int32(slices.Index(ids, v)) // nodes are the first of ids
	}
	c, err := m.call(p, o.Gather(ids), places)
	if err != nil {
		return nil, err
	}
	var px plan.Source
	if propagated {
		px.X, c.Sums = m.propagated(ctx, o, ids)
	}
	for source := range c.Sources {
		if propagated && source != (plan.Source{X: m.x}) {
			c.Sources[source] = px
		}
	}
	c.Device, c.Ranks = nil, nil
	return infer(ctx, m.full, c)
}

// propagated returns P·X and the row sums of P at nodes of a changed graph. It computes only rows
// that a change has touched, if m reads P·X of the base. Once ctx is done it leaves
// the other rows 0; the caller's pass then returns the context's error.
func (m *GCN) propagated(ctx context.Context, o *graph.Overlay, nodes []int32) (px *graph.Features, sums []float32) {
	p, x := o.Base()
	px = &graph.Features{
		Rows: len(nodes),
		Cols: x.Cols,
		Data: make([]float32, len(nodes)*x.Cols),
	}
	sums = make([]float32, len(nodes))
	kept := m.known.of(p, x) && m.known.px.Data != nil
	for k := 0; k < len(nodes) && ctx.Err() == nil; k++ {
		if v := nodes[k]; kept && o.Same(v) {
			copy(px.Row(k), m.known.px.Row(int(v)))
			sums[k] = m.known.sums[v]
		} else {
			row := o.Propagation(v)
			kernel.PropagateChanged(px.Row(k), o, row)
			sums[k] = float32(row.Sum)
		}
	}
	return px, sums
}

// compile compiles output for full neighbourhoods. Its rows are at the output nodes of the
// batch's slot number layers−1; the slot of exact input counts too.
func (b *Batch) compile(output *G.Node, layers int, wanted ...*G.Node) (*full.Model, error) {
	m, err := full.New(output, b.all()[:layers], b.mode, wanted...)
	if err == nil {
		m.Spare = &b.spare
	}
	return m, err
}

// Full compiles logits, a model's, for full neighbourhoods. Package train calls it.
func (b *Batch) Full(logits *G.Node) (*full.Model, error) {
	return b.compile(logits, len(b.all()))
}
