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
