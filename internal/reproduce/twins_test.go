package reproduce

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/gcn-layerwise/gcn/datasets"
	"github.com/gcn-layerwise/gcn/internal/memory"
)

// smallTwins are options with small graphs in the place of twins.
func smallTwins(t *testing.T) Options {
	o := small(t)
	o.Data = []string{"synth:arxiv", "synth:proteins"}
	o.Open = func(ctx context.Context, spec string) (*datasets.Data, error) {
		return datasets.Open(ctx, map[string]string{
			"synth:arxiv": "synth:arxiv?nodes=800", "synth:proteins": "synth:proteins?nodes=300&edges=2000",
		}[spec], datasets.Options{})
	}
	return o
}

// Small graphs in the place of the twins do not agree with the published figures. A
// second run takes every number from the cells, and table 4 shares the cells of full batch.
func TestTwins(t *testing.T) {
	o := smallTwins(t)
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
	if len(first.Claims) != 2 || first.Claims[0].Verdict != NotSeen || !strings.Contains(first.Claims[0].Numbers, "equal: features, classes; outside: nodes, edges, ") {
		t.Errorf("claims %+v", first.Claims)
	}
	if notes := strings.Join(first.Notes, "\n"); !strings.Contains(notes, "72.04") || !strings.Contains(notes, "no target") {
		t.Errorf("notes %s", notes)
	}
	if !strings.Contains(first.Source, "arXiv:2005.00687; ") {
		t.Errorf("sources %s", first.Source)
	}

	var log []string
	o.Log = func(line string) { log = append(log, line) }
	if second := run(t, "twins", o); !reflect.DeepEqual(second, first) {
		t.Errorf("first %+v\nsecond %+v", first, second)
	}
	o.Data, o.Methods = []string{"synth:proteins"}, []string{"full"}
	shared := run(t, "table4", o)
	if len(log) > 0 {
		t.Errorf("computed again: %q", log)
	}
	if full := values["synth:proteins full batch test rocauc, %"]; shared.Rows[0].Mean != full {
		t.Errorf("full batch reaches %v, in table 4 %v", full, shared.Rows[0].Mean)
	}
}

// The Markdown has a line for each figure and a column for each data set.
func TestTwinsMarkdown(t *testing.T) {
	var text strings.Builder
	if err := run(t, "twins", smallTwins(t)).WriteMarkdown(&text, ""); err != nil {
		t.Fatal(err)
	}
	for _, words := range []string{
		"## Twins. Generated", "| ogbn-arxiv (twin) | ogbn-proteins (twin) |", "\n| clustering | ", "\n| features alone, test % | ", "\n| full batch, test % | ",
		"- synth:arxiv: agrees with the published figures of ogbn-arxiv: not seen (",
	} {
		if !strings.Contains(text.String(), words) {
			t.Errorf("no %q in\n%s", words, text.String())
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

// Data that are too large for the memory leave a claim undecided.
func TestTwinsTooLarge(t *testing.T) {
	o := smallTwins(t)
	o.Open = func(context.Context, string) (*datasets.Data, error) {
		return nil, fmt.Errorf("the graph: %w", memory.ErrTooLarge)
	}
	report := run(t, "twins", o)
	if len(report.Rows) > 0 || len(report.Claims) != 2 {
		t.Fatalf("rows %+v, claims %+v", report.Rows, report.Claims)
	}
	if c := report.Claims[0]; c.Verdict != NotMeasured || !strings.HasSuffix(c.Numbers, "not measured: graph, features alone, full batch") {
		t.Errorf("%+v", c)
	}
	if note := report.Notes[len(report.Notes)-1]; !strings.Contains(note, "train synth:proteins full is left out: ") {
		t.Errorf("note %q", note)
	}
}

func TestTwinRows(t *testing.T) {
	rows := &twinRows{report: new(Report), spec: "x"}
	figure := func(v float64) datasets.Figure { return datasets.Figure{Value: v, Source: "s"} }
	rows.figure(datasets.Comparison{Name: "near", Published: 100, Found: 104.9})
	rows.figure(datasets.Comparison{Name: "same", Published: 7, Found: 7})
	rows.score("near score", "f1", figure(60), []float64{61, 62})
	rows.score("unknown score", "f1", datasets.Figure{}, []float64{1})
	if c := rows.claim("X"); c.Verdict != Seen || rows.compared != 3 || len(rows.report.Rows) != 3 {
		t.Errorf("%+v of %d rows", c, len(rows.report.Rows))
	}
	rows.score("large", "f1", figure(60), nil)
	if c := rows.claim("X"); c.Verdict != NotMeasured || !strings.HasSuffix(c.Numbers, "; equal: same; not measured: large") {
		t.Errorf("%+v", c)
	}
	rows.figure(datasets.Comparison{Name: "far", Published: 100, Found: 94.9})
	rows.score("far score", "f1", figure(60), []float64{57.9})
	if c := rows.claim("X"); c.Verdict != NotSeen || !strings.Contains(c.Numbers, "outside: far, far score; ") {
		t.Errorf("%+v", c)
	}
}

// The clustering of a large graph is from a sample, and has a standard error.
func TestTwinsStandardError(t *testing.T) {
	o := small(t)
	o.Data, o.Runs.Each = []string{"synth:arxiv"}, 1
	o.Open = func(ctx context.Context, _ string) (*datasets.Data, error) {
		return datasets.Open(ctx, "synth:arxiv?nodes=12000&features=4", datasets.Options{})
	}
	rows := run(t, "twins", o).Rows
	at := slices.IndexFunc(rows, func(row Row) bool { return row.Quantity == "clustering" })
	if at < 0 || !(rows[at].SEM > 0) || !strings.Contains(rows[at].ours(), " ± ") {
		t.Errorf("rows %+v", rows)
	}
}
