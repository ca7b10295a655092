package samplers

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/gcn-layerwise/gcn/graph"
	"github.com/gcn-layerwise/gcn/internal/kernel"
	"github.com/gcn-layerwise/gcn/internal/parallel"
)

// ASGCN is adaptive layer-wise sampling (Huang, Zhang, Rong & Huang 2018,
// arXiv:1809.05343). A layer draws s times with replacement, node i with probability
//
//	q_i ∝ ‖QP^[i]‖·g(x_i),   g(x) = |x·w| + 1,
//
// where Q selects the rows of the layer above and x_i are the features of node i. The
// weights are (times drawn)/(s q_i), so the estimate is unbiased for every w. Training
// learns w by minimising the variance of the estimate of the top layer: see Gradient.
//
// The paper has q_i ∝ Σ_k P_ki |x_i·w|. The root of the sum of squares, as in the program
// released with the paper, gives the least sum of the rows' variances. The 1, also from
// there, keeps every probability positive. Not here: the paper's attention and skip
// connections, which change the model.
//
// Cost of a layer: as for LayerWise. Memory: 8 bytes a node, and 8 a node for
// each concurrent call.
type ASGCN struct {
	Laplacian *graph.Laplacian // required
	Features  *graph.Features  // nil means that g is 1: nothing is learned
	Sizes     []int            // draws per layer, the layer next to the output first; required
	W         []float32        // w, Features.Cols values; nil means 0

	sampler LayerWise // with the probabilities of W
	scores  []float32 // x·w of every node
}

// Layers returns the number of layers, len(Sizes).
func (s *ASGCN) Layers() int { return len(s.Sizes) }

// NominalSizes returns the sizes of LayerWise.
func (s *ASGCN) NominalSizes() []int { return (&LayerWise{Sizes: s.Sizes}).NominalSizes() }

// Prepare checks the fields, and computes x·w for all nodes.
func (s *ASGCN) Prepare() error {
	return s.sampler.prepare(&s.sampler, s.Laplacian, len(s.Sizes), s.Sizes, s.setUp)
}

func (s *ASGCN) setUp() error {
	x, n, importance := s.Features, s.Laplacian.Nodes(), LADIES{Flat: true}
	switch {
	case x != nil && (x.Rows != n || x.Share != nil || !x.Sized()):
		return fmt.Errorf("samplers: ASGCN: %d×%d features with %d values for %d nodes", x.Rows, x.Cols, x.Len(), n)
	case s.W != nil && len(s.W) != s.Parameters():
		return fmt.Errorf("samplers: ASGCN: w of %d values for %d features", len(s.W), s.Parameters())
	case !kernel.Finite(s.W):
		return errors.New("samplers: ASGCN: w is not finite")
	}
	if s.scores = make([]float32, n); len(s.W) > 0 {
		importance.RowNorms = make([]float32, n)
		s.setScores(importance.RowNorms)
	}
	l := &s.sampler
	l.Laplacian, l.Sizes, l.Importance, l.Draw = s.Laplacian, s.Sizes, importance, WithReplacement{}
	return l.setUp()
}

// setScores sets scores to x·w, and g to |x·w| + 1.
func (s *ASGCN) setScores(g []float32) {
	x := s.Features
	const grain = 1024
	parallel.For(x.Rows, grain, func(lo, hi int) {
		for i := lo; i < hi; i++ {
			var sums [4]float64 // for instruction-level parallelism; the first has the rest too
			row := x.Row(i)
			for k, v := range row {
				lane := k % 4
				if k >= len(row)&^3 {
					lane = 0
				}
				sums[lane] += float64(v) * float64(s.W[k])
			}
			score := float32((sums[0] + sums[1]) + (sums[2] + sums[3]))
			s.scores[i], g[i] = score, float32(math.Abs(float64(score)))+1
		}
	})
}

// Sample implements Sampler.
func (s *ASGCN) Sample(ctx context.Context, seeds []int32, rng *rand.Rand, batch *MiniBatch) error {
	return s.sampler.Sample(ctx, seeds, rng, batch)
}

