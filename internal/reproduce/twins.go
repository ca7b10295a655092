package reproduce

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/gcn-layerwise/gcn/datasets"
	"github.com/gcn-layerwise/gcn/study"
	"github.com/gcn-layerwise/gcn/train"
)

// datasetsTable is the table of the data sets.
func datasetsTable(name string) Experiment {
	return Experiment{
		Name: name, Title: "The data sets", Data: fiveNames(),
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
				row.comparePrinted()
				report.Rows = append(report.Rows, row)
			}
		}},
	}
}

// The largest differences between a figure of a twin and the published one.
const (
	twinShare  = 0.05 // of the figure
	twinPoints = 2.0  // percentage points of a score
)

// twins compares generated data sets with the published figures of their originals: figures of
// the graph, and scores of runs without the graph and with full batch. A data set without
// published figures has only the runs.
func twins() Experiment {
	return Experiment{
		Name: "twins", Title: "Generated data sets beside the published figures of their originals", Data: fiveNames(), twins: true,
		caption: func(*runner) string {
			return "Published figures of the originals stand in the place of the paper's numbers; gcn datasets verify shows their sources."
		},
		fill: []filler{(*runner).addTwin},
		finish: func(report *Report, _ []string) {
			words := fmt.Sprintf("a twin agrees if each figure is within %.0f %% of the published one, and each score within %v points", 100*twinShare, twinPoints)
			report.Notes = slices.Insert(report.Notes, 0, words)
		},
	}
}

// featuresKeys lists the runs without the graph.
func (r *runner) featuresKeys(spec string) []key {
	return r.runs(key{Kind: featuring, Data: spec, Layers: 2})
}

// fullBatch returns the paper's row of full batch, whose cells table 4 shares.
func (r *runner) fullBatch() PaperRow {
	return r.paper.Accuracy[slices.IndexFunc(r.paper.Accuracy, func(row PaperRow) bool { return row.Method == fullMethod })]
}

// featuresAlone trains one model without the graph.
func (r *runner) featuresAlone(ctx context.Context, k key) (*study.FeaturesTable, error) {
	return study.FeaturesAlone{Data: r.data, Hidden: k.Hidden, Options: train.Options{
		Batch: k.Batch, MaxBatches: k.MaxBatches, EvalEvery: k.EvalEvery, Patience: k.Patience, Seed: k.Seed,
	}}.Run(ctx)
}

// addTwin adds the rows of one data set, and its claim if it has published figures.
func (r *runner) addTwin(spec string, report *Report) {
	t := &twinRows{report: report, spec: spec, runs: r.Runs.of(spec)}
	p, _ := datasets.FindPublished(spec)
	if p == nil {
		p = new(datasets.Published)
	} else if all := resultOf[[]datasets.Comparison](r, key{Kind: comparing, Data: spec, Published: p}); all == nil {
		t.missing = append(t.missing, "graph")
	} else {
		for _, c := range *all {
			t.figure(c)
		}
	}
	target := p.OGBMLP
	if target.Known() && target.Value > p.FullBatch.Value {
		report.Notes = append(report.Notes, fmt.Sprintf("%s: the published score of the features alone, %v (%s), is above full batch's %v (%s): it is no target",
			p.Name, target.Value, target.Source, p.FullBatch.Value, p.FullBatch.Source))
		target = datasets.Figure{}
	}
	var metric string
	var alone, full []float64
	for _, run := range resultsOf[study.FeaturesTable](r, r.featuresKeys(spec)) {
		metric, alone = run.Metric, append(alone, 100*float64(run.Rows[0].Test))
	}
	t.score("features alone", metric, target, alone)
	for _, run := range r.trained(spec, r.fullBatch()) {
		metric, full = run.Metric, append(full, 100*float64(run.Test))
	}
	t.score("full batch", metric, p.FullBatch, full)
	if p.Name != "" {
		report.Claims = append(report.Claims, t.claim(p.Name))
	}
}

// twinRows collects the rows of one data set.
type twinRows struct {
	report    *Report
	spec      string
	runs      int // wanted
	compared  int
	equal     []string
	different []string
	missing   []string // too large for the memory, or not all there
	worst     float64  // largest share of a figure by which one differs
	worstOf   string
	points    float64 // largest difference of a score
}

// compare counts a figure that has a published one, and adds its source to the report's.
func (t *twinRows) compare(name, source string, agrees bool) {
	t.compared++
	if known := strings.Split(t.report.Source, "; "); t.report.Source == "" {
		t.report.Source = source
	} else if !slices.Contains(known, source) {
		t.report.Source += "; " + source
	}
	if !agrees {
		t.different = append(t.different, name)
	}
}

// figure adds a row of a figure of the graph, with the published one. Equal figures have
// no row: the claim lists them.
func (t *twinRows) figure(c datasets.Comparison) {
	share := math.Abs(c.Found/c.Published - 1)
	t.compare(c.Name, c.Source, c.Found == c.Published || share <= twinShare)
	if c.Found == c.Published {
		t.equal = append(t.equal, c.Name)
		return
	}
	t.report.Rows = append(t.report.Rows, Row{
		Dataset: t.spec, Label: "graph", Quantity: c.Name, N: 1, Mean: c.Found, SEM: c.SEM, Paper: &PaperValue{Mean: c.Published},
		line: c.Name, column: columnName(t.spec), bySEM: true,
	})
	if share > t.worst {
		t.worst, t.worstOf = share, c.Name
	}
}

// score adds a row of test scores, in per cent, with the published one if there is one.
func (t *twinRows) score(label, metric string, published datasets.Figure, values []float64) {
	if len(values) < t.runs || len(values) == 0 {
		missing := label
		if len(values) > 0 {
			missing += fmt.Sprintf(" (%d of %d runs)", len(values), t.runs)
		}
		t.missing = append(t.missing, missing)
	}
	if len(values) == 0 {
		return
	}
	row := add(t.report, t.spec, PaperRow{Label: label}, score, fmt.Sprintf("test %s, %%", metric), values, func(v float64) float64 { return v })
	row.line, row.column = label+", test %", columnName(t.spec)
	if published.Known() {
		row.Paper = &PaperValue{Mean: published.Value}
		points := math.Abs(row.Mean - published.Value)
		t.points = max(t.points, points)
		t.compare(label, published.Source, points <= twinPoints)
	}
}

// claim says whether all figures agree.
func (t *twinRows) claim(original string) Claim {
	numbers := fmt.Sprintf("%d figures; largest difference %.1f points of a score", t.compared, t.points)
	if t.worstOf != "" {
		numbers += fmt.Sprintf(", %.1f %% of the %s", 100*t.worst, t.worstOf)
	}
	for _, list := range []struct {
		words string
		names []string
	}{{"equal", t.equal}, {"outside", t.different}, {"not measured", t.missing}} {
		if len(list.names) > 0 {
			numbers += "; " + list.words + ": " + strings.Join(list.names, ", ")
		}
	}
	verdict := Seen
	switch {
	case len(t.different) > 0:
		verdict = NotSeen
	case len(t.missing) > 0:
		verdict = NotMeasured
	}
	return Claim{Where: t.spec, Text: "agrees with the published figures of " + original, Verdict: verdict, Numbers: numbers, Paper: NotMeasured}
}
