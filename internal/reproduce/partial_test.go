package reproduce

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/gcn-layerwise/gcn/internal/machine"
	"github.com/gcn-layerwise/gcn/layers"
)

// TestCompute makes everything in two parts, the scores and then the times, and then from
// the cells alone.
func TestCompute(t *testing.T) {
	o, computed := tiny(t), 0
	o.Methods, o.Log = []string{"ladies", "ladies-flat-debiased", "full"}, func(string) { computed++ }
	timed := func(results *Results) (rows int) {
		for _, r := range results.Reports {
			for _, row := range r.Rows {
				if strings.HasPrefix(row.Quantity, "ms ") || r.Experiment == "table8" {
					rows++
				}
			}
		}
		return rows
	}
	o.Compute = ComputeNone
	if none, err := Run(t.Context(), All, o); none != nil || err == nil || !strings.Contains(err.Error(), filepath.Join(o.Dir, "cells")+" has no cell") || computed != 0 {
		t.Errorf("no cell is there: %v, %v, %d computed", none, err, computed)
	}
	o.Compute = ComputeScores
	scores := all(t, o)
	if timed(scores) != 0 || scores.There != computed || scores.There >= scores.Cells {
		t.Errorf("%d times, %d of %d cells, %d computed", timed(scores), scores.There, scores.Cells, computed)
	}
	text, err := os.ReadFile(filepath.Join(o.Dir, "results.md"))
	if err != nil || !strings.Contains(string(text), fmt.Sprintf("**not complete**: %d of %d", scores.There, scores.Cells)) ||
		!strings.Contains(string(text), "**Not complete.** None of ") || !strings.Contains(string(text), "**Not complete.** Cells: synth:demo?nodes=500&edges=2500&features=8 ") {
		t.Errorf("%v; results.md does not say what is missing:\n%s", err, text)
	}
	o.Compute = ComputeTimes
	whole := all(t, o)
	if timed(whole) == 0 || whole.There != whole.Cells || whole.Cells != computed {
		t.Errorf("%d times, %d of %d cells, %d computed", timed(whole), whole.There, whole.Cells, computed)
	}
	o.Compute = ComputeNone
	again := all(t, o)
	for k, r := range again.Reports {
		if !reflect.DeepEqual(r.Rows, whole.Reports[k].Rows) || strings.Contains(r.Caption, "complete") {
			t.Errorf("%s from the cells alone: %q, %+v\nwant %+v", r.Experiment, r.Caption, r.Rows, whole.Reports[k].Rows)
		}
	}
	if computed != whole.Cells {
		t.Errorf("%d cells computed again", computed-whole.Cells)
	}
}

// TestUnfinishedRuns makes tables from two runs of three, with other intervals of the scores:
// their numbers say so.
func TestUnfinishedRuns(t *testing.T) {
	o := small(t)
	whole := reproduced(t, "table7", o)
	o.Settings, o.Compute = settings(t, "batch", 32, "hidden", 8, "max_batches", 20, "runs", 3, "eval_every", 7), ComputeNone
	part := reproduced(t, "table7", o)
	for k, row := range part.Rows {
		if row.Runs != 2 || row.Of != 3 || row.Range != "" || row.Mean != whole.Rows[k].Mean {
			t.Errorf("%+v, with all runs %+v", row, whole.Rows[k])
		}
	}
	if text := markdown(t, "report", part); len(part.Rows) != 2 || !strings.Contains(text, " [n=2]") || !strings.Contains(text, "10 on synth:demo") {
		t.Errorf("%s", text)
	}
}

// TestQuantifiers checks verdicts on data sets.
func TestQuantifiers(t *testing.T) {
	for _, c := range []struct {
		need                  quantifier
		holds, measured, open int
		want                  Verdict
	}{
		{every, 5, 5, 0, Seen}, {every, 4, 5, 0, NotSeen}, {every, 3, 3, 2, Undecided}, {every, 2, 3, 2, NotSeen}, {every, 0, 0, 2, NotMeasured},
		{most, 3, 5, 0, Seen}, {most, 2, 5, 0, NotSeen}, {most, 3, 3, 2, Seen}, {most, 1, 2, 3, Undecided}, {most, 0, 3, 2, NotSeen},
		{several, 1, 1, 0, Seen}, {several, 1, 5, 0, NotSeen}, {several, 2, 2, 3, Seen}, {several, 1, 3, 2, Undecided}, {several, 0, 4, 1, NotSeen},
	} {
		if got := c.need.verdict(c.holds, c.measured, c.open); got != c.want {
			t.Errorf("quantifier %q: %d of %d hold, %d are missing: %s, want %s", c.need, c.holds, c.measured, c.open, got, c.want)
		}
	}
}

