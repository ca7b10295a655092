package reproduce

import "fmt"

// Experiment is one table or figure of the paper, or the comparison of the twins.
type Experiment struct {
	Name  string   // as the paper numbers it: table4, figure2; or twins
	Alias string   // another name, "" if there is none
	Title string   // names the quantities shown
	Data  []string // the paper's names of its columns
	twins bool     // the columns are generated twins, also if the originals are in the cache

	// Caption adds sentences to the caption; may be nil.
	Caption func(r *runner) string

	// jobs lists the cells of one data set, and fill makes the report from them.
	jobs func(r *runner, spec string) []job
	fill func(r *runner, c task, report *Report)
}

// Names returns the names that Run knows the experiment by.
func (e *Experiment) Names() []string {
	if e.Alias == "" {
		return []string{e.Name}
	}
	return []string{e.Name, e.Alias}
}

// Experiments lists the tables and figures in the paper's numbering, its appendix
// included.
func Experiments() []Experiment {
	ladies, full := "ladies", "full"
	tables := []Experiment{
		{
			Name: "table1", Title: "The data sets", Data: fiveNames(),
			jobs: one(job{kind: describing}), fill: fillDatasets,
		},
		regressionTable("table2", "regression", onP, "Regression of ‖(HW)_[i]‖ on ‖P^[i]‖ in 3-layer models, LADIES and full batch", ladies, full),
		samplingTable("table3", "sampling-time"),
		scoreTable("table4", "accuracy", "Test metric of every method in per cent, and the time of a step in milliseconds", mainRows, "arxiv", "products"),
		stepTable("table5", "training-time", 2),
		stepTable("table6", "", 3),
		scoreTable("table7", "fastgcn-variants", "Test metric of FastGCN with flat probabilities and debiased weights, in per cent", variantRows),
		{
			Name: "table8", Title: "Time complexity: measured exponents", Data: []string{"arxiv"},
			Caption: captionOfScaling, jobs: one(job{kind: scaling}), fill: fillScaling,
		},
		regressionTable("table9", "", onP, "Regression of ‖(HW)_[i]‖ on ‖P^[i]‖ in 3-layer models, FastGCN", "fastgcn", "fastgcn-debiased"),
		regressionTable("table10", "", onQP, "Regression of ‖(HW)_[i]‖ on ‖QP^[i]‖ in 3-layer models, LADIES", ladies, "ladies-debiased"),
	}
	few := []string{"arxiv", "mag"}
	return append(tables,
		regressionFigure("figure1", onP, ladies, few),
		Experiment{
			Name: "figure2", Alias: "matrix-error", Title: "Matrix approximation error ‖QPHW − QPSHW‖_F over the number of nodes drawn", Data: fiveNames(),
			Caption: captionOfErrors, jobs: errorJobs, fill: fillErrors,
		},
		curvesFigure("figure3", "", "Validation metric of LADIES and its variants over training", []string{"proteins", "products"}, layerWiseCurves),
		curvesFigure("figure4", "convergence", "Validation metric of all methods over training", fiveNames(), allCurves),
		Experiment{
			Name: "figure5", Alias: "norms", Title: "Histograms of ‖P^[i]‖ and ‖(HW)_[i]‖, and the constants C₁ and C₂", Data: fiveNames(),
			Caption: captionOfNorms, jobs: func(r *runner, spec string) []job { return r.regressionJobs(spec, ladies) }, fill: fillNorms,
		},
		regressionFigure("figure6", onP, full, fourNames()),
		regressionFigure("figure7", onP, "fastgcn", fourNames()),
		regressionFigure("figure8", onP, "fastgcn-debiased", fourNames()),
		regressionFigure("figure9", onP, ladies, fourNames()),
		regressionFigure("figure10", onQP, ladies, fourNames()),
		regressionFigure("figure11", onQP, "ladies-debiased", fourNames()),
	)
}

// Known lists the experiments that Run knows: the paper's, and the comparison of the
// generated twins with their originals.
func Known() []Experiment { return append(Experiments(), twins()) }

// one returns a function that lists one cell for each data set.
func one(j job) func(*runner, string) []job {
	return func(_ *runner, spec string) []job {
		j.spec = spec
		return []job{j}
	}
}

// regressionTable is a table of coefficients of methods.
func regressionTable(name, alias, on, title string, methods ...string) Experiment {
	return Experiment{
		Name: name, Alias: alias, Title: title, Data: fourNames(), Caption: captionOfRegression,
		jobs: func(r *runner, spec string) []job {
			var jobs []job
			for _, m := range methods {
				jobs = append(jobs, r.regressionJobs(spec, m)...)
			}
			return jobs
		},
		fill: func(r *runner, c task, report *Report) { r.fillRegression(c, report, methods, on) },
	}
}

// regressionFigure is a figure of scatter plots of one method.
func regressionFigure(name, on, method string, data []string) Experiment {
	return Experiment{
		Name: name, Title: fmt.Sprintf("‖(HW)_[i]‖ over ‖%s^[i]‖ in 3-layer models, `%s`", on, method), Data: data, Caption: captionOfRegression,
		jobs: func(r *runner, spec string) []job { return r.regressionJobs(spec, method) },
		fill: func(r *runner, c task, report *Report) {
			r.fillRegression(c, report, []string{method}, on)
			report.figure, report.figureOnly = r.scatters(c, method, on), true
		},
	}
}

// samplingTable is the table of sampling times.
func samplingTable(name, alias string) Experiment {
	rows := func(r *runner) []PaperRow { return r.rowsOf(r.paper.SamplingTime, 1) }
	return Experiment{
		Name: name, Alias: alias, Title: "Milliseconds to sample one layer for a mini-batch", Data: fiveNames(), Caption: captionOfSampling,
		jobs: func(r *runner, spec string) []job {
			var jobs []job
			for _, row := range rows(r) {
				jobs = append(jobs, samplingJob(spec, row))
			}
			return jobs
		},
		fill: func(r *runner, c task, report *Report) {
			for _, spec := range c.data {
				for _, row := range rows(r) {
					r.addTime(report, samplingJob(spec, row), row, "ms to sample a layer", paperSampling)
				}
			}
			report.figure = compareFigure("Sampling time of one layer, ms a batch", report.Rows, c.data)
		},
	}
}

// stepTable is a table of training times of models of some layers.
func stepTable(name, alias string, layers int) Experiment {
	rows := func(r *runner) []PaperRow { return r.rowsOf(r.paper.TrainingTime[fmt.Sprint(layers)], layers) }
	return Experiment{
		Name: name, Alias: alias, Title: fmt.Sprintf("Milliseconds of a training step of a %d-layer model", layers), Data: fiveNames(), Caption: captionOfSteps,
		jobs: func(r *runner, spec string) []job {
			var jobs []job
			for _, row := range rows(r) {
				jobs = append(jobs, stepJob(spec, row, layers))
			}
			return jobs
		},
		fill: func(r *runner, c task, report *Report) {
			for _, spec := range c.data {
				for _, row := range rows(r) {
					r.addTime(report, stepJob(spec, row, layers), row, fmt.Sprintf("ms a training step, %d layers", layers), paperTraining)
				}
			}
			report.figure = compareFigure(report.Title, report.Rows, c.data)
		},
	}
}
