package layers

import (
	"context"
	"fmt"

	"github.com/gcn-layerwise/gcn/graph"
	"github.com/gcn-layerwise/gcn/internal/kernel"
	"github.com/gcn-layerwise/gcn/internal/memory"
	"github.com/gcn-layerwise/gcn/internal/parallel"
	"github.com/gcn-layerwise/gcn/internal/plan"
	"github.com/gcn-layerwise/gcn/ops"
)

// Infer returns the logits of nodes (nil: all nodes) over full neighbourhoods with the
// current parameters, without dropout. The result is row-major, (len(nodes), outputs); row
// i belongs to nodes[i].
//
// It works outside the expression graph, on the model's device, layer by layer in chunks
// of rows. It computes only rows that the given nodes depend on. Nodes may be repeated; each
// occurrence has its row. Up to 256 nodes cost time for their neighbourhood, not for the
// graph.
//
// Memory beside the result: a few numbers a node; one chunk's intermediate rows; the output
// of one hidden layer, or of two if the model has more than two convolutions; and H·W of a
// whole layer if H·W is computed first. m.Bound bounds it. The memory is reused by the next
// call. A GPU copies the features and the Laplacian at the first call and keeps them until the
// device is closed.
//
// A further call for the same nodes, if they are more than 256 or nil, uses the list of rows
// and, on the CPU, P·X of the first call. P·X is not kept if X·W is computed first, if P·X
// takes more than an eighth of the memory, or if x is sparse. So p and x must not change
// between two calls. A model with exact input has P·X already.
//
// On the CPU the result has the same bits for any number of cores. The order of a layer's
// products depends on nodes, so a node's row may differ by rounding from its row among others.
// A GPU gives the same bits at each call, which agree with the CPU's up to rounding. On the
// CPU, calls may run concurrently while no parameter changes; each has memory of its own. ctx
// is checked at each chunk. An output that does not fit in memory is an error before it is
// allocated.
func (m *GCN) Infer(ctx context.Context, p *graph.Laplacian, x *graph.Features, nodes []int32) (logits []float32, err error) {
	if ctx == nil {
		return nil, fmt.Errorf("layers: inference: the context is nil")
	}
	model, err := m.inference(p, x, nodes)
	if err != nil {
		return nil, err
	}
	model.ranks = m.sharing()
	if nodes != nil && len(nodes) <= fewNodes && p.Share == nil && x.Share == nil {
		return m.inferFew(ctx, model, m.Device, p, x, nodes)
	}
	memory := m.takeMemory()
	defer m.memory.Store(memory)
	if err := memory.bound(m.Bound, p, m.Device); err != nil {
		return nil, err
	}
	defer func() {
		memory.Limit = 0 // refreshes have no bound
		if freed := memory.Free(); err == nil && freed != nil {
			logits, err = nil, fmt.Errorf("layers: inference: %w", freed)
		}
	}()
	k, err := plan.NewKernels(m.Device, p, &memory.InferenceMemory)
	if err != nil {
		return nil, fmt.Errorf("layers: inference: %w", err)
	}
	if err := memory.kept.use(ctx, p, nodes, len(model.layers)); err != nil {
		return nil, fmt.Errorf("layers: inference: %w", err)
	}
	if m.Progress != nil && model.ranks == nil {
		model.progress = newInferenceProgress(m.Progress, memory.kept.rows)
	}
	return model.run(ctx, k, p, x, memory, m.Device == nil)
}

// inferFew is Infer for a few nodes, on a GPU or, if d is nil, on the CPU.
func (m *GCN) inferFew(ctx context.Context, model *inferenceModel, d *ops.Device, p *graph.Laplacian, x *graph.Features, nodes []int32) ([]float32, error) {
	memory := m.few.take()
	defer m.few.give(memory)
	k, err := plan.NewKernels(d, p, &memory.InferenceMemory)
	if err != nil {
		return nil, fmt.Errorf("layers: inference: %w", err)
	}
	if err := memory.useFew(ctx, p, nodes, len(model.layers), d == nil && model.layers[0].attention != nil); err != nil {
		return nil, fmt.Errorf("layers: inference: %w", err)
	}
	return model.run(ctx, k, p, x, memory, d == nil)
}

