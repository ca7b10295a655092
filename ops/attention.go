package ops

import (
	"fmt"
	"slices"

	"github.com/gcn-layerwise/gcn/internal/kernel"
	"github.com/gcn-layerwise/gcn/internal/plan"
	G "gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// AttentionOptions are the options of Attention. The zero value is one head.
type AttentionOptions struct {
	Heads   int  // 0 means 1
	Average bool // the result is the mean of the heads, not their concatenation

	// Plain leaves out the weights w: a drawn neighbour counts as if it were drawn
	// for certain.
	Plain bool

	Dropout float64 // of α, in [0, 1)
	Mode    *Mode   // required for a rate above 0
}

// Attention returns the attention of Veličković et al. (2018, arXiv:1710.10903) over the
// block of slot. Row j of z, of shape (len(Src), Heads·k), holds a vector z_j of length k
// for each head. Output node i attends to the entries j of its row of the block:
//
//	e_ij = LeakyReLU(source·z_j + target·z_i),
//	α_ij = w_ij exp(e_ij) / Σ_k w_ik exp(e_ik),
//	out_i = Σ_j dropout(α_ij) z_j + bias,
//
// with the parts of the vectors source and target, of length Heads·k, that belong to the
// head. LeakyReLU has the slope 0.2 below 0. The result has shape (len(Dst), Heads·k), or
// (len(Dst), k) with Average; bias has its width and may be nil. A row without entries is
// the bias.
//
// w_ij is the sampler's weight of the edge, times the edge's weight in A+I. With unbiased
// weights, E[w_ij] over the drawn blocks is that weight, so the numerator and the
// denominator of out_i are unbiased estimates of the sums over all neighbours, given z.
// Their ratio is not: its bias falls like 1/s with the number s of drawn neighbours, and is
// 0 if all are drawn.
//
// Each output node must be among the block's input nodes, and the block must have column
// scales and no Control; otherwise a run is an error. Cost: O(NNZ·Heads·k).
func Attention(slot *Slot, z, source, target, bias *G.Node, o AttentionOptions) (*G.Node, error) {
	if err := checkSlot("Attention", slot, z); err != nil {
		return nil, err
	}
	drop, err := newDropout("Attention", o.Dropout, o.Mode)
	if err != nil {
		return nil, err
	}
	slot.otherReader = "Attention"
	heads, rows, columns := max(o.Heads, 1), z.Shape()[0], z.Shape()[1]
	if rows != slot.src || o.Heads < 0 || columns%heads != 0 {
		return nil, fmt.Errorf("ops: Attention: %d heads over %d rows of %d columns, its slot %d input nodes: %w", o.Heads, rows, columns, slot.src, ErrShape)
	}
	op := &attention{
		base:    base{name: "Attention", slot: slot, parts: partEdges, rows: plan.CrossingRows},
		form:    kernel.Attention{Heads: heads, Width: columns / heads, Average: o.Average},
		plain:   o.Plain,
		dropout: drop,
	}
	if err := checkVectors("Attention", z, columns, source, target); err != nil {
		return nil, err
	}
	inputs := G.Nodes{z, source, target}
	if op.bias = bias != nil; op.bias {
		if err := checkVectors("Attention", z, op.form.Out(), bias); err != nil {
			return nil, err
		}
		inputs = append(inputs, bias)
	}
	for _, vector := range inputs[1:3] {
		scores, err := apply(&attentionScores{base: base{name: "AttentionScores", constant: true}, heads: heads}, tensor.Shape{rows, heads}, z, vector)
		if err != nil {
			return nil, err
		}
		inputs = append(inputs, scores)
	}
	return apply(op, tensor.Shape{slot.dst, op.form.Out()}, inputs...)
}

// attentionScores is source·z_j or target·z_j of each row and head. It has no gradient: attention
// computes that of z and of the vectors through the scores too.
type attentionScores struct {
	base
	heads int
}

func (op *attentionScores) Compute(c *plan.Call) error {
	z := c.Matrix(0)
	vector := c.Vector(1, z.Cols)
	to := c.OutMatrix(z.Rows, op.heads)
	width := z.Cols / op.heads
	return c.On(func() error {
		return c.Device.AttentionScores(to.At, z.At, vector.At, z.Rows, op.heads, width)
	}, func() {
		kernel.AttentionScores(to.Data, z.Data, vector.Data, z.Rows, op.heads, width)
	})
}

// attention has the inputs z, source and target, then the bias if there is one, and last the two
// matrices of scores.
type attention struct {
	base
	form        kernel.Attention // without edges and dropout
	plain, bias bool
	dropout     dropout
}

// attentionRun is the state of an attention in a run, for its gradients.
type attentionRun struct {
	kernel.Attention
	alpha      plan.Scratch // the coefficients, as in kernel.Attention
	dq, ds, dt plan.Scratch // the gradients of sums of two scores, and of the scores
}

func (op *attention) of(c *plan.Call) *attentionRun { return plan.StateOf[attentionRun](c.Run, op) }

// Operations counts the sums over the entries, and those of the gradient.
func (op *attention) Operations(w plan.Work) float64 {
	return w.Passes(true) * w.Sparse * float64(op.shape[1])
}

// scores returns the input that holds the scores of source; those of target are the next.
func (op *attention) scores() int { return len(op.inputs) - 2 }

func (op *attention) Compute(c *plan.Call) error {
	z := c.Matrix(0)
	source := c.Matrix(op.scores())
	target := c.Matrix(op.scores() + 1)
	edges, err := plan.In(c.Run, op.slot).attend()
	if op.plain {
		edges.Weight = nil
	}
	if c.Fail(err); z.Rows != edges.Cols || source.Rows != z.Rows || target.Rows != z.Rows {
		return c.Sizes("input has %d rows and scores of %d and %d, its block %d input nodes", z.Rows, source.Rows, target.Rows, edges.Cols)
	}
	a := op.of(c)
	a.Attention = op.form
	a.Edges, a.Dropout = edges, op.dropout.in(c.Run)
	var bias plan.Floats
	if op.bias {
		bias = c.Vector(3, a.Out())
	}
	c.Scratch(&a.alpha, len(a.Idx)*a.Heads)
	to := c.OutMatrix(a.Rows(), a.Out())
	return c.On(func() error {
		on := slotOf(c.Run, op.slot).edges
		if op.plain {
			on.Weight = 0
		}
		return c.Device.Attend(&a.Attention, on, to.At, a.alpha.At, source.At, target.At, z.At, bias.At)
	}, func() {
		a.Coefficients(a.alpha.Data, source.Data, target.Data)
		a.Attend(to.Data, a.alpha.Data, z.Data, bias.Data)
	})
}

// differentiate makes the gradients of the vectors from data that the gradient of z leaves.
func (op *attention) differentiate(d *gradients, out, grad *G.Node) {
	if op.bias {
		d.add(3, &columnSums{base{name: "AttentionBackBias"}}, grad)
	}
	if d.err != nil || !slices.Contains(op.wanted[:3], true) {
		return
	}
	in, scores := op.inputs, op.inputs[op.scores():]
	var dz *G.Node
	if dz, d.err = apply(op.backward("BackZ", op.backZ), in[0].Shape(), out, in[0], in[1], in[2], grad, scores[0], scores[1]); d.err != nil {
		return
	}
	d.pass(0, dz)
	d.add(1, op.backward("BackSource", func(c *plan.Call) error { return op.backVector(c, op.of(c).ds.Floats) }), dz, in[0])
	d.add(2, op.backward("BackTarget", func(c *plan.Call) error { return op.backVector(c, op.of(c).dt.Floats) }), dz, in[0])
}

// backZ computes the gradient with respect to z. It also computes the gradients of the scores, which
// backVector reads.
func (op *attention) backZ(c *plan.Call) error {
	a := op.of(c)
	z := c.Matrix(1)
	grad := upstream(c, 4)
	s := c.Matrix(5)
	t := c.Matrix(6)
	source := c.Vector(2, z.Cols)
	target := c.Vector(3, z.Cols)
	c.Scratch(&a.dq, len(a.Idx)*a.Heads)
	c.Scratch(&a.ds, z.Rows*a.Heads)
	c.Scratch(&a.dt, z.Rows*a.Heads)
	to := c.OutLike(z)
	return c.On(func() error {
		return c.Device.AttentionGradient(&a.Attention, slotOf(c.Run, op.slot).edges, to.At, a.dq.At, a.ds.At, a.dt.At, grad.At, a.alpha.At, s.At, t.At, z.At, source.At, target.At)
	}, func() {
		a.Slopes(a.dq.Data, a.dt.Data, grad.Data, a.alpha.Data, s.Data, t.Data, z.Data)
		a.Gradient(to.Data, a.ds.Data, grad.Data, a.alpha.Data, a.dq.Data, a.dt.Data, source.Data, target.Data)
	})
}

// backVector computes the gradient of a vector from the gradient of the vector's scores.
func (op *attention) backVector(c *plan.Call, scores plan.Floats) error {
	z, a := c.Matrix(1), op.of(c)
	to := c.OutVector(z.Cols)
	return c.On(func() error {
		return c.Device.HeadSums(to.At, scores.At, z.At, z.Rows, a.Heads, a.Width)
	}, func() {
		kernel.HeadSums(to.Data, scores.Data, z.Data, z.Rows, a.Heads, a.Width)
	})
}
