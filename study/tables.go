package study

import (
	"fmt"
	"slices"

	"github.com/gcn-layerwise/gcn/study/figure"
)

// List implements Table.
func (t *ErrorTable) List() List {
	return list(t.Rows, fmt.Sprintf("‖QPHW‖ = %.4g, %.0f candidates, %d mini-batches of %d nodes, %d draws each, seed %d",
		t.Norm, t.Candidates, t.Repeats, t.Batch, t.Draws, t.Seed))
}

func (r ErrorRow) cell(name, text string) string {
	if name == "bias" && r.Bias2 < 2*r.Bias2SEM {
		return "(noise)"
	}
	return text
}

// Figure implements Table: the error, its bias part and its standard deviation
// over the sample size, one curve for each method, like the paper's figure of
// matrix approximation errors.
func (t *ErrorTable) Figure() *figure.Figure {
	f := &figure.Figure{Title: fmt.Sprintf("Matrix approximation error, batch %d, %d repeats", t.Batch, t.Repeats), Panels: []figure.Panel{
		{Title: "error (bars: standard error)", Y: "mean ‖QPHW − QPSHW‖"},
		{Title: "bias part", Caption: "(where above two standard errors)", Y: "‖E QPSHW − QPHW‖"},
		{Title: "variance part", Y: "root of the variance"},
	}}
	for k := range f.Panels {
		p := &f.Panels[k]
		p.X, p.LogX, p.LogY = "nodes drawn", true, true
		p.Lines = figure.Curves(t.Rows, func(r ErrorRow) (string, float64, float64, float64) {
			if !(r.Bias2 > 2*r.Bias2SEM) {
				r.Bias = 0
			}
			return r.Method, float64(r.Samples), []float64{r.Mean, r.Bias, r.SD}[k], []float64{r.SEM, 0, 0}[k]
		})
	}
	return f
}

// List implements Table.
func (t *AssumptionTable) List() List { return list(t.Rows) }

// Figure implements Table: for each layer the points of ‖(HW)_[i]‖ over ‖P^[i]‖
// and over ‖QP^[i]‖, with the fitted line.
func (t *AssumptionTable) Figure() *figure.Figure {
	labels := map[string]string{NormP: "‖P^[i]‖", NormQP: "‖QP^[i]‖"}
	f := &figure.Figure{Title: "Row norms of HW over column norms of P and QP"}
	for _, s := range t.Scatters {
		line, panel := s.Sums.Line(), s.Panel(s.Layer, labels[s.On], "least squares")
		panel.Caption = fmt.Sprintf("slope %.3g ± %.2g, R² = %.3f", line.Slope, line.SlopeSE, line.R2)
		f.Panels = append(f.Panels, panel)
	}
	if len(f.Panels) == 0 {
		return nil
	}
	if n := len(f.Panels); n > 3 && n%2 == 0 {
		f.Columns = min(n/2, 4)
	}
	return f
}

// List implements Table.
func (t *NormsTable) List() List {
	var below []string
	for _, r := range t.Rows {
		below = append(below, r.Layer+": "+r.Verdict())
	}
	return list(t.Rows, below...)
}

// Figure implements Table: the histograms.
func (t *NormsTable) Figure() *figure.Figure {
	f := &figure.Figure{Title: "Norms of the columns of P and of the rows of HW, tails cut off", Panels: []figure.Panel{t.P.Panel("columns of P", "‖P^[i]‖")}}
	for _, r := range t.Rows {
		f.Panels = append(f.Panels, r.HW.Panel("rows of HW, "+r.Layer, "‖(HW)_[i]‖"))
	}
	if len(f.Panels) == 4 {
		f.Columns = 2
	}
	return f
}

// List implements Table.
func (t *VarianceTable) List() List {
	how := "exact, by enumeration"
	if slices.ContainsFunc(t.Rows, func(r VarianceRow) bool { return !r.Exact }) {
		how = fmt.Sprintf("moments that are not exact are from %d draws, and in bounds to within 5 standard errors", t.Repeats)
	}
	return list(t.Rows, fmt.Sprintf("%d candidates; %s; largest ratios over the watched candidates", t.Candidates, how))
}

