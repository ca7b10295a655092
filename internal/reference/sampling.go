package reference

import (
	"math"
	"math/rand/v2"
	"slices"
)

// Probabilities returns the sampling probabilities p of all n nodes for a layer with the
// rows q: the LADIES probabilities of equation 2,
//
//	p_i ∝ ‖QP^[i]‖²,
//
// or, if flat, the paper's own of equation 7,
//
//	p_i ∝ ‖QP^[i]‖.
//
// Equation 2 prints a sum over the neighbours of the layer's nodes. The sum here is over the
// nodes themselves, as in the text after equation 5 and in the paper's program.
func Probabilities(p Matrix, q []int32, flat bool) []float64 {
	probabilities := make([]float64, len(p))
	for i := range p {
		for _, row := range q {
			probabilities[i] += p[row][i] * p[row][i]
		}
		if flat {
			probabilities[i] = math.Sqrt(probabilities[i])
		}
	}
	total := sum(probabilities)
	for i := range probabilities {
		probabilities[i] /= total
	}
	return probabilities
}

// Candidates returns m, the number of nodes with p_i > 0.
func Candidates(p []float64) int {
	m := 0
	for _, pi := range p {
		if pi > 0 {
			m++
		}
	}
	return m
}

// Draw is weighted random sampling without replacement (section 5.1): it draws s ≤ m nodes
// one after another. With S_k the k nodes drawn before, draw k+1 picks i of V − S_k with
// probability
//
//	p_i^(k) = p_i / Σ_{j∈V−S_k} p_j.
func Draw(p []float64, s int, rng *rand.Rand) []int32 {
	rest := slices.Clone(p) // p_i on V − S_k, and 0 on S_k
	drawn := make([]int32, s)
	for k := range drawn {
		point := rng.Float64() * sum(rest)
		for i, pi := range rest {
			if pi > 0 && point >= 0 {
				drawn[k] = int32(i)
				point -= pi
			}
		}
		rest[drawn[k]] = 0
	}
	return drawn
}

// OrderProbability returns the probability that Draw draws these nodes in this order: the
// product of p_i^(k). The p_i need not sum to 1.
func OrderProbability(p []float64, drawn []int32) float64 {
	rest := slices.Clone(p)
	probability := 1.0
	for _, i := range drawn {
		probability *= rest[i] / sum(rest)
		rest[i] = 0
	}
	return probability
}

// Debias is Algorithm 1, line by line: the coefficients β of the drawn nodes, which make
// Y_s = Σ β_k X_{I_k} an unbiased estimate of Σ X_i. It averages the estimators Π_{k+1} of
// equation 10: Y_{k+1} = (1−α_{k+1}) Y_k + α_{k+1} Π_{k+1}.
//
// Any n ≥ m is unbiased. The paper's program takes all nodes of the graph. This library takes
// n = m, and the estimate is then exact at s = m.
func Debias(p []float64, drawn []int32, n int) []float64 {
	beta := make([]float64, len(drawn))
	pS := 0.0 // sum of the probabilities drawn
	for k, i := range drawn {
		alpha := float64(n) / (float64(n-k) * float64(k+1))
		beta[k] = alpha * (1 - pS) / p[i]
		for j := range k {
			beta[j] = (1-alpha)*beta[j] + alpha
		}
		pS += p[i]
	}
	return beta
}

// Naive returns the coefficients 1/(s p_i) of equations 3 and 8, which FastGCN and LADIES
// use. They are biased for draws without replacement (section 5.2).
func Naive(p []float64, drawn []int32) []float64 {
	beta := make([]float64, len(drawn))
	for k, i := range drawn {
		beta[k] = 1 / (float64(len(drawn)) * p[i])
	}
	return beta
}

// Block is P̃ of a layer: row k belongs to node Dst[k], column k to node Src[k].
type Block struct {
	Dst, Src []int32
	P        Matrix
}

// NewBlock returns the block P̃ = QPS of equation 3, without the columns that are 0: Q selects
// the rows dst, and S has beta at the drawn nodes src.
func NewBlock(p Matrix, dst, src []int32, beta []float64) Block {
	return Block{dst, src, NewMatrix(len(dst), len(src), func(i, k int) float64 {
		return p[dst[i]][src[k]] * beta[k]
	})}
}

// Sample returns the blocks of a mini-batch, input layer first. Layer l draws sizes[l] nodes,
// or all candidates if there are fewer. The rows of the uppermost layer are the nodes of the
// batch, and the rows of every other layer are the nodes drawn above it: V^(l−1) = S^(l).
func Sample(p Matrix, batch []int32, sizes []int, flat bool, rng *rand.Rand) []Block {
	blocks := make([]Block, len(sizes))
	rows := batch
	for l := len(sizes) - 1; l >= 0; l-- {
		probabilities := Probabilities(p, rows, flat)
		m := Candidates(probabilities)
		drawn := Draw(probabilities, min(sizes[l], m), rng)
		blocks[l] = NewBlock(p, rows, drawn, Debias(probabilities, drawn, m))
		rows = drawn
	}
	return blocks
}
