package study

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"

	"github.com/gcn-layerwise/gcn/graph"
	"github.com/gcn-layerwise/gcn/study/figure"
)

// Norms studies how the norms of columns of P and rows of HW are distributed,
// and whether flat probabilities should beat LADIES on a graph (Chen et al. 2023,
// appendix on the comparison of sampling variance). With B = QP, m its columns
// that are not zero, C = HW of n rows,
//
//	C₁ = (‖B‖²_F/m) / (Σ‖B^[i]‖/m)²,
//	C₂ = the least number with ‖C‖²_F/(C₂n) ≤ ‖C_[i]‖² ≤ C₂‖C‖²_F/n for all i.
//
// C₁/C₂² ≥ 1 (the paper's assumption) suffices for flat sampling to have the lower
// variance. It has the lower variance if and only if
//
//	(Σ‖B^[i]‖)(Σ‖B^[i]‖‖C_[i]‖²) ≤ (Σ‖B^[i]‖²)(Σ‖C_[i]‖²),
//
// with sums over the columns that are not zero. Each side minus ‖BC‖²_F is s times
// the variance E‖BSC−BC‖²_F of s draws with replacement, flat on the left and
// LADIES on the right. The assumption is far from necessary; the ratio of the two
// sides decides when it fails.
type Norms struct {
	Laplacian *graph.Laplacian // required
	Layers    [][]float64      // ‖(HW)_[i]‖ of every node, for each layer; required
	Nodes     []int32          // the batches Q are drawn from these; required

	Batches int `default:"100" least:"1"` // number of Q's
	Batch   int `default:"512" least:"1"` // nodes in each
	Bins    int `default:"60" least:"1"`  // of the histograms
	Seed    uint64

	Progress func(done, total int) // called after each batch, if not nil
}

// NormsRow is the verdict on one layer.
type NormsRow struct {
	Layer string  `json:"layer" show:"layer"`
	C1    float64 `json:"c1" show:"C1|%.4g"` // mean over the batches
	C1SEM float64 `json:"c1_sem"`            // its standard error
	C1P   float64 `json:"c1_p"`              // of P in the place of QP, as the paper's histograms show

	// C₂ over all rows of HW, and with the tails cut off; infinite if a row is
	// zero.
	C2    float64 `json:"c2" show:"C2|%.4g"`
	C2Cut float64 `json:"c2_cut" show:"C2, tails cut|%.4g"`

	Ratio    float64 `json:"c1_over_c2_squared" show:"C1/C2²|%.2g"`        // C1/C2², 0 where C2 is infinite
	RatioCut float64 `json:"c1_over_c2_squared_cut" show:"tails cut|%.2g"` // C1/C2Cut²
	Holds    bool    `json:"holds"`                                        // Ratio ≥ 1: flat is proven better

	// MomentRatio is the left side of the condition above divided by the right
	// one, summed over the batches. Below 1 flat is better, above 1 LADIES.
	MomentRatio float64 `json:"moment_ratio" show:"moment ratio|%.3f"`
	FlatBetter  bool    `json:"flat_better"` // MomentRatio < 1

	HW Histogram `json:"hw"`
}

// NormsTable is the outcome of a Norms study.
type NormsTable struct {
	Rows    []NormsRow `json:"rows"`
	P       Histogram  `json:"p"` // of ‖P^[i]‖
	Batches int        `json:"batches"`
	Batch   int        `json:"batch"`
	Seed    uint64     `json:"seed"`
}

// Verdict says which probabilities have the lower variance.
func (r *NormsRow) Verdict() string {
	assumption := "the paper's assumption does not hold, so it proves nothing"
	if r.Holds {
		assumption = "the paper's assumption holds"
	}
	distance := math.Abs(r.MomentRatio - 1)
	switch {
	case math.IsNaN(distance):
		return assumption + "; the second moments are 0 or not numbers, and tell nothing"
	case distance < 0.005:
		return assumption + "; flat probabilities and LADIES have equal second moments, to within half a per cent"
	case r.FlatBetter:
		return fmt.Sprintf("%s; flat probabilities have the lower second moment, %.0f %% below LADIES", assumption, 100*distance)
	}
	return fmt.Sprintf("%s; LADIES has the lower second moment, flat is %.0f %% above", assumption, 100*distance)
}

