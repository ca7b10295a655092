package samplers

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/gcn-layerwise/gcn/graph"
	"github.com/gcn-layerwise/gcn/internal/reference"
)

// normalizedReference is the batch of the nodes drawn, from dense matrices and the
// definition.
type normalizedReference struct {
	inclusion map[int32]float64 // of each training node
	p         reference.Matrix  // of the graph of the training nodes
	number    map[int32]int     // of each training node
}

func newNormalizedReference(adjacency *graph.CSR, train []int32, budget int) *normalizedReference {
	r := &normalizedReference{inclusion: map[int32]float64{}, number: map[int32]int{}}
	all := make([]int32, len(train))
	for k, v := range train {
		r.number[v], all[k] = k, int32(k)
	}
	a := reference.NewMatrix(len(train), len(train), func(int, int) float64 { return 0 })
	for k, v := range train {
		for c, u := range adjacency.Row(int(v)) {
			if j, is := r.number[u]; is {
				a[k][j] = 1
				if values := adjacency.RowValues(int(v)); values != nil {
					a[k][j] = float64(values[c])
				}
			}
		}
	}
	r.p = reference.Laplacian(a)
	for k, p := range reference.Probabilities(r.p, all, false) {
		r.inclusion[train[k]] = min(1, float64(budget)*p)
	}
	return r
}

// entry returns P̃_vu for the set S.
func (r *normalizedReference) entry(set []int32, v, u int32) float64 {
	sum, row := 0.0, r.p[r.number[v]]
	for _, w := range set {
		sum += row[r.number[w]] / r.inclusion[w]
	}
	return row[r.number[u]] / r.inclusion[u] / max(1, sum)
}

// TestIndependentNodes compares 300 batches, entry by entry, with the definition on
// dense matrices, for graphs with and without weights.
func TestIndependentNodes(t *testing.T) {
	const nodes, budget, layers = 60, 12, 2
	for _, weighted := range []bool{false, true} {
		adjacency := randomGraph(nodes, 240, weighted, 3)
		rng := rand.New(NewSource(4, 0, 0))
		train := seedNodes(nodes, 40, rng)
		exact := newNormalizedReference(adjacency, train, budget)
		s := &Subgraph{Laplacian: graph.NewLaplacian(adjacency), Train: train, Depth: layers, Units: IndependentNodes{}}
		var batch MiniBatch
		scaled, kept := 0, 0
		for range 300 {
			if err := Prepared(s).Sample(context.Background(), train[:budget], rng, &batch); err != nil {
				t.Fatal(err)
			}
			block := batch.Blocks[0]
			if len(batch.Blocks) != layers || batch.Blocks[1] != block || !slices.Equal(block.Src, block.Dst) {
				t.Fatal("the layers do not share one square block")
			}
			if err := block.Validate(nodes); err != nil {
				t.Fatal(err)
			}
			entries := scatter(block, nodes)
			for i, v := range block.Dst {
				if want := 1 / (exact.inclusion[v] * float64(len(train))); math.Abs(float64(batch.LossWeights[i])-want) > 1e-5*want {
					t.Fatalf("loss weight %v of node %d, want %v", batch.LossWeights[i], v, want)
				}
				sum := 0.0
				for _, u := range block.Src {
					want := exact.entry(block.Src, v, u)
					if got := entries[i*nodes+int(u)]; math.Abs(got-want) > 1e-5 {
						t.Fatalf("entry (%d, %d) is %v, want %v", v, u, got, want)
					}
					sum += want
				}
				if sum > 1-1e-9 {
					scaled++
				} else {
					kept++
				}
			}
		}
		if scaled == 0 || kept == 0 {
			t.Errorf("%d rows were scaled and %d kept: the test needs both", scaled, kept)
		}
	}
}

// TestIndependentNodesDraws counts, in 20,000 batches, how often each node and each of
// some pairs is in S: π_v and π_v·π_u, to 4 standard errors with Bonferroni's
// correction. The weights of the loss, which are 1/(π n), have mean 1 in sum.
func TestIndependentNodesDraws(t *testing.T) {
	const nodes, budget, batches = 40, 15, 20000
	adjacency := randomGraph(nodes, 120, false, 5)
	train := seedNodes(nodes, 30, rand.New(NewSource(1, 0, 0)))
	exact := newNormalizedReference(adjacency, train, budget)
	s := &Subgraph{Laplacian: graph.NewLaplacian(adjacency), Train: train, Depth: 1, Units: IndependentNodes{}}
	count := map[[2]int32]float64{}
	rng := rand.New(NewSource(2, 0, 0))
	var batch MiniBatch
	loss := 0.0
	for range batches {
		if err := Prepared(s).Sample(context.Background(), train[:budget], rng, &batch); err != nil {
			t.Fatal(err)
		}
		drawn := batch.Outputs()
		for k, v := range drawn {
			loss += float64(batch.LossWeights[k]) / batches
			for _, u := range drawn[k:] {
				count[[2]int32{min(u, v), max(u, v)}]++
			}
		}
	}
	pairs := len(train) * (len(train) + 1) / 2
	bound := math.Sqrt2 * math.Erfcinv(math.Erfc(4/math.Sqrt2)/float64(pairs))
	for k, v := range train {
		for _, u := range train[k:] {
			want := exact.inclusion[v]
			if u != v {
				want *= exact.inclusion[u]
			}
			got := count[[2]int32{min(u, v), max(u, v)}] / batches
			if math.Abs(got-want) > bound*math.Sqrt(want*(1-want)/batches)+1e-12 {
				t.Errorf("nodes %d and %d are in %.4f of the batches, want %.4f", v, u, got, want)
			}
		}
	}
	if math.Abs(loss-1) > 0.02 {
		t.Errorf("the weights of the loss sum to %.3f on average, want 1", loss)
	}
}

// TestIndependentNodesBias pins the bias: rows of P whose sum is above 1 lose the
// difference.
func TestIndependentNodesBias(t *testing.T) {
	p := graph.NewLaplacian(smallGraph(t))
	s := &Subgraph{Laplacian: p, Depth: 1, Units: IndependentNodes{}}
	var batch MiniBatch
	// With as many seeds as nodes, and π near 1, S is the whole graph or almost.
	if err := Prepared(s).Sample(context.Background(), []int32{0, 1, 2, 3, 4, 5}, rand.New(NewSource(1, 0, 0)), &batch); err != nil {
		t.Fatal(err)
	}
	above := 0
	for v := range p.Nodes() {
		if p.RowSum(v) > 1 {
			above++
		}
	}
	for i := range batch.Outputs() {
		if sum := batch.Blocks[0].RowSums[i]; sum > 1+1e-6 {
			t.Errorf("row %d sums to %v", i, sum)
		}
	}
	if above == 0 {
		t.Error("no row of P sums to more than 1: the test shows nothing")
	}
}
