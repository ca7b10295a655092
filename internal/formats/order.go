package formats

import (
	"fmt"
	"slices"

	"github.com/gcn-layerwise/gcn/internal/table"
)

// findKeys finds the column of the ids of each table of nodes, or that its rows are in node
// order. It says which ids have no edge, and which nodes no row.
func (e *edgeList) findKeys() {
	for _, p := range e.parts {
		check(len(p.wanted) != 1 || p.inOrder || p.role == "nodes", p.Path, "%[1]scolumns names one column, %[2]q: want %[1]scolumns=ID,NAME, or %[1]scolumns=,NAME for rows in node order", p.prefix, p.wanted)
		switch {
		case p.role == "edges", len(p.ends) == 0:
		case p.role == "nodes", len(p.wanted) > 0, e.isKey(p):
			p.key = p.ends[0]
		case p.index:
			if e.cellIDs(p, 0); e.isKey(p) {
				p.key = 0
			}
		}
		if p.key < 0 {
			continue
		}
		if e.checkIDs(p); p.role != "nodes" {
			e.compareIDs(p)
		} else if len(p.ends) > 0 { // no array
			e.describe(p, fmt.Sprintf("%d ids in %s, in the order of the nodes", len(p.ids), p.title(p.key)))
		}
	}
}

// isKey tells whether the first column of a table holds ids: they are distinct, and hold all
// ids of the edges, or lie among those and the ids of nodes=FILE.
func (e *edgeList) isKey(p *part) bool {
	return len(p.ids) > 0 && p.set.count == len(p.ids) && (e.edges.set.within(&p.set) || p.set.within(&e.edges.set, &e.given.set))
}

// checkIDs reports ids that are empty or there twice.
func (e *edgeList) checkIDs(p *part) {
	if empty, known := e.ids.find(nil); p.set.count == len(p.ids) && !(known && p.set.has(empty)) {
		return
	}
	var seen idSet
	for row, r := range p.data() {
		switch id := p.ids[row]; {
		case len(e.ids.text(id)) == 0:
			r.Fault("%s: an empty id", p.title(p.key))
		case !seen.add(id):
			r.Fault("%s: node %s is there twice", p.title(p.key), e.ids.quoted(id))
		}
	}
}

// compareIDs compares the ids of a file with those of the edges and of nodes=FILE.
func (e *edgeList) compareIDs(p *part) {
	edges := &e.edges.set
	without, rest := p.set.without(edges, &e.given.set), edges.without(&p.set)
	switch {
	case edges.count == 0, len(without) == 0:
	case len(without) == p.set.count:
		check(false, p.Path, "none of its ids has an edge in %s: it has %s, and the edges %s", e.edges.Path, e.ids.some(without), e.ids.some(rest[:1]))
	default:
		e.note("%d of the %d ids in %s have no edge: %s", len(without), p.set.count, p.Path, e.ids.some(without))
	}
	if len(rest) > 0 {
		e.note("%d nodes of the edges have no row in %s: %s", len(rest), p.Path, e.ids.some(rest))
	}
}

// findOrder finds the nodes and their order.
func (e *edgeList) findOrder() {
	all, kind := new(idSet), e.keys["ids"]
	var inOrder []*part
	for _, p := range e.parts {
		if p.key < 0 && p.role != "edges" {
			check(p.empty == 0 || p.empty > p.last, fmt.Sprintf("%s:%d", p.Path, p.empty), "an empty line among rows in node order")
			inOrder = append(inOrder, p)
			continue
		}
		for handle := range p.set.all() {
			all.add(handle)
		}
	}
	odd := e.ids.odd(all, false)
	numbers := kind != "names" && len(odd) == 0
	check(numbers || kind == "" || kind == "names", "ids="+kind, "these ids are no whole numbers in their usual form: %s", e.ids.some(odd))
	check(kind != "from-1" || !all.has(0), "ids="+kind, "the files name node 0")
	e.decideOrder(all, numbers, inOrder)
	for _, p := range e.parts {
		// Features without a header whose first column, taken as ids, holds the number of each node
		// once, out of order, can have a rank there.
		asks := p.role == "features" && p.header != isHeader && len(p.wanted) == 0 && p.key >= 0 && e.order.ids == nil && len(p.ids) == e.order.nodes && !slices.IsSorted(p.ids)
		check(!asks, p.Path, "column %d holds each node's number once, out of order: ids, or values? say features-columns=1,2,… with the column of the ids first, or features-columns=,1,2,… for rows in node order", p.key+1)
	}
	for _, p := range inOrder {
		if !p.inOrder {
			e.checkInOrder(p)
		}
		check(p.rows == e.order.nodes, p.Path, "%d rows for %d nodes%s", p.rows, e.order.nodes, p.keyHint(": ", ""))
	}
}

