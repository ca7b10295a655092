package main

import (
	"encoding/csv"
	"encoding/json"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/gcn-layerwise/gcn/datasets"
	"github.com/gcn-layerwise/gcn/graph"
)

func TestPredictionTable(t *testing.T) {
	names := new(graph.Names)
	for _, name := range []string{"alice", `b"ob`, "c,d"} {
		names.Append(name)
	}
	classes := &datasets.Data{Labels: &graph.Labels{Classes: 3, Names: []string{"cat", "dog, wet", "owl"}}, NodeNames: names}
	tasks := &datasets.Data{Labels: &graph.Labels{Tasks: 3}}
	near := &datasets.Data{Labels: &graph.Labels{Classes: 2}}
	scores := []float32{0.5, 2, 2, -1, -2, -3}
	for want, table := range map[string]predictionTable{
		"node,class,cat,\"dog, wet\",owl\nalice,\"dog, wet\",0.5,2,2\n\"b\"\"ob\",cat,-1,-2,-3\n":            {data: classes, columns: 3},
		"node,class1,logit1,class2,logit2\nalice,\"dog, wet\",2,owl,2\n\"b\"\"ob\",cat,-1,\"dog, wet\",-2\n": {data: classes, columns: 3, top: 2, kind: "logits"},
		"node,tasks,0,1,2\n0,0;1;2,0.5,2,2\n1,,-1,-2,-3\n":                                                   {data: tasks, columns: 3},
		"node,tasks,0,1,2\n0,1;2,0.5,2,2\n1,,-1,-2,-3\n":                                                     {data: tasks, columns: 3, threshold: 0.5},
		"node,task1,logit1\n0,1,2\n1,0,-1\n":                                                                 {data: tasks, columns: 3, top: 1, kind: "logits"},
		"node,h0,h1,h2\nalice,0.5,2,2\n\"b\"\"ob\",-1,-2,-3\n":                                               {data: classes, columns: 3, kind: "hidden"},
		"node,tasks,0,1,2\n0,0;1;2,0.62245935,0.8807971,0.8807971\n1,,0.26894143,0.11920292,0.047425874\n":   {data: tasks, columns: 3, kind: "probabilities", logits: true},
		"node,class1,probability1,class2,probability2\n0,1,1,0,0\n1,0,0.5,1,0.5\n":                           {data: near, columns: 2, top: 2, kind: "probabilities", logits: true, scores: []float32{0, 1e6, 1e-9, 0}},
		"node,class,0,1\n0,1,0.5,0.5\n1,0,0.5,0.5\n":                                                         {data: near, columns: 2, kind: "probabilities", logits: true, scores: []float32{0, 1e-9, 1e-9, 0}},
	} {
		if table.nodes = []int32{0, 1}; table.scores == nil {
			table.scores = slices.Clone(scores)
		}
		var b strings.Builder
		if err := table.writeCSV(&b); err != nil || b.String() != want {
			t.Errorf("%v\n%swant\n%s", err, b.String(), want)
		}
		if rows, err := csv.NewReader(strings.NewReader(b.String())).ReadAll(); err != nil || len(rows) != 3 {
			t.Errorf("%d rows, %v", len(rows), err)
		}
	}
}

