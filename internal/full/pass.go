package full

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/gcn-layerwise/gcn/graph"
	"github.com/gcn-layerwise/gcn/internal/kernel"
	"github.com/gcn-layerwise/gcn/internal/parallel"
	"github.com/gcn-layerwise/gcn/internal/plan"
	"github.com/gcn-layerwise/gcn/ops"
	G "gorgonia.org/gorgonia"
)

// pass is one call of Infer. Model keeps it: the next call uses its memory.
type pass struct {
	*Model
	Call
	again  bool // the lists and P·X are of an earlier call
	rank   int
	ranks  int                     // their number
	stages []stage                 // of each level
	given  map[*G.Node]plan.Matrix // values of all rows of a level; others are only there for a chunk

	most    int64           // bytes of values and of P·X; 0: no bound
	memory  [2][]float32    // of the levels of even and of odd numbers
	files   [2]func() error // frees what lies in a file in place of memory; nil: nothing
	spilled int             // files so far
	passes  int             // over features in the order of their file, so far
	product kernel.InOrder

	progress sync.Mutex
	done     int // rows computed
	total    int
}

// stage is a level in a pass.
type stage struct {
	*plan.Level
	number int
	below  *stage    // nil: this is the lowest
	nodes  []int32   // row k belongs to nodes[k]; ascending below the last level
	place  []int32   // the row of each node in nodes, the others have no meaning; nil: row v is node v
	whole  bool      // the rows are all nodes in their order
	sums   []float32 // row sums of P; 0: not known
	data   []supply
}

// levelRun is a run of a level's plan, with the block and data of its chunk.
type levelRun struct {
	*plan.Executor
	below *ops.Slot // between this level and the one below
	above *ops.Slot
	block graph.Block // rows of P over the rows of the level below
	own   []int32     // the row below of each row's own node
	data  [][]float32 // memory for rows of each of the level's data
}

// advance reports n more rows. Calls may be concurrent.
func (p *pass) advance(n int) {
	if p.Progress != nil {
		p.progress.Lock()
		defer p.progress.Unlock()
		p.done += n
		p.Progress(p.done, p.total)
	}
}

// level computes the rows of s, and makes room for values that are read later.
func (p *pass) level(ctx context.Context, s *stage) error {
	last, size := s.number == len(p.stages)-1, 0
	var kept G.Nodes
	for k, n := range s.Out {
		wanted := s.Wanted[n] != nil
		if k < s.Held && !(last && wanted) || wanted && p.ranks > 1 {
			kept = append(kept, n)
			size += len(s.nodes) * n.Shape()[1]
		}
	}
	var at plan.Floats
	var err error
	if last && s.Wanted[s.Out[0]] == nil { // the caller's
		memory := cmp.Or(p.logits.Swap(nil), new([]float32))
		at.Data, err = reserve(memory, size, fmt.Sprintf("the output of %d nodes × %d", len(s.nodes), s.Out[0].Shape()[1]))
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
func (p *pass) run(ctx context.Context, s *stage) (err error) {
	shares, size := p.shares(s), p.chunkOf(s)
	first, last := shares[p.rank], shares[p.rank+1]
	workers := max(min((last-first+size-1)/size, parallel.Free()), 1)
	if p.few() || s.Mixed || p.Device != nil {
		workers = 1
	}
	on, err := p.rowsOf(s)
	if err != nil {
		return err
	}
	runs := make(chan *levelRun, workers)
	defer func() {
		for len(runs) > 0 {
			r := <-runs
			r.Forget() // the caller's memory among it
			select {
			case p.idle[s.number] <- r:
			default: // other calls left enough
				err = errors.Join(err, r.Close())
			}
		}
	}()
	for range workers {
		r, err := p.worker(s)
		if err != nil {
			return err
		}
		runs <- r
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
			r := <-runs
			defer func() { runs <- r }()
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
	for _, d := range s.data {
		if d.Propagated && d.X.Release != nil {
			d.X.Release() // few levels read the features again
		}
	}
	for _, n := range s.Out {
		if values, held := p.given[n]; held && p.ranks > 1 {
			if err := p.Ranks.Gather(ctx, partsOf(values.Data, shares, values.Cols)); err != nil {
				return err
			}
			if wanted := s.Wanted[n]; wanted != nil {
				p.Wanted(wanted, s.nodes, values.Data)
			}
		}
	}
	return nil
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
		return max(1024, min(1<<17, (1<<24)/s.Width))
	}
	size := min(max(cached/s.Width, fewest), segments)
	if s.Reads && int(p.P.Adjacency.NNZ()) >= dense*p.P.Nodes() {
		chunks := max(len(s.nodes)/segments, 1) // of one size, as in kernel.SegmentedRows
		size = (len(s.nodes) + chunks - 1) / chunks
	}
	return min(size, max((len(s.nodes)+parts-1)/parts, fewest))
}

// worker returns a run of s for this call.
func (p *pass) worker(s *stage) (r *levelRun, err error) {
	for r == nil {
		select {
		case r = <-p.idle[s.number]:
			if r.Device != p.Device {
				err, r = r.Close(), nil
			}
		default:
			r, err = p.newRun(s)
		}
		if err != nil {
			return nil, err
		}
	}
	for model, call := range p.Sources { // ops that read features themselves read those of the call
		if !model.Propagated {
			plan.Use(r.Run, model.X, call.X)
		}
	}
	if s.Reads {
		if r.block.Src = s.below.nodes; s.Lists {
			r.block.SetColScale(p.P)
		}
	}
	r.Begin()
	for n, m := range p.given {
		r.Give(n, m.Floats, m.Rows, m.Cols)
	}
	return r, nil
}

// newRun returns a run of s for a worker, with slots and a mode of its own.
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
	plan.Use(r.Run, p.mode, new(ops.Mode))
	return r, nil
}

// compute computes the rows lo to hi−1 of s. on is P on the device.
func (p *pass) compute(r *levelRun, s *stage, lo, hi int, on ops.RowsOf) error {
	if err := p.setRows(r, s, lo, hi, on); err != nil {
		return err
	}
	for k, n := range s.Out {
		r.Put(k, plan.Floats{Data: p.given[n].Part(lo, hi).Data}) // on a device, where nothing checks the size, not in place
	}
	if err := r.Compute(); err != nil {
		return err
	}
	for k, n := range s.Out {
		m, err := r.Result(k).Matrix()
		wanted, to := s.Wanted[n], p.given[n].Part(lo, hi)
		switch {
		case err == nil && (m.Rows != hi-lo || m.Cols != n.Shape()[1]):
			err = fmt.Errorf("%v has %d×%d values for %d rows: %w", n, m.Rows, m.Cols, hi-lo, ops.ErrShape)
		case err == nil && to.At != 0:
			err = p.Device.Copy(to.At, m.At, m.Rows*m.Cols)
		}
		if err == nil && p.Device != nil && (to.At == 0 || wanted != nil) {
			m.Data, err = r.Result(k).Append(to.Data[:0])
		}
		if err != nil {
			return err
		}
		copy(to.Data, m.Data) // nothing, if it is there
		if wanted != nil && p.ranks == 1 {
			p.Wanted(wanted, s.nodes[lo:hi], m.Data)
		}
	}
	return nil
}
