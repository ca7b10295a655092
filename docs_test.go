package gcn_test

import (
	"io/fs"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestLinks checks that the links between the pages lead to files and headings that exist.
func TestLinks(t *testing.T) {
	link := regexp.MustCompile(`\]\(([^)\s]+)\)`)
	block := regexp.MustCompile("(?s)```.*?```")
	read := func(name string) string {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		return block.ReplaceAllString(string(text), "")
	}
	links := 0
	err := fs.WalkDir(os.DirFS("."), ".", func(page string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && page != "." && strings.HasPrefix(d.Name(), "."):
			return fs.SkipDir
		case !strings.HasSuffix(page, ".md"):
			return nil
		}
		for _, found := range link.FindAllStringSubmatch(read(page), -1) {
			name, anchor, hasAnchor := strings.Cut(found[1], "#")
			if strings.Contains(name, "://") {
				continue
			}
			links++
			target := page
			if name != "" {
				target = path.Join(path.Dir(page), name)
			}
			if _, err := os.Stat(target); err != nil {
				t.Errorf("%s: the link %s leads to no file", page, found[1])
			} else if hasAnchor && strings.HasSuffix(target, ".md") && !slices.Contains(anchors(read(target)), anchor) {
				t.Errorf("%s: the link %s leads to no heading", page, found[1])
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if links < 100 {
		t.Errorf("only %d links found", links)
	}
}

// anchors returns the anchors of a page's headings.
func anchors(page string) []string {
	var names []string
	for _, heading := range regexp.MustCompile(`(?m)^#+ (.*)$`).FindAllStringSubmatch(page, -1) {
		name := regexp.MustCompile(`[^\p{L}\p{N}_ -]`).ReplaceAllString(strings.ToLower(heading[1]), "")
		names = append(names, strings.ReplaceAll(strings.TrimSpace(name), " ", "-"))
	}
	return names
}

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