// ReadPropagated makes Infer read P·X from e, which any number of models may share, in
// place of computing it. Training does not change: that is GCNOptions.ExactInput. nil undoes
// it. Attention, which has no use for P·X, ignores it. Where Infer would compute X·W first, as
// with more features than hidden units, the result differs by rounding.
func (m *GCN) ReadPropagated(e *ExactInput) { m.known = e }

// inferenceLayer holds a layer's parameters.
type inferenceLayer struct {
	in, out    int
	w, b       []float32        // b nil: no bias
	norm, pre  *inferenceNorm   // nil: none
	second     *inferenceLinear // nil: none
	skip       []float32        // nil: no residual
	own        []float32        // of ResidualLinear; nil: none
	state      []float32        // of GraphConv.OwnState; nil: none
	jump       []float32        // from the output to the logits; nil: none
	residual   Residual         // of its own input
	last       bool             // residuals are added last
	largest    bool             // the classifier reads the largest outputs
	dense      bool             // an input layer: without P
	biasAfter  bool             // b is added after the propagation
	attention  *inferenceAttention
	activation kernel.Activation

	on struct{ w, b, skip, own, state, jump plan.Span } // the same, on the processor
}

// readsFeatures reports whether the layers read rows of the features themselves, even if
// P·X is known.
func (m *inferenceModel) readsFeatures() bool {
	return m.layers[0].skip != nil || m.layers[0].residual != ResidualNone
}

// inferenceLinear holds the parameters of a linear layer after an activation.
type inferenceLinear struct {
	w, b []float32

	on struct{ w, b plan.Span } // the same, on the processor
}

// inferenceLabels holds the labels that an input layer reads, and their weights.
type inferenceLabels struct {
	all *graph.Features
	w   []float32

	on struct { // the same, on the processor
		rows plan.Rows
		w    plan.Span
	}
}

// inferenceModel holds the parameters of a GCN.
type inferenceModel struct {
	layers     []inferenceLayer
	classifier *inferenceLayer  // nil: none
	outputs    int              // width of the logits
	exact      *ExactInput      // P·X of the call's features; nil: not known
	labels     *inferenceLabels // that the input layer reads; nil: none
	ranks      Ranks            // that share the rows; nil: this process computes all
	filled     float64          // share of the features that is stored
	progress   *inferenceProgress
}

// inference returns the parameters. It checks that all sizes match.
func (m *GCN) inference(p *graph.Laplacian, x *graph.Features, nodes []int32) (*inferenceModel, error) {
	var labels *graph.Features
	if m.labels != nil {
		labels = m.labels.all
	}
	return m.inferenceOf(p, x, labels, nodes)
}

