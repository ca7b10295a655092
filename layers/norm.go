package layers

import (
	"github.com/gcn-layerwise/gcn/internal/plan"
	G "gorgonia.org/gorgonia"
)

// Norm normalises a matrix and keeps its shape. LayerNorm and BatchNorm are Norms.
type Norm interface {
	// Forward maps x, of shape (n, width), to the same shape.
	Forward(x *G.Node) (*G.Node, error)

	// Parameters returns the tensors that training changes.
	Parameters() G.Nodes

	// values returns the norm as inference computes it.
	values() (*inferenceNorm, error)
}

// inferenceNorm holds the parameters of a norm.
type inferenceNorm struct {
	gain, shift []float32
	columns     bool // only scale and shift

	on struct{ gain, shift plan.Span } // the same, on the processor
}

// normValues returns the parameters of norm, or nil if there is none.
func normValues(norm Norm) (*inferenceNorm, error) {
	if norm == nil {
		return nil, nil
	}
	return norm.values()
}

// norm writes the norm of x, n×width, to dst, which may be x.
func (r *inference) norm(v *inferenceNorm, dst, x plan.Span, n, width int) error {
	if v.columns {
		return r.ScaleColumns(dst, x, v.on.gain, v.on.shift, n, width)
	}
	return r.LayerNorm(dst, x, v.on.gain, v.on.shift, n, width)
}

// normalised returns the norm of all rows of h, the input of layer l, in the memory of H·W.
func (r *inference) normalised(l int, h plan.Rows) (plan.Rows, error) {
	out, err := r.Scratch(plan.Transformed, h.Count*h.Width)
	if err != nil {
		return h, err
	}
	shares := r.even(h.Count, h.Width)
	err = r.chunks(shares, h.Width, nil, func(part *inference, lo, n int) error {
		x, err := part.Part(h, lo, n)
		if err != nil {
			return err
		}
		return part.norm(r.model.layers[l].pre, out.From(lo*h.Width), x, n, h.Width)
	})
	if err == nil {
		err = r.gather(out.Host(), h.Width, shares)
	}
	return plan.Rows{Span: out, Width: h.Width, Count: h.Count, Index: h.Index}, err
}
