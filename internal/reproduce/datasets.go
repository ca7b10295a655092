package reproduce

import (
	"math"

	"github.com/gcn-layerwise/gcn/datasets"
)

// datasetsTable is the table of the data sets.
func datasetsTable(name string) Experiment {
	return Experiment{
		Name: name, Title: "The data sets", Data: fiveNames(),
		caption: func(*runner) string {
			return "Our edges count each pair once, and a degree is twice the edges over the nodes. For Reddit and ogbn-mag the paper prints the edges over the nodes. " +
				"It prints 160,343 nodes of ogbn-arxiv, which has 169,343, a degree of 13.7, which is 13.77, and 28 % of test nodes, which are 28.7 %."
		},
		fill: []filler{func(r *runner, spec string, report *Report) {
			info := resultOf[datasets.Info](r, key{Kind: describing, Data: spec})
			if info == nil {
				return
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
				row := Row{Dataset: spec, Label: paper.Label, Quantity: string(aCount), is: is{Of: aCount}, N: 1, Mean: values[paper.Label], Paper: paper.value(spec)}
				if p := row.Paper; p != nil && p.Mean == math.Trunc(p.Mean) { // equal to the last digit printed
					row.compare(0.5)
				} else if p != nil {
					row.compare(0.05)
				}
				report.Rows = append(report.Rows, row)
			}
		}},
	}
}
