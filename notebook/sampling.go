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
	"github.com/gcn-layerwise/gcn/internal/finite"
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
	Layer      int // counted from the input, from 1
	Rows       float64
	Candidates float64 // columns of QP that are not zero
	Drawn      float64 // input nodes of the block
	Entries    float64 // of P̃
	Full       float64 // entries of the same rows of P

	// Error is ‖P̃H − QPH‖_F / ‖QPH‖_F over the mini-batches, H being the features;
	// zero without features. It ignores a block's control.
	Error study.Spread

	// Factors are log₁₀ of P̃[i][j]/P[i][j] over the entries of P̃. The factor is the
	// weight of a kept edge: it also counts for edges that were not kept.
	Factors study.Histogram
}

// SamplingReport is the outcome of a Sampling. It is a study.Table.
type SamplingReport struct {
	Layers  []SamplingLayer // next to the output first, in the order of drawing
	Batch   int
	Batches int
	Seed    uint64
}

var _ study.Table = (*SamplingReport)(nil)

// Run draws and measures. Cost: for each mini-batch one call of the sampler, and
// with features two products of each layer's rows with them.
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
	if s.Batch <= 0 {
		s.Batch = 512
	}
	if s.Batches <= 0 {
		s.Batches = 10
	}
	depth := s.Sampler.Layers()
	tallies := make([]tally, depth)
	var batch samplers.MiniBatch
	for k := range s.Batches {
		rng := rand.New(samplers.NewSource(s.Seed, 0, uint64(k)))
		if err := s.Sampler.Sample(ctx, study.RandomBatch(rng, s.Nodes, s.Batch), rng, &batch); err != nil {
			return nil, fmt.Errorf("notebook: mini-batch %d: %w", k, err)
		}
		for l, block := range batch.Blocks {
			tallies[l].add(s.Laplacian, s.Features, block)
		}
	}
	report := &SamplingReport{Batch: s.Batch, Batches: s.Batches, Seed: s.Seed}
	for l := depth - 1; l >= 0; l-- {
		report.Layers = append(report.Layers, tallies[l].layer(l+1, s.Batches))
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

// tally adds up one layer.
type tally struct {
	rows, candidates, drawn, entries, full int64
	errors, factors                        []float64

	seen map[int32]bool
}

func (t *tally) add(p *graph.Laplacian, x *graph.Features, block *graph.Block) {
	t.rows += int64(len(block.Dst))
	t.drawn += int64(len(block.Src))
	t.entries += block.Matrix.NNZ()
	if t.seen == nil {
		t.seen = map[int32]bool{}
	}
	clear(t.seen)
	for i, row := range block.Dst {
		t.full += int64(p.RowNNZ(int(row)))
		t.seen[row] = true
		for _, j := range p.Adjacency.Row(int(row)) {
			t.seen[j] = true
		}
		values := block.Matrix.RowValues(i)
		for k, local := range block.Matrix.Row(i) {
			v := 1.0
			if values != nil {
				v = float64(values[k])
			}
			if exact := float64(entry(p, row, block.Src[local])); exact != 0 && v/exact > 0 {
				t.factors = append(t.factors, math.Log10(v/exact))
			}
		}
	}
	t.candidates += int64(len(t.seen))
	if x != nil {
		t.errors = append(t.errors, relativeError(p, x, block))
	}
}

// entry returns P[i][j] in O(1), or O(degree) on a weighted graph.
func entry(p *graph.Laplacian, i, j int32) float32 {
	if p.Adjacency.Val != nil {
		return p.At(int(i), int(j))
	}
	return p.RowScale[i] * p.ColScale[j] // the sampler draws only edges
}

// relativeError returns ‖P̃X − QPX‖_F / ‖QPX‖_F of one block.
func relativeError(p *graph.Laplacian, x *graph.Features, block *graph.Block) float64 {
	exact := make([]float32, len(block.Dst)*x.Cols)
	kernel.PropagateRows(exact, p, block.Dst, x.Data, x.Cols, nil)
	estimate := make([]float32, len(exact))
	kernel.SpMMGather(estimate, &block.Matrix, block.Src, x.Data, x.Cols)
	var off, all float64
	for k, v := range exact {
		d := float64(estimate[k]) - float64(v)
		off += d * d
		all += float64(v) * float64(v)
	}
	if all == 0 {
		return 0
	}
	return math.Sqrt(off / all)
}

func (t *tally) layer(number, batches int) SamplingLayer {
	mean := func(n int64) float64 { return float64(n) / float64(batches) }
	return SamplingLayer{
		Layer: number, Rows: mean(t.rows), Candidates: mean(t.candidates), Drawn: mean(t.drawn),
		Entries: mean(t.entries), Full: mean(t.full),
		Error: study.NewSpread(t.errors), Factors: study.NewHistogram(t.factors, 40, 0.001),
	}
}

// Header implements study.Table.
func (r *SamplingReport) Header() []string {
	return []string{"layer", "rows", "candidates", "drawn", "entries", "full_entries", "error", "error_sem", "factor_median", "factor_max"}
}

// Records implements study.Table.
func (r *SamplingReport) Records() [][]string {
	var records [][]string
	for _, l := range r.Layers {
		record := []string{fmt.Sprint(l.Layer)}
		for _, v := range []float64{
			l.Rows, l.Candidates, l.Drawn, l.Entries, l.Full, l.Error.Mean, l.Error.SEM,
			math.Pow(10, l.Factors.Median), math.Pow(10, l.Factors.Max),
		} {
			record = append(record, finite.Text(v))
		}
		records = append(records, record)
	}
	return records
}

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
	s := NewSheet(fmt.Sprintf("Means over %d mini-batches of %d nodes", r.Batches, r.Batch),
		"layer", "rows", "candidates", "nodes drawn", "entries of P̃", "of all", "relative error", "median factor", "largest")
	for _, l := range r.Layers {
		s.Add(l.Layer, math.Round(l.Rows), math.Round(l.Candidates), math.Round(l.Drawn), math.Round(l.Entries), math.Round(l.Full),
			l.Error, math.Pow(10, l.Factors.Median), math.Pow(10, l.Factors.Max))
	}
	return s
}

// Chart draws the histograms of the factors.
func (r *SamplingReport) Chart() *Chart { return Plot(r) }
