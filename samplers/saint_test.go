package samplers

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/gcn-layerwise/gcn/graph"
)

// smallGraph has a triangle, a path and an isolated node.
func smallGraph(t *testing.T) *graph.CSR {
	b, err := graph.NewBuilder(6)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range [][2]int32{{0, 1}, {1, 2}, {0, 2}, {2, 3}, {3, 4}} {
		if err := b.Add(e[0], e[1]); err != nil {
			t.Fatal(err)
		}
	}
	adjacency, _ := b.Build()
	return adjacency
}

// outcome is a possible unit: the set of its nodes, as bits.
type outcome struct {
	nodes       uint
	probability float64
}

// enumerateUnits returns all outcomes of one unit, from the definitions in the
// paper.
func enumerateUnits(units Units, p *graph.Laplacian) []outcome {
	adjacency := p.Adjacency
	n := adjacency.Rows
	byNodes := make([]float64, 1<<n)
	switch u := units.(type) {
	case RandomNodes:
		norms := p.ColumnNorms2()
		total := 0.0
		for _, w := range norms {
			total += w
		}
		for v, w := range norms {
			byNodes[1<<v] += w / total
		}
	case RandomWalks:
		if u.Length > 1 {
			enumerateWalks(u.Length, adjacency, byNodes)
			break
		}
		// ∝ 1/d_u + 1/d_v, which sums to the number of nodes that have
		// neighbours; an isolated node counts as one of n.
		for v := range n {
			if adjacency.Degree(v) == 0 {
				byNodes[1<<v] += 1 / float64(n)
			}
			for _, u := range adjacency.Row(v) {
				if int(u) > v {
					byNodes[1<<v|1<<u] += (1/float64(adjacency.Degree(v)) + 1/float64(adjacency.Degree(int(u)))) / float64(n)
				}
			}
		}
	}
	var all []outcome
	for nodes, probability := range byNodes {
		if probability > 0 {
			all = append(all, outcome{uint(nodes), probability})
		}
	}
	return all
}

// enumerateWalks adds the probabilities of the sets of nodes of walks.
func enumerateWalks(length int, adjacency *graph.CSR, byNodes []float64) {
	var step func(v, left int, nodes uint, probability float64)
	step = func(v, left int, nodes uint, probability float64) {
		row := adjacency.Row(v)
		if left == 0 || len(row) == 0 {
			byNodes[nodes] += probability
			return
		}
		for _, w := range row {
			step(int(w), left-1, nodes|1<<w, probability/float64(len(row)))
		}
	}
	for v := range adjacency.Rows {
		step(v, length, 1<<v, 1/float64(adjacency.Rows))
	}
}

// subgraphLaw returns the probability of each set of nodes after r units.
func subgraphLaw(units []outcome, n, r int) []float64 {
	law := make([]float64, 1<<n)
	law[0] = 1
	for range r {
		next := make([]float64, len(law))
		for nodes, probability := range law {
			if probability == 0 {
				continue
			}
			for _, u := range units {
				next[uint(nodes)|u.nodes] += probability * u.probability
			}
		}
		law = next
	}
	return law
}

// TestSAINTExact checks, over all subgraphs of r units, that given v in the subgraph
// the expectation of its row of P̃ is its row of P, and that the expected weight of
// its loss is 1/n. Nodes, edges and walks of one step are exact; for walks of two
// and three steps the tolerance is the error of the walks drawn beforehand.
func TestSAINTExact(t *testing.T) {
	const n = 6
	for _, weighted := range []bool{false, true} {
		adjacency := smallGraph(t)
		if weighted {
			adjacency.Val = make([]float32, len(adjacency.Idx))
			for v := range n {
				for c, u := range adjacency.Row(v) {
					adjacency.Val[adjacency.Ptr[v]+int64(c)] = 1 + float32(v+int(u))/4
				}
			}
		}
		p := graph.NewLaplacian(adjacency)
		dense := p.Dense()
		for _, c := range []struct {
			units     Units
			tolerance float64
		}{
			{RandomNodes{}, 1e-6},
			{RandomWalks{Length: 1}, 1e-6},
			{RandomWalks{Length: 2, Presampled: 2_000_000}, 5e-3},
			{RandomWalks{Length: 3, Presampled: 2_000_000}, 5e-3},
		} {
			s := &Subgraph{Laplacian: p, Depth: 1, Units: c.units}
			if err := s.Prepare(); err != nil {
				t.Fatal(err)
			}
			for _, r := range []int{1, 2, 5} {
				law := subgraphLaw(enumerateUnits(c.units, p), n, r)
				var present [n]float64
				var mean [n * n]float64
				var loss [n]float64
				for nodes, probability := range law {
					if probability == 0 {
						continue
					}
					block, weights := s.fillSet(uint(nodes), r)
					if err := block.Validate(n); err != nil {
						t.Fatal(err)
					}
					entries := scatter(block, n)
					for i, v := range block.Dst {
						present[v] += probability
						loss[v] += probability * float64(weights[i])
						for u := range n {
							mean[int(v)*n+u] += probability * entries[i*n+u]
						}
					}
				}
				for v := range n {
					if math.Abs(loss[v]*n-1) > c.tolerance {
						t.Errorf("%+v, r=%d: expected weight of node %d's loss is %v/n, want 1/n", c.units, r, v, loss[v]*n)
					}
					for u := range n {
						got, want := mean[v*n+u]/present[v], dense[v*n+u]
						if impossible(c.units, r, v, u) {
							want = 0
						}
						if math.Abs(got-want) > c.tolerance {
							t.Errorf("%+v, r=%d: E[P̃_%d%d | %d] = %v, want %v", c.units, r, v, u, v, got, want)
						}
					}
				}
			}
		}
	}
}