// Run computes the table. Cost: O(edges), O(nodes log nodes) for each layer, and
// for each Q O(nonzeros of its rows) for each layer.
func (s Norms) Run(ctx context.Context) (*NormsTable, error) {
	if err := cmp.Or(setDefaults(&s), checkNorms(s.Laplacian, s.Layers, s.Nodes, s.Batches)); err != nil {
		return nil, err
	}
	const cut = 0.001 // tail cut off at each end
	columns := ColumnNorms(s.Laplacian)
	t := &NormsTable{P: NewHistogram(columns, s.Bins, cut), Batches: s.Batches, Batch: s.Batch, Seed: s.Seed}
	c1 := make([]float64, s.Batches)
	flat, ladies := make([]float64, len(s.Layers)), make([]float64, len(s.Layers))
	walk := newColumnWalk(s.Laplacian)
	err := walk.batches(ctx, s.Nodes, s.Batch, s.Batches, s.Seed, s.Progress, func(b int) {
		c1[b] = unevenness(walk.norms)
		for l, layer := range s.Layers {
			f, q := secondMoments(walk.nodes, walk.norms, layer)
			flat[l] += f
			ladies[l] += q
		}
	})
	if err != nil {
		return nil, err
	}
	spread := NewSpread(c1)
	for l, layer := range s.Layers {
		row := NormsRow{
			Layer: layerName(l), C1: spread.Mean, C1SEM: spread.SEM, C1P: unevenness(columns),
			C2: boundingConstant(layer, 0), C2Cut: boundingConstant(layer, cut),
			MomentRatio: flat[l] / ladies[l], FlatBetter: flat[l] < ladies[l],
			HW: NewHistogram(layer, s.Bins, cut),
		}
		row.Ratio = row.C1 / (row.C2 * row.C2)
		row.RatioCut = row.C1 / (row.C2Cut * row.C2Cut)
		row.Holds = row.Ratio >= 1
		t.Rows = append(t.Rows, row)
	}
	return t, nil
}

// unevenness returns C₁, the mean square of the norms divided by the square of
// their mean.
func unevenness(norms []float64) float64 {
	sum := floats.Sum(norms)
	return floats.Dot(norms, norms) * float64(len(norms)) / (sum * sum)
}

// boundingConstant returns C₂ of the norms between the quantiles cut and 1−cut.
// The mean square is over all norms. C₂ is +Inf if one of the norms is zero.
func boundingConstant(norms []float64, cut float64) float64 {
	mean := floats.Dot(norms, norms) / float64(len(norms))
	if mean == 0 {
		return math.Inf(1)
	}
	low, high := between(slices.Sorted(slices.Values(norms)), cut)
	return max(high*high/mean, mean/(low*low))
}

// secondMoments returns both sides of the condition for flat probabilities to have
// the lower variance: (ΣB)(ΣBC²) and (ΣB²)(ΣC²).
func secondMoments(nodes []int32, columns, rows []float64) (flat, ladies float64) {
	var b, b2, bc2, c2 float64
	for k, i := range nodes {
		c := rows[i] * rows[i]
		b += columns[k]
		b2 += columns[k] * columns[k]
		bc2 += columns[k] * c
		c2 += c
	}
	return b * bc2, b2 * c2
}

// Histogram counts values in bins of equal width, outliers left out.
type Histogram struct {
	figure.Bars
	Below int `json:"below"` // values left out below Low
	Above int `json:"above"` // and above High

	Mean   float64 `json:"mean"` // of all values, outliers and infinite ones included
	Median float64 `json:"median"`
	Max    float64 `json:"max"`
}

// NewHistogram counts values in the given number of bins between the quantiles
// cut and 1−cut. It leaves out the values below the ⌈cut·n⌉-th smallest and above
// the ⌈cut·n⌉-th largest; cut = 0 keeps all. values is not changed. Without values
// or bins the histogram is empty. Infinite values are below or above all bins, and
// NaN is in none; both enter Mean and Max. Low, High and Median are 0 if no value is finite.
// Cost: O(n log n).
func NewHistogram(values []float64, bins int, cut float64) Histogram {
	if len(values) == 0 || bins < 1 {
		return Histogram{}
	}
	h := Histogram{Mean: floats.Sum(values) / float64(len(values)), Max: slices.Max(values), Bars: figure.Bars{Counts: make([]int, bins)}}
	sorted := slices.DeleteFunc(slices.Sorted(slices.Values(values)), math.IsNaN)
	finite := slices.DeleteFunc(slices.Clone(sorted), func(v float64) bool { return math.IsInf(v, 0) })
	if n := len(finite); n > 0 {
		h.Low, h.High = between(finite, cut)
		h.Median = finite[(n-1)/2]
	}
	width := (h.High - h.Low) / float64(bins)
	for _, v := range sorted {
		switch {
		case v < h.Low:
			h.Below++
		case v > h.High:
			h.Above++
		case width == 0:
			h.Counts[0]++
		default:
			h.Counts[max(0, min(int((v-h.Low)/width), bins-1))]++
		}
	}
	return h
}

// between returns the quantiles cut and 1−cut of sorted values: the ⌈cut·n⌉-th smallest and
// largest.
func between(sorted []float64, cut float64) (low, high float64) {
	n := len(sorted)
	at := min(max(int(math.Ceil(cut*float64(n)))-1, 0), (n-1)/2)
	return sorted[at], sorted[n-1-at]
}

// Panel draws the histogram of a value of the nodes, which x names.
func (h Histogram) Panel(title, x string) figure.Panel {
	return figure.Panel{
		Title: title, X: x, Y: "nodes", FromZero: true, Caption: fmt.Sprintf("mean %.3g, largest %.3g", h.Mean, h.Max),
		Bars: &h.Bars,
	}
}
