package samplers_test

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/gcn-layerwise/gcn/graph"
	"github.com/gcn-layerwise/gcn/internal/reference"
	"github.com/gcn-layerwise/gcn/samplers"
	"github.com/gcn-layerwise/gcn/samplers/samplertest"
	"pgregory.net/rapid"
)

// ladiesProbabilities returns the reference's p_i of every node.
func ladiesProbabilities(p *graph.Laplacian, rows []int32) []float64 {
	n, dense := p.Nodes(), p.Dense()
	matrix := reference.NewMatrix(n, n, func(i, j int) float64 { return dense[i*n+j] })
	return reference.Probabilities(matrix, rows, false)
}

// TestOriginalLADIES compares IncludeRows and NormalizeRows together with the
// computation of the program released with LADIES, given the nodes drawn: the union
// with the rows, columns times 1/p, rows normalised to sum to 1.
func TestOriginalLADIES(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		n := rapid.IntRange(1, 40).Draw(rt, "nodes")
		p := graph.NewRowLaplacian(samplertest.RandomGraph(t, n, rapid.IntRange(0, 150).Draw(rt, "edges"), rapid.Bool().Draw(rt, "weighted"), rapid.Uint64().Draw(rt, "graph")))
		seed := rapid.Uint64().Draw(rt, "stream")
		rng := rand.New(samplers.NewSource(seed, 0, 0))
		var rows []int32
		for _, i := range rng.Perm(n)[:1+rng.IntN(n)] {
			rows = append(rows, int32(i))
		}
		size := rapid.IntRange(1, 20).Draw(rt, "size")
		sample := func(s *samplers.LayerWise) *graph.Block {
			s.Laplacian, s.Sizes, s.Importance, s.Weight = p, []int{size}, samplers.LADIES{}, samplers.Naive{}
			var batch samplers.MiniBatch
			if err := samplers.Prepared(s).Sample(context.Background(), rows, rand.New(samplers.NewSource(seed, 1, 0)), &batch); err != nil {
				rt.Fatal(err)
			}
			if err := batch.Blocks[0].Validate(n); err != nil {
				rt.Fatal(err)
			}
			return batch.Blocks[0]
		}
		drawn := slices.Clone(sample(&samplers.LayerWise{}).Src)
		block := sample(&samplers.LayerWise{IncludeRows: true, NormalizeRows: true})

		want := slices.Clone(drawn)
		for _, r := range rows {
			if !slices.Contains(want, r) {
				want = append(want, r)
			}
		}
		if !slices.Equal(block.Src, want) {
			rt.Fatalf("inputs %v, want %v", block.Src, want)
		}
		probabilities := ladiesProbabilities(p, rows)
		dense := p.Dense()
		for i, r := range rows {
			row, sum := make([]float64, n), 0.0
			for _, j := range want {
				row[j] = dense[int(r)*n+int(j)] / probabilities[j]
				sum += row[j]
			}
			for e, c := range block.Matrix.Row(i) {
				j := block.Src[c]
				got := float64(block.Matrix.RowValues(i)[e])
				if math.Abs(got-row[j]/sum) > 1e-6 {
					rt.Fatalf("entry (%d, %d) is %v, want %v", r, j, got, row[j]/sum)
				}
				row[j] = 0
			}
			for j, v := range row {
				if v != 0 {
					rt.Fatalf("entry (%d, %d) is missing", r, j)
				}
			}
		}
	})
}

