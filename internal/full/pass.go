package full

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/gcn-layerwise/gcn/graph"
	"github.com/gcn-layerwise/gcn/internal/device"
	"github.com/gcn-layerwise/gcn/internal/parallel"
	"github.com/gcn-layerwise/gcn/internal/plan"
	"github.com/gcn-layerwise/gcn/ops"
	G "gorgonia.org/gorgonia"
)

// pass is one call of Infer, with the memory that it leaves for the next one.
type pass struct {
	*Model
	Call
	store

	nodes   []int32 // of need; nil: all
	need    []rows  // of each level
	again   bool    // need is that of an earlier call
	ranks   [2]int  // this rank and their number; zero without Ranks
	places  []int   // the place of row k of the last level in the result; nil: k
	workers []worker
	gpu     []*levelRun // of each level, on the device of the last call
	on      *device.Device
	data    [][]supply // of each level
	done    progress
}

// worker has a run of each level's plan, made when it is needed. They share memory.
type worker []*levelRun

type levelRun struct {
	*plan.Run
	cpu     *plan.CPURun
	gpu     *plan.Placement // in the place of cpu
	below   *ops.Slot       // between this level and the one below
	above   *ops.Slot
	block   block
	targets *ops.Targets // of the model's labels; nil: this level reads none
	labels  []int32
	weights []float32
	rows    graph.Block // the level's rows as input nodes of above
	again   bool        // it has run since its values were given
	data    [][]float32 // memory for rows of each of the level's data
	out     [][]float32 // memory for rows of values that only a chunk has
}

// begin makes p the pass of c.
func (p *pass) begin(ctx context.Context, c Call) error {
	p.bound(c)
	var ranks [2]int
	if c.Ranks != nil {
		ranks = [2]int{c.Ranks.Rank(), c.Ranks.Size()}
	}
	p.again = p.need != nil && p.P == c.P && equalNodes(p.nodes, c.Nodes) && p.ranks == ranks
	p.Call, p.ranks = c, ranks
	if p.on != c.Device {
		if err := p.close(); err != nil {
			return err
		}
		p.on = c.Device
	}
	if !p.again {
		p.nodes = slices.Clone(c.Nodes)
		p.data = make([][]supply, len(p.levels))
		if err := p.needed(ctx); err != nil {
			p.need = nil
			return err
		}
	}
	rows := 0
	for l, level := range p.levels {
		if level.Plan != nil {
			rows += len(p.need[l].nodes)
		}
		if p.data[l] == nil {
			p.data[l] = make([]supply, len(level.Data))
		}
		for k, d := range level.Data {
			p.data[l][k].use(d.Node, p.source(d.Source))
		}
	}
	p.done = progress{mutex: new(sync.Mutex), total: rows}
	if !c.few() {
		p.done.report = c.Progress
		p.done.add(0)
	}
	return p.agree(ctx)
}

// run computes the rows of level l, in chunks.
func (p *pass) run(ctx context.Context, l int, given map[*G.Node]G.Value, values [][]float32) error {
	count := len(p.need[l].nodes)
	if count == 0 {
		return nil
	}
	shares := p.shares(l)
	first, last := p.mine(shares)
	size := p.chunkOf(l, count)
	if l > 0 && len(p.need[l].sums) != count {
		p.need[l].sums = make([]float32, count)
	}
	if p.levels[l].Reads && !p.few() && p.P.Share == nil && p.need[l-1].place != nil {
		p.need[l].keep(p.P, first, last, size, p.limit())
	}
	workers := min((last-first+size-1)/size, parallel.Free())
	if p.few() || p.levels[l].Mixed {
		workers = 1
	}
	free := make(chan *levelRun, max(workers, 1))
	for w := range max(workers, 1) {
		if w == len(p.workers) {
			p.workers = append(p.workers, make(worker, len(p.levels)))
		}
		r := p.workers[w].level(p, l)
		r.again = false
		for n, v := range given {
			r.cpu.Give(n, v)
		}
		free <- r
	}
	for lo, more := first, true; more; more = lo < last {
		hi, err := p.supply(ctx, l, lo, last, size)
		if err != nil {
			return err
		}
		chunk := func(c int) error {
			if err := ctx.Err(); err != nil {
				return err
			}
			r := <-free
			defer func() { free <- r }()
			at := lo + c*size
			to := min(at+size, hi)
			err := p.compute(r, l, at, to, values)
			p.done.add(to - at)
			return err
		}
		if err := chunks(ctx, (hi-lo+size-1)/size, workers, chunk); err != nil {
			return err
		}
		lo = hi
	}
	for range max(workers, 1) {
		r := <-free
		r.cpu.Forget() // the caller's memory among it
	}
	p.need[l].known = true
	p.supplied(l, first, last)
	if p.Ranks == nil {
		return nil
	}
	for k, n := range p.levels[l].Out {
		if values[k] == nil {
			continue // only each chunk has it
		}
		if err := gather(ctx, p.Ranks, values[k], n.Shape()[1], shares); err != nil {
			return err
		}
		if wanted := p.wants(l, k); wanted != nil {
			if err := p.Wanted(wanted, p.need[l].nodes, values[k]); err != nil {
				return err
			}
		}
	}
	return nil
}

