package notebook

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestNotebooks checks the notebooks in the repository: each was executed from
// its first cell to its last without an error and ends in a check, and all are small. notebooks/run executes them.
func TestNotebooks(t *testing.T) {
	paths, err := filepath.Glob("../notebooks/*.ipynb")
	if err != nil || len(paths) < 5 {
		t.Fatalf("%d notebooks, %v", len(paths), err)
	}
	total := 0
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		total += len(text)
		var file struct {
			Cells []struct {
				Type    string   `json:"cell_type"`
				Count   int      `json:"execution_count"`
				Source  []string `json:"source"`
				Outputs []struct {
					Type string   `json:"output_type"`
					Text []string `json:"text"`
				} `json:"outputs"`
			} `json:"cells"`
		}
		if err := json.Unmarshal(text, &file); err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		count, source, printed := 0, "", ""
		for _, cell := range file.Cells {
			if cell.Type != "code" {
				continue
			}
			count++
			if cell.Count != count {
				t.Errorf("%s: cell %d was executed as number %d: execute the notebook again", path, count, cell.Count)
			}
			source, printed = strings.Join(cell.Source, ""), ""
			for _, output := range cell.Outputs {
				printed += strings.Join(output.Text, "")
				if output.Type == "error" {
					t.Errorf("%s: cell %d failed", path, count)
				}
			}
		}
		if !strings.Contains(source, "panic(") || !strings.HasPrefix(printed, "checked: ") {
			t.Errorf("%s: the last cell checks nothing, or was not reached", path)
		}
	}
	if total > 1_500_000 {
		t.Errorf("the notebooks take %d bytes", total)
	}
}