// TestIncludeRowsBias pins E[β] of debiased weights with IncludeRows. A row i that is
// not drawn gets the factor 1/(s p_i) instead of 0, so
// E[β_i] = 1 + (1−π_i)/(s p_i), with π_i from enumeration.
func TestIncludeRowsBias(t *testing.T) {
	p := graph.NewLaplacian(samplertest.RandomGraph(t, 6, 9, false, 3))
	rows := []int32{0, 4}
	probabilities := ladiesProbabilities(p, rows)
	const size, batches = 2, 100000
	pi := make([]float64, len(probabilities))
	if err := enumerateDraw(samplers.WithoutReplacement{}, probabilities, size, func(probability float64, sample *samplers.Sample) {
		for _, i := range sample.Index {
			pi[i] += probability
		}
	}); err != nil {
		t.Fatal(err)
	}
	s := &samplers.LayerWise{Laplacian: p, Sizes: []int{size}, Importance: samplers.LADIES{}, IncludeRows: true}
	rng := rand.New(samplers.NewSource(12, 0, 0))
	var batch samplers.MiniBatch
	mean, squares := make([]float64, len(rows)), make([]float64, len(rows))
	for range batches {
		if err := samplers.Prepared(s).Sample(context.Background(), rows, rng, &batch); err != nil {
			t.Fatal(err)
		}
		block := batch.Blocks[0]
		for i, r := range rows {
			for e, c := range block.Matrix.Row(i) {
				if block.Src[c] == r {
					beta := float64(block.Matrix.RowValues(i)[e]) / float64(p.At(int(r), int(r)))
					mean[i] += beta / batches
					squares[i] += beta * beta / batches
				}
			}
		}
	}
	for i, r := range rows {
		want := 1 + (1-pi[r])/(size*probabilities[r])
		se := math.Sqrt((squares[i] - mean[i]*mean[i]) / batches)
		t.Logf("row %d: E[β] = %.4f ± %.4f, want %.4f", r, mean[i], se, want)
		if math.Abs(mean[i]-want) > 4*se {
			t.Errorf("row %d: E[β] = %v ± %v, want %v", r, mean[i], se, want)
		}
	}
}

// TestNormalizeRowsBias pins the law of NormalizeRows on the middle row of a path of
// three nodes, with one node drawn. This node gets the whole row sum of P, so its
// entry is p_i times the row sum on average; without NormalizeRows it is P[1][i].
func TestNormalizeRowsBias(t *testing.T) {
	b, err := graph.NewBuilder(3)
	if err != nil {
		t.Fatal(err)
	}
	for i := range int32(2) {
		if err := b.Add(i, i+1); err != nil {
			t.Fatal(err)
		}
	}
	adjacency, _ := b.Build()
	p := graph.NewLaplacian(adjacency)
	probabilities := ladiesProbabilities(p, []int32{1})
	rowSum := float64(p.At(1, 0)) + float64(p.At(1, 1)) + float64(p.At(1, 2))
	s := &samplers.LayerWise{Laplacian: p, Sizes: []int{1}, Importance: samplers.LADIES{}, NormalizeRows: true}
	rng := rand.New(samplers.NewSource(4, 0, 0))
	var batch samplers.MiniBatch
	const batches = 40000
	counts := make([]float64, 3)
	for range batches {
		if err := samplers.Prepared(s).Sample(context.Background(), []int32{1}, rng, &batch); err != nil {
			t.Fatal(err)
		}
		block := batch.Blocks[0]
		if got := float64(block.Matrix.Val[0]); math.Abs(got-rowSum) > 1e-6 || block.Matrix.NNZ() != 1 {
			t.Fatalf("entries %v, want one of %v", block.Matrix.Val, rowSum)
		}
		counts[block.Src[0]]++
	}
	for i, count := range counts {
		mean, want := count/batches*rowSum, probabilities[i]*rowSum
		if math.Abs(mean-want) > 5*math.Sqrt(0.25/batches)*rowSum {
			t.Errorf("E[P̃[1][%d]] = %v, want %v", i, mean, want)
		}
		if math.Abs(want-float64(p.At(1, i))) < 0.02 {
			t.Errorf("E[P̃[1][%d]] = %v is not far from P's %v", i, want, p.At(1, i))
		}
	}
}

