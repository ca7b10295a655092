package study

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"strconv"

	"golang.org/x/sync/errgroup"
	"gonum.org/v1/gonum/mat"

	"github.com/gcn-layerwise/gcn/graph"
	"github.com/gcn-layerwise/gcn/internal/finite"
	"github.com/gcn-layerwise/gcn/internal/memory"
	"github.com/gcn-layerwise/gcn/samplers"
	"github.com/gcn-layerwise/gcn/study/figure"
)

// KernelRidge measures column sampling in kernel ridge regression, which Chen et al.
// (2023, §7) name as a use of debiased weights. K is the n×n kernel matrix of the
// training rows, k(x, y) = exp(−‖x−y‖²/(2h²)), Y their targets, centred, and
//
//	f = K a,   (K² + nλK) a = KY
//
// the exact regression. s columns are drawn without replacement; S is the diagonal
// matrix of their factors β, 0 for the others, and J the set drawn. Measured are
//
//   - the approximate product KSK of K², unbiased with debiased weights;
//   - the weighted regression, with both products in the equation approximated,
//     (KSK + nλK) a = KSY. It minimises Σ_J β_j (y_j − f(x_j))² + nλ‖f‖², and
//     f(x) = k_J(x)ᵀ (K_JJ + nλ diag(1/β))⁻¹ Y_J;
//   - the sketched regression, f(x) = k_J(x)ᵀ (K_J·K_·J + nλK_JJ)⁻¹ K_J·Y, the least
//     squares of all rows over the columns drawn (Rudi, Camoriano & Rosasco 2015,
//     arXiv:1507.04717; Chen & Yang 2021, arXiv:2103.04031, for one accumulation). The
//     factors cancel in it: only the probabilities matter.
type KernelRidge struct {
	Features *graph.Features // required
	Labels   *graph.Labels   // targets: one column a class or a task; an unknown label counts as the mean; required
	Train    []int32         // the training rows are drawn from these; required
	Test     []int32         // predictions are compared on rows drawn from these; if there are none, on the training rows

	Nodes     int     // training rows n, and at most as many test rows; 0 means 1000
	Bandwidth float64 // h; 0 means the median distance of two training rows
	Ridge     float64 // λ; 0 means 0.001
	Sizes     []int   // numbers of columns drawn; nil means n/32, n/16, … n/2 and 3n/4
	Repeats   int     // draws of each method and size; 0 means 100; at least 2
	Seed      uint64

	Progress func(done, total int) // if not nil, called after each row of the table
}

// KernelRidgeRow is one method at one number of columns: means over the draws, and
// their standard errors.
type KernelRidgeRow struct {
	Method  string `json:"method"`
	Samples int    `json:"samples"`

	Product    float64 `json:"product"` // ‖KSK − K²‖_F / ‖K²‖_F
	ProductSEM float64 `json:"product_sem"`

	// ProductBias2 estimates ‖E KSK − K²‖²_F / ‖K²‖²_F without bias, so it may be
	// negative.
	ProductBias2 float64 `json:"product_bias2"`

	Weighted     float64 `json:"weighted"` // ‖f̂ − f‖ / ‖f‖ on the test rows, weighted regression
	WeightedSEM  float64 `json:"weighted_sem"`
	WeightedRisk float64 `json:"weighted_risk"` // mean squared error of f̂ on the test rows' targets
	Sketched     float64 `json:"sketched"`      // as Weighted, of the sketched regression
	SketchedSEM  float64 `json:"sketched_sem"`
	SketchedRisk float64 `json:"sketched_risk"`
}

// KernelRidgeTable is the outcome of a KernelRidge study.
type KernelRidgeTable struct {
	Rows      []KernelRidgeRow `json:"rows"`
	Nodes     int              `json:"nodes"`
	TestNodes int              `json:"test_nodes"`
	Targets   int              `json:"targets"`
	Bandwidth float64          `json:"bandwidth"`
	Ridge     float64          `json:"ridge"`
	Risk      float64          `json:"risk"`      // mean squared error of the exact f on the test rows' targets
	MeanRisk  float64          `json:"mean_risk"` // of the mean of the training targets
	C1        float64          `json:"c1"`        // mean square of the norms of K's columns over the square of their mean
	Repeats   int              `json:"repeats"`
	Seed      uint64           `json:"seed"`
}

// columnLaw is a way to draw columns of K: their probabilities from their norms, and
// the weights.
type columnLaw struct {
	name   string
	power  float64 // p ∝ ‖K^[i]‖^power
	weight samplers.Weight
}

// columnLaws are the column-sampling methods.
func columnLaws() []columnLaw {
	return []columnLaw{
		{"uniform", 0, samplers.Debiased{}},
		{"plain", 2, samplers.Naive{}},
		{"flat", 1, samplers.Naive{}},
		{"debiased", 2, samplers.Debiased{}},
		{"flat-debiased", 1, samplers.Debiased{}},
	}
}

