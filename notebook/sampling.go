package notebook

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/gcn-layerwise/gcn/graph"
	"github.com/gcn-layerwise/gcn/internal/argument"
	"github.com/gcn-layerwise/gcn/internal/kernel"
	"github.com/gcn-layerwise/gcn/internal/memory"
	"github.com/gcn-layerwise/gcn/samplers"
	"github.com/gcn-layerwise/gcn/study"
	"github.com/gcn-layerwise/gcn/study/figure"
)

// Sampling shows the draws of any sampler before training: some mini-batches, layer
// by layer. It gives a first impression. study.ApproxError compares methods, and
// separates bias and variance.
type Sampling struct {
	Sampler   samplers.Sampler // required
	Laplacian *graph.Laplacian // P, of the whole graph; required
	Features  *graph.Features  // H for the errors, in every layer; nil: no errors
	Nodes     []int32          // mini-batches are drawn from these; required

	Batch   int // nodes in a mini-batch; 0 means 512
	Batches int // 0 means 10
	Seed    uint64
}

// SamplingLayer describes one layer by means over the mini-batches.
type SamplingLayer struct {
	Layer      int     `json:"layer"` // counted from the input, from 1
	Rows       float64 `json:"rows"`
	Candidates float64 `json:"candidates"`   // columns of QP that are not zero
	Drawn      float64 `json:"drawn"`        // input nodes of the block
	Entries    float64 `json:"entries"`      // of P̃
	Full       float64 `json:"full_entries"` // entries of the same rows of P

	// Error is the mean of ‖P̃H − QPH‖_F / ‖QPH‖_F, H being the features, with its standard
	// error; zero without features. It ignores a block's control.
	Error    float64 `json:"error"`
	ErrorSEM float64 `json:"error_sem"`

	// The factor P̃[i][j]/P[i][j] is the weight of a kept edge: it also counts for edges that
	// were not kept. Factors are log₁₀ of it over the entries of P̃.
	FactorMedian float64 `json:"factor_median"`
	FactorMax    float64 `json:"factor_max"`
	Factors      study.Histogram
}

// SamplingReport is the outcome of a Sampling. It is a study.Table.
type SamplingReport struct {
	Layers  []SamplingLayer // next to the output first, in the order of drawing
	Batch   int
	Batches int
	Seed    uint64
}

// Run draws and measures. Cost: for each mini-batch one call of the sampler, its blocks over
// full neighbourhoods, and with features two products of each layer's rows with them.
func (s Sampling) Run(ctx context.Context) (*SamplingReport, error) {
	if err := s.check(ctx); err != nil {
		return nil, err
	}
	if x := s.Features; x != nil && x.Data == nil {
		if err := memory.Check("notebook: the features, dense", memory.Product(4, int64(x.Rows), int64(x.Cols))); err != nil {
			return nil, err
		}
		s.Features = &graph.Features{Rows: x.Rows, Cols: x.Cols, Data: x.Float32s()}
	}
	report := &SamplingReport{Batch: cmp.Or(max(s.Batch, 0), 512), Batches: cmp.Or(max(s.Batches, 0), 10), Seed: s.Seed}
	depth := s.Sampler.Layers()
	report.Layers = make([]SamplingLayer, depth)
	errs, factors := make([][]float64, depth), make([][]float64, depth)
	full := &samplers.Full{Laplacian: s.Laplacian, Depth: 1}
	if err := samplers.Prepare(full); err != nil {
		return nil, err
	}
	var batch, exact samplers.MiniBatch
	for k := range report.Batches {
		rng := rand.New(samplers.NewSource(s.Seed, 0, uint64(k)))
		err := s.Sampler.Sample(ctx, study.RandomBatch(rng, s.Nodes, report.Batch), rng, &batch)
		for l := 0; l < depth && err == nil; l++ {
			block := batch.Blocks[depth-1-l]
			if err = full.Sample(ctx, block.Dst, nil, &exact); err != nil {
				break
			}
			report.Layers[l].add(block, exact.Blocks[0], report.Batches)
			factors[l] = s.appendFactors(factors[l], block)
			if s.Features != nil {
				errs[l] = append(errs[l], relativeError(s.Features, block, exact.Blocks[0]))
			}
		}
		if err != nil {
			return nil, fmt.Errorf("notebook: mini-batch %d: %w", k, err)
		}
	}
	for l := range report.Layers {
		layer, spread := &report.Layers[l], study.NewSpread(errs[l])
		layer.Layer, layer.Error, layer.ErrorSEM = depth-l, spread.Mean, spread.SEM
		layer.Factors = study.NewHistogram(factors[l], 40, 0.001)
		layer.FactorMedian, layer.FactorMax = math.Pow(10, layer.Factors.Median), math.Pow(10, layer.Factors.Max)
	}
	return report, nil
}

