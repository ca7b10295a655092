package reproduce

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/gcn-layerwise/gcn/internal/blas"
	"github.com/gcn-layerwise/gcn/internal/kernel"
	"github.com/gcn-layerwise/gcn/internal/machine"
	"github.com/gcn-layerwise/gcn/samplers"
	"github.com/gcn-layerwise/gcn/study"
)

const (
	scalingWidth     = 256 // p, columns of H and of W
	scalingDepth     = 4   // largest number of layers
	scalingNeighbors = 2   // b, neighbours a node
	scalingMethod    = "ladies-flat-debiased"
)

// scalingSettings is everything that the measurements depend on, also the machine.
type scalingSettings struct {
	Kind    string `json:"kind"`
	Data    string `json:"data"`
	Batch   int    `json:"batch"`
	Batches int    `json:"batches"`
	Seed    uint64 `json:"seed"`

	Fingerprint string          `json:"fingerprint"`
	Machine     machine.Machine `json:"machine"`
}

// scalingResult holds the costs of a layer over s, of models over their layers, and of
// sampling over the nodes of the graph.
type scalingResult struct {
	MaxDegree int         `json:"max_degree"` // c, the node itself included
	Sizes     []sizeCost  `json:"sizes"`
	Depths    []depthCost `json:"depths"`
	Graphs    []graphCost `json:"graphs"`
}

// sizeCost is the cost of one layer of s rows that draws s nodes: means over the
// mini-batches, medians of times.
type sizeCost struct {
	S           int     `json:"s"`
	NNZ         float64 `json:"nnz"`      // of P̃
	RowsNNZ     float64 `json:"rows_nnz"` // of the rows of P
	Sampling    float64 `json:"sampling_ms"`
	Aggregation float64 `json:"aggregation_ms"`
	Linear      float64 `json:"linear_ms"`
}

// depthCost counts the entries of P̃ and the rows that are multiplied by a weight, of
// all layers.
type depthCost struct {
	Layers                      int
	LayerWiseNNZ, LayerWiseRows float64
	NodeWiseNNZ, NodeWiseRows   float64
}

// graphCost is the time to sample one layer on a graph of some nodes, of the same
// mean degree.
type graphCost struct {
	Nodes    int     `json:"nodes"`
	Sampling float64 `json:"sampling_ms"`
}

// scale measures how costs grow.
func (r *runner) scale(ctx context.Context, j job) (any, error) {
	s := scalingSettings{Kind: string(j.kind), Data: j.spec, Batch: r.Batch, Batches: r.Batches, Seed: r.Seed, Fingerprint: r.fingerprint, Machine: machine.Describe()}
	if s.Batches == 0 {
		s.Batches = 50
	}
	result := new(scalingResult)
	return result, r.cell(ctx, j, s, result, []string{j.spec}, func() error {
		for i := range r.data.Nodes() {
			result.MaxDegree = max(result.MaxDegree, r.data.Graph.Degree(i)+1)
		}
		for size := 128; size <= 4096 && size <= len(r.data.Split.Train); size *= 2 {
			cost, err := r.costOfSize(ctx, s, size)
			if err != nil {
				return err
			}
			result.Sizes = append(result.Sizes, cost)
		}
		for layers := 1; layers <= scalingDepth; layers++ {
			cost, err := r.costOfDepth(ctx, s, layers)
			if err != nil {
				return err
			}
			result.Depths = append(result.Depths, cost)
		}
		for _, nodes := range []int{r.data.Nodes() / 8, r.data.Nodes() / 4, r.data.Nodes() / 2, r.data.Nodes()} {
			cost, err := r.costOfGraph(ctx, s, nodes)
			if err != nil {
				return err
			}
			result.Graphs = append(result.Graphs, cost)
		}
		r.log(fmt.Sprintf("%s: costs at %d sizes, %d depths and %d graphs", j.spec, len(result.Sizes), len(result.Depths), len(result.Graphs)))
		return nil
	})
}

