package study

import (
	"cmp"
	"context"
	"math/rand/v2"
	"slices"

	"github.com/gcn-layerwise/gcn/graph"
	"github.com/gcn-layerwise/gcn/samplers"
	"github.com/gcn-layerwise/gcn/study/figure"
)

// Assumption tests the assumption behind FastGCN and LADIES, that ‖(HW)_[i]‖ is
// proportional to ‖P^[i]‖ or ‖QP^[i]‖, by linear regression (Chen et al. 2023,
// §4.1 and appendix). The paper's text regresses the column norm on the row
// norm, and its appendix the row norm on the column norm. The table holds both.
type Assumption struct {
	Laplacian *graph.Laplacian // required
	Layers    [][]float64      // ‖(HW)_[i]‖ of every node, for each layer; required
	Nodes     []int32          // the batches Q are drawn from these; required for ‖QP^[i]‖
	Within    []int32          // nodes to regress over; nil means all

	Batches int    `default:"500"`            // number of Q's; negative means none
	Batch   int    `default:"512" least:"1"`  // nodes in each
	Points  int    `default:"1000" least:"0"` // pairs kept for each scatter plot
	Seed    uint64 // of batches and points

	Progress func(done, total int) // called after each batch, if not nil
}

// AssumptionRow is one regression.
type AssumptionRow struct {
	Layer    string `json:"layer" show:"layer"`
	Response string `json:"response" show:"y"` // y, the explained quantity
	On       string `json:"on" show:"on x"`    // x, the explaining quantity
	Line
}

// The quantities regressed on each other, as AssumptionRow names them.
const (
	NormHW = "|HW_i|"
	NormP  = "|P^i|"
	NormQP = "|QP^i|"
)

// Scatter is one regression of ‖(HW)_[i]‖, with a random sample of its pairs.
type Scatter struct {
	Layer  string       `json:"-"`
	On     string       `json:"-"`
	Sums   Regression   `json:"sums"`
	Points [][2]float64 `json:"points"` // x and y
}

// Merge adds the pairs of other, whose norms are of other models.
func (s *Scatter) Merge(other Scatter) {
	s.Sums.Merge(other.Sums)
	s.Points = append(s.Points, other.Points...)
}

// Panel draws the sampled pairs over x, the label of the axis, with the fitted line of the given
// name.
func (s *Scatter) Panel(title, x, line string) figure.Panel {
	cloud, fit := figure.Series{Cloud: true}, s.Sums.Line()
	for _, p := range s.Points {
		cloud.Add(p[0], p[1], 0)
	}
	return figure.Panel{
		Title: title, X: x, Y: "‖(HW)_[i]‖",
		Points: []figure.Series{cloud}, Lines: []figure.Series{figure.Straight(line, fit.Intercept, fit.Slope, cloud.X)},
	}
}

// AssumptionTable is the outcome of an Assumption.
type AssumptionTable struct {
	Rows     []AssumptionRow `json:"rows"`
	Scatters []Scatter       `json:"-"`
	Batches  int             `json:"batches"`
	Batch    int             `json:"batch"`
	Seed     uint64          `json:"seed"`
}

// pairs accumulates a Scatter. It keeps a uniform sample of its pairs (Vitter 1985, algorithm
// R).
type pairs struct {
	Scatter
	most int // pairs kept
	rng  *rand.Rand
}

func (p *pairs) add(x, y float64) {
	p.Sums.Add(x, y)
	if len(p.Points) < p.most {
		p.Points = append(p.Points, [2]float64{x, y})
	} else if at := p.rng.IntN(p.Sums.N); at < p.most {
		p.Points[at] = [2]float64{x, y}
	}
}

// Run computes the regressions. Cost: O(edges), and for each Q O(nonzeros of its
// rows) for each layer.
func (a Assumption) Run(ctx context.Context) (*AssumptionTable, error) {
	if err := cmp.Or(setDefaults(&a), checkNorms(a.Laplacian, a.Layers, a.Nodes, a.Batches), checkGraph(a.Laplacian, a.Within)); err != nil {
		return nil, err
	}
	a.Batches = max(a.Batches, 0)
	within := slices.Repeat([]bool{a.Within == nil}, a.Laplacian.Nodes())
	for _, i := range a.Within {
		within[i] = true
	}
	var all []*pairs // of each layer on P, then on QP
	for k, on := range []string{NormP, NormQP} {
		for l := range a.Layers {
			rng := rand.New(samplers.NewSource(a.Seed, uint64(k)+1, uint64(l)))
			all = append(all, &pairs{Scatter{Layer: layerName(l), On: on}, a.Points, rng})
		}
	}
	add := func(to []*pairs, i int, x float64) {
		for l, layer := range a.Layers {
			if within[i] {
				to[l].add(x, layer[i])
			}
		}
	}
	for i, x := range ColumnNorms(a.Laplacian) {
		add(all, i, x)
	}
	walk := newColumnWalk(a.Laplacian)
	err := walk.batches(ctx, a.Nodes, a.Batch, a.Batches, a.Seed, a.Progress, func(int) {
		for k, i := range walk.nodes {
			add(all[len(a.Layers):], int(i), walk.norms[k])
		}
	})
	if err != nil {
		return nil, err
	}
	t := &AssumptionTable{Batches: a.Batches, Batch: a.Batch, Seed: a.Seed}
	for _, p := range all {
		if p.Sums.N == 0 {
			continue
		}
		t.Rows = append(t.Rows,
			AssumptionRow{p.Layer, NormHW, p.On, p.Sums.Line()},
			AssumptionRow{p.Layer, p.On, NormHW, p.Sums.Swapped().Line()})
		t.Scatters = append(t.Scatters, p.Scatter)
	}
	return t, nil
}
