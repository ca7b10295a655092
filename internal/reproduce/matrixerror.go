package reproduce

import (
	"context"
	"fmt"

	"github.com/gcn-layerwise/gcn/graph"
	"github.com/gcn-layerwise/gcn/study"
)

// errorMethods are the curves of the paper's figure, and the debiased weights
// with the population of the released program.
func errorMethods() []string {
	return []string{"fastgcn", "ladies", "ladies-flat", "ladies-debiased", "ladies-flat-debiased", "ladies-debiased-nodes"}
}

// errorSettings is everything that the errors on one data set depend on: the
// training of W, and the study.
type errorSettings struct {
	Training trainSettings `json:"training"`
	Methods  []string      `json:"methods"`
	Sizes    []int         `json:"sizes"`
	Repeats  int           `json:"repeats"`
}

// runMatrixError trains W, as in the paper, and measures the error over the sample
// size.
func runMatrixError(ctx context.Context, r *runner) (*Report, error) {
	sizes := r.Samples
	if len(sizes) == 0 {
		sizes = append(study.PaperSizes(), 4096)
	}
	methods := r.Methods
	if len(methods) == 0 {
		methods = errorMethods()
	}
	report := &Report{Notes: []string{"the paper prints curves, no numbers: its conclusions from them are checked instead"}}
	for _, spec := range r.Data {
		t, err := r.errors(ctx, spec, methods, sizes)
		if err != nil {
			return nil, err
		}
		for _, e := range t.Rows {
			report.Rows = append(report.Rows, Row{
				Dataset: spec, Method: e.Method, Samples: []int{e.Samples}, Quantity: "‖QPHW − QPSHW‖", N: t.Repeats,
				Mean: e.Mean, Std: e.ErrorSD, SEM: e.SEM,
			})
		}
		report.Claims = append(report.Claims, errorClaims(spec, t)...)
		report.curves = append(report.curves, t)
		report.names = append(report.names, "matrix-error-"+slug(spec))
	}
	if len(report.curves) == 1 {
		report.figure = report.curves[0].Figure()
		report.curves, report.names = nil, nil
	}
	return report, nil
}

func (r *runner) errors(ctx context.Context, spec string, methods []string, sizes []int) (*study.ErrorTable, error) {
	row := PaperRow{Method: "ladies-flat-debiased", Samples: []int{512, 1024}}
	training, err := r.trainSettings(ctx, "matrix-error", spec, row, 0)
	if err != nil {
		return nil, err
	}
	training.Layers = 2
	settings := errorSettings{training, methods, sizes, r.Repeats}
	table := new(study.ErrorTable)
	return table, r.cell(ctx, "matrix-error", settings, table, []string{spec}, func() error {
		two := *r
		two.Layers = 2
		model, _, err := two.fit(ctx, spec, row, settings.Training)
		if err != nil {
			return err
		}
		p := r.data.Laplacian()
		var hw *graph.Features
		if hw, err = study.LayerProduct(ctx, model, p, r.data.Features, 0); err != nil {
			return err
		}
		e := study.ApproxError{Laplacian: p, Product: hw, Nodes: r.data.Split.Train, Sizes: sizes, Batch: r.Batch, Repeats: r.Repeats, Seed: r.Seed}
		for _, name := range methods {
			c, err := study.ContenderByName(name, p, r.data.Split.Train)
			if err != nil {
				return err
			}
			e.Methods = append(e.Methods, c)
		}
		t, err := e.Run(ctx)
		if err != nil {
			return err
		}
		*table = *t
		r.Log(fmt.Sprintf("%s: errors of %d methods at %d sizes", spec, len(methods), len(sizes)))
		return nil
	})
}

// errorClaims checks the paper's conclusions from its figure.
func errorClaims(spec string, t *study.ErrorTable) []Claim {
	var claims []Claim
	curve := func(method string) []study.ErrorRow {
		var rows []study.ErrorRow
		for _, e := range t.Rows {
			if e.Method == method {
				rows = append(rows, e)
			}
		}
		return rows
	}
	plain, flat, debiased, both := curve("ladies"), curve("ladies-flat"), curve("ladies-debiased"), curve("ladies-flat-debiased")
	if len(plain) == 0 {
		return nil
	}
	last := len(plain) - 1
	if last > 0 {
		lowest := 0
		for k := range plain {
			if plain[k].Mean < plain[lowest].Mean {
				lowest = k
			}
		}
		claims = append(claims, Claim{
			Dataset: spec, Text: "the error of LADIES falls, then rises again (sparse graphs)", Holds: lowest > 0 && lowest < last,
			Numbers: fmt.Sprintf("lowest %s at %d, %s at %d", short(plain[lowest].Mean), plain[lowest].Samples, short(plain[last].Mean), plain[last].Samples),
		})
	}
	if len(flat) == len(plain) {
		below, worst := true, 0.0
		for k := range plain {
			below = below && flat[k].Mean < plain[k].Mean
			worst = max(worst, flat[k].Mean/plain[k].Mean)
		}
		claims = append(claims, Claim{Dataset: spec, Text: "flat probabilities are below LADIES at every size", Holds: below, Numbers: fmt.Sprintf("largest ratio %.2f", worst)})
	}
	if len(debiased) == len(plain) {
		falls := true
		for k := 1; k < len(debiased); k++ {
			falls = falls && debiased[k].Mean < debiased[k-1].Mean
		}
		claims = append(claims, Claim{
			Dataset: spec, Text: "debiased LADIES falls throughout", Holds: falls,
			Numbers: fmt.Sprintf("%s at %d to %s at %d", short(debiased[0].Mean), debiased[0].Samples, short(debiased[last].Mean), debiased[last].Samples),
		})
	}
	if counting := curve("ladies-debiased-nodes"); len(counting) == len(plain) && len(debiased) == len(plain) {
		ratio := debiased[last].Mean / counting[last].Mean
		claims = append(claims, Claim{
			Dataset: spec, Text: fmt.Sprintf("at %d nodes, counting candidates has at most 0.8 times the error of counting nodes (our claim, not the paper's)", debiased[last].Samples),
			Holds: ratio <= 0.8, Numbers: fmt.Sprintf("ratio %.2f", ratio),
		})
	}
	if len(both) == len(plain) && len(flat) == len(plain) {
		k := 0
		for at := range flat {
			if flat[at].Samples <= 512 {
				k = at
			}
		}
		gain := both[k].Mean / flat[k].Mean
		claims = append(claims, Claim{Dataset: spec, Text: fmt.Sprintf("on top of flat, debiasing changes little at %d nodes", flat[k].Samples), Holds: gain > 0.9 && gain < 1.1, Numbers: fmt.Sprintf("ratio %.3f", gain)})
	}
	return claims
}
