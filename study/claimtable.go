package study

import (
	"slices"
	"strconv"

	"github.com/gcn-layerwise/gcn/internal/finite"
	"github.com/gcn-layerwise/gcn/study/figure"
)

// Header implements Table.
func (t *ClaimTable) Header() []string {
	return []string{"claim", "case", "samples", "relation", "predicted", "measured", "exact", "se", "deviation", "agrees"}
}

// Records implements Table.
func (t *ClaimTable) Records() [][]string {
	var records [][]string
	for _, r := range t.Rows {
		records = append(records, []string{r.Claim, r.Case, strconv.Itoa(r.Samples), r.Relation, finite.Text(float64(r.Predicted)), finite.Text(float64(r.Measured)),
			strconv.FormatBool(r.Exact), finite.Text(float64(r.SE)), finite.Text(float64(r.Deviation)), strconv.FormatBool(r.Agrees)})
	}
	return records
}

// Figure implements Table. The left panel has Var(β) of each watched candidate over
// its prediction, by the corrected and by the printed recursion: points of a right
// prediction are on the diagonal. The other panels are over the number of draws: the
// mean of Var(β), and with a Laplacian the squared error of approximate products, its
// closed form, and its bound for flat probabilities.
func (t *ClaimTable) Figure() *figure.Figure {
	f := &figure.Figure{Title: "Predicted and measured variances"}
	corrected, printed := figure.Series{Name: "corrected recursion"}, figure.Series{Name: "as printed"}
	for _, p := range t.Points {
		for _, at := range []struct {
			series    *figure.Series
			predicted float64
		}{{&corrected, p.Predicted}, {&printed, p.Printed}} {
			at.series.X, at.series.Y = append(at.series.X, at.predicted), append(at.series.Y, p.Measured)
			at.series.Error = append(at.series.Error, p.SE)
		}
	}
	f.Panels = append(f.Panels, figure.Panel{
		Title: "Var β of each candidate", X: "predicted", Y: "measured", LogX: true, LogY: true, Decades: true, Points: []figure.Series{corrected, printed},
	})
	mean := figure.Panel{Title: "mean Var β", X: "draws", Y: "Var β", LogX: true, LogY: true}
	for _, name := range t.cases("Var β, corrected recursion") {
		predicted, measured := t.series("Var β, corrected recursion", name)
		predicted.Name, measured.Name = name+", predicted", name+", measured"
		mean.Lines = append(mean.Lines, predicted)
		mean.Points = append(mean.Points, measured)
	}
	f.Panels = append(f.Panels, mean)
	product := figure.Panel{Title: "approximate products, with replacement", X: "draws", Y: "‖BSC − BC‖²", LogX: true, LogY: true}
	for _, name := range t.cases("E‖BSC − BC‖²") {
		predicted, measured := t.series("E‖BSC − BC‖²", name)
		predicted.Name, measured.Name = name+", closed form", name+", measured"
		product.Lines = append(product.Lines, predicted)
		product.Points = append(product.Points, measured)
	}
	if len(product.Lines) > 0 {
		bound, _ := t.series("bound of ‖BSC − BC‖²", "flat")
		bound.Name = "flat, bound"
		product.Lines = append(product.Lines, bound)
		f.Panels = append(f.Panels, product)
	}
	return f
}

// cases lists the cases of a claim.
func (t *ClaimTable) cases(claim string) []string {
	var names []string
	for _, r := range t.Rows {
		if r.Claim == claim && !slices.Contains(names, r.Case) {
			names = append(names, r.Case)
		}
	}
	return names
}

// series returns a claim's predicted and measured values over the number of draws.
func (t *ClaimTable) series(claim, name string) (predicted, measured figure.Series) {
	for _, r := range t.Rows {
		if r.Claim != claim || r.Case != name {
			continue
		}
		x := float64(r.Samples)
		predicted.X, predicted.Y = append(predicted.X, x), append(predicted.Y, float64(r.Predicted))
		measured.X, measured.Y = append(measured.X, x), append(measured.Y, float64(r.Measured))
		measured.Error = append(measured.Error, float64(r.SE))
	}
	return predicted, measured
}

var _ Table = (*ClaimTable)(nil)
