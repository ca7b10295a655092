package main

import (
	"encoding/csv"
	"fmt"
	"strings"
	"testing"
)

// Two commands lead from raw files, of names, directions, a split in words, missing labels
// and a class with a comma, to a table of predictions by name.
func TestRawFilesToNamedPredictions(t *testing.T) {
	t.Chdir(t.TempDir())
	var edges, nodes, features, split strings.Builder
	edges.WriteString("citing\tcited\tweight\n")
	nodes.WriteString("id,topic\n")
	topics := []string{"\"graphs, sparse\"", "vision"}
	for i := range 60 {
		for _, step := range []int{2, 4, 8} {
			fmt.Fprintf(&edges, "10.1000/%d\t10.1000/%d\t%d\n", i, (i+step)%60, step)
		}
		topic := topics[i%2]
		if i%10 == 5 {
			topic = ""
		} else {
			fmt.Fprintf(&split, "10.1000/%d,%s\n", i, []string{"train", "train", "val", "test"}[i/2%4])
		}
		fmt.Fprintf(&nodes, "10.1000/%d,%s\n", i, topic)
		fmt.Fprintf(&features, "10.1000/%d;%d;%d\n", i, i%2, (i+1)%2)
	}
	writeFile(t, "cites.tsv", []byte(edges.String()))
	writeFile(t, "topics.csv", []byte(nodes.String()))
	writeFile(t, "words.csv", []byte(features.String()))
	writeFile(t, "split.csv", []byte(split.String()))
	out := succeed(t, "train", "--data", "edges:cites.tsv?directed=out&weights=1&labels=topics.csv&features=words.csv&split=split.csv",
		"--method", "full", "--max-batches", "60", "--out", "run")
	for _, said := range []string{"directed=out", "graphs, sparse, vision", "6 nodes without a label", "split from split.csv", "weights in column 3"} {
		if !strings.Contains(out.stderr, said) {
			t.Errorf("gcn train does not say %q:\n%s", said, out.stderr)
		}
	}
	succeed(t, "predict", "--run", "run", "--out", "scores.csv")
	rows, err := csv.NewReader(strings.NewReader(string(readFile(t, "scores.csv")))).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	right := 0
	for i, row := range rows[1:] {
		if row[0] != fmt.Sprintf("10.1000/%d", i) && row[0] == "" {
			t.Errorf("row %d is of node %q", i, row[0])
		}
		var k int
		if _, err := fmt.Sscanf(row[0], "10.1000/%d", &k); err != nil {
			t.Fatal(err)
		}
		if row[1] == []string{"graphs, sparse", "vision"}[k%2] {
			right++
		}
	}
	if len(rows) != 61 || right < 55 {
		t.Errorf("%d of %d nodes are right: %q", right, len(rows)-1, rows[:3])
	}
}
