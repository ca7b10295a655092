package reproduce

import (
	"cmp"
	"slices"
	"strings"

	"github.com/gcn-layerwise/gcn/study"
	"github.com/gcn-layerwise/gcn/study/figure"
	"github.com/gcn-layerwise/gcn/train"
)

func variantRows(r *runner) []PaperRow { return r.rowsOf(r.paper.FastGCNVariants, 2) }

func mainRows(r *runner) []PaperRow { return r.rowsOf(r.paper.Accuracy, 2) }

// scoreTable is a table of test metrics of 2-layer models. For the data sets named in
// timed it also has the time of a training step, which the paper prints beside the
// metrics.
func scoreTable(name, alias, title string, rows func(*runner) []PaperRow, timed ...string) Experiment {
	return Experiment{
		Name: name, Alias: alias, Title: title, Data: fiveNames(), chart: "Test metric, per cent: mean and standard deviation of the runs",
		fill: []filler{func(r *runner, spec string, report *Report) {
			for _, row := range rows(r) {
				if runs := r.trained(spec, row); len(runs) > 0 {
					add(report, spec, row, score, "test "+runs[0].Metric+", %", runs, func(run *trainResult) float64 { return 100 * run.Test })
				}
			}
		}, func(r *runner, spec string, report *Report) {
			if name, _ := paperDataset(spec); len(timed) == 0 || name != "" && !slices.Contains(timed, name) {
				return
			}
			for _, row := range rows(r) {
				row.Values = nil
				for _, printed := range r.paper.TrainingTime["2"] {
					if printed.Label == row.Label {
						row.Values = printed.Values
					}
				}
				r.addTime(report, r.stepKey(spec, row, 2), row, "ms a step")
			}
		}, compareFigure},
	}
}

// add adds a row of a quantity of runs, beside the paper's. It returns the row, until the next
// one is added.
func add[T any](report *Report, spec string, paper PaperRow, of measure, quantity string, runs []T, value func(T) float64) *Row {
	s := study.SpreadOf(runs, value)
	return report.add(Row{
		Dataset: spec, Label: paper.Label, Method: paper.Method, Samples: paper.Samples, Quantity: quantity, is: is{Of: of},
		N: s.N, Mean: s.Mean, Std: s.SD, SEM: s.SEM, Runs: s.N, Paper: paper.value(spec),
	})
}

// compareFigure draws the panel of one data set, whose rows are there: our value and the paper's for
// each method, with error bars. Times beside scores are left out.
func compareFigure(_ *runner, spec string, report *Report) {
	ours, theirs := figure.Series{Name: "here"}, figure.Series{Name: "paper"}
	panel := figure.Panel{Title: columnName(spec)}
	for _, row := range report.Rows {
		if row.Dataset != spec || row.N == 0 || row.is != report.Rows[0].is {
			continue
		}
		x := float64(len(panel.Names))
		panel.Names = append(panel.Names, row.Label)
		panel.Y = row.Quantity
		ours.Add(x-0.12, row.Mean, row.Std)
		if row.Paper != nil && row.Paper.LessThan == 0 {
			theirs.Add(x+0.12, row.Paper.Mean, row.Paper.PM)
		}
	}
	if len(ours.X) == 0 {
		return
	}
	panel.Points = append(panel.Points, ours)
	if len(theirs.X) > 0 {
		panel.Points = append(panel.Points, theirs)
	}
	all := slices.Concat(ours.Y, theirs.Y)
	panel.LogY = slices.Min(all) > 0 && slices.Max(all) > 20*slices.Min(all)
	report.figure.Panels = append(report.figure.Panels, panel)
}

// allCurves are the curves of the paper's figure of all methods: layer-wise methods
// have the increasing sizes, others their own.
func allCurves(r *runner) []PaperRow {
	var rows []PaperRow
	for _, row := range r.paper.Accuracy {
		if !row.layerWise() || row.increasing() {
			row.Values = nil
			rows = append(rows, row)
		}
	}
	return r.rowsOf(rows, 2)
}

// layerWiseCurves are the curves of the paper's figure of LADIES and its variants. It
// leaves out FastGCN, whose curve is far below.
func layerWiseCurves(r *runner) []PaperRow {
	return slices.DeleteFunc(allCurves(r), func(row PaperRow) bool { return !strings.HasPrefix(row.Method, "ladies") })
}

// curvesFigure is a figure of validation metrics over mini-batches, and over the seconds
// of their steps, which are timed apart from the runs. It also counts the mini-batches that
// each method needs.
func curvesFigure(name, alias, title string, data []string, rows func(*runner) []PaperRow) Experiment {
	return Experiment{
		Name: name, Alias: alias, Title: title, Data: data,
		caption: "curves",
		chart:   title + ", mean of the runs", columns: 2,
		fill: []filler{func(r *runner, spec string, report *Report) { r.addCurves(spec, rows(r), report) }},
	}
}

// addCurves adds the panels and rows of one data set.
func (r *runner) addCurves(spec string, rows []PaperRow, report *Report) {
	batches := figure.Panel{Title: columnName(spec), X: "mini-batches", Y: "validation metric"}
	seconds := batches
	seconds.X = "seconds of steps"
	target := 0.0
	for _, row := range rows {
		if runs := r.trained(spec, row); row.Method == "ladies" && len(runs) > 0 {
			target = 0.95 * study.SpreadOf(runs, func(run *trainResult) float64 { return run.Valid }).Mean
		}
	}
	for _, row := range rows {
		runs, step := r.trained(spec, row), resultOf[timeResult](r, r.stepKey(spec, row, 2))
		if len(runs) == 0 {
			continue
		}
		curves := make([][]train.Evaluation, len(runs))
		for k, run := range runs {
			curves[k] = run.Curve
		}
		batch := func(e train.Evaluation) float64 { return float64(e.Batch) }
		valid := func(e train.Evaluation) float64 { return e.Valid }
		curve := study.MeanCurve(row.Label, curves, batch, valid, func(study.Spread) float64 { return 0 })
		batches.Lines = append(batches.Lines, curve)
		if step != nil {
			curve.X = slices.Clone(curve.X)
			for k := range curve.X {
				curve.X[k] *= step.MedianMS / 1e3
			}
			seconds.Lines = append(seconds.Lines, curve)
		}
		add(report, spec, row, needed, string(needed), runs, func(run *trainResult) float64 { return float64(run.reaches(cmp.Or(target, 0.95*run.Valid))) })
		add(report, spec, row, "best", "best validation "+runs[0].Metric+", %", runs, func(run *trainResult) float64 { return 100 * run.Valid })
	}
	for _, p := range []figure.Panel{batches, seconds} {
		if len(p.Lines) > 0 {
			report.figure.Panels = append(report.figure.Panels, p)
		}
	}
}