// wants returns the node wanted of New that value k of level l is, if the call wants it, or nil.
func (p *pass) wants(l, k int) *G.Node {
	if p.Wanted == nil {
		return nil
	}
	return p.levels[l].Wanted[k]
}

// chunks calls f for 0 … n−1, on as many goroutines as there are workers.
func chunks(ctx context.Context, n, workers int, f func(c int) error) error {
	if workers > 1 {
		parallel.Reserve(workers) // each core has a run: its ops use no other
		defer parallel.Reserve(-workers)
		return parallel.Chunks(ctx, n, f)
	}
	for c := range n {
		if err := f(c); err != nil {
			return err
		}
	}
	return nil
}

// chunkOf returns the rows of a chunk of level l. The values of a chunk stay in the second
// cache. The products of a dense graph go by segments, which need thousands of rows
// (docs/adr/0052).
func (p *pass) chunkOf(l, count int) int {
	const (
		cached   = 480 * 256 // values
		fewest   = 32
		segments = 4096
		dense    = 256 // entries a row
		parts    = 16  // of a few rows; not the number of cores, since bits may depend on chunks
	)
	switch {
	case p.levels[l].Mixed:
		return count
	case p.Chunk > 0:
		return p.Chunk
	}
	size := min(max(cached/max(p.levels[l].Width, 1), fewest), segments)
	if p.levels[l].Reads && int(p.P.Adjacency.NNZ()) >= dense*p.P.Nodes() {
		size = segments
	}
	return min(size, max((count+parts-1)/parts, fewest))
}

// level returns the run of level l.
func (w worker) level(p *pass, l int) *levelRun {
	if w[l] == nil {
		var beside *plan.CPURun
		for _, other := range w {
			if other != nil {
				beside = other.cpu
			}
		}
		run := plan.NewCPURun(p.levels[l].Plan, nil, beside)
		w[l] = &levelRun{Run: run.Run, cpu: run, data: make([][]float32, len(p.levels[l].Data)), out: make([][]float32, len(p.levels[l].Out))}
		w[l].begin(p, l)
	}
	r := w[l]
	r.read(p.Sources)
	return r
}

// begin gives r slots, targets and a mode of its own.
func (r *levelRun) begin(p *pass, l int) {
	if l > 0 {
		r.below = p.slots[l-1].For(r.Run)
		r.below.SetPrefetched(true)
	}
	if l < len(p.slots) {
		r.above = p.slots[l].For(r.Run)
		r.above.SetPrefetched(true)
	}
	if p.labels != nil && p.labels.Level == l {
		r.targets = p.labels.Targets.For(r.Run)
	}
	plan.Use(r.Run, p.mode, new(ops.Mode))
}

// read makes ops that read features themselves read those of a call.
func (r *levelRun) read(sources map[plan.Source]plan.Source) {
	for model, call := range sources {
		if !model.Propagated {
			plan.Use(r.Run, model.X, call.X)
		}
	}
}

