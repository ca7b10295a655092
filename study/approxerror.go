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

	"golang.org/x/sync/errgroup"

	"github.com/gcn-layerwise/gcn/graph"
	"github.com/gcn-layerwise/gcn/internal/argument"
	"github.com/gcn-layerwise/gcn/internal/kernel"
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
	Sizes     []int            // sample sizes; nil means PaperSizes

	Batch   int    `default:"512" least:"1"` // nodes in a batch
	Repeats int    `default:"200" least:"2"` // batches
	Draws   int    `default:"2" least:"2"`   // draws from each batch
	Seed    uint64 // of batches and draws
	Workers int    `least:"0"` // goroutines; 0 means GOMAXPROCS; results do not depend on it

	Progress func(done, total int) // called after each batch, if not nil; calls do not overlap

	// Below are samplers that lead from each batch to the rows of a deeper layer.
	// The nodes that the first sampler draws for the batch are the rows of the
	// second. The nodes that the last sampler draws are the rows Q.
	Below []samplers.Sampler

	// Histories are products H̄W of earlier activations. A method with a control is
	// measured with each of them: its estimate is P̃(H − H̄)W + P·H̄W. The name of its
	// rows then ends with the age. It draws the same nodes for every age.
	Histories []History

	// Undropped is HW of Product without the noise of dropout; nil: Product has no noise. Some
	// methods rescale the noise of a sample (graph.Block.NoiseScale). Their error is measured
	// from QPHW without noise, so it contains the noise over full neighbourhoods,
	// ErrorTable.Noise; without Undropped the scale is not used. The error of other methods is
	// measured from QPHW with noise, and contains only the noise of the sample.
	Undropped *graph.Features

	changes []*graph.Features // (H − H̄)W of each history
	noise   *graph.Features   // Product − Undropped, or nil
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
	Norm       float64    `json:"norm"`            // mean of ‖QPHW‖_F
	Signal     float64    `json:"signal"`          // mean of ‖QPHW − 1⊗x̄‖_F, x̄ the mean row
	Noise      float64    `json:"noise,omitempty"` // mean of ‖QP·noise‖_F, of the noise of dropout
	Candidates float64    `json:"candidates"`      // mean number of columns of QP that are not zero
}

// Row returns the row of a method at a size, or nil.
func (t *ErrorTable) Row(method string, size int) *ErrorRow {
	for k := range t.Rows {
		if t.Rows[k].Method == method && t.Rows[k].Samples == size {
			return &t.Rows[k]
		}
	}
	return nil
}

// PaperSizes are the sample sizes of the paper's figure.
func PaperSizes() []int { return []int{256, 512, 768, 1024, 1536, 2048} }

// Run measures the errors. It returns ctx's error if ctx ends first. Cost: for each
// repeat, method, size and draw, one call of the sampler and one product of its
// block with HW; a method with a control counts once for each history. Memory: for each
// worker, 12 bytes for each output row and column of HW, and 4 more for each history; and
// as much as HW for each history.
func (s ApproxError) Run(ctx context.Context) (*ErrorTable, error) {
	if err := s.check(); err != nil {
		return nil, err
	}
	contests, err := s.contests()
	if err != nil {
		return nil, err
	}
	for _, past := range s.Histories {
		s.changes = append(s.changes, difference(s.Product, past.Product))
	}
	if s.Undropped != nil {
		s.noise = difference(s.Product, s.Undropped)
	}
	outcomes, err := s.measure(ctx, contests)
	if err != nil {
		return nil, err
	}
	return s.table(contests, outcomes), nil
}

// measure runs the contests on every batch.
func (s *ApproxError) measure(ctx context.Context, contests []contest) ([]repeatOutcome, error) {
	outcomes := make([]repeatOutcome, s.Repeats)
	var lock sync.Mutex
	done := 0
	group, ctx := errgroup.WithContext(ctx)
	for first := range min(s.Workers, s.Repeats) {
		group.Go(func() error {
			w := newErrorWorker(s)
			for r := first; r < s.Repeats; r += s.Workers {
				if err := w.repeat(ctx, r, contests, &outcomes[r]); err != nil {
					return err
				}
				if s.Progress != nil {
					lock.Lock()
					done++
					s.Progress(done, s.Repeats)
					lock.Unlock()
				}
			}
			return nil
		})
	}
	return outcomes, group.Wait()
}

// check fills in defaults and reports the first argument that is missing or does not fit.
func (s *ApproxError) check() error {
	if s.Sizes == nil {
		s.Sizes = PaperSizes()
	}
	s.Workers = cmp.Or(s.Workers, runtime.GOMAXPROCS(0))
	if err := cmp.Or(setDefaults(s), checkGraph(s.Laplacian, s.Nodes)); err != nil {
		return err
	}
	switch {
	case len(s.Nodes) == 0:
		return errors.New("study: no nodes to draw batches from")
	case len(s.Methods) == 0 || len(s.Sizes) == 0:
		return errors.New("study: no methods or no sample sizes to compare")
	}
	for k, above := range s.Below {
		if argument.Nil(above) {
			return fmt.Errorf("study: sampler %d above the layer is nil", k)
		}
		if err := samplers.Prepare(above); err != nil {
			return fmt.Errorf("study: sampler %d above the layer: %w", k, err)
		}
	}
	products := []*graph.Features{s.Product, cmp.Or(s.Undropped, s.Product)}
	for _, h := range s.Histories {
		products = append(products, h.Product)
	}
	for _, hw := range products {
		if err := checkProduct(hw, s.Laplacian.Nodes()); err != nil {
			return err
		}
		if hw.Cols != s.Product.Cols {
			return fmt.Errorf("study: HW has %d columns, and a history of it, or HW without dropout, %d", s.Product.Cols, hw.Cols)
		}
	}
	return nil
}

