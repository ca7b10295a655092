package reproduce

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestMarkdownCells checks that a vertical bar in a cell does not split it.
func TestMarkdownCells(t *testing.T) {
	r := Report{Experiment: "table2", Rows: []Row{{Dataset: "d", Label: "|HW|", Quantity: "β1 of |HW| on |QP|, layer 1", N: 2, Mean: 1}, {Dataset: "d", Label: "|HW|", Quantity: "R²", N: 2, Mean: 2}}}
	var text strings.Builder
	if err := r.WriteMarkdown(&text, ""); err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(text.String(), "\n|")
	lines := strings.Split("|"+table, "\n")
	bars := func(line string) int { return strings.Count(strings.ReplaceAll(line, `\|`, ""), "|") }
	if bars(lines[0]) != 4 || bars(lines[1]) != 4 || bars(lines[2]) != 4 || !strings.Contains(lines[0], `β1 of \|HW\| on \|QP\|`) || !strings.HasPrefix(lines[2], `| \|HW\| |`) {
		t.Errorf("%s\nunder\n%s", lines[2], lines[0])
	}
}

// TestRecipesLink checks that results.md names the page of the recipes where that lies beside
// it, and nowhere else.
func TestRecipesLink(t *testing.T) {
	dir := t.TempDir()
	for _, there := range []bool{false, true} {
		if there {
			if err := os.WriteFile(filepath.Join(dir, "recipes.md"), nil, 0o666); err != nil {
				t.Fatal(err)
			}
		}
		if err := new(Results).Save(dir); err != nil {
			t.Fatal(err)
		}
		text, err := os.ReadFile(filepath.Join(dir, "results.md"))
		if err != nil || strings.Contains(string(text), "[recipes.md](recipes.md)") != there {
			t.Errorf("recipes.md there: %v, %v, and the results are\n%s", there, err, text)
		}
	}
}

// TestRemarks checks the lines below tables: counts that the paper prints otherwise, and
// scores that are the same in all runs.
func TestRemarks(t *testing.T) {
	counts := Report{}
	for _, c := range []struct {
		data, label string
		ours, paper float64
	}{
		{"mag", "Edges", 5396336, 5396336}, {"mag", "Degree", 14.66, 7.3}, {"arxiv", "Nodes", 169343, 160343},
		{"arxiv", "Test nodes, %", 28.7, 28}, {"arxiv", "Degree", 7, 13.7}, {"proteins", "Nodes", 5, 132534},
	} {
		row := Row{Dataset: twinOf(c.data), Label: c.label, is: is{Of: aCount}, N: 1, Mean: c.ours, Paper: &PaperValue{Mean: c.paper}}
		row.comparePrinted()
		counts.Rows = append(counts.Rows, row)
	}
	text := strings.Join(counts.remarks(), "\n")
	for _, want := range []string{"1 of 6 numbers equal", "1 different: degree: for Reddit and ogbn-mag", "1 different: nodes: ogbn-arxiv", "1 different: ogbn-arxiv has 13.77", "2 different: the data differ"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	scores := []Row{
		{Dataset: "a", is: is{Of: score}, Label: "LADIES", N: 5, Mean: 12.06}, {Dataset: "a", is: is{Of: score}, Label: "Full-batch", N: 5, Mean: 29, Std: 0.2},
		{Dataset: "b", is: is{Of: score}, Label: "LADIES", N: 1, Mean: 12}, {Dataset: "c", is: is{Of: score}, Label: "LADIES", N: 3, Mean: 7}, {Dataset: "c", is: is{Of: score}, Label: "FastGCN", N: 3, Mean: 7},
	}
	notes := constantScores(scores)
	if len(notes) != 2 || !strings.HasPrefix(notes[0], "a: LADIES: the same score") || !strings.HasPrefix(notes[1], "c: LADIES, FastGCN: the same score") {
		t.Errorf("notes %q", notes)
	}
}