// inferenceOf is inference with the labels that the input layer reads, or nil.
func (m *GCN) inferenceOf(p *graph.Laplacian, x, labels *graph.Features, nodes []int32) (*inferenceModel, error) {
	if p == nil || x == nil {
		return nil, fmt.Errorf("layers: inference needs a Laplacian and features")
	}
	if x.Rows != p.Nodes() || !x.Sized() {
		return nil, fmt.Errorf("layers: inference: %d×%d features hold %d values, for %d nodes", x.Rows, x.Cols, x.Len(), p.Nodes())
	}
	for i, v := range nodes {
		if v < 0 || int(v) >= p.Nodes() {
			return nil, fmt.Errorf("layers: inference: node %d is %d, outside [0, %d)", i, v, p.Nodes())
		}
	}
	if len(m.Convolutions) == 0 {
		return nil, fmt.Errorf("layers: inference: the model has no convolution")
	}
	model := &inferenceModel{filled: filledShare(x)}
	for _, e := range []*ExactInput{m.exact, m.known} {
		if e.of(p, x) && m.Convolutions[0].Attention == nil && m.Input == nil {
			model.exact = e
		}
	}
	width := x.Cols
	if m.Input != nil {
		layer, err := m.Input.values(m.Convolutions[0])
		if err != nil {
			return nil, err
		}
		if layer.in != width {
			return nil, fmt.Errorf("layers: inference: the input layer reads %d columns, the features have %d", layer.in, width)
		}
		if labels != nil {
			if labels.Rows != p.Nodes() {
				return nil, fmt.Errorf("layers: inference: label inputs of %d nodes for a graph of %d", labels.Rows, p.Nodes())
			}
			w, err := valueOf(m.Labels)
			if err != nil {
				return nil, err
			}
			if len(w) != labels.Cols*layer.out {
				return nil, fmt.Errorf("layers: inference: %d weights of label inputs, want %d×%d", len(w), labels.Cols, layer.out)
			}
			model.labels = &inferenceLabels{all: labels, w: w}
		}
		width = layer.out
		model.layers = append(model.layers, layer)
	}
	for l, conv := range m.Convolutions {
		layer, err := conv.values()
		if err != nil {
			return nil, err
		}
		layer.last = m.preNorm
		layer.largest = m.largest && l < len(m.Convolutions)-1
		if l < len(m.Jumps) {
			if layer.jump, err = valueOf(m.Jumps[l]); err != nil {
				return nil, err
			}
		}
		if l < len(m.Skips) {
			if layer.skip, err = valueOf(m.Skips[l]); err != nil {
				return nil, err
			}
		}
		if m.residual == ResidualLinear || m.residual == ResidualIdentity && layer.in == layer.out {
			layer.residual = m.residual
		}
		if layer.residual == ResidualLinear && l < len(m.Owns) {
			if layer.own, err = valueOf(m.Owns[l]); err != nil {
				return nil, err
			}
		}
		if layer.residual == ResidualLinear && len(layer.own) != layer.in*layer.out {
			return nil, fmt.Errorf("layers: inference: the residual of convolution %d has %d weights, want %d×%d", l, len(layer.own), layer.in, layer.out)
		}
		if layer.in != width || layer.skip != nil && len(layer.skip) != x.Cols*layer.out {
			return nil, fmt.Errorf("layers: inference: convolution %d reads %d columns, its input has %d", l, layer.in, width)
		}
		width = layer.out
		model.layers = append(model.layers, layer)
	}
	model.outputs = width
	if m.Classifier == nil {
		return model, nil
	}
	if m.Classifier.W == nil || m.Classifier.W.Shape()[0] != width {
		return nil, fmt.Errorf("layers: inference: the classifier does not read %d columns", width)
	}
	c := &inferenceLayer{in: width, out: m.Classifier.W.Shape()[1]}
	var err error
	if c.w, err = valueOf(m.Classifier.W); err != nil {
		return nil, err
	}
	if c.pre, err = normValues(m.Norm); err != nil {
		return nil, err
	}
	c.b, err = valueOf(m.Classifier.B)
	model.classifier, model.outputs = c, c.out
	return model, err
}

// values returns the parameters of an input layer below conv.
func (l *Linear) values(conv *GraphConv) (v inferenceLayer, err error) {
	if l.W == nil {
		return v, fmt.Errorf("layers: inference: the input layer has no weight")
	}
	v = inferenceLayer{in: l.W.Shape()[0], out: l.W.Shape()[1], dense: true, activation: kernel.Activation(conv.Activation)}
	if v.w, err = valueOf(l.W); err != nil {
		return v, err
	}
	v.b, err = valueOf(l.B)
	return v, err
}

// values returns the layer's parameters.
func (l *GraphConv) values() (v inferenceLayer, err error) {
	if l.W == nil {
		return v, fmt.Errorf("layers: inference: a convolution has no weight")
	}
	v.in, v.out = l.W.Shape()[0], l.W.Shape()[1]
	if l.Activation > ops.ActivationGELU {
		return v, fmt.Errorf("layers: unknown activation %v", l.Activation)
	}
	v.activation, v.biasAfter = kernel.Activation(l.Activation), l.biasAfter()
	if v.w, err = valueOf(l.W); err != nil {
		return v, err
	}
	if v.b, err = valueOf(l.B); err != nil {
		return v, err
	}
	if l.Attention != nil {
		if v.attention, err = l.Attention.values(v.out); err != nil {
			return v, err
		}
		v.out = v.attention.sizes.Out()
	}
	if v.state, err = valueOf(l.OwnState); err != nil {
		return v, err
	}
	if v.state != nil && len(v.state) != v.in*v.out {
		return v, fmt.Errorf("layers: inference: the own state of a convolution has %d weights, want %d×%d", len(v.state), v.in, v.out)
	}
	if v.pre, err = normValues(l.PreNorm); err != nil {
		return v, err
	}
	if v.norm, err = normValues(l.Norm); err != nil || l.Second == nil {
		return v, err
	}
	v.second = new(inferenceLinear)
	if v.second.w, err = valueOf(l.Second.W); err != nil {
		return v, err
	}
	v.second.b, err = valueOf(l.Second.B)
	if err == nil && len(v.second.w) != v.out*v.out {
		err = fmt.Errorf("layers: inference: a second layer of %d weights, want %d×%d", len(v.second.w), v.out, v.out)
	}
	return v, err
}