// Run measures the errors. Cost: O(n²·features + n³) once; for each draw O(n² + s³ +
// s·test rows·targets). Memory: about 40 bytes for each pair of rows.
func (s KernelRidge) Run(ctx context.Context) (*KernelRidgeTable, error) {
	if err := s.setDefaults(ctx); err != nil {
		return nil, err
	}
	rng := rand.New(samplers.NewSource(s.Seed, 0, 0))
	train := RandomBatch(rng, s.Train, s.Nodes)
	test := train
	if len(s.Test) > 0 {
		test = RandomBatch(rng, s.Test, s.Nodes)
	}
	n := int64(len(train))
	need := memory.Product(8, n+int64(len(test)), 5*n+int64(s.Features.Cols))
	if err := memory.Check(fmt.Sprintf("study: kernel ridge regression of %d rows", n), need); err != nil {
		return nil, err
	}
	problem, err := s.problem(ctx, train, test)
	if err != nil {
		return nil, err
	}
	t := &KernelRidgeTable{
		Nodes: len(train), TestNodes: len(test), Targets: s.Labels.Outputs(), Bandwidth: problem.bandwidth, Ridge: s.Ridge,
		Risk: problem.risk(problem.exact), MeanRisk: problem.risk(mat.NewDense(len(test), s.Labels.Outputs(), nil)),
		C1: unevenness(problem.norms), Repeats: s.Repeats, Seed: s.Seed,
	}
	if s.Sizes == nil {
		for size := (len(train) + 31) / 32; 2*size <= len(train); size *= 2 {
			s.Sizes = append(s.Sizes, size)
		}
		s.Sizes = append(s.Sizes, (3*len(train)+3)/4)
	}
	laws := columnLaws()
	for l, law := range laws {
		for _, size := range s.Sizes {
			if size > len(train) {
				return nil, fmt.Errorf("study: %d columns of a kernel matrix of %d", size, len(train))
			}
			row, err := s.row(ctx, problem, law, size, uint64(l+1))
			if err != nil {
				return nil, err
			}
			t.Rows = append(t.Rows, *row)
			if s.Progress != nil {
				s.Progress(len(t.Rows), len(laws)*len(s.Sizes))
			}
		}
	}
	return t, nil
}

func (s *KernelRidge) setDefaults(ctx context.Context) error {
	if s.Nodes == 0 {
		s.Nodes = 1000
	}
	if s.Ridge == 0 {
		s.Ridge = 0.001
	}
	if s.Repeats == 0 {
		s.Repeats = 100
	}
	switch {
	case ctx == nil:
		return errors.New("study: the context is nil")
	case s.Features == nil || s.Labels == nil || len(s.Train) == 0:
		return errors.New("study: kernel ridge regression needs features, labels and training rows")
	case s.Features.Cols < 1 || s.Features.Share != nil || !s.Features.Sized() || s.Labels.Nodes() != s.Features.Rows:
		return fmt.Errorf("study: features of %d×%d hold %d values, with labels of %d rows", s.Features.Rows, s.Features.Cols, s.Features.Len(), s.Labels.Nodes())
	case s.Nodes < 2 || s.Repeats < 2:
		return fmt.Errorf("study: %d rows and %d draws, want at least 2 each", s.Nodes, s.Repeats)
	case !(s.Ridge > 0) || math.IsInf(s.Ridge, 1) || !(s.Bandwidth >= 0) || math.IsInf(s.Bandwidth, 1):
		return fmt.Errorf("study: ridge %v and bandwidth %v, want positive numbers", s.Ridge, s.Bandwidth)
	case len(s.Sizes) > 0 && slices.Min(s.Sizes) < 1:
		return fmt.Errorf("study: %d columns, want at least 1", slices.Min(s.Sizes))
	}
	for _, list := range [][]int32{s.Train, s.Test} {
		for k, i := range list {
			if i < 0 || int(i) >= s.Features.Rows {
				return fmt.Errorf("study: row %d of the list is %d, outside [0, %d)", k, i, s.Features.Rows)
			}
		}
	}
	return s.Labels.Validate()
}

// kernelDraw holds the results of one draw.
type kernelDraw struct {
	delta                      []float64 // β − 1 of every column
	product2                   float64   // ‖KSK − K²‖²_F
	weighted, sketched         float64   // ‖f̂ − f‖
	weightedRisk, sketchedRisk float64
}

