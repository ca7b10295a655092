package formats

import (
	"fmt"
	"slices"
	"strconv"
)

// Whether the first line of a table is a header is decided by its cells and those below them,
// and by the ids of all files. No word is a header by itself.

// ownHeader decides what a table tells by itself. nodes is the number of nodes, as far as it is
// known.
func (p *part) ownHeader(nodes int) headerState {
	numbers, words, all := 0, 0, true // first cells above columns of numbers; all columns are numbers
	for j := range p.counts {
		cell := p.First[j]
		_, number := p.forms.number(cell)
		switch c := &p.counts[j]; {
		case p.rows == 0:
			all = all && number
			if number {
				numbers++
			}
		case c.numbers == 0 || 10*c.numbers < 9*(p.rows-c.missing): // names may be numbers, too
			all = false
		case number:
			numbers++
		case !p.forms.isMissing(cell):
			words++
		}
	}
	switch {
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

// signsOfData tells whether the first line is like the lines below it.
func (e *edgeList) signsOfData(p *part) bool {
	fits := p.role != "edges" && p.rows+1 == e.knownNodes()
	if p.columnNumbers() {
		return fits
	}
	for j := range p.counts {
		if c := &p.counts[j]; p.role != "edges" && c.again && !c.numeric(p.rows) {
			return true
		}
	}
	return fits && len(p.ends) == 0 || slices.ContainsFunc(p.ends, func(j int) bool {
		handle, known := e.ids.find(p.First[j]) // an id in the rows of a file
		return known && slices.ContainsFunc(e.otherSets(nil), func(s *idSet) bool { return s.has(handle) })
	})
}

// signsOfHeader tells whether the first line stands apart from the lines below it.
func (e *edgeList) signsOfHeader(p *part) bool {
	if p.columnNumbers() {
		return false
	}
	if len(p.ends) == 0 {
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
	all, inOrder := 0, 0
	var before []*idSet
	for _, p := range e.parts {
		if p.role == "edges" || p.role == "nodes" {
			all += p.set.count
			if len(before) > 0 {
				all -= p.set.count - len(p.set.without(before...))
			}
			before = append(before, &p.set)
		} else if p.header != unsure && len(p.wanted) == 0 && !e.isKey(p) {
			inOrder = max(inOrder, p.number())
		}
	}
	for _, f := range e.inOrder {
		inOrder = max(inOrder, f.rows)
	}
	return max(all, inOrder)
}

// sharesHeader tells whether the first line has a cell that heads another table for certain.
func (e *edgeList) sharesHeader(p *part) bool {
	return slices.ContainsFunc(e.parts, func(o *part) bool {
		return o != p && o.header == isHeader && slices.ContainsFunc(p.First, func(cell []byte) bool { return o.named(string(cell)) >= 0 })
	})
}

// findHeaders decides what the first lines are, until nothing changes.
func (e *edgeList) findHeaders() {
	for _, p := range e.parts { // the edges come first
		state := p.header
		if state == unsure {
			state = p.ownHeader(e.knownNodes())
		}
		if state != unsure && p.First != nil {
			e.takeFirst(p, state)
		}
	}
	for _, verdict := range []headerState{isData, isHeader} {
		for range e.parts {
			for _, p := range e.parts {
				if p.header != unsure || e.err != nil {
					continue
				}
				shares := e.sharesHeader(p)
				switch {
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
	key, hint := "header", ""
	if p.role != "edges" {
		key = p.role + "-header"
	}
	if len(p.ends) > 0 && len(e.parts) > 1 {
		if odd := p.set.without(e.otherSets(p)...); len(odd) > 0 {
			hint = fmt.Sprintf("; no other file has its ids %s", e.ids.some(odd))
		}
	}
	e.ask(p, " is a header, or data: say %s=1 or %s=0%s", key, key, hint)
}
