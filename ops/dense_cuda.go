//go:build cuda

package ops

import (
	"fmt"

	"github.com/gcn-layerwise/gcn/internal/device"
	G "gorgonia.org/gorgonia"
)

// placedProduct is what a product shares with the activation that reads it.
type placedProduct struct {
	biasAbove   bool           // the activation adds the bias
	bias, scale device.Pointer // of this run
}

// product returns the state of the product with a bias that n is, if one reader
// is all that it has; else nil.
func (p *Placement) product(n *G.Node) *placedProduct {
	op, ok := n.Op().(*product)
	if !ok || !op.bias || p.readers[n] != 1 || n == p.o.Output || len(p.gradientPlaces(n)) > 0 {
		return nil
	}
	return stateOf[placedProduct](p, op)
}

func (op *product) place(p *Placement, n *G.Node) (func([]*array) (*array, error), error) {
	out, state := p.result(n), stateOf[placedProduct](p, op)
	var q *placedSlot
	if op.slot != nil {
		q = p.slot(op.slot)
		q.needs.sums = true
	}
	return func(in []*array) (*array, error) {
		s, x, y, err := op.sizes(in)
		if err != nil {
			return nil, err
		}
		a, to, err := out.shaped(s.M, s.N)
		if err != nil {
			return nil, err
		}
		var beta float32
		if op.bias {
			if state.bias, err = in[2].vector(op.name, s.N); err != nil {
				return nil, err
			}
			if state.scale, err = q.rowSums(op.name, s.M); err != nil {
				return nil, err
			}
			if !state.biasAbove {
				if err := p.d.BiasRows(to, state.bias, state.scale, s.M, s.N); err != nil {
					return nil, err
				}
				beta = 1
			}
		}
		p.products = append(p.products, s)
		return a, p.d.Sgemm(s.TransA, s.TransB, s.M, s.N, s.K, x, in[0].shape[1], y, in[1].shape[1], beta, to)
	}, nil
}

// sizes checks the two factors and returns where they are.
func (op *product) sizes(in []*array) (s DenseProduct, x, y device.Pointer, err error) {
	s = DenseProduct{TransA: op.transA, TransB: op.transB}
	var inner int
	if s.M, s.K, x, err = in[0].matrix(op.name); err != nil {
		return s, 0, 0, err
	}
	if op.transA {
		s.M, s.K = s.K, s.M
	}
	if inner, s.N, y, err = in[1].matrix(op.name); err != nil {
		return s, 0, 0, err
	}
	if op.transB {
		inner, s.N = s.N, inner
	}
	if inner != s.K {
		err = fmt.Errorf("ops: %s: (%d, %d) times (%d, %d): %w", op.name, s.M, s.K, inner, s.N, ErrShape)
	}
	return s, x, y, err
}

func (op *columnSums) place(p *Placement, n *G.Node) (func([]*array) (*array, error), error) {
	out := p.result(n)
	var q *placedSlot
	if op.slot != nil {
		q = p.slot(op.slot)
		q.needs.sums = true
	}
	return func(in []*array) (*array, error) {
		rows, cols, x, err := in[0].matrix(op.name)
		if err != nil {
			return nil, err
		}
		scale, err := q.rowSums(op.name, rows)
		if err != nil {
			return nil, err
		}
		a, to, err := out.shaped(cols)
		if err != nil {
			return nil, err
		}
		return a, p.d.ColumnSums(to, x, 0, scale, rows, cols)
	}, nil
}

func (op *add) place(p *Placement, n *G.Node) (func([]*array) (*array, error), error) {
	out := p.result(n)
	return func(in []*array) (*array, error) {
		rows, cols, x, err := in[0].matrix(op.name)
		if err != nil {
			return nil, err
		}
		rowsB, colsB, y, err := in[1].matrix(op.name)
		if err != nil {
			return nil, err
		}
		if rows != rowsB || cols != colsB {
			return nil, fmt.Errorf("ops: Add: %d×%d and %d×%d: %w", rows, cols, rowsB, colsB, ErrShape)
		}
		a, to, err := out.shaped(rows, cols)
		if err != nil {
			return nil, err
		}
		return a, p.d.Add(to, x, y, rows*cols)
	}, nil
}

