package full

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/gcn-layerwise/gcn/graph"
	"github.com/gcn-layerwise/gcn/internal/device"
	"github.com/gcn-layerwise/gcn/internal/memory"
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
	rank    int
	ranks   int   // their number
	places  []int // the place of row k of the last level in the result; nil: k
	workers []worker
	on      *device.Device          // of the workers
	data    [][]supply              // of each level
	given   map[*G.Node]plan.Matrix // values of all rows of a level; others are only there for a chunk

	progress sync.Mutex
	done     int // rows computed
	total    int
}

// worker has a run of each level's plan, made when it is needed. They share memory.
type worker []*levelRun

// levelRun is a run of a level's plan, with the block, labels and data of its chunk.
type levelRun struct {
	*plan.Executor
	below   *ops.Slot // between this level and the one below
	above   *ops.Slot
	block   block
	targets *ops.Targets // of the model's labels; nil: this level reads none
	labels  []int32
	weights []float32
	rows    graph.Block // the level's rows as input nodes of above
	data    [][]float32 // memory for rows of each of the level's data
}

// begin makes p the pass of c.
func (p *pass) begin(ctx context.Context, c Call) error {
	if p.on != c.Device {
		if err := p.close(); err != nil {
			return err
		}
		p.on, p.need = c.Device, nil
	}
	p.bound(&c)
	rank, ranks := 0, 1
	if c.Ranks != nil {
		rank, ranks = c.Ranks.Rank(), c.Ranks.Size()
	}
	again := p.need != nil && p.P == c.P && p.rank == rank && p.ranks == ranks &&
		(p.nodes == nil) == (c.Nodes == nil) && slices.Equal(p.nodes, c.Nodes)
	p.Call, p.rank, p.ranks, p.given = c, rank, ranks, make(map[*G.Node]plan.Matrix)
	if !again {
		p.nodes = slices.Clone(c.Nodes)
		p.data = make([][]supply, len(p.levels))
		if err := p.needed(ctx); err != nil {
			p.need = nil
			return err
		}
	}
	p.done, p.total = 0, 0
	for l, level := range p.levels {
		if level.Plan != nil {
			p.total += len(p.need[l].nodes)
		}
		if p.data[l] == nil {
			p.data[l] = make([]supply, len(level.Data))
		}
		for k, d := range level.Data {
			if s, from := &p.data[l][k], p.source(d.Source); s.Source != from {
				*s = supply{Source: from, px: s.px}
			}
		}
	}
	p.advance(0)
	return p.agree(ctx)
}

// advance reports n more rows. Calls may be concurrent.
func (p *pass) advance(n int) {
	if p.Progress == nil || p.few() {
		return
	}
	p.progress.Lock()
	defer p.progress.Unlock()
	p.done += n
	p.Progress(p.done, p.total)
}

// level computes the rows of level l, and makes room for values that are read later.
func (p *pass) level(ctx context.Context, l int) (err error) {
	level, count := p.levels[l], len(p.need[l].nodes)
	for k, n := range level.Out {
		m := plan.Matrix{Rows: count, Cols: n.Shape()[1]}
		size, last := m.Rows*m.Cols, l == len(p.levels)-1
		switch wanted := p.wants(l, n) != nil; {
		case last && k == 0 && !wanted:
			what := fmt.Sprintf("the output of %d nodes × %d", count, m.Cols)
			if err = memory.Check(what, memory.Product(int64(count), int64(m.Cols), 4)); err == nil {
				m.Data = make([]float32, size)
			}
		case (last || k >= level.Held) && !(wanted && p.ranks > 1):
			continue
		case p.Device != nil:
			m.At, err = p.Device.Scratch(scratch{"values", l % 2, k}).Floats(size)
		default:
			m.Data, err = p.values(size)
		}
		if err != nil {
			return err
		}
		p.given[n] = m
	}
	if level.Plan == nil || count == 0 {
		return nil
	}
	return p.run(ctx, l)
}

// run computes the rows of level l, in chunks.
func (p *pass) run(ctx context.Context, l int) error {
	count := len(p.need[l].nodes)
	shares := p.shares(l)
	first, last := shares[p.rank], shares[p.rank+1]
	size := p.chunkOf(l, count)
	if l > 0 && len(p.need[l].sums) != count {
		p.need[l].sums = make([]float32, count)
	}
	workers := max(min((last-first+size-1)/size, parallel.Free()), 1)
	if p.few() || p.levels[l].Mixed || p.Device != nil {
		workers = 1
	}
	on, err := p.rowsOf(l)
	if err != nil {
		return err
	}
	free := make(chan *levelRun, workers)
	for w := range workers {
		r, err := p.worker(w, l)
		if err != nil {
			return err
		}
		free <- r
	}
	for lo, more := first, true; more; more = lo < last {
		hi, err := p.supply(ctx, l, lo, last, size)
		if err != nil {
			return err
		}
		err = chunks(ctx, (hi-lo+size-1)/size, workers, func(c int) error {
			if err := ctx.Err(); err != nil {
				return err
			}
			r := <-free
			defer func() { free <- r }()
			at := lo + c*size
			to := min(at+size, hi)
			defer p.advance(to - at)
			return p.compute(r, l, at, to, on)
		})
		if err != nil {
			return err
		}
		lo = hi
	}
	for range workers {
		r := <-free
		r.Forget() // the caller's memory among it
	}
	p.need[l].known = true
	for _, s := range p.data[l] {
		if s.Propagated && s.X.Release != nil {
			s.X.Release() // few levels read the features again
		}
	}
	if p.ranks == 1 {
		return nil
	}
	for _, n := range p.levels[l].Out {
		values, held := p.given[n]
		if !held {
			continue
		}
		parts := make([][]float32, p.ranks)
		for rank := range parts {
			parts[rank] = values.Data[shares[rank]*values.Cols : shares[rank+1]*values.Cols]
		}
		if err := p.Ranks.Gather(ctx, parts); err != nil {
			return err
		}
		if wanted := p.wants(l, n); wanted != nil {
			p.Wanted(wanted, p.need[l].nodes, values.Data)
		}
	}
	return nil
}

