package study

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"math"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"golang.org/x/sync/errgroup"

	"github.com/gcn-layerwise/gcn/graph"
	"github.com/gcn-layerwise/gcn/internal/argument"
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
	Sizes     []int            // sample sizes; nil means the paper's 256, 512, 768, 1024, 1536, 2048

	Batch   int    // nodes in a batch; 0 means 512
	Repeats int    // batches; 0 means 200; at least 2
	Draws   int    // draws from each batch; 0 means 2; at least 2
	Seed    uint64 // of batches and draws
	Workers int    // goroutines; 0 means GOMAXPROCS; results do not depend on it

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
	if err := s.check(ctx); err != nil {
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
	var next atomic.Int64
	var lock sync.Mutex
	done := 0
	group, ctx := errgroup.WithContext(ctx)
	for range min(s.Workers, s.Repeats) {
		group.Go(func() error {
			w := newErrorWorker(s)
			for {
				r := int(next.Add(1)) - 1
				if r >= s.Repeats {
					return nil
				}
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
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	return outcomes, nil
}

// check fills in defaults and reports the first argument that is missing or does not fit.
func (s *ApproxError) check(ctx context.Context) error {
	if s.Sizes == nil {
		s.Sizes = PaperSizes()
	}
	s.Batch = cmp.Or(s.Batch, 512)
	s.Repeats = cmp.Or(s.Repeats, 200)
	s.Draws = cmp.Or(s.Draws, 2)
	s.Workers = cmp.Or(s.Workers, runtime.GOMAXPROCS(0))
	if err := checkGraph(ctx, s.Laplacian, s.Nodes); err != nil {
		return err
	}
	switch {
	case len(s.Nodes) == 0:
		return errors.New("study: no nodes to draw batches from")
	case len(s.Methods) == 0 || len(s.Sizes) == 0:
		return errors.New("study: no methods or no sample sizes to compare")
	case s.Batch < 1 || s.Workers < 1:
		return fmt.Errorf("study: batch of %d nodes on %d workers, want at least 1 each", s.Batch, s.Workers)
	case s.Repeats < 2 || s.Draws < 2:
		return fmt.Errorf("study: %d repeats of %d draws, want at least 2 each, to estimate the spread", s.Repeats, s.Draws)
	}
	for k, above := range s.Below {
		if argument.Nil(above) {
			return fmt.Errorf("study: sampler %d above the layer is nil", k)
		}
		if err := samplers.Prepare(above); err != nil {
			return fmt.Errorf("study: sampler %d above the layer: %w", k, err)
		}
	}
	products := []*graph.Features{s.Product}
	for _, h := range s.Histories {
		products = append(products, h.Product)
	}
	if s.Undropped != nil {
		products = append(products, s.Undropped)
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

func (s *ApproxError) contests() ([]contest, error) {
	var all []contest
	for _, m := range s.Methods {
		for _, size := range s.Sizes {
			if m.New == nil {
				return nil, fmt.Errorf("study: method %q makes no sampler", m.Name)
			}
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
			all = append(all, contest{m.Name, size, sampler, h.Sum64(), -1})
		}
		if !m.Control {
			continue
		}
		if len(s.Histories) == 0 {
			return nil, fmt.Errorf("study: %s samples the change since earlier activations: it needs a history of them", m.Name)
		}
		plain, withHistories := all[len(all)-len(s.Sizes):], all[:len(all)-len(s.Sizes):len(all)-len(s.Sizes)]
		for k := range s.Histories {
			for _, c := range plain {
				c.history = k
				withHistories = append(withHistories, c)
			}
		}
		all = withHistories
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
