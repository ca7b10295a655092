package report

import (
	"fmt"
	"math"

	"github.com/gcn-layerwise/gcn/study"
)

// curveOf is the curve of one run: its evaluations by batch.
type curveOf struct {
	name   string
	points []Point
}

// groupLines returns the lines of the runs of one group. A single run is one line. Of
// several runs there is one line of means with a band of one standard deviation, up to the
// last batch at which all of them have a value. Behind it, a thin line continues each run
// that is longer.
//
// The x of a mean is the mean of the runs' x at that batch.
func groupLines(name string, group int, runs []curveOf, x, y func(Point) float64) []line {
	mean, last := meanLine(runs, x, y)
	mean.Group = group
	mean.Name = fmt.Sprintf("%s: mean of %d runs", name, len(runs))
	var lines []line
	for _, run := range runs {
		l := line{Name: name + ", " + run.name, Group: group, Thin: last >= 0}
		for _, q := range run.points {
			if q.Batch >= last {
				l.X, l.Y = append(l.X, x(q)), append(l.Y, y(q))
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

// meanLine returns the means over the runs, and the last batch that has one: -1 for a
// single run, or if no batch has a value in every run.
func meanLine(runs []curveOf, x, y func(Point) float64) (mean line, last int) {
	last = -1
	if len(runs) < 2 {
		return mean, last
	}
	byBatch := make([]map[int]Point, len(runs))
	for k, run := range runs {
		byBatch[k] = map[int]Point{}
		for _, q := range run.points {
			byBatch[k][q.Batch] = q
		}
	}
	for _, q := range runs[0].points {
		var xs, ys []float64
		for _, points := range byBatch {
			if p, there := points[q.Batch]; there && drawable(x(p), y(p)) {
				xs, ys = append(xs, x(p)), append(ys, y(p))
			}
		}
		at, spread := study.NewSpread(xs), study.NewSpread(ys)
		if len(ys) < len(runs) {
			spread.Mean = math.NaN() // breaks the line
		} else {
			last = q.Batch
		}
		mean.X, mean.Y, mean.SD = append(mean.X, at.Mean), append(mean.Y, spread.Mean), append(mean.SD, spread.SD)
	}
	return mean, last
}