// load puts the parameters on the processor.
func (m *inferenceModel) load(k plan.Kernels) error {
	layers := make([]*inferenceLayer, 0, len(m.layers)+1)
	for l := range m.layers {
		layers = append(layers, &m.layers[l])
	}
	if m.classifier != nil {
		layers = append(layers, m.classifier)
	}
	var all [][]float32
	for _, l := range layers {
		all = append(all, l.w, l.b, l.skip, l.own)
		for _, w := range [][]float32{l.state, l.jump} {
			if w != nil {
				all = append(all, w)
			}
		}
		for _, n := range []*inferenceNorm{l.norm, l.pre} {
			if n != nil {
				all = append(all, n.gain, n.shift)
			}
		}
		if s := l.second; s != nil {
			all = append(all, s.w, s.b)
		}
		if a := l.attention; a != nil {
			all = append(all, a.source, a.target)
		}
	}
	if m.labels != nil {
		all = append(all, m.labels.w)
	}
	spans, err := k.Load(all)
	if err != nil {
		return err
	}
	for _, l := range layers {
		l.on.w, l.on.b, l.on.skip, l.on.own = spans[0], spans[1], spans[2], spans[3]
		if spans = spans[4:]; l.state != nil {
			l.on.state, spans = spans[0], spans[1:]
		}
		if l.jump != nil {
			l.on.jump, spans = spans[0], spans[1:]
		}
		for _, n := range []*inferenceNorm{l.norm, l.pre} {
			if n != nil {
				n.on.gain, n.on.shift = spans[0], spans[1]
				spans = spans[2:]
			}
		}
		if s := l.second; s != nil {
			s.on.w, s.on.b = spans[0], spans[1]
			spans = spans[2:]
		}
		if a := l.attention; a != nil {
			a.on.source, a.on.target = spans[0], spans[1]
			spans = spans[2:]
		}
	}
	if m.labels != nil {
		m.labels.on.w = spans[0]
	}
	return nil
}

// inference is one pass of inference.
type inference struct {
	plan.Kernels
	ctx      context.Context
	model    *inferenceModel
	p        *graph.Laplacian
	features *graph.Features
	onHost   bool
	few      bool      // rows: one goroutine makes all calls
	x        plan.Rows // features on the processor; not set if no layer reads them
	input    firstInput
	orders   []bool // of each layer: P(HW), and not (PH)W
	ranks    Ranks  // that share the rows; nil: this process computes all
	progress *inferenceProgress

	// ahead prepares the layer's rows from lo on for chunks, up to hi, at most last, which it
	// returns; nil: there is nothing to prepare. hi−lo is a multiple of chunk, or hi is last.
	ahead func(lo, last, chunk int) (hi int, err error)

	// Of jumping knowledge, at the rows of the logits:
	jumps  plan.Span
	jumped bool // jumps is set

	// Of the layer at work:
	rows    []int32   // whose output is needed
	ordered bool      // they ascend
	sums    []float32 // row sums of P at these rows, on the CPU
}

// run computes layer after layer, at the rows of memory.kept.
func (m *inferenceModel) run(ctx context.Context, k plan.Kernels, p *graph.Laplacian, x *graph.Features, memory *inferenceMemory, onHost bool) ([]float32, error) {
	r, err := m.begin(ctx, k, p, x, memory, &memory.kept, onHost)
	if err != nil {
		return nil, fmt.Errorf("layers: inference: %w", err)
	}
	h, top := r.x, len(m.layers)-1
	if inputs := memory.kept.inputs; inputs != nil {
		if h, err = r.own(inputs); err != nil {
			return nil, fmt.Errorf("layers: inference: %w", err)
		}
	}
	for l := range top {
		if h, err = r.hidden(l, h, &memory.kept); err != nil {
			return nil, fmt.Errorf("layers: inference, convolution %d: %w", l, err)
		}
	}
	logits, err := r.top(h, &memory.kept)
	if err != nil {
		return nil, fmt.Errorf("layers: inference, convolution %d: %w", top, err)
	}
	return logits, nil
}

