package reproduce

import (
	"cmp"

	"github.com/gcn-layerwise/gcn/study/figure"
)

// Experiment is one table or figure of the paper.
type Experiment struct {
	Name  string   // as the paper numbers it: table4, figure2
	Alias string   // another name, "" if there is none
	Title string   // names the quantities shown
	Data  []string // the paper's names of its columns

	caption string // template of more sentences of the caption; "" if there are none
	chart   string // title of the figure; "" means Title
	columns int    // of the figure's panels; 0 means 3

	// Each filler works on all data sets in turn. It asks for results: the first time there
	// are none, and the runner notes the cells.
	fill []filler
}

// make fills a report. It returns the cells that the experiment has asked for.
func (e *Experiment) make(r *runner, data []string, report *Report) []key {
	r.asked = nil
	report.figure = &figure.Figure{Title: cmp.Or(e.chart, e.Title)}
	for _, fill := range e.fill {
		for _, spec := range data {
			fill(r, spec, report)
		}
	}
	report.figure.Columns = min(e.columns, len(report.figure.Panels))
	if len(report.figure.Panels) == 0 {
		report.figure = nil
	}
	return distinct(r.asked) // two rows may share a cell
}

// filler adds the rows and panels of one data set to a report.
type filler func(r *runner, spec string, report *Report)

// Experiments lists the tables and figures in the paper's numbering, its appendix
// included.
func Experiments() []Experiment {
	return []Experiment{
		{Name: "table1", Title: "The data sets", Data: fiveNames(), caption: "datasets", fill: []filler{(*runner).addDataset}},
		regressionTable("table2", "regression", onP, "Regression of ‖(HW)_[i]‖ on ‖P^[i]‖ in 3-layer models, LADIES and full batch", "ladies", fullMethod),
		{
			Name: "table3", Alias: "sampling-time", Title: "Milliseconds to sample one layer for a mini-batch", Data: fiveNames(),
			caption: "sampling", fill: []filler{(*runner).addSampling, compareFigure},
		},
		scoreTable("table4", "accuracy", "Test metric of every method in per cent, and the time of a step in milliseconds", mainRows, "arxiv", "products"),
		stepTable("table5", "training-time", 2),
		stepTable("table6", "", 3),
		scoreTable("table7", "fastgcn-variants", "Test metric of FastGCN with flat probabilities and debiased weights, in per cent", variantRows),
		{Name: "table8", Title: "Time complexity: measured exponents", Data: []string{"arxiv"}, caption: "scaling", fill: []filler{(*runner).addScaling}},
		regressionTable("table9", "", onP, "Regression of ‖(HW)_[i]‖ on ‖P^[i]‖ in 3-layer models, FastGCN", "fastgcn", "fastgcn-debiased"),
		regressionTable("table10", "", onQP, "Regression of ‖(HW)_[i]‖ on ‖QP^[i]‖ in 3-layer models, LADIES", "ladies", "ladies-debiased"),
		regressionFigure("figure1", onP, "ladies", []string{"arxiv", "mag"}),
		{
			Name: "figure2", Alias: "matrix-error", Title: "Matrix approximation error ‖QPHW − QPSHW‖_F over the number of nodes drawn", Data: fiveNames(),
			caption: "errors", columns: 3, fill: []filler{(*runner).addErrors},
		},
		curvesFigure("figure3", "", "Validation metric of LADIES and its variants over training", []string{"proteins", "products"}, layerWiseCurves),
		curvesFigure("figure4", "convergence", "Validation metric of all methods over training", fiveNames(), allCurves),
		{
			Name: "figure5", Alias: "norms", Title: "Histograms of ‖P^[i]‖ and ‖(HW)_[i]‖, and the constants C₁ and C₂", Data: fiveNames(),
			caption: "norms", chart: "Norms of the columns of P and of the rows of HW, tails cut off", columns: 4, fill: []filler{(*runner).addNorms},
		},
		regressionFigure("figure6", onP, fullMethod, fourNames()),
		regressionFigure("figure7", onP, "fastgcn", fourNames()),
		regressionFigure("figure8", onP, "fastgcn-debiased", fourNames()),
		regressionFigure("figure9", onP, "ladies", fourNames()),
		regressionFigure("figure10", onQP, "ladies", fourNames()),
		regressionFigure("figure11", onQP, "ladies-debiased", fourNames()),
	}
}