// row measures one method at one size. stream separates the methods' draws.
func (s *KernelRidge) row(ctx context.Context, p *kernelProblem, law columnLaw, size int, stream uint64) (*KernelRidgeRow, error) {
	weights := make([]float64, len(p.norms))
	for i, norm := range p.norms {
		weights[i] = math.Pow(norm, law.power)
	}
	population, err := newPopulation(weights, size)
	if err != nil {
		return nil, err
	}
	draws := make([]kernelDraw, s.Repeats)
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(runtime.GOMAXPROCS(0))
	for r := range draws {
		group.Go(func() error {
			if err := ctx.Err(); err != nil {
				return err
			}
			rng := rand.New(samplers.NewSource(s.Seed, stream, uint64(r)))
			var sample samplers.Sample
			samplers.WithoutReplacement{}.Draw(rng, population, size, &sample)
			beta := make([]float64, len(sample.Index))
			law.weight.Weigh(population, &sample, beta)
			return p.measure(sample.Index, beta, &draws[r])
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	return p.summarize(law.name, size, draws), nil
}

// summarize averages over the draws.
func (p *kernelProblem) summarize(method string, size int, draws []kernelDraw) *KernelRidgeRow {
	square, exact := mat.Norm(p.square, 2), mat.Norm(p.exact, 2)
	column := func(of func(kernelDraw) float64) Spread {
		values := make([]float64, len(draws))
		for r := range draws {
			values[r] = of(draws[r])
		}
		return NewSpread(values)
	}
	over := func(x, by float64) float64 {
		if x == 0 {
			return 0
		}
		return x / by
	}
	product := column(func(d kernelDraw) float64 { return math.Sqrt(max(d.product2, 0)) / square })
	weighted := column(func(d kernelDraw) float64 { return over(d.weighted, exact) })
	sketched := column(func(d kernelDraw) float64 { return over(d.sketched, exact) })
	total := make([]float64, len(p.norms))
	var squares float64
	for _, d := range draws {
		squares += d.product2
		for i, v := range d.delta {
			total[i] += v
		}
	}
	r := float64(len(draws))
	return &KernelRidgeRow{
		Method: method, Samples: size, Product: product.Mean, ProductSEM: product.SEM,
		ProductBias2: (p.productInner(total, total) - squares) / (r * (r - 1)) / (square * square),
		Weighted:     weighted.Mean, WeightedSEM: weighted.SEM, WeightedRisk: column(func(d kernelDraw) float64 { return d.weightedRisk }).Mean,
		Sketched: sketched.Mean, SketchedSEM: sketched.SEM, SketchedRisk: column(func(d kernelDraw) float64 { return d.sketchedRisk }).Mean,
	}
}

// Header implements Table.
func (t *KernelRidgeTable) Header() []string {
	return []string{"method", "samples", "product", "product_sem", "product_bias2", "weighted", "weighted_sem", "weighted_risk", "sketched", "sketched_sem", "sketched_risk"}
}

// Records implements Table.
func (t *KernelRidgeTable) Records() [][]string {
	var records [][]string
	for _, r := range t.Rows {
		record := []string{r.Method, strconv.Itoa(r.Samples)}
		for _, v := range []float64{r.Product, r.ProductSEM, r.ProductBias2, r.Weighted, r.WeightedSEM, r.WeightedRisk, r.Sketched, r.SketchedSEM, r.SketchedRisk} {
			record = append(record, finite.Text(v))
		}
		records = append(records, record)
	}
	return records
}

// Figure implements Table: the errors of the product and of both regressions over the
// number of columns, one curve for each method.
func (t *KernelRidgeTable) Figure() *figure.Figure {
	const rounding = 1e-5 // all columns are drawn
	f := &figure.Figure{Title: fmt.Sprintf("Column sampling in kernel ridge regression, %d rows, %d draws", t.Nodes, t.Repeats)}
	for _, p := range []struct {
		title, y string
		value    func(KernelRidgeRow) (value, bar float64)
	}{
		{"product (bars: standard error)", "‖KSK − K²‖ / ‖K²‖", func(r KernelRidgeRow) (float64, float64) { return r.Product, r.ProductSEM }},
		{"weighted regression", "relative error of predictions", func(r KernelRidgeRow) (float64, float64) { return r.Weighted, r.WeightedSEM }},
		{"sketched regression", "relative error of predictions", func(r KernelRidgeRow) (float64, float64) { return r.Sketched, r.SketchedSEM }},
	} {
		panel := figure.Panel{Title: p.title, X: "columns drawn", Y: p.y, LogX: true, LogY: true}
		for _, r := range t.Rows {
			if n := len(panel.Lines); n == 0 || panel.Lines[n-1].Name != r.Method {
				panel.Lines = append(panel.Lines, figure.Series{Name: r.Method})
			}
			line := &panel.Lines[len(panel.Lines)-1]
			v, bar := p.value(r)
			if v < rounding {
				v = 0 // not drawn on a logarithmic axis
			}
			line.X, line.Y, line.Error = append(line.X, float64(r.Samples)), append(line.Y, v), append(line.Error, bar)
		}
		f.Panels = append(f.Panels, panel)
	}
	return f
}

var _ Table = (*KernelRidgeTable)(nil)