// begin puts the parameters, and the features if a layer reads them, on the processor. kept
// are the rows of the pass.
func (m *inferenceModel) begin(ctx context.Context, k plan.Kernels, p *graph.Laplacian, x *graph.Features, memory *inferenceMemory, kept *keptRows, onHost bool) (*inference, error) {
	if err := m.load(k); err != nil {
		return nil, err
	}
	if (x.Share != nil || p.Share != nil) && m.ranks == nil {
		return nil, fmt.Errorf("other ranks hold parts of the data: inference needs these ranks, and the CPU")
	}
	r := &inference{Kernels: k, ctx: ctx, model: m, p: p, features: x, onHost: onHost, few: kept.few, ranks: m.ranks, progress: m.progress, orders: m.orders(kept)}
	if m.exact == nil || m.readsFeatures() {
		var err error
		if r.x, err = k.Features(x); err != nil {
			return nil, err
		}
	}
	if m.labels != nil {
		var err error
		if m.labels.on.rows, err = k.Features(m.labels.all); err != nil {
			return nil, err
		}
	}
	if err := r.agree(kept); err != nil {
		return nil, err
	}
	return r, r.first(kept, memory)
}

// need sets the rows whose output the next layer computes.
func (r *inference) need(kept *keptRows, l int) error {
	r.rows, r.ordered, r.sums = kept.rows[l], l < len(kept.rows)-1 || kept.nodes == nil, nil
	if r.onHost && !kept.few && r.model.layers[l].b != nil && r.p.Share == nil {
		if o := r.input.ordered; l == 0 && o != nil { // it reads these rows of P anyway
			o.sums = make([]float32, len(r.rows))
			r.sums = o.sums
		} else {
			var err error
			if r.sums, err = kept.rowSums(r.ctx, l); err != nil {
				return err
			}
		}
	}
	return r.Needed(r.rows, kept.whole(l))
}

// own returns the features of the given rows alone, with their index, in the memory of the
// second layer's output. It works on the CPU.
func (r *inference) own(rows []int32) (plan.Rows, error) {
	if err := r.Needed(rows, false); err != nil {
		return plan.Rows{}, err
	}
	width := r.x.Width
	out, err := r.Scratch(plan.Hidden1, len(rows)*width)
	if err != nil {
		return plan.Rows{}, err
	}
	chunk := r.ChunkRows(width)
	for lo := 0; lo < len(rows); lo += chunk {
		if err := r.ctx.Err(); err != nil {
			return plan.Rows{}, err
		}
		n := min(chunk, len(rows)-lo)
		part, err := r.Own(r.x, lo, n)
		if err != nil {
			return plan.Rows{}, err
		}
		if err := r.Copy(out.Host()[lo*width:(lo+n)*width], part); err != nil {
			return plan.Rows{}, err
		}
	}
	h := plan.Rows{Span: out, Width: width, Count: len(rows)}
	h.Index, err = r.Index(rows)
	return h, err
}

// hidden returns the output of layer l at the rows of kept, with their index.
func (r *inference) hidden(l int, h plan.Rows, kept *keptRows) (plan.Rows, error) {
	layer := r.model.layers[l]
	name := plan.Hidden0
	if l%2 == 1 {
		name = plan.Hidden1
	}
	if l == 0 && !r.few {
		defer r.Released(r.features) // only residual layers read features again
	}
	if r.holdsPart(l, kept) {
		return r.hiddenPart(l, h, kept, name)
	}
	if err := r.need(kept, l); err != nil {
		return h, err
	}
	if o := r.input.ordered; l == 0 && o != nil {
		memory := o.memory
		memory.Reserved = o.bytes(r)
		defer func() { memory.Reserved = 0 }()
	}
	out, err := r.Scratch(name, len(r.rows)*layer.out)
	if err != nil {
		return h, err
	}
	shares := kept.shares(r, l)
	if err := r.layer(l, h, shares, 0, out, nil, nil); err != nil {
		return h, err
	}
	if err := r.gather(out.Host(), layer.out, shares); err != nil {
		return h, err
	}
	above := plan.Rows{Span: out, Width: layer.out, Count: len(r.rows)}
	if len(r.rows) < r.p.Nodes() {
		if above.Index, err = r.Index(r.rows); err == nil && r.onHost {
			above.Index.Keep(kept.matrix(l + 1))
		}
	}
	if err == nil && r.model.layers[l].jumps() {
		err = r.jump(l, above, kept)
	}
	return above, err
}

