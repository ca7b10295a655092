package reference

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/stat/distuv"
)

// eachOrder calls f with every ordered choice of s of n nodes.
func eachOrder(n, s int, f func(order []int32)) {
	var extend func(order []int32)
	extend = func(order []int32) {
		if len(order) == s {
			f(order)
			return
		}
		for i := range int32(n) {
			if !slices.Contains(order, i) {
				extend(append(slices.Clone(order), i))
			}
		}
	}
	extend(nil)
}

// The draw has the law of section 5.1: Pearson's χ² over all orders, at level 1e-4.
func TestDrawLaw(t *testing.T) {
	p := []float64{0.1, 0.4, 0, 0.2, 0.3}
	const draws = 40000
	for s := 1; s <= Candidates(p); s++ {
		rng := rand.New(rand.NewPCG(1, uint64(s)))
		counts := map[[4]int32]float64{}
		for range draws {
			counts[[4]int32(append(Draw(p, s, rng), 0, 0, 0))]++
		}
		chi2, cells, total := 0.0, 0.0, 0.0
		eachOrder(len(p), s, func(order []int32) {
			probability := OrderProbability(p, order)
			total += probability
			observed, expected := counts[[4]int32(append(slices.Clone(order), 0, 0, 0))], draws*probability
			if expected > 0 {
				chi2 += (observed - expected) * (observed - expected) / expected
				cells++
			} else if observed > 0 {
				t.Fatalf("drew %v, which has probability 0", order)
			}
		})
		if math.Abs(total-1) > 1e-12 {
			t.Errorf("s = %d: the probabilities sum to %v", s, total)
		}
		if limit := (distuv.ChiSquared{K: cells - 1}).Quantile(1 - 1e-4); chi2 > limit {
			t.Errorf("s = %d: χ² = %.1f over %v cells, above %.1f", s, chi2, cells, limit)
		}
	}
}

// Over all orders, Algorithm 1's coefficients have the mean 1 for any n ≥ m, and those of
// equation 8 do not.
func TestDebiasIsUnbiased(t *testing.T) {
	p := []float64{0.1, 0.4, 0, 0.2, 0.3}
	for _, c := range []struct {
		name string
		beta func(drawn []int32) []float64
		bias bool
	}{
		{"n = m", func(drawn []int32) []float64 { return Debias(p, drawn, 4) }, false},
		{"n = 9", func(drawn []int32) []float64 { return Debias(p, drawn, 9) }, false},
		{"naive", func(drawn []int32) []float64 { return Naive(p, drawn) }, true},
	} {
		for s := 2; s <= 3; s++ {
			mean := make([]float64, len(p))
			eachOrder(len(p), s, func(order []int32) {
				if probability := OrderProbability(p, order); probability > 0 {
					for k, beta := range c.beta(order) {
						mean[order[k]] += probability * beta
					}
				}
			})
			for i, pi := range p {
				if pi > 0 && math.Abs(mean[i]-1) > 1e-12 != c.bias {
					t.Errorf("%s, s = %d: E[β_%d] = %v", c.name, s, i, mean[i])
				}
			}
		}
	}
}

// Every gradient agrees with the central difference of the loss, for the program's model and
// for the text's.
func TestGradient(t *testing.T) {
	const n = 12
	rng := rand.New(rand.NewPCG(1, 2))
	a := NewMatrix(n, n, func(i, j int) float64 {
		if (i-j)*(i-j) == 1 || i+j == n-1 && i != j {
			return 1
		}
		return 0
	})
	x := NewMatrix(n, 3, func(int, int) float64 { return rng.NormFloat64() })
	y := []int32{0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3}
	blocks := Sample(Laplacian(a), []int32{2, 7, 5}, []int{6, 4}, true, rng)
	masks := []Matrix{Mask(len(blocks[0].Dst), 5, 0.3, rng), Mask(3, 5, 0.3, rng)}
	program, text := NewGCN([]int{3, 5, 5, 4}, rng), NewGCN([]int{3, 5, 4}, rng)
	text.B = nil
	for _, model := range []GCN{program, text} {
		for _, weights := range [][]float64{nil, {0.5, 2, 0.1}} {
			loss := func() float64 {
				loss, _ := model.Step(blocks, x, y, weights, masks)
				return loss
			}
			_, gradient := model.Step(blocks, x, y, weights, masks)
			for k, p := range model.Parameters() {
				for i := range p {
					for j, was := range p[i] {
						const h = 1e-5
						p[i][j] = was + h
						up := loss()
						p[i][j] = was - h
						down := loss()
						p[i][j] = was
						if got, want := gradient.Parameters()[k][i][j], (up-down)/(2*h); math.Abs(got-want) > 1e-8 {
							t.Errorf("gradient of parameter %d at (%d, %d) is %v, the central difference %v", k, i, j, got, want)
						}
					}
				}
			}
		}
	}
}
