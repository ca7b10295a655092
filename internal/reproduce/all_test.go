package reproduce

import (
	"context"
	"encoding/csv"
	"encoding/json"
	"errors"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/gcn-layerwise/gcn/datasets"
	"github.com/gcn-layerwise/gcn/internal/longtest"
	"github.com/gcn-layerwise/gcn/internal/machine"
	"github.com/gcn-layerwise/gcn/study"
)

// tiny are options with which all tables and figures take seconds.
func tiny(t *testing.T) Options {
	return Options{Settings: settings(t, "batch", 32, "hidden", 8, "max_batches", 10, "runs", 2), Data: []string{smallData}, Dir: t.TempDir(), Compute: ComputeAll, Log: func(string) {}, Open: openSpec}
}

// all runs All and saves the results.
func all(t *testing.T, o Options) *Results {
	t.Helper()
	results, err := Run(t.Context(), All, o)
	if err != nil {
		t.Fatal(err)
	}
	results.Date, results.Commit, results.Command = "2026-01-02", "abc", "gcn reproduce all"
	if err := results.Save(o.Dir); err != nil {
		t.Fatal(err)
	}
	return results
}

// tree returns the texts of the files in a folder, without cells and pictures in PNG.
func tree(t *testing.T, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() || strings.Contains(path, "/cells/") || strings.HasSuffix(path, ".png") {
			return err
		}
		text, err := os.ReadFile(path)
		files[strings.TrimPrefix(path, dir)] = string(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// TestAll makes everything on a small graph: once whole, and once stopped after some
// cells, three times. Both give the same numbers, except times. Making everything
// again computes nothing and gives the same bytes.
func TestAll(t *testing.T) {
	whole, cells := tiny(t), 0
	whole.Log = func(string) { cells++ }
	results := all(t, whole)
	checkResults(t, whole.Dir, results)

	stopped, computed := tiny(t), 0
	for _, after := range []int{1, 7, 40} {
		ctx, stop := context.WithCancel(t.Context())
		now := 0
		stopped.Log = func(string) {
			computed++
			if now++; now == after {
				stop()
			}
		}
		if _, err := Run(ctx, All, stopped); !errors.Is(err, context.Canceled) {
			t.Fatalf("error %v, want the context's", err)
		}
		stop()
	}
	stopped.Log = func(string) { computed++ }
	all(t, stopped)
	if computed != cells {
		t.Errorf("%d cells computed with stops, %d without", computed, cells)
	}
	first := tree(t, stopped.Dir)
	for path, want := range tree(t, whole.Dir) {
		if strings.HasSuffix(path, ".csv") && !slices.Equal(timeless(t, first[path]), timeless(t, want)) {
			t.Errorf("%s after stops is\n%s\nwithout\n%s", path, first[path], want)
		}
	}
	all(t, stopped)
	for path, text := range tree(t, stopped.Dir) {
		if text != first[path] {
			t.Errorf("%s is not the same when it is made again", path)
		}
	}
	if computed != cells {
		t.Errorf("%d cells computed again", computed-cells)
	}
}

// timeless returns the lines of a CSV file that are not times, and do not depend on
// times.
func timeless(t *testing.T, text string) []string {
	t.Helper()
	records, err := csv.NewReader(strings.NewReader(text)).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for _, record := range records {
		line := strings.Join(record, ",")
		if !regexp.MustCompile(`\bms\b|\btime\b|slower|verdict|times`).MatchString(line) {
			lines = append(lines, line)
		}
	}
	if len(records) > 0 && records[0][0] == "number" { // the claims: some are about times
		return nil
	}
	return lines
}

// checkResults checks the files of the whole report.
func checkResults(t *testing.T, dir string, results *Results) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, "results.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, words := range []string{"2026-01-02", "abc", "`gcn reproduce all`", machine.Describe().String(), "## Table 4. ", "## Figure 11. ", "Data that are not in the paper: synth:demo", "2 runs"} {
		if !strings.Contains(string(text), words) {
			t.Errorf("results.md lacks %q", words)
		}
	}
	for _, link := range regexp.MustCompile(`\]\(([^)]*)\)`).FindAllStringSubmatch(string(text), -1) {
		if _, err := os.Stat(filepath.Join(dir, link[1])); err != nil {
			t.Errorf("results.md shows a figure that is not there: %v", err)
		}
	}
	for _, e := range Experiments() {
		for _, ext := range []string{".csv", ".json"} {
			content, err := os.ReadFile(filepath.Join(dir, FiguresDir, e.Name+ext))
			if err != nil || len(content) < 100 || ext == ".json" && !json.Valid(content) {
				t.Errorf("%s%s: %d bytes, %v", e.Name, ext, len(content), err)
			}
		}
		if strings.HasPrefix(e.Name, "figure") {
			if _, err := os.Stat(filepath.Join(dir, FiguresDir, e.Name+".svg")); err != nil {
				t.Error(err)
			}
		}
	}
	judged := 0
	for _, c := range paperNumbers(t).claims {
		if c.Rules != nil {
			judged++
		} else if !strings.Contains(string(text), "\n- "+c.Where+", not judged here: "+c.Text+"\n") {
			t.Errorf("results.md lacks %q", c.Text)
		}
	}
	shown := 0
	for _, c := range results.Claims {
		if c.Verdict != NotMeasured {
			shown++
		}
	}
	if len(results.Claims) != judged || strings.Count(string(text), "\n| Section ")+strings.Count(string(text), "\n| Appendix ") != shown || shown == 0 {
		t.Errorf("%d claims, want %d, and %d of them in the text", len(results.Claims), judged, shown)
	}
}

