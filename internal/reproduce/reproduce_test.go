package reproduce

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/gcn-layerwise/gcn/datasets"
	"github.com/gcn-layerwise/gcn/run"
	"github.com/gcn-layerwise/gcn/samplers"
)

// smallData is a small data set, for quick tests.
const smallData = "synth:demo?nodes=500&edges=2500&features=8"

// small are options with which an experiment takes well under a second.
func small(t *testing.T) Options {
	return Options{
		Settings: settings(t, "batch", 32, "hidden", 8, "max_batches", 20, "runs", 2), Data: []string{smallData}, Samples: []int{32, 32},
		Methods: []string{"ladies", "full"}, Dir: t.TempDir(), Compute: ComputeAll, Log: func(string) {}, Open: openSpec,
	}
}

// openSpec opens a data set without options.
func openSpec(ctx context.Context, spec string) (*datasets.Data, error) {
	return datasets.Open(ctx, spec, datasets.Options{})
}

// settings returns the paper's settings with other values of options.
func settings(t *testing.T, pairs ...any) *run.Settings {
	t.Helper()
	s, err := Paper(t.Context())
	for k := 0; k < len(pairs) && err == nil; k += 2 {
		err = s.Set(run.Value{Option: pairs[k].(string), Text: fmt.Sprint(pairs[k+1])})
	}
	if err != nil {
		t.Fatal(err)
	}
	return &s
}

func reproduced(t *testing.T, name string, o Options) *Report {
	t.Helper()
	results, err := Run(t.Context(), name, o)
	if err != nil {
		t.Fatal(err)
	}
	return results.Reports[0]
}

// TestPaperNumbers spot-checks the numbers against the paper's tables.
func TestPaperNumbers(t *testing.T) {
	p, err := PaperNumbers()
	if err != nil {
		t.Fatal(err)
	}
	value := func(rows []PaperRow, label, dataset string) PaperValue {
		for _, row := range rows {
			if row.Label == label {
				return *row.Values[dataset]
			}
		}
		t.Fatalf("no row %q", label)
		return PaperValue{}
	}
	for _, c := range []struct {
		rows           []PaperRow
		label, dataset string
		want           PaperValue
	}{
		{p.Accuracy, "Full-batch", "reddit", PaperValue{Mean: 93.81, PM: 0.18}},
		{p.Accuracy, "LADIES (2) w/ flat", "arxiv", PaperValue{Mean: 66.56, PM: 1.84}},
		{p.FastGCNVariants, "FastGCN (2) w/ flat & debias", "products", PaperValue{Mean: 34.47, PM: 1.76}},
		{p.SamplingTime, "LADIES+d (1024)", "arxiv", PaperValue{Mean: 17.2, PM: 0.3}},
		{p.SamplingTime, "Node-wise (512)", "products", PaperValue{Mean: 2795.4, PM: 4.7}},
		{p.TrainingTime["2"], "VR-GCN (10)", "mag", PaperValue{Mean: 175, PM: 15.1}},
		{p.TrainingTime["3"], "LADIES w/ debias", "arxiv", PaperValue{Mean: 30, PM: 4.1}},
	} {
		if got := value(c.rows, c.label, c.dataset); got != c.want {
			t.Errorf("%s on %s: %v, the paper prints %v", c.label, c.dataset, got, c.want)
		}
	}
	for _, row := range slices.Concat(p.Accuracy, p.FastGCNVariants, p.SamplingTime, p.TrainingTime["2"], p.TrainingTime["3"]) {
		if len(row.Values) != 5 {
			t.Errorf("%s has values for %d data sets, want 5", row.Label, len(row.Values))
		}
		for name, v := range row.Values {
			if !(v.Mean > 0 && v.PM > 0) {
				t.Errorf("%s on %s: %v", row.Label, name, v)
			}
		}
	}
	if len(p.Regression) != 72 || p.Source == "" {
		t.Errorf("%d regressions, want 72; source %q", len(p.Regression), p.Source)
	}
}

