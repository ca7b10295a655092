package study

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"

	"github.com/gcn-layerwise/gcn/graph"
	"github.com/gcn-layerwise/gcn/internal/argument"
	"github.com/gcn-layerwise/gcn/internal/kernel"
	"github.com/gcn-layerwise/gcn/internal/parallel"
	"github.com/gcn-layerwise/gcn/samplers"
)

// ApproxError measures the matrix approximation error of sampling methods on
// one propagation (Chen et al. 2023, §4.3),
//
//	‖QPHW − QPSHW‖_F,
//
// with Q the rows of a random mini-batch, S the sampling matrix, and fixed H and
// W. All methods get the same batches.
//
// For a given batch let D = QPSHW − QPHW. Draws ≥ 2 samples are drawn from each
// batch. They separate the bias and variance parts of E‖D‖²: two independent draws
// have E⟨D₁, D₂⟩ = ‖E D‖² exactly.
type ApproxError struct {
	Laplacian *graph.Laplacian // required
	Product   *graph.Features  // HW, one row a node; required
	Nodes     []int32          // batches are drawn from these; required
	Methods   []Contender      // required
	Sizes     []int            `default:"[256,512,768,1024,1536,2048]"` // sample sizes; the default is the paper's

	Batch   int    `default:"512" least:"1"` // nodes in a batch
	Repeats int    `default:"200" least:"2"` // batches
	Draws   int    `default:"2" least:"2"`   // draws from each batch
	Seed    uint64 // of batches and draws

	Progress func(done, total int) // called after each batch, if not nil; calls do not overlap

	// below are prepared samplers that lead from each batch to the rows of a deeper layer.
	// The nodes that the first sampler draws for the batch are the rows of the
	// second. The nodes that the last sampler draws are the rows Q.
	below []samplers.Sampler
}

// ErrorRow is the error of one method at one sample size.
type ErrorRow struct {
	Method  string `json:"method" show:"method"`
	Samples int    `json:"samples" show:"samples"`

	Mean float64 `json:"mean" show:"error|%.4g"` // of ‖D‖_F over the repeats
	SEM  float64 `json:"sem" show:"± sem|%.2g"`  // standard error of Mean

	// Bias² + SD² is the mean of ‖D‖²_F. Bias² estimates ‖E D‖²_F, and SD²
	// estimates the variance E‖D − E D‖²_F; expectations are over the draws of one
	// batch, and both are averaged over the batches. The estimate of Bias² is
	// unbiased, so it may be negative if there is no bias; Bias is 0 then.
	Bias float64 `json:"bias" show:"bias|%.4g"`
	SD   float64 `json:"sd" show:"sd|%.4g"`

	Bias2    float64 `json:"bias2"`                         // estimate of ‖E D‖²_F, of either sign
	Bias2SEM float64 `json:"bias2_sem"`                     // its standard error
	Variance float64 `json:"variance"`                      // estimate of E‖D − E D‖²_F
	ErrorSD  float64 `json:"error_sd"`                      // standard deviation of ‖D‖_F over the repeats
	Relative float64 `json:"relative" show:"relative|%.3f"` // Mean / mean of ‖QPHW‖_F
	Drawn    float64 `json:"drawn"`                         // mean number of distinct nodes drawn
}

// ErrorTable is the outcome of an ApproxError.
type ErrorTable struct {
	Rows       []ErrorRow `json:"rows"` // methods in the order given, then sizes
	Batch      int        `json:"batch"`
	Repeats    int        `json:"repeats"`
	Draws      int        `json:"draws"`
	Seed       uint64     `json:"seed"`
	Norm       float64    `json:"norm"`       // mean of ‖QPHW‖_F
	Signal     float64    `json:"signal"`     // mean of ‖QPHW − 1⊗x̄‖_F, x̄ the mean row
	Candidates float64    `json:"candidates"` // mean number of columns of QP that are not zero
}

// Row returns the row of a method at a size, or nil.
func (t *ErrorTable) Row(method string, size int) *ErrorRow {
	for k := range t.Rows {
		if r := &t.Rows[k]; r.Method == method && r.Samples == size {
			return r
		}
	}
	return nil
}

