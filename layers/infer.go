package layers

import (
	"context"
	"fmt"
	"runtime/debug"

	"github.com/gcn-layerwise/gcn/graph"
	"github.com/gcn-layerwise/gcn/internal/blas"
	"github.com/gcn-layerwise/gcn/internal/kernel"
	"github.com/gcn-layerwise/gcn/internal/memory"
	"github.com/gcn-layerwise/gcn/internal/parallel"
	"github.com/gcn-layerwise/gcn/ops"
)

// Infer returns the logits of nodes (nil: all nodes) over full neighbourhoods
// under the present parameters, without dropout: row i of the row-major result,
// (len(nodes), outputs), belongs to nodes[i].
//
// It works outside the expression graph, layer by layer in chunks of rows, on
// all cores, and only on the rows that the wanted nodes need. Beside the result
// and a few numbers a node, memory holds one chunk's intermediate rows and the
// output of a convolution until the next has read it: of one at a time in a
// model of two, of two in a deeper one; and H·W of a whole layer where that is
// the cheaper product to begin with. It is kept for the next call. The result
// is the same bits for any number of cores. ctx is checked at each chunk. An
// output that does not fit in memory is an error before it is allocated. Calls may
// run concurrently as long as no parameter changes.
func (m *GCN) Infer(ctx context.Context, p *graph.Laplacian, x *graph.Features, nodes []int32) ([]float32, error) {
	plan, err := m.plan(p, x, nodes)
	if err != nil {
		return nil, err
	}
	// Not a sync.Pool: that may hold on to one memory and yet make another, and
	// each is as large as a layer.
	held := m.memory.Swap(nil)
	if held == nil {
		held = new(inferenceMemory)
	}
	defer m.memory.Store(held)
	run := &inference{ctx: ctx, p: p, x: x, classifier: plan.classifier, memory: held}
	rows := neededRows(p, nodes, len(plan.layers))
	h := layerInput{data: x.Data, half: x.Half, prefetch: x.Prefetch, width: x.Cols, rows: p.Nodes()}
	top := len(plan.layers) - 1
	for l, layer := range plan.layers[:top] {
		out, err := held.grow(l%2, len(rows[l]), layer.out)
		if err != nil {
			return nil, fmt.Errorf("layers: inference, convolution %d: %w", l, err)
		}
		if err := run.layer(layer, h, rows[l], out, false); err != nil {
			return nil, fmt.Errorf("layers: inference, convolution %d: %w", l, err)
		}
		h = layerInput{data: out, width: layer.out, rows: len(rows[l])}
		if len(rows[l]) < p.Nodes() {
			h.local = held.index(rows[l], p.Nodes())
		}
		if x.Release != nil && l == 0 {
			x.Release() // of layers above, only residual ones read it again
		}
	}
	if err := checkOutput(len(rows[top]), run.classifier.out); err != nil {
		return nil, fmt.Errorf("layers: inference: %w", err)
	}
	out := make([]float32, len(rows[top])*run.classifier.out)
	if err := run.layer(plan.layers[top], h, rows[top], out, true); err != nil {
		return nil, fmt.Errorf("layers: inference, convolution %d: %w", top, err)
	}
	return out, nil
}

// inferenceMemory is what calls of Infer hand on to the next.
type inferenceMemory struct {
	hidden      [2][]float32 // outputs of layers, alternating
	transformed []float32    // H·W of a layer's whole input, where that comes first
	mixed, own  []float32    // of one chunk: P·H, and the nodes' own features
	wide        []float32    // of one chunk: H where it is in half precision
	z           []float32    // of one chunk of the last layer
	sums        []float32
	local       []int32
	ahead       []int32 // rows of features to be read next
}

// checkOutput reports an output of a layer that does not fit in memory.
func checkOutput(rows, width int) error {
	what := fmt.Sprintf("the output of %d nodes × %d", rows, width)
	return memory.Check(what, memory.Product(int64(rows), int64(width), 4))
}

