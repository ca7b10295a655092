package study

import (
	"fmt"
	"slices"

	"github.com/gcn-layerwise/gcn/study/figure"
)

// Shown is a Table that a terminal can show.
type Shown interface {
	Table

	// Lines returns headings and rows of cells, and lines of text below them.
	Lines() (head []string, rows [][]string, below []string)
}

var _ = []Shown{(*ErrorTable)(nil), (*AssumptionTable)(nil), (*NormsTable)(nil), (*VarianceTable)(nil), (*ClaimTable)(nil), (*FeaturesTable)(nil)}

// Header implements Table.
func (t *ErrorTable) Header() []string { return Header(t.Rows) }

// Records implements Table.
func (t *ErrorTable) Records() [][]string { return Records(t.Rows) }

// Lines implements Shown.
func (t *ErrorTable) Lines() (head []string, rows [][]string, below []string) {
	head, rows = shown(t.Rows)
	return head, rows, []string{fmt.Sprintf("‖QPHW‖ = %.4g, %.0f candidates, %d mini-batches of %d nodes, %d draws each, seed %d",
		t.Norm, t.Candidates, t.Repeats, t.Batch, t.Draws, t.Seed)}
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
	panel := func(title, caption, y string, value func(ErrorRow) (value, bar float64)) figure.Panel {
		return figure.Panel{
			Title: title, Caption: caption, X: "nodes drawn", Y: y, LogX: true, LogY: true,
			Lines: figure.Curves(t.Rows, func(r ErrorRow) (string, float64, float64, float64) {
				v, bar := value(r)
				return r.Method, float64(r.Samples), v, bar
			}),
		}
	}
	return &figure.Figure{Title: fmt.Sprintf("Matrix approximation error, batch %d, %d repeats", t.Batch, t.Repeats), Panels: []figure.Panel{
		panel("error (bars: standard error)", "", "mean ‖QPHW − QPSHW‖", func(r ErrorRow) (float64, float64) { return r.Mean, r.SEM }),
		panel("bias part", "(where above two standard errors)", "‖E QPSHW − QPHW‖", func(r ErrorRow) (float64, float64) { return r.significantBias(), 0 }),
		panel("variance part", "", "root of the variance", func(r ErrorRow) (float64, float64) { return r.SD, 0 }),
	}}
}

// significantBias returns Bias if it is above its noise, else 0.
func (r *ErrorRow) significantBias() float64 {
	if r.Bias2 > 2*r.Bias2SEM {
		return r.Bias
	}
	return 0
}

// Header implements Table.
func (t *AssumptionTable) Header() []string { return Header(t.Rows) }

// Records implements Table.
func (t *AssumptionTable) Records() [][]string { return Records(t.Rows) }

// Lines implements Shown.
func (t *AssumptionTable) Lines() (head []string, rows [][]string, below []string) {
	head, rows = shown(t.Rows)
	return head, rows, nil
}

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

// Header implements Table.
func (t *NormsTable) Header() []string { return Header(t.Rows) }

// Records implements Table.
func (t *NormsTable) Records() [][]string { return Records(t.Rows) }

// Lines implements Shown.
func (t *NormsTable) Lines() (head []string, rows [][]string, below []string) {
	head, rows = shown(t.Rows)
	for _, r := range t.Rows {
		below = append(below, r.Layer+": "+r.Verdict())
	}
	return head, rows, below
}

// Figure implements Table: the histograms.
func (t *NormsTable) Figure() *figure.Figure {
	f := &figure.Figure{Title: "Norms of the columns of P and of the rows of HW, tails cut off"}
	f.Panels = append(f.Panels, t.P.Panel("columns of P", "‖P^[i]‖", "nodes"))
	for _, r := range t.Rows {
		f.Panels = append(f.Panels, r.HW.Panel("rows of HW, "+r.Layer, "‖(HW)_[i]‖", "nodes"))
	}
	if len(f.Panels) == 4 {
		f.Columns = 2
	}
	return f
}

// Header implements Table.
func (t *VarianceTable) Header() []string { return Header(t.Rows) }

// Records implements Table.
func (t *VarianceTable) Records() [][]string { return Records(t.Rows) }

// Lines implements Shown.
func (t *VarianceTable) Lines() (head []string, rows [][]string, below []string) {
	head, rows = shown(t.Rows)
	how := "exact, by enumeration"
	if slices.ContainsFunc(t.Rows, func(r VarianceRow) bool { return !r.Exact }) {
		how = fmt.Sprintf("moments that are not exact are from %d draws, and in bounds to within 5 standard errors", t.Repeats)
	}
	return head, rows, []string{fmt.Sprintf("%d candidates; %s; largest ratios over the watched candidates", t.Candidates, how)}
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

// Header implements Table.
func (t *ClaimTable) Header() []string { return Header(t.Rows) }

// Records implements Table.
func (t *ClaimTable) Records() [][]string { return Records(t.Rows) }

// Lines implements Shown.
func (t *ClaimTable) Lines() (head []string, rows [][]string, below []string) {
	head, rows = shown(t.Rows)
	return head, rows, []string{fmt.Sprintf("%d candidates; values that are not exact are from %d draws; the recursion as printed has a slip", t.Candidates, t.Repeats)}
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
	each.Points = append(
		figure.Curves(t.Points, func(p Claimed) (string, float64, float64, float64) {
			return "corrected recursion", p.Predicted, p.Measured, p.SE
		}),
		figure.Curves(t.Points, func(p Claimed) (string, float64, float64, float64) { return "as printed", p.Printed, p.Measured, p.SE })...)
	rows := slices.DeleteFunc(slices.Clone(t.Rows), func(r ClaimRow) bool { return r.Claim != claimCorrected })
	mean := figure.Panel{Title: "mean Var β", X: "draws", Y: "Var β", LogX: true, LogY: true}
	mean.Lines = figure.Curves(rows, func(r ClaimRow) (string, float64, float64, float64) {
		return r.Case + ", predicted", float64(r.Samples), float64(r.Predicted), 0
	})
	mean.Points = figure.Curves(rows, func(r ClaimRow) (string, float64, float64, float64) {
		return r.Case + ", measured", float64(r.Samples), float64(r.Measured), float64(r.SE)
	})
	return &figure.Figure{Title: "Predicted and measured variances", Panels: []figure.Panel{each, mean}}
}

// Header implements Table.
func (t *FeaturesTable) Header() []string { return Header(t.Rows) }

// Records implements Table.
func (t *FeaturesTable) Records() [][]string { return Records(t.Rows) }

// Lines implements Shown.
func (t *FeaturesTable) Lines() (head []string, rows [][]string, below []string) {
	head, rows = shown(t.Rows)
	head[slices.Index(head, "test")] += " " + t.Metric
	if len(t.Rows) > len(t.Means) {
		for _, m := range t.Means {
			below = append(below, fmt.Sprintf("%s: mean %s ± %s (standard deviation of the runs)", m.Input, Text(float64(m.Test)), Text(float64(m.TestStd))))
		}
	}
	return head, rows, below
}

// Figure implements Table. There is nothing to draw.
func (t *FeaturesTable) Figure() *figure.Figure { return nil }
