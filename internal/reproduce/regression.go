package reproduce

import (
	"context"
	"fmt"
	"slices"

	"github.com/gcn-layerwise/gcn/internal/finite"
	"github.com/gcn-layerwise/gcn/study"
	"github.com/gcn-layerwise/gcn/study/figure"
)

// The norms that ‖(HW)_[i]‖ is regressed on.
const (
	onP  = "P"
	onQP = "QP"
)

// The nodes that are regressed over.
const (
	overTrain = "training nodes"
	overAll   = "all nodes"
)

// pointsPerRun is the number of points that each of the paper's five runs gives to a
// scatter plot of 1000.
const pointsPerRun = 200

// regressionBatches is the number of mini-batches Q behind a regression on ‖QP^[i]‖.
const regressionBatches = 500

// regressionResult holds one trained model's regressions and norms.
type regressionResult struct {
	Layers []map[string]study.Scatter `json:"layers"` // by the norm and the nodes
	Norms  *study.NormsTable          `json:"norms"`
}

// regressionKeys lists the runs of a method, of 3 layers at the fixed sizes.
func (r *runner) regressionKeys(spec, method string) []key {
	if len(r.Methods) > 0 && !slices.Contains(r.Methods, method) {
		return nil
	}
	k := key{Kind: regressionCell, Data: spec, Method: method, Layers: 3}
	if row := (PaperRow{Method: method}); row.layerWise() {
		if k.Samples = []int{512, 512, 512}; len(r.Samples) > 0 {
			k.Samples = atLayers(r.Samples, 3)
		}
	}
	return r.runs(k)
}

// regress trains one model, and regresses its norms.
func (r *runner) regress(ctx context.Context, k key) (any, error) {
	model, _, err := r.fit(ctx, k, k.Method == fullMethod)
	if err != nil {
		return nil, err
	}
	p, train := r.data.Laplacian(), r.data.Split.Train
	norms, err := study.ModelNorms(ctx, model, p, r.data.Features)
	if err != nil {
		return nil, err
	}
	result := new(regressionResult)
	for range norms {
		result.Layers = append(result.Layers, map[string]study.Scatter{})
	}
	for over, nodes := range map[string][]int32{overTrain: train, overAll: nil} {
		t, err := study.Assumption{
			Laplacian: p, Layers: norms, Nodes: train, Within: nodes, Batch: k.Batch, Batches: regressionBatches, Points: pointsPerRun, Seed: k.Seed,
		}.Run(ctx)
		if err != nil {
			return nil, err
		}
		for l, drawn := range t.Scatters { // of all layers on P, then on QP
			for k, p := range drawn.Points { // six digits are enough for a point of a plot
				drawn.Points[k] = [2]float64{float64(finite.Measured(p[0])), float64(finite.Measured(p[1]))}
			}
			on := []string{onP, onQP}[l/len(norms)]
			result.Layers[l%len(norms)][on+", "+over] = drawn
		}
	}
	result.Norms, err = study.Norms{Laplacian: p, Layers: norms, Nodes: train, Batch: k.Batch, Seed: k.Seed}.Run(ctx)
	return result, err
}

// pooled merges the regressions of the runs of a method, layer by layer.
func (r *runner) pooled(spec, method, on, over string) []study.Scatter {
	var layers []study.Scatter
	for _, result := range resultsOf[regressionResult](r, r.regressionKeys(spec, method)) {
		for len(layers) < len(result.Layers) {
			layers = append(layers, study.Scatter{})
		}
		for l := range result.Layers {
			layers[l].Merge(result.Layers[l][on+", "+over])
		}
	}
	return layers
}

// regressionTable is a table of coefficients of methods.
func regressionTable(name, alias, on, title string, methods ...string) Experiment {
	e := Experiment{Name: name, Alias: alias, Title: title, Data: fourNames(), caption: "regression"}
	for _, method := range methods {
		e.fill = append(e.fill, func(r *runner, spec string, report *Report) { r.addRegressions(report, spec, method, on) })
	}
	return e
}

// regressionFigure is a figure of scatter plots of one method.
func regressionFigure(name, on, method string, data []string) Experiment {
	e := regressionTable(name, "", on, fmt.Sprintf("‖(HW)_[i]‖ over ‖%s^[i]‖ in 3-layer models, `%s`", on, method), method)
	e.Data, e.chart, e.columns = data, fmt.Sprintf("‖(HW)_[i]‖ over ‖%s^[i]‖, %s, 3 layers", on, method), 3
	e.fill = append(e.fill, func(r *runner, spec string, report *Report) {
		report.figureOnly = true
		r.addScatters(report, spec, method, on)
	})
	return e
}