// grow returns one of the hidden matrices with rows·width values. One that is too
// small goes before the next comes, so that never both are there.
func (m *inferenceMemory) grow(k, rows, width int) ([]float32, error) {
	n := rows * width
	if old := cap(m.hidden[k]); old < n {
		if err := checkOutput(rows, width); err != nil {
			return nil, err
		}
		m.hidden[k] = nil
		if old > 1<<24 { // worth a collection
			debug.FreeOSMemory()
		}
	}
	m.hidden[k] = resize(m.hidden[k], n)
	return m.hidden[k], nil
}

// index returns the map from node to its place in rows.
func (m *inferenceMemory) index(rows []int32, nodes int) []int32 {
	m.local = resize(m.local, nodes)
	for k, v := range rows {
		m.local[v] = int32(k)
	}
	return m.local
}

// resize returns s with length n, in the same memory where it fits; what it
// holds is unspecified.
func resize[T any](s []T, n int) []T {
	if cap(s) < n {
		return make([]T, n)
	}
	return s[:n]
}

// inferenceLayer is a convolution's parameters as plain slices.
type inferenceLayer struct {
	in, out     int
	w, b        []float32 // b nil: no bias
	gain, shift []float32 // nil: no norm
	skip        []float32 // nil: no residual
	activation  kernel.Activation
}

type inferencePlan struct {
	layers     []inferenceLayer
	classifier inferenceLayer
}

