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

// The largest differences between a figure of a twin and the published one.
const (
	twinShare  = 0.05 // of the figure
	twinPoints = 2.0  // percentage points of a score
)

// comparisonSettings is everything that the figures of a data set depend on.
type comparisonSettings struct {
	describeSettings
	Published datasets.Published `json:"published"`
}

// twins compares generated data sets with the published figures of their originals.
func twins() Experiment {
	return Experiment{
		Name: "twins", Title: "Generated data sets beside the published figures of their originals", Data: fiveNames(), twins: true,
		Caption: func(*runner) string {
			return "Published figures of the originals stand in the place of the paper's numbers; gcn datasets verify shows their sources."
		},
		jobs: twinJobs, fill: fillTwins,
	}
}

// twinJobs lists the figures of a data set, and its runs without the graph and with full
// batch. A data set without published figures has only the runs.
func twinJobs(r *runner, spec string) []job {
	var jobs []job
	if p, _ := datasets.FindPublished(spec); p != nil {
		jobs = append(jobs, job{kind: comparing, spec: spec})
	}
	return slices.Concat(jobs, r.featuresJobs(spec), r.trainJobs(spec, r.fullBatch(), 2))
}

// featuresJobs lists the runs without the graph.
func (r *runner) featuresJobs(spec string) []job {
	return r.runsOf(job{kind: featuring, spec: spec, layers: 2})
}

// fullBatch returns the paper's row of full batch, whose cells table 4 shares.
func (r *runner) fullBatch() PaperRow {
	at := slices.IndexFunc(r.paper.Accuracy, func(row PaperRow) bool { return row.Method == "full" })
	return r.paper.Accuracy[at]
}

// figures returns the figures of a data set beside the published ones.
func (r *runner) figures(ctx context.Context, j job) (any, error) {
	p, _ := datasets.FindPublished(j.spec)
	settings := comparisonSettings{describeSettings{string(j.kind), j.spec, r.fingerprint}, *p}
	all := new([]datasets.Comparison)
	return all, r.cell(ctx, j, settings, all, []string{j.spec}, func() (err error) {
		if *all, err = p.Compare(ctx, r.data); err != nil {
			return err
		}
		r.log(fmt.Sprintf("%s: %d figures", j, len(*all)))
		return nil
	})
}

// featuresAlone returns the result of one run without the graph.
func (r *runner) featuresAlone(ctx context.Context, j job) (any, error) {
	settings := r.trainSettings(j)
	table := new(study.FeaturesTable)
	return table, r.cell(ctx, j, settings, table, []string{j.spec, fmt.Sprintf("seed-%d", settings.Seed)}, func() error {
		t, err := study.FeaturesAlone{Data: r.data, Hidden: r.Hidden, Options: train.Options{
			Batch: r.Batch, MaxBatches: r.MaxBatches, EvalEvery: settings.EvalEvery, Patience: r.Patience, Seed: settings.Seed,
		}}.Run(ctx)
		if err != nil {
			return err
		}
		*table = *t
		r.log(fmt.Sprintf("%s, seed %d: test %s %.4f after %d batches", j, settings.Seed, t.Metric, float64(t.TestMean), t.Rows[0].Batches))
		return nil
	})
}

// fillTwins makes the rows of all data sets, and a claim for each that has published
// figures.
func fillTwins(r *runner, c task, report *Report) {
	report.Source = ""
	report.Notes = append(report.Notes, fmt.Sprintf("a twin agrees if each figure is within %.0f %% of the published one, and each score within %v points", 100*twinShare, twinPoints))
	for _, spec := range c.data {
		r.addTwin(report, spec)
	}
}

// addTwin adds the rows and the claim of one data set.
func (r *runner) addTwin(report *Report, spec string) {
	t := &twinRows{report: report, spec: spec, runs: r.Runs.of(spec)}
	p, _ := datasets.FindPublished(spec)
	if p == nil {
		p = new(datasets.Published)
	} else if all := resultOf[[]datasets.Comparison](r, job{kind: comparing, spec: spec}); all == nil {
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
	for _, run := range resultsOf[study.FeaturesTable](r, r.featuresJobs(spec)) {
		metric, alone = run.Metric, append(alone, 100*float64(run.TestMean))
	}
	t.score("features alone", metric, target, alone)
	for _, run := range r.trained(spec, r.fullBatch(), 2) {
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

// source adds the source of a published figure to the report's.
func (t *twinRows) source(source string) {
	known := strings.Split(t.report.Source, "; ")
	if t.report.Source == "" {
		known = nil
	}
	if !slices.Contains(known, source) {
		t.report.Source = strings.Join(append(known, source), "; ")
	}
}

// figure adds a row of a figure of the graph, with the published one. Equal figures have
// no row: the claim lists them.
func (t *twinRows) figure(c datasets.Comparison) {
	t.compared++
	t.source(c.Source)
	if c.Found == c.Published {
		t.equal = append(t.equal, c.Name)
		return
	}
	t.report.Rows = append(t.report.Rows, Row{
		Dataset: t.spec, Label: "graph", Quantity: c.Name, N: 1, Mean: c.Found, SEM: c.SEM, Paper: &PaperValue{Mean: c.Published},
		line: c.Name, column: columnName(t.spec), bySEM: true,
	})
	share := math.Abs(c.Found/c.Published - 1)
	if share > t.worst {
		t.worst, t.worstOf = share, c.Name
	}
	if !(share <= twinShare) {
		t.different = append(t.different, c.Name)
	}
}

// score adds a row of test scores, in per cent, with the published one if there is one.
func (t *twinRows) score(label, metric string, published datasets.Figure, values []float64) {
	if len(values) == 0 {
		t.missing = append(t.missing, label)
		return
	}
	if len(values) < t.runs {
		t.missing = append(t.missing, fmt.Sprintf("%s (%d of %d runs)", label, len(values), t.runs))
	}
	row := newRow(t.spec, PaperRow{Label: label}, fmt.Sprintf("test %s, %%", metric), values)
	row.line, row.column = label+", test %", columnName(t.spec)
	if published.Known() {
		row.Paper = &PaperValue{Mean: published.Value}
		t.compared++
		t.source(published.Source)
		points := math.Abs(row.Mean - published.Value)
		t.points = max(t.points, points)
		if !(points <= twinPoints) {
			t.different = append(t.different, label)
		}
	}
	t.report.Rows = append(t.report.Rows, row)
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