// costOfSize measures one layer of size rows that draws as many nodes.
func (r *runner) costOfSize(ctx context.Context, s scalingSettings, size int) (sizeCost, error) {
	b, err := blas.Default()
	if err != nil {
		return sizeCost{}, err
	}
	const p = scalingWidth
	h, w := make([]float32, size*p), make([]float32, p*p)
	hw, out := make([]float32, size*p), make([]float32, size*p)
	for k := range h {
		h[k] = float32(k%7) / 7
	}
	for k := range w {
		w[k] = float32(k%5) / 5
	}
	cost := sizeCost{S: size}
	sampler, err := r.sampler(scalingMethod, []int{size}, 1, false)
	if err != nil {
		return cost, err
	}
	var sampling, aggregation, linear []float64
	for d, err := range draw(ctx, sampler, r.data.Split.Train, size, s.Batches, s.Seed) {
		if err != nil {
			return cost, err
		}
		block := d.batch.Blocks[0]
		start := time.Now()
		b.Sgemm(false, false, len(block.Src), p, p, 1, h, p, w, p, 0, hw, p)
		middle := time.Now()
		kernel.SpMM(out[:block.Matrix.Rows*p], &block.Matrix, hw, p)
		aggregation = append(aggregation, time.Since(middle).Seconds()*1e3)
		linear = append(linear, middle.Sub(start).Seconds()*1e3)
		sampling = append(sampling, d.ms)
		cost.NNZ += float64(block.Matrix.NNZ()) / float64(s.Batches)
		for _, v := range d.seeds {
			cost.RowsNNZ += float64(r.data.Graph.Degree(int(v))+1) / float64(s.Batches)
		}
	}
	cost.Sampling, cost.Aggregation, cost.Linear = study.Median(sampling), study.Median(aggregation), study.Median(linear)
	return cost, nil
}

// costOfDepth counts entries and rows of models of some layers.
func (r *runner) costOfDepth(ctx context.Context, s scalingSettings, layers int) (depthCost, error) {
	cost := depthCost{Layers: layers}
	for _, c := range []struct {
		method    string
		size      int
		nnz, rows *float64
	}{{scalingMethod, s.Batch, &cost.LayerWiseNNZ, &cost.LayerWiseRows}, {"neighbor", scalingNeighbors, &cost.NodeWiseNNZ, &cost.NodeWiseRows}} {
		sampler, err := r.sampler(c.method, []int{c.size}, layers, false)
		if err != nil {
			return cost, err
		}
		for d, err := range draw(ctx, sampler, r.data.Split.Train, s.Batch, s.Batches, s.Seed) {
			if err != nil {
				return cost, err
			}
			for _, block := range d.batch.Blocks {
				*c.nnz += float64(block.Matrix.NNZ()) / float64(s.Batches)
				*c.rows += float64(len(block.Src)) / float64(s.Batches)
			}
		}
	}
	return cost, nil
}

// costOfGraph times the sampling of one layer on a generated graph of the same mean
// degree.
func (r *runner) costOfGraph(ctx context.Context, s scalingSettings, nodes int) (cost graphCost, err error) {
	kind := "demo"
	if name, _ := paperDataset(s.Data); name != "" {
		kind = name
	} else if path, synthetic := strings.CutPrefix(s.Data, "synth:"); synthetic {
		kind, _, _ = strings.Cut(path, "?")
	}
	data, err := r.Options.Open(ctx, fmt.Sprintf("synth:%s?nodes=%d&features=1", kind, max(nodes, 16)))
	if err != nil {
		return graphCost{}, err
	}
	defer func() { err = cmp.Or(err, data.Close()) }()
	sampler, err := samplers.ByName(scalingMethod, samplers.Config{Laplacian: data.Laplacian(), Layers: 1, Sizes: []int{s.Batch}})
	if err != nil {
		return graphCost{}, err
	}
	times, err := sampleTimes(ctx, sampler, data.Split.Train, s.Batch, s.Batches, s.Seed)
	return graphCost{data.Nodes(), study.Median(times)}, err
}

