package reproduce

import (
	"fmt"
	"math"
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

// predicate decides a claim from rows, and shows its numbers.
type predicate func(e evidence) (Verdict, string)

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
		out.Paper, _ = c.check(printed)
		judged = append(judged, out)
	}
	return judged
}

// evidence holds the rows of experiments by name. A data set with missing cells has a row
// that is pending.
type evidence map[string][]Row

// evidence returns the rows that can decide claims. Scores of a data set whose runs are not
// all there decide nothing.
func (r *Report) evidence() []Row {
	var rows []Row
	for _, row := range r.Rows {
		if !slices.Contains(r.unfinished, row.Dataset) || strings.HasPrefix(row.Quantity, "ms ") {
			rows = append(rows, row)
		}
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

// finding is the outcome for one data set.
type finding struct {
	holds   bool
	numbers string
}

// quantifier says on how many data sets a claim must hold.
type quantifier int

const (
	every   quantifier = iota
	most               // more than half
	several            // two, or one if only one was measured
)

// on returns a predicate that holds on each of the data sets named, or on most or
// several of them; nil means all data sets of the experiment. per returns nil for a
// data set that was not measured.
func on(experiment string, data []string, need quantifier, per func(e evidence, data string) *finding) predicate {
	return func(e evidence) (Verdict, string) {
		names := data
		if names == nil {
			names = e.data(experiment)
		}
		holds, measured, open := 0, 0, 0
		var words []string
		for _, name := range names {
			f := per(e, name)
			if f == nil {
				if e.pending(name) {
					open++
				}
				continue
			}
			measured++
			answer := "no"
			if f.holds {
				holds++
				answer = "yes"
			}
			words = append(words, fmt.Sprintf("%s: %s, %s", lastName(name), answer, f.numbers))
		}
		if measured == 0 {
			return NotMeasured, ""
		}
		return need.verdict(holds, measured, open), strings.Join(words, "; ")
	}
}

// verdict decides from three numbers of data sets: holds counts data sets on which a claim
// holds, measured those on which it was measured, and open those with missing cells.
func (q quantifier) verdict(holds, measured, open int) Verdict {
	enough := func(holds, measured int) bool {
		switch q {
		case every:
			return holds == measured
		case most:
			return 2*holds > measured
		}
		return holds >= min(2, measured)
	}
	worst, best := enough(holds, measured+open), enough(holds+open, measured+open)
	switch {
	case worst:
		return Seen
	case best:
		return Undecided
	}
	return NotSeen
}

// difference is the difference of two rows and its standard error.
func difference(a, b *Row) (diff, se float64) { return a.Mean - b.Mean, math.Hypot(a.SEM, b.SEM) }

// above reports whether a is above b by more than twice the standard error of the
// difference.
func above(a, b *Row) bool {
	diff, se := difference(a, b)
	return diff > 2*se
}

// pair is two labels to compare: the first should be above the second.
type pair struct{ high, low string }

// allAbove compares pairs of a data set by a quantity. It returns nil if a label was
// not measured.
func (e evidence) allAbove(experiment, data, quantity string, pairs []pair) *finding {
	f := &finding{holds: true}
	var words []string
	for _, p := range pairs {
		a, b := e.row(experiment, data, p.high, quantity), e.row(experiment, data, p.low, quantity)
		if a == nil || b == nil {
			return nil
		}
		f.holds = f.holds && above(a, b)
		diff, se := difference(a, b)
		words = append(words, signed(diff, se))
	}
	f.numbers = strings.Join(words, ", ")
	return f
}

// signed writes a difference with its standard error.
func signed(diff, se float64) string {
	text := short(diff)
	if diff > 0 {
		text = "+" + text
	}
	if se > 0 {
		text += " ± " + short(se)
	}
	return text
}

// curve returns the errors of a method over the sample size, up to a largest size.
func (e evidence) curve(data, method string, most int) []Row {
	var rows []Row
	for _, row := range e["figure2"] {
		if dataKey(row.Dataset) == data && row.Method == method && len(row.Samples) == 1 && row.Samples[0] <= most {
			rows = append(rows, row)
		}
	}
	return rows
}

// below returns whether one curve is below another at every size, and the range of
// their ratio. Two curves of different sizes cannot be compared.
func below(low, high []Row) (is bool, numbers string, ok bool) {
	if len(low) == 0 || len(low) != len(high) {
		return false, "", false
	}
	is = true
	for k := range low {
		is = is && above(&high[k], &low[k])
	}
	least, largest := ratios(low, high)
	return is, fmt.Sprintf("ratio %.2f to %.2f", least, largest), true
}

// ratios returns the smallest and the largest ratio of two curves of the same sizes.
func ratios(low, high []Row) (least, largest float64) {
	least = math.Inf(1)
	for k := range low {
		ratio := low[k].Mean / high[k].Mean
		least, largest = min(least, ratio), max(largest, ratio)
	}
	return least, largest
}

// uShape reports whether a curve falls and then rises again by more than its noise.
func uShape(curve []Row) *finding {
	if len(curve) < 3 {
		return nil
	}
	lowest, last := 0, len(curve)-1
	for k := range curve {
		if curve[k].Mean < curve[lowest].Mean {
			lowest = k
		}
	}
	return &finding{
		holds: lowest > 0 && lowest < last && above(&curve[last], &curve[lowest]),
		numbers: fmt.Sprintf("lowest %s at %d, %s at %d", short(curve[lowest].Mean), curve[lowest].Samples[0],
			short(curve[last].Mean), curve[last].Samples[0]),
	}
}