func TestPaperDataset(t *testing.T) {
	for spec, want := range map[string]struct {
		name string
		twin bool
	}{
		"synth:arxiv": {"arxiv", true}, "synth:arxiv?seed=2": {"arxiv", true}, "synth:arxiv?nodes=10": {"", false}, "synth:arxiv?noise=1": {"", false}, "synth:arxiv?seed=2&classes=3": {"", false}, "synth:demo": {"", false}, "synth:reddit": {"reddit", true},
		"ogbn-products": {"products", false}, "ogbn-products?split=60/20/20": {"", false}, "arxiv": {"", false}, "cora": {"", false}, "npz:magic.npz": {"", false}, "store:x/ogbn-arxiv": {"", false},
		// The paper's Reddit is GraphSAINT's, standardised.
		"reddit-saint": {"reddit", false}, "reddit-saint?normalize=none": {"", false}, "reddit": {"", false}, "dgl-reddit:x": {"", false},
	} {
		if name, twin := paperDataset(spec); name != want.name || twin != want.twin {
			t.Errorf("%s stands for %q, twin %v", spec, name, twin)
		}
	}
}

func TestCompare(t *testing.T) {
	for _, c := range []struct {
		row  Row
		want string
	}{
		{Row{Mean: 10, SEM: 0.3, Paper: &PaperValue{Mean: 11, PM: 0.4}}, "in"},     // 1 ≤ 2·0.5
		{Row{Mean: 9.9, SEM: 0.3, Paper: &PaperValue{Mean: 11, PM: 0.4}}, "below"}, // 1.1 > 1
		{Row{Mean: 12.1, SEM: 0.3, Paper: &PaperValue{Mean: 11, PM: 0.4}}, "above"},
		{Row{Mean: 0.0005, Paper: &PaperValue{LessThan: 0.001}}, "in"},
		{Row{Mean: 0.01, Paper: &PaperValue{LessThan: 0.001}}, "above"},
		{Row{Mean: 10, Paper: &PaperValue{Mean: 11}, Dataset: "synth:arxiv"}, ""},
		{Row{Mean: 1}, ""},
	} {
		if row := new(Report).add(c.row); row.Range != c.want {
			t.Errorf("%v against %v: %q, want %q", c.row.Mean, c.row.Paper, row.Range, c.want)
		}
	}
}

// TestAccuracyResumes stops after the first cell and runs again. It checks for the
// result of a run without a stop, with no cell computed twice.
func TestAccuracyResumes(t *testing.T) {
	whole := reproduced(t, "table7", small(t))
	if len(whole.Rows) != 2 || whole.Rows[0].N != 2 || whole.Rows[0].Std < 0 {
		t.Fatalf("rows %+v", whole.Rows)
	}
	o := small(t)
	ctx, stop := context.WithCancel(t.Context())
	computed := 0
	o.Log = func(string) {
		computed++
		stop()
	}
	if _, err := Run(ctx, "table7", o); !errors.Is(err, context.Canceled) {
		t.Fatalf("error %v, want the context's", err)
	}
	o.Log = func(string) { computed++ }
	rest := reproduced(t, "table7", o)
	if computed != 4 {
		t.Errorf("%d cells computed, want 4", computed)
	}
	if !reflect.DeepEqual(rest.Rows, whole.Rows) {
		t.Errorf("rows after a stop: %+v\nwithout: %+v", rest.Rows, whole.Rows)
	}
	again := reproduced(t, "convergence", o) // shares the runs, and times their steps
	if computed != 4+2 {
		t.Errorf("%d cells computed, want 4 runs and 2 times", computed)
	}
	if len(again.Rows) != 4 {
		t.Errorf("%d rows of convergence", len(again.Rows))
	}
	if n := countCells(t, o.Dir); n != computed {
		t.Errorf("%d cells, want %d", n, computed)
	}
}