// plan reads the parameters and checks that everything fits together.
func (m *GCN) plan(p *graph.Laplacian, x *graph.Features, nodes []int32) (*inferencePlan, error) {
	if p == nil || x == nil {
		return nil, fmt.Errorf("layers: inference needs a Laplacian and features")
	}
	if x.Rows != p.Nodes() || x.Len() != x.Rows*x.Cols {
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
	plan := new(inferencePlan)
	width := x.Cols
	for l, conv := range m.Convolutions {
		layer, err := conv.values()
		if err != nil {
			return nil, err
		}
		if l < len(m.Skips) {
			if layer.skip, err = valueOf(m.Skips[l]); err != nil {
				return nil, err
			}
		}
		if layer.in != width || layer.skip != nil && len(layer.skip) != x.Cols*layer.out {
			return nil, fmt.Errorf("layers: inference: convolution %d reads %d columns, its input has %d", l, layer.in, width)
		}
		width = layer.out
		plan.layers = append(plan.layers, layer)
	}
	if m.Classifier == nil || m.Classifier.W == nil || m.Classifier.W.Shape()[0] != width {
		return nil, fmt.Errorf("layers: inference: no classifier of %d columns", width)
	}
	c := &plan.classifier
	c.in, c.out = m.Classifier.W.Shape()[0], m.Classifier.W.Shape()[1]
	var err error
	if c.w, err = valueOf(m.Classifier.W); err != nil {
		return nil, err
	}
	c.b, err = valueOf(m.Classifier.B)
	return plan, err
}

// values returns the layer's parameters.
func (l *GraphConv) values() (v inferenceLayer, err error) {
	if l.W == nil {
		return v, fmt.Errorf("layers: inference: a convolution has no weight")
	}
	v.in, v.out = l.W.Shape()[0], l.W.Shape()[1]
	if v.activation, err = kernelActivation(l.Activation); err != nil {
		return v, err
	}
	if v.w, err = valueOf(l.W); err != nil {
		return v, err
	}
	if v.b, err = valueOf(l.B); err != nil || l.Norm == nil {
		return v, err
	}
	if v.gain, err = valueOf(l.Norm.Gain); err != nil {
		return v, err
	}
	v.shift, err = valueOf(l.Norm.Shift)
	return v, err
}

func kernelActivation(a ops.Activation) (kernel.Activation, error) {
	switch a {
	case ops.ActivationNone:
		return kernel.Identity, nil
	case ops.ActivationELU:
		return kernel.ELU, nil
	case ops.ActivationReLU:
		return kernel.ReLU, nil
	}
	return 0, fmt.Errorf("layers: no activation %v", a)
}

// neededRows returns, for each layer, the nodes whose output is needed: at the
// top the nodes asked for, below them those and all their neighbours.
func neededRows(p *graph.Laplacian, nodes []int32, layers int) [][]int32 {
	rows := make([][]int32, layers)
	all := func() []int32 {
		ids := make([]int32, p.Nodes())
		for i := range ids {
			ids[i] = int32(i)
		}
		return ids
	}
	if nodes == nil {
		nodes = all()
	}
	rows[layers-1] = nodes
	for l := layers - 2; l >= 0; l-- {
		above := rows[l+1]
		if len(above) == p.Nodes() && l+1 < layers-1 {
			rows[l] = above
			continue
		}
		needed := make([]bool, p.Nodes())
		count := 0
		mark := func(v int32) {
			if !needed[v] {
				needed[v] = true
				count++
			}
		}
		for _, v := range above {
			mark(v)
			for _, u := range p.Adjacency.Row(int(v)) {
				mark(u)
			}
		}
		rows[l] = make([]int32, 0, count)
		for v, is := range needed {
			if is {
				rows[l] = append(rows[l], int32(v))
			}
		}
	}
	return rows
}

// layerInput is H: one row a node, or the rows of some nodes and their places.
type layerInput struct {
	data []float32
	half []uint16 // instead of data: features in half precision, of all nodes

	prefetch func(rows []int32) // nil: in memory

	width int
	rows  int
	local []int32
}

// inference is one call of Infer.
type inference struct {
	ctx        context.Context
	p          *graph.Laplacian
	x          *graph.Features
	classifier inferenceLayer
	memory     *inferenceMemory
	blas       blas.BLAS
}

// chunkRows is how many rows of the given width are worked on at a time: some
// megabytes, by the sizes alone, so that results do not depend on the machine.
func chunkRows(width int) int { return max(64, min(4096, (1<<20)/max(width, 1))) }

// layer writes the output of one layer, or the logits over it, to out.
func (r *inference) layer(layer inferenceLayer, h layerInput, rows []int32, out []float32, last bool) error {
	var err error
	if r.blas, err = blas.Default(); err != nil {
		return err
	}
	transformed := r.transformFirst(layer, h, rows)
	if transformed {
		if h, err = r.transform(layer, h); err != nil {
			return err
		}
	}
	outWidth := layer.out
	if last {
		outWidth = r.classifier.out
	}
	chunk := chunkRows(max(layer.in, layer.out))
	for lo := 0; lo < len(rows); lo += chunk {
		if err := r.ctx.Err(); err != nil {
			return err
		}
		hi := min(lo+chunk, len(rows))
		dst := out[lo*outWidth : hi*outWidth]
		z := dst
		if last {
			r.memory.z = resize(r.memory.z, (hi-lo)*layer.out)
			z = r.memory.z
		}
		r.chunk(layer, h, rows[lo:hi], z, transformed)
		if last {
			c := r.classifier
			kernel.BiasRows(dst, c.b, nil, hi-lo, c.out)
			r.blas.Sgemm(false, false, hi-lo, c.out, c.in, 1, z, c.in, c.w, c.out, 1, dst, c.out)
		}
	}
	return nil
}

// transformFirst compares the cost of P(HW), over all input rows, with that of
// (PH)W, over the output rows.
func (r *inference) transformFirst(layer inferenceLayer, h layerInput, rows []int32) bool {
	var nnz float64
	for _, v := range rows {
		nnz += float64(r.p.RowNNZ(int(v)))
	}
	in, out := float64(layer.in), float64(layer.out)
	return float64(h.rows)*in*out+sparseCost*nnz*out < float64(len(rows))*in*out+sparseCost*nnz*in
}

// transform returns H·W + 1⊗b of all rows of H.
func (r *inference) transform(layer inferenceLayer, h layerInput) (layerInput, error) {
	if err := checkOutput(h.rows, layer.out); err != nil {
		return layerInput{}, err
	}
	r.memory.transformed = resize(r.memory.transformed, h.rows*layer.out)
	t := layerInput{data: r.memory.transformed, width: layer.out, rows: h.rows, local: h.local}
	chunk := chunkRows(max(layer.in, layer.out))
	for lo := 0; lo < h.rows; lo += chunk {
		if err := r.ctx.Err(); err != nil {
			return t, err
		}
		if h.prefetch != nil {
			r.memory.ahead = r.memory.ahead[:0]
			for i := lo; i < min(lo+2*chunk, h.rows); i++ { // the next is read meanwhile
				r.memory.ahead = append(r.memory.ahead, int32(i))
			}
			h.prefetch(r.memory.ahead)
		}
		n := min(chunk, h.rows-lo)
		dst := t.data[lo*layer.out : (lo+n)*layer.out]
		r.product(dst, r.rowsOf(h, lo, n), layer, n, nil)
	}
	return t, nil
}

// rowsOf returns n rows of H from lo on, in single precision.
func (r *inference) rowsOf(h layerInput, lo, n int) []float32 {
	if h.half == nil {
		return h.data[lo*h.width : (lo+n)*h.width]
	}
	r.memory.wide = resize(r.memory.wide, n*h.width)
	kernel.Widen(r.memory.wide, h.half[lo*h.width:(lo+n)*h.width])
	return r.memory.wide
}

// product sets dst to X·W + scale⊗b for n rows.
func (r *inference) product(dst, x []float32, layer inferenceLayer, n int, scale []float32) {
	var beta float32
	if layer.b != nil {
		kernel.BiasRows(dst, layer.b, scale, n, layer.out)
		beta = 1
	}
	r.blas.Sgemm(false, false, n, layer.out, layer.in, 1, x, layer.in, layer.w, layer.out, beta, dst, layer.out)
}

// chunk writes the layer's output at some rows to z.
func (r *inference) chunk(layer inferenceLayer, h layerInput, rows []int32, z []float32, transformed bool) {
	n := len(rows)
	m := r.memory
	if transformed {
		kernel.PropagateRows(z, r.p, rows, h.data, h.width, h.local)
	} else {
		m.mixed = resize(m.mixed, n*h.width)
		if h.half != nil {
			kernel.PropagateRowsHalf(m.mixed, r.p, rows, h.half, h.width)
		} else {
			kernel.PropagateRows(m.mixed, r.p, rows, h.data, h.width, h.local)
		}
		m.sums = resize(m.sums, n)
		rowSums(m.sums, r.p, rows)
		r.product(z, m.mixed, layer, n, m.sums)
	}
	if layer.skip != nil {
		m.own = resize(m.own, n*r.x.Cols)
		if r.x.Prefetch != nil {
			r.x.Prefetch(rows)
		}
		if r.x.Half != nil {
			kernel.GatherHalf(m.own, r.x.Half, rows, r.x.Cols)
		} else {
			kernel.Gather(m.own, r.x.Data, rows, r.x.Cols)
		}
		r.blas.Sgemm(false, false, n, layer.out, r.x.Cols, 1, m.own, r.x.Cols, layer.skip, layer.out, 1, z, layer.out)
	}
	if layer.gain != nil {
		kernel.LayerNorm(z, nil, nil, z, layer.gain, layer.shift, n, layer.out)
	}
	kernel.Activate(layer.activation, z, nil, z, n, layer.out, kernel.Dropout{})
}

// rowSums sets sums[i] to the sum of row rows[i] of P.
func rowSums(sums []float32, p *graph.Laplacian, rows []int32) {
	parallel.For(len(rows), 1024, func(lo, hi int) {
		for i := lo; i < hi; i++ {
			v := int(rows[i])
			sum := float64(p.ColScale[v])
			values := p.Adjacency.RowValues(v)
			for k, u := range p.Adjacency.Row(v) {
				s := float64(p.ColScale[u])
				if values != nil {
					s *= float64(values[k])
				}
				sum += s
			}
			sums[i] = float32(sum * float64(p.RowScale[v]))
		}
	})
}