// addRegressions adds the coefficients of a method over training nodes and over all.
func (r *runner) addRegressions(report *Report, spec, method, on string) {
	runs := len(resultsOf[regressionResult](r, r.regressionKeys(spec, method)))
	for _, over := range []string{overTrain, overAll} {
		for l, s := range r.pooled(spec, method, on, over) {
			fit, label, printed := s.Sums.Line(), method, new(PaperRegression)
			for _, c := range r.paper.Regression {
				if c.Method != method {
					continue
				}
				label = c.Label
				if c.Dataset == dataKey(spec) && c.Layer == l+1 && c.On == on && over == overTrain {
					printed = &c
				}
			}
			add := func(of measure, n int, mean, se float64, paper *PaperValue) {
				report.add(Row{
					Dataset: spec, Label: label, Method: method, Quantity: fmt.Sprintf("%s of |HW| on |%s|, layer %d, %s", of, on, l+1, over),
					is: is{of, l + 1, on, over}, N: n, Mean: mean, SEM: se, Runs: runs, Paper: paper,
					line: fmt.Sprintf("%s, %s, layer %d", label, columnName(spec), l+1), column: string(of) + ", " + over,
				})
			}
			add(intercept, fit.N, fit.Intercept, fit.InterceptSE, printed.Beta0)
			add(slope, fit.N, fit.Slope, fit.SlopeSE, printed.Beta1)
			add(r2, fit.N, fit.R2, 0, printed.R2)
			if over == overAll {
				add(leverage, len(s.Points), 100*highLeverage(&s), 0, nil)
			}
		}
	}
}

// highLeverage returns the share of the sampled pairs with a high leverage: 1/n +
// (x−x̄)²/Sxx above 4/n, twice its mean over the n pairs.
func highLeverage(s *study.Scatter) float64 {
	high := 0
	for _, p := range s.Points {
		d := p[0] - s.Sums.MeanX
		if d*d*float64(s.Sums.N) > 3*s.Sums.SXX {
			high++
		}
	}
	return float64(high) / float64(max(len(s.Points), 1))
}

// addScatters draws, for each layer, pairs of all runs over all nodes, the line through them,
// and the line over the training nodes.
func (r *runner) addScatters(report *Report, spec, method, on string) {
	all, train := r.pooled(spec, method, on, overAll), r.pooled(spec, method, on, overTrain)
	for l := range all {
		line, trained := all[l].Sums.Line(), train[l].Sums.Line()
		panel := all[l].Panel(fmt.Sprintf("%s, layer %d", columnName(spec), l+1), "‖"+on+"^[i]‖", "all nodes")
		panel.Caption = fmt.Sprintf("β1 %.3g, R² %.3f; training nodes %.3g, %.3f", line.Slope, line.R2, trained.Slope, trained.R2)
		panel.Lines = append(panel.Lines, figure.Straight(overTrain, trained.Intercept, trained.Slope, panel.Points[0].X))
		report.figure.Panels = append(report.figure.Panels, panel)
	}
}

// addNorms adds the norms of one data set, and the constants of the paper's assumption.
func (r *runner) addNorms(spec string, report *Report) {
	results := resultsOf[regressionResult](r, r.regressionKeys(spec, "ladies"))
	if len(results) == 0 {
		return
	}
	first := results[0].Norms
	for _, panel := range first.Figure().Panels {
		panel.Title = columnName(spec) + ", " + panel.Title
		report.figure.Panels = append(report.figure.Panels, panel)
	}
	for l := range first.Rows {
		for k, of := range []measure{"C₁ of QP", "C₁ of P", "C₂", "C₂, tails cut", "C₁/C₂²", "C₁/C₂², tails cut", "moment ratio"} {
			label := fmt.Sprintf("layer %d", l+1)
			row := add(report, spec, PaperRow{Label: label, Method: "ladies"}, of, string(of), results, func(result *regressionResult) float64 {
				n := result.Norms.Rows[l]
				return []float64{n.C1, n.C1P, n.C2, n.C2Cut, n.Ratio, n.RatioCut, n.MomentRatio}[k]
			})
			row.is.Layer, row.line, row.column = l+1, columnName(spec)+", "+label, row.Quantity
		}
	}
	report.add(Row{
		Dataset: spec, Label: "all layers", Quantity: string(largestNorm), is: is{Of: largestNorm}, N: 1, Mean: first.P.Max / first.P.Mean,
		line: columnName(spec) + ", all layers", column: string(largestNorm),
	})
}
