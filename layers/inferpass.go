package layers

import (
	"context"
	"fmt"

	"github.com/gcn-layerwise/gcn/graph"
	"github.com/gcn-layerwise/gcn/internal/memory"
	"github.com/gcn-layerwise/gcn/internal/parallel"
	"github.com/gcn-layerwise/gcn/internal/plan"
)

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
