package full

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/gcn-layerwise/gcn/graph"
	"github.com/gcn-layerwise/gcn/internal/device"
	"github.com/gcn-layerwise/gcn/internal/memory"
	"github.com/gcn-layerwise/gcn/internal/plan"
	"github.com/gcn-layerwise/gcn/ops"
	G "gorgonia.org/gorgonia"
)

// Model is a model compiled for full neighbourhoods. It reads the parameters at each call, and
// changes nothing of the graph: calls may run side by side while no parameter changes, unless
// an op of a user's own holds state. A call keeps its memory for the next one.
type Model struct {
	levels []*plan.Level
	slots  []*ops.Slot
	mode   *ops.Mode

	idle   []chan *levelRun     // of each level: runs that no call uses
	small  sync.Pool            // *pass, of calls for few nodes
	large  atomic.Pointer[pass] // of one other call: it may have much memory
	Spare  *Spare
	logits atomic.Pointer[[]float32] // see Reuse
	Chunk  int                       // rows of a chunk, for tests; 0: so many that they stay in cache
}

// Spare is memory for the values of levels of even and of odd numbers, which models share.
// Calls may be concurrent: one of them takes it. Calls with a bound, or for a few nodes, do not
// use it.
type Spare = atomic.Pointer[[2][]float32]

// New compiles logits, of shape (output nodes, outputs). slots are all slots of the model, from
// the input up, mode the mode of its dropouts, which have no noise here.
// wanted are values that a call gives too, which logits depend on. An error names an op that
// has no meaning over full neighbourhoods, such as Gorgonia's own Dropout.
func New(logits *G.Node, slots []*ops.Slot, mode *ops.Mode, wanted ...*G.Node) (*Model, error) {
	var between []any
	for _, s := range slots {
		between = append(between, s)
	}
	levels, err := plan.Cut(logits, between, wanted...)
	if err != nil {
		return nil, err
	}
	m := &Model{levels: levels, slots: slots, mode: mode, Spare: new(Spare)}
	for range levels {
		m.idle = append(m.idle, make(chan *levelRun, runtime.GOMAXPROCS(0)))
	}
	return m, nil
}

// Call says what Infer computes, and how.
type Call struct {
	P     *graph.Laplacian
	Nodes []int32 // nodes of P, which may repeat; nil: all

	// Sources are read in place of the data that the model was built over: in an entry, those of
	// the key are the model's. The others are read as they are. They may belong to another graph.
	Sources map[plan.Source]plan.Source

	// Wanted is called for parts of each of the values wanted of New, with the nodes and their
	// rows, which are valid until the call returns. Calls may be concurrent. An output that is
	// wanted is not returned. nil: the model has no wanted values.
	Wanted func(n *G.Node, nodes []int32, rows []float32)

	// Sums are the row sums of P; nil: they are computed. With them, and with P·X in Sources, a model
	// for which ReadsInputs is false does not read the rows of P of its first propagation.
	Sums []float32

	Device   *device.Device // nil: the CPU
	Bound    Bound
	Ranks    Ranks                 // nil: this process computes all rows
	Progress func(done, total int) // of the rows of all levels of more than Few nodes; nil: none. Calls do not overlap.
}

// Few is the largest number of nodes of a call that is made for their neighbourhood alone. It
// has no bound, and one goroutine computes it, so that many calls may run side by side.
const Few = 256

// CheckBound returns an error if the bound of c is too small for it.
func (c *Call) CheckBound() error {
	if c.few() || c.Bound == (Bound{}) {
		return nil
	}
	switch most := memory.Budget(c.Bound.Memory); {
	case c.Device != nil:
		return fmt.Errorf("inference: a bound of memory is for the CPU")
	case most <= c.fixed():
		return fmt.Errorf("inference takes more than %s of memory for %d nodes, and may take %s: %w",
			memory.Text(c.fixed()), c.P.Nodes(), memory.Text(max(most, 0)), memory.ErrTooLarge)
	}
	return nil
}

// fixed returns the bytes of the scales of P, and of a level's nodes and their rows.
func (c *Call) fixed() int64 { return 12 * int64(c.P.Nodes()) }

// few reports whether c is for a few nodes.
func (c *Call) few() bool {
	return c.Nodes != nil && len(c.Nodes) <= Few && c.P.Share == nil && c.Ranks == nil && c.Device == nil
}

// Infer returns the logits of nodes over all their neighbours, row-major: row i belongs to
// node i of the call. The row of a node does not depend on the other nodes, nor, with our own
// BLAS, on the numbers of cores and ranks, unless an op of the model mixes rows.
//
// Cost: one pass over the rows that the nodes need. Memory: the rows of two levels.
// A second call for the same nodes, or the first if it is small, keeps P·X of the rows above the
// features for later ones, if there is memory for it. Data must not change between two calls.
func (m *Model) Infer(ctx context.Context, c Call) (logits []float32, err error) {
	if ctx == nil || c.P == nil {
		return nil, fmt.Errorf("inference needs a context and a Laplacian")
	}
	if err := m.check(&c); err != nil {
		return nil, err
	}
	p, err := m.take(ctx, c)
	if err != nil {
		return nil, err
	}
	p.advance(0)
	err = p.agree(ctx)
	for l := 0; l < len(p.stages) && err == nil; l++ {
		if err = p.level(ctx, &p.stages[l]); err != nil {
			err = fmt.Errorf("layer %d: %w", l, err)
		}
	}
	top := &p.stages[len(p.stages)-1]
	if output := top.Out[0]; err == nil && top.Wanted[output] == nil {
		if logits = p.given[output].Data; p.Nodes != nil && p.owners() != nil {
			logits = rowsAt(p.Nodes, top.nodes, p.given[output])
		}
	}
	if err = m.give(p, err); err != nil {
		return nil, err
	}
	return logits, nil
}

// Reuse gives the memory of logits of Infer to the next call: they must not be used any more.
func (m *Model) Reuse(logits []float32) { m.logits.Store(&logits) }

// source returns what is read in c in place of s, which the model reads.
func (c *Call) source(s plan.Source) plan.Source {
	if other, ok := c.Sources[s]; ok {
		return other
	}
	return s
}

// check returns an error if the data of c do not fit the model, or its bound is too small.
func (m *Model) check(c *Call) error {
	n := c.P.Nodes()
	for k, v := range c.Nodes {
		if v < 0 || int(v) >= n {
			return fmt.Errorf("node %d is %d, outside [0, %d)", k, v, n)
		}
	}
	for _, level := range m.levels {
		for _, d := range level.Data {
			x := c.source(d.Source).X
			if x.Rows != n || x.Cols != d.X.Cols || !x.Sized() {
				return fmt.Errorf("%d×%d features hold %d values, for %d nodes and a model that reads %d features: %w", x.Rows, x.Cols, x.Len(), n, d.X.Cols, ops.ErrShape)
			}
		}
	}
	return c.CheckBound()
}

// ReadsInputs reports whether the model reads data at the nodes below its first propagation,
// and not only P·X.
func (m *Model) ReadsInputs() bool {
	return m.levels[0].Plan != nil || m.levels[1].Sparse
}
