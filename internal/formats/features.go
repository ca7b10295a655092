package formats

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
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
	v := float32(math.NaN())
	number, isNumber := value.(json.Number)
	text, isText := value.(string)
	wide, err := strconv.ParseFloat(number.String(), 64)
	switch {
	case value == nil:
	case c.Values == nil:
		if v = float32(wide); err != nil || v-v != 0 {
			return row, fmt.Errorf("feature %q: %.40q is no number, or beyond float32", c.Name, fmt.Sprint(value))
		}
	case isNumber || isText:
		if k := slices.Index(c.Values, text+number.String()); k >= 0 {
			v = float32(k)
		}
	default:
		return row, fmt.Errorf("feature %q: want a text", c.Name)
	}
	return c.appendFeatures(row, v), nil
}

// appendFeatures appends the features of a number, or of the text at a place in Values. NaN is
// a missing value.
func (c *Column) appendFeatures(row []float32, v float32) []float32 {
	at, missing := len(row), float32(0)
	row = append(row, make([]float32, max(len(c.Values), 1))...)
	switch {
	case v != v:
		missing = 1
	case c.Values != nil:
		row[at+int(v)] = 1
	default:
		row[at] = c.Scaled(v)
	}
	if c.Missing {
		row = append(row, missing)
	}
	return row
}

// Columns says what the columns became, after Features.
func (t Table) Columns() []Column {
	columns := make([]Column, len(t))
	for k, c := range t {
		columns[k] = c.Column
	}
	return columns
}

// mostValues is the greatest number of values of a column of text that become features.
const mostValues = 1000

// Table holds the columns of the features of tables, before they are scaled over the training nodes
// and joined to one matrix.
type Table []*tableColumn

// tableColumn is a column of numbers or of texts.
type tableColumn struct {
	Column
	what   string           // the column became
	values []float32        // of each node: the number, or the place of its text in Values; NaN where it is missing. nil: the column is left out
	places map[string]int32 // of the texts
	other  int              // cells whose text the schema does not have
	at     int              // place in the schema; −1: none
}

// makeFeatures makes the features.
func (e *edgeList) makeFeatures() {
	tables, path := e.tables("features"), e.keys["features"]
	if e.featureLists != nil {
		e.listFeatures(e.featureLists)
	}
	if len(tables) == 0 {
		return
	}
	e.Table = make(Table, len(e.o.Columns)) // in the order of the schema
	for _, p := range tables {
		e.readColumns(p)
	}
	var lacking []string
	for k, want := range e.o.Columns {
		if e.Table[k] == nil {
			lacking = append(lacking, fmt.Sprintf("%q", want.Name))
		}
	}
	check(lacking == nil, path, "the run was trained with columns of features that are missing here: %s", strings.Join(lacking, ", "))
	check(len(e.Table) > 0, path, "no column of features is left")
}

// isLabel tells whether a column of features is read as the label: it is one of the same
// table, or, if the SPEC does not pick it, has the label's name.
func (e *edgeList) isLabel(p *part, column int) bool {
	return slices.ContainsFunc(e.tables("labels"), func(l *part) bool {
		headers := l.header == isHeader && p.header == isHeader
		same := l.File == p.File || headers && l.firstLine() == p.firstLine()
		return slices.ContainsFunc(e.labelColumns, func(j int) bool {
			return same && j == column || !same && headers && len(p.wanted) == 0 && l.title(j) == p.title(column)
		})
	})
}

// texts returns the different texts in columns without numbers, up to one more than become
// features.
func (e *edgeList) texts(p *part, columns []int) []map[string]bool {
	texts := make([]map[string]bool, p.Width)
	for j := range texts {
		texts[j] = make(map[string]bool)
	}
	if columns = slices.DeleteFunc(slices.Clone(columns), func(j int) bool { return p.counts[j].numeric() }); len(columns) == 0 {
		return texts
	}
	e.eachCell(p, columns, func(_ int32, k int, cell []byte) string {
		if seen := texts[columns[k]]; len(seen) <= mostValues && !p.isMissing(cell) && !seen[string(cell)] {
			seen[string(cell)] = true
		}
		return ""
	})
	return texts
}

// newColumn decides how a column is encoded. The schema decides, if there is one, else the texts.
func (e *edgeList) newColumn(p *part, column int, texts map[string]bool) *tableColumn {
	c := &tableColumn{Column: Column{Name: p.title(column)}, what: "numbers", values: unknownRows(p.Path+": "+p.title(column), e.order.nodes, 1), places: make(map[string]int32)}
	c.at = slices.IndexFunc(e.o.Columns, func(o Column) bool { return o.Name == c.Name })
	isLabel := e.isLabel(p, column)
	check(c.at < 0 || !isLabel, p.Path, "column %q is a feature of the run, and the label here: name another column in labels-columns", c.Name)
	switch {
	case c.at >= 0:
		if c.Column = e.o.Columns[c.at]; c.Values != nil {
			c.what = fmt.Sprintf("one of the run's %d values", len(c.Values))
		}
	case e.o.Columns != nil:
		c.what, c.values = "left out, since the run has no such column", nil
	case isLabel:
		c.what, c.values = "left out, since it is read as the label", nil
	case p.counts[column].numeric():
	case len(texts) == 0:
		c.what, c.values = "left out, it is empty", nil
	case len(texts) > mostValues || len(texts) >= p.rows:
		c.what, c.values = fmt.Sprintf("left out, text of more than %d values or of one in each row", mostValues), nil
	default:
		c.Values = slices.Sorted(maps.Keys(texts))
		c.what = fmt.Sprintf("one of %d values", len(c.Values))
	}
	for place, text := range c.Values {
		c.places[text] = int32(place)
	}
	return c
}

