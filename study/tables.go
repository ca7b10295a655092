package study

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/gcn-layerwise/gcn/internal/finite"
	"github.com/gcn-layerwise/gcn/study/figure"
)

// Header implements Table.
func (t *ErrorTable) Header() []string {
	return []string{"method", "samples", "mean", "sem", "bias", "sd", "bias2", "bias2_sem", "variance", "error_sd", "relative", "drawn"}
}

// Records implements Table.
func (t *ErrorTable) Records() [][]string {
	var records [][]string
	for _, r := range t.Rows {
		record := []string{r.Method, strconv.Itoa(r.Samples)}
		for _, v := range []float64{r.Mean, r.SEM, r.Bias, r.SD, r.Bias2, r.Bias2SEM, r.Variance, r.ErrorSD, r.Relative, r.Drawn} {
			record = append(record, finite.Text(v))
		}
		records = append(records, record)
	}
	return records
}

// Figure implements Table: the error, its bias part and its standard deviation
// over the sample size, one curve for each method, like the paper's figure of
// matrix approximation errors.
func (t *ErrorTable) Figure() *figure.Figure {
	axes := figure.Panel{X: "nodes drawn", LogX: true, LogY: true}
	f := &figure.Figure{Title: fmt.Sprintf("Matrix approximation error, batch %d, %d repeats", t.Batch, t.Repeats)}
	for _, p := range []struct {
		title, y string
		value    func(ErrorRow) (value, bar float64)
	}{
		{"error (bars: standard error)", "mean ‖QPHW − QPSHW‖", func(r ErrorRow) (float64, float64) { return r.Mean, r.SEM }},
		{"bias part", "‖E QPSHW − QPHW‖", func(r ErrorRow) (float64, float64) { return r.significantBias(), 0 }},
		{"variance part", "root of the variance", func(r ErrorRow) (float64, float64) { return r.SD, 0 }},
	} {
		panel := axes
		panel.Title, panel.Y = p.title, p.y
		panel.Lines = t.curves(p.value)
		f.Panels = append(f.Panels, panel)
	}
	f.Panels[1].Caption = "(where above two standard errors)"
	return f
}

// significantBias returns Bias if it is above its noise, else 0.
func (r *ErrorRow) significantBias() float64 {
	if r.Bias2 > 2*r.Bias2SEM {
		return r.Bias
	}
	return 0
}

func (t *ErrorTable) curves(value func(ErrorRow) (value, bar float64)) []figure.Series {
	var curves []figure.Series
	for _, r := range t.Rows {
		if len(curves) == 0 || curves[len(curves)-1].Name != r.Method {
			curves = append(curves, figure.Series{Name: r.Method})
		}
		c := &curves[len(curves)-1]
		v, bar := value(r)
		c.X, c.Y, c.Error = append(c.X, float64(r.Samples)), append(c.Y, v), append(c.Error, bar)
	}
	return curves
}

// Header implements Table.
func (t *AssumptionTable) Header() []string {
	return []string{"layer", "response", "on", "n", "beta0", "beta0_se", "beta1", "beta1_se", "r2"}
}

// Records implements Table.
func (t *AssumptionTable) Records() [][]string {
	var records [][]string
	for _, r := range t.Rows {
		records = append(records, []string{r.Layer, r.Response, r.On, strconv.Itoa(r.N),
			finite.Text(r.Intercept), finite.Text(r.InterceptSE), finite.Text(r.Slope), finite.Text(r.SlopeSE), finite.Text(r.R2)})
	}
	return records
}

