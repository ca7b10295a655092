package reproduce

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/gcn-layerwise/gcn/layers"
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
	Test   study.Number      `json:"test"`
	Layers []regressionLayer `json:"layers"`
	Norms  *study.NormsTable `json:"norms"`
}

// regressionLayer holds the regressions of one layer by the norm and the nodes.
type regressionLayer map[string]scatter

// scatter is one regression: its sums, and a sample of its pairs.
type scatter struct {
	Sums   study.Regression `json:"sums"`
	Points [][2]float64     `json:"points"` // x, y
}

// regressionKey names a regression of a layer.
func regressionKey(on, over string) string { return on + ", " + over }

// regressionJobs lists the runs of a method, of 3 layers at the fixed sizes.
func (r *runner) regressionJobs(spec, method string) []job {
	if len(r.Methods) > 0 && !slices.Contains(r.Methods, method) {
		return nil
	}
	row := PaperRow{Method: method}
	j := job{kind: regressing, spec: spec, method: method, layers: 3}
	if row.layerWise() {
		j.samples = []int{512, 512, 512}
		if len(r.Samples) > 0 {
			j.samples = atLayers(r.Samples, 3)
		}
	}
	return r.runsOf(j)
}

// regressed returns the results of a method's runs.
func (r *runner) regressed(spec, method string) []*regressionResult {
	return resultsOf[regressionResult](r, r.regressionJobs(spec, method))
}

// regress trains one model, and regresses its norms.
func (r *runner) regress(ctx context.Context, j job) (any, error) {
	settings := r.trainSettings(j)
	result := new(regressionResult)
	words := []string{j.spec, j.method, sizesText(j.samples), fmt.Sprintf("seed-%d", settings.Seed)}
	return result, r.trainedCell(ctx, j, settings, result, words, func() error {
		model, history, err := r.fit(ctx, j, settings)
		if err != nil {
			return err
		}
		// Without the memory of the inference in training, which is as large as two layers.
		model = &layers.GCN{Convolutions: model.Convolutions, Skips: model.Skips}
		p, train := r.data.Laplacian(), r.data.Split.Train
		norms, err := study.ModelNorms(ctx, model, p, r.data.Features)
		if err != nil {
			return err
		}
		*result = regressionResult{Test: study.Number(history.Test), Layers: make([]regressionLayer, len(norms))}
		for over, nodes := range map[string][]int32{overTrain: train, overAll: nil} {
			a := study.Assumption{Laplacian: p, Layers: norms, Nodes: train, Within: nodes, Batch: r.Batch, Batches: regressionBatches, Points: pointsPerRun, Seed: settings.Seed}
			t, err := a.Run(ctx)
			if err != nil {
				return err
			}
			result.add(t, norms, over)
		}
		result.Norms, err = study.Norms{Laplacian: p, Layers: norms, Nodes: train, Batch: r.Batch, Seed: settings.Seed}.Run(ctx)
		if err != nil {
			return err
		}
		r.log(fmt.Sprintf("%s, seed %d: regressed %d layers", j, settings.Seed, len(norms)))
		return nil
	})
}

// add adds the regressions over some nodes.
func (result *regressionResult) add(t *study.AssumptionTable, norms []study.LayerNorms, over string) {
	for l, layer := range norms {
		if result.Layers[l] == nil {
			result.Layers[l] = regressionLayer{}
		}
		for on, norm := range map[string]string{onP: study.NormP, onQP: study.NormQP} {
			s := scatter{Sums: t.Regression(layer.Name, norm)}
			for _, drawn := range t.Scatters {
				if drawn.Layer != layer.Name || drawn.On != norm {
					continue
				}
				for _, p := range drawn.Points {
					s.Points = append(s.Points, [2]float64{rounded(p.X), rounded(p.Y)})
				}
			}
			result.Layers[l][regressionKey(on, over)] = s
		}
	}
}

// rounded returns x to five digits, which is enough for a point of a plot.
func rounded(x float64) float64 {
	if x == 0 || math.IsInf(x, 0) || math.IsNaN(x) {
		return x
	}
	scale := math.Pow(10, 4-math.Floor(math.Log10(math.Abs(x))))
	return math.Round(x*scale) / scale
}

// pooled merges the regressions of the runs of a method, layer by layer.
func (r *runner) pooled(spec, method, on, over string) []scatter {
	var layers []scatter
	for _, result := range r.regressed(spec, method) {
		for len(layers) < len(result.Layers) {
			layers = append(layers, scatter{})
		}
		for l := range result.Layers {
			s := result.Layers[l][regressionKey(on, over)]
			layers[l].Sums.Merge(s.Sums)
			layers[l].Points = append(layers[l].Points, s.Points...)
		}
	}
	return layers
}

func captionOfRegression(r *runner) string {
	sizes := "512 nodes a layer"
	if len(r.Samples) > 0 {
		sizes = sizesText(atLayers(r.Samples, 3)) + " nodes"
	}
	return sizes + ", all runs pooled; Q is " + fmt.Sprint(regressionBatches) + " mini-batches a run. ± is the coefficient's standard error over the pairs. " +
		"The regression over the training nodes stands beside the paper's."
}

