package reproduce

import (
	"context"
	"fmt"
	"slices"

	"github.com/gcn-layerwise/gcn/study"
	"github.com/gcn-layerwise/gcn/study/figure"
)

func runAccuracy(ctx context.Context, r *runner) (*Report, error) {
	table := slices.Clone(r.paper.Accuracy)
	if len(r.Methods) > 0 { // named methods may also come from the appendix's table
		for _, row := range r.paper.FastGCNVariants {
			known := slices.ContainsFunc(table, func(other PaperRow) bool { return other.Label == row.Label })
			if !known {
				table = append(table, row)
			}
		}
	}
	return r.scores(ctx, table)
}

func runFastGCNVariants(ctx context.Context, r *runner) (*Report, error) {
	return r.scores(ctx, r.paper.FastGCNVariants)
}

// scores trains every row of a table of test metrics on each data set.
func (r *runner) scores(ctx context.Context, table []PaperRow) (*Report, error) {
	rows := r.choose(table)
	if len(rows) == 0 {
		return nil, errNoRuns
	}
	report := new(Report)
	for _, spec := range r.Data {
		for _, row := range rows {
			var tests []float64
			metric := ""
			for run := range r.Runs {
				result, err := r.train(ctx, spec, row, run)
				if err != nil {
					return nil, err
				}
				tests = append(tests, 100*float64(result.Test))
				metric = result.Metric
			}
			report.Rows = append(report.Rows, newRow(spec, row, "test "+metric+", %", tests))
		}
	}
	report.figure = compareFigure("Test metric, per cent: mean and standard deviation of the runs", report.Rows, r.Data)
	if r.Layers != 2 {
		report.Notes = append(report.Notes, fmt.Sprintf("%d layers; the paper has 2", r.Layers))
	}
	return report, nil
}

// newRow summarises the measurements of one row and compares them.
func newRow(spec string, paper PaperRow, quantity string, values []float64) Row {
	s := study.NewSpread(values)
	row := Row{
		Dataset: spec, Label: paper.Label, Method: paper.Method, Samples: paper.Samples, Quantity: quantity,
		N: s.N, Mean: s.Mean, Std: s.SD, SEM: s.SEM, Paper: paper.value(spec),
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
			if row.Dataset != spec {
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
