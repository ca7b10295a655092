package samplers

import (
	"cmp"
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/gcn-layerwise/gcn/graph"
	"github.com/gcn-layerwise/gcn/internal/reference"
	"pgregory.net/rapid"
)

// randomGraph returns a graph of n nodes where node i tends to have 1/(i+1) of
// the edges, so that degrees are heavy-tailed.
func randomGraph(n, edges int, weighted bool, seed uint64) *graph.CSR {
	b, err := graph.NewBuilder(n)
	if err != nil {
		panic(err)
	}
	rng := rand.New(NewSource(seed, 0, 0))
	for range edges {
		u := int32(rng.IntN(n))
		v := int32(float64(n) * math.Pow(rng.Float64(), 3))
		w := float32(1)
		if weighted {
			w = 0.5 + rng.Float32()
		}
		if err := b.AddWeighted(u, v, w); err != nil {
			panic(err)
		}
	}
	adjacency, _ := b.Build()
	return adjacency
}

// seedNodes returns count distinct nodes.
func seedNodes(n, count int, rng *rand.Rand) []int32 {
	var seeds []int32
	for _, i := range rng.Perm(n)[:count] {
		seeds = append(seeds, int32(i))
	}
	return seeds
}

// TestFullIsP checks that blocks of Full are the rows of P, entry by entry.
func TestFullIsP(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 40).Draw(t, "nodes")
		adjacency := randomGraph(n, rapid.IntRange(0, 100).Draw(t, "edges"), rapid.Bool().Draw(t, "weighted"), rapid.Uint64().Draw(t, "seed"))
		p := graph.NewLaplacian(adjacency)
		if rapid.Bool().Draw(t, "row-stochastic") {
			p = graph.NewRowLaplacian(adjacency)
		}
		dense := p.Dense()
		rng := rand.New(NewSource(1, 2, 3))
		s := &Full{Laplacian: p, Depth: 2}
		var batch MiniBatch
		if err := Prepared(s).Sample(context.Background(), seedNodes(n, 1+n/3, rng), rng, &batch); err != nil {
			t.Fatal(err)
		}
		for l, block := range batch.Blocks {
			if err := block.Validate(n); err != nil {
				t.Fatal(err)
			}
			got := scatter(block, n)
			for i, r := range block.Dst {
				for j := range n {
					if want := dense[int(r)*n+j]; math.Abs(got[i*n+j]-want) > 1e-7 {
						t.Fatalf("layer %d: P[%d][%d] = %v, want %v", l, r, j, got[i*n+j], want)
					}
				}
			}
		}
		if !slices.Equal(batch.Blocks[0].Dst, batch.Blocks[1].Src) {
			t.Fatal("layers do not meet")
		}
	})
}

// scatter returns block's matrix with its columns spread over all n nodes.
func scatter(block *graph.Block, n int) []float64 {
	dense := make([]float64, len(block.Dst)*n)
	for i := range block.Dst {
		for k, j := range block.Matrix.Row(i) {
			dense[i*n+int(block.Src[j])] += float64(block.Matrix.RowValues(i)[k])
		}
	}
	return dense
}

// layerCase is a graph, P as the sampler and as the reference have it, and the rows of a
// layer.
type layerCase struct {
	p         *graph.Laplacian
	dense     reference.Matrix
	rows, all []int32 // all: every node
	rng       *rand.Rand
}

func drawLayer(t *rapid.T) layerCase {
	n := rapid.IntRange(2, 60).Draw(t, "nodes")
	adjacency := randomGraph(n, rapid.IntRange(0, 200).Draw(t, "edges"), rapid.Bool().Draw(t, "weighted"), rapid.Uint64().Draw(t, "seed"))
	p := graph.NewLaplacian(adjacency)
	if rapid.Bool().Draw(t, "row-stochastic") {
		p = graph.NewRowLaplacian(adjacency)
	}
	dense := p.Dense()
	c := layerCase{p: p, dense: reference.NewMatrix(n, n, func(i, j int) float64 { return dense[i*n+j] })}
	c.rng = rand.New(NewSource(rapid.Uint64().Draw(t, "stream"), 0, 0))
	c.rows = seedNodes(n, rapid.IntRange(1, n).Draw(t, "seeds"), c.rng)
	for i := range int32(n) {
		c.all = append(c.all, i)
	}
	return c
}

