package score

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"sync/atomic"

	"github.com/gcn-layerwise/gcn/datasets"
	"github.com/gcn-layerwise/gcn/graph"
	"github.com/gcn-layerwise/gcn/internal/kernel"
	"github.com/gcn-layerwise/gcn/internal/memory"
	"github.com/gcn-layerwise/gcn/internal/parallel"
)

// CorrectSmoothOptions are the options of CorrectAndSmooth. The zero value is ready to use.
type CorrectSmoothOptions struct {
	// The settings to try. Only tests set them; if a test sets one list, it sets all three.
	iterations    int       // of each propagation; 0 means 50
	correctAlphas []float64 // α₁, in [0, 1]; nil means 0, 0.5, 0.8, 0.95
	smoothAlphas  []float64 // α₂, in [0, 1]; nil means as for α₁
	factors       []float64 // of the spread errors, 0 for autoscale; nil means 0, 1

	// Progress, if not nil, is called after each of total propagations over the graph, from the
	// goroutine of CorrectAndSmooth.
	Progress func(done, total int)
}

func (o CorrectSmoothOptions) withDefaults() CorrectSmoothOptions {
	o.iterations = cmp.Or(o.iterations, 50)
	if alphas := []float64{0, 0.5, 0.8, 0.95}; o.correctAlphas == nil {
		o.correctAlphas, o.smoothAlphas, o.factors = alphas, alphas, []float64{0, 1}
	}
	return o
}

// CorrectSmooth is the setting that CorrectAndSmooth chose.
type CorrectSmooth struct {
	CorrectAlpha number `json:"correct_alpha"` // α₁
	SmoothAlpha  number `json:"smooth_alpha"`  // α₂
	Scale        number `json:"scale"`         // 0: autoscale
	Iterations   int    `json:"iterations"`
	ModelValid   number `json:"model_valid"` // validation score of the model alone
	Valid        number `json:"valid"`       // validation score of the result
}

// Check returns the error that CorrectAndSmooth returns for the options and the data before
// it starts: binary tasks, a directed graph, no labelled training
// node, validation nodes that cannot be scored, too little memory.
func (o CorrectSmoothOptions) Check(d *datasets.Data) error {
	switch {
	case d == nil || d.Graph == nil || d.Labels == nil || d.Labels.Nodes() != d.Nodes():
		return fmt.Errorf("score: correct and smooth needs a graph, and labels of its nodes")
	case d.Labels.Tasks > 0:
		return fmt.Errorf("score: correct and smooth needs one class a node, and the labels are %d binary tasks", d.Labels.Tasks)
	case d.Directed:
		return fmt.Errorf("score: correct and smooth needs an undirected graph: train on the data with directed=0")
	}
	y := d.Labels
	if err := checkNodes(y, slices.Concat(d.Split.Train, d.Split.Valid)); err != nil {
		return err
	}
	if !slices.ContainsFunc(d.Split.Train, func(v int32) bool { return y.Class[v] >= 0 }) {
		return fmt.Errorf("score: correct and smooth needs labelled training nodes, and %s has none", d.Name)
	}
	if err := Scorable(d.Metric, y, d.Split.Valid); err != nil {
		return fmt.Errorf("correct and smooth chooses its settings on validation nodes: %w", err)
	}
	return memory.Check("correct and smooth", memory.Product(7, 4, int64(d.Nodes()), int64(y.Classes)))
}