// difference returns a − b, of equal sizes.
func difference(a, b *graph.Features) *graph.Features {
	c := &graph.Features{Rows: a.Rows, Cols: a.Cols, Data: slices.Clone(a.Data)}
	for k, v := range b.Data {
		c.Data[k] -= v
	}
	return c
}

// contest is one method at one size, with one history or none.
type contest struct {
	method  string
	size    int
	sampler samplers.Sampler
	stream  uint64 // of its draws; independent of the other methods
	history int    // in Histories; −1 without a control
}

// contests lists the contests: of each method all sizes, for each history.
func (s *ApproxError) contests() ([]contest, error) {
	var all []contest
	for _, m := range s.Methods {
		if m.New == nil {
			return nil, fmt.Errorf("study: method %q makes no sampler", m.Name)
		}
		var ofMethod []contest
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
			fmt.Fprintf(h, "%s/%d", cmp.Or(m.drawsAs, m.Name), size)
			ofMethod = append(ofMethod, contest{m.Name, size, sampler, h.Sum64(), -1})
		}
		switch {
		case !m.Control:
			all = append(all, ofMethod...)
		case len(s.Histories) == 0:
			return nil, fmt.Errorf("study: %s samples the change since earlier activations: it needs a history of them", m.Name)
		}
		for k := 0; m.Control && k < len(s.Histories); k++ {
			for _, c := range ofMethod {
				c.history = k
				all = append(all, c)
			}
		}
	}
	return all, nil
}

// table sums up the repeats, in their order.
func (s *ApproxError) table(contests []contest, outcomes []repeatOutcome) *ErrorTable {
	mean := func(of func(repeatOutcome) float64) (sum float64) {
		for _, o := range outcomes {
			sum += of(o)
		}
		return sum / float64(s.Repeats)
	}
	t := &ErrorTable{
		Batch: min(s.Batch, len(s.Nodes)), Repeats: s.Repeats, Draws: s.Draws, Seed: s.Seed,
		Norm: mean(func(o repeatOutcome) float64 { return o.norm }), Signal: mean(func(o repeatOutcome) float64 { return o.signal }),
		Noise: mean(func(o repeatOutcome) float64 { return o.noise }), Candidates: mean(func(o repeatOutcome) float64 { return float64(o.candidates) }),
	}
	column := func(c int, of func(contestOutcome) float64) Spread {
		values := make([]float64, len(outcomes))
		for r := range outcomes {
			values[r] = of(outcomes[r].contests[c])
		}
		return NewSpread(values)
	}
	for c, which := range contests {
		norm := column(c, func(o contestOutcome) float64 { return o.norm })
		cross := column(c, func(o contestOutcome) float64 { return o.cross })
		variance := column(c, func(o contestOutcome) float64 { return o.squared - o.cross }).Mean
		name := which.method
		if which.history >= 0 {
			name = fmt.Sprintf("%s, age %d", name, s.Histories[which.history].Age)
		}
		t.Rows = append(t.Rows, ErrorRow{
			Method: name, Samples: which.size, Mean: norm.Mean, SEM: norm.SEM,
			Bias: math.Sqrt(max(cross.Mean, 0)), SD: math.Sqrt(max(variance, 0)),
			Bias2: cross.Mean, Bias2SEM: cross.SEM, Variance: variance,
			ErrorSD: norm.SD, Relative: norm.Mean / t.Norm,
			Drawn: column(c, func(o contestOutcome) float64 { return o.drawn }).Mean,
		})
	}
	return t
}

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
	truths       map[*graph.Features][]float32 // QP times Product, each change and the noise
	guess, sum   []float32
	source       *rand.PCG
	rng          *rand.Rand
}

func newErrorWorker(s *ApproxError) *errorWorker {
	source := samplers.NewSource(s.Seed, 0, 0)
	return &errorWorker{
		study: s, full: samplers.Full{Laplacian: s.Laplacian, Depth: 1}, truths: map[*graph.Features][]float32{},
		source: source, rng: rand.New(source),
	}
}

// begin returns the rows Q of batch number r, and sets exact to their block of P.
func (w *errorWorker) begin(ctx context.Context, r int) ([]int32, error) {
	samplers.Seed(w.source, w.study.Seed, uint64(r), 0)
	seeds := RandomBatch(w.rng, w.study.Nodes, w.study.Batch)
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
	w.guess, w.sum = make([]float32, size), make([]float32, size)
	for _, product := range slices.Concat(s.changes, []*graph.Features{s.Product, s.noise}) {
		if product != nil {
			w.truths[product] = make([]float32, size)
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
	rows := make([]float32, len(block.Src)*cols) // that the sample reads
	for k, v := range block.Src {
		row, noisy := rows[k*cols:][:cols], noise.Row(int(v))
		for j, x := range product.Row(int(v)) {
			row[j] = x + (block.NoiseScale[k]-1)*noisy[j]
		}
	}
	kernel.SpMM(w.guess[:block.Matrix.Rows*cols], &block.Matrix, rows, cols)
	aim := slices.Clone(w.truths[product])
	for k, v := range w.truths[noise] {
		aim[k] -= v
	}
	return aim
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
