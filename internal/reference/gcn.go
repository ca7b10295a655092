package reference

import (
	"math"
	"math/rand/v2"
	"slices"
)

// GCN is the parameters of the model. The paper's "2-layer GCN" has two convolutions. Layer l
// is, with equation 1 over the sampled P̃,
//
//	Z^(l+1) = P̃^(l) (H^(l) W^(l) + 1⊗b^(l)),   H^(l+1) = dropout(ELU(Z^(l+1))).
//
// The text ends there, has no bias, and takes the last Z for the scores of the classes. The
// program, and so the paper's tables, have a linear classifier after the last convolution:
// one weight more than there are blocks, without P̃.
type GCN struct {
	W []Matrix // the weight of each layer, (inputs, outputs)
	B []Matrix // the bias of each layer, a vector; nil: none, as in the text
}

// NewGCN returns a model with the first values of the paper's program, which are PyTorch's:
// uniform on ±1/√inputs. Layer l maps widths[l] columns to widths[l+1].
func NewGCN(widths []int, rng *rand.Rand) GCN {
	var m GCN
	for l, in := range widths[:len(widths)-1] {
		uniform := func(int, int) float64 { return (2*rng.Float64() - 1) / math.Sqrt(float64(in)) }
		m.W = append(m.W, NewMatrix(in, widths[l+1], uniform))
		m.B = append(m.B, NewMatrix(1, widths[l+1], uniform))
	}
	return m
}

// Parameters returns the parameters in the order of the layers: W, b, W, b, …
func (m GCN) Parameters() []Matrix {
	var all []Matrix
	for l, w := range m.W {
		all = append(all, w)
		if m.B != nil {
			all = append(all, m.B[l])
		}
	}
	return all
}

// Forward returns the input H^(l) of each layer and its output Z^(l+1). The last Z holds the
// scores of the batch's nodes. x has the features of all nodes. masks[l] multiplies the
// output of layer l: see Mask.
func (m GCN) Forward(blocks []Block, x Matrix, masks []Matrix) (h, z []Matrix) {
	h = []Matrix{x.Rows(blocks[0].Src)}
	for l, w := range m.W {
		out := h[l].Times(w)
		if m.B != nil {
			out = out.PlusRow(m.B[l])
		}
		if l < len(blocks) {
			out = blocks[l].P.Times(out)
		}
		z = append(z, out)
		if l+1 < len(m.W) {
			h = append(h, out.Each(func(i, j int) float64 { return ELU(out[i][j]) * masks[l][i][j] }))
		}
	}
	return h, z
}

// Backward returns the gradient of the loss by each parameter, from the results of Forward
// and from dz, the gradient by the last Z.
func (m GCN) Backward(blocks []Block, masks, h, z []Matrix, dz Matrix) (gradient GCN) {
	gradient = GCN{slices.Clone(m.W), slices.Clone(m.B)}
	for l := len(m.W) - 1; l >= 0; l-- {
		if l < len(z)-1 { // from H^(l+1) = dropout(ELU(Z^(l+1))) to Z^(l+1)
			dh := dz
			dz = dh.Each(func(i, j int) float64 { return dh[i][j] * masks[l][i][j] * eluSlope(z[l][i][j]) })
		}
		if l < len(blocks) {
			dz = blocks[l].P.Transposed().Times(dz)
		}
		gradient.W[l] = h[l].Transposed().Times(dz)
		if m.B != nil {
			gradient.B[l] = dz.ColumnSums()
		}
		dz = dz.Times(m.W[l].Transposed()) // the gradient by H^(l)
	}
	return gradient
}

// Step returns the loss of a mini-batch and its gradient. weights may be nil: see CrossEntropy.
func (m GCN) Step(blocks []Block, x Matrix, y []int32, weights []float64, masks []Matrix) (loss float64, gradient GCN) {
	h, z := m.Forward(blocks, x, masks)
	loss, dz := CrossEntropy(z[len(z)-1], blocks[len(blocks)-1].Dst, y, weights)
	return loss, m.Backward(blocks, masks, h, z, dz)
}

// CrossEntropy returns the loss of the batch's nodes, the formula after equation 1,
//
//	1/|V_batch| Σ ℓ(y_i, z_i),   ℓ(y, z) = −log(exp z_y / Σ_c exp z_c),
//
// and its gradient by z. y has the class of each node of the graph. weights, if not nil, has
// a factor for each node of the batch in the place of 1/|V_batch|.
func CrossEntropy(z Matrix, batch, y []int32, weights []float64) (loss float64, dz Matrix) {
	dz = make(Matrix, len(z))
	for k, scores := range z {
		weight, class := 1/float64(len(z)), y[batch[k]]
		if weights != nil {
			weight = weights[k]
		}
		dz[k] = make([]float64, len(scores))
		for c, score := range scores {
			dz[k][c] = math.Exp(score)
		}
		total := sum(dz[k])
		for c := range scores {
			dz[k][c] *= weight / total
		}
		loss -= weight * (scores[class] - math.Log(total))
		dz[k][class] -= weight
	}
	return loss, dz
}

// Mask returns a mask of dropout: an entry is 0 with probability rate, else 1/(1−rate). At
// rate 0 nothing is dropped.
func Mask(rows, cols int, rate float64, rng *rand.Rand) Matrix {
	return NewMatrix(rows, cols, func(int, int) float64 {
		if rng.Float64() < rate {
			return 0
		}
		return 1 / (1 - rate)
	})
}

// ELU is the activation of appendix A.1.
func ELU(x float64) float64 {
	if x > 0 {
		return x
	}
	return math.Exp(x) - 1
}

// eluSlope is the derivative of ELU.
func eluSlope(x float64) float64 { return math.Min(1, math.Exp(x)) }