// TestNumbers checks that the experiments are the tables and figures in the paper's
// numbering, that their names are distinct, and that an alias names the same one.
func TestNumbers(t *testing.T) {
	var want, got []string
	for k := range 10 {
		want = append(want, fmt.Sprintf("table%d", k+1))
	}
	for k := range 11 {
		want = append(want, fmt.Sprintf("figure%d", k+1))
	}
	seen := map[string]bool{}
	for _, e := range Experiments() {
		got = append(got, e.Name)
		for _, name := range slices.Compact([]string{e.Name, cmp.Or(e.Alias, e.Name)}) {
			if seen[name] {
				t.Errorf("two experiments are called %s", name)
			}
			seen[name] = true
		}
		for _, name := range e.Data {
			if !slices.Contains(fiveNames(), name) {
				t.Errorf("%s has data set %q", e.Name, name)
			}
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf("experiments %v, want %v", got, want)
	}
	o := small(t)
	if a, b := reproduced(t, "table7", o), reproduced(t, "fastgcn-variants", o); !reflect.DeepEqual(a, b) {
		t.Error("the alias gives another report")
	}
}

// TestPaperColumns checks that on a twin the paper's numbers stand beside ours. A small graph
// stands in for the twin.
func TestPaperColumns(t *testing.T) {
	o := small(t)
	o.Data, o.Methods, o.Samples = []string{"synth:arxiv", "synth:products"}, []string{"ladies", "fastgcn"}, nil
	o.Open = func(ctx context.Context, _ string) (*datasets.Data, error) {
		return datasets.Open(ctx, smallData, datasets.Options{})
	}
	report := reproduced(t, "sampling-time", o)
	if len(report.Rows) != 8 {
		t.Fatalf("%d rows, want 2 methods at 2 sizes on 2 data sets", len(report.Rows))
	}
	for _, row := range report.Rows {
		if row.Paper == nil || row.Range != "" {
			t.Errorf("row %+v", row)
		}
	}
	if report.Rows[0].Paper.Mean != 4.2 || report.Rows[7].Paper.Mean != 80.8 {
		t.Errorf("paper's numbers %v and %v", report.Rows[0].Paper.Mean, report.Rows[7].Paper.Mean)
	}
}

// countCells returns the number of cells in a folder. No other file may be left there.
func countCells(t *testing.T, dir string) int {
	t.Helper()
	entries, err := os.ReadDir(filepath.Join(dir, "cells"))
	if err != nil || len(entries) != 1 {
		t.Fatalf("%d files in the cells' folder, want one; %v", len(entries), err)
	}
	text, err := os.ReadFile(filepath.Join(dir, "cells", entries[0].Name()))
	if err != nil {
		t.Fatal(err)
	}
	return strings.Count(string(text), "\n")
}

// TestDamagedCell damages a file of cells. A damaged line is an error that names it. A last
// line that a crash has cut off does not count, and the next cell takes its place.
func TestDamagedCell(t *testing.T) {
	o, computed := small(t), 0
	whole := reproduced(t, "table7", o)
	path := filepath.Join(o.Dir, "cells", cellsFile)
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.SplitAfter(strings.TrimSuffix(string(text), "\n"), "\n")
	for _, line := range []string{"\n", "{\n", "{}\n", `{"key": 1, "result": {}}` + "\n"} {
		spoilt := slices.Concat(lines[:1], []string{line}, lines[2:], []string{"\n"})
		if err := os.WriteFile(path, []byte(strings.Join(spoilt, "")), 0o666); err != nil {
			t.Fatal(err)
		}
		if _, err := Run(t.Context(), "table7", o); err == nil || !strings.Contains(err.Error(), path+":2") {
			t.Errorf("a line of %q: error %v, want one that names file and line", line, err)
		}
	}
	if err := os.WriteFile(path, text[:len(text)-30], 0o666); err != nil {
		t.Fatal(err)
	}
	o.Log = func(string) { computed++ }
	if again := reproduced(t, "table7", o); !reflect.DeepEqual(again.Rows, whole.Rows) || computed != 1 {
		t.Errorf("%d cells computed after a torn line, or other rows", computed)
	}
	if n := countCells(t, o.Dir); n != len(lines) {
		t.Errorf("%d cells, want %d", n, len(lines))
	}
}

func TestRefuses(t *testing.T) {
	for words, spoil := range map[string]func(*Options, *string){
		"unknown table or figure": func(_ *Options, name *string) { *name = "tables" },
		"no folder":               func(o *Options, _ *string) { o.Dir = "" },
		"--eval-every auto":       func(o *Options, _ *string) { o.Settings = settings(t, "eval_every", "auto") },
		"--max-batches auto":      func(o *Options, _ *string) { o.Settings = settings(t, "max_batches", "auto") },
		"does not take":           func(o *Options, _ *string) { o.Settings = settings(t, "method", "ladies") },
		"--pre-norm":              func(o *Options, _ *string) { o.Settings = settings(t, "feed_forward", true) },
		"no method":               func(o *Options, _ *string) { o.Methods = []string{"nothing"} },
		"unknown synthetic":       func(o *Options, _ *string) { o.Data = []string{"synth:nothing"} },
	} {
		o, name := small(t), "accuracy"
		spoil(&o, &name)
		if _, err := Run(t.Context(), name, o); err == nil || !strings.Contains(err.Error(), words) {
			t.Errorf("error %v, want one with %q", err, words)
		}
	}
}

// Figure 2 leaves out the methods whose error on given mini-batches cannot be measured.
func TestErrorContenders(t *testing.T) {
	o := small(t)
	o.Methods = nil
	for _, m := range samplers.Methods() {
		o.Methods = append(o.Methods, m.Name)
	}
	r, err := newRunner(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	contenders := r.errorContenders()
	for _, out := range []string{"vrgcn", "ladies-cv", "cluster", "saint-node", "saint-node-normalized"} {
		if slices.Contains(contenders, out) {
			t.Errorf("%s is measured", out)
		}
	}
	if !slices.Contains(contenders, "ladies") || !slices.Contains(contenders, "neighbor") {
		t.Errorf("measured are only %v", contenders)
	}
	o.Methods = []string{"ladies", "ladies-cv"}
	reproduced(t, "figure2", o)
}

func TestAtLayers(t *testing.T) {
	for _, c := range []struct {
		sizes []int
		n     int
		want  []int
	}{
		{nil, 3, nil},
		{[]int{512}, 2, []int{512}},
		{[]int{512, 512}, 3, []int{512, 512, 512}},
		{[]int{512, 1024}, 4, []int{512, 1024, 2048, 4096}},
		{[]int{512, 1024}, 1, []int{512}},
	} {
		if got := atLayers(c.sizes, c.n); !slices.Equal(got, c.want) {
			t.Errorf("%v at %d layers: %v", c.sizes, c.n, got)
		}
	}
}

func TestColumnName(t *testing.T) {
	for spec, want := range map[string]string{
		"synth:demo": "synth:demo", "planetoid:data/planetoid/cora": "cora", "npz:some/graph.npz?split=2": "graph.npz?split=2", "edges:a?features=b/c": "edges:a?features=b/c", "store:a": "a", "synth:arxiv": "ogbn-arxiv (twin)",
	} {
		if got := columnName(spec); got != want {
			t.Errorf("%s is headed %s, want %s", spec, got, want)
		}
	}
}

func TestShort(t *testing.T) {
	for v, want := range map[float64]string{0: "0", 585.2: "585.2", 13155: "13155", 66.389: "66.39", 0.04567: "0.0457", -3.14159: "-3.14"} {
		if got := short(v); got != want {
			t.Errorf("%v is written %s, want %s", v, got, want)
		}
	}
}
