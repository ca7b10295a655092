package formats

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/gcn-layerwise/gcn/graph"
	"github.com/gcn-layerwise/gcn/internal/table"
)

// valueColumns returns the columns of a table of nodes without its ids.
func (e *edgeList) valueColumns(p *part) (columns []int) {
	if len(p.wanted) > 0 {
		names := p.wanted
		if !p.inOrder {
			names = names[1:]
		}
		e.check(len(names) > 0, p.Path, "%s-columns=%s names the ids only: want %s-columns=ID,NAME, or %s-columns=,NAME for rows in node order", p.role, p.wanted[0], p.role, p.role)
		return e.columns(p, names)
	}
	for j := range p.Width {
		if j != p.key && !(j == 0 && p.index) {
			columns = append(columns, j)
		}
	}
	e.check(len(columns) > 0, p.Path, "no column but the ids")
	return columns
}

// eachCell calls visit with the cells of columns, and the node of their row. A text that it
// returns is a fault of the cell.
func (e *edgeList) eachCell(p *part, columns []int, visit func(node int32, k int, cell []byte) string) {
	faults := &table.Faults{Path: p.Path}
	for row, r := range p.data() {
		node := int32(row)
		if p.key >= 0 {
			node = e.order.node(p.ids[row])
		}
		for k, j := range columns {
			fault := visit(node, k, r.Cells[j])
			if fault == "" {
				continue
			}
			place := p.title(j)
			if p.header == isHeader {
				place = fmt.Sprintf("column %d (%s)", j+1, place)
			}
			if p.key >= 0 {
				place += ", node " + e.ids.quoted(p.ids[row])
			}
			faults.Add(r.Line, "%s: %s%s", place, table.Quote(r.Cells[j]), fault)
		}
	}
	e.ok(faults.Err())
}

// rowsSay says how the rows of a table find their nodes.
func (e *edgeList) rowsSay(p *part) string {
	if p.key < 0 {
		return "rows in node order"
	}
	return "ids in " + p.title(p.key)
}

// makeLabels makes the labels.
func (e *edgeList) makeLabels() {
	switch {
	case e.labelLists != nil:
		e.listLabels(e.labelLists)
	case e.keys["labels"] != "" && e.Labels == nil:
		p := e.tables("labels")[0]
		if e.labelColumns = e.valueColumns(p); e.err != nil {
			return
		}
		if len(e.labelColumns) == 1 {
			e.oneLabel(p, e.labelColumns)
		} else {
			e.manyLabels(p, e.labelColumns)
		}
	}
}

// oneLabel reads a column of names of classes.
func (e *edgeList) oneLabel(p *part, column []int) {
	unlabelled, given := e.keys["unlabelled"]
	none, whole := list(unlabelled), p.counts[column[0]].isWhole(p.rows)
	names, other, minus := make([]string, e.order.nodes), "", false
	e.eachCell(p, column, func(node int32, _ int, cell []byte) string {
		label := labelName(string(wholeID(cell, whole)))
		switch {
		case slices.Contains(none, string(cell)) || slices.Contains(none, label):
			label = ""
		case label == "-1":
			minus = true
		case strings.HasPrefix(label, "\ufeff"):
			return ": a byte-order mark within the file"
		case label != "" && label != "1":
			other = label
		}
		names[node] = label
		return ""
	})
	e.check(given || !minus || other == "", p.Path, "the label -1 is there beside %s: say unlabelled=-1 if it stands for no label, or unlabelled= if it is a class", table.Quote(other))
	e.describe(p, e.rowsSay(p)+", labels in "+p.title(column[0]))
	e.namedLabels(p.Path, names, true)
}

// manyLabels reads several columns of 0 and 1: classes, if each row has a single 1, or binary
// tasks, where a missing value means unknown.
func (e *edgeList) manyLabels(p *part, columns []int) {
	width := len(columns)
	values := e.unknownRows(p.Path, e.order.nodes, width)
	if e.err != nil {
		return
	}
	e.eachCell(p, columns, func(node int32, k int, cell []byte) string {
		v, number := p.forms.number(cell)
		switch {
		case isMissingWord(cell):
		case !number || v != 0 && v != 1:
			return ", want 0, 1 or nothing (columns after the id are binary tasks; labels-columns=ID,LABEL reads one label)"
		default:
			values[int(node)*width+k] = float32(v)
		}
		return ""
	})
	if e.rowLabels(p.Path, values, width, e.keys["lists"]); e.err != nil {
		return
	}
	what := fmt.Sprintf("%d binary tasks", width)
	if e.Labels.Tasks == 0 {
		what = fmt.Sprintf("a class in each of %d columns, since each row has one 1 (lists=tasks reads binary tasks)", width)
	}
	for _, j := range columns {
		if p.header == isHeader {
			e.Labels.Names = append(e.Labels.Names, p.title(j))
		}
	}
	e.describe(p, e.rowsSay(p)+", "+what)
}

