package formats

import (
	"slices"
	"strconv"
)

// Whether the first line of a table is a header is decided by its cells and those below them,
// and by the ids of all files. No word is a header by itself.

// ownHeader decides what a table tells by itself. nodes is the number of nodes, as far as it is
// known.
func (p *part) ownHeader(nodes int) headerState {
	numbers, words, all := 0, 0, true // first cells above columns of numbers; all columns are numbers
	for j, c := range p.counts {
		switch _, number := p.number(p.First[j]); {
		case p.rows > 0 && (c[numberCells] == 0 || 10*c[numberCells] < 9*c[presentCells]): // names may be numbers, too
			all = false
		case number:
			numbers++
		case p.rows == 0:
			all = false
		case !p.isMissing(p.First[j]):
			words++
		}
	}
	switch {
	case p.header != unsure:
		return p.header
	case p.index && len(p.First[0]) == 0:
		return isHeader
	case p.columnNumbers() && p.role != "edges" && p.role != "nodes" && all && p.rows == nodes:
		return unsure
	case numbers > 0 && words == 0 && all:
		return isData
	case words > 0 && numbers == 0:
		return isHeader
	}
	return unsure
}

// columnNumbers tells whether the first line is 0, 1, 2, …, as pandas names columns without
// names.
func (p *part) columnNumbers() bool {
	for k, cell := range p.First {
		if string(cell) != strconv.Itoa(k) {
			return false
		}
	}
	return true
}

// signsOfData tells whether the first line is like the lines below it: a text occurs again in its
// column, an id is an id of another row of a file, or there is a line for each node.
func (e *edgeList) signsOfData(p *part) bool {
	fits := p.role != "edges" && p.rows+1 == e.knownNodes()
	if p.columnNumbers() {
		return fits
	}
	again := func(c columnCounts) bool { return c[againCells] > 0 && !c.numeric() }
	return p.role != "edges" && slices.ContainsFunc(p.counts, again) || fits && len(p.ends) == 0 || slices.ContainsFunc(p.ends, func(j int) bool {
		handle, known := e.ids.find(p.First[j])
		return known && slices.ContainsFunc(e.otherSets(nil), func(s *idSet) bool { return s.has(handle) })
	})
}

// signsOfHeader tells whether the first line stands apart from the lines below it.
func (e *edgeList) signsOfHeader(p *part) bool {
	switch {
	case p.columnNumbers():
		return false
	case len(p.ends) == 0:
		return p.rows == e.knownNodes()
	}
	return p.set.count > 0 && p.set.within(e.otherSets(p)...)
}

// otherSets returns the ids of all files but p.
func (e *edgeList) otherSets(p *part) (sets []*idSet) {
	for _, o := range e.parts {
		if o != p {
			sets = append(sets, &o.set)
		}
	}
	return sets
}

// knownNodes returns the number of nodes, as far as it is known.
func (e *edgeList) knownNodes() int {
	if e.nodeCount > 0 {
		return e.nodeCount
	}
	nodes := e.edges.set.count + len(e.given.set.without(&e.edges.set))
	for _, p := range e.parts {
		if p.role != "edges" && p.role != "nodes" && p.header != unsure && len(p.wanted) == 0 && !e.isKey(p) {
			nodes = max(nodes, p.rows)
		}
	}
	return nodes
}

// findHeaders decides what the first lines are, until nothing changes.
func (e *edgeList) findHeaders() {
	for _, p := range e.parts { // the edges come first
		if p.First != nil {
			if state := p.ownHeader(e.knownNodes()); state != unsure {
				e.takeFirst(p, state)
			}
		}
	}
	for _, verdict := range []headerState{isData, isHeader} {
		for range e.parts {
			for _, p := range e.parts {
				shares := slices.ContainsFunc(e.parts, func(o *part) bool { // a cell heads another table for certain
					return o.header == isHeader && slices.ContainsFunc(p.First, func(cell []byte) bool { return o.named(string(cell)) >= 0 })
				})
				switch {
				case p.header != unsure:
				case verdict == isData && e.signsOfData(p):
					if shares {
						e.askHeader(p)
					}
					e.takeFirst(p, isData)
				case verdict == isHeader && (shares || e.signsOfHeader(p)):
					e.takeFirst(p, isHeader)
				}
			}
		}
	}
	for _, p := range e.parts {
		if p.header == unsure {
			e.askHeader(p)
		}
	}
}

// askHeader is the error of a first line that can be a header or data.
func (e *edgeList) askHeader(p *part) {
	hint := ""
	if odd := p.set.without(e.otherSets(p)...); len(odd) > 0 && len(e.parts) > 1 {
		hint = "; no other file has its ids " + e.ids.some(odd)
	}
	p.ask(" is a header, or data: say %[2]sheader=1 or %[2]sheader=0%[3]s", p.prefix, hint)
}
