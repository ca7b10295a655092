package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/gcn-layerwise/gcn/datasets"
	"github.com/gcn-layerwise/gcn/study"
)

// rowsOf returns the rows of a JSON object.
func rowsOf(t *testing.T, m map[string]any) []map[string]any {
	t.Helper()
	list, ok := m["rows"].([]any)
	if !ok || len(list) == 0 {
		t.Fatalf("no rows in %v", m)
	}
	var rows []map[string]any
	for _, v := range list {
		rows = append(rows, v.(map[string]any))
	}
	return rows
}

// wantFiles fails the test unless dir holds base with each extension.
func wantFiles(t *testing.T, dir, base string, extensions ...string) {
	t.Helper()
	for _, ext := range extensions {
		if info, err := os.Stat(filepath.Join(dir, base+ext)); err != nil || info.Size() == 0 {
			t.Errorf("%s%s: %v", base, ext, err)
		}
	}
}

func TestStudyFeatures(t *testing.T) {
	t.Chdir(t.TempDir())
	succeed(t, "train", "--data", smallData, "--out", "run", "-q", "--max-batches", "20")
	trained := object(t, succeed(t, "eval", "--run", "run", "--json"))
	m := object(t, succeed(t, "study", "features", "--run", "run", "--hops", "2", "--seed", "5", "--out", "alone", "--json"))
	rows := rowsOf(t, m)
	if len(rows) != 2 || rows[0]["input"] != "X PX P2X" || rows[0]["seed"] != 5.0 || rows[1]["input"] != "GCN" || rows[1]["test"] != trained["score"] {
		t.Errorf("rows %v, want seed 5 of X PX P2X, and a GCN with the run's score %v", rows, trained["score"])
	}
	wantFields(t, m, "dataset", "metric", "means", "saved")
	wantFields(t, rows[0], "best_valid", "test", "batches", "best_batch", "stop")
	wantFiles(t, "alone", "features", ".csv", ".json")
	if text := succeed(t, "study", "features", "--data", smallData, "--hops", "0").stdout; !strings.Contains(text, "test accuracy") || !strings.Contains(text, "GCN") {
		t.Errorf("text %s", text)
	}
	fail(t, exitUsage, []string{"--hops -1"}, "study", "features", "--hops", "-1")
	fail(t, exitUsage, []string{"--runs"}, "study", "features", "--runs", "0")
}

func TestStudyApproxError(t *testing.T) {
	t.Chdir(t.TempDir())
	args := []string{"study", "approx-error", "--data", smallData, "--methods", "ladies,ladies-debiased-nodes", "--samples", "16,64", "--batch", "32", "--repeats", "6", "--out", "figures"}
	m := object(t, succeed(t, append(args, "--json")...))
	rows := rowsOf(t, m)
	if len(rows) != 4 {
		t.Fatalf("%d rows, want 2 methods at 2 sizes", len(rows))
	}
	for _, row := range rows {
		wantFields(t, row, "method", "samples", "mean", "sem", "bias", "sd")
		mean, sd, bias2 := row["mean"].(float64), row["sd"].(float64), row["bias2"].(float64)
		if spread := row["error_sd"].(float64); math.Abs(mean*mean-(sd*sd+bias2)) > 4*spread*spread+0.2*mean*mean {
			t.Errorf("mean² is %v, bias² + sd² %v", mean*mean, sd*sd+bias2)
		}
	}
	wantFields(t, m, "dataset", "weights", "norm", "candidates", "seed")
	wantFiles(t, "figures", "approx-error", ".csv", ".json", ".svg", ".png")
	text := succeed(t, args...).stdout
	for _, words := range []string{"ladies-debiased-nodes", "candidates", "saved in"} {
		if !strings.Contains(text, words) {
			t.Errorf("the table does not say %q: %s", words, text)
		}
	}
}

