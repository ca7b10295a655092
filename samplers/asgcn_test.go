package samplers_test

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/gcn-layerwise/gcn/graph"
	"github.com/gcn-layerwise/gcn/samplers"
	"github.com/gcn-layerwise/gcn/samplers/samplertest"
)

// adaptive is a tiny graph with features, rows of a layer, and the norms of all nodes'
// activations.
type adaptive struct {
	p       *graph.Laplacian
	x       *graph.Features
	rows    []int32
	w       []float32
	squares []float64 // ‖H_[i]‖²
}

func tinyAdaptive(t *testing.T, weighted bool) adaptive {
	const nodes, features = 7, 3
	rng := rand.New(rand.NewPCG(3, 1))
	a := adaptive{
		p:    graph.NewLaplacian(samplertest.RandomGraph(t, nodes, 9, weighted, 4)),
		x:    &graph.Features{Rows: nodes, Cols: features, Data: make([]float32, nodes*features)},
		rows: []int32{1, 4}, w: []float32{0.7, -1.2, 0.4}, squares: make([]float64, nodes),
	}
	for k := range a.x.Data {
		a.x.Data[k] = float32(rng.NormFloat64())
	}
	for i := range a.squares {
		a.squares[i] = math.Exp(rng.NormFloat64())
	}
	return a
}

// law returns the columns of the rows, slowly: ‖QP^[i]‖², and ‖QP^[i]‖·g_i with w.
func (a *adaptive) law(w []float32) (columns, mass []float64) {
	n := a.p.Nodes()
	dense := a.p.Dense()
	columns, mass = make([]float64, n), make([]float64, n)
	for i := range n {
		for _, r := range a.rows {
			columns[i] += dense[int(r)*n+i] * dense[int(r)*n+i]
		}
		var score float64
		for k, v := range a.x.Row(i) {
			score += float64(v) * float64(w[k])
		}
		mass[i] = math.Sqrt(columns[i]) * (math.Abs(score) + 1)
	}
	return columns, mass
}

func sum(x []float64) (s float64) {
	for _, v := range x {
		s += v
	}
	return s
}

// variance is V of Gradient.
func (a *adaptive) variance(draws int, w []float32) (v float64) {
	columns, mass := a.law(w)
	total := sum(mass)
	for i, c := range columns {
		if c > 0 {
			v += c * a.squares[i] / (mass[i] / total)
		}
	}
	return v / float64(draws*len(a.rows)) // ‖QPH‖² does not depend on w
}

// block returns the block of a sample of candidates.
func (a *adaptive) block(candidates []int32, sample *samplers.Sample, beta []float64) *graph.Block {
	b := new(graph.Block)
	b.Dst = a.rows
	b.Matrix = graph.CSR{Rows: len(a.rows), Cols: len(sample.Index), Ptr: []int64{0}}
	for _, i := range sample.Index {
		b.Src = append(b.Src, candidates[i])
	}
	for _, r := range a.rows {
		for k, node := range b.Src {
			if v := a.p.At(int(r), int(node)); v != 0 {
				b.Matrix.Idx = append(b.Matrix.Idx, int32(k))
				b.Matrix.Val = append(b.Matrix.Val, float32(float64(v)*beta[k]))
			}
		}
		b.Matrix.Ptr = append(b.Matrix.Ptr, int64(len(b.Matrix.Idx)))
	}
	b.Finish()
	return b
}

