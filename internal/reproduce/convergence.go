package reproduce

import (
	"math"
	"slices"
	"strings"

	"github.com/gcn-layerwise/gcn/study"
	"github.com/gcn-layerwise/gcn/study/figure"
)

// allCurves are the curves of the paper's figure of all methods: layer-wise methods
// have the increasing sizes, others their own.
func allCurves(r *runner) []PaperRow {
	var rows []PaperRow
	for _, row := range r.paper.Accuracy {
		if row.layerWise() && !strings.Contains(row.Label, "(2)") {
			continue
		}
		row.Values = nil
		rows = append(rows, row)
	}
	both := *r
	both.Setting = ""
	return both.rowsOf(rows, 2)
}

// layerWiseCurves are the curves of the paper's figure of LADIES and its variants. It
// leaves out FastGCN, whose curve is far below.
func layerWiseCurves(r *runner) []PaperRow {
	var rows []PaperRow
	for _, row := range allCurves(r) {
		if strings.HasPrefix(row.Method, "ladies") {
			rows = append(rows, row)
		}
	}
	return rows
}

// curvesFigure is a figure of validation metrics over mini-batches, and over the seconds
// of their steps, which are timed apart from the runs. It also counts the mini-batches that
// each method needs.
func curvesFigure(name, alias, title string, data []string, rows func(*runner) []PaperRow) Experiment {
	return Experiment{
		Name: name, Alias: alias, Title: title, Data: data, Caption: captionOfCurves,
		jobs: func(r *runner, spec string) []job {
			var jobs []job
			for _, row := range rows(r) {
				jobs = append(append(jobs, r.trainJobs(spec, row, 2)...), stepJob(spec, row, 2))
			}
			return jobs
		},
		fill: func(r *runner, c task, report *Report) {
			report.figure = &figure.Figure{Title: title + ", mean of the runs", Columns: 2}
			for _, spec := range c.data {
				r.addCurves(spec, rows(r), report)
			}
		},
	}
}

func captionOfCurves(*runner) string {
	return "The paper prints curves, no numbers. Seconds are mini-batches times the median step of table 5, without sampling. A curve ends with its shortest run. The table counts mini-batches until the validation metric " +
		"is 95 % of LADIES' best, or of the method's own best if LADIES was not trained; a run that ends before counts with all its mini-batches."
}

// addCurves adds the panels and rows of one data set.
func (r *runner) addCurves(spec string, rows []PaperRow, report *Report) {
	batches := figure.Panel{Title: columnName(spec), X: "mini-batches", Y: "validation metric"}
	seconds := figure.Panel{Title: columnName(spec), X: "seconds of steps", Y: "validation metric"}
	target := 0.0
	for _, row := range rows {
		if runs := r.trained(spec, row, 2); row.Method == "ladies" && len(runs) > 0 {
			var best []float64
			for _, run := range runs {
				best = append(best, run.best())
			}
			target = 0.95 * study.NewSpread(best).Mean
		}
	}
	for _, row := range rows {
		runs := r.trained(spec, row, 2)
		if len(runs) == 0 {
			continue
		}
		curve := meanCurve(row.Label, runs)
		batches.Lines = append(batches.Lines, curve)
		if step := resultOf[timeResult](r, stepJob(spec, row, 2)); step != nil {
			seconds.Lines = append(seconds.Lines, inSeconds(curve, step.Median))
		}
		var needed, best []float64
		for _, run := range runs {
			goal := target
			if goal == 0 {
				goal = 0.95 * run.best()
			}
			needed = append(needed, float64(run.reaches(goal)))
			best = append(best, 100*run.best())
		}
		report.Rows = append(report.Rows, newRow(spec, row, quantityNeeded, needed), newRow(spec, row, "best validation "+runs[0].Metric+", %", best))
	}
	for _, p := range []figure.Panel{batches, seconds} {
		if len(p.Lines) > 0 {
			report.figure.Panels = append(report.figure.Panels, p)
		}
	}
}

// quantityNeeded heads the numbers of mini-batches.
const quantityNeeded = "mini-batches to 95 %"

// best returns the best validation metric of the run.
func (t *trainResult) best() float64 {
	best := math.Inf(-1)
	for _, p := range t.Curve {
		best = max(best, float64(p.Valid))
	}
	return best
}

// reaches returns the mini-batch of the first score that is at least goal, or of the
// end.
func (t *trainResult) reaches(goal float64) int {
	for _, p := range t.Curve {
		if float64(p.Valid) >= goal {
			return p.Batch
		}
	}
	return t.Batches
}

// meanCurve averages the runs evaluation by evaluation, up to the end of the
// shortest.
func meanCurve(name string, runs []*trainResult) figure.Series {
	curve := figure.Series{Name: name}
	length := len(runs[0].Curve)
	for _, run := range runs {
		length = min(length, len(run.Curve))
	}
	for k := range length {
		var valid []float64
		for _, run := range runs {
			valid = append(valid, float64(run.Curve[k].Valid))
		}
		curve.X, curve.Y = append(curve.X, float64(runs[0].Curve[k].Batch)), append(curve.Y, study.NewSpread(valid).Mean)
	}
	return curve
}

// inSeconds returns a curve over mini-batches as one over seconds.
func inSeconds(curve figure.Series, ms float64) figure.Series {
	curve.X = slices.Clone(curve.X)
	for k := range curve.X {
		curve.X[k] *= ms / 1e3
	}
	return curve
}

// lastName returns a SPEC without the folders of its path, as the heading of a
// panel.
func lastName(spec string) string {
	location, keys, found := strings.Cut(spec, "?")
	if at := strings.LastIndexByte(location, '/'); at >= 0 {
		location = location[at+1:]
	}
	if found {
		location += "?" + keys
	}
	return location
}
