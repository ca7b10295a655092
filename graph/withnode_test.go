package graph

import (
	"math"
	"math/rand/v2"
	"testing"
)

// TestWithNodeDirected compares row 0 of P² of the local graph with row 0 of P² of the whole graph
// with the node.
func TestWithNodeDirected(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	const n = 12
	neighbors := []int32{3, 7, 8}
	build := func(withNew bool) *Laplacian {
		r := rand.New(rand.NewPCG(3, 4))
		a := &CSR{Ptr: []int64{0}}
		for i := range n {
			for j := range n {
				if i != j && r.IntN(4) == 0 {
					a.Idx = append(a.Idx, int32(j))
				}
			}
			a.Ptr = append(a.Ptr, int64(len(a.Idx)))
		}
		a.Rows = n
		if withNew {
			a.Idx = append(a.Idx, neighbors...)
			a.Ptr = append(a.Ptr, int64(len(a.Idx)))
			a.Rows++
		}
		a.Cols = a.Rows
		return NewDirectedLaplacian(a)
	}
	x := make([]float64, n+1) // of the new node last
	for i := range x {
		x[i] = rng.NormFloat64()
	}
	square := func(p *Laplacian, x []float64, row int) float64 {
		dense, m := p.Dense(), p.Nodes()
		y := make([]float64, m)
		for i := range y {
			for j := range x {
				y[i] += dense[i*m+j] * x[j]
			}
		}
		sum := 0.0
		for j := range y {
			sum += dense[row*m+j] * y[j]
		}
		return sum
	}
	local, nodes, err := build(false).WithNode(neighbors, nil, 2)
	if err != nil {
		t.Fatal(err)
	}
	of := []float64{x[n]}
	for _, v := range nodes {
		of = append(of, x[v])
	}
	got, want := square(local, of, 0), square(build(true), x, n)
	if math.Abs(got-want) > 1e-6 {
		t.Errorf("%v, want %v", got, want)
	}
}
