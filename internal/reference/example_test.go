package reference_test

import (
	"fmt"
	"math/rand/v2"

	"github.com/gcn-layerwise/gcn/internal/reference"
)

// Two groups of four nodes: all edges within a group, and one edge between the groups. The
// model learns the group of a node from noisy features.
func Example() {
	const n = 8
	a := reference.NewMatrix(n, n, func(i, j int) float64 {
		if i != j && (i/4 == j/4 || i+j == 7 && (i == 3 || j == 3)) {
			return 1
		}
		return 0
	})
	p := reference.Laplacian(a)
	fmt.Printf("row 0 of P: %.3f\n", p[0])

	rng := rand.New(rand.NewPCG(1, 1))
	rows := []int32{0, 3}
	probabilities := reference.Probabilities(p, rows, true)
	drawn := reference.Draw(probabilities, 3, rng)
	fmt.Printf("p: %.3f\n", probabilities)
	fmt.Println("drawn:", drawn)
	fmt.Printf("β: %.3f\n", reference.Debias(probabilities, drawn, reference.Candidates(probabilities)))

	group := []int32{0, 0, 0, 0, 1, 1, 1, 1}
	training := reference.Training{
		P: p, Y: group, Train: []int32{0, 1, 2, 5, 6, 7},
		X: reference.NewMatrix(n, 2, func(i, j int) float64 {
			if int(group[i]) == j {
				return 1 + rng.NormFloat64()
			}
			return rng.NormFloat64()
		}),
		Batches: 50, Batch: 5, Sizes: []int{6, 6}, Flat: true, Dropout: []float64{0.2, 0.36},
	}
	model := reference.NewGCN([]int{2, 8, 8, 2}, rng)
	adam := &reference.Adam{Rate: 0.01, Beta1: 0.9, Beta2: 0.999, Epsilon: 1e-8}
	for range 3 {
		fmt.Printf("loss of an epoch: %.2f\n", training.Epoch(model, adam, rng))
	}
	// Output:
	// row 0 of P: [0.250 0.250 0.250 0.224 0.000 0.000 0.000 0.000]
	// p: [0.223 0.223 0.223 0.199 0.133 0.000 0.000 0.000]
	// drawn: [1 4 3]
	// β: [1.582 2.182 1.798]
	// loss of an epoch: 0.52
	// loss of an epoch: 0.32
	// loss of an epoch: 0.25
}
