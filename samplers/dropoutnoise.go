package samplers

import (
	"math"

	"github.com/gcn-layerwise/gcn/graph"
)

// scaleNoise sets block's NoiseScale to β^(−1/2) for the weights β of the nodes drawn, or
// leaves it empty.
//
// Let Hᵐ be H after dropout, with E[Hᵐ] = H, and P̃ = P diag(β). The estimate of PHᵐ is
//
//	P̃(H + diag(β^(−1/2))(Hᵐ − H)) = P̃H + P diag(√β)(Hᵐ − H).
//
// The last term has mean 0 for every draw. The covariance of its rows i and k, over the masks
// and the draws, is Σ_j P_ij P_kj E[β_j] Var(Hᵐ_j), and E[β_j] = 1.
func (s *LayerWise) scaleNoise(block *graph.Block, weights []float64) {
	if !s.FullDropoutNoise {
		return
	}
	scales := resize(&block.NoiseScale, len(weights))
	for k, w := range weights {
		scales[k] = float32(1 / math.Sqrt(w))
	}
}