// TestStudyOfRun looks at a trained model's layers.
func TestStudyOfRun(t *testing.T) {
	t.Chdir(t.TempDir())
	succeed(t, append([]string{"train", "--out", "run"}, quick...)...)
	m := object(t, succeed(t, "study", "assumption", "--run", "run", "--batches", "5", "--out", "out", "--json"))
	rows := rowsOf(t, m)
	if len(rows) != 8 {
		t.Errorf("%d rows, want 2 layers on P and QP, both ways", len(rows))
	}
	for _, row := range rows {
		wantFields(t, row, "layer", "response", "on", "n", "beta0", "beta0_se", "beta1", "beta1_se", "r2")
	}
	if m["weights"] != "trained" || m["dataset"] != smallData {
		t.Errorf("studied %v with %v weights", m["dataset"], m["weights"])
	}
	rows = rowsOf(t, object(t, succeed(t, "study", "norms", "--run", "run", "--batches", "5", "--out", "out", "--json")))
	if len(rows) != 2 {
		t.Errorf("%d rows, want a layer each", len(rows))
	}
	for _, row := range rows {
		wantFields(t, row, "c1", "c2", "holds", "moment_ratio")
	}
	succeed(t, "study", "approx-error", "--run", "run", "--layer", "2", "--samples", "16", "--repeats", "3", "--out", "out")
	fail(t, exitFailed, []string{"layer 3"}, "study", "approx-error", "--run", "run", "--layer", "3", "--out", "out")
	advice := object(t, succeed(t, "study", "advise", "--run", "run", "--batch", "32", "--json"))
	wantFields(t, advice, "method", "samples", "reasons", "layers", "target")
	wantFiles(t, "out", "norms", ".csv", ".json", ".svg", ".png")
	wantFiles(t, "out", "assumption", ".csv", ".json", ".svg", ".png")

	page := object(t, succeed(t, "report", "run", "--out", "page.html", "--tensorboard", "logs", "--json"))
	if page["runs"] != 1.0 {
		t.Errorf("a page of %v runs", page["runs"])
	}
	wantFiles(t, ".", "page", ".html")
	if events, err := filepath.Glob("logs/run/*tfevents*"); err != nil || len(events) != 1 {
		t.Errorf("event files %v, %v", events, err)
	}
}

func TestStudyVariance(t *testing.T) {
	t.Chdir(t.TempDir())
	m := object(t, succeed(t, "study", "variance", "--weights", "1,2,3", "--repeats", "100", "--json"))
	for _, row := range rowsOf(t, m) {
		wantFields(t, row, "estimator", "samples", "exact", "var_over_bound", "cov_over_bound")
	}
	wantFiles(t, "studies/weights-1-2-3", "variance", ".csv", ".json", ".svg", ".png")
	succeed(t, "study", "variance", "--data", smallData, "--batch", "16", "--samples", "8", "--repeats", "50", "--watch", "4")
}

// An estimated covariance is printed if the verdict hangs on it.
func TestPrintVariance(t *testing.T) {
	var out strings.Builder
	printStudy(&out, &study.VarianceTable{Rows: []study.VarianceRow{
		{Estimator: "inside", CovOverBound: 2, CovWithin: true, WithinTheorem: true},
		{Estimator: "outside", CovOverBound: 3},
	}})
	text := strings.Join(strings.Fields(out.String()), " ")
	if !strings.Contains(text, "0.000 (noise) 0 0 yes") || !strings.Contains(text, "0.000 3.000 0 0 no") {
		t.Error(out.String())
	}
}

// TestStudyTheorem checks the theorem on given weights, and on a
// mini-batch of data.
func TestStudyTheorem(t *testing.T) {
	t.Chdir(t.TempDir())
	var first []map[string]any
	for _, weights := range []string{"1,0.5,0.25", "1, .5,0.250"} {
		m := object(t, succeed(t, "study", "theorem", "--weights", weights, "--samples", "2", "--out", "out", "--json"))
		rows := rowsOf(t, m)
		for _, row := range rows {
			wantFields(t, row, "claim", "case", "samples", "relation", "predicted", "measured", "se", "agrees")
			if row["case"] != "n = m" && row["agrees"] != (row["claim"] != "Var β, recursion as printed") {
				t.Errorf("%v", row)
			}
		}
		if first != nil && !reflect.DeepEqual(rows, first) {
			t.Errorf("--weights %s: %v, as a list %v", weights, rows, first)
		}
		first = rows
	}
	wantFiles(t, "out", "theorem", ".csv", ".json", ".svg", ".png")
	zipf := "1"
	for i := 2; i <= 40; i++ {
		zipf += fmt.Sprintf(",%g", 1/float64(i))
	}
	text := succeed(t, "study", "theorem", "--weights", zipf, "--samples", "5", "--repeats", "400", "--out", "out").stdout
	for _, words := range []string{"40 candidates", "n = m", "n = ∞", "as printed", "  no\n"} {
		if !strings.Contains(text, words) {
			t.Errorf("the table does not say %q: %s", words, text)
		}
	}
	m := object(t, succeed(t, "study", "theorem", "--data", smallData, "--batch", "16", "--samples", "8", "--repeats", "400", "--out", "out", "--json"))
	if claims := rowsOf(t, m); len(claims) == 0 || m["candidates"].(float64) < 16 {
		t.Errorf("%d claims on the %v candidates of a mini-batch", len(claims), m["candidates"])
	}
	succeed(t, "study", "variance", "--weights", "1,1,1,1", "--repeats", "100", "--out", "out")
}

