package formats

import (
	"fmt"
	"slices"
	"strings"
)

// valueColumns returns the columns of a table of nodes without its ids.
func (e *edgeList) valueColumns(p *part) []int {
	switch {
	case p.inOrder:
		return p.columns(p.wanted)
	case len(p.wanted) > 0:
		return p.columns(p.wanted)[1:]
	}
	columns := p.others(p.key)
	check(len(columns) > 0, p.Path, "no column but the ids")
	return columns
}

// eachCell calls visit with the cells of columns, and the node of their row. A text that it
// returns is a fault of the cell.
func (e *edgeList) eachCell(p *part, columns []int, visit func(node int32, k int, cell []byte) string) {
	for row, r := range p.data() {
		node := int32(row)
		if p.key >= 0 {
			node = e.order.node(p.ids[row])
		}
		for k, j := range columns {
			if fault := visit(node, k, r.Cells[j]); fault != "" {
				place := p.title(j)
				if p.header == isHeader {
					place = fmt.Sprintf("column %d (%s)", j+1, place)
				}
				if p.key >= 0 {
					place += ", node " + e.ids.quoted(p.ids[row])
				}
				r.Fault("%s: %.40q%s", place, r.Cells[j], fault)
			}
		}
	}
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
	if l := e.labelLists; l != nil {
		e.listLabels(l, e.order.nodes, func(k int) int32 { return e.order.node(l.handles[k]) })
	}
	for _, p := range e.tables("labels") {
		e.labelColumns = e.valueColumns(p)
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
	none, whole := list(unlabelled), p.counts[column[0]].isWhole()
	names := make([]string, e.order.nodes)
	e.eachCell(p, column, func(node int32, _ int, cell []byte) string {
		label := labelName(string(wholeID(cell, whole)))
		if !slices.Contains(none, string(cell)) && !slices.Contains(none, label) {
			names[node] = label
		}
		if strings.HasPrefix(label, "\ufeff") {
			return ": a byte-order mark within the file"
		}
		return ""
	})
	other := slices.IndexFunc(names, func(label string) bool { return label != "" && label != "1" && label != "-1" })
	if !given && other >= 0 && slices.Contains(names, "-1") {
		check(false, p.Path, "the label -1 is there beside %.40q: say unlabelled=-1 if it stands for no label, or unlabelled= if it is a class", names[other])
	}
	e.describe(p, e.rowsSay(p)+", labels in "+p.title(column[0]))
	e.namedLabels(p.Path, names, true)
}

// manyLabels reads several columns of 0 and 1: classes, if each row has a single 1, or binary
// tasks, where a missing value means unknown.
func (e *edgeList) manyLabels(p *part, columns []int) {
	width := len(columns)
	values := unknownRows(p.Path+": labels", e.order.nodes, width)
	e.eachCell(p, columns, func(node int32, k int, cell []byte) string {
		v, number := p.number(cell)
		switch {
		case isMissingWord(cell):
		case !number || v != 0 && v != 1:
			return ", want 0, 1 or nothing (labels-columns=ID,LABEL reads one label)"
		default:
			values[int(node)*width+k] = float32(v)
		}
		return ""
	})
	e.rowLabels(p.Path, values, width, e.keys["lists"])
	for _, j := range columns {
		if p.header == isHeader {
			e.Labels.Names = append(e.Labels.Names, p.title(j))
		}
	}
	e.describe(p, fmt.Sprintf("%s, labels in %d columns", e.rowsSay(p), width))
}

// readKeyed reads a JSON file of labels or of features beside the edges.
func (e *edgeList) readKeyed(role, path string) *jsonLists {
	l := e.readLists(path)
	check(!slices.Contains(l.ids, ""), path, "an empty id")
	if l.areLists {
		form := e.decide(l)
		l.makeColumns(form)
		e.note("%s from %s: lists read with lists=%s", role, path, form)
	}
	l.handles = e.keyed(role, path, l.ids).ids
	return l
}

// listFeatures makes sparse features of lists of feature numbers.
func (e *edgeList) listFeatures(l *jsonLists) {
	rows, width, entries := make([][]int32, e.order.nodes), 0, 0
	for k, handle := range l.handles {
		for j, v := range l.values[k] {
			if l.columns != nil {
				number, ok := numberID([]byte(l.columns[v]))
				check(ok, l.path, "feature %q, want numbers from 0", l.columns[v])
				v = number
			}
			l.values[k][j], width = v, max(width, int(v)+1)
		}
		columns := slices.Compact(slices.Sorted(slices.Values(l.values[k]))) // a number that is there twice means 1
		rows[e.order.node(handle)] = columns
		entries += len(columns)
	}
	e.sparseFeatures(l.path, e.order.nodes, width, entries, func(i int) ([]int32, []float32) { return rows[i], nil })
}