func (op *sum) place(p *Placement, n *G.Node) (func([]*array) (*array, error), error) {
	out := p.result(n)
	return func(in []*array) (*array, error) {
		rows, cols, x, err := in[0].matrix(op.name)
		if err != nil {
			return nil, err
		}
		a, to, err := out.shaped()
		if err != nil {
			return nil, err
		}
		return a, p.d.Sum(to, x, op.shareOf(rows*cols), rows*cols)
	}, nil
}

// shareOf is what one of n elements counts.
func (op *sum) shareOf(n int) float64 {
	if op.mean && n > 0 {
		return 1 / float64(n)
	}
	return 1
}

func (op *sumBack) place(p *Placement, n *G.Node) (func([]*array) (*array, error), error) {
	out := p.result(n)
	return func(in []*array) (*array, error) {
		rows, cols, _, err := in[0].matrix(op.name)
		if err != nil {
			return nil, err
		}
		upstream, err := in[1].scalar(op.name)
		if err != nil {
			return nil, err
		}
		a, to, err := out.shaped(rows, cols)
		if err != nil {
			return nil, err
		}
		return a, p.d.Fill(to, upstream, float32(op.forward.shareOf(rows*cols)), rows*cols)
	}, nil
}

// placedNorm is what a normalisation shares with its gradients.
type placedNorm struct {
	wanted              bool // a gradient is placed that needs the normalised rows
	rowMemory, memory   *device.Buffer
	normalized, inverse device.Pointer
	rows, width         int
}

func (s *placedNorm) check(rows, width int) error {
	if rows != s.rows || width != s.width {
		return fmt.Errorf("ops: LayerNorm: gradient is %d×%d, its output %d×%d: %w", rows, width, s.rows, s.width, ErrShape)
	}
	return nil
}

func (op *layerNorm) place(p *Placement, n *G.Node) (func([]*array) (*array, error), error) {
	out, s := p.result(n), stateOf[placedNorm](p, op)
	s.memory, s.rowMemory = p.buffer(), p.buffer()
	return func(in []*array) (*array, error) {
		rows, width, x, err := in[0].matrix(op.name)
		if err != nil {
			return nil, err
		}
		gain, err := in[1].vector(op.name, width)
		if err != nil {
			return nil, err
		}
		shift, err := in[2].vector(op.name, width)
		if err != nil {
			return nil, err
		}
		a, to, err := out.shaped(rows, width)
		if err != nil {
			return nil, err
		}
		s.rows, s.width = rows, width
		if s.wanted {
			if s.normalized, err = s.memory.Floats(rows * width); err != nil {
				return nil, err
			}
			if s.inverse, err = s.rowMemory.Floats(rows); err != nil {
				return nil, err
			}
		}
		return a, p.d.LayerNorm(to, s.normalized, s.inverse, x, gain, shift, rows, width)
	}, nil
}

func (op *layerNormBack) place(p *Placement, n *G.Node) (func([]*array) (*array, error), error) {
	out, s := p.result(n), stateOf[placedNorm](p, op.forward)
	s.wanted = true
	return func(in []*array) (*array, error) {
		rows, width, grad, err := in[2].matrix(op.name)
		if err == nil {
			err = s.check(rows, width)
		}
		if err != nil {
			return nil, err
		}
		gain, err := in[1].vector(op.name, width)
		if err != nil {
			return nil, err
		}
		a, to, err := out.shaped(rows, width)
		if err != nil {
			return nil, err
		}
		return a, p.d.LayerNormGradient(to, grad, s.normalized, s.inverse, gain, rows, width)
	}, nil
}

func (op *layerNormBackGain) place(p *Placement, n *G.Node) (func([]*array) (*array, error), error) {
	out, s := p.result(n), stateOf[placedNorm](p, op.forward)
	s.wanted = true
	return func(in []*array) (*array, error) {
		rows, width, grad, err := in[1].matrix(op.name)
		if err == nil {
			err = s.check(rows, width)
		}
		if err != nil {
			return nil, err
		}
		a, to, err := out.shaped(width)
		if err != nil {
			return nil, err
		}
		return a, p.d.ColumnSums(to, grad, s.normalized, 0, rows, width)
	}, nil
}
