package notebook

import (
	"context"
	"math"
	"strings"
	"testing"

	"github.com/gcn-layerwise/gcn/study"
	"github.com/gcn-layerwise/gcn/study/figure"
	"github.com/gcn-layerwise/gcn/train"
)

// TestMissingArguments checks that an argument that is missing or does not fit gives
// an error, or a chart that says so, not a panic.
func TestMissingArguments(t *testing.T) {
	data := small(t)
	var none context.Context
	run := func(_ any, err error) error { return err }
	for name, err := range map[string]error{
		"interruptible nothing":     run(Interruptible(context.Background(), nil)),
		"interruptible without end": run(Interruptible(none, func(context.Context) error { return nil })),
		"a run without data":        NewRun(nil, nil, train.Options{}).Fit(context.Background()),
		"a run without context":     NewRun(nil, data, train.Options{}).Fit(none),
	} {
		if err == nil || !strings.HasPrefix(err.Error(), "notebook: ") {
			t.Errorf("%s: error %v", name, err)
		}
	}
	empty := NewRun(nil, nil, train.Options{})
	if empty.String() != "not trained yet" || len(empty.Summary().rows) != 1 || empty.Curves() == nil {
		t.Error("a run without data does not show itself")
	}
}

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

// TestNotFinite checks that a number that is not finite is an empty field, and that a
// column with an empty cell still counts as numeric.
func TestNotFinite(t *testing.T) {
	table := &study.ErrorTable{Rows: []study.ErrorRow{{Method: "ladies", Mean: math.NaN()}, {Method: "fastgcn", Mean: 0.5}}}
	for _, record := range table.List().Records {
		if text := strings.Join(record, ","); strings.Contains(text, "NaN") {
			t.Error(text)
		}
	}
	s := NewSheet("", "mean").Add(nil).Add(0.5)
	if s.rows[0][0] != "" || s.rows[1][0] != "0.5" || !strings.Contains(s.HTML(), `<td style="text-align:right">0.5</td>`) {
		t.Errorf("%s", s.HTML())
	}
	if err := study.Save(t.TempDir(), "errors", table); err != nil {
		t.Error(err)
	}
}