// check reports the first field that is missing or does not fit.
func (s *Sampling) check(ctx context.Context) error {
	if ctx == nil || argument.Nil(s.Sampler) || s.Laplacian == nil || len(s.Nodes) == 0 {
		return errors.New("notebook: Sampling needs a context, a sampler, a Laplacian and nodes")
	}
	if err := cmp.Or(s.Laplacian.Validate(), samplers.Prepare(s.Sampler)); err != nil {
		return fmt.Errorf("notebook: %w", err)
	}
	n := s.Laplacian.Nodes()
	for k, i := range s.Nodes {
		if i < 0 || int(i) >= n {
			return fmt.Errorf("notebook: node %d of Nodes is %d, outside [0, %d)", k, i, n)
		}
	}
	if x := s.Features; x != nil && (x.Rows != n || x.Cols < 1 || x.Share != nil || !x.Sized()) {
		return fmt.Errorf("notebook: features of %d×%d with %d values for a graph of %d nodes", x.Rows, x.Cols, x.Len(), n)
	}
	return nil
}

// add adds the share of one of some mini-batches to the means. exact is the block over full
// neighbourhoods.
func (l *SamplingLayer) add(block, exact *graph.Block, batches int) {
	n := float64(batches)
	l.Rows += float64(len(block.Dst)) / n
	l.Candidates += float64(len(exact.Src)) / n
	l.Drawn += float64(len(block.Src)) / n
	l.Entries += float64(block.Matrix.NNZ()) / n
	l.Full += float64(exact.Matrix.NNZ()) / n
}

// appendFactors appends log₁₀ of the factors of a block's entries.
func (s *Sampling) appendFactors(factors []float64, block *graph.Block) []float64 {
	p := s.Laplacian
	for i, row := range block.Dst {
		values := block.Matrix.RowValues(i)
		for k, local := range block.Matrix.Row(i) {
			v, j := 1.0, block.Src[local]
			if values != nil {
				v = float64(values[k])
			}
			exact := p.RowScale[row] * p.ColScale[j] // the sampler draws only edges
			if p.Adjacency.Val != nil {
				exact = p.At(int(row), int(j)) // O(degree)
			}
			if exact != 0 && v/float64(exact) > 0 {
				factors = append(factors, math.Log10(v/float64(exact)))
			}
		}
	}
	return factors
}

// relativeError returns ‖P̃X − QPX‖_F / ‖QPX‖_F of one block.
func relativeError(x *graph.Features, block, exact *graph.Block) float64 {
	products := [2][]float32{}
	for k, b := range []*graph.Block{block, exact} {
		products[k] = make([]float32, len(b.Dst)*x.Cols)
		kernel.SpMMGather(products[k], &b.Matrix, b.Src, x.Data, x.Cols)
	}
	var off, all float64
	for k, v := range products[1] {
		d := float64(products[0][k]) - float64(v)
		off += d * d
		all += float64(v) * float64(v)
	}
	if all == 0 {
		return 0
	}
	return math.Sqrt(off / all)
}

// Header implements study.Table.
func (r *SamplingReport) Header() []string { return study.Header(r.Layers) }

// Records implements study.Table.
func (r *SamplingReport) Records() [][]string { return study.Records(r.Layers) }

// Figure implements study.Table: the histogram of the factors, layer by layer.
func (r *SamplingReport) Figure() *figure.Figure {
	f := &figure.Figure{Title: "Factors of the kept edges"}
	for _, l := range r.Layers {
		panel := l.Factors.Panel(fmt.Sprintf("layer %d, counted from the input", l.Layer), "log₁₀ of the factor", "edges")
		panel.Caption = "" // the mean of logarithms says little
		f.Panels = append(f.Panels, panel)
	}
	return f
}

// Sheet returns the report as a table, a row a layer.
func (r *SamplingReport) Sheet() *Sheet {
	s, err := Tabulate(fmt.Sprintf("Means over %d mini-batches of %d nodes", r.Batches, r.Batch), r)
	Must(err) // all columns are there
	return s
}

// Chart draws the histograms of the factors.
func (r *SamplingReport) Chart() *Chart { return Plot(r) }
