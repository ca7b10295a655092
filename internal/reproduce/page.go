package reproduce

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

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
		if err := study.Save(filepath.Join(dir, FiguresDir), r.Experiment, r); err != nil {
			return err
		}
	}
	return atomicfile.Write(filepath.Join(dir, "results.md"), func(w io.Writer) error {
		_, err := io.WriteString(w, a.markdown())
		return err
	})
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

// markdown returns the whole page.
func (a *Results) markdown() string {
	var b strings.Builder
	b.WriteString("# The paper's tables and figures\n\n")
	if a.Preface != "" {
		b.WriteString(strings.TrimSpace(a.Preface) + "\n\n## How to read the tables\n\n")
	}
	fmt.Fprintf(&b, "Every table and figure of %s, made by this program. The models are the paper's. Numbers in brackets are the paper's. "+
		"± is the standard deviation over the runs, if the caption does not say otherwise; in the list of claims it is the standard error of a difference.\n", a.Source)
	if a.onTwins() {
		b.WriteString("\nThe data of these tables are generated twins. Sizes and costs are comparable with the paper's. Scores of methods that sample, and their order, are not: " +
			"a twin is fitted to the scores of full batch and of the features alone. So no claim about scores is judged on a twin.\n")
	}
	state := fmt.Sprintf("complete: %d", a.Cells)
	if a.There < a.Cells {
		state = fmt.Sprintf("**not complete**: %d of %d; the captions say which are missing", a.There, a.Cells)
	}
	lines := [][]string{{"", ""}, {"date", a.Date}, {"commit", a.Commit}, {"command", "`" + a.Command + "`"}, {"cells", state}}
	for _, made := range a.Made {
		lines = append(lines, []string{"", made})
	}
	markdownTable(&b, "|---|---|", lines)
	fmt.Fprintf(&b, "\n## The paper's claims about its results\n\n%s\n", a.tally())
	lines = [][]string{{"where", "claim", "here", "paper's tables", "our numbers"}}
	for _, c := range a.Claims {
		if c.Verdict == NotMeasured {
			continue
		}
		lines = append(lines, []string{c.Where, c.Text, string(c.Verdict), cmp.Or(string(c.Paper), "–"), c.Numbers})
	}
	markdownTable(&b, "|---|---|---|---|---|", lines)
	for _, r := range a.Reports {
		b.WriteString("\n" + r.markdown(FiguresDir+"/"))
	}
	return b.String()
}

// onTwins reports whether some data are generated twins.
func (a *Results) onTwins() bool {
	return slices.ContainsFunc(a.Reports, func(r *Report) bool {
		return slices.ContainsFunc(r.Rows, func(row Row) bool {
			_, twin := paperDataset(row.Dataset)
			return twin
		})
	})
}

// tally counts the verdicts.
func (a *Results) tally() string {
	count := map[Verdict]int{}
	for _, c := range a.Claims {
		count[c.Verdict]++
	}
	return fmt.Sprintf("Of %d claims, %d are seen here, %d are not, %d are undecided, since numbers are missing, and %d are not judged: they are about other data, or all numbers are missing. "+
		"A metric is better if the difference is more than twice its standard error, so a comparison needs two runs. The best metric and distances in points are judged by the means alone, slopes by their sign. The limits of words such as small or comparable are ours. "+
		"The fourth column judges the numbers that the paper prints in the same way; – means that it prints none.",
		len(a.Claims), count[Seen], count[NotSeen], count[Undecided], count[NotMeasured])
}