// impossible reports whether no subgraph has both ends of an edge, as with one unit
// of one node.
func impossible(units Units, r, v, u int) bool {
	_, nodes := units.(RandomNodes)
	return nodes && r == 1 && v != u
}

// fillSet returns the block and weights of the subgraph of a set of nodes.
func (s *Subgraph) fillSet(nodes uint, units int) (*graph.Block, []float32) {
	var scratch workspace
	scratch.begin(s.laplacian, nil)
	for v := range int32(s.laplacian.Nodes()) {
		if nodes>>v&1 == 1 {
			scratch.numberOrAdd(v)
		}
	}
	block := new(graph.Block)
	s.fill(&scratch, block)
	weights := s.law.weigh(&scratch, units*s.law.(*unitLaw).size, block, nil)
	block.Finish()
	return block, weights
}

// TestSAINTUnbiased draws 20,000 subgraphs of a training graph. For some nodes v it
// compares the mean of 1{v ∈ S}·(P̃H)_v/P(v ∈ S) with full propagation over the
// training graph, and the mean of the loss with the loss over all training nodes,
// to 4 standard errors with Bonferroni's correction.
func TestSAINTUnbiased(t *testing.T) {
	if testing.Short() || RaceDetector {
		t.Skip("20,000 batches a method; the contract runs concurrently under the race detector")
	}
	const nodes, batches, rows = 600, 20000, 40
	p := graph.NewLaplacian(randomGraph(nodes, 3000, false, 8))
	rng := rand.New(NewSource(6, 0, 0))
	train := seedNodes(nodes, 400, rng)
	seeds := train[:60]
	h, loss := make([]float64, nodes), make([]float64, nodes)
	for i := range h {
		h[i], loss[i] = 1+rng.NormFloat64(), rng.ExpFloat64()
	}
	for _, c := range []struct {
		name  string
		units Units
	}{
		{"node", RandomNodes{}},
		{"edge", RandomWalks{Length: 1}},
		{"walk", RandomWalks{Presampled: 5_000_000}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := &Subgraph{Laplacian: p, Train: train, Depth: 2, Units: c.units}
			if err := s.Prepare(); err != nil {
				t.Fatal(err)
			}
			full := s.laplacian // of the training graph
			var want []float64
			for v := range rows {
				sum := 0.0
				for u := range full.Nodes() {
					sum += float64(full.At(v, u)) * h[s.nodes[u]]
				}
				want = append(want, sum)
			}
			meanLoss := 0.0
			for _, i := range train {
				meanLoss += loss[i] / float64(len(train))
			}
			want = append(want, meanLoss)

			sum, squares := make([]float64, rows+1), make([]float64, rows+1)
			row := make([]int, nodes)
			for i := range row {
				row[i] = -1
			}
			for v := range rows {
				row[s.nodes[v]] = v
			}
			source := NewSource(1, 0, 0)
			stream := rand.New(source)
			var batch MiniBatch
			for b := range uint64(batches) {
				Seed(source, 31, 0, b)
				if err := Prepared(s).Sample(context.Background(), seeds, stream, &batch); err != nil {
					t.Fatal(err)
				}
				block := batch.Blocks[1]
				total := 0.0
				for i, node := range block.Dst {
					w := float64(batch.LossWeights[i])
					total += w * loss[node]
					v := row[node]
					if v < 0 {
						continue
					}
					x := 0.0
					for k, j := range block.Matrix.Row(i) {
						x += float64(block.Matrix.RowValues(i)[k]) * h[block.Src[j]]
					}
					x *= w * float64(len(train)) // 1/P(v ∈ S)
					sum[v] += x
					squares[v] += x * x
				}
				sum[rows] += total
				squares[rows] += total * total
			}
			bound := math.Sqrt2 * math.Erfcinv(math.Erfc(4/math.Sqrt2)/float64(len(want)))
			worst := 0.0
			for e := range want {
				mean := sum[e] / batches
				se := math.Sqrt((squares[e]/batches - mean*mean) / batches)
				worst = max(worst, math.Abs(mean-want[e])/se)
				if math.Abs(mean-want[e]) > bound*se {
					t.Errorf("entry %d: mean %v ± %v, want %v", e, mean, se, want[e])
				}
			}
			t.Logf("worst entry %.1f standard errors off, bound %.2f; loss %.4f, want %.4f", worst, bound, sum[rows]/batches, meanLoss)
		})
	}
}