// TestProbabilities compares the probabilities of LADIES and of FastGCN, squared and flat,
// with the reference's. FastGCN's are LADIES' for the rows of all nodes.
func TestProbabilities(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := drawLayer(t)
		flat := rapid.Bool().Draw(t, "flat")
		for name, s := range map[string]*LayerWise{
			"LADIES":  {Importance: LADIES{Flat: flat}},
			"FastGCN": {Importance: FastGCN{Flat: flat}},
		} {
			s.Laplacian, s.Sizes = c.p, []int{1}
			if err := s.Prepare(); err != nil {
				t.Fatal(err)
			}
			var scratch workspace
			population, err := s.candidates(&scratch, c.rows)
			if err != nil {
				t.Fatal(err)
			}
			nodes, rows := scratch.nodes, c.rows
			if s.estimator.global != nil {
				nodes, rows = c.all, c.all
			}
			got, want := make([]float64, len(c.all)), reference.Probabilities(c.dense, rows, flat)
			for k, w := range population.Weights {
				got[nodes[k]] = w / population.Total
			}
			for i := range want {
				if !(math.Abs(got[i]-want[i]) <= 1e-6*want[i]) {
					t.Fatalf("%s: p_%d = %v, want %v", name, i, got[i], want[i])
				}
			}
			if m := reference.Candidates(want); population.Positive != m {
				t.Fatalf("%s: %d candidates, want %d", name, population.Positive, m)
			}
		}
	})
}

// TestLayerWiseBlock compares every entry of a block with the reference's block of the same
// nodes drawn.
func TestLayerWiseBlock(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := drawLayer(t)
		n := len(c.all)
		size := rapid.IntRange(1, n).Draw(t, "size")
		flat := rapid.Bool().Draw(t, "flat")
		s := &LayerWise{Laplacian: c.p, Sizes: []int{size}, Importance: LADIES{Flat: flat}}
		rows := c.rows
		if rapid.Bool().Draw(t, "fastgcn") {
			s.Importance, rows = FastGCN{Flat: flat}, c.all
		}
		debiased := rapid.Bool().Draw(t, "debiased")
		if !debiased {
			s.Weight = Naive{}
		}
		var batch MiniBatch
		if err := Prepared(s).Sample(context.Background(), c.rows, c.rng, &batch); err != nil {
			t.Fatal(err)
		}
		block := batch.Blocks[0]
		if err := block.Validate(n); err != nil {
			t.Fatal(err)
		}
		probabilities := reference.Probabilities(c.dense, rows, flat)
		m := reference.Candidates(probabilities)
		if len(block.Src) != min(size, m) {
			t.Fatalf("%d nodes drawn, want %d", len(block.Src), min(size, m))
		}
		beta := reference.Naive(probabilities, block.Src)
		if debiased {
			beta = reference.Debias(probabilities, block.Src, m)
		}
		got := scatter(block, n)
		for i, row := range reference.NewBlock(c.dense, c.rows, block.Src, beta).P {
			for k, want := range row {
				if j := int(block.Src[k]); math.Abs(got[i*n+j]-want) > 1e-5*math.Abs(want)+1e-9 {
					t.Fatalf("P̃[%d][%d] = %v, want %v", c.rows[i], j, got[i*n+j], want)
				}
			}
		}
	})
}

// TestApproximationErrorShape checks the paper's figure of matrix approximation
// errors: on a sparse graph the error of plain LADIES falls and then rises with the
// number of nodes drawn, because its weights are biased; the debiased error only
// falls.
func TestApproximationErrorShape(t *testing.T) {
	const n, width = 3000, 8
	p := graph.NewLaplacian(randomGraph(n, 7500, false, 3))
	rng := rand.New(NewSource(5, 0, 0))
	h := make([]float64, n*width)
	for k := range h {
		h[k] = 1 + 0.5*rng.NormFloat64()
	}
	sizes := []int{64, 128, 256, 512, 900}
	errorsOf := func(weight Weight) []float64 {
		var out []float64
		for _, size := range sizes {
			s := &LayerWise{Laplacian: p, Sizes: []int{size}, Importance: LADIES{}, Weight: weight}
			exact := &Full{Laplacian: p, Depth: 1}
			var batch, truth MiniBatch
			const repeats = 30
			var sum float64
			for r := range uint64(repeats) {
				rng := rand.New(NewSource(17, r, 0))
				seeds := seedNodes(n, 200, rng)
				if err := Prepared(s).Sample(context.Background(), seeds, rng, &batch); err != nil {
					t.Fatal(err)
				}
				if err := Prepared(exact).Sample(context.Background(), seeds, rng, &truth); err != nil {
					t.Fatal(err)
				}
				a, b := propagate(batch.Blocks[0], h, width), propagate(truth.Blocks[0], h, width)
				var square float64
				for k := range a {
					square += (a[k] - b[k]) * (a[k] - b[k])
				}
				sum += math.Sqrt(square)
			}
			out = append(out, sum/repeats)
		}
		return out
	}
	naive, debiased := errorsOf(Naive{}), errorsOf(Debiased{})
	t.Logf("sizes    %v", sizes)
	t.Logf("naive    %.2f", naive)
	t.Logf("debiased %.2f", debiased)
	lowest := slices.Index(naive, slices.Min(naive))
	if lowest == 0 || lowest == len(sizes)-1 || naive[len(sizes)-1] < 1.2*naive[lowest] {
		t.Errorf("error of plain LADIES %v is not U-shaped", naive)
	}
	for k := 1; k < len(sizes); k++ {
		if debiased[k] >= debiased[k-1] {
			t.Errorf("error of debiased LADIES %v rises at s = %d", debiased, sizes[k])
		}
	}
}

