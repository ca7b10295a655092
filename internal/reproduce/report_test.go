package reproduce

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func markdown(t *testing.T, name string, data any) string {
	t.Helper()
	var b strings.Builder
	if err := writeMarkdown(&b, name, data); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// TestMarkdownCells checks that a vertical bar in a cell does not split it.
func TestMarkdownCells(t *testing.T) {
	r := Report{Experiment: "table2", Rows: []Row{{Dataset: "d", Label: "|HW|", Quantity: "β1 of |HW| on |QP|, layer 1", N: 2, Mean: 1}, {Dataset: "d", Label: "|HW|", Quantity: "R²", N: 2, Mean: 2}}}
	_, table, _ := strings.Cut(markdown(t, "report", &r), "\n|")
	lines := strings.Split("|"+table, "\n")
	bars := func(line string) int { return strings.Count(strings.ReplaceAll(line, `\|`, ""), "|") }
	if bars(lines[0]) != 4 || bars(lines[1]) != 4 || bars(lines[2]) != 4 || !strings.Contains(lines[0], `β1 of \|HW\| on \|QP\|`) || !strings.HasPrefix(lines[2], `| \|HW\| |`) {
		t.Errorf("%s\nunder\n%s", lines[2], lines[0])
	}
}

// TestPage checks what the page says about twins, and that the text of the folder of cells
// stands first.
func TestPage(t *testing.T) {
	page := Results{Reports: []*Report{{Experiment: "table4", Rows: []Row{{Dataset: "cora", Mean: 1}}}}}
	dir := t.TempDir()
	for _, text := range []string{"", "\nWhat to make of it.\n"} {
		if text != "" {
			if err := os.WriteFile(filepath.Join(dir, PrefaceFile), []byte(text), 0o666); err != nil {
				t.Fatal(err)
			}
		}
		if err := page.readPreface(dir); err != nil {
			t.Fatal(err)
		}
		if found := strings.HasPrefix(markdown(t, "results", &page), "# The paper's tables and figures\n\nWhat to make of it.\n\n## How"); found != (text != "") {
			t.Errorf("preface %q: found %v", text, found)
		}
	}
	if strings.Contains(markdown(t, "results", &page), "twins") {
		t.Error("the page tells of twins")
	}
	page.Reports[0].Rows[0].Dataset = "synth:arxiv"
	if !strings.Contains(markdown(t, "results", &page), "no claim about scores is judged on a twin") {
		t.Error("the page does not tell of twins")
	}
}