// CorrectAndSmooth spreads the errors and the labels of the training nodes over the graph
// (Huang et al. 2021, arXiv:2010.13993). probabilities is a model's (nodes, classes),
// row-major, each in [0, 1]; it does not change. With S = D^-½ A D^-½, without self-loops as
// in the authors' program, Z the probabilities and Y the training labels:
//
//	E⁰ = Y − Z on training nodes, 0 elsewhere;   E ← (1−α₁)E⁰ + α₁ S E
//	G⁰ = Y on training nodes, Z + s E elsewhere; G ← (1−α₂)G⁰ + α₂ S G
//
// Autoscale clips E to [−1, 1] after each iteration, and s_i = σ/‖E_i‖₁, with σ the mean of
// ‖E⁰_i‖₁ over the training nodes, and s_i = 1 if that is over 1000. With a fixed scale the
// training rows of E are set to E⁰ after each iteration. G is clipped to [0, 1] after each.
// The rows of the result are G's divided by their sums. A row of zeros becomes the model's.
//
// The best score of the data's metric on the validation nodes decides: first on α₁ and the
// scale, with α₂ = 0; then on α₂ with these. Of equal scores the first wins: the smallest α₁,
// then autoscale, then the smallest α₂. The labels of validation nodes are used for this choice alone, and labels of other nodes
// are not read. With α₁ = α₂ = 0 only the rows of labelled training nodes change: they become the labels.
//
// Sums over neighbours are in float32, σ and norms in float64. Equal inputs give equal bits
// for any number of cores. The errors are Check's and the context's, and one about
// probabilities of a wrong shape or outside [0, 1]. Cost: at most 9 times 50
// products of A with a matrix of the probabilities' shape, and seven such matrices.
func CorrectAndSmooth(ctx context.Context, probabilities []float32, d *datasets.Data, o CorrectSmoothOptions) ([]float32, *CorrectSmooth, error) {
	if ctx == nil {
		return nil, nil, fmt.Errorf("score: the context is nil")
	}
	if err := o.Check(d); err != nil {
		return nil, nil, err
	}
	o = o.withDefaults()
	width := d.Labels.Classes
	if want := d.Nodes() * width; len(probabilities) != want {
		return nil, nil, fmt.Errorf("score: %d probabilities to correct for %d nodes and %d classes", len(probabilities), d.Nodes(), width)
	}
	if err := checkProbabilities(probabilities, width, nil); err != nil {
		return nil, nil, err
	}
	c := newCorrector(probabilities, d, o)
	chosen := &CorrectSmooth{Iterations: o.iterations, Valid: number(math.NaN())}
	model, err := c.score(d, probabilities)
	if err != nil {
		return nil, nil, err
	}
	chosen.ModelValid = number(model)
	g := c.matrix()
	best := c.matrix()
	corrected := c.matrix()
	smooth := func(correct, alpha, scale float64) (found bool, err error) {
		if err := c.smooth(ctx, alpha, g); err != nil {
			return false, err
		}
		score, err := c.score(d, g)
		if err != nil || score <= float64(chosen.Valid) { // no score is NaN, but the first Valid
			return false, err
		}
		chosen.CorrectAlpha, chosen.SmoothAlpha, chosen.Scale = number(correct), number(alpha), number(scale)
		chosen.Valid = number(score)
		g, best = best, g
		return true, nil
	}
	for _, correct := range o.correctAlphas {
		for k, scale := range o.factors {
			if correct == 0 && k > 0 { // no error leaves its node, and every scale gives the same
				c.done += 2
				continue
			}
			if err := c.correct(ctx, correct, scale, g); err != nil {
				return nil, nil, err
			}
			found, err := smooth(correct, o.smoothAlphas[0], scale)
			if err != nil {
				return nil, nil, err
			}
			if found {
				c.corrected, corrected = corrected, c.corrected
			}
		}
	}
	c.corrected = corrected
	for _, alpha := range o.smoothAlphas[1:] {
		if _, err := smooth(float64(chosen.CorrectAlpha), alpha, float64(chosen.Scale)); err != nil {
			return nil, nil, err
		}
	}
	return best, chosen, nil
}

// corrector holds the matrices of CorrectAndSmooth, (nodes, width) each.
type corrector struct {
	CorrectSmoothOptions
	adjacency *graph.CSR
	root      []float32 // D^-½, 0 for a node without neighbours
	class     []int32   // of training nodes; -1 elsewhere
	model     []float32
	errors    []float32 // E⁰
	size      float64   // σ
	corrected []float32 // G⁰
	width     int

	scaled, product []float32 // D^-½ X and A D^-½ X
	valid           []float32 // rows of the validation nodes

	done int // propagations
}

func newCorrector(probabilities []float32, d *datasets.Data, o CorrectSmoothOptions) *corrector {
	n := d.Nodes()
	width := d.Labels.Classes
	c := &corrector{
		CorrectSmoothOptions: o,

		adjacency: d.Graph,
		root:      make([]float32, n),
		class:     make([]int32, n),
		model:     probabilities,
		width:     width,
		valid:     make([]float32, len(d.Split.Valid)*width),
	}
	c.errors, c.corrected, c.scaled, c.product = c.matrix(), c.matrix(), c.matrix(), c.matrix()
	for i := range n {
		c.class[i] = -1
		degree := 0.0
		values := d.Graph.RowValues(i)
		for k := range d.Graph.Degree(i) {
			degree += graph.Weight(values, k)
		}
		if degree > 0 {
			c.root[i] = float32(1 / math.Sqrt(degree))
		}
	}
	var labelled int
	for _, v := range d.Split.Train {
		y := d.Labels.Class[v]
		if y < 0 {
			continue
		}
		labelled++
		c.class[v] = y
		row := c.row(c.errors, int(v))
		for k, p := range c.row(probabilities, int(v)) {
			row[k] = -p
		}
		row[y]++
		c.size += norm1(row)
	}
	c.size /= float64(labelled)
	return c
}

