package gcn_test

import (
	"go/ast"
	"go/parser"
	"go/scanner"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path"
	"slices"
	"strings"
	"testing"
)

// ceilings holds the largest number of lines of code of each folder, with the folders
// below it that have no row. A line counts if a token of Go is on it. Tests and generated
// files do not count. CONTRIBUTING.md says how a ceiling moves.
var ceilings = map[string]int{
	"bench":                     74,
	"cmd/gcn":                   2998,
	"cuda":                      2096,
	"datasets":                  1943,
	"examples":                  191,
	"graph":                     1482,
	"internal/argument":         9,
	"internal/atomicfile":       88,
	"internal/bench":            350,
	"internal/blas":             650,
	"internal/crash":            21,
	"internal/device":           687,
	"internal/filelock":         31,
	"internal/fetch":            414,
	"internal/finite":           46,
	"internal/formats":          3298,
	"internal/full":             1062,
	"internal/half":             37,
	"internal/kernel":           2161,
	"internal/kernel/_generate": 1669,
	"internal/longtest":         12,
	"internal/machine":          55,
	"internal/markup":           13,
	"internal/memory":           146,
	"internal/mpi":              620,
	"internal/npy":              391,
	"internal/parallel":         163,
	"internal/partition":        258,
	"internal/plan":             1440,
	"internal/pickle":           360,
	"internal/reference":        318,
	"internal/ranks":            618,
	"internal/regularfile":      33,
	"internal/report":           479,
	"internal/reproduce":        2295,
	"internal/rundir":           175,
	"internal/simd":             30,
	"internal/splitmix":         9,
	"internal/store":            433,
	"internal/synth":            563,
	"internal/table":            572,
	"internal/tfevents":         56,
	"internal/tune":             221,
	"internal/weights":          305,
	"layers":                    1735,
	"notebook":                  455,
	"notebooks/kernel":          930,
	"ops":                       2609,
	"run":                       1746,
	"samplers":                  2295,
	"samplers/samplertest":      375,
	"score":                     741,
	"serve":                     646,
	"study":                     2374,
	"study/figure":              513,
	"train":                     2985,
}

// Ceilings of the whole project.
const (
	tokensOfALine  = 8.31  // lines are saved by deleting and merging, not by packing
	generatedLines = 483   // lines of code in generated files
	wordsOfPages   = 30000 // without CHANGELOG.md, the pages of results and docs/adr
	wordsOfADRs    = 10000
)

// size counts the lines and tokens of Go files.
type size struct {
	code, comments, tokens, generated int
}

// add counts a file. A line with code and a comment is a line of code.
func (s *size) add(source []byte, isGenerated bool) {
	file := token.NewFileSet().AddFile("", -1, len(source))
	var scan scanner.Scanner
	scan.Init(file, source, nil, scanner.ScanComments)
	code, comments := map[int]bool{}, map[int]bool{}
	tokens := 0
	for {
		pos, kind, text := scan.Scan()
		if kind == token.EOF {
			break
		}
		if kind == token.SEMICOLON && text == "\n" {
			continue // inserted by the scanner
		}
		lines := code
		if kind == token.COMMENT {
			lines = comments
		} else {
			tokens++
		}
		first := file.Line(pos)
		for line := first; line <= first+strings.Count(text, "\n"); line++ {
			lines[line] = true
		}
	}
	if isGenerated {
		s.generated += len(code)
		return
	}
	maps.DeleteFunc(comments, func(line int, _ bool) bool { return code[line] })
	s.code += len(code)
	s.comments += len(comments)
	s.tokens += tokens
}

// TestCeilings checks the lines of code of each folder, the tokens of a line and the words
// of the pages. With -v it prints all of them.
func TestCeilings(t *testing.T) {
	sizes := map[string]*size{}
	var all size
	var pages, decisions int
	err := fs.WalkDir(os.DirFS("."), ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && name != "." && (d.Name()[0] == '.' || d.Name() == "testdata"):
			return fs.SkipDir
		case strings.HasSuffix(name, ".md") && name != "CHANGELOG.md" && path.Base(name) != "results.md":
			text, err := os.ReadFile(name)
			if words := len(strings.Fields(string(text))); path.Dir(name) == "docs/adr" {
				decisions += words
			} else {
				pages += words
			}
			return err
		case !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go"):
			return nil
		case strings.HasPrefix(name, "notebooks/kernel/bindings/x_"):
			return nil // generated at installation, not committed
		}
		source, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), name, source, parser.PackageClauseOnly|parser.ParseComments)
		if err != nil {
			return err
		}
		row := path.Dir(name)
		for row != "." && ceilings[row] == 0 {
			row = path.Dir(row)
		}
		if row == "." {
			t.Errorf("%s: its folder has no row in size_test.go", name)
		}
		if sizes[row] == nil {
			sizes[row] = new(size)
		}
		for _, s := range []*size{sizes[row], &all} {
			s.add(source, ast.IsGenerated(parsed))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range slices.Sorted(maps.Keys(ceilings)) {
		s := sizes[row]
		if s == nil {
			t.Errorf("%s is in size_test.go, and has no Go files", row)
			continue
		}
		t.Logf("%-26s %5d of %5d lines of code, %4d of comments, %.2f tokens a line, %d lines generated",
			row, s.code, ceilings[row], s.comments, float64(s.tokens)/float64(s.code), s.generated)
		if s.code > ceilings[row] {
			t.Errorf("%s has %d lines of code, and its ceiling is %d: see CONTRIBUTING.md", row, s.code, ceilings[row])
		}
	}
	perLine := float64(all.tokens) / float64(all.code)
	t.Logf("%-26s %5d lines of code, %d of comments, %.2f tokens a line, %d lines generated", "all", all.code, all.comments, perLine, all.generated)
	t.Logf("%d words on pages, %d in docs/adr", pages, decisions)
	if perLine > tokensOfALine {
		t.Errorf("a line of code has %.2f tokens, at most %v are allowed", perLine, tokensOfALine)
	}
	if all.generated > generatedLines {
		t.Errorf("generated files have %d lines of code, at most %d are allowed", all.generated, generatedLines)
	}
	if pages > wordsOfPages {
		t.Errorf("the pages have %d words, at most %d are allowed", pages, wordsOfPages)
	}
	if decisions > wordsOfADRs {
		t.Errorf("docs/adr has %d words, at most %d are allowed", decisions, wordsOfADRs)
	}
}
