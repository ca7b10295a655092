package reproduce

import (
	"cmp"
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
	Undecided   Verdict = "undecided" // some data sets are not measured that could decide
)

// Claim is a statement of the paper's text about its results, judged by ours.
type Claim struct {
	Where   string  `json:"where"` // section of the paper
	Text    string  `json:"text"`
	Verdict Verdict `json:"verdict"`
	Numbers string  `json:"numbers"` // behind the verdict
	Paper   Verdict `json:"paper"`   // by the numbers that the paper itself prints; "" if it prints none
}

// claim is a statement of the paper's text, as claims.json has it. It holds on a data set if
// all its rules do. Without rules it is prose below its first table.
type claim struct {
	Claim
	Tables []string   `json:"tables"`           // that have the rows; the first one names the data sets
	Data   []string   `json:"data,omitempty"`   // the data sets it is about, if not all
	Sparse bool       `json:"sparse,omitempty"` // it is about sparse graphs: data that are not in the paper count if they are sparse
	Need   quantifier `json:"need,omitempty"`
	Not    bool       `json:"not,omitempty"` // it holds where the rules do not
	Legend string     `json:"legend,omitempty"`
	Join   string     `json:"join,omitempty"` // between the numbers of two rules
	Rules  []rule     `json:"rules,omitempty"`
}

// quantifier says on how many data sets a claim must hold.
type quantifier string

const (
	every   quantifier = ""
	most    quantifier = "most"    // more than half
	several quantifier = "several" // two, or one if only one was measured
)

// verdict decides from three numbers of data sets: holds counts those on which a claim holds,
// measured those on which it was measured, and open the others.
func (q quantifier) verdict(holds, measured, open int) Verdict {
	all := measured + open
	least := map[quantifier]int{every: all, most: all/2 + 1, several: min(2, all)}[q]
	switch {
	case measured == 0:
		return NotMeasured
	case holds >= least:
		return Seen
	case holds+open >= least:
		return Undecided
	}
	return NotSeen
}

// rule compares rows of one data set. It is of one of six kinds:
//
//	difference  of two rows: above twice its standard error, or within the limits
//	ratio       of the times of two rows: within the limits
//	values      of rows: within the limits, all or at least some
//	weak        regressions: no R² above the limit at a positive slope
//	curve       of errors: below another one at each size, or their ratio within the limits
//	shape       of a curve of errors: a U
type rule struct {
	Kind  string `json:"rule"`
	Only  string `json:"only,omitempty"`  // data set that it is about
	Table string `json:"table,omitempty"` // if not the claim's first
	is
	Labels  []string   `json:"labels,omitempty"`
	Layers  []int      `json:"layers,omitempty"`
	Pairs   [][]string `json:"pairs,omitempty"`   // of labels; of several in the second place the best one counts; * is the best of all others
	Methods []string   `json:"methods,omitempty"` // of curves
	UpTo    int        `json:"up_to,omitempty"`   // largest size of curves

	From  *float64 `json:"from,omitempty"` // limits
	To    *float64 `json:"to,omitempty"`
	Least int      `json:"least,omitempty"` // values that must hold, if not all

	Count  bool   `json:"count,omitempty"`  // the numbers are how many hold
	Named  bool   `json:"named,omitempty"`  // the numbers have labels, layers and errors
	Aside  bool   `json:"aside,omitempty"`  // the rule decides nothing
	Format string `json:"format,omitempty"` // of the numbers
	Digits int    `json:"digits,omitempty"` // after the point; 0 means short
}

// finding is the outcome for one data set.
type finding struct {
	holds   bool
	numbers string
}

// number is a number that a rule judges.
type number struct {
	v, se float64
	text  string
}

// judge returns the outcome of a rule, or nil if a row was not measured.
func (q rule) judge(e evidence, data string) *finding {
	numbers, text := map[string]func(rule, evidence, string) ([]number, string){
		"difference": rule.pairs, "ratio": rule.pairs, "values": rule.values, "weak": rule.weak, "curve": rule.curve, "shape": rule.shape,
	}[q.Kind](q, e, data)
	if numbers == nil {
		return nil
	}
	n := 0
	var words []string
	for _, of := range numbers {
		if q.holds(of) {
			n++
		}
		words = append(words, of.text)
	}
	switch {
	case q.Count:
		text = fmt.Sprintf("%d of %d", n, len(numbers))
	case text == "":
		text = strings.Join(words, ", ")
	}
	return &finding{n >= cmp.Or(q.Least, len(numbers)), fmt.Sprintf(cmp.Or(q.Format, "%s"), text)}
}

