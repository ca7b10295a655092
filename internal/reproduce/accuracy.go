package reproduce

import (
	"fmt"
	"slices"
	"strings"

	"github.com/gcn-layerwise/gcn/study"
	"github.com/gcn-layerwise/gcn/study/figure"
)

func variantRows(r *runner) []PaperRow { return r.rowsOf(r.paper.FastGCNVariants, 2) }

func mainRows(r *runner) []PaperRow {
	table := slices.Clone(r.paper.Accuracy)
	if len(r.Methods) > 0 { // named methods may also come from the appendix's table
		for _, row := range r.paper.FastGCNVariants {
			known := slices.ContainsFunc(table, func(other PaperRow) bool { return other.Label == row.Label })
			if !known {
				table = append(table, row)
			}
		}
	}
	return r.rowsOf(table, 2)
}

// scoreTable is a table of test metrics of 2-layer models. For the data sets named in
// timed it also has the time of a training step, which the paper prints beside the
// metrics.
func scoreTable(name, alias, title string, rows func(*runner) []PaperRow, timed ...string) Experiment {
	hasTime := func(spec string) bool {
		name, _ := paperDataset(spec)
		return slices.Contains(timed, name) || name == "" && len(timed) > 0
	}
	return Experiment{
		Name: name, Alias: alias, Title: title, Data: fiveNames(),
		jobs: func(r *runner, spec string) []job {
			var jobs []job
			for _, row := range rows(r) {
				jobs = append(jobs, r.trainJobs(spec, row, 2)...)
				if hasTime(spec) {
					jobs = append(jobs, stepJob(spec, row, 2))
				}
			}
			return jobs
		},
		fill: func(r *runner, c task, report *Report) {
			for _, spec := range c.data {
				for _, row := range rows(r) {
					runs := r.trained(spec, row, 2)
					if len(runs) == 0 {
						continue
					}
					var tests []float64
					for _, run := range runs {
						tests = append(tests, 100*float64(run.Test))
					}
					report.Rows = append(report.Rows, newRow(spec, row, "test "+runs[0].Metric+", %", tests))
				}
			}
			report.Notes = append(report.Notes, constantScores(report.Rows)...)
			report.figure = compareFigure("Test metric, per cent: mean and standard deviation of the runs", report.Rows, c.data)
			for _, spec := range c.data {
				if !hasTime(spec) {
					continue
				}
				for _, row := range rows(r) {
					row.Values = r.paper.stepValues(row.Label)
					r.addTime(report, stepJob(spec, row, 2), row, quantityStep, paperTraining)
				}
			}
		},
	}
}

// constantScores names the methods of each data set whose scores are the same in all runs.
func constantScores(rows []Row) []string {
	var notes []string
	for k := 0; k < len(rows); {
		spec := rows[k].Dataset
		var labels []string
		for ; k < len(rows) && rows[k].Dataset == spec; k++ {
			if row := rows[k]; row.N > 1 && row.Std == 0 {
				labels = append(labels, row.labelled())
			}
		}
		if len(labels) > 0 {
			notes = append(notes, fmt.Sprintf("%s: %s: the same score in all runs, as if the model gave every node the same class", columnName(spec), strings.Join(labels, ", ")))
		}
	}
	return notes
}

// quantityStep heads the times beside the metrics.
const quantityStep = "ms a step"

// stepValues returns the paper's times of a step of a 2-layer model, which it prints
// in two tables.
func (n *Numbers) stepValues(label string) map[string]PaperValue {
	for _, row := range n.TrainingTime["2"] {
		if row.Label == label {
			return row.Values
		}
	}
	return nil
}

// newRow summarises the measurements of one row and compares them.
func newRow(spec string, paper PaperRow, quantity string, values []float64) Row {
	s := study.NewSpread(values)
	row := Row{
		Dataset: spec, Label: paper.Label, Method: paper.Method, Samples: paper.Samples, Quantity: quantity,
		N: s.N, Mean: s.Mean, Std: s.SD, SEM: s.SEM, Runs: s.N, Paper: paper.value(spec),
	}
	row.compare()
	row.explain("")
	return row
}

// compareFigure draws one panel for each data set: our value and the paper's for
// each method, with error bars.
func compareFigure(title string, rows []Row, data []string) *figure.Figure {
	f := &figure.Figure{Title: title}
	for _, spec := range data {
		ours, theirs := figure.Series{Name: "here"}, figure.Series{Name: "paper"}
		panel := figure.Panel{Title: lastName(spec)}
		for _, row := range rows {
			if row.Dataset != spec || row.N == 0 {
				continue
			}
			x := float64(len(panel.Names))
			panel.Names = append(panel.Names, row.labelled())
			panel.Y = row.Quantity
			ours.X, ours.Y, ours.Error = append(ours.X, x-0.12), append(ours.Y, row.Mean), append(ours.Error, row.Std)
			if row.Paper != nil && row.Paper.LessThan == 0 {
				theirs.X, theirs.Y, theirs.Error = append(theirs.X, x+0.12), append(theirs.Y, row.Paper.Mean), append(theirs.Error, row.Paper.PM)
			}
		}
		if len(ours.X) == 0 {
			continue
		}
		panel.Points = append(panel.Points, ours)
		if len(theirs.X) > 0 {
			panel.Points = append(panel.Points, theirs)
		}
		panel.LogY = wideRange(slices.Concat(ours.Y, theirs.Y))
		f.Panels = append(f.Panels, panel)
	}
	return f
}

// wideRange reports whether positive values span more than a factor of 20.
func wideRange(values []float64) bool {
	if len(values) == 0 {
		return false
	}
	low, high := slices.Min(values), slices.Max(values)
	return low > 0 && high > 20*low
}