// TestASGCNGradient computes the mean of Gradient over every outcome of the draw, and
// compares it with central differences of the variance. The variance is compared with the
// moments of the weights.
func TestASGCNGradient(t *testing.T) {
	for _, weighted := range []bool{false, true} {
		a := tinyAdaptive(t, weighted)
		columns, mass := a.law(a.w)
		var candidates []int32
		var weights []float64
		for i, c := range columns {
			if c > 0 {
				candidates, weights = append(candidates, int32(i)), append(weights, mass[i])
			}
		}
		for draws := 1; draws <= 3; draws++ {
			_, product, err := momentsOf(samplers.WithReplacement{}, samplers.Naive{}, weights, draws)
			if err != nil {
				t.Fatal(err)
			}
			// The variances of all rows, if H has one column for each node.
			var moments, means float64
			for k, i := range candidates {
				moments += (product[k][k] - 1) * columns[i] * a.squares[i] / float64(len(a.rows))
				means += columns[i] * a.squares[i] / float64(draws*len(a.rows))
			}
			if got := a.variance(draws, a.w) - means; math.Abs(got-moments) > 1e-10*moments {
				t.Errorf("%d draws: V is %v, the moments of the draw give %v", draws, got, moments)
			}
			half, err := a.x.ToHalf()
			population, err2 := samplers.NewPopulation(weights)
			if err := cmp.Or(err, err2); err != nil {
				t.Fatal(err)
			}
			for _, x := range []*graph.Features{a.x, half, a.x.ToSparse()} {
				s := &samplers.ASGCN{Laplacian: a.p, Features: x, Sizes: []int{draws, 1}, W: a.w}
				mean := make([]float64, len(a.w))
				grad, beta := make([]float32, len(a.w)), make([]float64, draws)
				err = enumerateDraw(samplers.WithReplacement{}, weights, draws, func(probability float64, sample *samplers.Sample) {
					beta = beta[:len(sample.Index)]
					samplers.Naive{}.Weigh(population, sample, beta)
					b := a.block(candidates, sample, beta)
					squares := make([]float32, len(b.Src))
					for k, node := range b.Src {
						squares[k] = float32(a.squares[node])
					}
					if err := samplers.Prepared(s).Gradient(b, squares, grad); err != nil {
						t.Fatal(err)
					}
					for k, v := range grad {
						mean[k] += probability * float64(v)
					}
				})
				if err != nil {
					t.Fatal(err)
				}
				for k := range a.w {
					const h = 1e-3
					up, down := slices.Clone(a.w), slices.Clone(a.w)
					up[k] += h
					down[k] -= h
					slope := (a.variance(draws, up) - a.variance(draws, down)) / (float64(up[k]) - float64(down[k]))
					if math.Abs(mean[k]-slope) > 2e-3*(0.1+math.Abs(slope)) {
						t.Errorf("weighted %v, %d draws, w%d: mean gradient %v, slope of V %v", weighted, draws, k, mean[k], slope)
					}
				}
			}
		}
	}
}

// TestASGCNLaw compares the numbers of draws of each node with their expectation s·q_i, and
// every entry with P_ki times the number of draws over s·q_i.
func TestASGCNLaw(t *testing.T) {
	const batches, draws = 20000, 4
	a := tinyAdaptive(t, true)
	_, mass := a.law(a.w)
	total := sum(mass)
	base := &samplers.ASGCN{Laplacian: a.p, Features: a.x, Sizes: []int{draws}}
	s, err := base.With(a.w)
	if err != nil {
		t.Fatal(err)
	}
	counts := make([]float64, a.p.Nodes())
	var batch samplers.MiniBatch
	for b := range batches {
		if err := samplers.Prepared(s).Sample(t.Context(), a.rows, rand.New(samplers.NewSource(1, 0, uint64(b))), &batch); err != nil {
			t.Fatal(err)
		}
		block := batch.Blocks[0]
		times := make([]float64, len(block.Src))
		for i, r := range block.Dst {
			values := block.Matrix.RowValues(i)
			for k, c := range block.Matrix.Row(i) {
				node := block.Src[c]
				n := float64(values[k]) / float64(a.p.At(int(r), int(node))) * draws * mass[node] / total
				if whole := math.Round(n); math.Abs(n-whole) > 1e-4 || whole < 1 || times[c] > 0 && times[c] != whole {
					t.Fatalf("node %d: entry of row %d counts %v draws, another %v", node, r, n, times[c])
				}
				times[c] = math.Round(n)
			}
		}
		for c, n := range times {
			counts[block.Src[c]] += n
		}
	}
	for i, m := range mass {
		q := m / total
		sd := math.Sqrt(batches * draws * q * (1 - q))
		if math.Abs(counts[i]-batches*draws*q) > 4.5*sd {
			t.Errorf("node %d was drawn %v times, want %v ± %v", i, counts[i], batches*draws*q, sd)
		}
	}
	if sum(counts) != batches*draws {
		t.Errorf("%v draws", sum(counts))
	}
}

// Wrong settings are errors, and without features nothing is learned.
func TestASGCNErrors(t *testing.T) {
	a := tinyAdaptive(t, false)
	for want, s := range map[string]*samplers.ASGCN{
		"w of 2 values":  {Laplacian: a.p, Features: a.x, Sizes: []int{2}, W: []float32{1, 2}},
		"for 0 features": {Laplacian: a.p, Sizes: []int{2}, W: []float32{1, 2}},
		"7 nodes":        {Laplacian: a.p, Features: &graph.Features{Rows: 3, Cols: 1, Data: make([]float32, 3)}, Sizes: []int{2}},
		"not finite":     {Laplacian: a.p, Features: a.x, Sizes: []int{2}, W: []float32{1, float32(math.NaN()), 0}},
	} {
		if err := s.Prepare(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
	s := &samplers.ASGCN{Laplacian: a.p, Sizes: []int{2}}
	if s.Parameters() != 0 {
		t.Errorf("%d parameters without features", s.Parameters())
	}
	if err := s.Gradient(new(graph.Block), nil, nil); err == nil {
		t.Error("a gradient without parameters")
	}
}
