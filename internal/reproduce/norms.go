package reproduce

import (
	"fmt"

	"github.com/gcn-layerwise/gcn/study"
	"github.com/gcn-layerwise/gcn/study/figure"
)

func captionOfNorms(*runner) string {
	return "LADIES models of 3 layers, as in the regressions; histograms of the first run, 0.1 % of the nodes cut off at each end. " +
		"C₁ of QP is a mean over 100 mini-batches Q. C₁/C₂² ≥ 1 is the paper's assumption, with C₂ over all rows of HW, " +
		"or with 0.1 % of them cut off at each end. The moment ratio compares the variances of flat probabilities and of LADIES: below 1, flat is better."
}

// fillNorms adds the constants of the paper's assumption and the histograms.
func fillNorms(r *runner, c task, report *Report) {
	f := &figure.Figure{Title: "Norms of the columns of P and of the rows of HW, tails cut off", Columns: 4}
	for _, spec := range c.data {
		results := r.regressed(spec, "ladies")
		if len(results) == 0 {
			continue
		}
		first := results[0].Norms
		f.Panels = append(f.Panels, histogram(columnName(spec)+", columns of P", "‖P^[i]‖", first.P))
		for l := range first.Rows {
			f.Panels = append(f.Panels, histogram(fmt.Sprintf("%s, rows of HW, layer %d", columnName(spec), l+1), "‖(HW)_[i]‖", first.Rows[l].HW))
			for _, q := range []struct {
				quantity string
				of       func(study.NormsRow) float64
			}{
				{"C₁ of QP", func(n study.NormsRow) float64 { return n.C1 }},
				{"C₁ of P", func(n study.NormsRow) float64 { return n.C1P }},
				{"C₂", func(n study.NormsRow) float64 { return float64(n.C2) }},
				{"C₂, tails cut", func(n study.NormsRow) float64 { return float64(n.C2Cut) }},
				{"C₁/C₂²", func(n study.NormsRow) float64 { return n.Ratio }},
				{"C₁/C₂², tails cut", func(n study.NormsRow) float64 { return n.RatioCut }},
				{"moment ratio", func(n study.NormsRow) float64 { return n.MomentRatio }},
			} {
				var values []float64
				for _, result := range results {
					values = append(values, q.of(result.Norms.Rows[l]))
				}
				label := fmt.Sprintf("layer %d", l+1)
				row := newRow(spec, PaperRow{Label: label, Method: "ladies"}, q.quantity, values)
				row.line, row.column = columnName(spec)+", "+label, q.quantity
				report.Rows = append(report.Rows, row)
			}
		}
		largest := Row{Dataset: spec, Label: "all layers", Quantity: "largest ‖P^[i]‖ over the mean", N: 1, Mean: first.P.Max / first.P.Mean}
		largest.line, largest.column = columnName(spec)+", all layers", largest.Quantity
		report.Rows = append(report.Rows, largest)
	}
	if len(f.Panels) > 0 {
		report.figure = f
	}
}

// histogram is the panel of one histogram.
func histogram(title, x string, h study.Histogram) figure.Panel {
	return figure.Panel{
		Title: title, X: x, Y: "nodes", FromZero: true, Caption: fmt.Sprintf("mean %.3g, largest %.3g", h.Mean, h.Max),
		Bars: &figure.Bars{Low: h.Low, High: h.High, Counts: h.Counts},
	}
}
