package ops

import (
	"slices"

	G "gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// What fits in the cache is what a step is fast by, and a step has a dozen
// matrices of which few are needed at a time. So whoever runs the ops may let
// them share memory.

// buffer is memory of one value: it grows to the largest value yet. The header
// is kept as long as the shape stays.
type buffer struct {
	data   []float32
	header *tensor.Dense
}

// matrix returns a rows×cols value over the buffer, and its elements, which
// are unspecified.
func (b *buffer) matrix(rows, cols int) (*tensor.Dense, []float32) {
	data := b.grow(rows * cols)
	// A plain node may have reshaped the header in place: trust its own word.
	if b.header == nil || b.header.Dims() != 2 || b.header.Shape()[0] != rows || b.header.Shape()[1] != cols {
		b.header = tensor.New(tensor.WithShape(rows, cols), tensor.WithBacking(data))
	}
	return b.header, data
}

// vector is matrix for a value of one dimension.
func (b *buffer) vector(n int) (*tensor.Dense, []float32) {
	data := b.grow(n)
	if b.header == nil || b.header.Dims() != 1 || b.header.Shape()[0] != n {
		b.header = tensor.New(tensor.WithShape(n), tensor.WithBacking(data))
	}
	return b.header, data
}

func (b *buffer) grow(n int) []float32 {
	if cap(b.data) < n {
		b.data, b.header = make([]float32, n), nil
	}
	b.data = b.data[:n]
	return b.data
}

// output is where an op puts its result, written anew by every run: memory of
// its own, or lent.
type output struct {
	own    buffer
	lender *Memory // nil: its own
	lent   *buffer // nil: none now
	fixed  bool    // its own is the caller's
}

func (o *output) matrix(rows, cols int) (*tensor.Dense, []float32) {
	return o.buffer(rows*cols).matrix(rows, cols)
}

func (o *output) vector(n int) (*tensor.Dense, []float32) { return o.buffer(n).vector(n) }

func (o *output) buffer(n int) *buffer {
	if o.lender == nil {
		return &o.own
	}
	if o.lent == nil {
		o.lent = o.lender.take(n)
	}
	return o.lent
}

// Memory lends ops the matrices that they put out, the one returned last first,
// since that is still in cache. It is for one goroutine. The zero value has
// none yet, and makes what it lends.
type Memory struct{ free []*buffer }

// take returns a free buffer of n elements or more, or the one returned last,
// which is to grow.
func (m *Memory) take(n int) *buffer {
	if len(m.free) == 0 {
		return new(buffer)
	}
	at := len(m.free) - 1
	for k := at; k >= 0; k-- {
		if cap(m.free[k].data) >= n {
			at = k
			break
		}
	}
	b := m.free[at]
	m.free = slices.Delete(m.free, at, at+1)
	return b
}

// Lend makes n's op put its results in memory of m from its next run on, until
// Return after each. It reports whether the op is one that can.
func (m *Memory) Lend(n *G.Node) bool {
	o := outputOf(n)
	if o == nil || o.fixed {
		return false
	}
	o.lender, o.lent = m, nil
	return true
}

// Return takes back the memory of n's last result, which nothing may read from
// then on.
func (m *Memory) Return(n *G.Node) {
	if o := outputOf(n); o != nil && o.lent != nil && o.lender == m {
		m.free = append(m.free, o.lent)
		o.lent = nil
	}
}

// PutInto makes n's op put its results into dst if they fit there, and reports
// whether the op is one that can. It is not lent memory any more.
func PutInto(n *G.Node, dst []float32) bool {
	o := outputOf(n)
	if o == nil {
		return false
	}
	*o = output{own: buffer{data: dst[:len(dst):len(dst)]}, fixed: true}
	return true
}

// outputOf returns the output of n's op, nil if that is not an op of this
// package, or one whose result may be read after the run.
func outputOf(n *G.Node) *output {
	switch op := n.Op().(type) {
	case *activate:
		if op.keepActivations {
			return nil // until the history is committed
		}
		return &op.out
	case *activateBack:
		return &op.out
	case *product:
		return &op.out
	case *columnSums:
		return &op.out
	case *propagate:
		return &op.out
	case *lossBack:
		return &op.out
	case *layerNorm:
		return &op.out
	case *layerNormBack:
		return &op.out
	case *layerNormBackGain:
		return &op.out
	case *add:
		return &op.out
	}
	return nil
}

// Retains reports whether the results of n's op, or what the op keeps for
// another, may lie in the memory of its inputs. An op that this package does
// not know may do so.
func Retains(n *G.Node) bool {
	switch n.Op().(type) {
	case *loss, *sum:
		return false
	}
	return outputOf(n) == nil
}

// Overwriter is an op that needs less memory if it may write over one of its
// inputs.
type Overwriter interface {
	// DoOver is Do, but may overwrite the value of the input that Overwrites
	// named: by the result, or by what the op keeps for its gradient.
	DoOver(in ...G.Value) (G.Value, error)

	over() (input int, result bool)
}

// Overwrites returns n's op and the number of the input whose value it could
// write over, if there is one that is sure to be in memory of its own, and
// whether it is the op's result that would be there. Whether anything reads that
// value later only who runs the graph can know, and so may call DoOver in place
// of Do.
func Overwrites(n *G.Node) (op Overwriter, input int, result, ok bool) {
	if op, ok = n.Op().(Overwriter); !ok {
		return nil, 0, false, false
	}
	input, result = op.over()
	if made := childrenOf(n)[input]; made.Op() == nil || outputOf(made) == nil {
		return nil, 0, false, false
	}
	return op, input, result, true
}