// TestCellsOfAnotherMachine takes the cells of another machine: runs count everywhere, times
// only if nothing is computed.
func TestCellsOfAnotherMachine(t *testing.T) {
	o, computed := small(t), 0
	o.Program, o.Log = "first", func(string) { computed++ }
	first := reproduced(t, "table5", o)
	scores := reproduced(t, "table7", o)
	path := filepath.Join(o.Dir, "cells", cellsFile)
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	blas := fmt.Sprintf(`"blas":%q`, machine.Describe().BLAS)
	other := strings.ReplaceAll(string(text), blas, `"blas":"of another machine"`)
	if other == string(text) {
		t.Fatal("no cell names the BLAS library")
	}
	if err := os.WriteFile(path, []byte(other), 0o666); err != nil {
		t.Fatal(err)
	}
	before := computed
	o.Compute, o.Program = ComputeNone, "second"
	if again := reproduced(t, "table5", o); !reflect.DeepEqual(again.Rows, first.Rows) || !strings.Contains(again.Made[0], "of another machine") || !strings.Contains(again.Made[0], "program first") {
		t.Errorf("made %q, rows %+v", again.Made, again.Rows)
	}
	o.Compute = ComputeAll
	if again := reproduced(t, "table7", o); computed != before || !reflect.DeepEqual(again.Rows, scores.Rows) {
		t.Errorf("%d runs computed again", computed-before)
	}
	if again := reproduced(t, "table5", o); computed == before || len(again.Made) != 1 || !strings.Contains(again.Made[0], "program second") {
		t.Errorf("%d times computed, made %q", computed-before, again.Made)
	}
}

// TestFullBatchOfExactInput trains full batch with P·X computed once and without: the first
// scores agree up to rounding. It also scores a sampled method with a known P·X and without.
func TestFullBatchOfExactInput(t *testing.T) {
	r, err := newRunner(t.Context(), tiny(t))
	if err != nil {
		t.Fatal(err)
	}
	r.base.MaxBatches, r.base.EvalEvery = 10, 5
	if err := r.open(t.Context(), smallData); err != nil {
		t.Fatal(err)
	}
	for _, method := range []string{fullMethod, "ladies"} {
		for depth := 2; depth <= 3; depth++ {
			k := r.runs(key{Kind: trainCell, Data: smallData, Method: method, Layers: depth})[0]
			if method != fullMethod {
				k.Samples = slices.Repeat([]int{32}, depth)
			}
			_, exact, err := r.fit(t.Context(), k, method == fullMethod)
			if err != nil {
				t.Fatal(err)
			}
			known := r.exact
			r.exact = new(layers.ExactInput) // of no features: inference ignores it
			r.cells.dir = t.TempDir()        // else the run is finished
			_, plain, err := r.fit(t.Context(), k, false)
			if err != nil {
				t.Fatal(err)
			}
			r.exact = known
			for k := range plain.Evaluations {
				a, b := exact.Evaluations[k], plain.Evaluations[k]
				if math.Abs(float64(a.Loss-b.Loss)) > 1e-3 || math.Abs(a.Valid-b.Valid) > 0.02 {
					t.Errorf("%s, %d layers: loss %v and score %v with P·X, %v and %v without", method, depth, a.Loss, a.Valid, b.Loss, b.Valid)
				}
			}
		}
	}
}

// TestPaperCells makes a table from the cells in bench/paper: their keys are those of today's
// data and options, so that the page of results can be made again.
func TestPaperCells(t *testing.T) {
	for _, name := range []string{"table1", "table3", "table7", "table8", "table10", "figure2"} {
		report := reproduced(t, name, Options{Data: []string{"synth:arxiv"}, Compute: ComputeNone, Cells: "../../bench/paper", Dir: t.TempDir(), Log: func(string) {}, Open: openSpec})
		if len(report.Rows) == 0 || strings.Contains(report.Caption, "complete") {
			t.Errorf("%s: %s", name, report.Caption)
		}
	}
}
