package samplers

// SumAndSample is the stochastic sum-and-sample estimator of weighted random
// sampling, Π_s of Chen et al. (2023) (Des Raj 1956; Liang, Norouzi, Berant, Le &
// Lao 2018; Liu, Regier, Tripuraneni, Jordan & McAuliffe 2019): the candidates of
// the first s−1 draws count once, and the last draw stands for all others,
//
//	β_j = 1 for j < s,   β_s = R_s/w_s,
//
// with R_s the weight not drawn before draw s. Unbiased. All of its variance comes
// from the last draw; it is large unless the first s−1 candidates hold most of the
// sum. Debiased averages Π_1 … Π_s. Exact at s = m. Cost: O(s).
type SumAndSample struct{}

// Check implements Weight.
func (SumAndSample) Check(draw Draw) error { return checkOrdered("sum-and-sample", draw) }

// Weigh implements Weight.
func (SumAndSample) Weigh(_ *Population, sample *Sample, beta []float64) {
	fill(beta, 1)
	last := len(beta) - 1
	beta[last] = sample.Remaining[last] / sample.Weight[last]
}