// top returns the logits at the rows of kept.
func (r *inference) top(h plan.Rows, kept *keptRows) ([]float32, error) {
	l := len(r.model.layers) - 1
	if err := r.need(kept, l); err != nil {
		return nil, err
	}
	what := fmt.Sprintf("the output of %d nodes × %d", len(r.rows), r.model.outputs)
	if err := memory.Check(what, memory.Product(int64(len(r.rows)), int64(r.model.outputs), 4)); err != nil {
		return nil, err
	}
	logits := make([]float32, len(r.rows)*r.model.outputs)
	shares := kept.shares(r, l)
	if err := r.layer(l, h, shares, 0, plan.Span{}, logits, nil); err != nil {
		return nil, err
	}
	return logits, r.gather(logits, r.model.outputs, shares)
}

// layer writes the output of layer l at this rank's share of the needed rows to out, which
// begins with the row number first. If logits is not nil, it writes the logits of that output
// there instead. done, if not nil, is called for each part after its rows lo to lo+n are written.
func (r *inference) layer(l int, h plan.Rows, shares []int, first int, out plan.Span, logits []float32, done func(lo, n int)) error {
	layer, own := r.model.layers[l], h
	if l == 0 {
		own = r.x // h is not set if P·X is known
	}
	if r.orders[l] {
		var err error
		if h, err = r.transform(l, h); err != nil {
			return err
		}
	}
	if !r.orders[l] && layer.pre != nil {
		var err error
		if h, err = r.normalised(l, h); err != nil {
			return err
		}
	}
	if o := r.input.ordered; l == 0 && o != nil {
		r.ahead = func(lo, last, chunk int) (int, error) { return o.next(r, lo, last, chunk) }
		defer func() {
			r.ahead = nil
			o.end()
		}()
	}
	outputs := r.model.outputs
	return r.chunks(shares, r.width(l), r.bring(l), func(part *inference, lo, n int) error {
		var err error
		if logits != nil {
			err = part.logits(l, h, own, lo, n, logits[lo*outputs:(lo+n)*outputs])
		} else {
			err = part.chunk(l, h, own, lo, n, out.From((lo-first)*layer.out))
		}
		if err == nil && done != nil {
			done(lo, n)
		}
		if r.ahead == nil { // else the rows counted when their P·X was computed
			r.progress.add(n)
		}
		return err
	})
}

// chunks calls f for successive parts of this rank's share of rows. On a CPU every core
// takes a part at a time through all steps of f, so that its rows stay in the core's cache.
//
// bring, if not nil, fetches the rows that f reads from other ranks for a part. The ranks then
// go through their parts together.
func (r *inference) chunks(shares []int, width int, bring func(lo, n int) error, f func(part *inference, lo, n int) error) error {
	if bring != nil {
		return r.together(shares, width, bring, f)
	}
	chunk := r.ChunkRows(width)
	first, last := r.mine(shares)
	var forks []plan.Kernels
	if !r.few {
		forks = r.Fork()
	}
	parts := make(chan *inference, len(forks))
	if forks != nil {
		chunk = forks[0].ChunkRows(width)
	}
	for _, k := range forks {
		part := *r
		part.Kernels = k
		parts <- &part
	}
	for lo := first; lo < last; {
		hi := last
		if r.ahead != nil {
			var err error
			if hi, err = r.ahead(lo, last, chunk); err != nil {
				return err
			}
		}
		if err := r.span(lo, hi, chunk, parts, f); err != nil {
			return err
		}
		lo = hi
	}
	return nil
}