// Figure implements Table: for each layer the points of ‖(HW)_[i]‖ over ‖P^[i]‖
// and over ‖QP^[i]‖, with the fitted line.
func (t *AssumptionTable) Figure() *figure.Figure {
	labels := map[string]string{NormP: "‖P^[i]‖", NormQP: "‖QP^[i]‖"}
	f := &figure.Figure{Title: "Row norms of HW over column norms of P and QP"}
	for _, s := range t.Scatters {
		row := t.Row(s.Layer, NormHW, s.On)
		panel := figure.Panel{
			Title: s.Layer, X: labels[s.On], Y: "‖(HW)_[i]‖",
			Caption: fmt.Sprintf("slope %.3g ± %.2g, R² = %.3f", row.Slope, row.SlopeSE, row.R2),
			Fit:     &figure.Straight{Name: "least squares", Intercept: row.Intercept, Slope: row.Slope},
		}
		for _, p := range s.Points {
			panel.Cloud = append(panel.Cloud, figure.XY(p))
		}
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
func (t *NormsTable) Header() []string {
	return []string{"layer", "c1", "c1_sem", "c1_p", "c2", "c2_cut", "c1_over_c2_squared", "c1_over_c2_squared_cut", "holds", "moment_ratio", "flat_better"}
}

// Records implements Table.
func (t *NormsTable) Records() [][]string {
	var records [][]string
	for _, r := range t.Rows {
		records = append(records, []string{r.Layer, finite.Text(r.C1), finite.Text(r.C1SEM), finite.Text(r.C1P), finite.Text(float64(r.C2)), finite.Text(float64(r.C2Cut)),
			finite.Text(r.Ratio), finite.Text(r.RatioCut), strconv.FormatBool(r.Holds), finite.Text(r.MomentRatio), strconv.FormatBool(r.FlatBetter)})
	}
	return records
}

// Figure implements Table: the histograms.
func (t *NormsTable) Figure() *figure.Figure {
	panel := func(title, x string, h Histogram) figure.Panel {
		return figure.Panel{
			Title: title, X: x, Y: "nodes", FromZero: true,
			Caption: fmt.Sprintf("mean %.3g, largest %.3g", h.Mean, h.Max),
			Bars:    &figure.Bars{Low: h.Low, High: h.High, Counts: h.Counts},
		}
	}
	f := &figure.Figure{Title: "Norms of the columns of P and of the rows of HW, tails cut off"}
	f.Panels = append(f.Panels, panel("columns of P", "‖P^[i]‖", t.P))
	for _, r := range t.Rows {
		f.Panels = append(f.Panels, panel("rows of HW, "+r.Layer, "‖(HW)_[i]‖", r.HW))
	}
	if len(f.Panels) == 4 {
		f.Columns = 2
	}
	return f
}

// Header implements Table.
func (t *VarianceTable) Header() []string {
	header := []string{"estimator", "samples", "exact", "bias", "var_over_bound", "cov_over_bound", "largest_cov", "mean_var", "mean_square", "mean_var_bound", "within_theorem"}
	for _, age := range t.Ages() {
		if age < 0 {
			header = append(header, "relative")
		} else {
			header = append(header, fmt.Sprintf("relative_age_%d", age))
		}
	}
	return header
}

// Ages returns the ages of the histories with which the layer's output was measured, −1 for
// none first; or nil if it was not measured.
func (t *VarianceTable) Ages() []int {
	var ages []int
	for _, r := range t.Rows {
		if len(r.Output) > len(ages) { // biased estimators have no control
			ages = ages[:0]
			for _, o := range r.Output {
				ages = append(ages, o.Age)
			}
		}
	}
	return ages
}

// Records implements Table.
func (t *VarianceTable) Records() [][]string {
	var records [][]string
	ages := t.Ages()
	for _, r := range t.Rows {
		record := []string{r.Estimator, strconv.Itoa(r.Samples), strconv.FormatBool(r.Exact), finite.Text(r.Bias), finite.Text(r.VarOverBound),
			finite.Text(r.CovOverBound), finite.Text(float64(r.LargestCov)), finite.Text(r.MeanVar), finite.Text(r.MeanSquare), finite.Text(r.MeanVarBound), strconv.FormatBool(r.WithinTheorem)}
		for k := range ages {
			field := ""
			if k < len(r.Output) {
				field = finite.Text(r.Output[k].Relative)
			}
			record = append(record, field)
		}
		records = append(records, record)
	}
	return records
}

// Figure implements Table. The left panel has the mean squared error of β over the
// number of draws, the right panel each candidate's error over its probability at
// one number of draws. Both are divided by the theorem's bound on the variance.
// Estimators far above the bound are left out, and the caption names them.
func (t *VarianceTable) Figure() *figure.Figure {
	if len(t.Rows) == 0 {
		return nil
	}
	const most = 3
	size := t.middleSize()
	mean := figure.Panel{Title: "mean over the candidates", X: "draws", Y: "E(β − 1)² / bound", LogX: true, FromZero: true}
	each := figure.Panel{Title: fmt.Sprintf("each candidate, %d draws", size), X: "probability p", Y: "E(β − 1)² / bound", LogX: true, Decades: true, FromZero: true}
	var outside []string
	for from := 0; from < len(t.Rows); {
		rows := t.Rows[from:]
		for k := range rows {
			if rows[k].Estimator != rows[0].Estimator {
				rows = rows[:k]
				break
			}
		}
		from += len(rows)
		line, points, highest := rows[0].curves(rows, size)
		if highest > most {
			outside = append(outside, rows[0].Estimator)
			continue
		}
		mean.Lines = append(mean.Lines, line)
		each.Points = append(each.Points, points)
	}
	if len(outside) > 0 {
		mean.Caption = "(far above: " + strings.Join(outside, "; ") + ")"
	}
	return &figure.Figure{Title: "Squared error of the factors β of one layer over the bound (1/p − 1)/s", Panels: []figure.Panel{mean, each}}
}

// middleSize returns the middle number of draws.
func (t *VarianceTable) middleSize() int {
	sizes := 0
	for _, r := range t.Rows {
		if r.Estimator == t.Rows[0].Estimator {
			sizes++
		}
	}
	return t.Rows[sizes/2].Samples
}

// curves returns the line and the points of one estimator's rows, and the highest
// mean.
func (r *VarianceRow) curves(rows []VarianceRow, size int) (line, points figure.Series, highest float64) {
	line.Name, points.Name = r.Estimator, r.Estimator
	for _, r := range rows {
		ratio := r.MeanSquare / r.MeanVarBound
		highest = max(highest, ratio)
		line.X, line.Y = append(line.X, float64(r.Samples)), append(line.Y, ratio)
		if r.Samples != size {
			continue
		}
		for _, c := range r.Candidates {
			points.X, points.Y = append(points.X, c.P), append(points.Y, (c.Var+(c.Mean-1)*(c.Mean-1))/c.Bound)
		}
	}
	return line, points, highest
}

var (
	_ Table = (*ErrorTable)(nil)
	_ Table = (*AssumptionTable)(nil)
	_ Table = (*NormsTable)(nil)
	_ Table = (*VarianceTable)(nil)
)
