package study

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/gcn-layerwise/gcn/graph"
	"github.com/gcn-layerwise/gcn/internal/kernel"
	"github.com/gcn-layerwise/gcn/samplers"
)

// repeatOutcome holds the results of one batch.
type repeatOutcome struct {
	norm       float64 // ‖QPHW‖_F
	signal     float64 // ‖QPHW − its mean row‖_F
	noise      float64 // ‖QP·noise‖_F
	candidates int
	contests   []contestOutcome
}

// contestOutcome holds means over the draws of one batch.
type contestOutcome struct {
	norm    float64 // ‖D‖_F
	squared float64 // ‖D‖²_F
	cross   float64 // ⟨D_k, D_l⟩ over pairs k < l
	drawn   float64

	each []float64 // ‖D‖²_F of each draw
}

// errorWorker is the memory of one goroutine.
type errorWorker struct {
	study        *ApproxError
	full         samplers.Full
	exact, batch samplers.MiniBatch
	scratch      []int32
	truths       map[*graph.Features][]float32 // QP times Product, each change and the noise
	guess, sum   []float32
	aim, rows    []float32 // of a sample with rescaled noise: QPHW, and the rows that it reads
	source       *rand.PCG
	rng          *rand.Rand
}

func newErrorWorker(s *ApproxError) *errorWorker {
	source := samplers.NewSource(s.Seed, 0, 0)
	return &errorWorker{
		study: s, full: samplers.Full{Laplacian: s.Laplacian, Depth: 1}, scratch: newBatchScratch(s.Nodes), truths: map[*graph.Features][]float32{},
		source: source, rng: rand.New(source),
	}
}

// sized returns a buffer of n values, in the memory of x if it is large enough.
func sized(x []float32, n int) []float32 { return slices.Grow(x[:0], n)[:n] }

// begin returns the rows Q of batch number r, and sets exact to their block of P.
func (w *errorWorker) begin(ctx context.Context, r int) ([]int32, error) {
	samplers.Seed(w.source, w.study.Seed, uint64(r), 0)
	seeds := drawBatch(w.rng, w.study.Nodes, w.study.Batch, w.scratch)
	for _, above := range w.study.Below {
		if err := above.Sample(ctx, seeds, w.rng, &w.batch); err != nil {
			return nil, err
		}
		seeds = slices.Clone(w.batch.Inputs())
	}
	if err := samplers.Prepare(&w.full); err != nil { // does nothing from the second batch on
		return nil, err
	}
	return seeds, w.full.Sample(ctx, seeds, nil, &w.exact)
}

// repeat measures every contest on batch number r.
func (w *errorWorker) repeat(ctx context.Context, r int, contests []contest, out *repeatOutcome) error {
	seeds, err := w.begin(ctx, r)
	if err != nil {
		return err
	}
	s, size := w.study, len(seeds)*w.study.Product.Cols
	w.guess, w.sum = sized(w.guess, size), sized(w.sum, size)
	for _, product := range slices.Concat(s.changes, []*graph.Features{s.Product, s.noise}) {
		if product != nil {
			w.truths[product] = sized(w.truths[product], size)
			w.propagate(w.truths[product], w.exact.Blocks[0], product)
		}
	}
	out.noise = math.Sqrt(squaredNorm(w.truths[s.noise]))
	out.norm = math.Sqrt(squaredNorm(w.truths[s.Product]))
	out.signal = math.Sqrt(squaredSpread(w.truths[s.Product], s.Product.Cols))
	out.candidates = len(w.exact.Blocks[0].Src)
	out.contests = make([]contestOutcome, len(contests))
	for c := range contests {
		if err := w.contest(ctx, r, seeds, &contests[c], &out.contests[c]); err != nil {
			return err
		}
	}
	return nil
}

// rescaled sets guess to P̃ times product, whose noise it multiplies by block's NoiseScale c:
// P̃(product + (c − 1)⊙noise). It returns QP times product, without the noise.
func (w *errorWorker) rescaled(block *graph.Block, product *graph.Features) []float32 {
	cols, noise := product.Cols, w.study.noise
	w.rows = sized(w.rows, len(block.Src)*cols)
	for k, v := range block.Src {
		row, noisy := w.rows[k*cols:][:cols], noise.Row(int(v))
		for j, x := range product.Row(int(v)) {
			row[j] = x + (block.NoiseScale[k]-1)*noisy[j]
		}
	}
	kernel.SpMM(w.guess[:block.Matrix.Rows*cols], &block.Matrix, w.rows, cols)
	w.aim = append(w.aim[:0], w.truths[product]...)
	for k, v := range w.truths[noise] {
		w.aim[k] -= v
	}
	return w.aim
}

func (w *errorWorker) contest(ctx context.Context, r int, seeds []int32, c *contest, out *contestOutcome) error {
	clear(w.sum)
	draws := w.study.Draws
	var squares float64
	for k := range draws {
		samplers.Seed(w.source, w.study.Seed+uint64(k), uint64(r)+1, c.stream)
		if err := c.sampler.Sample(ctx, seeds, w.rng, &w.batch); err != nil {
			return fmt.Errorf("study: %s at %d: %w", c.method, c.size, err)
		}
		block := w.batch.Blocks[0]
		if !slices.Equal(block.Dst, seeds) {
			return fmt.Errorf("study: %s draws its output nodes itself, so its error cannot be compared on given batches", c.method)
		}
		// With a control, the error P̃(H − H̄)W + PH̄W − PHW equals the error of the change alone.
		product := w.study.Product
		if c.history >= 0 {
			product = w.study.changes[c.history]
		} else if block.Control != nil {
			return fmt.Errorf("study: %s samples the change since earlier activations: it needs a history of them", c.method)
		}
		truth := w.truths[product]
		if len(block.NoiseScale) > 0 && w.study.noise != nil {
			truth = w.rescaled(block, product)
		} else {
			w.propagate(w.guess, block, product)
		}
		squared := w.subtract(truth)
		squares += squared
		out.each = append(out.each, squared)
		out.norm += math.Sqrt(squared) / float64(draws)
		out.drawn += float64(len(block.Src)) / float64(draws)
	}
	n := float64(draws)
	out.squared = squares / n
	out.cross = (squaredNorm(w.sum) - squares) / (n * (n - 1))
	return nil
}

// propagate writes P̃C of a block to dst.
func (w *errorWorker) propagate(dst []float32, block *graph.Block, c *graph.Features) {
	kernel.SpMMGather(dst[:block.Matrix.Rows*c.Cols], &block.Matrix, block.Src, c.Data, c.Cols)
}

// subtract adds D = guess − truth to sum and returns ‖D‖²_F.
func (w *errorWorker) subtract(truth []float32) float64 {
	var squares float64
	for k, y := range w.guess {
		d := y - truth[k]
		w.sum[k] += d
		squares += float64(d) * float64(d)
	}
	return squares
}

func squaredNorm(x []float32) float64 {
	var sum float64
	for _, v := range x {
		sum += float64(v) * float64(v)
	}
	return sum
}

// squaredSpread returns ‖X − 1⊗x̄‖²_F for X of the given number of columns and
// mean row x̄.
func squaredSpread(x []float32, columns int) float64 {
	means := make([]float64, columns)
	for k, v := range x {
		means[k%columns] += float64(v)
	}
	rows := float64(len(x) / columns)
	sum := squaredNorm(x)
	for _, m := range means {
		sum -= m * m / rows
	}
	return max(sum, 0)
}