// span calls f for the chunks of the rows lo to hi: with each of the parts on a goroutine of
// its own, or without parts here.
func (r *inference) span(lo, hi, chunk int, parts chan *inference, f func(part *inference, lo, n int) error) error {
	if cap(parts) == 0 {
		for ; lo < hi; lo += chunk {
			if err := r.ctx.Err(); err != nil {
				return err
			}
			if err := f(r, lo, min(chunk, hi-lo)); err != nil {
				return err
			}
		}
		return nil
	}
	parallel.Reserve(cap(parts)) // the kernels of a part run on its goroutine
	defer parallel.Reserve(-cap(parts))
	return parallel.Chunks(r.ctx, (hi-lo+chunk-1)/chunk, func(c int) error {
		if err := r.ctx.Err(); err != nil {
			return err
		}
		part := <-parts
		defer func() { parts <- part }()
		at := lo + c*chunk
		return f(part, at, min(chunk, hi-at))
	})
}

// logits writes the logits at the needed rows lo to lo+n, over the last layer.
func (r *inference) logits(l int, h, own plan.Rows, lo, n int, logits []float32) error {
	to, err := r.Logits(logits)
	if err != nil {
		return err
	}
	c, z := r.model.classifier, to
	if c != nil {
		if z, err = r.Scratch(plan.Last, n*r.model.layers[l].out); err != nil {
			return err
		}
	}
	if err := r.chunk(l, h, own, lo, n, z); err != nil {
		return err
	}
	if c != nil {
		if l > 0 && r.jumped && r.model.layers[l-1].largest {
			if err := r.Max(z, r.jumps.From(lo*c.in), n*c.in); err != nil {
				return err
			}
		}
		if c.pre != nil {
			if err := r.norm(c.pre, z, z, n, c.in); err != nil {
				return err
			}
		}
		if err := r.Affine(to, z, c.on.w, c.on.b, plan.Span{}, n, c.in, c.out); err != nil {
			return err
		}
		if r.jumped && r.model.layers[l-1].jump != nil {
			if err := r.Sum(to, r.jumps.From(lo*c.out), n*c.out); err != nil {
				return err
			}
		}
	}
	return r.Read(logits, to)
}

// orders reports for each layer whether it computes P(HW).
func (m *inferenceModel) orders(kept *keptRows) []bool {
	orders, inputs := make([]bool, len(m.layers)), kept.p.Nodes()
	for l, layer := range m.layers {
		rows := kept.rows[l]
		orders[l] = !(l == 0 && m.exact != nil || layer.dense) && transformFirst(kept.p, layer, inputs, rows)
		inputs = len(rows)
	}
	return orders
}

// transformFirst reports whether P(HW), with HW of all input rows, costs less than (PH)W
// of the output rows. Attention always reads HW.
func transformFirst(p *graph.Laplacian, layer inferenceLayer, inputs int, rows []int32) bool {
	if layer.attention != nil {
		return true
	}
	if layer.biasAfter {
		return false
	}
	var nnz float64
	for _, v := range rows {
		nnz += float64(p.RowNNZ(int(v)))
	}
	in, out := float64(layer.in), float64(layer.out)
	return float64(inputs)*in*out+sparseCost*nnz*out < float64(len(rows))*in*out+sparseCost*nnz*in
}

// transform returns H·W + 1⊗b of all rows of H. For an attention it returns H·W, and
// computes the scores.
func (r *inference) transform(l int, h plan.Rows) (plan.Rows, error) {
	layer := r.model.layers[l]
	columns, bias := layer.out, layer.on.b
	if a := layer.attention; a != nil {
		columns, bias = a.sizes.Heads*a.sizes.Width, plan.Span{}
	}
	out, err := r.Scratch(plan.Transformed, h.Count*columns)
	if err != nil {
		return h, err
	}
	width := max(layer.in, columns)
	shares := r.even(h.Count, width)
	err = r.chunks(shares, width, r.bringInputs(l), func(part *inference, lo, n int) error {
		x, err := part.Part(h, lo, n)
		if err != nil {
			return err
		}
		if layer.pre != nil {
			normal, err := part.Scratch(plan.Mixed, n*layer.in)
			if err != nil {
				return err
			}
			if err := part.norm(layer.pre, normal, x, n, layer.in); err != nil {
				return err
			}
			x = normal
		}
		return part.Affine(out.From(lo*columns), x, layer.on.w, bias, plan.Span{}, n, layer.in, columns)
	})
	if err == nil {
		err = r.gather(out.Host(), columns, shares)
	}
	if err != nil {
		return h, err
	}
	z := plan.Rows{Span: out, Width: columns, Count: h.Count, Index: h.Index}
	if layer.attention != nil {
		err = r.scores(layer.attention, z)
	}
	return z, err
}

