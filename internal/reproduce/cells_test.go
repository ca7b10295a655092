package reproduce

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/gcn-layerwise/gcn/datasets"
	"github.com/gcn-layerwise/gcn/internal/bench"
	"github.com/gcn-layerwise/gcn/internal/rundir"
	"github.com/gcn-layerwise/gcn/run"
	"github.com/gcn-layerwise/gcn/study"
	"github.com/gcn-layerwise/gcn/study/figure"
	"github.com/gcn-layerwise/gcn/train"
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
	return []string{"table1", "table2", "table3", "table4", "table5", "table8", "figure2", "figure4"}
}

// TestOtherData changes the data behind a SPEC. Each experiment computes new cells
// for them, and finds the old cells when the first data are back.
func TestOtherData(t *testing.T) {
	for _, name := range oneOfEachKind() {
		t.Run(name, func(t *testing.T) {
			o, behind, computed := small(t), smallData, 0
			o.Methods, o.Settings.Runs = []string{"ladies"}, 1
			o.Open = openAs(&behind)
			o.Log = func(string) { computed++ }
			first := reproduced(t, name, o)
			cells := computed
			behind = "synth:demo?nodes=300&edges=900&features=4"
			second := reproduced(t, name, o)
			if computed != 2*cells || cells == 0 {
				t.Errorf("%d cells computed after the data have changed, want %d", computed-cells, cells)
			}
			if reflect.DeepEqual(first.Rows, second.Rows) {
				t.Error("other data give the same rows")
			}
			behind = smallData
			if again := reproduced(t, name, o); computed != 2*cells || !reflect.DeepEqual(again.Rows, first.Rows) {
				t.Errorf("%d cells computed for the first data again, or other rows", computed-2*cells)
			}
		})
	}
}

// TestOtherOptions checks that a cell is not used for other options.
func TestOtherOptions(t *testing.T) {
	set := func(option string, value any) func(*Options) {
		return func(o *Options) {
			s := *o.Settings
			if err := s.Set(run.Value{Option: option, Text: fmt.Sprint(value)}); err != nil {
				t.Fatal(err)
			}
			o.Settings = &s
		}
	}
	for experiment, changes := range map[string]map[string]func(*Options){
		"accuracy": {
			"seed": set("seed", 9), "batch": set("batch", 16), "eval-every": set("eval_every", 7), "hidden": set("hidden", 4),
			"max-batches": set("max_batches", 10), "patience": set("patience", 5), "lr": set("lr", 0.1),
			"samples": func(o *Options) { o.Samples = []int{16, 16} }, "method": func(o *Options) { o.Methods = []string{"ladies-flat"} },
			"data": func(o *Options) { o.Data = []string{smallData + "&seed=2"} },
		},
		"sampling-time": {"max-batches": set("max_batches", 30), "batch": set("batch", 16), "seed": set("seed", 9)},
		"training-time": {"max-batches": set("max_batches", 30), "hidden": set("hidden", 4), "lr": set("lr", 0.1)},
		"matrix-error": {
			"max-batches": set("max_batches", 30), "samples": func(o *Options) { o.Samples = []int{16} }, "method": func(o *Options) { o.Methods = []string{"ladies-flat"} },
			"hidden": set("hidden", 4),
		},
	} {
		o, computed := small(t), 0
		o.Methods, o.Settings.Runs, o.Log = []string{"ladies"}, 1, func(string) { computed++ }
		reproduced(t, experiment, o)
		for name, change := range changes {
			other, before := o, computed
			change(&other)
			reproduced(t, experiment, other)
			if computed == before {
				t.Errorf("%s: cells used for another %s", experiment, name)
			}
		}
	}
}

