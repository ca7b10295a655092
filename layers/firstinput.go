package layers

import (
	"github.com/gcn-layerwise/gcn/graph"
	"github.com/gcn-layerwise/gcn/internal/plan"
)

// keptInput is P·X of the rows that calls of inference have needed so far.
type keptInput struct {
	p *graph.Laplacian
	x *graph.Features

	px  []float32 // a row a node; nil: not kept
	has []bool    // the nodes whose row is computed
}

// use makes k the memory of P·X for these arguments. It keeps the rows of equal arguments,
// and px stays nil if P·X is too large.
func (k *keptInput) use(p *graph.Laplacian, x *graph.Features, limit uint64) {
	if k.p == p && k.x == x {
		return
	}
	*k = keptInput{p: p, x: x}
	if uint64(x.Rows)*uint64(x.Cols)*4 <= limit/keptShare {
		// A page that no row is written to takes no memory.
		k.px, k.has = make([]float32, x.Rows*x.Cols), make([]bool, x.Rows)
	}
}

// firstInput gives the first layer's P·X.
type firstInput struct {
	px   plan.Rows  // P·X, a row a node
	all  bool       // px has all rows
	kept *keptInput // the rows of px that are computed; nil: none
	once bool       // no node is needed twice, so that goroutines can fill px
	part *keptRows  // with P·X of this rank's rows, if ranks hold X together; else nil

	ordered *orderedInput // P·X of some rows at a time, with X read in order; nil: not so
}

// first chooses where the first layer's P·X comes from.
func (r *inference) first(kept *keptRows, m *inferenceMemory) (err error) {
	in, input, top := &r.input, &m.input, len(r.model.layers)-1
	switch {
	case r.model.exact != nil:
		in.px, err = r.Features(r.model.exact.px)
		in.all = true
	case !r.onHost || kept.few || r.orders[0] || r.model.layers[0].dense || r.x.Sparse():
	case r.features.Share != nil:
		in.part = kept
		err = kept.propagateShared(r)
	default:
		if input.use(r.p, r.features, kept.bytes()); input.px == nil && m.ordered.wanted(r, kept) {
			in.ordered, m.ordered.memory = &m.ordered, &m.InferenceMemory
		}
		if input.px != nil {
			in.px = plan.Rows{Span: plan.HostSpan(input.px), Width: r.x.Width, Count: r.x.Count}
			in.kept, in.once = input, top > 0 || kept.nodes == nil
		}
	}
	return err
}

// mixed returns P·X at the needed rows lo to lo+n. It is valid until the next call of
// mixed, Part or Own.
func (in *firstInput) mixed(r *inference, lo, n int) (plan.Span, error) {
	if k := in.part; k != nil {
		return plan.HostSpan(k.px[(lo-k.base)*k.x.Cols:]), nil
	}
	if o := in.ordered; o != nil {
		return plan.HostSpan(o.px[(lo-o.base)*r.features.Cols:]), nil
	}
	rows := r.rows[lo : lo+n]
	if !in.all && (in.kept == nil || !in.kept.holds(rows)) {
		mixed, err := r.Propagated(r.x, lo, n)
		if err == nil && in.once {
			in.kept.add(rows, mixed.Host())
		}
		return mixed, err
	}
	// Rows above the last layer's are in ascending order, without repeats.
	if first := rows[0]; r.ordered && int(rows[n-1]-first) == n-1 {
		return r.Part(in.px, int(first), n)
	}
	return r.Own(in.px, lo, n)
}

func (k *keptInput) holds(rows []int32) bool {
	for _, v := range rows {
		if !k.has[v] {
			return false
		}
	}
	return true
}

// add keeps P·X of the given rows.
func (k *keptInput) add(rows []int32, px []float32) {
	width := k.x.Cols
	for i, v := range rows {
		copy(k.px[int(v)*width:][:width], px[i*width:])
		k.has[v] = true
	}
}