// Run measures the errors. It returns ctx's error if ctx ends first. Cost: for each
// repeat, method, size and draw, one call of the sampler and one product of its
// block with HW. Memory: for each core, 12 bytes for each output row and column of HW. The
// results do not depend on the number of cores.
func (s ApproxError) Run(ctx context.Context) (*ErrorTable, error) {
	if err := cmp.Or(setDefaults(&s), checkGraph(s.Laplacian, s.Nodes)); err != nil {
		return nil, err
	}
	if len(s.Nodes) == 0 || len(s.Methods) == 0 || len(s.Sizes) == 0 {
		return nil, fmt.Errorf("study: errors of %d methods at %d sample sizes, in batches of %d nodes: want at least 1 each", len(s.Methods), len(s.Sizes), len(s.Nodes))
	}
	if err := checkProduct(s.Product, s.Laplacian.Nodes()); err != nil {
		return nil, err
	}
	contests, err := s.contests()
	if err != nil {
		return nil, err
	}
	batches, err := s.measure(ctx, contests)
	if err != nil {
		return nil, err
	}
	t := &ErrorTable{
		Batch: min(s.Batch, len(s.Nodes)), Repeats: s.Repeats, Draws: s.Draws, Seed: s.Seed,
		Norm: NewSpread(batches.norm).Mean, Signal: NewSpread(batches.signal).Mean, Candidates: NewSpread(batches.candidates).Mean,
	}
	for _, c := range contests {
		norm, cross := NewSpread(c.norm), NewSpread(c.cross)
		variance := NewSpread(c.squared).Mean - cross.Mean
		t.Rows = append(t.Rows, ErrorRow{
			Method: c.method, Samples: c.size, Mean: norm.Mean, SEM: norm.SEM,
			Bias: math.Sqrt(max(cross.Mean, 0)), SD: math.Sqrt(max(variance, 0)),
			Bias2: cross.Mean, Bias2SEM: cross.SEM, Variance: variance,
			ErrorSD: norm.SD, Relative: norm.Mean / t.Norm, Drawn: NewSpread(c.drawn).Mean,
		})
	}
	return t, nil
}

// contest is one method at one size, with its outcome for each batch: means over the draws.
type contest struct {
	method  string
	size    int
	sampler samplers.Sampler
	stream  uint64 // of its draws; independent of the other methods

	norm    []float64 // ‖D‖_F
	squared []float64 // ‖D‖²_F
	cross   []float64 // ⟨D_k, D_l⟩ over pairs k < l
	drawn   []float64
}

// batchValues holds what does not depend on the methods, for each batch.
type batchValues struct {
	norm       []float64 // ‖QPHW‖_F
	signal     []float64 // ‖QPHW − its mean row‖_F
	candidates []float64
}

// contests lists the contests: of each method all sizes.
func (s *ApproxError) contests() ([]contest, error) {
	var all []contest
	for _, m := range s.Methods {
		if m.New == nil {
			return nil, fmt.Errorf("study: method %q makes no sampler", m.Name)
		}
		for _, size := range s.Sizes {
			sampler, err := m.New(size)
			if err != nil {
				return nil, err
			}
			if argument.Nil(sampler) || sampler.Layers() != 1 {
				return nil, fmt.Errorf("study: method %q makes no sampler of one layer of %d nodes", m.Name, size)
			}
			if err := samplers.Prepare(sampler); err != nil {
				return nil, fmt.Errorf("study: method %q: %w", m.Name, err)
			}
			h := fnv.New64a()
			fmt.Fprintf(h, "%s/%d", m.Name, size)
			values := func() []float64 { return make([]float64, s.Repeats) }
			all = append(all, contest{m.Name, size, sampler, h.Sum64(), values(), values(), values(), values()})
		}
	}
	return all, nil
}

