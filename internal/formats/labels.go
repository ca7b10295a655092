package formats

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

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

// nodeOf returns the node of a row.
func (e *edgeList) nodeOf(p *part, row int) int32 {
	if p.key < 0 {
		return int32(row)
	}
	return e.order.node(p.ids[row])
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
	path, n := e.keys["labels"], e.order.nodes
	switch {
	case e.labelLists != nil:
		e.listLabels(e.labelLists, n)
	case path != "" && e.Labels == nil:
		p := e.tables("labels")[0]
		if e.labelColumns = e.valueColumns(p); e.err != nil {
			return
		}
		if len(e.labelColumns) == 1 {
			e.oneLabel(p, e.labelColumns[0])
		} else {
			e.manyLabels(p, e.labelColumns)
		}
	}
}

// oneLabel reads a column of names of classes.
func (e *edgeList) oneLabel(p *part, column int) {
	unlabelled, given := e.keys["unlabelled"]
	none, whole := list(unlabelled), p.counts[column].isWhole(p.number())
	names, other, minus := make([]string, e.order.nodes), "", false
	p.data(func(row int, line int64, cells [][]byte) bool {
		label := labelName(string(wholeID(cells[column], whole)))
		if slices.Contains(none, string(cells[column])) || slices.Contains(none, label) {
			label = ""
		}
		if strings.HasPrefix(label, "\ufeff") {
			e.check(false, fmt.Sprintf("%s:%d", p.Path, line), "a byte-order mark within the file")
		}
		switch {
		case label == "-1":
			minus = true
		case label != "" && label != "1":
			other = label
		}
		names[e.nodeOf(p, row)] = label
		return true
	})
	e.check(given || !minus || other == "", p.Path, "the label -1 is there beside %s: say unlabelled=-1 if it stands for no label, or unlabelled= if it is a class", table.Quote(other))
	y, err := namedLabels(p.Path, names, true)
	if e.ok(err) {
		e.Labels = y
		e.describe(p, e.rowsSay(p)+", labels in "+p.title(column))
		e.noteLabels(p.Path)
	}
}

// manyLabels reads several columns of 0 and 1: classes, if each row has a single 1, or binary
// tasks, where a missing value means unknown.
func (e *edgeList) manyLabels(p *part, columns []int) {
	width := len(columns)
	values, err := unknownRows(p.Path, e.order.nodes, width)
	if !e.ok(err) {
		return
	}
	faults := &table.Faults{Path: p.Path}
	p.data(func(row int, line int64, cells [][]byte) bool {
		to := values[int(e.nodeOf(p, row))*width:]
		for k, j := range columns {
			v, number := p.forms.number(cells[j])
			switch {
			case isMissingWord(cells[j]):
			case !number || v != 0 && v != 1:
				return e.cellFault(p, faults, row, line, j, "%s, want 0, 1 or nothing (columns after the id are binary tasks; labels-columns=ID,LABEL reads one label)", table.Quote(cells[j]))
			default:
				to[k] = float32(v)
			}
		}
		return true
	})
	y, err := rowLabels(p.Path, values, width, e.keys["lists"])
	if !e.ok(cmp.Or(faults.Err(), err)) {
		return
	}
	e.Labels = y
	if p.header == isHeader {
		for _, j := range columns {
			y.Names = append(y.Names, p.title(j))
		}
	}
	if y.Tasks > 0 {
		e.describe(p, fmt.Sprintf("%s, %d binary tasks", e.rowsSay(p), width))
		return
	}
	e.describe(p, fmt.Sprintf("%s, a class in each of %d columns, since each row has one 1 (lists=tasks reads binary tasks)", e.rowsSay(p), width))
	e.noteLabels(p.Path)
}