// readColumns reads the columns of one table, and says what each is.
func (e *edgeList) readColumns(p *part) {
	columns := e.valueColumns(p)
	try(memory.Check("datasets: "+p.Path+": its columns", memory.Product(len(columns), e.order.nodes, 4)))
	var made []*tableColumn
	texts := e.texts(p, columns)
	for _, j := range columns {
		made = append(made, e.newColumn(p, j, texts[j]))
	}
	e.eachCell(p, columns, func(node int32, k int, cell []byte) (fault string) {
		c := made[k]
		place, known := c.places[string(cell)]
		v, number := p.number(cell)
		switch {
		case c.values == nil || p.isMissing(cell):
		case known:
			c.values[node] = float32(place)
		case c.Values != nil:
			c.other++
		case !number || v-v != 0:
			fault = " is not a finite number"
		case bytes.IndexByte(cell, ',') >= 0 && p.decimal == "" && (p.Sep == ',' || p.counts[columns[k]][decimalCells] == 0):
			fault = ": the comma is a decimal mark, or separates thousands: say decimal=comma or decimal=point"
		default:
			c.values[node] = float32(v)
		}
		return fault
	})
	var says []string
	for _, c := range made {
		if c.other > 0 {
			c.what += fmt.Sprintf(", %d rows with another", c.other)
		}
		switch says = append(says, c.Name+" "+c.what); {
		case c.values == nil:
		case c.at < 0:
			e.Table = append(e.Table, c)
		default:
			check(e.Table[c.at] == nil, e.keys["features"], "two columns %q", c.Name)
			e.Table[c.at] = c
		}
	}
	const most = 20
	if len(says) > most {
		says = append(says[:most], fmt.Sprintf("… (%d columns)", len(columns)))
	}
	e.describe(p, e.rowsSay(p)+"; "+strings.Join(says, ", "))
}

// Features scales the columns of numbers over the training nodes to mean 0 and deviation 1, if
// scale is true, except columns of 0 and 1, and joins all columns to a matrix. A missing
// number becomes 0; a column in which a training node misses one gets a column of 1 for those
// nodes after it. Without training nodes, any node counts. Options.Columns decide all this
// instead. notes say how many there are.
func (t Table) Features(ctx context.Context, train []int32, scale bool) (x *graph.Features, notes []string, err error) {
	if train == nil {
		train = make([]int32, len(t[0].values))
		for i := range train {
			train[i] = int32(i)
		}
	}
	set, err := readSet(ctx, "features", Options{}, func(r *reader) { t.join(r, train, scale) })
	if err != nil {
		return nil, nil, err
	}
	return set.Features, set.Notes, nil
}

func (t Table) join(r *reader, train []int32, scale bool) {
	nodes, entries, scaled, masks := len(t[0].values), 0, 0, 0
	for _, c := range t {
		if c.at < 0 {
			c.Missing = slices.ContainsFunc(train, func(i int32) bool { return c.values[i] != c.values[i] })
			if scale {
				c.measure(train)
			}
		}
		if c.Deviation > 0 {
			scaled++
		}
		if c.Missing {
			masks++
		}
		for _, v := range c.values {
			if c.Values != nil || c.Missing || c.Deviation > 0 || v != 0 {
				entries++
			}
		}
	}
	if scaled > 0 {
		r.note("features: numbers scaled to mean 0 and deviation 1 over the training nodes (normalize=none leaves them): %d of %d columns", scaled, len(t))
	}
	if masks > 0 {
		r.note("features: missing values become 0, and a further column marks them: %d of %d columns", masks, len(t))
	}
	cols := len(t.appendRow(nil, 0))
	if 8*entries+8*nodes < 4*nodes*cols {
		r.sparseFeatures("features", nodes, cols, entries, t.entries)
		return
	}
	data := zeros("the features of the tables", nodes, cols)[:0]
	for i := range nodes {
		r.poll(i)
		data = t.appendRow(data, i)
	}
	r.Features = &graph.Features{Rows: nodes, Cols: cols, Data: data}
}

// appendRow appends the features of a node.
func (t Table) appendRow(row []float32, node int) []float32 {
	for _, c := range t {
		row = c.appendFeatures(row, c.values[node])
	}
	return row
}

// entries returns the features of a node that are not 0.
func (t Table) entries(node int) (columns []int32, values []float32) {
	for j, v := range t.appendRow(nil, node) {
		if v != 0 {
			columns, values = append(columns, int32(j)), append(values, v)
		}
	}
	return columns, values
}

// Scaled tells whether there is a column that scaling changes.
func (t Table) Scaled() bool { return slices.ContainsFunc(t, (*tableColumn).scales) }

// scales tells whether scaling changes a column.
func (c *tableColumn) scales() bool {
	return c.Values == nil && slices.ContainsFunc(c.values, func(v float32) bool { return v == v && v != 0 && v != 1 })
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
		if v := c.values[i]; v == v {
			values = append(values, float64(v))
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
