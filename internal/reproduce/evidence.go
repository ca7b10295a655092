package reproduce

import (
	"fmt"
	"slices"
	"strings"
)

// Verdict says whether a claim is seen in the results.
type Verdict string

// The verdicts.
const (
	Seen        Verdict = "seen"
	NotSeen     Verdict = "not seen"
	NotMeasured Verdict = "not measured"
	Undecided   Verdict = "undecided" // cells that could decide are missing
)

// Claim is a statement judged by our results: of the paper's text about its own, or that
// a data set agrees with published figures.
type Claim struct {
	Where   string  `json:"where"` // section of the paper, or data set
	Text    string  `json:"text"`
	Verdict Verdict `json:"verdict"`
	Numbers string  `json:"numbers"` // behind the verdict
	Paper   Verdict `json:"paper"`   // by the numbers that the paper itself prints
}

// String is the claim on one line, with its verdict and the numbers behind it.
func (c Claim) String() string {
	text := fmt.Sprintf("%s: %s: %s", c.Where, c.Text, c.Verdict)
	if c.Numbers != "" {
		text += " (" + c.Numbers + ")"
	}
	return text
}

// claim is a statement with its predicate.
type claim struct {
	where, text string
	from        []string // the experiments whose rows decide
	check       predicate
}

// judge decides the claims that the reports have all rows for. Claims that no rows
// can decide belong to the whole paper.
func (n *Numbers) judge(reports []*Report) []Claim {
	printed, e := n.evidence(), evidence{}
	for _, r := range reports {
		e[r.Experiment] = r.evidence()
	}
	var judged []Claim
	for _, c := range claims() {
		there := len(c.from) > 0 || len(reports) > 1
		for _, name := range c.from {
			_, known := e[name]
			there = there && known
		}
		if !there {
			continue
		}
		out := Claim{Where: c.where, Text: c.text}
		out.Verdict, out.Numbers = c.check(e)
		out.Paper = NotMeasured
		if len(c.from) > 0 {
			out.Paper, _ = c.check(printed)
		}
		judged = append(judged, out)
	}
	return judged
}

// evidence holds the rows of experiments by name. A data set with missing cells has a row
// that is pending.
type evidence map[string][]Row

// evidence returns the rows that can decide claims. Scores of a data set whose runs are not
// all there decide nothing, nor do the scores of one run, which have no standard error.
func (r *Report) evidence() []Row {
	var rows []Row
	for _, row := range r.Rows {
		unfinished := slices.Contains(r.unfinished, row.Dataset) && !strings.HasPrefix(row.Quantity, "ms ")
		single := row.N == 1 && (strings.HasPrefix(row.Quantity, "test ") || row.Quantity == quantityNeeded)
		if unfinished || single {
			continue
		}
		rows = append(rows, row)
	}
	for _, spec := range r.missing {
		rows = append(rows, Row{Dataset: spec, pending: true})
	}
	return rows
}

// pending reports whether cells of a data set are missing.
func (e evidence) pending(data string) bool {
	for _, rows := range e {
		if slices.ContainsFunc(rows, func(row Row) bool { return row.pending && dataKey(row.Dataset) == data }) {
			return true
		}
	}
	return false
}

// evidence returns the paper's own numbers as rows, with its ± as standard errors. The
// SPEC of a row is the twin's: rows are found by the data set that a SPEC stands for.
func (n *Numbers) evidence() evidence {
	e := evidence{}
	add := func(experiment, quantity string, rows []PaperRow) {
		for _, row := range rows {
			for name, v := range row.Values {
				e[experiment] = append(e[experiment], Row{
					Dataset: "synth:" + name, Label: row.Label, Method: row.Method, Quantity: quantity, N: paperRuns, Mean: v.Mean, SEM: v.PM, Median: v.Mean,
				})
			}
		}
	}
	add("table3", "ms to sample a layer", n.SamplingTime)
	add("table4", "test metric, %", n.Accuracy)
	add("table5", "ms a training step", n.TrainingTime["2"])
	add("table6", "ms a training step", n.TrainingTime["3"])
	add("table7", "test metric, %", n.FastGCNVariants)
	for _, c := range n.Regression {
		experiment := "table2"
		switch {
		case c.On == onQP:
			experiment = "table10"
		case strings.HasPrefix(c.Method, "fastgcn"):
			experiment = "table9"
		}
		for name, v := range map[string]PaperValue{"β0": c.Beta0, "β1": c.Beta1, "R²": c.R2} {
			e[experiment] = append(e[experiment], Row{
				Dataset: "synth:" + c.Dataset, Label: c.Label, Method: c.Method, Quantity: coefficient(name, c.On, overTrain, c.Layer), N: paperRuns, Mean: v.Mean,
			})
		}
	}
	return e
}

// dataKey is the paper's name of a data set, or the SPEC of another one.
func dataKey(spec string) string {
	if name, _ := paperDataset(spec); name != "" {
		return name
	}
	return spec
}

// row returns the row of an experiment for a data set, a label and a quantity that
// begins with some text, or nil.
func (e evidence) row(experiment, data, label, quantity string) *Row {
	for k, row := range e[experiment] {
		if dataKey(row.Dataset) == data && row.Label == label && strings.HasPrefix(row.Quantity, quantity) {
			return &e[experiment][k]
		}
	}
	return nil
}

// data lists the data sets of an experiment.
func (e evidence) data(experiment string) []string {
	var keys []string
	for _, row := range e[experiment] {
		if key := dataKey(row.Dataset); !slices.Contains(keys, key) {
			keys = append(keys, key)
		}
	}
	return keys
}