func TestStudyAdvise(t *testing.T) {
	t.Chdir(t.TempDir())
	text := succeed(t, "study", "advise", smallData, "--batch", "32").stdout
	for _, words := range []string{"method", "because", "gcn train --data '" + smallData + "'"} {
		if !strings.Contains(text, words) {
			t.Errorf("the advice does not say %q: %s", words, text)
		}
	}
	if trials := regexp.MustCompile(`(?m)^ladies.* [1-9][0-9.]* (kB|MB)$`).FindAllString(text, -1); len(trials) == 0 || strings.Contains(text, "e+0") {
		t.Errorf("numbers are not for people: %s", text)
	}
	for _, options := range [][]string{{}, {"--layers", "3"}, {"--batches", "0"}, {"--target", "0.0001"}} {
		text := succeed(t, append([]string{"study", "advise", smallData, "--batch", "32"}, options...)...).stdout
		lines := strings.Split(strings.TrimSpace(text), "\n")
		line := strings.Fields(strings.ReplaceAll(lines[len(lines)-1], "'", ""))
		succeed(t, append(line[1:], "--max-batches", "2", "-q")...)
	}
}

// smallReproduction writes a file of options for short runs, with more options.
func smallReproduction(t *testing.T, more string) string {
	t.Helper()
	writeFile(t, "small.json", []byte(`{"batch": 32, "hidden": 8, "max-batches": 5`+more+"}"))
	return "small.json"
}

// TestReproduceConfig refuses files of options with a line that names file and line.
func TestReproduceConfig(t *testing.T) {
	t.Chdir(t.TempDir())
	for text, words := range map[string]string{
		"{\n\"batch\": 3,\n\"hiden\": 4}": `wrong.json:3: unknown option "hiden", did you mean hidden?`,
		"{\n\n\"batch\": \"many\"}":       `wrong.json:3: --batch many`,
		"{\n\"batch\": 3,}":               "wrong.json:2: ",
		"{\"batch\": 3, \"batch\": 4}":    "wrong.json:1: ",
		"":                                "wrong.json:1: ",
		"{\"hidden\": 100000000000}":      "wrong.json:1: --hidden 100000000000",
		"{\"samples\": 3}":                "wrong.json:1: samples: reproduce does not take it",
	} {
		writeFile(t, "wrong.json", []byte(text))
		fail(t, exitUsage, []string{words}, "reproduce", "accuracy", "--config", "wrong.json")
	}
	fail(t, exitUsage, []string{"--config", "missing.json"}, "reproduce", "accuracy", "--config", "missing.json")
}

func TestReproduce(t *testing.T) {
	t.Chdir(t.TempDir())
	args := []string{"reproduce", "accuracy", "--data", smallData, "--methods", "ladies,full", "--samples", "32,32", "--runs", "2", "--config", smallReproduction(t, "")}
	first := object(t, succeed(t, append(args, "--json")...))
	for _, row := range rowsOf(t, first) {
		wantFields(t, row, "dataset", "method", "quantity", "n", "mean", "std", "sem")
	}
	wantFiles(t, "reproduced", "table4", ".csv", ".json", ".md", ".svg", ".png")
	again := succeed(t, append(args, "--json")...)
	if again.stderr != "" {
		t.Errorf("computed again: %s", again.stderr)
	}
	a, err := json.Marshal(first["rows"])
	if err != nil {
		t.Fatal(err)
	}
	b, err := json.Marshal(object(t, again)["rows"])
	if err != nil {
		t.Fatal(err)
	}
	if string(a) != string(b) {
		t.Errorf("rows %s, before %s", b, a)
	}
}

