package reproduce

import (
	"context"

	"github.com/gcn-layerwise/gcn/datasets"
)

// describeSettings is everything that the description of a data set depends on.
type describeSettings struct {
	Kind        string `json:"kind"`
	Data        string `json:"data"`
	Fingerprint string `json:"fingerprint"`
}

// describe returns the description of a data set.
func (r *runner) describe(ctx context.Context, j job) (any, error) {
	info := new(datasets.Info)
	settings := describeSettings{string(j.kind), j.spec, r.fingerprint}
	return info, r.cell(ctx, j, settings, info, []string{j.spec}, func() error {
		*info = datasets.Describe(r.data)
		r.log(j.spec + ": described")
		return nil
	})
}

// fillDatasets makes the table of data sets.
func fillDatasets(r *runner, c task, report *Report) {
	for _, spec := range c.data {
		info := resultOf[datasets.Info](r, job{kind: describing, spec: spec})
		if info == nil {
			continue
		}
		nodes := float64(info.Nodes)
		share := func(n int) float64 { return 100 * float64(n) / nodes }
		values := map[string]float64{
			"Nodes": nodes, "Edges": float64(info.Edges), "Degree": info.Degree.Mean, "Features": float64(info.Features),
			"Classes": float64(info.Classes), "Tasks": float64(max(info.Tasks, 1)),
			"Training nodes, %": share(info.Split.Train), "Validation nodes, %": share(info.Split.Valid), "Test nodes, %": share(info.Split.Test),
		}
		for _, paper := range r.paper.Datasets {
			if paper.Label == "Classes" && info.Classes == 0 {
				continue
			}
			row := Row{Dataset: spec, Label: paper.Label, Quantity: quantityCount, N: 1, Mean: values[paper.Label], Paper: paper.value(spec)}
			row.comparePrinted()
			report.Rows = append(report.Rows, row)
		}
	}
}
