package reproduce

import (
	"strings"
	"testing"
)

// TestMarkdownCells checks that a vertical bar in a cell does not split it.
func TestMarkdownCells(t *testing.T) {
	r := Report{Rows: []Row{{Dataset: "d", Label: "LADIES", Quantity: "β1 of |HW| on |QP|, layer 1", N: 2, Mean: 1}}}
	var text strings.Builder
	if err := r.WriteMarkdown(&text); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(text.String(), "\n")
	bars := func(line string) int { return strings.Count(strings.ReplaceAll(line, `\|`, ""), "|") }
	if bars(lines[2]) != bars(lines[0]) || !strings.Contains(lines[2], `β1 of \|HW\| on \|QP\|`) {
		t.Errorf("%s under\n%s", lines[2], lines[0])
	}
}
