package formats

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/gcn-layerwise/gcn/graph"
	"github.com/gcn-layerwise/gcn/internal/memory"
)

// Column says what a column of a table became: one feature for a number, one of 0 and 1 for
// each text, and after them one of 1 where a training node misses a value.
type Column struct {
	Name   string   `json:"name,omitempty"`
	Values []string `json:"values,omitempty"` // of texts, in order; nil for numbers

	// A number v becomes (v − Mean) / Deviation; a Deviation of 0 leaves it.
	Mean      float64 `json:"mean,omitempty"`
	Deviation float64 `json:"deviation,omitempty"`

	Missing bool `json:"missing,omitempty"` // a feature says where the value is missing
}

// Scaled returns the feature of a number.
func (c Column) Scaled(v float32) float32 {
	if c.Deviation == 0 {
		return v
	}
	return float32((float64(v) - c.Mean) / c.Deviation)
}

// Append appends the features of a value to row: a string of texts or a json.Number, nil where
// it is missing. A text that is none of Values is missing.
func (c Column) Append(row []float32, value any) ([]float32, error) {
	at, missing := len(row), value == nil
	row = append(row, make([]float32, max(len(c.Values), 1))...)
	number, isNumber := value.(json.Number)
	text, isText := value.(string)
	wide, err := strconv.ParseFloat(number.String(), 64)
	v := float32(wide)
	switch {
	case missing:
	case c.Values != nil && (isNumber || isText):
		k := slices.Index(c.Values, text+number.String())
		if missing = k < 0; !missing {
			row[at+k] = 1
		}
	case c.Values != nil:
		return row, fmt.Errorf("feature %q: want a text", c.Name)
	case !isNumber:
		return row, fmt.Errorf("feature %q: %.40q is no number", c.Name, fmt.Sprint(value))
	case err != nil || v-v != 0:
		return row, fmt.Errorf("feature %q: %s is beyond float32", c.Name, number)
	default:
		row[at] = c.Scaled(v)
	}
	if c.Missing {
		if row = append(row, 0); missing {
			row[len(row)-1] = 1
		}
	}
	return row, nil
}

// Columns says what the columns became, after Features.
func (t *Table) Columns() []Column {
	columns := make([]Column, len(t.columns))
	for k := range t.columns {
		columns[k] = t.columns[k].Column
	}
	return columns
}

// orderColumns puts the columns into the order of the schema. One that no table has is an error.
func (e *edgeList) orderColumns(t *Table) {
	path := e.keys["features"]
	var ordered []tableColumn
	var lacking []string
	for _, want := range e.o.Columns {
		k := slices.IndexFunc(t.columns, func(c tableColumn) bool { return c.Name == want.Name })
		if k < 0 {
			lacking = append(lacking, fmt.Sprintf("%q", want.Name))
			continue
		}
		again := slices.ContainsFunc(t.columns[k+1:], func(c tableColumn) bool { return c.Name == want.Name })
		e.check(!again, path, "two columns %q", want.Name)
		ordered = append(ordered, t.columns[k])
	}
	e.check(lacking == nil, path, "the run was trained with columns of features that are missing here: %s", strings.Join(lacking, ", "))
	t.columns, t.known = ordered, true
}

// mostValues is the greatest number of values of a column of text that become features.
const mostValues = 1000

// Table holds the features of tables, before they are scaled over the training nodes and
// joined to one matrix.
type Table struct {
	columns []tableColumn
	nodes   int
	known   bool // what the columns become is that of Options.Columns
}

// tableColumn is a column of numbers or of texts.
type tableColumn struct {
	Column
	values []float32        // of each node: the number, or the place of its text in Values; NaN where it is missing
	index  map[string]int32 // the places of texts; nil for numbers
	other  int              // cells whose text the schema does not have
	asks   bool             // a comma can separate thousands
}

// makeFeatures makes the features.
func (e *edgeList) makeFeatures() {
	tables := e.tables("features")
	switch {
	case e.featureLists != nil:
		e.listFeatures(e.featureLists)
	case len(tables) > 0:
		e.Table = &Table{nodes: e.order.nodes}
		for _, p := range tables {
			e.readColumns(p, e.Table)
		}
		if e.o.Columns != nil {
			e.orderColumns(e.Table)
		}
		e.check(len(e.Table.columns) > 0, e.keys["features"], "no column of features is left")
	}
}