// TestFastGCNReadings checks the laws of FastGCN as in the paper, p ∝ ‖P^[i]‖² over
// all nodes of the graph, and as in the program released with it, p ∝ ‖P^[i]‖ over
// the neighbourhood.
func TestFastGCNReadings(t *testing.T) {
	const n, batches = 12, 60000
	p := graph.NewLaplacian(samplertest.RandomGraph(t, n, 18, false, 5))
	rows := []int32{1, 7}
	norms := p.ColumnNorms2()
	for _, c := range []struct {
		name string
		s    samplers.FastGCN
	}{{"paper", samplers.FastGCN{}}, {"program", samplers.FastGCN{Flat: true, Neighborhood: true}}} {
		want, total := make([]float64, n), 0.0
		for i := range want {
			seen := p.At(int(rows[0]), i) != 0 || p.At(int(rows[1]), i) != 0
			switch {
			case !c.s.Flat:
				want[i] = norms[i]
			case seen:
				want[i] = math.Sqrt(norms[i])
			}
			total += want[i]
		}
		s := &samplers.LayerWise{Laplacian: p, Sizes: []int{1}, Importance: c.s}
		rng := rand.New(samplers.NewSource(6, 0, 0))
		counts := make([]float64, n)
		var batch samplers.MiniBatch
		for range batches {
			if err := samplers.Prepared(s).Sample(context.Background(), rows, rng, &batch); err != nil {
				t.Fatal(err)
			}
			counts[batch.Inputs()[0]]++
		}
		for i := range want {
			q := want[i] / total
			if math.Abs(counts[i]/batches-q) > 5*math.Sqrt(q*(1-q)/batches) {
				t.Errorf("%s: node %d drawn with probability %.4f, want %.4f", c.name, i, counts[i]/batches, q)
			}
		}
	}
}

// TestParts checks names, defaults and errors.
func TestParts(t *testing.T) {
	config := samplers.Config{
		Laplacian: graph.NewLaplacian(samplertest.RandomGraph(t, 10, 20, false, 1)), Layers: 2, Sizes: []int{3},
	}
	s, err := partNames{Flat: true, Draw: "poisson", IncludeRows: true}.sampler(config)
	if err != nil {
		t.Fatal(err)
	}
	l := s.(*samplers.LayerWise)
	if i, ok := l.Importance.(samplers.LADIES); !ok || !i.Flat || l.Draw != samplers.Draw(samplers.Poisson{}) || !l.IncludeRows || len(l.Sizes) != 2 {
		t.Errorf("made %+v", s)
	}
	for want, parts := range map[string]partNames{
		`rank-conditioned weights need weighted random sampling without replacement`:   {Draw: "poisson", Weight: "rank"},
		`debiased weights need weighted random sampling without replacement`:           {Draw: "systematic", Weight: "debiased"},
		`Horvitz-Thompson weights need a draw with known inclusion probabilities`:      {Weight: "horvitz-thompson"},
		`Rao-Blackwellised weights need weighted random sampling without replacement`:  {Draw: "replacement", Weight: "rao-blackwell"},
		`sum-and-sample weights need weighted random sampling without replacement (Wi`: {Draw: "replacement", Weight: "sum-and-sample"},
	} {
		if _, err := parts.sampler(config); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: error %v, want one with %q", parts, err, want)
		}
	}
	if s, err = (partNames{NodeWise: true, Importance: "fastgcn", Weight: "rank"}).sampler(config); err != nil {
		t.Fatal(err)
	}
	n := s.(*samplers.Neighbor)
	if n.Importance != samplers.Importance(samplers.FastGCN{}) || n.Weight != samplers.Weight(samplers.Rank{}) || len(n.Sizes) != 2 {
		t.Errorf("made %+v", n)
	}
	if s, err := (partNames{NodeWise: true, Draw: "poisson", Weight: "rank"}).sampler(config); err == nil {
		t.Errorf("made %+v, want an error", s)
	}
	if _, err := (partNames{}).sampler(samplers.Config{Layers: 1, Sizes: []int{1}}); err == nil {
		t.Error("no Laplacian: no error")
	}
	if _, err := (partNames{}).sampler(samplers.Config{Laplacian: config.Laplacian, Layers: 3, Sizes: []int{1, 2}}); err == nil {
		t.Error("two sizes for three layers: no error")
	}
}