// limited reports whether the rule has limits.
func (q rule) limited() bool { return q.From != nil || q.To != nil }

// holds judges a number by the limits, or without limits by its standard error.
func (q rule) holds(of number) bool {
	if !q.limited() {
		return of.v > 2*of.se
	}
	return (q.From == nil || of.v >= *q.From) && (q.To == nil || of.v <= *q.To)
}

func (q rule) text(v float64) string {
	if q.Digits > 0 {
		return fmt.Sprintf("%.*f", q.Digits, v)
	}
	return short(v)
}

// The functions below return the numbers of a rule on one data set, nil if a row was not
// measured, and their text if it is not the texts of the numbers.

func (q rule) pairs(e evidence, data string) (numbers []number, _ string) {
	for _, p := range q.Pairs {
		a, b := q.best(e, data, p[:1], p), q.best(e, data, p[1:], p)
		switch {
		case a == nil || b == nil || q.Of == aTime && !(a.Median > 0 && b.Median > 0):
			return nil, ""
		case q.Of == aTime:
			numbers = append(numbers, number{v: a.Median / b.Median, text: short(a.Median / b.Median)})
		default:
			numbers = append(numbers, difference(a, b))
		}
	}
	return numbers, ""
}

// best returns the row with the best mean of the labels, or nil if one is missing.
func (q rule) best(e evidence, data string, labels, pair []string) *Row {
	var best *Row
	n, others := 0, labels[0] == "*"
	for _, row := range e[q.Table] {
		if !row.of(data, q.is) || slices.Contains(labels, row.Label) == others || others && slices.Contains(pair, row.Label) {
			continue
		}
		if n++; best == nil || row.Mean > best.Mean {
			best = &row
		}
	}
	if !others && n < len(labels) {
		return nil
	}
	return best
}

// difference is the difference of two rows with its standard error.
func difference(a, b *Row) number {
	v, se := a.Mean-b.Mean, math.Hypot(a.SEM, b.SEM)
	return number{v, se, signed(v, se)}
}

// signed writes a number with its sign and its standard error.
func signed(v, se float64) string {
	if v > 0 {
		return "+" + plusMinus(v, se)
	}
	return plusMinus(v, se)
}

func (q rule) values(e evidence, data string) (numbers []number, _ string) {
	for _, label := range append(q.Labels, "")[:max(len(q.Labels), 1)] {
		for _, q.Layer = range append(q.Layers, 0)[:max(len(q.Layers), 1)] {
			row := e.row(q.Table, data, label, q.is)
			if row == nil {
				return nil, ""
			}
			text := q.text(row.Mean)
			if q.Named {
				text = fmt.Sprintf("%s layer %d %s", label, q.Layer, signed(row.Mean, row.SEM))
			}
			numbers = append(numbers, number{v: row.Mean, text: text})
		}
	}
	return numbers, ""
}

// weak looks at the regressions with a positive slope, or at all of the labels if it has some.
func (q rule) weak(e evidence, data string) ([]number, string) {
	largest, n := 0.0, 0
	for _, row := range e[q.Table] {
		if q.Of, q.Layer = r2, row.is.Layer; !row.of(data, q.is) || q.Labels != nil && !slices.Contains(q.Labels, row.Label) {
			continue
		}
		n++
		q.Of = slope
		if line := e.row(q.Table, data, row.Label, q.is); q.Labels != nil || line == nil || line.Mean > 0 {
			largest = max(largest, row.Mean)
		}
	}
	switch {
	case n == 0:
		return nil, ""
	case q.Labels != nil:
		return []number{{v: largest}}, fmt.Sprintf("largest R² %.3f", largest)
	}
	return []number{{v: largest}}, fmt.Sprintf("largest R² of %d regressions at a positive slope %.3f", n, largest)
}

func (q rule) curve(e evidence, data string) (numbers []number, text string) {
	low, high := q.errors(e, data, 0), q.errors(e, data, 1)
	if !slices.EqualFunc(low, high, func(a, b Row) bool { return slices.Equal(a.Samples, b.Samples) && b.Mean > 0 }) {
		return nil, ""
	}
	least, largest := math.Inf(1), 0.0
	for k := range low {
		ratio := low[k].Mean / high[k].Mean
		least, largest = min(least, ratio), max(largest, ratio)
		of := number{v: ratio}
		if !q.limited() {
			of = difference(&high[k], &low[k])
		}
		numbers = append(numbers, of)
	}
	return numbers, q.text(least) + " to " + q.text(largest)
}