// TestCellsOfNaN checks that results that are not finite are saved and read back
// the same.
func TestCellsOfNaN(t *testing.T) {
	nan, c := math.NaN(), newCells(t.TempDir(), "")
	for kind, result := range map[kind]any{
		trainCell:      &trainResult{Metric: "accuracy", Test: nan, Curve: []train.Evaluation{{Loss: nan, Valid: nan}}},
		stepCell:       &timeResult{3, bench.Times{MeanMS: nan, SDMS: nan, MedianMS: nan}},
		regressionCell: &regressionResult{Layers: []map[string]study.Scatter{{"P": {Sums: study.Regression{N: 2, MeanX: nan, SXY: nan}, Points: [][2]float64{{nan, 1}}}}}, Norms: new(study.NormsTable)},
		errorCell:      &study.ErrorTable{Rows: []study.ErrorRow{{Method: "ladies", Mean: nan, Relative: nan}}, Norm: nan, Signal: nan},
	} {
		if _, err := c.save(key{Kind: kind}, 2, result); err != nil {
			t.Error(err)
			continue
		}
		again := newCells(c.dir, "") // reads the file
		there, err := again.load(key{Kind: kind}, false)
		if there == nil || err != nil || there.Seconds != 2 {
			t.Errorf("%s: %v, %v", kind, there, err)
			continue
		}
		back := there.result
		if r, ok := back.(*regressionResult); ok {
			r.Norms = result.(*regressionResult).Norms // whose address is printed
		}
		if got, want := fmt.Sprintf("%+v", back), fmt.Sprintf("%+v", result); got != want { // NaN is not equal to itself
			t.Errorf("%s: %s, want %s", kind, got, want)
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
			if err := reproduced(t, name, o).save(o.Dir); err != nil {
				t.Fatal(err)
			}
			before := computed
			if err := reproduced(t, name, o).save(o.Dir); err != nil || computed != before {
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
	r := &Report{Experiment: "table4"}
	for k, v := range []float64{nan, inf, -inf, 1} {
		row := Row{Dataset: "ogbn-arxiv", Label: "LADIES", Quantity: "q", N: 2 + k, Mean: v, Std: v, SEM: v, Median: v, Paper: &PaperValue{Mean: 1, PM: 1}}
		if in := r.add(row).Range != ""; in != (v == 1) {
			t.Errorf("a mean of %v is %q the paper's range", v, row.Range)
		}
	}
	r.figure = &figure.Figure{Title: "scores"}
	compareFigure(nil, "ogbn-arxiv", r)
	dir := t.TempDir()
	if err := r.save(dir); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(dir, "table4.json"))
	if err != nil || !json.Valid(text) || !strings.Contains(string(text), `"mean": null`) {
		t.Errorf("%v in %s", err, text)
	}
	if text, err = os.ReadFile(filepath.Join(dir, "table4.csv")); err != nil || strings.Contains(string(text), "NaN") || strings.Contains(string(text), "Inf") {
		t.Errorf("%v in %s", err, text)
	}
}

// TestFinishedRun stops after training and before the cell is saved: the next run takes the
// trained model, with the same weights and scores.
func TestFinishedRun(t *testing.T) {
	o := small(t)
	o.Methods = []string{"ladies"}
	r, err := newRunner(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	if err := r.open(t.Context(), smallData); err != nil {
		t.Fatal(err)
	}
	k := r.regressionKeys(smallData, "ladies")[0]
	k.Fingerprint = r.fingerprint
	first, before, err := r.fit(t.Context(), k, false)
	if err != nil {
		t.Fatal(err)
	}
	dir := r.cells.folder(k)
	if _, err := os.Stat(dir); err != nil {
		t.Fatal("the trained model is gone before its cell is saved:", err)
	}
	second, after, err := r.fit(t.Context(), k, false)
	if err != nil {
		t.Fatal(err)
	}
	for l := range first.Convolutions {
		if !reflect.DeepEqual(first.Convolutions[l].W.Value().Data(), second.Convolutions[l].W.Value().Data()) {
			t.Errorf("layer %d has other weights", l+1)
		}
	}
	if before.Test != after.Test || before.Best != after.Best || before.Batches != after.Batches || after.Resumed != before.Batches {
		t.Errorf("%+v, then %+v", before, after)
	}
	if _, err := r.cell(t.Context(), k); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(dir); !os.IsNotExist(err) {
		t.Errorf("the checkpoints are there after the cell is saved: %v", err)
	}
}

// TestTakenCell computes a cell that another process is computing: it waits for the other's
// cell, or computes the cell when the other has stopped.
func TestTakenCell(t *testing.T) {
	o, other := takenCell(t)
	waited := false
	o.Log = func(line string) {
		if strings.Contains(line, "cells that other processes compute: 1") {
			waited = true
			time.AfterFunc(100*time.Millisecond, func() { _ = other.Close() })
		}
	}
	if report := reproduced(t, "table7", o); !waited || len(report.Rows) == 0 || strings.Contains(report.Caption, "complete") {
		t.Errorf("waited %v, %d rows, %s", waited, len(report.Rows), report.Caption)
	}
}

// TestBarrier meets the rank that computes a cell: it does not wait for the cell of a rank that
// does not answer, and needs no waiting after one that does.
func TestBarrier(t *testing.T) {
	o, other := takenCell(t)
	silent := errors.New("no sign of life from rank 1")
	o.Barrier = func(context.Context) error { return silent }
	if _, err := Run(t.Context(), "table7", o); !errors.Is(err, silent) {
		t.Errorf("a silent rank: %v", err)
	}
	o.Barrier = func(context.Context) error { return other.Close() }
	o.Log = func(line string) {
		if strings.Contains(line, "waiting") {
			t.Error(line)
		}
	}
	if report := reproduced(t, "table7", o); len(report.Rows) == 0 || strings.Contains(report.Caption, "complete") {
		t.Errorf("%d rows, %s", len(report.Rows), report.Caption)
	}
}

// takenCell returns the options of a table. Another process holds one of its cells until the
// io.Closer is closed.
func takenCell(t *testing.T) (Options, io.Closer) {
	o := small(t)
	o.Methods, o.Settings.Runs, o.Samples = []string{"ladies"}, 1, []int{8, 8}
	r, err := newRunner(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	at := slices.IndexFunc(Experiments(), func(e Experiment) bool { return e.Name == "table7" })
	work, err := r.plan(t.Context(), Experiments()[at:at+1])
	if err != nil {
		t.Fatal(err)
	}
	if err := r.open(t.Context(), smallData); err != nil {
		t.Fatal(err)
	}
	taken := work[0].keys[0]
	taken.Fingerprint = r.fingerprint
	other, err := rundir.Open(r.cells.folder(taken))
	if err != nil {
		t.Fatal(err)
	}
	return o, other
}

// TestProcessesShareCells runs three commands on one folder: each succeeds, all have the same
// results, no cell is computed twice, and no folder of a run is left.
func TestProcessesShareCells(t *testing.T) {
	o := small(t)
	o.Methods = nil
	reports := make([]*Results, 3)
	var group errgroup.Group
	for k := range reports {
		group.Go(func() (err error) {
			reports[k], err = Run(t.Context(), "table7", o)
			return err
		})
	}
	if err := group.Wait(); err != nil {
		t.Fatal(err)
	}
	for _, other := range reports[1:] {
		if !reflect.DeepEqual(other.Reports[0].Rows, reports[0].Reports[0].Rows) {
			t.Errorf("%+v, want %+v", other.Reports[0].Rows, reports[0].Reports[0].Rows)
		}
	}
	entries, err := os.ReadDir(filepath.Join(o.Dir, "cells"))
	if err != nil || len(entries) != 1 {
		t.Errorf("%v in the folder of cells; %v", entries, err)
	}
	text, err := os.ReadFile(filepath.Join(o.Dir, "cells", cellsFile))
	if err != nil {
		t.Fatal(err)
	}
	known := map[string]bool{}
	for line := range strings.Lines(string(text)) {
		name, _, _ := strings.Cut(line, `,"made"`)
		if known[name] {
			t.Errorf("computed twice: %s", name)
		}
		known[name] = true
	}
}

// TestDamagedResults reads cells whose results are of another form.
func TestDamagedResults(t *testing.T) {
	dir, n := t.TempDir(), 0
	for text, kind := range map[string]kind{`[1]`: trainCell, `{"metric":[]}`: trainCell, `{"n":"x"}`: stepCell, `{"rows":7}`: errorCell} {
		n++
		k := key{Kind: kind, Seed: uint64(n)}
		line, err := json.Marshal(cell{Key: k, Result: json.RawMessage(text)})
		if err != nil {
			t.Fatal(err)
		}
		file, err := os.OpenFile(filepath.Join(dir, cellsFile), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o666)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := file.Write(append(line, '\n')); err != nil {
			t.Fatal(err)
		}
		if err := file.Close(); err != nil {
			t.Fatal(err)
		}
		_, err = newCells(dir, "").load(k, false)
		if want := fmt.Sprintf("cells.jsonl:%d is damaged", n); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
}

// TestLastLine reads and extends files whose last line has no end: it does not count.
func TestLastLine(t *testing.T) {
	for _, cut := range []int{0, 1, 40} {
		dir := t.TempDir()
		c := newCells(dir, "")
		save := func(name string) {
			if one, err := c.save(keyOf(name), 1, &timeResult{1, bench.Times{MeanMS: 2, MedianMS: 2}}); err != nil || one.Seconds != 1 {
				t.Fatal(err)
			}
		}
		save("a")
		save("b")
		path := filepath.Join(dir, cellsFile)
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, text[:len(text)-cut], 0o666); err != nil {
			t.Fatal(err)
		}
		c = newCells(dir, "")
		has := func(name string) bool {
			one, err := c.load(keyOf(name), false)
			if err != nil {
				t.Error(err)
			}
			return one != nil
		}
		if has("b") != (cut == 0) {
			t.Errorf("without the last %d bytes: the line is there: %v", cut, has("b"))
		}
		save("c")
		if c = newCells(dir, ""); !has("a") || has("b") != (cut == 0) || !has("c") {
			t.Errorf("without the last %d bytes, and a cell after it: %v, %v, %v", cut, has("a"), has("b"), has("c"))
		}
	}
}

func keyOf(name string) key { return key{Kind: stepCell, Data: name} }

// TestOneRunDecidesNothing checks that scores of one run, and of a twin, are no evidence.
func TestOneRunDecidesNothing(t *testing.T) {
	r := Report{Rows: []Row{
		{is: is{Of: score}, N: 1, Mean: 50}, {is: is{Of: needed}, N: 1, Mean: 50}, {is: is{Of: score}, N: 2, Mean: 40}, {is: is{Of: aTime}, N: 1, Mean: 5},
		{is: is{Of: score}, N: 2, Mean: 60, Dataset: "synth:arxiv"},
	}}
	if rows := r.evidence(); len(rows) != 2 || rows[0].Mean != 40 || rows[1].Mean != 5 {
		t.Errorf("evidence %+v", rows)
	}
}

// TestRefusedData refuses data that are given twice.
func TestRefusedData(t *testing.T) {
	o := small(t)
	o.Data = []string{smallData, smallData}
	if _, err := Run(t.Context(), "table1", o); err == nil || !strings.Contains(err.Error(), "given twice") {
		t.Error(err)
	}
}
