package notebook

import (
	"context"
	"math"
	"strings"
	"testing"

	"github.com/gcn-layerwise/gcn/graph"
	"github.com/gcn-layerwise/gcn/samplers"
	"github.com/gcn-layerwise/gcn/study"
	"github.com/gcn-layerwise/gcn/study/figure"
	"github.com/gcn-layerwise/gcn/train"
)

// TestMissingArguments checks that an argument that is missing or does not fit gives
// an error, or a chart that says so, not a panic.
func TestMissingArguments(t *testing.T) {
	data := small(t)
	p := data.Laplacian()
	var none context.Context
	var noTable *study.NormsTable
	var noSampler *samplers.Full
	run := func(_ any, err error) error { return err }
	look := func(change func(*Sampling)) error {
		s := Sampling{Sampler: &samplers.Full{Laplacian: p, Depth: 1}, Laplacian: p, Features: data.Features, Nodes: data.Split.Train, Batch: 4, Batches: 1}
		change(&s)
		return run(s.Run(context.Background()))
	}
	for name, err := range map[string]error{
		"no table":                  run(Tabulate("", nil)),
		"a nil table":               run(Tabulate("", noTable)),
		"a table of short records":  run(Tabulate("", shortTable{})),
		"sampling with nil":         run(Sampling{}.Run(none)),
		"sampling by a nil sampler": look(func(s *Sampling) { s.Sampler = noSampler }),
		"sampling a bad Laplacian":  look(func(s *Sampling) { s.Laplacian = &graph.Laplacian{} }),
		"sampling nodes outside":    look(func(s *Sampling) { s.Nodes = []int32{-1} }),
		"sampling few features":     look(func(s *Sampling) { s.Features = &graph.Features{Rows: p.Nodes(), Cols: 3} }),
		"interruptible nothing":     run(Interruptible(context.Background(), nil)),
		"interruptible without end": run(Interruptible(none, func(context.Context) error { return nil })),
		"a run without data":        NewRun(nil, nil, train.Options{}).Fit(context.Background()),
		"a run without context":     NewRun(nil, data, train.Options{}).Fit(none),
	} {
		if err == nil || !strings.HasPrefix(err.Error(), "notebook: ") {
			t.Errorf("%s: error %v", name, err)
		}
	}
	for _, chart := range []*Chart{Plot(nil), Plot(noTable), Draw(nil)} {
		if !strings.Contains(chart.SVG(), "nothing to draw") {
			t.Errorf("%s", chart.SVG())
		}
	}
	if err := look(func(s *Sampling) {
		var err error
		if s.Features, err = data.Features.ToHalf(); err != nil {
			t.Fatal(err)
		}
	}); err != nil {
		t.Errorf("features in half precision: %v", err)
	}
	empty := NewRun(nil, nil, train.Options{})
	if empty.String() != "not trained yet" || len(empty.Summary().rows) != 1 || empty.Curves() == nil {
		t.Error("a run without data does not show itself")
	}
	if got := Agreement([]int32{1}, []int32{1, 2}, []int32{0, 1, -1, 9}); got != 0.25 {
		t.Errorf("agreement %v, want 0.25", got)
	}
}

// shortTable has a record without all fields.
type shortTable struct{}

func (shortTable) Header() []string       { return []string{"a", "b"} }
func (shortTable) Records() [][]string    { return [][]string{{"1"}} }
func (shortTable) Figure() *figure.Figure { return nil }

// TestHostileNames checks that names are escaped in pictures and tables.
func TestHostileNames(t *testing.T) {
	const name = "</text></td><script>alert(1)</script>&\"'\x1b[31m\x00\u202e\xff"
	chart := Draw(&figure.Figure{Title: name, Panels: []figure.Panel{{Title: name, Lines: []figure.Series{{Name: name, X: []float64{1}, Y: []float64{1}}}}}})
	failed := Draw(&figure.Figure{Panels: []figure.Panel{{Title: name, Lines: []figure.Series{{Name: name, X: []float64{1}}}}}})
	sheet := NewSheet(name, name).Add(name)
	for element, texts := range map[string][]string{"svg": {chart.SVG(), failed.SVG()}, "table": {sheet.HTML()}} {
		for _, text := range texts {
			wellFormed(t, text, element)
			for _, raw := range []string{"<script", "\x1b", "\x00", "\u202e"} {
				if strings.Contains(text, raw) {
					t.Errorf("%q in %s", raw, text)
				}
			}
		}
	}
}

// TestNotFinite checks that a number that is not finite is an empty field, and that
// its column still counts as numeric.
func TestNotFinite(t *testing.T) {
	r := &SamplingReport{Layers: []SamplingLayer{{Layer: 1, Error: math.NaN()}, {Layer: 2, Error: 0.5}}}
	for _, record := range r.Records() {
		if text := strings.Join(record, ","); strings.Contains(text, "NaN") {
			t.Error(text)
		}
	}
	s, err := Tabulate("", r, "error")
	if err != nil {
		t.Fatal(err)
	}
	if s.rows[0][0] != "" || s.rows[1][0] != "0.5" || !strings.Contains(s.HTML(), `<td style="text-align:right">0.5</td>`) {
		t.Errorf("%s", s.HTML())
	}
	if err := study.Save(t.TempDir(), "sampling", r); err != nil {
		t.Error(err)
	}
}