// keyHint says which key of the SPEC names the column of the ids. An array has no columns.
func (p *part) keyHint(before, after string) string {
	if p.First == nil {
		return ""
	}
	return fmt.Sprintf("%sname the column of the ids by %s-columns=ID,…%s", before, p.role, after)
}

// decideOrder sets the order of the nodes.
func (e *edgeList) decideOrder(all *idSet, numbers bool, inOrder []*part) {
	rows, by, given := e.nodeCount, "nodes", e.given.File != nil
	for _, p := range inOrder {
		if p.rows > rows {
			rows, by = p.rows, p.Path
		}
	}
	kind, text, largest := e.keys["ids"], "texts", -1
	if numbers {
		text = "numbers"
	}
	for handle := range all.all() {
		largest = max(largest, int(uint32(handle))) // the handle of a text is larger than any number
	}
	switch {
	case given:
		odd := all.without(&e.given.set)
		check(len(odd) == 0, e.given.Path, "%d ids of the files are not in it: node %s", len(odd), e.ids.some(odd))
		e.order = newOrder(all, e.given.ids)
	case numbers && rows > 0 && kind == "from-1" && largest <= rows:
		e.order = &nodeOrder{nodes: rows, first: 1}
	case numbers && rows > largest && rows > 0 && kind != "from-1":
		check(all.has(0) || kind == "from-0" || all.count == 0, by, "%d rows in node order, and no file names node 0: say ids=from-1 or ids=from-0", rows)
		e.order = &nodeOrder{nodes: rows}
	case e.nodeCount > 0 && (!numbers || largest > rows):
		check(false, "nodes="+e.keys["nodes"], "the ids are not numbers below that: %s", e.ids.some(e.ids.odd(all, numbers)))
	default:
		e.order = e.ids.ascending(all, numbers)
		if len(inOrder) > 0 && (e.order.ids != nil || !numbers) {
			p := inOrder[0]
			check(false, p.Path, "rows without node ids, and the ids, %s, are %s that give no order: %ssay nodes=FILE with the ids in the order of the rows", e.ids.some(e.ids.odd(all, numbers)), text, p.keyHint("", ", or "))
		}
	}
	check(e.nodeCount == 0 || e.nodeCount == e.order.nodes, "nodes="+e.keys["nodes"], "the files have %d nodes (ids=from-1 says that their ids count from 1)", e.order.nodes)
	if e.order.nodes == 0 {
		return
	}
	n, first := e.order.nodes, e.ids.quoted(e.order.id(0))
	e.note("%d nodes, whose ids are %s: %s to %s", n, text, first, e.ids.quoted(e.order.id(n-1)))
	if len(inOrder) > 0 && !given {
		e.note("rows without ids go to the nodes in ascending order, the first row to node %s", first)
	}
}

// checkInOrder reports a table in node order with a column that looks like ids: its values name
// more than half of the nodes.
func (e *edgeList) checkInOrder(p *part) {
	for j, c := range p.counts {
		if texts := c[presentCells] - c[numberCells]; p.Width == 1 || j == 0 && p.index || 2*(c[idCells]+c[wholeCells]+texts) <= e.order.nodes {
			continue
		}
		var named idSet
		isWhole, odd := c.isWhole(), &table.Faults{Path: p.Path}
		for _, r := range p.data() {
			cell := wholeID(r.Cells[j], isWhole)
			handle, known := e.ids.find(cell)
			switch {
			case !known || e.order.node(handle) < 0:
				odd.Add(r.Line, "%.40q is no node", cell)
			case !named.add(handle):
				odd.Add(r.Line, "node %s is there again", e.ids.quoted(handle))
			}
		}
		text := "each node is there once"
		if err := odd.Err(); err != nil {
			text = err.Error()[len("datasets: "):]
		}
		check(2*named.count <= e.order.nodes, p.Path, "%s names more than half of the %d nodes, as ids do, but is not taken as ids: %s: name the columns by %s-columns=ID,…, or begin with a comma for rows in node order", p.title(j), e.order.nodes, text, p.role)
	}
}