// jsonLists holds {"id": value} or {"id": [value, …]} of a JSON file.
type jsonLists struct {
	*part  // of the ids
	multi  bool
	values [][]string       // of each id
	kinds  map[string]int32 // of lists
}

// readLists reads a JSON file of labels or of features. Of lists, kinds are the labels or
// features in them.
func (e *edgeList) readLists(role, path string) *jsonLists {
	l, ids := &jsonLists{kinds: make(map[string]int32)}, []string(nil)
	l.multi = e.eachLabels(path, func(key string, labels []string, _ bool) error {
		if key == "" {
			return errors.New("an empty id")
		}
		ids, l.values = append(ids, key), append(l.values, labels)
		return nil
	})
	if l.part = e.keyed(role, path, ids); l.multi && e.err == nil {
		e.decideLists(l)
	}
	return l
}

// decideLists decides whether lists are sets or multi-hot, lists of one length with only 0 and 1, by
// the key lists if it is given. It turns multi-hot lists into sets, and finds the kinds in them. A
// set has no number twice. The error names a file that can be both, or neither.
func (e *edgeList) decideLists(l *jsonLists) {
	width, oneLength, twice := len(l.values[0]), true, -1 // twice: a list that has a number twice
	for k, list := range l.values {
		seen := make(map[string]bool)
		for _, v := range list {
			seen[v], l.kinds[v] = true, 0
		}
		if len(seen) < len(list) && twice < 0 {
			twice = k
		}
		oneLength = oneLength && len(list) > 0 && len(list) == width
	}
	other := slices.DeleteFunc(slices.Sorted(maps.Keys(l.kinds)), func(c string) bool { return c == "0" || c == "1" })
	form := e.keys["lists"]
	if form != "sets" && form != "multi-hot" {
		switch form = "sets"; {
		case !oneLength:
		case len(other) > 0:
			if _, number := labelNumber(other[0]); twice >= 0 && number && len(l.ids) > 1 {
				e.check(false, l.Path, "lists of %d numbers each: node %s has a number twice, as in a row of values, but %v is neither 0 nor 1: say lists=sets for sets of labels or features", width, e.ids.quoted(l.ids[twice]), other[0])
			}
		case twice < 0:
			e.check(false, l.Path, "lists of %d numbers, all 0 or 1: say lists=multi-hot (a 0 or 1 for each label or feature) or lists=sets (the labels or features of the node)", width)
		default:
			form = "multi-hot"
		}
	}
	if form == "sets" {
		e.note("%s from %s: lists of the numbers or names that each node has (lists=sets)", l.role, l.Path)
		return
	}
	e.check(len(other) == 0, l.Path, "lists=multi-hot, but the lists hold more than 0 and 1")
	clear(l.kinds)
	for k, list := range l.values {
		e.check(len(list) == width, l.Path, "node %s has %d numbers, the first node %d (lists=multi-hot)", e.ids.quoted(l.ids[k]), len(list), width)
		l.values[k] = nil
		for j, v := range list {
			column := strconv.Itoa(j)
			if l.kinds[column] = 0; v == "1" {
				l.values[k] = append(l.values[k], column)
			}
		}
	}
	e.note("%s from %s: lists of a 0 or 1 for each of %d (lists=multi-hot)", l.role, l.Path, width)
}

// listLabels makes the labels of nodes: classes, or a task for each kind of label if the source
// has lists. Nodes that are not in the source have no label.
func (e *edgeList) listLabels(l *jsonLists) {
	if !l.multi {
		names := make([]string, e.order.nodes)
		for k, id := range l.ids {
			names[e.order.node(id)] = l.values[k][0]
		}
		e.namedLabels(l.Path, names, false)
		return
	}
	y := &graph.Labels{Tasks: len(l.kinds), Names: numberKinds(l.kinds)}
	e.check(y.Tasks > 0, l.Path, "no labels")
	if y.Multi = e.unknownRows(l.Path, e.order.nodes, y.Tasks); e.err != nil {
		return
	}
	for k, id := range l.ids {
		row := y.Multi[int(e.order.node(id))*y.Tasks:][:y.Tasks]
		clear(row)
		for _, v := range l.values[k] {
			row[l.kinds[v]] = 1
		}
	}
	e.Labels = y
}

// listFeatures makes sparse features of lists of feature numbers.
func (e *edgeList) listFeatures(l *jsonLists) {
	rows, width, entries := make([][]int32, e.order.nodes), 0, 0
	for k, id := range l.ids {
		var columns []int32
		for _, v := range l.values[k] {
			j, number := numberID([]byte(v))
			if !e.check(number, l.Path, "feature %q, want numbers from 0", v) {
				return
			}
			columns, width = append(columns, j), max(width, int(j)+1)
		}
		slices.Sort(columns)
		columns = slices.Compact(columns) // a number that is there twice means 1
		rows[e.order.node(id)] = columns
		entries += len(columns)
	}
	e.Features = e.sparseFeatures(l.Path, e.order.nodes, width, entries, func(i int) ([]int32, []float32) { return rows[i], nil })
}
