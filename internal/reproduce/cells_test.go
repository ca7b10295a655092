package reproduce

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/gcn-layerwise/gcn/datasets"
	"github.com/gcn-layerwise/gcn/study"
)

// openAs opens the data set spec, whatever SPEC is asked for.
func openAs(spec *string) func(context.Context, string) (*datasets.Data, error) {
	return func(ctx context.Context, _ string) (*datasets.Data, error) {
		return datasets.Open(ctx, *spec, datasets.Options{})
	}
}

// oneOfEachKind are experiments that together have every kind of cell that small data
// can have.
func oneOfEachKind() []string {
	return []string{"table1", "table2", "table3", "table4", "table5", "table8", "figure2", "figure4", "twins"}
}

// TestOtherData changes the data behind a SPEC. Each experiment computes new cells
// for them, and finds the old cells when the first data are back.
func TestOtherData(t *testing.T) {
	for _, name := range oneOfEachKind() {
		t.Run(name, func(t *testing.T) {
			o, behind, computed := small(t), smallData, 0
			o.Methods, o.Runs.Each = []string{"ladies"}, 1
			o.Open = openAs(&behind)
			o.Log = func(string) { computed++ }
			first := run(t, name, o)
			cells := computed
			behind = "synth:demo?nodes=300&edges=900&features=4"
			second := run(t, name, o)
			if computed != 2*cells || cells == 0 {
				t.Errorf("%d cells computed after the data have changed, want %d", computed-cells, cells)
			}
			if reflect.DeepEqual(first.Rows, second.Rows) {
				t.Error("other data give the same rows")
			}
			behind = smallData
			if again := run(t, name, o); computed != 2*cells || !reflect.DeepEqual(again.Rows, first.Rows) {
				t.Errorf("%d cells computed for the first data again, or other rows", computed-2*cells)
			}
		})
	}
}

// TestOtherOptions checks that a cell is not used for other options.
func TestOtherOptions(t *testing.T) {
	for experiment, changes := range map[string]map[string]func(*Options){
		"accuracy": {
			"seed": func(o *Options) { o.Seed = 9 }, "batch": func(o *Options) { o.Batch = 16 }, "eval-every": func(o *Options) { o.EvalEvery.Each = 7 },
			"hidden": func(o *Options) { o.Hidden = 4 }, "max-batches": func(o *Options) { o.MaxBatches = 10 }, "patience": func(o *Options) { o.Patience = 5 },
			"samples": func(o *Options) { o.Samples = []int{16, 16} }, "method": func(o *Options) { o.Methods = []string{"ladies-flat"} },
			"data": func(o *Options) { o.Data = []string{smallData + "&seed=2"} },
		},
		"sampling-time": {"batches": func(o *Options) { o.Batches = 7 }, "batch": func(o *Options) { o.Batch = 16 }, "seed": func(o *Options) { o.Seed = 9 }},
		"training-time": {"batches": func(o *Options) { o.Batches = 7 }, "hidden": func(o *Options) { o.Hidden = 4 }},
		"matrix-error": {
			"repeats": func(o *Options) { o.Repeats = 3 }, "samples": func(o *Options) { o.Samples = []int{16} }, "method": func(o *Options) { o.Methods = []string{"ladies-flat"} },
			"hidden": func(o *Options) { o.Hidden = 4 },
		},
	} {
		o, computed := small(t), 0
		o.Methods, o.Runs.Each, o.Seed, o.Log = []string{"ladies"}, 1, 1, func(string) { computed++ }
		run(t, experiment, o)
		for name, change := range changes {
			other, before := o, computed
			change(&other)
			run(t, experiment, other)
			if computed == before {
				t.Errorf("%s: cells used for another %s", experiment, name)
			}
		}
	}
}

// TestCellsOfNaN checks that results that are not finite are saved and read back
// the same.
func TestCellsOfNaN(t *testing.T) {
	nan, c := math.NaN(), cells{dir: t.TempDir()}
	for name, result := range map[string]any{
		"train":      &trainResult{Test: study.Number(nan), Curve: []curvePoint{{Loss: study.Number(nan), Valid: study.Number(nan)}}},
		"time":       &timeResult{N: 3, Mean: nan, SD: nan, Median: nan},
		"regression": &regressionResult{Test: study.Number(nan), Layers: []regressionLayer{{"P": {Sums: study.Regression{N: 2, MeanX: nan, SXY: nan}, Points: [][2]float64{{nan, 1}}}}}},
		"error":      &study.ErrorTable{Rows: []study.ErrorRow{{Method: "ladies", Mean: nan, Relative: nan}}, Norm: nan, Signal: nan},
	} {
		settings := struct{ Kind string }{name}
		if _, err := c.save("d", name, settings, 2, result); err != nil {
			t.Error(err)
			continue
		}
		back := reflect.New(reflect.TypeOf(result).Elem()).Interface()
		again := cells{dir: c.dir} // reads the file
		if there, err := again.load("d", name, settings, back, false); there == nil || err != nil || there.Seconds != 2 {
			t.Errorf("%s: %v, %v", name, there, err)
			continue
		}
		if got, want := fmt.Sprintf("%+v", back), fmt.Sprintf("%+v", result); got != want { // NaN is not equal to itself
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
}

// TestDegenerateData runs every kind of cell on features that are all 0, without
// test nodes. It saves its results, and finds them again.
func TestDegenerateData(t *testing.T) {
	for _, name := range oneOfEachKind() {
		t.Run(name, func(t *testing.T) {
			o, computed := small(t), 0
			o.Log = func(string) { computed++ }
			o.Open = func(ctx context.Context, _ string) (*datasets.Data, error) {
				data, err := datasets.Open(ctx, smallData, datasets.Options{})
				if err == nil {
					clear(data.Features.Data)
					data.Split.Test = nil
				}
				return data, err
			}
			if err := run(t, name, o).Save(o.Dir); err != nil {
				t.Fatal(err)
			}
			before := computed
			if err := run(t, name, o).Save(o.Dir); err != nil || computed != before {
				t.Errorf("%d cells computed again, %v", computed-before, err)
			}
			text, err := os.ReadFile(filepath.Join(o.Dir, name+".json"))
			if err != nil || !json.Valid(text) {
				t.Errorf("%v in %s", err, text)
			}
		})
	}
}

// TestDegenerateReport saves a report of numbers that are not finite.
func TestDegenerateReport(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	r := &Report{Experiment: "accuracy", Settings: map[string]any{}}
	for k, v := range []float64{nan, inf, -inf, 1} {
		row := Row{Dataset: "synth:arxiv", Label: "LADIES", Quantity: "q", N: 2 + k, Mean: v, Std: v, SEM: v, Median: v, Paper: &PaperValue{Mean: 1, PM: 1}}
		row.compare()
		row.explain("")
		if in := row.Range != ""; in != (v == 1) {
			t.Errorf("a mean of %v is %q the paper's range", v, row.Range)
		}
		r.Rows = append(r.Rows, row)
	}
	r.figure = compareFigure("scores", r.Rows, []string{"synth:arxiv"})
	dir := t.TempDir()
	if err := r.Save(dir); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(dir, "accuracy.json"))
	if err != nil || !json.Valid(text) || !strings.Contains(string(text), `"mean": null`) {
		t.Errorf("%v in %s", err, text)
	}
	if text, err = os.ReadFile(filepath.Join(dir, "accuracy.csv")); err != nil || strings.Contains(string(text), "NaN") || strings.Contains(string(text), "Inf") {
		t.Errorf("%v in %s", err, text)
	}
}
