package reproduce

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/gcn-layerwise/gcn/internal/atomicfile"
	"github.com/gcn-layerwise/gcn/internal/machine"
	"github.com/gcn-layerwise/gcn/study"
	"github.com/gcn-layerwise/gcn/study/figure"
)

// Results are all tables and figures of the paper, made here.
type Results struct {
	Date    string          `json:"date"`
	Machine machine.Machine `json:"machine"` // that made the tables from the cells
	Made    []string        `json:"made"`    // days, machines and programs of the cells
	There   int             `json:"there"`   // cells that are there, or too large for the memory
	Cells   int             `json:"cells"`   // all of them
	Commit  string          `json:"commit"`  // of the program; set by the caller
	Command string          `json:"command"` // that made them; set by the caller
	Source  string          `json:"source"`  // of the paper's numbers
	Reports []*Report       `json:"reports"`
	Claims  []Claim         `json:"claims"`
}

// FiguresDir is the folder of the files of Results, beside the text.
const FiguresDir = "figures"

// Save writes results.md to dir. CSV and JSON of each table and figure and of the
// claims, SVG and PNG of the figures go to its folder FiguresDir.
func (a *Results) Save(dir string) error {
	figures := filepath.Join(dir, FiguresDir)
	for _, r := range a.Reports {
		if err := r.saveTables(figures); err != nil {
			return err
		}
	}
	if err := study.Save(figures, "claims", claimTable{a.Claims}); err != nil {
		return err
	}
	_, err := os.Stat(filepath.Join(dir, recipesPage))
	return atomicfile.Write(filepath.Join(dir, "results.md"), func(w io.Writer) error { return a.writeMarkdown(w, err == nil) })
}

// recipesPage is the page of results of recipes, if the folder is the manual's.
const recipesPage = "recipes.md"

// writeMarkdown writes the whole report, with a link to recipesPage if that lies beside it.
func (a *Results) writeMarkdown(w io.Writer, recipes bool) error {
	var b strings.Builder
	fmt.Fprintf(&b, "# The paper's tables and figures\n\n")
	fmt.Fprintf(&b, "Every table and figure of %s, made by this program. Numbers in brackets are the paper's. "+
		"Each caption says whether the data are the original or a generated twin. On a twin, sizes and costs are comparable. "+
		"The scores of methods that sample, and their order, are not: a twin is fitted to the scores of full batch and of the features alone. "+
		"± is the standard deviation over the runs, if the caption does not say otherwise; in the list of claims it is the standard error of a difference.\n\n", a.Source)
	if recipes {
		fmt.Fprintf(&b, "The models here are the paper's. [%s](%[1]s) has results of tuned models, the recipes of `gcn train`, beside the published ones, with the differences.\n\n", recipesPage)
	}
	fmt.Fprintf(&b, "| | |\n|---|---|\n")
	state := fmt.Sprintf("complete: %d", a.Cells)
	if a.There < a.Cells {
		state = fmt.Sprintf("**not complete**: %d of %d; the captions say which are missing", a.There, a.Cells)
	}
	lines := [][2]string{{"date", a.Date}, {"commit", a.Commit}, {"command", "`" + a.Command + "`"}, {"cells", state}}
	for _, made := range a.Made {
		lines = append(lines, [2]string{"", made})
	}
	for _, line := range lines {
		if line[1] != "" && line[1] != "``" {
			fmt.Fprintf(&b, "| %s | %s |\n", line[0], escaped(line[1]))
		}
	}
	fmt.Fprintf(&b, "\n## The paper's claims about its results\n\n%s\n\n", a.tally())
	b.WriteString("| where | claim | here | paper's tables | our numbers |\n|---|---|---|---|---|\n")
	for _, c := range a.Claims {
		if c.Verdict == NotMeasured && a.There < a.Cells {
			continue // most would be; claims.csv has all
		}
		paper := string(c.Paper)
		if c.Paper == NotMeasured {
			paper = "–"
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s |\n", c.Where, escaped(c.Text), c.Verdict, paper, escaped(c.Numbers))
	}
	for _, r := range a.Reports {
		b.WriteString("\n")
		if err := r.WriteMarkdown(&b, FiguresDir+"/"); err != nil {
			return err
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// tally counts the verdicts.
func (a *Results) tally() string {
	count := map[Verdict]int{}
	for _, c := range a.Claims {
		count[c.Verdict]++
	}
	others := ""
	if n := count[Undecided]; n > 0 {
		others = fmt.Sprintf("; undecided, because cells that could decide are missing: %d", n)
	}
	if n := count[NotMeasured]; n > 0 {
		others += fmt.Sprintf("; not measured: %d", n)
		if a.There < a.Cells {
			others += fmt.Sprintf(" (%s/claims.csv lists them)", FiguresDir)
		}
	}
	text := fmt.Sprintf("Of %d claims, %d are seen here and %d are not%s. "+
		"A metric is better if the difference is more than twice its standard error, so a comparison needs two runs. The best metric and distances in points are judged by the means alone, slopes by their sign. The limits of words such as small or comparable are ours. "+
		"The fourth column judges the numbers that the paper prints in the same way; – means that it prints none.",
		len(a.Claims), count[Seen], count[NotSeen], others)
	// Whether some data are generated twins.
	if slices.ContainsFunc(a.Reports, func(r *Report) bool {
		return slices.ContainsFunc(r.Rows, func(row Row) bool {
			_, twin := paperDataset(row.Dataset)
			return twin
		})
	}) {
		text += " On a twin, a verdict on scores of methods that sample is about the twin: it says nothing for or against the paper."
	}
	return text
}

// claimTable is the list of claims as files.
type claimTable struct {
	Claims []Claim `json:"claims"`
}

// Header implements study.Table.
func (claimTable) Header() []string {
	return []string{"number", "where", "claim", "verdict", "paper", "numbers"}
}

// Records implements study.Table.
func (t claimTable) Records() [][]string {
	var records [][]string
	for k, c := range t.Claims {
		records = append(records, []string{strconv.Itoa(k + 1), c.Where, c.Text, string(c.Verdict), string(c.Paper), c.Numbers})
	}
	return records
}

// Figure implements study.Table.
func (claimTable) Figure() *figure.Figure { return nil }
