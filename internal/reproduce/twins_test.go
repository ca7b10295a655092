package reproduce

import (
	"context"
	"strings"
	"testing"

	"github.com/gcn-layerwise/gcn/datasets"
)

// Small graphs in the place of the twins do not agree with the published figures. A
// second run takes every number from the cells.
func TestTwins(t *testing.T) {
	o := small(t)
	o.Data = []string{"synth:arxiv", "synth:proteins"}
	o.Open = func(ctx context.Context, spec string) (*datasets.Data, error) {
		return datasets.Open(ctx, map[string]string{
			"synth:arxiv": "synth:arxiv?nodes=800", "synth:proteins": "synth:proteins?nodes=300&edges=2000",
		}[spec], datasets.Options{})
	}
	first := run(t, "twins", o)
	values := map[string]float64{}
	for _, row := range first.Rows {
		values[row.Dataset+" "+row.Label+" "+row.Quantity] = row.Mean
		if wanted := row.Label != "features alone" || row.Dataset == "synth:arxiv"; (row.Paper != nil) != wanted {
			t.Errorf("%s: %s %s has the target %v", row.Dataset, row.Label, row.Quantity, row.Paper.text())
		}
	}
	for name, want := range map[string]float64{
		"synth:arxiv graph nodes": 800, "synth:proteins graph nodes": 300, "synth:proteins graph edges": 2000,
	} {
		if values[name] != want {
			t.Errorf("%s is %v, want %v", name, values[name], want)
		}
	}
	for _, name := range []string{"synth:arxiv graph homophily", "synth:arxiv full batch test accuracy, %", "synth:proteins features alone test rocauc, %"} {
		if v := values[name]; !(v > 0 && v < 100) {
			t.Errorf("%s is %v", name, v)
		}
	}
	if len(first.Claims) != 2 || first.Claims[0].Holds || !strings.Contains(first.Claims[0].Numbers, "equal: features, classes; outside: nodes, edges, ") {
		t.Errorf("claims %+v", first.Claims)
	}
	if notes := strings.Join(first.Notes, "\n"); !strings.Contains(notes, "72.04") || !strings.Contains(notes, "no target") {
		t.Errorf("notes %s", notes)
	}

	trained := false
	o.Log = func(string) { trained = true }
	second := run(t, "twins", o)
	if trained {
		t.Error("the second run trains again")
	}
	for k, row := range second.Rows {
		if row.Mean != first.Rows[k].Mean {
			t.Errorf("%s %s: %v, then %v", row.Label, row.Quantity, first.Rows[k].Mean, row.Mean)
		}
	}
}

// Data without published figures are not compared.
func TestTwinsOtherData(t *testing.T) {
	report := run(t, "twins", small(t))
	if len(report.Rows) != 2 || report.Rows[0].Paper != nil || report.Rows[1].Paper != nil || len(report.Claims) > 0 {
		t.Errorf("rows %+v, claims %v", report.Rows, report.Claims)
	}
}

func TestTwinRows(t *testing.T) {
	rows := &twinRows{report: new(Report), spec: "x"}
	figure := func(v float64) datasets.Figure { return datasets.Figure{Value: v, Source: "s"} }
	rows.figure(datasets.Comparison{Name: "near", Published: 100, Found: 104.9})
	rows.figure(datasets.Comparison{Name: "same", Published: 7, Found: 7})
	rows.score("near score", "", figure(60), []float64{61, 62})
	rows.score("unknown score", "", datasets.Figure{}, []float64{1})
	if c := rows.claim("X"); !c.Holds || rows.compared != 3 || len(rows.report.Rows) != 3 {
		t.Errorf("%+v of %d rows", c, len(rows.report.Rows))
	}
	rows.figure(datasets.Comparison{Name: "far", Published: 100, Found: 94.9})
	rows.score("far score", "", figure(60), []float64{57.9})
	if c := rows.claim("X"); c.Holds || !strings.HasSuffix(c.Numbers, "outside: far, far score") {
		t.Errorf("%+v", c)
	}
}
