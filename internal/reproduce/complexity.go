package reproduce

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/gcn-layerwise/gcn/internal/bench"
	"github.com/gcn-layerwise/gcn/internal/blas"
	"github.com/gcn-layerwise/gcn/internal/kernel"
	"github.com/gcn-layerwise/gcn/samplers"
	"github.com/gcn-layerwise/gcn/study"
)

const (
	scalingWidth     = 256 // p, columns of H and of W
	scalingDepth     = 4   // largest number of layers
	scalingNeighbors = 2   // b, neighbours a node
	scalingMethod    = "ladies-flat-debiased"
)

// scalingResult holds columns of costs: of one layer of s rows that draws s nodes, means over
// the mini-batches and medians of times, and of all layers of models over their number of layers.
type scalingResult struct {
	MaxDegree int                  `json:"max_degree"` // c, the node itself included
	Columns   map[string][]float64 `json:"columns"`
}

// add adds a number at the end of a column.
func (r *scalingResult) add(column string, v float64) {
	r.Columns[column] = append(r.Columns[column], v)
}

// scale measures how costs grow.
func (r *runner) scale(ctx context.Context, k key) (any, error) {
	result := &scalingResult{Columns: map[string][]float64{}}
	for i := range r.data.Nodes() {
		result.MaxDegree = max(result.MaxDegree, r.data.Graph.Degree(i)+1)
	}
	for size := 128; size <= 4096 && size <= len(r.data.Split.Train); size *= 2 {
		if err := r.costOfSize(ctx, k, size, result); err != nil {
			return nil, err
		}
	}
	for layers := 1; layers <= scalingDepth; layers++ {
		result.add("layers", float64(layers))
		err := errors.Join(
			r.costOfDepth(ctx, k, "layer-wise", scalingMethod, k.Batch, layers, result),
			r.costOfDepth(ctx, k, "node-wise", "neighbor", scalingNeighbors, layers, result),
		)
		if err != nil {
			return nil, err
		}
	}
	return result, nil
}

// draw calls visit with mini-batches of a cell, of size training nodes. A batch is valid until
// the next one.
func (r *runner) draw(ctx context.Context, k key, sampler samplers.Sampler, size int, visit func(nodes []int32, batch *samplers.MiniBatch)) error {
	var batch samplers.MiniBatch
	for i := range k.Batches {
		rng := rand.New(samplers.NewSource(k.Seed, 0, uint64(i)))
		nodes := study.RandomBatch(rng, r.data.Split.Train, size)
		if err := sampler.Sample(ctx, nodes, rng, &batch); err != nil {
			return err
		}
		visit(nodes, &batch)
	}
	return nil
}

// costOfSize measures one layer of size rows that draws as many nodes.
func (r *runner) costOfSize(ctx context.Context, k key, size int, result *scalingResult) error {
	const p = scalingWidth
	h, w := slices.Repeat([]float32{0.5}, size*p), slices.Repeat([]float32{0.5}, p*p)
	hw, out := make([]float32, size*p), make([]float32, size*p)
	b, err := blas.Default()
	if err != nil {
		return err
	}
	sampler, err := r.sampler(scalingMethod, []int{size}, 1)
	if err != nil {
		return err
	}
	report, err := bench.Sampling(ctx, []samplers.Sampler{sampler}, r.data, size, k.Batches, k.Seed)
	if err != nil {
		return err
	}
	var aggregation, linear []float64
	var rows float64
	err = r.draw(ctx, k, sampler, size, func(nodes []int32, batch *samplers.MiniBatch) {
		block := batch.Blocks[0]
		start := time.Now()
		b.Sgemm(false, false, len(block.Src), p, p, 1, h, p, w, p, 0, hw, p)
		middle := time.Now()
		kernel.SpMM(out[:block.Matrix.Rows*p], &block.Matrix, hw, p)
		linear, aggregation = append(linear, middle.Sub(start).Seconds()*1e3), append(aggregation, time.Since(middle).Seconds()*1e3)
		for _, v := range nodes {
			rows += float64(r.data.Graph.Degree(int(v))+1) / float64(k.Batches)
		}
	})
	result.add("s", float64(size))
	result.add("nnz", report[0].NNZ) // of P̃
	result.add("rows nnz", rows)     // of the rows of P
	result.add("sampling ms", report[0].MedianMS)
	result.add("aggregation ms", study.Median(aggregation))
	result.add("linear ms", study.Median(linear))
	return err
}

