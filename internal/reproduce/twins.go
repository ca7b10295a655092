package reproduce

import (
	"context"
	"fmt"
	"math"
	"strings"

	"github.com/gcn-layerwise/gcn/datasets"
	"github.com/gcn-layerwise/gcn/internal/blas"
	"github.com/gcn-layerwise/gcn/study"
	"github.com/gcn-layerwise/gcn/train"
)

// The largest differences between a figure of a twin and the published one.
const (
	twinShare  = 0.05 // of the figure
	twinPoints = 2.0  // percentage points of a score
)

// figuresSettings is everything that the figures of a data set depend on.
type figuresSettings struct {
	Kind        string             `json:"kind"`
	Data        string             `json:"data"`
	Published   datasets.Published `json:"published"`
	Fingerprint string             `json:"fingerprint"`
}

// featuresSettings is everything that a run without the graph depends on.
type featuresSettings struct {
	Kind        string `json:"kind"`
	Data        string `json:"data"`
	Hidden      int    `json:"hidden"`
	Batch       int    `json:"batch"`
	MaxBatches  int    `json:"max_batches"`
	Patience    int    `json:"patience"`
	EvalEvery   int    `json:"eval_every,omitempty"`
	Seed        uint64 `json:"seed"`
	BLAS        string `json:"blas"`
	Fingerprint string `json:"fingerprint"`
}

// runTwins compares generated data sets with the published figures of their originals.
func runTwins(ctx context.Context, r *runner) (*Report, error) {
	report := &Report{Notes: []string{fmt.Sprintf("a twin agrees if each figure is within %.0f %% of the published one, and each score within %v points", 100*twinShare, twinPoints)}}
	for _, spec := range r.Data {
		if err := r.twin(ctx, report, spec); err != nil {
			return nil, err
		}
	}
	return report, nil
}

// twin adds the rows and the claim of one data set to the report. A data set without
// published figures has the scores alone.
func (r *runner) twin(ctx context.Context, report *Report, spec string) error {
	t := &twinRows{report: report, spec: spec}
	data, err := r.open(ctx, spec)
	if err != nil {
		return err
	}
	quantity := fmt.Sprintf("test %s, %%", data.Metric)
	p, _ := datasets.FindPublished(spec)
	if p != nil {
		figures, err := r.figures(ctx, spec, p)
		if err != nil {
			return err
		}
		for _, c := range figures {
			t.figure(c)
		}
	} else {
		p = new(datasets.Published)
	}
	alone, err := r.featuresAlone(ctx, spec)
	if err != nil {
		return err
	}
	target := p.OGBMLP
	if target.Known() && target.Value > p.FullBatch.Value {
		report.Notes = append(report.Notes, fmt.Sprintf("%s: the published score of the features alone, %v (%s), is above full batch's %v (%s): it is no target",
			p.Name, target.Value, target.Source, p.FullBatch.Value, p.FullBatch.Source))
		target = datasets.Figure{}
	}
	t.score("features alone", quantity, target, alone)
	var full []float64
	for run := range r.Runs {
		result, err := r.train(ctx, spec, PaperRow{Label: "Full-batch", Method: "full"}, run)
		if err != nil {
			return err
		}
		full = append(full, 100*float64(result.Test))
	}
	t.score("full batch", quantity, p.FullBatch, full)
	if t.compared > 0 {
		report.Claims = append(report.Claims, t.claim(p.Name))
	}
	return nil
}

// twinRows collects the rows of one data set.
type twinRows struct {
	report    *Report
	spec      string
	compared  int
	equal     []string
	different []string
	worst     float64 // largest share of a figure by which one differs
	worstOf   string
	points    float64 // largest difference of a score
}

// figure adds a row of a figure of the graph, with the published one. Equal figures have
// no row: the claim lists them.
func (t *twinRows) figure(c datasets.Comparison) {
	t.compared++
	if c.Found == c.Published {
		t.equal = append(t.equal, c.Name)
		return
	}
	t.report.Rows = append(t.report.Rows, Row{
		Dataset: t.spec, Label: "graph", Quantity: c.Name, N: 1, Mean: c.Found, Paper: &PaperValue{Mean: c.Published},
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
func (t *twinRows) score(label, quantity string, published datasets.Figure, values []float64) {
	s := study.NewSpread(values)
	row := Row{Dataset: t.spec, Label: label, Quantity: quantity, N: s.N, Mean: s.Mean, Std: s.SD, SEM: s.SEM}
	if published.Known() {
		row.Paper = &PaperValue{Mean: published.Value}
		t.compared++
		points := math.Abs(s.Mean - published.Value)
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
	if len(t.equal) > 0 {
		numbers += "; equal: " + strings.Join(t.equal, ", ")
	}
	if len(t.different) > 0 {
		numbers += "; outside: " + strings.Join(t.different, ", ")
	}
	return Claim{Dataset: t.spec, Text: "agrees with the published figures of " + original, Holds: len(t.different) == 0, Numbers: numbers}
}

// figures returns the figures of the open data set beside the published ones.
func (r *runner) figures(ctx context.Context, spec string, p *datasets.Published) ([]datasets.Comparison, error) {
	var all []datasets.Comparison
	settings := figuresSettings{"figures", spec, *p, r.fingerprint}
	err := r.cell(ctx, "figures", settings, &all, []string{spec}, func() (err error) {
		all, err = p.Compare(ctx, r.data)
		return err
	})
	return all, err
}

// featuresAlone returns the test scores, in per cent, of runs without the graph.
func (r *runner) featuresAlone(ctx context.Context, spec string) ([]float64, error) {
	var tests []float64
	for run := range r.Runs {
		settings := featuresSettings{
			Kind: "features", Data: spec, Hidden: r.Hidden, Batch: r.Batch, MaxBatches: r.MaxBatches, Patience: r.Patience,
			EvalEvery: r.EvalEvery, Seed: r.Seed + uint64(run), Fingerprint: r.fingerprint,
		}
		if b, err := blas.Default(); err == nil {
			settings.BLAS = b.Name()
		}
		row := new(study.FeaturesRow)
		err := r.cell(ctx, "features", settings, row, []string{spec, fmt.Sprintf("seed-%d", settings.Seed)}, func() error {
			t, err := study.FeaturesAlone{Data: r.data, Hidden: r.Hidden, Options: train.Options{
				Batch: r.Batch, MaxBatches: r.MaxBatches, Patience: r.Patience, EvalEvery: r.EvalEvery, Seed: settings.Seed,
			}}.Run(ctx)
			if err != nil {
				return err
			}
			*row = t.Rows[0]
			r.Log(fmt.Sprintf("%s, features alone, seed %d: test %s %.4f after %d batches", spec, settings.Seed, t.Metric, float64(row.Test), row.Batches))
			return nil
		})
		if err != nil {
			return nil, err
		}
		tests = append(tests, 100*float64(row.Test))
	}
	return tests, nil
}