// Parameters returns the number of values in w.
func (s *ASGCN) Parameters() int {
	if s.Features == nil {
		return 0
	}
	return s.Features.Cols
}

// With returns a sampler that differs only in w. It keeps a copy of w. Cost: one pass
// over the features.
func (s *ASGCN) With(w []float32) (Sampler, error) {
	other := &ASGCN{Laplacian: s.Laplacian, Features: s.Features, Sizes: s.Sizes, W: slices.Clone(w)}
	return other, other.Prepare()
}

// Gradient sets grad to an unbiased estimate of ∂V/∂w. V is the mean variance of the rows of
// the estimate P̃H of the top layer:
//
//	V = 1/(s·rows)·(Σ_i ‖QP^[i]‖²‖H_[i]‖²/q_i − ‖QPH‖²),
//
// the regularising term of the paper's loss. block is the top block of a batch of this
// sampler, and squares holds ‖H_[i]‖² of its input nodes. With the weights β of the draw,
//
//	∂V/∂w ≈ −1/(s·rows)·Σ_i β_i ‖QP^[i]‖²‖H_[i]‖²/q_i · ∂log q_i/∂w
//
// over the nodes drawn. Where x·w is 0, |x·w| counts as increasing. s is prepared. Calls may run
// concurrently. Cost: O(nonzeros of the rows + candidates·features).
func (s *ASGCN) Gradient(block *graph.Block, squares, grad []float32) error {
	if len(grad) == 0 || len(grad) != s.Parameters() || len(squares) != len(block.Src) || len(block.Dst) == 0 {
		return fmt.Errorf("samplers: ASGCN: a gradient of %d values for %d parameters, from %d norms for %d nodes", len(grad), s.Parameters(), len(squares), len(block.Src))
	}
	h := s.sampler.workspace()
	defer s.sampler.pool.Put(h)
	h.walk(s.Laplacian, block.Dst)
	norms, g := h.columnNorms2(), func(node int32) float64 { return math.Abs(float64(s.scores[node])) + 1 }
	var total float64 // q_i = norm_i g_i/total, norm_i = ‖QP^[i]‖
	for c, node := range h.nodes {
		norms[c] = math.Sqrt(norms[c]) * float64(h.scales[c])
		total += norms[c] * g(node)
	}
	// ∂log q_i/∂w = ±x_i/g_i − Σ_c norm_c/total·(±x_c) with the signs of x·w.
	factors := resize(&h.factors, len(h.nodes)) // of the nodes' features
	clear(factors)
	scale := 1 / (float64(min(s.Sizes[0], len(h.nodes))) * float64(len(block.Dst)))
	var sum float64
	for k, node := range block.Src {
		c := h.number(node)
		var column float64 // ‖P̃^[k]‖² = β²‖QP^[i]‖²
		for _, v := range block.Transposed.RowValues(k) {
			column += float64(v) * float64(v)
		}
		each := scale * math.Sqrt(column) * float64(squares[k]) * total / g(node)
		factors[c] = float32(-each / g(node))
		sum += each
	}
	for c, node := range h.nodes {
		factors[c] += float32(sum * norms[c] / total)
		if s.scores[node] < 0 {
			factors[c] = -factors[c]
		}
	}
	combine(grad, s.Features, h.nodes, factors)
	return nil
}

// combine sets sum to the sum of the rows of x of nodes, times their factors.
func combine(sum []float32, x *graph.Features, nodes []int32, factors []float32) {
	row := graph.CSR{
		Rows: 1,
		Cols: x.Rows,
		Ptr:  []int64{0, int64(len(nodes))},
		Idx:  nodes,
		Val:  factors,
	}
	switch {
	case x.Half != nil:
		clear(sum)
		for c, node := range nodes {
			for k, v := range x.Row(int(node)) {
				sum[k] += factors[c] * v
			}
		}
	case x.Sparse != nil:
		kernel.SpMMSparse(sum, &row, nil, x.Sparse)
	default:
		kernel.SpMM(sum, &row, x.Data, x.Cols)
	}
}
