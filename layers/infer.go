package layers

import (
	"context"
	"errors"
	"fmt"

	"github.com/gcn-layerwise/gcn/graph"
	"github.com/gcn-layerwise/gcn/internal/full"
	"github.com/gcn-layerwise/gcn/internal/plan"
	"github.com/gcn-layerwise/gcn/ops"
	G "gorgonia.org/gorgonia"
)

// InferenceBound bounds the memory of inference on the CPU. The zero value sets no bound. The
// result has the same bits with any bound.
type InferenceBound struct {
	// Memory is the number of bytes that inference of more than 256 nodes may take, beside
	// the logits and the lists of nodes; 0 means half of the memory, at most 8 GiB. A mapped
	// store does not count. The output of a hidden layer that does not fit lies in a file in
	// the folder Scratch, "" for the system's folder of temporary files, until Infer returns.
	Memory  int64
	Scratch string
}

// Ranks are the processes that share the rows of an inference. Each computes a part of every
// layer's rows and gets the others' parts, so all have the result, with the same bits as one
// process. All ranks call Infer with equal arguments. A train.Group is Ranks.
type Ranks interface {
	Rank() int
	Size() int

	// Gather fills parts[r] with parts[r] of each rank r.
	Gather(ctx context.Context, parts [][]float32) error
}

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
	if labels := m.labels; labels != nil && len(labels.known) != p.Nodes() {
		return full.Call{}, fmt.Errorf("layers: inference: label inputs of %d nodes for a graph of %d", len(labels.known), p.Nodes())
	}
	c := full.Call{P: p, Nodes: nodes, Sources: m.sources(p, x), Bound: full.Bound(m.Bound), Progress: m.Progress, Device: m.Device}
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
// of two layers; and P·X of the first layer's rows, if it takes at most an eighth of the
// memory. m.Bound bounds it. The memory is reused by the next call. A GPU copies the features
// and the Laplacian at the first call and keeps them until the device is closed.
//
// A further call for the same nodes uses the list of rows, P·X and, if they are small, the rows
// of P of earlier calls. So p and x must not change between two calls. P·X of sparse features
// is not kept. A model with exact input has P·X already.
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

// InferHidden returns the output of a convolution, with norm and activation and without
// dropout, for nodes (nil: all nodes), and its number of columns. layer counts the
// convolutions from 1. The rest is as for Infer, but nothing is kept for a further call. A model
// of FormEquation has its logits at the last layer.
func (m *GCN) InferHidden(ctx context.Context, p *graph.Laplacian, x *graph.Features, nodes []int32, layer int) ([]float32, int, error) {
	if layer < 1 || layer > len(m.hidden) {
		return nil, 0, fmt.Errorf("layers: inference: the model has the layers 1 to %d, not %d", len(m.hidden), layer)
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

// NewNode is a node that the graph does not hold.
type NewNode struct {
	Features  []float32 // as many as the graph's nodes have
	Neighbors []int32   // nodes of the graph, each once; may be empty
	Weights   []float32 // of the edges to them; nil means 1
}

// InferNew returns the logits of a node that the graph does not hold, as if it were added to
// the graph with its edges: the result of Infer on that larger graph, up to rounding. p and x
// do not change. p must be of graph.NewLaplacian, graph.NewRowLaplacian or
// graph.NewDirectedLaplacian.
//
// It works on the CPU. Calls may run concurrently, and with Infer, while no parameter
// changes. Cost, in time and memory: the node's neighbourhood of as many edges as the model
// has convolutions, with its features.
func (m *GCN) InferNew(ctx context.Context, p *graph.Laplacian, x *graph.Features, node NewNode) ([]float32, error) {
	c, err := m.call(p, x, nil)
	if err != nil {
		return nil, err
	}
	if len(node.Features) != x.Cols {
		return nil, fmt.Errorf("layers: inference: a new node of %d features, the graph's nodes have %d", len(node.Features), x.Cols)
	}
	for k, v := range node.Features {
		if v-v != 0 {
			return nil, fmt.Errorf("layers: inference: feature %d of the new node is %v", k, v)
		}
	}
	local, nodes, err := p.WithNode(node.Neighbors, node.Weights, len(m.Convolutions))
	if err != nil {
		return nil, fmt.Errorf("layers: inference: %w", err)
	}
	features := &graph.Features{Rows: len(nodes) + 1, Cols: x.Cols, Data: make([]float32, (len(nodes)+1)*x.Cols)}
	copy(features.Data, node.Features)
	if x.Prefetch != nil {
		x.Prefetch(nodes)
	}
	for k, v := range nodes {
		copy(features.Data[(k+1)*x.Cols:], x.Row(int(v)))
	}
	c.P, c.Nodes, c.Sources, c.Device, c.Ranks = local, []int32{0}, m.sources(local, features), nil, nil
	c.LabelOf = append([]int32{-1}, nodes...)
	return infer(ctx, m.full, c)
}

// compile compiles output for full neighbourhoods. Its rows are at the output nodes of the
// batch's slot number layers−1; the slot of exact input counts too.
func (b *Batch) compile(output *G.Node, layers int, wanted ...*G.Node) (*full.Model, error) {
	var slots []*ops.Slot
	if b.input != nil {
		slots = append(slots, b.input.Slot)
	}
	slots = append(slots, b.slots...)
	var labels *full.Labels
	if b.labels != nil {
		labels = &full.Labels{Targets: b.labels.targets, Weights: make([]float32, len(b.labels.known))}
		if b.input != nil {
			labels.Level = 1
		}
		for v, known := range b.labels.known {
			if known {
				labels.Weights[v] = 1
			}
		}
	}
	m, err := full.New(output, slots[:layers], b.mode, labels, wanted...)
	if err == nil {
		m.Spare = &b.spare
	}
	return m, err
}

// Full compiles logits, a model's, for full neighbourhoods. Package train calls it.
func (b *Batch) Full(logits *G.Node) (*full.Model, error) {
	layers := len(b.slots)
	if b.input != nil {
		layers++
	}
	return b.compile(logits, layers)
}
