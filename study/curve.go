package study

import "github.com/gcn-layerwise/gcn/internal/finite"

// CurvePoint is a value of one run after some mini-batches. X is its place on an axis.
type CurvePoint struct {
	Batch int
	X, Y  float64
}

// MeanPoint is the mean of several runs after the same number of mini-batches.
type MeanPoint struct {
	Batch int
	X     float64 // mean place
	Y     Spread
}

// MeanCurve averages runs. The result has a point for each batch of the first run at which
// all runs have a value that is finite. Without runs it is nil.
func MeanCurve(runs [][]CurvePoint) []MeanPoint {
	if len(runs) == 0 {
		return nil
	}
	byBatch := make([]map[int]CurvePoint, len(runs))
	for k, points := range runs {
		byBatch[k] = make(map[int]CurvePoint, len(points))
		for _, p := range points {
			byBatch[k][p.Batch] = p
		}
	}
	var mean []MeanPoint
	for _, first := range runs[0] {
		var x, y []float64
		for _, points := range byBatch {
			if p, there := points[first.Batch]; there && finite.Is(p.X) && finite.Is(p.Y) {
				x, y = append(x, p.X), append(y, p.Y)
			}
		}
		if len(y) == len(runs) {
			mean = append(mean, MeanPoint{first.Batch, NewSpread(x).Mean, NewSpread(y)})
		}
	}
	return mean
}
