package reproduce

import (
	"context"
	"slices"
	"strconv"

	"github.com/gcn-layerwise/gcn/run"
	"github.com/gcn-layerwise/gcn/study"
)

// errorSizes are the sizes of the paper's figure, and two beyond, where LADIES' error
// has turned on more graphs.
func errorSizes() []int { return []int{256, 512, 768, 1024, 1536, 2048, 4096, 8192} }

// errorContenders returns the curves of the paper's figure, and the debiased weights with the
// population of the released program; or the methods of the options whose error can be
// measured on given mini-batches: not methods that draw their own output nodes or need a
// history.
func (r *runner) errorContenders() []string {
	if len(r.Methods) == 0 {
		return []string{"fastgcn", "ladies", "ladies-flat", "ladies-debiased", "ladies-flat-debiased", "ladies-debiased" + study.NodesSuffix}
	}
	return slices.DeleteFunc(slices.Clone(r.Methods), func(name string) bool {
		m, _ := run.ParseMethod(name)
		return m.OwnOutputs() || study.SamplesChange(name)
	})
}

// errors measures the error over the sample size, with W of a training run.
func (r *runner) errors(ctx context.Context, k key) (any, error) {
	model, _, err := r.fit(ctx, k, false)
	if err != nil {
		return nil, err
	}
	p, train := r.data.Laplacian(), r.data.Split.Train
	hw, err := study.LayerProduct(ctx, model, p, r.data.Features, 0, nil)
	if err != nil {
		return nil, err
	}
	methods, err := study.Contenders(k.Methods, p, train)
	if err != nil {
		return nil, err
	}
	return study.ApproxError{
		Laplacian: p,
		Product:   hw,
		Nodes:     train,
		Methods:   methods,
		Sizes:     k.Sizes,
		Batch:     k.Batch,
		Repeats:   k.Repeats,
		Seed:      k.Seed,
	}.Run(ctx)
}

// addErrors adds the rows and the panel of one data set. W is of the first run of the paper's own
// method at the increasing sizes.
func (r *runner) addErrors(spec string, report *Report) {
	k := r.runs(key{Kind: errorCell, Data: spec, Method: "ladies-flat-debiased", Samples: []int{512, 1024}, Layers: 2})[0]
	k.Methods, k.Sizes, k.Repeats = r.errorContenders(), r.Samples, r.measured(200)
	if len(k.Methods) == 0 {
		return
	}
	if len(k.Sizes) == 0 {
		k.Sizes = errorSizes()
	}
	t := resultOf[study.ErrorTable](r, k)
	if t == nil {
		return
	}
	for _, e := range t.Rows {
		report.add(Row{
			Dataset: spec, Label: e.Method, Method: e.Method, Samples: []int{e.Samples}, Quantity: "‖QPHW − QPSHW‖", is: is{Of: anError}, N: t.Repeats,
			Mean: e.Mean, Std: e.ErrorSD, SEM: e.SEM,
			line: columnName(spec) + ", " + e.Method, column: strconv.Itoa(e.Samples),
		})
	}
	panel := t.Figure().Panels[0]
	panel.Title, panel.Y = columnName(spec), "mean error"
	report.figure.Panels = append(report.figure.Panels, panel)
}
