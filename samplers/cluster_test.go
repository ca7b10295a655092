package samplers

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/gcn-layerwise/gcn/graph"
	"pgregory.net/rapid"
)

// fourParts prepares s with four parts: node i is in part i mod 4.
func fourParts(s *Subgraph) *Subgraph {
	law := Prepared(s).law.(*clusterLaw)
	law.parts = make([][]int32, 4)
	for i := range int32(s.Laplacian.Nodes()) {
		law.parts[i%4] = append(law.parts[i%4], i)
	}
	return s
}

// TestClusterAllIsFull checks that a batch of all parts gives the same outputs as
// Full, bit by bit, for any training nodes and normalisation.
func TestClusterAllIsFull(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 60).Draw(t, "nodes")
		adjacency := randomGraph(n, rapid.IntRange(0, 200).Draw(t, "edges"), rapid.Bool().Draw(t, "weighted"), rapid.Uint64().Draw(t, "seed"))
		p := graph.NewLaplacian(adjacency)
		if rapid.Bool().Draw(t, "row-stochastic") {
			p = graph.NewRowLaplacian(adjacency)
		}
		rng := rand.New(NewSource(1, 0, 0))
		var train []int32
		if rapid.Bool().Draw(t, "some nodes train") {
			train = seedNodes(n, rapid.IntRange(1, n).Draw(t, "training nodes"), rng)
		}
		parts := rapid.IntRange(1, n).Draw(t, "parts")
		s := &Subgraph{Laplacian: p, Train: train, Depth: 3, Units: Clusters{Parts: parts, PerBatch: parts}}
		var batch, full MiniBatch
		if err := Prepared(s).Sample(context.Background(), []int32{0}, rng, &batch); err != nil {
			t.Fatal(err)
		}
		outputs := slices.Sorted(slices.Values(batch.Outputs()))
		want := slices.Sorted(slices.Values(train))
		if train == nil {
			for i := range int32(n) {
				want = append(want, i)
			}
		}
		if !slices.Equal(outputs, want) {
			t.Fatalf("outputs %v, want %v", outputs, want)
		}
		if len(batch.LossWeights) > 0 {
			t.Fatal("the loss is not the mean over the outputs")
		}
		if err := Prepared(&Full{Laplacian: p, Depth: 3}).Sample(context.Background(), batch.Outputs(), rng, &full); err != nil {
			t.Fatal(err)
		}
		for l, block := range batch.Blocks {
			if err := block.Validate(n); err != nil {
				t.Fatal(err)
			}
			exact := full.Blocks[l]
			got, want := scatter(block, n), scatter(exact, n)
			for i, r := range exact.Dst { // the batch computes these, and maybe more
				at := slices.Index(block.Dst, r)
				for j := range n {
					if got[at*n+j] != want[i*n+j] {
						t.Fatalf("layer %d: entry (%d, %d) is %v, want %v", l, r, j, got[at*n+j], want[i*n+j])
					}
				}
			}
		}
	})
}

// TestClusterBlock checks that a block is the Laplacian of the subgraph induced by
// its parts.
func TestClusterBlock(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(4, 60).Draw(t, "nodes")
		adjacency := randomGraph(n, rapid.IntRange(0, 200).Draw(t, "edges"), rapid.Bool().Draw(t, "weighted"), rapid.Uint64().Draw(t, "seed"))
		whole := graph.NewLaplacian(adjacency)
		row := rapid.Bool().Draw(t, "row-stochastic")
		if row {
			whole = graph.NewRowLaplacian(adjacency)
		}
		rng := rand.New(NewSource(rapid.Uint64().Draw(t, "stream"), 0, 0))
		train := seedNodes(n, rapid.IntRange(1, n).Draw(t, "training nodes"), rng)
		s := fourParts(&Subgraph{Laplacian: whole, Train: train, Depth: 2, Units: Clusters{PerBatch: 2}})
		var batch MiniBatch
		if err := Prepared(s).Sample(context.Background(), []int32{0}, rng, &batch); err != nil {
			t.Fatal(err)
		}
		block := batch.Blocks[0]
		nodes := slices.Sorted(slices.Values(block.Src))
		induced := induce(adjacency, nodes)
		p := graph.NewLaplacian(induced)
		if row {
			p = graph.NewRowLaplacian(induced)
		}
		for l, block := range batch.Blocks {
			if err := block.Validate(n); err != nil {
				t.Fatal(err)
			}
			got := scatter(block, n)
			for i, r := range block.Dst {
				for j := range int32(n) {
					want := float32(0)
					if column, inside := slices.BinarySearch(nodes, j); inside {
						row, _ := slices.BinarySearch(nodes, r)
						want = p.At(row, column)
					}
					if math.Abs(got[i*n+int(j)]-float64(want)) > 1e-6 {
						t.Fatalf("layer %d: entry (%d, %d) is %v, want %v", l, r, j, got[i*n+int(j)], want)
					}
				}
			}
		}
		for _, i := range batch.Outputs() {
			if !slices.Contains(train, i) {
				t.Fatalf("output %d is not a training node", i)
			}
		}
	})
}

