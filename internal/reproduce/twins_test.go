package reproduce

import (
	"math"
	"strings"
	"testing"

	"github.com/gcn-layerwise/gcn/datasets"
)

// A graph of another size does not agree with the published figures. A second run takes
// every number from the cells.
func TestTwins(t *testing.T) {
	o := small(t)
	o.Data = []string{"synth:arxiv?nodes=800&features=128", "synth:proteins?nodes=300&edges=2000"}
	first := run(t, "twins", o)
	values := map[string]float64{}
	for _, row := range first.Rows {
		values[row.Dataset[:9]+row.Label+" "+row.Quantity] = row.Mean
		if row.Label == "features alone" && (row.Paper != nil) != strings.HasPrefix(row.Dataset, "synth:arxiv") {
			t.Errorf("%s: features alone have the target %v", row.Dataset, row.Paper.text())
		}
	}
	for name, want := range map[string]float64{"synth:arxgraph nodes": 800, "synth:arxgraph features": 128, "synth:arxgraph classes": 40, "synth:prograph tasks": 112} {
		if values[name] != want {
			t.Errorf("%s is %v, want %v", name, values[name], want)
		}
	}
	for _, name := range []string{"synth:arxgraph edge homophily", "synth:arxgraph clustering coefficient", "synth:arxfull batch test accuracy, %", "synth:profull batch test rocauc, %"} {
		if v := values[name]; !(v > 0 && v < 100) {
			t.Errorf("%s is %v", name, v)
		}
	}
	if _, there := values["synth:prograph edge homophily"]; there {
		t.Error("binary tasks have a homophily")
	}
	if len(first.Claims) != 2 || first.Claims[0].Holds || !strings.Contains(first.Claims[0].Numbers, "outside: nodes, edges, ") {
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

// Data without published figures are measured and not compared.
func TestTwinsOtherData(t *testing.T) {
	report := run(t, "twins", small(t))
	if len(report.Rows) < 10 || len(report.Claims) > 0 {
		t.Errorf("%d rows, claims %v", len(report.Rows), report.Claims)
	}
	for _, row := range report.Rows {
		if row.Paper != nil {
			t.Errorf("%s: %s has the target %v", row.Dataset, row.Quantity, row.Paper.text())
		}
	}
}

func TestTwinRows(t *testing.T) {
	rows := &twinRows{report: new(Report), spec: "x"}
	figure := func(v float64) datasets.Figure { return datasets.Figure{Value: v, Source: "s"} }
	rows.figure("near", figure(100), 104.9, 0)
	rows.figure("unknown", datasets.Figure{}, 1, 0)
	rows.figure("absent", datasets.Figure{}, math.NaN(), 0)
	rows.score("near score", "", figure(60), []float64{61, 62})
	rows.score("unknown score", "", datasets.Figure{}, []float64{1})
	if c := rows.claim("X"); !c.Holds || rows.compared != 2 || len(rows.report.Rows) != 4 {
		t.Errorf("%+v of %d rows", c, len(rows.report.Rows))
	}
	rows.figure("far", figure(100), 94.9, 0)
	rows.score("far score", "", figure(60), []float64{57.9})
	if c := rows.claim("X"); c.Holds || !strings.HasSuffix(c.Numbers, "outside: far, far score") {
		t.Errorf("%+v", c)
	}
}