// measure runs the contests on every batch.
func (s *ApproxError) measure(ctx context.Context, contests []contest) (*batchValues, error) {
	values := &batchValues{make([]float64, s.Repeats), make([]float64, s.Repeats), make([]float64, s.Repeats)}
	var lock sync.Mutex
	done := 0
	workers := min(runtime.GOMAXPROCS(0), s.Repeats)
	return values, parallel.Chunks(ctx, workers, func(first int) error {
		w := &errorWorker{ApproxError: s}
		for r := first; r < s.Repeats; r += workers {
			if err := w.repeat(ctx, r, contests, values); err != nil {
				return err
			}
			lock.Lock()
			done++
			report(s.Progress, done, s.Repeats)
			lock.Unlock()
		}
		return nil
	})
}

// errorWorker is the study with the memory of one goroutine.
type errorWorker struct {
	*ApproxError
	full              samplers.Full
	exact, batch      samplers.MiniBatch
	truth, guess, sum []float32
}

// begin returns the rows Q of batch number r, and sets exact to their block of P.
func (w *errorWorker) begin(ctx context.Context, r int) ([]int32, error) {
	rng := rand.New(samplers.NewSource(w.Seed, uint64(r), 0))
	seeds := RandomBatch(rng, w.Nodes, w.Batch)
	for _, above := range w.below {
		if err := above.Sample(ctx, seeds, rng, &w.batch); err != nil {
			return nil, err
		}
		seeds = slices.Clone(w.batch.Inputs())
	}
	w.full.Laplacian, w.full.Depth = w.Laplacian, 1
	if err := samplers.Prepare(&w.full); err != nil { // does nothing from the second batch on
		return nil, err
	}
	return seeds, w.full.Sample(ctx, seeds, nil, &w.exact)
}

// repeat measures every contest on batch number r.
func (w *errorWorker) repeat(ctx context.Context, r int, contests []contest, values *batchValues) error {
	seeds, err := w.begin(ctx, r)
	if err != nil {
		return err
	}
	c := w.Product
	size := len(seeds) * c.Cols
	w.truth, w.guess, w.sum = make([]float32, size), make([]float32, size), make([]float32, size)
	block := w.exact.Blocks[0]
	w.propagate(w.truth, block)
	values.norm[r] = math.Sqrt(squaredNorm(w.truth))
	values.signal[r] = math.Sqrt(squaredSpread(w.truth, c.Cols))
	values.candidates[r] = float64(len(block.Src))
	for k := range contests {
		if err := w.contest(ctx, r, seeds, &contests[k]); err != nil {
			return fmt.Errorf("study: %s at %d: %w", contests[k].method, contests[k].size, err)
		}
	}
	return nil
}

// contest measures one method at one size on batch number r.
func (w *errorWorker) contest(ctx context.Context, r int, seeds []int32, c *contest) error {
	clear(w.sum)
	n := float64(w.Draws)
	for k := range w.Draws {
		rng := rand.New(samplers.NewSource(w.Seed+uint64(k), uint64(r)+1, c.stream))
		if err := c.sampler.Sample(ctx, seeds, rng, &w.batch); err != nil {
			return err
		}
		block := w.batch.Blocks[0]
		if !slices.Equal(block.Dst, seeds) {
			return errors.New("it draws its output nodes itself, so its error cannot be compared on given batches")
		}
		if block.Control != nil {
			return errors.New("it samples the change since earlier activations, which the study does not have")
		}
		w.propagate(w.guess, block)
		var squared float64
		for j, y := range w.guess {
			d := y - w.truth[j]
			w.sum[j] += d
			squared += float64(d) * float64(d)
		}
		c.norm[r] += math.Sqrt(squared) / n
		c.squared[r] += squared / n
		c.drawn[r] += float64(len(block.Src)) / n
	}
	c.cross[r] = (squaredNorm(w.sum) - n*c.squared[r]) / (n * (n - 1))
	return nil
}

// propagate writes P̃C of a block to dst.
func (s *ApproxError) propagate(dst []float32, block *graph.Block) {
	rows, _ := s.Product.Places(nil, block.Src) // Advise has read them all
	kernel.SpMMGather(dst, &block.Matrix, rows, s.Product.Data, s.Product.Cols)
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