// TestReproduceAll makes every table and figure on a small graph, and again from the
// cells: the second time nothing is computed, and the text is the same.
func TestReproduceAll(t *testing.T) {
	t.Chdir(t.TempDir())
	args := []string{"reproduce", "all", "--data", smallData, "--runs", "1", "--eval-every", "5", "--config", smallReproduction(t, "")}
	first := succeed(t, args...)
	for _, words := range []string{"Section 4.1: ", ": not measured", "saved in reproduced/results.md"} {
		if !strings.Contains(first.stdout, words) {
			t.Errorf("the output lacks %q: %s", words, first.stdout)
		}
	}
	if !strings.Contains(first.stderr, "[cell 2 of ") {
		t.Errorf("no cells counted: %s", first.stderr)
	}
	text, err := os.ReadFile("reproduced/results.md")
	if err != nil {
		t.Fatal(err)
	}
	if words := "`gcn reproduce all --data '" + smallData + "' --runs 1 --eval-every 5 --config small.json`"; !strings.Contains(string(text), words) {
		t.Errorf("the text lacks %q", words)
	}
	again := succeed(t, append(args, "--json", "--out", "reproduced")...)
	wantFields(t, object(t, again), "date", "machine", "command", "reports", "claims")
	if after, err := os.ReadFile("reproduced/results.md"); err != nil || string(after) != string(text) || again.stderr != "" {
		t.Errorf("made again: %v, %s", err, again.stderr)
	}
}

// cancelling ends a context at the first write.
type cancelling struct {
	text   bytes.Buffer
	cancel context.CancelFunc
}

func (w *cancelling) Write(p []byte) (int, error) {
	w.cancel()
	return w.text.Write(p)
}

// TestReproduceInterrupted interrupts after the first cell: the command says how to go
// on, and goes on.
func TestReproduceInterrupted(t *testing.T) {
	t.Chdir(t.TempDir())
	args := []string{"reproduce", "table7", "--data", smallData, "--samples", "16,16", "--runs", "1", "--config", smallReproduction(t, "")}
	ctx, cancel := context.WithCancel(t.Context())
	stderr := &cancelling{cancel: cancel}
	if code := execute(ctx, args, io.Discard, stderr); code != exitInterrupted {
		t.Fatalf("exit code %d: %s", code, &stderr.text)
	}
	if message := lastLine(stderr.text.String()); !strings.Contains(message, "interrupted; to go on, give the same command again: reproduced holds") {
		t.Errorf("the last line is %q", message)
	}
	if rest := succeed(t, args...).stderr; strings.Contains(rest, "[cell 1 of ") || !strings.Contains(rest, "[cell 5 of 5") {
		t.Errorf("the rest is %s", rest)
	}
}

// TestDegenerateStudies runs the studies of graphs on features that are all 0, and
// makes a page of runs with equal scores.
func TestDegenerateStudies(t *testing.T) {
	t.Chdir(t.TempDir())
	data, err := datasets.Open(t.Context(), smallData, datasets.Options{})
	if err != nil {
		t.Fatal(err)
	}
	clear(data.Features.Data)
	if err := datasets.WriteStore(t.Context(), "zero", data); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{
		{"approx-error", "--methods", "ladies,fastgcn-flat", "--samples", "8,16", "--repeats", "2"}, {"assumption", "--batches", "2"}, {"norms", "--batches", "2"}, {"theorem", "--samples", "4", "--repeats", "200"},
	} {
		all := append([]string{"study", args[0], "--data", "store:zero", "--batch", "16", "--out", "out"}, args[1:]...)
		rowsOf(t, object(t, succeed(t, append(all, "--json")...)))
		succeed(t, all...)
		wantFiles(t, "out", args[0], ".csv", ".json", ".svg", ".png")
	}
	if text := succeed(t, "study", "norms", "--data", "store:zero", "--batches", "2").stdout; strings.Contains(text, "NaN %") {
		t.Errorf("a verdict of no number: %s", text)
	}
	succeed(t, "study", "advise", "store:zero", "--batch", "16")
	wantFields(t, object(t, succeed(t, "study", "advise", "store:zero", "--batch", "16", "--json")), "method", "reasons", "features_alone")
	for _, seed := range []string{"1", "2", "3"} {
		if err := os.MkdirAll("runs/"+seed, 0o777); err != nil {
			t.Fatal(err)
		}
		for name, text := range map[string]string{
			"config.json": `{"schema":5,"method":"ladies","seed":` + seed + `}`, "metrics.jsonl": `{"batch":10,"loss":0.1,"valid":0.1,"seconds":1}`, "result.json": `{"test":0.1}`,
		} {
			if err := os.WriteFile(filepath.Join("runs", seed, name), []byte(text), 0o666); err != nil {
				t.Fatal(err)
			}
		}
	}
	printed := succeed(t, "report", "runs", "--out", "page.html").stdout
	if !regexp.MustCompile(`(?m)^runs +3$(?s:.*)^ladies +3 +– +– +0\.1 +0 +0 +–$`).MatchString(printed) {
		t.Errorf("report prints\n%s", printed)
	}
	methods := object(t, succeed(t, "report", "runs", "--out", "page.html", "--json"))["methods"].([]any)
	if row := methods[0].(map[string]any); len(methods) != 1 || row["name"] != "ladies" || row["test"] != 0.1 || row["best_valid"] != nil {
		t.Errorf("report --json has %v", methods)
	}
	wantFiles(t, ".", "page", ".html")
}

