package reproduce

import (
	"context"
	"fmt"

	"github.com/gcn-layerwise/gcn/study"
)

// regressionResult holds the sums of one trained model's regressions.
type regressionResult struct {
	Test   study.Number       `json:"test"`
	Layers []regressionLayers `json:"layers"`
}

type regressionLayers struct {
	P  study.Regression `json:"p"`  // of ‖(HW)_[i]‖ on ‖P^[i]‖
	QP study.Regression `json:"qp"` // on ‖QP^[i]‖
}

// runRegression trains each model several times, and regresses over all runs
// together, as the paper does.
func runRegression(ctx context.Context, r *runner) (*Report, error) {
	methods := r.choose(r.regressionRows())
	if len(methods) == 0 {
		return nil, errNoRuns
	}
	report := new(Report)
	for _, spec := range r.Data {
		for _, row := range methods {
			var pooled []regressionLayers
			for run := range r.Runs {
				result, err := r.regress(ctx, spec, row, run)
				if err != nil {
					return nil, err
				}
				for len(pooled) < len(result.Layers) {
					pooled = append(pooled, regressionLayers{})
				}
				for l := range result.Layers {
					pooled[l].P.Merge(result.Layers[l].P)
					pooled[l].QP.Merge(result.Layers[l].QP)
				}
			}
			for l := range pooled {
				report.Rows = append(report.Rows, r.coefficients(spec, row, l+1, "P", pooled[l].P.Line())...)
				report.Rows = append(report.Rows, r.coefficients(spec, row, l+1, "QP", pooled[l].QP.Line())...)
			}
		}
	}
	report.Notes = append(report.Notes,
		"the mean is the coefficient, sem its standard error over the pairs of all runs pooled; there is no std",
		"coefficients scale with the features' and weights' size, so on other data or other initial weights only signs and R² compare; the paper claims an R² near 0 or a negative slope")
	report.Claims = regressionClaims(report.Rows)
	return report, nil
}

// regressionRows are the methods whose coefficients the paper prints, at the fixed
// sizes.
func (r *runner) regressionRows() []PaperRow {
	var rows []PaperRow
	seen := map[string]bool{}
	for _, c := range r.paper.Regression {
		if seen[c.Method] {
			continue
		}
		seen[c.Method] = true
		row := PaperRow{Label: c.Label, Method: c.Method}
		if row.layerWise() {
			for range r.Layers {
				row.Samples = append(row.Samples, 512)
			}
		}
		rows = append(rows, row)
	}
	return rows
}

// regress trains one model and regresses its norms.
func (r *runner) regress(ctx context.Context, spec string, row PaperRow, run int) (*regressionResult, error) {
	settings, err := r.trainSettings(ctx, "regression", spec, row, run)
	if err != nil {
		return nil, err
	}
	result := new(regressionResult)
	words := []string{spec, row.Method, sizesText(row.Samples), fmt.Sprintf("seed-%d", settings.Seed)}
	return result, r.cell(ctx, "regression", settings, result, words, func() error {
		model, history, err := r.fit(ctx, spec, row, settings)
		if err != nil {
			return err
		}
		norms, err := study.ModelNorms(ctx, model, r.data.Laplacian(), r.data.Features)
		if err != nil {
			return err
		}
		a := study.Assumption{Laplacian: r.data.Laplacian(), Layers: norms, Nodes: r.data.Split.Train, Batch: r.Batch, Seed: settings.Seed}
		t, err := a.Run(ctx)
		if err != nil {
			return err
		}
		result.Test = study.Number(history.Test)
		for _, layer := range norms {
			result.Layers = append(result.Layers, regressionLayers{P: t.Regression(layer.Name, study.NormP), QP: t.Regression(layer.Name, study.NormQP)})
		}
		r.Log(fmt.Sprintf("%s, %s, seed %d: regressed %d layers", spec, row.describe(), settings.Seed, len(norms)))
		return nil
	})
}

// coefficients are the three rows of one regression.
func (r *runner) coefficients(spec string, row PaperRow, layer int, on string, line study.Line) []Row {
	printed := r.printed(spec, row.Method, layer, on)
	make := func(name string, mean, se float64, of func(PaperRegression) PaperValue) Row {
		c := Row{
			Dataset: spec, Label: row.Label, Method: row.Method, Samples: row.Samples,
			Quantity: fmt.Sprintf("%s of |HW| on |%s|, layer %d", name, on, layer), N: line.N, Mean: mean, SEM: se,
		}
		if printed != nil {
			v := of(*printed)
			c.Paper = &v
			c.compare()
			c.explain("")
			if c.Why != "" {
				c.Why += "; coefficients scale with features and weights"
			}
		}
		return c
	}
	return []Row{
		make("β0", line.Intercept, line.InterceptSE, func(p PaperRegression) PaperValue { return p.Beta0 }),
		make("β1", line.Slope, line.SlopeSE, func(p PaperRegression) PaperValue { return p.Beta1 }),
		make("R²", line.R2, 0, func(p PaperRegression) PaperValue { return p.R2 }),
	}
}

func (r *runner) printed(spec, method string, layer int, on string) *PaperRegression {
	name, _ := paperDataset(spec)
	for k, c := range r.paper.Regression {
		if c.Dataset == name && c.Method == method && c.Layer == layer && c.On == on && r.Layers == 3 {
			return &r.paper.Regression[k]
		}
	}
	return nil
}

// regressionClaims states the paper's conclusion for each data set: no regression
// supports proportionality.
func regressionClaims(rows []Row) []Claim {
	type tally struct {
		regressions int
		largest     float64
	}
	tallies := map[string]*tally{}
	var order []string
	for _, row := range rows {
		if row.Quantity[:len("R²")] != "R²" {
			continue
		}
		t := tallies[row.Dataset]
		if t == nil {
			t = new(tally)
			tallies[row.Dataset] = t
			order = append(order, row.Dataset)
		}
		t.regressions++
		t.largest = max(t.largest, row.Mean)
	}
	var claims []Claim
	for _, spec := range order {
		t := tallies[spec]
		claims = append(claims, Claim{
			Dataset: spec, Text: "no regression supports that ‖(HW)_[i]‖ is proportional to ‖P^[i]‖ or ‖QP^[i]‖ (R² below 0.2, as in the paper)",
			Holds: t.largest < 0.2, Numbers: fmt.Sprintf("largest R² of %d regressions: %.3f", t.regressions, t.largest),
		})
	}
	return claims
}
