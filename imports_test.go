package gcn_test

import (
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const module = "github.com/gcn-layerwise/gcn"

// layout is the table of packages in CONTRIBUTING.md: the row of each package, from
// the top.
func layout(t *testing.T) map[string]int {
	t.Helper()
	text, err := os.ReadFile("CONTRIBUTING.md")
	if err != nil {
		t.Fatal(err)
	}
	rows := map[string]int{}
	name := regexp.MustCompile("`([^`]+)`")
	for line := range strings.Lines(string(text)) {
		first, isRow := strings.CutPrefix(line, "| `")
		if !isRow {
			continue
		}
		row := len(rows)
		first, _, _ = strings.Cut("`"+first, "|")
		for _, found := range name.FindAllStringSubmatch(first, -1) {
			if _, twice := rows[found[1]]; twice {
				t.Errorf("CONTRIBUTING.md names package %s twice", found[1])
			}
			rows[found[1]] = row
		}
	}
	return rows
}

// imports parses the packages of the module, for every platform and build tag but
// without tests, and returns the imports of each.
func imports(t *testing.T) map[string][]string {
	t.Helper()
	packages := map[string][]string{}
	err := fs.WalkDir(os.DirFS("."), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if base := path.Base(name); d.IsDir() && name != "." {
			_, other := os.Stat(path.Join(name, "go.mod"))
			if other == nil || base == "testdata" || strings.ContainsRune("._", rune(base[0])) {
				return fs.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
			return nil
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ImportsOnly)
		if err != nil {
			return err
		}
		in := path.Dir(name)
		packages[in] = append(packages[in], "")
		for _, spec := range file.Imports {
			imported, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				return err
			}
			packages[in] = append(packages[in], imported)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return packages
}

// The rules of CONTRIBUTING.md: its table names every package, a package imports
// only packages of rows above or of its own, and none above internal/plan imports Gorgonia.
func TestImportsPointOneWay(t *testing.T) {
	rows, packages := layout(t), imports(t)
	for name := range rows {
		if packages[name] == nil {
			t.Errorf("CONTRIBUTING.md names package %s, which does not exist", name)
		}
	}
	gorgonia := []string{"gorgonia.org/gorgonia", "gorgonia.org/tensor"}
	for name, imported := range packages {
		row, named := rows[name]
		if !named {
			t.Errorf("the table in CONTRIBUTING.md lacks package %s", name)
			continue
		}
		for _, other := range slices.Compact(slices.Sorted(slices.Values(imported))) {
			if inside, ok := strings.CutPrefix(other, module+"/"); ok && rows[inside] > row {
				t.Errorf("package %s imports %s, which is below it in CONTRIBUTING.md", name, inside)
			}
			if row < rows["internal/plan"] && slices.Contains(gorgonia, other) {
				t.Errorf("package %s imports %s: only internal/plan and packages below it may", name, other)
			}
		}
	}
}