// setRowsOf makes the rows lo to hi−1 of level l the output rows of the slot below. They read
// rows of P in place of a block's entries.
func (r *levelRun) setRowsOf(p *pass, l, lo, hi int, rows ops.RowsOf) {
	need, below := &p.need[l], &p.need[l-1]
	b := &r.block
	b.own, b.Block = b.own[:0], graph.Block{Dst: need.nodes[lo:hi]}
	if rows.Laplacian == nil {
		b.RowSums = need.rowSums(p.P, lo, hi)
	}
	if p.levels[l].Reads {
		b.Src, rows.Place = below.nodes, below.place
		for _, v := range b.Dst {
			b.own = append(b.own, below.local(v))
		}
	}
	r.below.SetRowsOf(&b.Block, b.own, rows)
}

// setRows makes nodes the input nodes of the slot above, and sets their labels.
func (r *levelRun) setRows(p *pass, nodes []int32) error {
	if r.above != nil {
		r.rows.Src = nodes
		r.above.SetFull(p.P, &r.rows, nil, false)
	}
	if r.targets != nil {
		return p.setLabels(r, nodes)
	}
	return nil
}

// compute computes the rows lo to hi−1 of level l.
func (p *pass) compute(r *levelRun, l, lo, hi int, values [][]float32) error {
	level, need := p.levels[l], &p.need[l]
	nodes := need.nodes[lo:hi]
	if err := r.setRows(p, nodes); err != nil {
		return err
	}
	switch {
	case l == 0:
	case level.Reads && (level.Lists || level.Sparse || need.kept != nil):
		b := need.block(p.P, &r.block, &p.need[l-1], lo, hi)
		b.RowSums = need.rowSums(p.P, lo, hi)
		r.below.SetFull(p.P, &b.Block, b.own, r.again)
	default:
		r.setRowsOf(p, l, lo, hi, ops.RowsOf{P: p.P})
	}
	for k := range p.data[l] {
		s := &p.data[l][k]
		rows, err := s.rows(p.P, &r.data[k], nodes, lo)
		if err != nil {
			return err
		}
		r.cpu.Give(s.node, dense(hi-lo, s.X.Cols, rows))
	}
	for k, n := range level.Out {
		width := n.Shape()[1]
		if values[k] != nil {
			r.cpu.Into(k, values[k][lo*width:hi*width:hi*width])
			continue
		}
		size := (hi - lo) * width
		if cap(r.out[k]) < size {
			r.out[k] = make([]float32, size)
		}
		r.cpu.Into(k, r.out[k][:size:size])
	}
	r.again = true
	v, err := r.cpu.Compute()
	for k, n := range level.Out {
		if err != nil {
			return err
		}
		if k > 0 {
			v = r.cpu.Also(k - 1)
		}
		width := n.Shape()[1]
		var data []float32
		if data, err = plan.FloatsOf(v); err == nil && len(data) != (hi-lo)*width {
			err = fmt.Errorf("%v has %d values for %d rows: %w", n, len(data), hi-lo, ops.ErrShape)
		}
		if err == nil && values[k] != nil && &data[0] != &values[k][lo*width] {
			copy(values[k][lo*width:], data)
		}
		if wanted := p.wants(l, k); err == nil && p.Ranks == nil && wanted != nil {
			err = p.Wanted(wanted, nodes, data)
		}
	}
	return err
}

// setLabels sets the labels that the nodes give to the model.
func (p *pass) setLabels(r *levelRun, nodes []int32) error {
	r.labels, r.weights = r.labels[:0], r.weights[:0]
	for _, v := range nodes {
		if p.LabelOf != nil {
			v = p.LabelOf[v]
		}
		w := float32(0)
		if v >= 0 && int(v) < len(p.labels.Weights) { // of other nodes Targets.Set reports an error
			w = p.labels.Weights[v]
		}
		r.labels, r.weights = append(r.labels, max(v, 0)), append(r.weights, w)
	}
	return r.targets.Set(r.labels, r.weights)
}