// TestClusterBias pins the bias due to the edges dropped between parts, over all
// pairs of four parts: the mean of the batches follows from the definition, and is
// not PH.
func TestClusterBias(t *testing.T) {
	const n, parts, batches = 24, 4, 20000
	adjacency := randomGraph(n, 80, false, 2)
	p := graph.NewLaplacian(adjacency)
	s := fourParts(&Subgraph{Laplacian: p, Depth: 1, Units: Clusters{PerBatch: 2}})
	// A batch has two of four parts. Given that a node is in the batch, each of the three
	// pairs with its part is the batch with probability 1/3.
	var want, exact [n]float64
	for i := range n {
		exact[i] = p.RowSum(i)
	}
	for a := range parts {
		for b := range a {
			var nodes []int32
			for i := range int32(n) {
				if i%parts == int32(a) || i%parts == int32(b) {
					nodes = append(nodes, i)
				}
			}
			pair := graph.NewLaplacian(induce(adjacency, nodes))
			for k, i := range nodes {
				want[i] += pair.RowSum(k) / 3
			}
		}
	}
	var sum, squares, count [n]float64
	pairs := map[[2]int32]float64{}
	var batch MiniBatch
	source := NewSource(1, 0, 0)
	rng := rand.New(source)
	for b := range uint64(batches) {
		Seed(source, 3, 0, b)
		if err := Prepared(s).Sample(context.Background(), []int32{0}, rng, &batch); err != nil {
			t.Fatal(err)
		}
		block := batch.Blocks[0]
		for i, v := range block.Dst {
			x := float64(block.RowSums[i])
			sum[v] += x
			squares[v] += x * x
			count[v]++
		}
		pairs[[2]int32{min(block.Dst[0]%parts, block.Dst[len(block.Dst)-1]%parts), max(block.Dst[0]%parts, block.Dst[len(block.Dst)-1]%parts)}]++
	}
	chi2 := 0.0
	for _, c := range pairs {
		chi2 += (c - batches/6.0) * (c - batches/6.0) / (batches / 6.0)
	}
	if len(pairs) != 6 || chi2 > 25 { // 99.99th percentile with 5 degrees of freedom: 25.7
		t.Errorf("%d pairs of parts, χ² = %.1f", len(pairs), chi2)
	}
	biased := 0
	for i := range n {
		mean := sum[i] / count[i]
		se := math.Sqrt(max(squares[i]/count[i]-mean*mean, 0)/count[i]) + 1e-6
		if math.Abs(mean-want[i]) > 5*se {
			t.Errorf("node %d: mean row sum %v ± %v, want %v", i, mean, se, want[i])
		}
		if math.Abs(mean-exact[i]) > 10*se {
			biased++
		}
	}
	if biased < n/2 {
		t.Errorf("only %d of %d rows are biased", biased, n)
	}
}

// TestClusterSize checks that batches have about as many training nodes as there
// are seeds, and at least one.
func TestClusterSize(t *testing.T) {
	const n = 4000
	p := graph.NewLaplacian(randomGraph(n, 20000, false, 6))
	rng := rand.New(NewSource(1, 0, 0))
	train := seedNodes(n, 1500, rng)
	s := &Subgraph{Laplacian: p, Train: train, Depth: 2, Units: Clusters{}}
	var batch MiniBatch
	mean := 0.0
	const batches = 200
	for range batches {
		if err := Prepared(s).Sample(context.Background(), train[:300], rng, &batch); err != nil {
			t.Fatal(err)
		}
		mean += float64(len(batch.Outputs())) / batches
	}
	if mean < 250 || mean > 350 {
		t.Errorf("%.0f training nodes a batch, want about 300", mean)
	}
	lone := &Subgraph{Laplacian: p, Train: train[:1], Depth: 2, Units: Clusters{PerBatch: 1}}
	for range 20 {
		if err := Prepared(lone).Sample(context.Background(), train[:1], rng, &batch); err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(batch.Outputs(), train[:1]) {
			t.Fatalf("outputs %v, want %v", batch.Outputs(), train[:1])
		}
	}
}