func (c *corrector) matrix() []float32 { return make([]float32, len(c.model)) }

func (c *corrector) row(x []float32, i int) []float32 { return x[i*c.width : (i+1)*c.width] }

func norm1(x []float32) float64 {
	var sum float64
	for _, v := range x {
		sum += math.Abs(float64(v))
	}
	return sum
}

// each calls body for every row, on all cores.
func (c *corrector) each(body func(i int)) {
	parallel.For(c.adjacency.Rows, max(1, 4096/c.width), func(lo, hi int) {
		for i := lo; i < hi; i++ {
			body(i)
		}
	})
}

// spread iterates x ← (1−α)·start + α S x from start, and clips x after each iteration. If
// keep is true, the training rows stay as in start. It ends early if x stays the same.
func (c *corrector) spread(ctx context.Context, x, start []float32, alpha float64, low, high float32, keep bool) error {
	iterations := c.iterations
	if alpha == 0 {
		iterations = 1 // nothing changes after it
	}
	copy(x, start)
	for range iterations {
		if err := ctx.Err(); err != nil {
			return err
		}
		if alpha > 0 {
			c.each(func(i int) {
				to := c.row(c.scaled, i)
				for k, v := range c.row(x, i) {
					to[k] = c.root[i] * v
				}
			})
			kernel.SpMM(c.product, c.adjacency, c.scaled, c.width)
		}
		var moved atomic.Bool
		c.each(func(i int) {
			to := c.row(x, i)
			from := c.row(start, i)
			if keep && c.class[i] >= 0 {
				copy(to, from)
				return
			}
			factor := alpha * float64(c.root[i])
			same := true
			for k, v := range c.row(c.product, i) {
				next := min(max(float32((1-alpha)*float64(from[k])+factor*float64(v)), low), high)
				same = same && next == to[k]
				to[k] = next
			}
			if !same && !moved.Load() {
				moved.Store(true)
			}
		})
		if !moved.Load() {
			break
		}
	}
	if c.done++; c.Progress != nil {
		c.Progress(c.done, 2*len(c.correctAlphas)*len(c.factors)+len(c.smoothAlphas)-1)
	}
	return nil
}

// correct sets c.corrected to G⁰. It uses e for E.
func (c *corrector) correct(ctx context.Context, alpha, scale float64, e []float32) error {
	bound := float32(1)
	if scale > 0 {
		bound = math.MaxFloat32
	}
	if err := c.spread(ctx, e, c.errors, alpha, -bound, bound, scale > 0); err != nil {
		return err
	}
	c.each(func(i int) {
		to := c.row(c.corrected, i)
		if y := c.class[i]; y >= 0 {
			clear(to)
			to[y] = 1
			return
		}
		row, s := c.row(e, i), scale
		if scale == 0 {
			if s = c.size / norm1(row); !(s <= 1000) {
				s = 1
			}
		}
		for k, p := range c.row(c.model, i) {
			to[k] = float32(float64(p) + s*float64(row[k]))
		}
	})
	return nil
}

// smooth sets g to the result for the present c.corrected.
func (c *corrector) smooth(ctx context.Context, alpha float64, g []float32) error {
	if err := c.spread(ctx, g, c.corrected, alpha, 0, 1, false); err != nil {
		return err
	}
	c.each(func(i int) {
		row := c.row(g, i)
		sum := norm1(row)
		if sum == 0 {
			copy(row, c.row(c.model, i))
			return
		}
		for k, v := range row {
			row[k] = float32(float64(v) / sum)
		}
	})
	return nil
}

// score returns the metric on the validation nodes.
func (c *corrector) score(d *datasets.Data, g []float32) (float64, error) {
	for k, v := range d.Split.Valid {
		copy(c.row(c.valid, k), c.row(g, int(v)))
	}
	return Of(d.Metric, c.valid, d.Labels, d.Split.Valid)
}