// wants returns the node wanted of New whose value n has in level l, if the call wants it, or nil.
func (p *pass) wants(l int, n *G.Node) *G.Node {
	if p.Wanted == nil {
		return nil
	}
	return p.levels[l].Wanted[n]
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
	case p.Device != nil: // few chunks
		return max(1024, min(1<<17, (1<<24)/max(p.levels[l].Width, 1)))
	}
	size := min(max(cached/max(p.levels[l].Width, 1), fewest), segments)
	if p.levels[l].Reads && int(p.P.Adjacency.NNZ()) >= dense*p.P.Nodes() {
		size = segments
	}
	return min(size, max((count+parts-1)/parts, fewest))
}

// worker returns the run of level l of worker w, for this call.
func (p *pass) worker(w, l int) (*levelRun, error) {
	if w == len(p.workers) {
		p.workers = append(p.workers, make(worker, len(p.levels)))
	}
	r := p.workers[w][l]
	if r == nil {
		o := plan.ExecutorOptions{Device: p.Device}
		for _, other := range p.workers[w] {
			if other != nil && p.Device == nil {
				o.Beside = other.Executor
			}
		}
		run, err := plan.NewExecutor(p.levels[l].Plan, o)
		if err != nil {
			return nil, err
		}
		if p.Device != nil {
			p.Device.OnClose(run.Close)
		}
		r = &levelRun{Executor: run, data: make([][]float32, len(p.levels[l].Data))}
		r.connect(p, l)
		p.workers[w][l] = r
	}
	for model, call := range p.Sources { // ops that read features themselves read those of the call
		if !model.Propagated {
			plan.Use(r.Run, model.X, call.X)
		}
	}
	r.Begin()
	for n, m := range p.given {
		r.Give(n, m)
	}
	return r, nil
}

// close frees the memory of p's runs.
func (p *pass) close() (err error) {
	for _, w := range p.workers {
		for _, r := range w {
			if r != nil {
				err = errors.Join(err, r.Close())
			}
		}
	}
	p.workers = nil
	return err
}

// connect gives r slots, targets and a mode of its own.
func (r *levelRun) connect(p *pass, l int) {
	if l > 0 {
		r.below = p.slots[l-1].For(r.Run)
		r.below.SetPrefetched(true)
	}
	if l < len(p.slots) {
		r.above = p.slots[l].For(r.Run)
		r.above.SetPrefetched(true)
	}
	if p.labels != nil && l == 0 {
		r.targets = p.labels.Targets.For(r.Run)
	}
	plan.Use(r.Run, p.mode, new(ops.Mode))
}

// compute computes the rows lo to hi−1 of level l. on is P on the device.
func (p *pass) compute(r *levelRun, l, lo, hi int, on ops.RowsOf) error {
	if err := p.setRows(r, l, lo, hi, on); err != nil {
		return err
	}
	level, nodes := p.levels[l], p.need[l].nodes[lo:hi]
	for k, n := range level.Out {
		at := p.given[n].Slice(lo*n.Shape()[1], hi*n.Shape()[1])
		if p.Device != nil {
			at.Data = nil // the logits are read from the device
		}
		r.Into(k, at)
	}
	if err := r.Compute(); err != nil {
		return err
	}
	for k, n := range level.Out {
		m, err := r.Result(k).Matrix()
		if err == nil && (m.Rows != hi-lo || m.Cols != n.Shape()[1]) {
			err = fmt.Errorf("%v has %d×%d values for %d rows: %w", n, m.Rows, m.Cols, hi-lo, ops.ErrShape)
		}
		if err == nil {
			err = p.move(p.given[n].Slice(lo*m.Cols, hi*m.Cols), m)
		}
		if err != nil {
			return err
		}
		wanted := p.wants(l, n)
		if wanted == nil || p.ranks > 1 {
			continue
		}
		data := m.Data
		if p.Device != nil {
			data = make([]float32, m.Rows*m.Cols)
			if err := device.Read(p.Device, data, m.At); err != nil {
				return err
			}
		}
		p.Wanted(wanted, nodes, data)
	}
	return nil
}

// move copies m to a place, if there is one and it is not there.
func (p *pass) move(to plan.Floats, m plan.Matrix) error {
	switch {
	case to.At != 0:
		return p.Device.Copy(to.At, m.At, m.Rows*m.Cols)
	case to.Data == nil:
	case p.Device != nil:
		return device.Read(p.Device, to.Data, m.At)
	case &to.Data[0] != &m.Data[0]:
		copy(to.Data, m.Data)
	}
	return nil
}

// setLabels sets the labels that the nodes give to the model.
func (p *pass) setLabels(r *levelRun, nodes []int32) error {
	r.labels, r.weights = r.labels[:0], r.weights[:0]
	for _, v := range nodes {
		if p.LabelOf != nil {
			v = p.LabelOf[v]
		}
		y, w := int32(0), float32(0)
		if int(v) < len(p.labels.Weights) {
			y, w = v, p.labels.Weights[v]
		}
		r.labels, r.weights = append(r.labels, y), append(r.weights, w)
	}
	return r.targets.Set(r.labels, r.weights)
}