func (q rule) shape(e evidence, data string) ([]number, string) {
	curve := q.errors(e, data, 0)
	if len(curve) < 3 {
		return nil, ""
	}
	last := &curve[len(curve)-1]
	lowest := slices.MinFunc(curve, func(a, b Row) int { return cmp.Compare(a.Mean, b.Mean) })
	rise := difference(last, &lowest)
	if slices.Equal(lowest.Samples, curve[0].Samples) {
		rise.v = 0 // no U: it has no left side
	}
	return []number{rise}, fmt.Sprintf("lowest %s at %d, %s at %d", short(lowest.Mean), lowest.Samples[0], short(last.Mean), last.Samples[0])
}

// errors returns the errors of one of the methods over the sample size.
func (q rule) errors(e evidence, data string, k int) []Row {
	return slices.DeleteFunc(slices.Clone(e[q.Table]), func(row Row) bool {
		return !row.of(data, is{Of: anError}) || row.Method != q.Methods[k] || len(row.Samples) != 1 || q.UpTo > 0 && row.Samples[0] > q.UpTo
	})
}

// on judges a claim on one data set. It returns nil if a row was not measured.
func (c *claim) on(e evidence, data string) *finding {
	all := &finding{holds: true}
	for _, q := range c.Rules {
		if q.Only != "" && q.Only != data {
			continue
		}
		q.Table = cmp.Or(q.Table, c.Tables[0])
		f := q.judge(e, data)
		switch {
		case f == nil && q.Aside:
			continue
		case f == nil:
			return nil
		case all.numbers != "":
			all.numbers += cmp.Or(c.Join, ", ")
		}
		all.numbers += f.numbers
		all.holds = all.holds && (f.holds || q.Aside)
	}
	all.holds = all.holds != c.Not
	return all
}

// check judges a claim, and shows its numbers.
func (c *claim) check(e evidence) (Verdict, string) {
	var names []string
	for _, row := range e[c.Tables[0]] {
		if name := dataKey(row.Dataset); (c.Data == nil || slices.Contains(c.Data, name) || c.Sparse && e.sparse(name)) && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	holds, measured := 0, 0
	var words []string
	for _, name := range names {
		f := c.on(e, name)
		if f == nil {
			words = append(words, columnName(name)+": not judged")
			continue
		}
		measured++
		answer := "no"
		if f.holds {
			holds++
			answer = "yes"
		}
		words = append(words, fmt.Sprintf("%s: %s, %s", columnName(name), answer, f.numbers))
	}
	verdict := c.Need.verdict(holds, measured, len(names)-measured)
	if verdict == NotMeasured {
		return verdict, ""
	}
	text := strings.Join(words, "; ")
	if c.Legend != "" {
		text = c.Legend + ": " + text
	}
	return verdict, text
}

// judge decides the claims that the reports have all rows for.
func (n *Numbers) judge(reports []*Report) []Claim {
	e := evidence{}
	for _, r := range reports {
		e[r.Experiment] = r.evidence()
	}
	var judged []Claim
	for _, c := range n.claims {
		if c.Rules == nil || slices.ContainsFunc(c.Tables, func(table string) bool { _, there := e[table]; return !there }) {
			continue
		}
		c.Verdict, c.Numbers = c.check(e)
		judged = append(judged, c.Claim)
	}
	return judged
}

// evidence holds the rows of experiments by name.
type evidence map[string][]Row

// evidence returns the rows that can decide claims: neither scores of a twin, nor the scores of
// one run, which have no standard error.
func (r *Report) evidence() []Row {
	rows := slices.DeleteFunc(slices.Clone(r.Rows), func(row Row) bool {
		_, twin := paperDataset(row.Dataset)
		return (row.is.Of == score || row.is.Of == needed) && (twin || row.N == 1)
	})
	for _, spec := range r.data { // also those without a number
		rows = append(rows, Row{Dataset: spec})
	}
	return rows
}

// sparseDegree is the largest mean degree of a sparse graph: the paper's have up to 13.7, the
// others from 50 on.
const sparseDegree = 20

// sparse reports whether data that are not in the paper have a sparse graph.
func (e evidence) sparse(data string) bool {
	name, _ := paperDataset(data)
	degree := e.row("table1", data, "Degree", is{Of: aCount})
	return name == "" && degree != nil && degree.Mean <= sparseDegree
}

// row returns the row of a table for a data set, a label and a number, or nil. The label ""
// means any.
func (e evidence) row(table, data, label string, of is) *Row {
	for _, row := range e[table] {
		if row.of(data, of) && (label == "" || row.Label == label) {
			return &row
		}
	}
	return nil
}

// of reports whether the row has a number of a data set.
func (row *Row) of(data string, number is) bool {
	return row.is == number && dataKey(row.Dataset) == data
}