// TestSAINTSharesBlock checks that all layers share one block, that its nodes are
// training nodes, and that another sampler may use the batch in between.
func TestSAINTSharesBlock(t *testing.T) {
	p := graph.NewLaplacian(randomGraph(100, 500, false, 1))
	rng := rand.New(NewSource(3, 0, 0))
	train := seedNodes(100, 50, rng)
	saint := &Subgraph{Laplacian: p, Train: train, Depth: 3, Units: RandomWalks{Length: 1}}
	full := &Full{Laplacian: p, Depth: 3}
	var batch MiniBatch
	for range 3 {
		if err := Prepared(saint).Sample(context.Background(), train[:20], rng, &batch); err != nil {
			t.Fatal(err)
		}
		if len(batch.Blocks) != 3 || batch.Blocks[0] != batch.Blocks[1] || batch.Blocks[1] != batch.Blocks[2] {
			t.Fatal("the layers do not share one block")
		}
		for _, i := range batch.Outputs() {
			if !slices.Contains(train, i) {
				t.Fatalf("node %d is not a training node", i)
			}
		}
		if err := Prepared(full).Sample(context.Background(), train[:2], rng, &batch); err != nil {
			t.Fatal(err)
		}
		if batch.Blocks[0] == batch.Blocks[1] {
			t.Fatal("another sampler's layers share a block")
		}
		for _, block := range batch.Blocks {
			if err := block.Validate(100); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// TestRandomWalksDeterministic checks that the walks drawn beforehand depend on the
// fields only.
func TestRandomWalksDeterministic(t *testing.T) {
	adjacency := randomGraph(200, 900, false, 4)
	visits, pairs := countWalks(adjacency, 3, 50_000)
	visits2, pairs2 := countWalks(adjacency, 3, 50_000)
	if !slices.Equal(visits, visits2) || !slices.Equal(pairs, pairs2) {
		t.Error("two runs count differently")
	}
	for v := range adjacency.Rows { // symmetric
		for c, u := range adjacency.Row(v) {
			back, _ := findEntry(adjacency, u, int32(v))
			if pairs[adjacency.Ptr[v]+int64(c)] != pairs[back] {
				t.Fatalf("edge (%d, %d) has %d and %d", v, u, pairs[adjacency.Ptr[v]+int64(c)], pairs[back])
			}
		}
	}
}

// TestSubgraphErrors checks the errors of the subgraph methods.
func TestSubgraphErrors(t *testing.T) {
	p := graph.NewLaplacian(randomGraph(20, 60, false, 1))
	directed := graph.NewDirectedLaplacian(p.Adjacency)
	odd := &graph.Laplacian{Adjacency: p.Adjacency, RowScale: p.RowScale, ColScale: slices.Repeat([]float32{2}, 20)}
	for name, s := range map[string]interface {
		Sampler
		Prepare() error
	}{
		"saint: no Laplacian":       &Subgraph{Depth: 1},
		"saint: no layers":          &Subgraph{Laplacian: p},
		"saint: no training nodes":  &Subgraph{Laplacian: p, Depth: 1, Train: []int32{}},
		"saint: node out of range":  &Subgraph{Laplacian: p, Depth: 1, Train: []int32{20}},
		"saint: node twice":         &Subgraph{Laplacian: p, Depth: 1, Train: []int32{3, 3}},
		"saint: odd normalisation":  &Subgraph{Laplacian: odd, Depth: 1, Train: []int32{3}},
		"saint: walks":              &Subgraph{Laplacian: p, Depth: 1, Units: RandomWalks{Length: -1}},
		"saint: directed":           &Subgraph{Laplacian: directed, Depth: 1},
		"cluster: directed":         &Subgraph{Laplacian: directed, Depth: 1, Units: Clusters{}},
		"cluster: no Laplacian":     &Subgraph{Depth: 1, Units: Clusters{}},
		"cluster: no layers":        &Subgraph{Laplacian: p, Units: Clusters{}},
		"cluster: too many parts":   &Subgraph{Laplacian: p, Depth: 1, Units: Clusters{Parts: 21}},
		"cluster: negative":         &Subgraph{Laplacian: p, Depth: 1, Units: Clusters{PerBatch: -1}},
		"cluster: node twice":       &Subgraph{Laplacian: p, Depth: 1, Train: []int32{3, 3}, Units: Clusters{}},
		"cluster: odd":              &Subgraph{Laplacian: odd, Depth: 1, Units: Clusters{}},
		"cluster: training nothing": &Subgraph{Laplacian: p, Depth: 1, Train: []int32{}, Units: Clusters{}},
	} {
		if err := s.Prepare(); err == nil {
			t.Errorf("%s: no error", name)
		}
		var batch MiniBatch
		if err := s.Sample(context.Background(), []int32{0}, rand.New(NewSource(1, 0, 0)), &batch); err == nil {
			t.Errorf("%s: Sample gives no error", name)
		}
	}
}