func TestStudyUsage(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, c := range []struct {
		args  string
		words string
	}{
		{"study", "needs a command,approx-error"},
		{"study approx-eror", "did you mean approx-error?"},
		{"study approx-error --methods ladys", "ladys,did you mean ladies?"},
		{"study approx-error --methods ladies-nodes", "ladies-nodes"},
		{"study approx-error --repeats 1", "--repeats"},
		{"study approx-error --draws 1", "--draws"},
		{"study approx-error --samples 0", "--samples"},
		{"study approx-error --layer 2", "--layer 2 needs --run"},
		{"study approx-error --data nothing:x", "nothing"},
		{"study assumption --nodes some", "some,train"},
		{"study norms --bins 0", "--bins"},
		{"study variance --weights 1,-2", "-2"},
		{"study variance --weights 1,,2", "want a number"},
		{"study approx-error --methods ladies-cv", "--methods ladies-cv,want full"},
		{"study variance --weights 1,2 --repeats 1", "--repeats"},
		{"study theorem --weights 1,2 --repeats 3", "--repeats"},
		{"study advise a b", "advise [SPEC]"},
		{"study advise --target 0", "--target"},
		{"reproduce", "needs a table or figure: ,table1,all"},
		{"reproduce acuracy", "unknown table or figure \"acuracy\",did you mean accuracy?"},
		{"reproduce table11", "did you mean"},
		{"reproduce table4 --runs 0", "--runs"},
		{"reproduce table4 --eval-every auto", "--eval-every auto,from 1 up"},
		{"reproduce table4 --out=", "--out,folder"},
		{"reproduce table4 --data nothing:x", "nothing"},
		{"reproduce accuracy --methods ladys", "did you mean ladies?"},
		{"report", "DIR"},
	} {
		fail(t, exitUsage, strings.Split(c.words, ","), strings.Fields(c.args)...)
	}
	fail(t, exitFailed, []string{"missing"}, "report", "missing")
	fail(t, exitFailed, []string{"missing"}, "study", "norms", "--run", "missing")
}

// TestNormsVerdictOfEqualMoments judges a graph on which both probabilities are the same.
func TestNormsVerdictOfEqualMoments(t *testing.T) {
	for ratio, want := range map[float64]string{
		1: "equal second moments", 1.004: "equal second moments", 0.996: "equal second moments",
		1.2: "LADIES has the lower second moment, flat is 20 % above", 0.8: "flat probabilities have the lower second moment, 20 % below",
	} {
		if got := (&study.NormsRow{MomentRatio: ratio, FlatBetter: ratio < 1}).Verdict(); !strings.Contains(got, want) {
			t.Errorf("ratio %v: %s", ratio, got)
		}
	}
}

// TestFeaturesWithoutTestNodes prints a table of runs whose test score is not known.
func TestFeaturesWithoutTestNodes(t *testing.T) {
	var b strings.Builder
	row := study.FeaturesRow{Seed: 1, BestValid: 0.5, Test: math.NaN()}
	printStudy(&b, &study.FeaturesTable{Metric: "accuracy", Rows: []study.FeaturesRow{row, row}, Means: []study.FeaturesMean{{Input: "X", Test: row.Test}}})
	if text := b.String(); strings.Contains(text, "NaN") || !strings.Contains(text, "–") || !strings.Contains(text, "0.5000") {
		t.Error(text)
	}
}
