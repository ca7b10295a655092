package study

import (
	"fmt"
	"math"
	"slices"

	"github.com/gcn-layerwise/gcn/study/figure"
)

// Histogram counts values in bins of equal width, outliers left out.
type Histogram struct {
	Low    float64 `json:"low"`  // left edge of the first bin
	High   float64 `json:"high"` // right edge of the last, which belongs to it
	Counts []int   `json:"counts"`
	Below  int     `json:"below"` // values left out below Low
	Above  int     `json:"above"` // and above High

	Mean   float64 `json:"mean"` // of all values, outliers and infinite ones included
	Median float64 `json:"median"`
	Max    float64 `json:"max"`
}

// NewHistogram counts values in the given number of bins between the quantiles
// cut and 1−cut. It leaves out the values below the ⌈cut·n⌉-th smallest and above
// the ⌈cut·n⌉-th largest; cut = 0 keeps all. values is not changed. Without values
// or bins the histogram is empty. Infinite values are below or above all bins, and
// NaN is in none; both enter Mean and Max. Cost: O(n log n).
func NewHistogram(values []float64, bins int, cut float64) Histogram {
	if len(values) == 0 || bins < 1 {
		return Histogram{}
	}
	all := Histogram{Max: slices.Max(values), Counts: make([]int, bins)}
	var sorted []float64
	for _, v := range values {
		all.Mean += v / float64(len(values))
		switch {
		case math.IsInf(v, -1):
			all.Below++
		case math.IsInf(v, 1):
			all.Above++
		case !math.IsNaN(v):
			sorted = append(sorted, v)
		}
	}
	n := len(sorted)
	if n == 0 {
		all.Low, all.High, all.Median = math.NaN(), math.NaN(), math.NaN()
		return all
	}
	slices.Sort(sorted)
	h := all
	h.Low, h.High = between(sorted, cut)
	h.Median = sorted[(n-1)/2]
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

// Panel draws the histogram. y names the values that are counted.
func (h Histogram) Panel(title, x, y string) figure.Panel {
	return figure.Panel{
		Title: title, X: x, Y: y, FromZero: true, Caption: fmt.Sprintf("mean %.3g, largest %.3g", h.Mean, h.Max),
		Bars: &figure.Bars{Low: h.Low, High: h.High, Counts: h.Counts},
	}
}