func captionOfScaling(r *runner) string {
	return fmt.Sprintf("The paper's table holds bounds: O(scpL) and O(sp²L) layer-wise, O(sb^L p) and O(sb^(L−1)p²) node-wise. The numbers in brackets follow from them. "+
		"An exponent is the slope of a line through the logarithms, with its standard error; s = 128, 256, … 4096 rows and nodes drawn of %s, p = %d, b = %d, "+
		"L up to %d with mini-batches of %d. N: generated graphs of the same mean degree, an eighth of the nodes to all. "+
		"Where neighbourhoods overlap, node-wise layers grow more slowly than the bound; node-wise rows keep the node itself, so the bound's b is b + 1 = %d here.",
		scalingMethod, scalingWidth, scalingNeighbors, scalingDepth, r.Batch, scalingNeighbors+1)
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

// fillScaling makes the table of exponents.
func fillScaling(r *runner, c task, report *Report) {
	for _, spec := range c.data {
		result := resultOf[scalingResult](r, job{kind: scaling, spec: spec})
		if result == nil {
			continue
		}
		add := func(label, quantity string, n int, value, se, theory float64) {
			report.Rows = append(report.Rows, Row{
				Dataset: spec, Label: label, Quantity: quantity, N: n, Mean: value, SEM: se, Paper: &PaperValue{Mean: theory},
				line: label + ": " + quantity, column: columnName(spec), bySEM: true,
			})
		}
		fit := func(label, quantity string, x, y []float64, theory float64) {
			line := exponent(x, y)
			if line.N < 3 {
				return // too few sizes on a small graph
			}
			add(label, quantity, line.N, line.Slope, line.SlopeSE, theory)
		}
		var s, nnz, rowsNNZ, sampled, aggregated, linear, share []float64
		for _, z := range result.Sizes {
			s, nnz, rowsNNZ = append(s, float64(z.S)), append(nnz, z.NNZ), append(rowsNNZ, z.RowsNNZ)
			sampled, aggregated, linear = append(sampled, z.Sampling), append(aggregated, z.Aggregation), append(linear, z.Linear)
			share = append(share, z.NNZ/float64(z.S)/float64(result.MaxDegree))
		}
		if len(s) > 0 {
			fit("layer-wise aggregation", "exponent of the time in nnz", nnz, aggregated, 1)
			fit("layer-wise aggregation", "exponent of nnz in s", s, nnz, 1)
			add("layer-wise aggregation", "largest nnz over its bound sc", len(share), slices.Max(share), 0, 1)
			fit("layer-wise linear transformation", "exponent of the time in s", s, linear, 1)
			last := len(s) - 1
			add("layer-wise", fmt.Sprintf("time of aggregation over linear transformation, s = %.0f", s[last]), 1, aggregated[last]/linear[last], 0, 1)
			fit("sampling", "exponent of the time in nnz of the rows", rowsNNZ, sampled, 1)
		}
		var depth, layerNNZ, layerRows, nodeNNZ, nodeRows []float64
		for _, d := range result.Depths {
			depth = append(depth, float64(d.Layers))
			layerNNZ, layerRows = append(layerNNZ, d.LayerWiseNNZ), append(layerRows, d.LayerWiseRows)
			nodeNNZ, nodeRows = append(nodeNNZ, d.NodeWiseNNZ), append(nodeRows, d.NodeWiseRows)
		}
		fit("layer-wise aggregation", "exponent of nnz in L", depth, layerNNZ, 1)
		fit("layer-wise linear transformation", "exponent of the rows in L", depth, layerRows, 1)
		add("node-wise aggregation", "largest growth of nnz with one more layer", len(depth), growth(nodeNNZ), 0, scalingNeighbors+1)
		add("node-wise linear transformation", "largest growth of the rows with one more layer", len(depth), growth(nodeRows), 0, scalingNeighbors+1)
		var nodes, times []float64
		for _, g := range result.Graphs {
			nodes, times = append(nodes, float64(g.Nodes)), append(times, g.Sampling)
		}
		fit("sampling", "exponent of the time in N", nodes, times, 0)
	}
}

// growth returns the largest ratio of the own costs of two successive layers.
func growth(totals []float64) float64 {
	largest := 0.0
	for k := 2; k < len(totals); k++ {
		largest = max(largest, (totals[k]-totals[k-1])/(totals[k-1]-totals[k-2]))
	}
	return largest
}
