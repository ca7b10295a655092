package gcn_test

import (
	"io/fs"
	"os"
	"regexp"
	"strings"
	"testing"
)

// TestPaperNamesTests checks that docs/paper.md names existing tests only, and a test in each
// row of its tables of sections, equations and statements.
func TestPaperNamesTests(t *testing.T) {
	page, err := os.ReadFile("docs/paper.md")
	if err != nil {
		t.Fatal(err)
	}
	exist := map[string]bool{}
	function := regexp.MustCompile(`(?m)^func (Test\w+)\(`)
	err = fs.WalkDir(os.DirFS("."), ".", func(path string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		text, err := os.ReadFile(path)
		for _, found := range function.FindAllStringSubmatch(string(text), -1) {
			exist[found[1]] = true
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	sections, _, _ := strings.Cut(string(page), "## Tables and figures")
	for line := range strings.Lines(sections) {
		header := strings.HasPrefix(line, "|---") || strings.HasSuffix(strings.TrimSpace(line), "| test |")
		if strings.HasPrefix(line, "|") && !header && !strings.Contains(line, "`Test") {
			t.Errorf("docs/paper.md: a row without a test: %s", line)
		}
	}
	named := regexp.MustCompile("`(Test\\w+)`").FindAllStringSubmatch(string(page), -1)
	if len(named) < 40 {
		t.Errorf("docs/paper.md names %d tests", len(named))
	}
	for _, name := range named {
		if !exist[name[1]] {
			t.Errorf("docs/paper.md names %s, which does not exist", name[1])
		}
	}
}