// isLabel tells whether a column of features is read as the label: it is one of the same
// table, or, if the SPEC does not pick it, has the label's name.
func (e *edgeList) isLabel(p *part, column int) bool {
	for _, l := range e.tables("labels") {
		same := l.File == p.File || l.header == isHeader && p.header == isHeader && l.firstLine() == p.firstLine()
		for _, j := range e.labelColumns {
			switch {
			case same && j == column:
				return true
			case !same && len(p.wanted) == 0 && l.header == isHeader && p.header == isHeader && l.title(j) == p.title(column):
				return true
			}
		}
	}
	return false
}

// readColumns reads the columns of one table, and says what each is.
func (e *edgeList) readColumns(p *part, t *Table) {
	columns := e.valueColumns(p)
	size := memory.Product(int64(len(columns)), int64(e.order.nodes), 4)
	if e.err != nil || !e.ok(memory.Check("datasets: "+p.Path+": its columns", size)) {
		return
	}
	var says []string
	var made []*tableColumn
	var from []int
	known := e.o.Columns != nil
	for _, j := range columns {
		c := &tableColumn{Column: Column{Name: p.title(j)}}
		numeric := p.numeric(j)
		if known {
			want := slices.IndexFunc(e.o.Columns, func(want Column) bool { return want.Name == c.Name })
			if want < 0 {
				says = append(says, c.Name+" left out, since the run has no such column")
				continue
			}
			e.check(!e.isLabel(p, j), p.Path, "column %q is a feature of the run, and the label here: name another column in labels-columns", c.Name)
			c.Column = e.o.Columns[want]
			numeric = c.Values == nil
		}
		if e.isLabel(p, j) {
			says = append(says, c.Name+" left out, since it is read as the label")
			continue
		}
		c.asks = p.counts[j].unsure(&p.forms)
		c.values = slices.Repeat([]float32{float32(math.NaN())}, e.order.nodes)
		if !numeric {
			c.index = make(map[string]int32)
			for place, text := range c.Values {
				c.index[text] = int32(place)
			}
		}
		made, from = append(made, c), append(from, j)
	}
	e.eachCell(p, from, func(node int32, k int, cell []byte) string {
		c := made[k]
		if p.forms.isMissing(cell) {
			return ""
		}
		if c.index != nil {
			c.addText(node, cell, known)
			return ""
		}
		v, number := p.forms.number(cell)
		switch {
		case !number || v-v != 0:
			return " is not a finite number"
		case c.asks && bytes.IndexByte(cell, ',') >= 0:
			return ": the comma is a decimal mark, or separates thousands: say decimal=comma or decimal=point"
		}
		c.values[node] = float32(v)
		return ""
	})
	for _, c := range made {
		what, left := fmt.Sprintf("one of %d values", len(c.Values)), false
		switch {
		case c.index == nil:
			what = "numbers"
		case known:
			what = fmt.Sprintf("one of the run's %d values, %d rows with another", len(c.Values), c.other)
		case len(c.Values) == 0:
			what, left = "left out, it is empty", true
		case len(c.Values) > mostValues || len(c.Values) >= p.rows:
			what, left = fmt.Sprintf("left out, text of more than %d values or of one in each row", mostValues), true
		default:
			c.sortTexts()
		}
		if says = append(says, c.Name+" "+what); !left {
			t.columns = append(t.columns, *c)
		}
	}
	const most = 20
	if len(says) > most {
		says = append(says[:most], fmt.Sprintf("… (%d columns)", len(columns)))
	}
	e.describe(p, e.rowsSay(p)+"; "+strings.Join(says, ", "))
}

// addText gives a node a text, up to one text more than are read. If no text may be new, another
// one is missing.
func (c *tableColumn) addText(node int32, cell []byte, fixed bool) {
	place, known := c.index[string(cell)]
	switch {
	case !known && fixed:
		c.other++
		return
	case !known && len(c.Values) <= mostValues:
		place = int32(len(c.Values))
		c.Values = append(c.Values, string(cell))
		c.index[c.Values[place]] = place
	}
	c.values[node] = float32(place)
}

// sortTexts puts the texts into their order.
func (c *tableColumn) sortTexts() {
	sorted := slices.Sorted(slices.Values(c.Values))
	for place, text := range sorted {
		c.index[text] = int32(place)
	}
	for node, v := range c.values {
		if v == v {
			c.values[node] = float32(c.index[c.Values[int(v)]])
		}
	}
	c.Values = sorted
}