func (r VarianceRow) cell(name, text string) string {
	if name == "cov_over_bound" && !r.Exact && r.CovWithin { // an estimate that is not above its noise
		return "(noise)"
	}
	return text
}

// Figure implements Table. The left panel has the mean squared error of β over the
// number of draws, the right panel each candidate's error over its probability at
// the middle number of draws. Both are divided by the theorem's bound on the variance.
func (t *VarianceTable) Figure() *figure.Figure {
	if len(t.Rows) == 0 {
		return nil
	}
	mean := figure.Panel{Title: "mean over the candidates", X: "draws", Y: "E(β − 1)² / bound", LogX: true, LogY: true}
	mean.Lines = figure.Curves(t.Rows, func(r VarianceRow) (string, float64, float64, float64) {
		return r.Estimator, float64(r.Samples), r.MeanSquare / r.MeanVarBound, 0
	})
	size := int(mean.Lines[0].X[len(mean.Lines[0].X)/2])
	each := figure.Panel{Title: fmt.Sprintf("each candidate, %d draws", size), X: "probability p", Y: mean.Y, LogX: true, LogY: true}
	for _, r := range t.Rows {
		if r.Samples == size {
			each.Points = append(each.Points, figure.Curves(r.Candidates, func(c CandidateMoments) (string, float64, float64, float64) {
				return r.Estimator, c.P, (c.Var + (c.Mean-1)*(c.Mean-1)) / c.Bound, 0
			})...)
		}
	}
	return &figure.Figure{Title: "Squared error of the factors β of one layer over the bound (1/p − 1)/s", Panels: []figure.Panel{mean, each}}
}

// List implements Table.
func (t *ClaimTable) List() List {
	return list(t.Rows, fmt.Sprintf("%d candidates; values that are not exact are from %d draws; the recursion as printed has a slip", t.Candidates, t.Repeats))
}

func (r ClaimRow) cell(name, text string) string {
	switch {
	case name == "se" && r.Exact:
		return "exact"
	case name == "se" && r.SE == 0:
		return ""
	}
	return text
}

// Figure implements Table. The left panel has Var(β) of each watched candidate over
// its prediction, by the corrected and by the printed recursion: points of a right
// prediction are on the diagonal. The right panel has the mean of Var(β) over the number of
// draws.
func (t *ClaimTable) Figure() *figure.Figure {
	each := figure.Panel{Title: "Var β of each candidate", X: "predicted", Y: "measured", LogX: true, LogY: true}
	corrected, printed := figure.Series{Name: "corrected recursion"}, figure.Series{Name: "as printed"}
	for _, p := range t.Points {
		corrected.Add(p.Predicted, p.Measured, p.SE)
		printed.Add(p.Printed, p.Measured, p.SE)
	}
	each.Points = []figure.Series{corrected, printed}
	rows := slices.DeleteFunc(slices.Clone(t.Rows), func(r ClaimRow) bool { return r.Claim != claimCorrected })
	mean := figure.Panel{Title: "mean Var β", X: "draws", Y: "Var β", LogX: true, LogY: true}
	mean.Lines = figure.Curves(rows, func(r ClaimRow) (string, float64, float64, float64) {
		return r.Case + ", predicted", float64(r.Samples), r.Predicted, 0
	})
	mean.Points = figure.Curves(rows, func(r ClaimRow) (string, float64, float64, float64) {
		return r.Case + ", measured", float64(r.Samples), r.Measured, r.SE
	})
	return &figure.Figure{Title: "Predicted and measured variances", Panels: []figure.Panel{each, mean}}
}

// List implements Table.
func (t *FeaturesTable) List() List {
	var below []string
	if len(t.Rows) > len(t.Means) {
		for _, m := range t.Means {
			below = append(below, fmt.Sprintf("%s: mean %s ± %s (standard deviation of the runs)", m.Input, Text(m.Test), Text(m.TestStd)))
		}
	}
	l := list(t.Rows, below...)
	l.Titles[slices.Index(l.Titles, "test")] += " " + t.Metric
	return l
}

// Figure implements Table. There is nothing to draw.
func (t *FeaturesTable) Figure() *figure.Figure { return nil }
