package full

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/gcn-layerwise/gcn/graph"
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

	nodes  []int32 // of the stages; nil: all
	stages []stage // of each level
	rank   int
	ranks  int                     // their number
	given  map[*G.Node]plan.Matrix // values of all rows of a level; others are only there for a chunk

	progress sync.Mutex
	done     int // rows computed
	total    int
}

// stage is a level in a pass.
type stage struct {
	*plan.Level
	rows
	number int
	below  *stage // nil: this is the lowest
	data   []supply
	runs   []*levelRun // one of each worker
}

// levelRun is a run of a level's plan, with the block, labels and data of its chunk.
type levelRun struct {
	*plan.Executor
	below   *ops.Slot // between this level and the one below
	above   *ops.Slot
	block   graph.Block  // rows of P over the rows of the level below
	own     []int32      // the row below of each row's own node
	targets *ops.Targets // of the model's labels; nil: this level reads none
	labels  []int32
	weights []float32
	rows    graph.Block // the level's rows as input nodes of above
	data    [][]float32 // memory for rows of each of the level's data
}

// begin makes p the pass of c.
func (p *pass) begin(ctx context.Context, c Call) error {
	if err := p.set(&c); err != nil {
		return err
	}
	again := p.stages != nil && p.P == c.P && (p.nodes == nil) == (c.Nodes == nil) && slices.Equal(p.nodes, c.Nodes)
	p.Call = c
	p.given = make(map[*G.Node]plan.Matrix)
	p.rank = 0
	p.ranks = 1
	if c.Ranks != nil {
		p.rank, p.ranks = c.Ranks.Rank(), c.Ranks.Size()
	}
	if !again {
		p.nodes = slices.Clone(c.Nodes)
		if err := p.needed(ctx); err != nil {
			return err
		}
	}
	p.done, p.total = 0, 0
	for l := range p.stages {
		s := &p.stages[l]
		if s.Plan != nil {
			p.total += len(s.nodes)
		}
		for k, d := range s.Data {
			if from := p.source(d.Source); s.data[k].Source != from {
				s.data[k] = supply{Source: from, px: s.data[k].px}
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

// level computes the rows of s, and makes room for values that are read later.
func (p *pass) level(ctx context.Context, s *stage) error {
	last, size := s.number == len(p.stages)-1, 0
	var kept G.Nodes
	for k, n := range s.Out {
		wanted := p.wants(s, n) != nil
		if k < s.Held && !(last && wanted) || wanted && p.ranks > 1 {
			kept = append(kept, n)
			size += len(s.nodes) * n.Shape()[1]
		}
	}
	var at plan.Floats
	var err error
	if last && p.wants(s, s.Out[0]) == nil { // the caller's
		what := fmt.Sprintf("the output of %d nodes × %d", len(s.nodes), s.Out[0].Shape()[1])
		if err = memory.Check(what, memory.Product(int64(size), 4)); err == nil {
			at.Data = make([]float32, size)
		}
	} else {
		at, err = p.values(s.number, size)
	}
	if err != nil {
		return err
	}
	lo := 0
	for _, n := range kept {
		m := plan.Matrix{Rows: len(s.nodes), Cols: n.Shape()[1]}
		hi := lo + m.Rows*m.Cols
		m.Floats, lo = at.Slice(lo, hi), hi
		p.given[n] = m
	}
	if s.Plan == nil || len(s.nodes) == 0 {
		return nil
	}
	return p.run(ctx, s)
}

// run computes the rows of s, in chunks.
func (p *pass) run(ctx context.Context, s *stage) error {
	if s.sums == nil && s.below != nil {
		s.sums = make([]float32, len(s.nodes))
	}
	shares := p.shares(s)
	first, last := shares[p.rank], shares[p.rank+1]
	size := p.chunkOf(s)
	workers := max(min((last-first+size-1)/size, parallel.Free()), 1)
	if p.few() || s.Mixed || p.Device != nil {
		workers = 1
	}
	on, err := p.rowsOf(s)
	if err != nil {
		return err
	}
	free := make(chan *levelRun, workers)
	for w := range workers {
		r, err := p.worker(w, s)
		if err != nil {
			return err
		}
		free <- r
	}
	for lo, more := first, true; more; more = lo < last {
		hi, err := p.supply(ctx, s, lo, last, size)
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
			return p.compute(r, s, at, to, on)
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
	for _, d := range s.data {
		if d.Propagated && d.X.Release != nil {
			d.X.Release() // few levels read the features again
		}
	}
	if p.ranks == 1 {
		return nil
	}
	for _, n := range s.Out {
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
		if wanted := p.wants(s, n); wanted != nil {
			p.Wanted(wanted, s.nodes, values.Data)
		}
	}
	return nil
}

// wants returns the node wanted of New whose value n has in s, if the call wants it, or nil.
func (p *pass) wants(s *stage, n *G.Node) *G.Node {
	if p.Wanted == nil {
		return nil
	}
	return s.Wanted[n]
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

// chunkOf returns the rows of a chunk of s. The values of a chunk stay in the second cache. The
// products of a dense graph go by segments, which need thousands of rows (docs/adr/0052).
func (p *pass) chunkOf(s *stage) int {
	const (
		cached   = 480 * 256 // values
		fewest   = 32
		segments = 4096
		dense    = 256 // entries a row
		parts    = 16  // of a few rows; not the number of cores, since bits may depend on chunks
	)
	switch {
	case s.Mixed:
		return len(s.nodes)
	case p.Chunk > 0:
		return p.Chunk
	case p.Device != nil: // few chunks
		return max(1024, min(1<<17, (1<<24)/max(s.Width, 1)))
	}
	size := min(max(cached/max(s.Width, 1), fewest), segments)
	if s.Reads && int(p.P.Adjacency.NNZ()) >= dense*p.P.Nodes() {
		chunks := max(len(s.nodes)/segments, 1) // of one size, as in kernel.SegmentedRows
		size = (len(s.nodes) + chunks - 1) / chunks
	}
	return min(size, max((len(s.nodes)+parts-1)/parts, fewest))
}

// worker returns the run of s of worker w, for this call.
func (p *pass) worker(w int, s *stage) (*levelRun, error) {
	if w == len(s.runs) {
		r, err := p.newRun(s)
		if err != nil {
			return nil, err
		}
		s.runs = append(s.runs, r)
	}
	r := s.runs[w]
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

// newRun returns a run of s for a worker, with slots, targets and a mode of its own.
func (p *pass) newRun(s *stage) (*levelRun, error) {
	run, err := plan.NewExecutor(s.Plan, plan.ExecutorOptions{Device: p.Device})
	if err != nil {
		return nil, err
	}
	if p.Device != nil {
		p.Device.OnClose(run.Close)
	}
	r := &levelRun{Executor: run, data: make([][]float32, len(s.Data))}
	if s.below != nil {
		r.below = p.slots[s.number-1].For(r.Run)
	}
	if s.number < len(p.slots) {
		r.above = p.slots[s.number].For(r.Run)
	}
	if p.labels != nil && s.below == nil {
		r.targets = p.labels.Targets.For(r.Run)
	}
	plan.Use(r.Run, p.mode, new(ops.Mode))
	return r, nil
}

// close frees the memory of p's runs.
func (p *pass) close() (err error) {
	for _, s := range p.stages {
		for _, r := range s.runs {
			err = errors.Join(err, r.Close())
		}
	}
	p.stages = nil
	return err
}

// compute computes the rows lo to hi−1 of s. on is P on the device.
func (p *pass) compute(r *levelRun, s *stage, lo, hi int, on ops.RowsOf) error {
	if err := p.setRows(r, s, lo, hi, on); err != nil {
		return err
	}
	if err := r.Compute(); err != nil {
		return err
	}
	for k, n := range s.Out {
		m, err := r.Result(k).Matrix()
		to := p.given[n]
		switch {
		case err == nil && (m.Rows != hi-lo || m.Cols != n.Shape()[1]):
			err = fmt.Errorf("%v has %d×%d values for %d rows: %w", n, m.Rows, m.Cols, hi-lo, ops.ErrShape)
		case err == nil && to.At != 0:
			err = p.Device.Copy(to.Slice(lo*m.Cols, hi*m.Cols).At, m.At, m.Rows*m.Cols)
		case err == nil && to.Data != nil:
			_, err = r.Result(k).Append(to.Data[lo*m.Cols : lo*m.Cols])
		}
		if err != nil {
			return err
		}
		wanted := p.wants(s, n)
		if wanted == nil || p.ranks > 1 {
			continue
		}
		data := m.Data
		if p.Device != nil {
			if data, err = r.Result(k).Append(nil); err != nil {
				return err
			}
		}
		p.Wanted(wanted, s.nodes[lo:hi], data)
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
		r.labels = append(r.labels, y)
		r.weights = append(r.weights, w)
	}
	return r.targets.Set(r.labels, r.weights)
}