func propagate(block *graph.Block, h []float64, width int) []float64 {
	out := make([]float64, len(block.Dst)*width)
	for i := range block.Dst {
		for k, j := range block.Matrix.Row(i) {
			v := float64(block.Matrix.RowValues(i)[k])
			for f := range width {
				out[i*width+f] += v * h[int(block.Src[j])*width+f]
			}
		}
	}
	return out
}

func TestSampleReusesMemory(t *testing.T) {
	if RaceDetector {
		t.Skip("pools forget under the race detector")
	}
	p := graph.NewLaplacian(randomGraph(5000, 30000, false, 9))
	rng := rand.New(NewSource(1, 0, 0))
	seeds := seedNodes(5000, 256, rng)
	for _, m := range Methods() {
		s, err := ByName(m.Name, Config{Laplacian: p, Layers: 2, Sizes: []int{256}, Train: seeds})
		if err != nil {
			t.Fatalf("%s: %v", m.Name, err)
		}
		var batch MiniBatch
		sample := func() {
			if err := Prepared(s).Sample(context.Background(), seeds, rng, &batch); err != nil {
				t.Fatal(err)
			}
		}
		for range 30 { // let every slice reach its size
			sample()
		}
		if got := testing.AllocsPerRun(50, sample); got > 4 {
			t.Errorf("%s: %v allocations a batch, want at most 4", m.Name, got)
		}
	}
}

func TestLayerWiseErrors(t *testing.T) {
	p := graph.NewLaplacian(randomGraph(10, 20, false, 1))
	ctx := context.Background()
	rng := rand.New(NewSource(1, 0, 0))
	ended, cancel := context.WithCancel(ctx)
	cancel()
	for name, c := range map[string]struct {
		ctx     context.Context
		sampler Sampler
		seeds   []int32
	}{
		"no Laplacian":       {ctx, &LayerWise{Sizes: []int{1}}, []int32{0}},
		"no sizes":           {ctx, &LayerWise{Laplacian: p}, []int32{0}},
		"size 0":             {ctx, &LayerWise{Laplacian: p, Sizes: []int{3, 0}}, []int32{0}},
		"no seeds":           {ctx, &LayerWise{Laplacian: p, Sizes: []int{3}}, nil},
		"seed out of range":  {ctx, &LayerWise{Laplacian: p, Sizes: []int{3}}, []int32{10}},
		"negative seed":      {ctx, &LayerWise{Laplacian: p, Sizes: []int{3}}, []int32{-1}},
		"repeated seed":      {ctx, &LayerWise{Laplacian: p, Sizes: []int{3}}, []int32{2, 1, 2}},
		"debiased repeats":   {ctx, &LayerWise{Laplacian: p, Sizes: []int{3}, Draw: WithReplacement{}, Weight: Debiased{}}, []int32{0}},
		"too few row norms":  {ctx, &LayerWise{Laplacian: p, Sizes: []int{3}, Importance: LADIES{RowNorms: []float32{1}}}, []int32{0}},
		"all row norms zero": {ctx, &LayerWise{Laplacian: p, Sizes: []int{3}, Importance: LADIES{RowNorms: make([]float32, 10)}}, []int32{0}},
		"cancelled":          {ended, &LayerWise{Laplacian: p, Sizes: []int{3}}, []int32{0}},
		"full, no depth":     {ctx, &Full{Laplacian: p}, []int32{0}},
		"full, scale 0":      {ctx, &Full{Laplacian: &graph.Laplacian{Adjacency: p.Adjacency, RowScale: make([]float32, 10), ColScale: p.ColScale}, Depth: 1}, []int32{0}},
	} {
		var batch MiniBatch
		if err := cmp.Or(Prepare(c.sampler), c.sampler.Sample(c.ctx, c.seeds, rng, &batch)); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	// A failed call does not affect a later one.
	s := &LayerWise{Laplacian: p, Sizes: []int{3}}
	var batch MiniBatch
	_ = Prepared(s).Sample(ctx, []int32{2, 1, 2}, rng, &batch)
	if err := Prepared(s).Sample(ctx, []int32{2, 1}, rng, &batch); err != nil {
		t.Error(err)
	}
}
