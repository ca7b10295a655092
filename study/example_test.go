package study_test

import (
	"context"
	"fmt"

	"github.com/gcn-layerwise/gcn/graph"
	"github.com/gcn-layerwise/gcn/samplers"
	"github.com/gcn-layerwise/gcn/study"
)

// A graph of degrees 1 to 60: two nodes are joined if their numbers sum to at most
// 60. The example compares two samplers on it.
func ExampleApproxError() {
	const n = 60
	b, err := graph.NewBuilder(n)
	if err != nil {
		panic(err)
	}
	nodes := make([]int32, n)
	hw := &graph.Features{Rows: n, Cols: 1, Data: make([]float32, n)}
	for i := range int32(n) {
		nodes[i], hw.Data[i] = i, 1
		for j := range i {
			if i+j > n {
				break
			}
			if err := b.Add(i, j); err != nil {
				panic(err)
			}
		}
	}
	adjacency, _ := b.Build()
	p := graph.NewLaplacian(adjacency)

	s := study.ApproxError{Laplacian: p, Product: hw, Nodes: nodes, Sizes: []int{30}, Batch: n, Repeats: 100, Seed: 1}
	for _, name := range []string{"ladies", "ladies-debiased"} {
		method, err := study.ContenderByName(name, p, nodes)
		if err != nil {
			panic(err)
		}
		s.Methods = append(s.Methods, method)
	}
	table, err := s.Run(context.Background())
	if err != nil {
		panic(err)
	}
	plain, debiased := table.Row("ladies", 30), table.Row("ladies-debiased", 30)
	fmt.Println("debiasing lowers the error:", debiased.Mean < plain.Mean)
	fmt.Println("and removes the bias:", plain.Bias2 > 3*plain.Bias2SEM, debiased.Bias2 < 3*debiased.Bias2SEM)
	// Output:
	// debiasing lowers the error: true
	// and removes the bias: true true
}

// The exact moments of the paper's weights on four candidates.
func ExampleEnumerate() {
	m, err := study.Enumerate([]float64{1, 2, 3, 4}, 2, samplers.WithoutReplacement{}, samplers.Debiased{})
	if err != nil {
		panic(err)
	}
	fmt.Printf("E[β] = %.3f\n", m.Mean)
	fmt.Printf("Var(β_1) = %.3f, bound %.3f\n", m.Cov[0][0], (1/0.1-1)/2)
	// Output:
	// E[β] = [1.000 1.000 1.000 1.000]
	// Var(β_1) = 3.311, bound 4.500
}

func ExampleRegression() {
	var r study.Regression
	for x, y := range []float64{1, 0, 2, 5} {
		r.Add(float64(x), y)
	}
	line := r.Line()
	fmt.Printf("y = %.1f + %.1f x, R² = %.1f\n", line.Intercept, line.Slope, line.R2)
	// Output: y = -0.1 + 1.4 x, R² = 0.7
}