// Features scales the columns of numbers over the training nodes to mean 0 and deviation 1, if
// scale is true, except columns of 0 and 1, and joins all columns to a matrix. A missing
// number becomes 0; a column in which a training node misses one gets a column of 1 for those
// nodes after it. Without training nodes, any node counts. Options.Columns decide all this
// instead. notes say how many there are.
func (t *Table) Features(ctx context.Context, train []int32, scale bool) (x *graph.Features, notes []string, err error) {
	if train == nil {
		train = make([]int32, t.nodes)
		for i := range train {
			train[i] = int32(i)
		}
	}
	width, entries, scaled, masks := 0, 0, 0, 0
	for k := range t.columns {
		c := &t.columns[k]
		if !t.known {
			c.Missing = slices.ContainsFunc(train, func(i int32) bool { return c.missing(i) })
			if scale {
				c.measure(train)
			}
		}
		if c.Deviation > 0 {
			for i, v := range c.values {
				c.values[i] = c.Scaled(v)
			}
			scaled++
		}
		for _, v := range c.values {
			if c.index != nil || c.Missing || v != 0 {
				entries++
			}
		}
		if width += max(len(c.Values), 1); c.Missing {
			width++
			masks++
		}
	}
	if scaled > 0 {
		notes = append(notes, fmt.Sprintf("features: %d columns of numbers scaled to mean 0 and deviation 1 over the training nodes (normalize=none leaves them)", scaled))
	}
	if masks > 0 {
		notes = append(notes, fmt.Sprintf("features: %d columns with missing values, which become 0, and a column of 1 for the nodes that miss one", masks))
	}
	if 8*entries+8*t.nodes < 4*t.nodes*width {
		m := &graph.CSR{Rows: t.nodes, Cols: width, Ptr: make([]int64, 1, t.nodes+1), Idx: make([]int32, 0, entries), Val: make([]float32, 0, entries)}
		for i := range int32(t.nodes) {
			t.row(i, func(column int32, v float32) {
				if v != 0 {
					m.Idx, m.Val = append(m.Idx, column), append(m.Val, v)
				}
			})
			m.Ptr = append(m.Ptr, int64(len(m.Idx)))
		}
		if ones(m.Val) {
			m.Val = nil
		}
		return &graph.Features{Rows: t.nodes, Cols: width, Sparse: m}, notes, ctx.Err()
	}
	what := fmt.Sprintf("datasets: the features of the tables: %d×%d numbers", t.nodes, width)
	if err := memory.Check(what, memory.Product(int64(t.nodes), int64(width), 4)); err != nil {
		return nil, nil, err
	}
	x = &graph.Features{Rows: t.nodes, Cols: width, Data: make([]float32, t.nodes*width)}
	for i := range t.nodes {
		t.row(int32(i), func(column int32, v float32) { x.Data[i*width+int(column)] = v })
	}
	return x, notes, ctx.Err()
}

// row calls set with the values of a node's row that can differ from 0, in order.
func (t *Table) row(node int32, set func(column int32, v float32)) {
	at := int32(0)
	for k := range t.columns {
		c := &t.columns[k]
		switch v := c.values[node]; {
		case v != v:
		case c.index == nil:
			set(at, v)
		default:
			set(at+int32(v), 1)
		}
		if at += int32(max(len(c.Values), 1)); c.Missing {
			if c.missing(node) {
				set(at, 1)
			}
			at++
		}
	}
}

func (c *tableColumn) missing(node int32) bool { return c.values[node] != c.values[node] }

// Scaled tells whether there is a column that scaling changes.
func (t *Table) Scaled() bool { return slices.ContainsFunc(t.columns, tableColumn.scales) }

// scales tells whether scaling changes a column.
func (c tableColumn) scales() bool {
	return c.index == nil && slices.ContainsFunc(c.values, func(v float32) bool { return v == v && v != 0 && v != 1 })
}

// measure finds the mean and the deviation of a column of numbers, as scikit-learn's
// StandardScaler: it takes the population deviation, and 1 for a constant column. It leaves a
// column of 0 and 1, and of texts.
func (c *tableColumn) measure(train []int32) {
	if !c.scales() {
		return
	}
	var values []float64 // that are there
	for _, i := range train {
		if !c.missing(i) {
			values = append(values, float64(c.values[i]))
		}
	}
	mean, deviation, n := 0.0, 0.0, float64(len(values))
	for _, v := range values {
		mean += v / n
	}
	for _, v := range values {
		deviation += (v - mean) * (v - mean) / n
	}
	c.Mean, c.Deviation = mean, cmp.Or(math.Sqrt(deviation), 1)
}
