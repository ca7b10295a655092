package report

import (
	"github.com/gcn-layerwise/gcn/study"
	"github.com/gcn-layerwise/gcn/study/figure"
)

// groupLines returns the lines of the runs of one group. A single run is one line. Of
// several runs there is one line of means with a band of one standard deviation, up to the
// last batch at which all of them have a value. Behind it, a thin line continues each run
// that is longer.
//
// The x of a mean is the mean of the runs' x at that batch.
func groupLines(name string, runs [][]Point, x, y func(Point) float64) []figure.Series {
	curves := make([][]study.CurvePoint, len(runs))
	for k, points := range runs {
		for _, q := range points {
			curves[k] = append(curves[k], study.CurvePoint{Batch: q.Batch, X: x(q), Y: y(q)})
		}
	}
	mean, last := figure.Series{Name: name, Band: true}, -1
	if len(runs) > 1 {
		for _, p := range study.MeanCurve(curves) {
			mean.X, mean.Y, mean.Error, last = append(mean.X, p.X), append(mean.Y, p.Y.Mean), append(mean.Error, p.Y.SD), p.Batch
		}
	}
	var lines []figure.Series
	for _, points := range curves {
		l := figure.Series{Name: name, Thin: last >= 0}
		for _, p := range points {
			if p.Batch >= last {
				l.X, l.Y = append(l.X, p.X), append(l.Y, p.Y)
			}
		}
		if last < 0 || len(l.X) > 1 {
			lines = append(lines, l)
		}
	}
	if last >= 0 {
		lines = append(lines, mean)
	}
	return lines
}