// costOfDepth counts the entries of P̃ and the rows that are multiplied by a weight, of all
// layers of a model. name begins the names of the columns.
func (r *runner) costOfDepth(ctx context.Context, k key, name, method string, size, layers int, result *scalingResult) error {
	sampler, err := r.sampler(method, []int{size}, layers)
	if err != nil {
		return err
	}
	var nnz, rows float64
	err = r.draw(ctx, k, sampler, k.Batch, func(_ []int32, batch *samplers.MiniBatch) {
		for _, block := range batch.Blocks {
			nnz += float64(block.Matrix.NNZ()) / float64(k.Batches)
			rows += float64(len(block.Src)) / float64(k.Batches)
		}
	})
	result.add(name+" nnz", nnz)
	result.add(name+" rows", rows)
	return err
}

// exponent fits y ∝ x^e.
func exponent(x, y []float64) study.Line {
	var fit study.Regression
	for k := range x {
		if x[k] > 0 && y[k] > 0 {
			fit.Add(math.Log(x[k]), math.Log(y[k]))
		}
	}
	return fit.Line()
}

// addScaling adds the exponents of one data set.
func (r *runner) addScaling(spec string, report *Report) {
	result := resultOf[scalingResult](r, r.timed(key{Kind: scalingCell, Data: spec}, 50))
	if result == nil {
		return
	}
	add := func(label string, of measure, more string, n int, value, se, theory float64) {
		quantity := string(of) + more
		report.Rows = append(report.Rows, Row{
			Dataset: spec, Label: label, Quantity: quantity, is: is{Of: of}, N: n, Mean: value, SEM: se, Paper: &PaperValue{Mean: theory},
			line: label + ": " + quantity, column: columnName(spec),
		})
	}
	c := result.Columns
	fit := func(label string, of measure, x, y string, theory float64) {
		if line := exponent(c[x], c[y]); line.N >= 3 { // a small graph has too few sizes
			add(label, of, "", line.N, line.Slope, line.SlopeSE, theory)
		}
	}
	const aggregation, linear = "layer-wise aggregation", "layer-wise linear transformation"
	if n := len(c["s"]); n > 0 {
		fit(aggregation, "exponent of the time in nnz", "nnz", "aggregation ms", 1)
		fit(aggregation, "exponent of nnz in s", "s", "nnz", 1)
		share := 0.0
		for k, s := range c["s"] {
			share = max(share, c["nnz"][k]/s/float64(result.MaxDegree))
		}
		add(aggregation, "largest nnz over its bound sc", "", n, share, 0, 1)
		fit(linear, "exponent of the time in s", "s", "linear ms", 1)
		add("layer-wise", "time of aggregation over linear transformation", fmt.Sprintf(", s = %.0f", c["s"][n-1]), 1, c["aggregation ms"][n-1]/c["linear ms"][n-1], 0, 1)
		fit("sampling", "exponent of the time in nnz of the rows", "rows nnz", "sampling ms", 1)
	}
	fit(aggregation, "exponent of nnz in L", "layers", "layer-wise nnz", 1)
	fit(linear, "exponent of the rows in L", "layers", "layer-wise rows", 1)
	add("node-wise aggregation", "largest growth of nnz with one more layer", "", scalingDepth, growth(c["node-wise nnz"]), 0, scalingNeighbors+1)
	add("node-wise linear transformation", "largest growth of the rows with one more layer", "", scalingDepth, growth(c["node-wise rows"]), 0, scalingNeighbors+1)
}

// growth returns the largest ratio of the own costs of two successive layers.
func growth(totals []float64) float64 {
	largest := 0.0
	for k := 2; k < len(totals); k++ {
		largest = max(largest, (totals[k]-totals[k-1])/(totals[k-1]-totals[k-2]))
	}
	return largest
}