// TestPredictSeveralRuns compares the mean of two runs with the mean of their probabilities,
// and its assessment with the predictions.
func TestPredictSeveralRuns(t *testing.T) {
	t.Chdir(t.TempDir())
	succeed(t, trainArgs("--out", "r", "--runs", "2", "-q")...)
	dirs := []string{"--run", "r/seed-1", "--run", "r/seed-2/"}
	p := map[string][]float32{}
	for name, args := range map[string][]string{"a.npy": dirs[:2], "b.npy": dirs[2:], "mean.npy": dirs} {
		succeed(t, append([]string{"predict", "--out", name}, args...)...)
		p[name] = readScores(t, name, 600, 10)
	}
	for k, got := range p["mean.npy"] {
		if want := (float64(p["a.npy"][k]) + float64(p["b.npy"][k])) / 2; math.Abs(float64(got)-want) > 1e-7 {
			t.Fatalf("probability %d is %v, want %v", k, got, want)
		}
	}
	out := object(t, succeed(t, append([]string{"eval", "--json", "--out", "e"}, dirs...)...))
	if runs, _ := out["run_dirs"].([]any); len(runs) != 2 || runs[1] != "r/seed-2" {
		t.Errorf("run_dirs %v", out["run_dirs"])
	}
	data, err := openData(t.Context(), smallData)
	if err != nil {
		t.Fatal(err)
	}
	right := 0
	for _, v := range data.Split.Test {
		row, best := p["mean.npy"][10*v:10*v+10], 0
		for c, q := range row {
			if q > row[best] {
				best = c
			}
		}
		if best == int(data.Labels.Class[v]) {
			right++
		}
	}
	if want := float64(right) / float64(len(data.Split.Test)); out["score"] != want {
		t.Errorf("score %v, the predictions have %v", out["score"], want)
	}
	diagonal := 0.0
	for c, row := range out["confusion"].([]any) {
		diagonal += row.([]any)[c].(float64)
	}
	if int(diagonal) != right || len(out["per_class"].([]any)) != 10 {
		t.Errorf("%v on the diagonal, want %d; %v", diagonal, right, out["per_class"])
	}
	var saved map[string]any
	if err := json.Unmarshal(readFile(t, "e/eval.json"), &saved); err != nil || saved["score"] != out["score"] {
		t.Errorf("eval.json says %v, %v", saved["score"], err)
	}
	text := succeed(t, append([]string{"eval"}, dirs...)...).stdout
	for _, word := range []string{"calibration error", "precision", "r/seed-2"} {
		if !strings.Contains(text, word) {
			t.Errorf("eval does not print %q:\n%s", word, text)
		}
	}

	succeed(t, "predict", "--run", "r/seed-1", "--out", "h.csv", "--layer", "1")
	rows := strings.Split(strings.TrimSpace(string(readFile(t, "h.csv"))), "\n")
	if len(rows) != 601 || !strings.HasPrefix(rows[0], "node,h0,h1,") {
		t.Errorf("--layer writes %d rows, %.40s", len(rows), rows[0])
	}
	succeed(t, "predict", "--run", "r/seed-1", "--out", "top.csv", "--top", "2")
	rows = strings.Split(strings.TrimSpace(string(readFile(t, "top.csv"))), "\n")
	fields := strings.Split(rows[8], ",")
	class, err := strconv.Atoi(fields[1])
	if err != nil || rows[0] != "node,class1,probability1,class2,probability2" || fields[0] != "7" {
		t.Errorf("--top writes %q, %q", rows[0], rows[8])
	}
	for _, q := range p["a.npy"][70:80] {
		if q > p["a.npy"][70+class] {
			t.Errorf("class %d of node 7 is not the best", class)
		}
	}
	for word, args := range map[string][]string{
		"--top -1":                          {"--out", "x.csv", "--top", "-1"},
		"--layer -1":                        {"--out", "x.csv", "--layer", "-1"},
		"FILE.csv":                          {"--out", "x.npy", "--top", "3"},
		"--layer 1 excludes --top":          {"--out", "x.csv", "--layer", "1", "--top", "3"},
		"logits and --layer need one --run": {"--out", "x.csv", "--logits", "--run", "r/seed-2"},
		"it gives probabilities":            {"--out", "x.csv", "--logits", "--correct-and-smooth"},
		"need one --run":                    {"--out", "x.csv", "--layer", "1", "--run", "r/seed-2"},
	} {
		fail(t, exitUsage, []string{word}, append([]string{"predict", "--run", "r/seed-1"}, args...)...)
	}
	fail(t, exitFailed, []string{"10 classes"}, "predict", "--run", "r/seed-1", "--out", "x.csv", "--top", "11")
	fail(t, exitFailed, []string{"layers 1 to 2"}, "predict", "--run", "r/seed-1", "--out", "x.csv", "--layer", "3")
	fail(t, exitFailed, []string{"several runs", "one or more"}, "predict", "--run", "r", "--out", "x.csv")
	succeed(t, trainArgs("--out", "other", "-q", "--data", smallData+"&noise=0.9")...)
	fail(t, exitFailed, []string{"other was trained on", "--data"}, "eval", "--run", "r/seed-1", "--run", "other")
}

// TestPredictNames names nodes and classes as the files do.
func TestPredictNames(t *testing.T) {
	t.Chdir(t.TempDir())
	var edges, labels, features strings.Builder
	for i := range 60 {
		from := "node " + strconv.Itoa(i)
		edges.WriteString(from + "," + "node " + strconv.Itoa((i+2)%60) + "\n")
		features.WriteString(from + "," + []string{"1,2", "3,1"}[i%2] + "\n")
		labels.WriteString(from + "," + []string{"cat", "dog"}[i%2] + "\n")
	}
	writeFile(t, "e.csv", []byte(edges.String()))
	writeFile(t, "l.csv", []byte(labels.String()))
	writeFile(t, "f.csv", []byte(features.String()))
	succeed(t, "train", "--data", "edges:e.csv?labels=l.csv&features=f.csv", "--samples", "32", "--hidden", "8", "--max-batches", "5", "--batch", "16", "--out", "r", "-q")
	writeFile(t, "some.txt", []byte("node 7\n\nnode 30\nnode 7\n"))
	succeed(t, "predict", "--run", "r", "--out", "p.csv", "--nodes", "some.txt")
	rows := strings.Split(strings.TrimSpace(string(readFile(t, "p.csv"))), "\n")
	if len(rows) != 4 || rows[0] != "node,class,cat,dog" || !strings.HasPrefix(rows[1], "node 7,") || !strings.HasPrefix(rows[2], "node 30,") || rows[1] != rows[3] {
		t.Errorf("%q", rows)
	}
	writeFile(t, "some.txt", []byte("node 7\nnode 77\n"))
	fail(t, exitFailed, []string{"some.txt:2", `"node 77" is not among the 60`}, "predict", "--run", "r", "--out", "p.csv", "--nodes", "some.txt")
	if text := succeed(t, "eval", "--run", "r").stdout; !strings.Contains(text, "dog") {
		t.Errorf("eval does not name the classes:\n%s", text)
	}
}