// chunk writes the layer's output at the needed rows lo to lo+n to z. own is the layer's
// input; h is the same, or transformed.
func (r *inference) chunk(l int, h, own plan.Rows, lo, n int, z plan.Span) error {
	layer := r.model.layers[l]
	var err error
	if layer.dense {
		var x plan.Span
		if x, err = r.Own(h, lo, n); err == nil {
			err = r.Affine(z, x, layer.on.w, layer.on.b, plan.Span{}, n, layer.in, layer.out)
		}
		if labels := r.model.labels; err == nil && labels != nil {
			if x, err = r.Own(labels.on.rows, lo, n); err == nil {
				err = r.Add(z, x, labels.on.w, n, labels.all.Cols, layer.out)
			}
		}
	} else if a := layer.attention; a != nil {
		err = r.Attend(z, a.sizes, a.plain, h, a.on.s, a.on.t, layer.on.b, lo, n)
	} else if r.orders[l] {
		err = r.Propagate(z, h, lo, n)
	} else {
		err = r.propagateFirst(l, h, lo, n, z)
	}
	if err == nil && layer.state != nil {
		err = r.addState(layer, own, lo, n, z)
	}
	if err == nil && layer.last {
		err = r.finish(layer, n, z)
	}
	if err != nil {
		return err
	}
	if layer.skip != nil {
		own, err := r.Own(r.x, lo, n)
		if err != nil {
			return err
		}
		if err := r.Add(z, own, layer.on.skip, n, r.x.Width, layer.out); err != nil {
			return err
		}
	}
	if layer.residual != ResidualNone {
		rows, err := r.Own(own, lo, n)
		if err != nil {
			return err
		}
		if layer.own != nil {
			err = r.Add(z, rows, layer.on.own, n, layer.in, layer.out)
		} else {
			err = r.Sum(z, rows, n*layer.out)
		}
		if err != nil {
			return err
		}
	}
	if layer.last {
		return nil
	}
	return r.finish(layer, n, z)
}

// addState adds the map of the layer's own normalised rows to z.
func (r *inference) addState(layer inferenceLayer, own plan.Rows, lo, n int, z plan.Span) error {
	rows, err := r.Own(own, lo, n)
	if err == nil && layer.pre != nil {
		in := rows
		if rows, err = r.Scratch(plan.Mixed, n*layer.in); err == nil {
			err = r.norm(layer.pre, rows, in, n, layer.in)
		}
	}
	if err != nil {
		return err
	}
	return r.Add(z, rows, layer.on.state, n, layer.in, layer.out)
}

// finish applies the norm, the activation and the second layer to z.
func (r *inference) finish(layer inferenceLayer, n int, z plan.Span) error {
	if layer.norm != nil {
		if err := r.norm(layer.norm, z, z, n, layer.out); err != nil {
			return err
		}
	}
	if layer.second == nil {
		return r.Activate(z, z, layer.activation, n, layer.out)
	}
	first, err := r.Scratch(plan.First, n*layer.out)
	if err != nil {
		return err
	}
	if err := r.Activate(first, z, layer.activation, n, layer.out); err != nil {
		return err
	}
	return r.Affine(z, first, layer.second.on.w, layer.second.on.b, plan.Span{}, n, layer.out, layer.out)
}

// propagateFirst sets z to (PH)·W + r⊗b, where r is the row sums of P, or 1 for a bias after
// the propagation.
func (r *inference) propagateFirst(l int, h plan.Rows, lo, n int, z plan.Span) error {
	var mixed, sums plan.Span
	var err error
	if l == 0 {
		mixed, err = r.input.mixed(r, lo, n)
	} else {
		mixed, err = r.Propagated(h, lo, n)
	}
	if err != nil {
		return err
	}
	layer := r.model.layers[l]
	switch {
	case layer.b == nil || layer.biasAfter:
	case r.sums != nil:
		sums = plan.HostSpan(r.sums[lo:])
	default:
		if sums, err = r.Scratch(plan.Sums, n); err == nil {
			err = r.RowSums(sums, lo, n)
		}
		if err != nil {
			return err
		}
	}
	return r.Affine(z, mixed, layer.on.w, layer.on.b, sums, n, layer.in, layer.out)
}