// fillRegression adds the coefficients of methods, over training nodes and over all.
func (r *runner) fillRegression(c task, report *Report, methods []string, on string) {
	for _, method := range methods {
		for _, spec := range c.data {
			first := len(report.Rows)
			for _, over := range []string{overTrain, overAll} {
				for l, s := range r.pooled(spec, method, on, over) {
					report.Rows = append(report.Rows, r.coefficients(spec, method, l+1, on, over, s.Sums.Line())...)
					if over == overAll {
						label := r.regressionLabel(method)
						report.Rows = append(report.Rows, Row{
							Dataset: spec, Label: label, Method: method, Quantity: leverage(on, l+1), N: len(s.Points), Mean: 100 * s.highLeverage(),
							line: regressionLine(label, spec, l+1), column: "high leverage, %, " + over,
						})
					}
				}
			}
			for k := range report.Rows[first:] {
				report.Rows[first+k].Runs = len(r.regressed(spec, method))
			}
		}
	}
}

// coefficients are the three rows of one regression.
func (r *runner) coefficients(spec, method string, layer int, on, over string, line study.Line) []Row {
	printed := r.printed(spec, method, layer, on)
	label := r.regressionLabel(method)
	row := func(name string, mean, se float64, of func(PaperRegression) PaperValue) Row {
		c := Row{
			Dataset: spec, Label: label, Method: method,
			Quantity: coefficient(name, on, over, layer), N: line.N, Mean: mean, SEM: se,
			line: regressionLine(label, spec, layer), column: name + ", " + over,
		}
		if printed != nil && over == overTrain {
			v := of(*printed)
			c.Paper = &v
			c.compare()
			c.explain("")
			if c.Why != "" {
				c.Why += "; coefficients scale with features and weights: compare signs and R²"
			}
		}
		return c
	}
	return []Row{
		row("β0", line.Intercept, line.InterceptSE, func(p PaperRegression) PaperValue { return p.Beta0 }),
		row("β1", line.Slope, line.SlopeSE, func(p PaperRegression) PaperValue { return p.Beta1 }),
		row("R²", line.R2, 0, func(p PaperRegression) PaperValue { return p.R2 }),
	}
}

// regressionLabel is a method's name in the paper's tables of coefficients.
func (r *runner) regressionLabel(method string) string {
	for _, c := range r.paper.Regression {
		if c.Method == method {
			return c.Label
		}
	}
	return method
}

// regressionLine names a line of a table of coefficients.
func regressionLine(label, spec string, layer int) string {
	return fmt.Sprintf("%s, %s, layer %d", label, columnName(spec), layer)
}

// highLeverage returns the share of the sampled pairs with a high leverage: 1/n +
// (x−x̄)²/Sxx above 4/n, twice its mean over the n pairs.
func (s *scatter) highLeverage() float64 {
	high := 0
	for _, p := range s.Points {
		d := p[0] - s.Sums.MeanX
		if d*d*float64(s.Sums.N) > 3*s.Sums.SXX {
			high++
		}
	}
	return float64(high) / float64(max(len(s.Points), 1))
}

// leverage is the quantity of a share of pairs with a high leverage.
func leverage(on string, layer int) string {
	return fmt.Sprintf("pairs of high leverage on |%s|, layer %d, %%", on, layer)
}

// coefficient is the quantity of a row of a regression.
func coefficient(name, on, over string, layer int) string {
	return fmt.Sprintf("%s of |HW| on |%s|, layer %d, %s", name, on, layer, over)
}

// printed returns the paper's coefficients, or nil if it has none.
func (r *runner) printed(spec, method string, layer int, on string) *PaperRegression {
	name, _ := paperDataset(spec)
	for k, c := range r.paper.Regression {
		if c.Dataset == name && c.Method == method && c.Layer == layer && c.On == on {
			return &r.paper.Regression[k]
		}
	}
	return nil
}

// scatters draws, for each data set and layer, pairs of all runs over all nodes, the
// line through them, and the line over the training nodes.
func (r *runner) scatters(c task, method, on string) *figure.Figure {
	f := &figure.Figure{Title: fmt.Sprintf("‖(HW)_[i]‖ over ‖%s^[i]‖, %s, 3 layers", on, method), Columns: 3}
	for _, spec := range c.data {
		all, train := r.pooled(spec, method, on, overAll), r.pooled(spec, method, on, overTrain)
		for l := range all {
			line, trained := all[l].Sums.Line(), train[l].Sums.Line()
			panel := figure.Panel{
				Title: fmt.Sprintf("%s, layer %d", columnName(spec), l+1), X: "‖" + on + "^[i]‖", Y: "‖(HW)_[i]‖",
				Caption: fmt.Sprintf("β1 %.3g, R² %.3f; training nodes %.3g, %.3f", line.Slope, line.R2, trained.Slope, trained.R2),
				Fit:     &figure.Straight{Name: "all nodes", Intercept: line.Intercept, Slope: line.Slope},
			}
			low, high := math.Inf(1), math.Inf(-1)
			for _, p := range all[l].Points {
				panel.Cloud = append(panel.Cloud, figure.XY{X: p[0], Y: p[1]})
				low, high = min(low, p[0]), max(high, p[0])
			}
			if low <= high {
				panel.Lines = []figure.Series{{
					Name: overTrain, X: []float64{low, high},
					Y: []float64{trained.Intercept + trained.Slope*low, trained.Intercept + trained.Slope*high},
				}}
			}
			f.Panels = append(f.Panels, panel)
		}
	}
	if len(f.Panels) == 0 {
		return nil
	}
	return f
}
