package study

import (
	"github.com/gcn-layerwise/gcn/internal/finite"
	"github.com/gcn-layerwise/gcn/study/figure"
)

// CurvePoint is a value of one run after some mini-batches. X is its place on an axis.
type CurvePoint struct {
	Batch int
	X, Y  float64
}

// MeanCurve averages runs. The result has a point for each batch of the first run at which
// all runs have a value that is finite, at their mean place, with the error bar that bar
// returns; a nil bar means none. last is the last of these batches, or -1.
func MeanCurve(name string, runs [][]CurvePoint, bar func(Spread) float64) (mean figure.Series, last int) {
	mean, last = figure.Series{Name: name}, -1
	byBatch := make([]map[int]CurvePoint, len(runs))
	for k, points := range runs {
		byBatch[k] = make(map[int]CurvePoint, len(points))
		for _, p := range points {
			byBatch[k][p.Batch] = p
		}
	}
	for k := 0; len(runs) > 0 && k < len(runs[0]); k++ {
		batch := runs[0][k].Batch
		var x, y []float64
		for _, points := range byBatch {
			if p, there := points[batch]; there && finite.Is(p.X) && finite.Is(p.Y) {
				x, y = append(x, p.X), append(y, p.Y)
			}
		}
		if len(y) == len(runs) {
			spread := NewSpread(y)
			mean.X, mean.Y, last = append(mean.X, NewSpread(x).Mean), append(mean.Y, spread.Mean), batch
			if bar != nil {
				mean.Error = append(mean.Error, bar(spread))
			}
		}
	}
	return mean, last
}
