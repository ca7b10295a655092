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

// structureSettings is everything that the structure of a data set depends on.
type structureSettings struct {
	Kind        string `json:"kind"`
	Data        string `json:"data"`
	Fingerprint string `json:"fingerprint"`
}

// structure holds the figures of a graph that cost more than a pass over its nodes.
type structure struct {
	Clustering    study.Number `json:"clustering"`
	ClusteringSEM study.Number `json:"clustering_sem"` // 0: exact
	Homophily     study.Number `json:"homophily"`      // NaN for binary tasks
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

// published returns the published figures for a SPEC: a twin, with or without keys, or
// the original. Other data have none.
func published(spec string) datasets.Published {
	location, _, _ := strings.Cut(spec, "?")
	for _, p := range datasets.PublishedFigures() {
		if location == p.Twin || location == p.Original {
			return p
		}
	}
	return datasets.Published{}
}

// twin adds the rows and the claim of one data set to the report.
func (r *runner) twin(ctx context.Context, report *Report, spec string) error {
	p := published(spec)
	data, err := r.open(ctx, spec)
	if err != nil {
		return err
	}
	s, err := r.structure(ctx, spec)
	if err != nil {
		return err
	}
	info := datasets.Describe(data)
	t := &twinRows{report: report, spec: spec}
	for _, c := range []struct {
		quantity  string
		published datasets.Figure
		value     int64
	}{
		{"nodes", p.Nodes, int64(info.Nodes)}, {"edges", p.Edges, info.Edges}, {"features", p.Features, int64(info.Features)},
		{"classes", p.Classes, int64(info.Classes)}, {"tasks", p.Tasks, int64(info.Tasks)}, {"training nodes", p.Train, int64(info.Split.Train)},
		{"validation nodes", p.Valid, int64(info.Split.Valid)}, {"test nodes", p.Test, int64(info.Split.Test)},
		{"largest degree", p.LargestDegree, int64(info.Degree.Max)},
	} {
		t.figure(c.quantity, c.published, float64(c.value), 0)
	}
	t.figure("mean degree", p.MeanDegree, info.Degree.Mean, 0)
	t.figure("clustering coefficient", p.Clustering, float64(s.Clustering), float64(s.ClusteringSEM))
	t.figure("edge homophily", p.Homophily, float64(s.Homophily), 0)
	quantity := fmt.Sprintf("test %s, %%", data.Metric)
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
	different []string
	worst     float64 // largest share of a figure by which one differs
	worstOf   string
	points    float64 // largest difference of a score
}

// figure adds a row with the published figure, if there is one. A value that the data do
// not have, 0 or NaN, gets no row unless it is published.
func (t *twinRows) figure(quantity string, published datasets.Figure, value, sem float64) {
	if !published.Known() && !(value > 0) {
		return
	}
	row := Row{Dataset: t.spec, Label: "graph", Quantity: quantity, N: 1, Mean: value, SEM: sem}
	if published.Known() {
		row.Paper = &PaperValue{Mean: published.Value}
		t.compared++
		share := math.Abs(value/published.Value - 1)
		if share > t.worst {
			t.worst, t.worstOf = share, quantity
		}
		if !(share <= twinShare) {
			t.different = append(t.different, quantity)
		}
	}
	t.report.Rows = append(t.report.Rows, row)
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
	if len(t.different) > 0 {
		numbers += "; outside: " + strings.Join(t.different, ", ")
	}
	return Claim{Dataset: t.spec, Text: "agrees with the published figures of " + original, Holds: len(t.different) == 0, Numbers: numbers}
}

// structure returns the figures of an open data set's graph.
func (r *runner) structure(ctx context.Context, spec string) (*structure, error) {
	s := new(structure)
	return s, r.cell(ctx, "structure", structureSettings{"structure", spec, r.fingerprint}, s, []string{spec}, func() error {
		mean, sem, err := datasets.Clustering(ctx, r.data.Graph)
		if err != nil {
			return err
		}
		homophily, err := datasets.EdgeHomophily(ctx, r.data)
		*s = structure{study.Number(mean), study.Number(sem), study.Number(homophily)}
		return err
	})
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
