package reproduce

import (
	_ "embed"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/template"

	"github.com/gcn-layerwise/gcn/internal/atomicfile"
	"github.com/gcn-layerwise/gcn/internal/machine"
	"github.com/gcn-layerwise/gcn/study"
)

// Results are tables and figures of the paper, made here.
type Results struct {
	Date    string          `json:"date"`
	Machine machine.Machine `json:"machine"` // that made the tables from the cells
	Made    []string        `json:"made"`    // days, machines and programs of the cells
	There   int             `json:"there"`   // cells that are there, or too large for the memory
	Cells   int             `json:"cells"`   // all of them
	Commit  string          `json:"commit"`  // of the program; set by the caller
	Command string          `json:"command"` // that made them; set by the caller
	Source  string          `json:"source"`  // of the paper's numbers
	Preface string          `json:"preface"` // the text of PrefaceFile
	Reports []*Report       `json:"reports"`
	Claims  []Claim         `json:"claims"`
}

// FiguresDir is the folder of the files of Results, beside the text.
const FiguresDir = "figures"

// PrefaceFile is the file in the folder of cells whose text, in Markdown, stands first on the page.
const PrefaceFile = "preface.txt"

// Save writes results.md to dir. CSV and JSON of each table and figure, SVG and PNG of the
// figures go to its folder FiguresDir. A single table or figure goes to dir itself.
func (a *Results) Save(dir string) error {
	if len(a.Reports) == 1 {
		return a.Reports[0].save(dir)
	}
	for _, r := range a.Reports {
		r.Folder = FiguresDir + "/"
		if err := study.Save(filepath.Join(dir, FiguresDir), r.Experiment, r); err != nil {
			return err
		}
	}
	return saveMarkdown(filepath.Join(dir, "results.md"), "results", a)
}

// pagesText has the templates of the page and of a section of it, in Markdown.
//
//go:embed results.md.tmpl
var pagesText string

// writeMarkdown writes the template of that name.
func writeMarkdown(w io.Writer, name string, data any) error {
	t := template.New("").Funcs(template.FuncMap{"cell": escaped, "trim": strings.TrimSpace})
	return template.Must(t.Parse(pagesText)).ExecuteTemplate(w, name, data)
}

func saveMarkdown(path, name string, data any) error {
	return atomicfile.Write(path, func(w io.Writer) error { return writeMarkdown(w, name, data) })
}

// readPreface reads the text of the folder of cells, if there is one.
func (a *Results) readPreface(dir string) error {
	text, err := os.ReadFile(filepath.Join(dir, PrefaceFile))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("reproduce: %w", err)
	}
	a.Preface = string(text)
	return nil
}

// OnTwins reports whether some data are generated twins.
func (a *Results) OnTwins() bool {
	return slices.ContainsFunc(a.Reports, func(r *Report) bool {
		return slices.ContainsFunc(r.Rows, func(row Row) bool {
			_, twin := paperDataset(row.Dataset)
			return twin
		})
	})
}

// Count returns the number of claims with a verdict.
func (a *Results) Count(verdict Verdict) (n int) {
	for _, c := range a.Claims {
		if c.Verdict == verdict {
			n++
		}
	}
	return n
}

// escaped is the text of a cell: ‖HW‖ is written |HW|.
func escaped(text string) string { return strings.ReplaceAll(text, "|", `\|`) }

// Table is the report's table on the page, its headings first, or nil if another report has it.
func (r *Report) Table() [][]string {
	head, lines := r.table("**")
	if r.figureOnly || len(lines) == 0 {
		return nil
	}
	return append([][]string{head}, lines...)
}