// TestAllOnRealGraphs makes everything on the real graphs that lie beside the
// repository.
func TestAllOnRealGraphs(t *testing.T) {
	longtest.Skip(t)
	o := tiny(t)
	o.Data, o.Settings.Runs = nil, 1
	for _, spec := range []string{"planetoid:../../../shared/data/cora-planetoid/cora", "npz:../../../shared/data/tolokers/tolokers.npz"} {
		_, path, _ := strings.Cut(spec, ":")
		if _, err := os.Stat(filepath.Dir(path)); err == nil {
			o.Data = append(o.Data, spec)
		}
	}
	if len(o.Data) == 0 {
		t.Skip("no real graphs in ../shared/data")
	}
	results := all(t, o)
	for _, r := range results.Reports {
		if len(r.Rows) == 0 {
			t.Errorf("%s has no rows", r.Experiment)
		}
	}
}

// TestDataChoice checks that the original is used if it is in the cache, and else the
// twin, and that data sets that the paper leaves out of a table are left out.
func TestDataChoice(t *testing.T) {
	cache := t.TempDir()
	data, err := datasets.Open(t.Context(), smallData, datasets.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := datasets.WriteStore(t.Context(), filepath.Join(cache, "ogbn-mag.safetensors"), data); err != nil {
		t.Fatal(err)
	}
	o := tiny(t)
	o.Data, o.DataOptions = nil, datasets.Options{Cache: cache}
	r, err := newRunner(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string][]string{
		"table4":  {"synth:reddit", "synth:arxiv", "ogbn-mag", "synth:proteins", "synth:products"},
		"table2":  {"synth:reddit", "synth:arxiv", "synth:proteins", "ogbn-mag"},
		"figure1": {"synth:arxiv", "ogbn-mag"},
		"figure5": {"synth:reddit", "synth:arxiv", "ogbn-mag", "synth:proteins", "synth:products"},
	} {
		for _, e := range Experiments() {
			if e.Name != name {
				continue
			}
			work, err := r.plan(t.Context(), []Experiment{e})
			if err != nil {
				t.Fatal(err)
			}
			if got := work[0].data; !slices.Equal(got, want) {
				t.Errorf("%s is made from %v, want %v", name, got, want)
			}
			if len(r.Data) != len(want) {
				t.Errorf("%s looks for %v in the cache", name, r.Data)
			}
			r.Data = nil
		}
	}
	o.Data = []string{"synth:products", smallData}
	if r, err = newRunner(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	if got := r.dataOf(Experiments()[1]); !slices.Equal(got, []string{smallData}) {
		t.Errorf("table2 is made from %v", got)
	}
}

// TestErrorWeights checks that figure 2 alone gives the rows of the whole report.
func TestErrorWeights(t *testing.T) {
	o := tiny(t)
	o.Methods = []string{"ladies", "ladies-flat-debiased"}
	results, err := Run(t.Context(), All, o)
	if err != nil {
		t.Fatal(err)
	}
	o.Dir = t.TempDir()
	alone := reproduced(t, "figure2", o)
	for _, r := range results.Reports {
		if r.Experiment == "figure2" && (len(r.Rows) != 2*len(errorSizes()) || !reflect.DeepEqual(r.Rows, alone.Rows)) {
			t.Errorf("%d rows %+v\nalone %+v", len(r.Rows), r.Rows, alone.Rows)
		}
	}
	if n := countCells(t, o.Dir); n != 1 {
		t.Errorf("figure 2 alone has %d cells, want the errors", n)
	}
}

// TestPooled checks that a regression has the pairs of all runs, over the training
// nodes and over all, and a scatter plot 200 points of each run.
func TestPooled(t *testing.T) {
	o := tiny(t)
	o.Methods = []string{"ladies"}
	const nodes, train, layers = 500, 250, 3
	report := reproduced(t, "figure1", o)
	if len(report.Rows) != (2*3+1)*layers {
		t.Fatalf("%d rows", len(report.Rows))
	}
	for _, row := range report.Rows {
		want := 2 * nodes
		switch {
		case strings.HasSuffix(row.Quantity, overTrain):
			want = 2 * train
		case strings.Contains(row.Quantity, "leverage"): // of the sampled pairs
			want = 2 * pointsPerRun
		}
		if row.N != want {
			t.Errorf("%s has %d pairs, want %d of two runs", row.Quantity, row.N, want)
		}
	}
	if len(report.figure.Panels) != layers {
		t.Fatalf("%d panels", len(report.figure.Panels))
	}
	for _, p := range report.figure.Panels {
		if len(p.Points) != 1 || len(p.Points[0].X) != 2*pointsPerRun || len(p.Lines) != 2 {
			t.Errorf("%s: %d points, %d lines", p.Title, len(p.Points), len(p.Lines))
		}
	}
}

// TestHighLeverage counts the pairs of high leverage by the formula.
func TestHighLeverage(t *testing.T) {
	var s study.Scatter
	for _, x := range []float64{1, 2, 3, 4, 5, 6, 7, 8, 9, 40} {
		s.Sums.Add(x, 1)
		s.Points = append(s.Points, [2]float64{x, 1})
	}
	want, n := 0, float64(s.Sums.N)
	for _, p := range s.Points {
		if h := 1/n + (p[0]-8.5)*(p[0]-8.5)/s.Sums.SXX; h > 4/n {
			want++
		}
	}
	if got := highLeverage(&s); want != 1 || got != float64(want)/n {
		t.Errorf("share %v, want %d of 10", got, want)
	}
	if got := highLeverage(new(study.Scatter)); got != 0 {
		t.Errorf("share %v of no pairs", got)
	}
}

// TestExponent fits powers, and checks how much a layer adds.
func TestExponent(t *testing.T) {
	line := exponent([]float64{1, 2, 4, 8, 0}, []float64{3, 12, 48, 192, 5})
	if math.Abs(line.Slope-2) > 1e-12 || line.N != 4 {
		t.Errorf("exponent %v of %d points, want 2 of 4", line.Slope, line.N)
	}
	if g := growth([]float64{1, 3, 9, 15}); g != 3 { // layers of 1, 2, 6 and 6
		t.Errorf("growth %v, want 3", g)
	}
}

// TestCaption checks that a caption names originals and twins, and the intervals of the scores
// that its cells have.
func TestCaption(t *testing.T) {
	r, err := newRunner(t.Context(), tiny(t))
	if err != nil {
		t.Fatal(err)
	}
	k := key{Kind: trainCell, Data: "synth:arxiv", EvalEvery: 10}
	found := k
	found.EvalEvery = 50
	r.settled[k.id()] = &cell{Key: found}
	c := task{Experiment: Experiments()[3], data: []string{"synth:arxiv", "synth:products", "ogbn-proteins", "cora"}, keys: []key{k}}
	caption := r.caption(c)
	for _, words := range []string{
		"Original data: ogbn-proteins.", "Generated twins, not the original data: ogbn-arxiv (twin), ogbn-products (twin).", "Data that are not in the paper: cora.",
		"2 runs; mini-batches between two validation scores: 50 on ogbn-arxiv (twin); at most 10 mini-batches of 32;",
	} {
		if !strings.Contains(caption, words) {
			t.Errorf("the caption does not say %q: %s", words, caption)
		}
	}
	c.keys = nil
	if caption := r.caption(c); strings.Contains(caption, "runs") {
		t.Errorf("a table without runs has the caption %q", caption)
	}
}
