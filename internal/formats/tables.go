package formats

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/gcn-layerwise/gcn/internal/table"
)

// part is one table of an edge list: the edges, or a file beside them. The first line of data
// is kept aside until it is clear whether it is a header.
type part struct {
	*table.File
	role   string // "edges", "nodes", "labels" or "features"
	forms  cellForms
	header headerState

	example [][]byte // a row
	wanted  []string // the columns that the SPEC picks, by name or number
	inOrder bool     // the SPEC says that the rows are in node order

	// A table of nodes is held in memory. Of the edges, counts and rows are those at the
	// beginning of the file.
	blocks []*table.Rows
	counts []columnCounts // of each column, with the first line if it is data
	rows   int            // after the first line
	empty  int64          // number of the first empty line; 0: none
	last   int64          // number of the last line of data
	index  bool           // the first column is pandas' index

	ends []int // the columns that can hold ids: two of the edges, one of other tables, or none
	ids  []int32
	set  idSet // of the ids, without the first line's unless it is data
	key  int   // the column of the ids of a table of nodes; −1: the rows are in node order
}

type headerState int

const (
	unsure headerState = iota
	isData
	isHeader
)

// key returns the value of the key of a SPEC that belongs to a role, such as labels-header.
func (e *edgeList) roleKey(role, key string) string {
	if role != "edges" {
		key = role + "-" + key
	}
	return e.keys[key]
}

// openPart opens a table and finds how it is written.
func (e *edgeList) openPart(role, path string) *part {
	f := e.open(path)
	if e.err != nil {
		return nil
	}
	p := &part{File: f, role: role, key: -1, example: f.First}
	p.forms = cellForms{sep: f.Sep, decimal: e.keys["decimal"], missing: list(e.keys["missing"])}
	columns, given := e.roleKey(role, "columns"), false
	if p.wanted = list(columns); strings.HasPrefix(columns, ",") {
		p.inOrder, p.wanted = true, p.wanted[1:]
	}
	switch header := e.roleKey(role, "header"); {
	case f.Parquet || header == "1":
		p.header = isHeader
	case header == "0":
		p.header = isData
	default:
		given = slices.ContainsFunc(p.wanted, func(name string) bool { return !isNumber(name) && p.named(name) >= 0 })
	}
	if given {
		p.header = isHeader
	}
	p.counts = make([]columnCounts, f.Width)
	return p
}

// open opens a table, or returns the one of nodes that is open already.
func (e *edgeList) open(path string) *table.File {
	for _, p := range e.parts {
		if p.Path == path && p.role != "edges" {
			return p.File
		}
	}
	if e.err != nil {
		return nil
	}
	f, err := table.OpenTable(path)
	if e.ok(err) {
		e.files = append(e.files, f)
		e.ok(cmp.Or(f.CheckTable(), f.Scan(e.keys["sep"], e.keys["comments"])))
	}
	return f
}

// list splits a value of a key at its commas.
func list(text string) []string {
	if text == "" {
		return nil
	}
	parts := strings.Split(text, ",")
	for k := range parts {
		parts[k] = strings.TrimSpace(parts[k])
	}
	return parts
}

// named returns the column that the first line names, or −1.
func (p *part) named(name string) int {
	return slices.IndexFunc(p.First, func(cell []byte) bool { return string(cell) == name })
}

// column returns a column by its name in the header, or by its number from 1.
func (e *edgeList) column(p *part, name string) int {
	j := p.named(name)
	if j >= 0 && p.header != isData {
		again := slices.ContainsFunc(p.First[j+1:], func(cell []byte) bool { return string(cell) == name })
		e.check(!again, p.Path, "two columns %q", name)
		return j
	}
	if k, err := strconv.Atoi(name); err == nil && k >= 1 && k <= p.Width && isNumber(name) {
		return k - 1
	}
	e.check(j < 0, p.Path, "the column %q needs a header, and a key says that there is none", name)
	e.check(false, p.Path, "no column %q; the first line has %.200q", name, p.firstLine())
	return 0
}

// columns returns the columns of names.
func (e *edgeList) columns(p *part, names []string) (found []int) {
	for _, name := range names {
		j := e.column(p, name)
		e.check(!slices.Contains(found, j), p.Path, "column %q is named twice", name)
		found = append(found, j)
	}
	return found
}

// title returns the name of a column.
func (p *part) title(column int) string {
	if p.header == isHeader {
		return string(p.First[column])
	}
	return fmt.Sprintf("column %d", column+1)
}

func (p *part) firstLine() string {
	texts := make([]string, len(p.First))
	for k, cell := range p.First {
		texts[k] = string(cell)
	}
	return strings.Join(texts, ", ")
}

// number returns the number of rows of data, without the first line unless it is data.
func (p *part) number() int {
	if p.header == isData {
		return p.rows + 1
	}
	return p.rows
}

// block holds a block of rows, and what they are like.
type block struct {
	rows    *table.Rows
	counts  []columnCounts
	number  int      // of rows
	last    int64    // number of the last line of data
	example [][]byte // the first row
}

// count counts the cells of a block.
func (p *part) count(r *table.Rows) block {
	b := block{rows: r, counts: make([]columnCounts, p.Width)}
	for r.NextRow() {
		if b.number++; b.number == 1 {
			b.example = slices.Clone(r.Cells)
		}
		b.last = r.Line
		for j, cell := range r.Cells {
			c := &b.counts[j]
			if !c.count(&p.forms, cell) && !c.again && len(cell) > 0 && string(cell) == string(p.First[j]) {
				c.again = true
			}
		}
	}
	return b
}

// add adds a block.
func (p *part) add(b block) {
	if p.rows == 0 && b.number > 0 {
		p.example = b.example
	}
	p.empty, p.last = cmp.Or(p.empty, b.rows.Empty), cmp.Or(b.last, p.last)
	for j := range b.counts {
		p.counts[j].add(&b.counts[j])
	}
	p.rows += b.number
	p.blocks = append(p.blocks, b.rows)
}

// hold reads a table of nodes into memory.
func (e *edgeList) hold(p *part) {
	tally := table.NewTally(p.Path)
	e.ok(table.EachRows(e.ctx, p.File, func(r *table.Rows) (block, error) { return p.count(r), nil }, func(b block) error {
		p.add(b)
		return tally.Add(b.rows.Bytes())
	}))
	p.index = p.isIndex()
	e.findEnds(p)
}

// isIndex tells whether the first column is the index that pandas writes: without a name,
// 0, 1, 2, ….
func (p *part) isIndex() bool {
	name := string(p.First[0])
	return p.rows > 0 && p.Width > 1 && (name == "" || name == "Unnamed: 0") && p.counted(0)
}

// counted tells whether the first column counts the rows after the first line from a number on.
func (p *part) counted(from int) bool {
	all := true
	p.each(func(row int, r *table.Rows) bool {
		all = string(r.Cells[0]) == strconv.Itoa(from+row)
		return all
	})
	return all
}

// findEnds sets the columns that can hold ids.
func (e *edgeList) findEnds(p *part) {
	number := 1
	if p.role == "edges" {
		number = 2
	}
	switch {
	case len(p.wanted) > 0 && !p.inOrder:
		e.check(len(p.wanted) > 1 || number < 2, p.Path, "columns=%s names one column: want columns=FROM,TO", p.wanted[0])
		p.ends = e.columns(p, p.wanted)
		p.ends = p.ends[:min(number, len(p.ends))]
	case p.inOrder, p.Width == 1 && p.role != "nodes" && p.role != "edges":
	default:
		first := 0
		if p.index {
			first = 1
		}
		if first+number > p.Width {
			e.ask(p, " is not two node ids")
			return
		}
		for k := range number {
			p.ends = append(p.ends, first+k)
		}
	}
}

// each calls visit with each row after the first line of data, in order, until it is false.
func (p *part) each(visit func(row int, r *table.Rows) bool) {
	row := 0
	for _, r := range p.blocks {
		for r.Rewind(); r.NextRow(); row++ {
			if !visit(row, r) {
				return
			}
		}
	}
}

// data is each for all rows of data: with the first line, unless it is a header.
func (p *part) data(visit func(row int, line int64, cells [][]byte) bool) {
	first := 0
	if p.header == isData {
		if first = 1; !visit(0, p.Line, p.First) {
			return
		}
	}
	p.each(func(row int, r *table.Rows) bool { return visit(row+first, r.Line, r.Cells) })
}

// cellIDs gives the cells of a column handles, with those of the first line if it is data.
func (e *edgeList) cellIDs(p *part, column int) {
	whole := p.counts[column].isWhole(p.number())
	p.ids, p.set = nil, idSet{}
	p.data(func(_ int, line int64, cells [][]byte) bool {
		handle, err := e.ids.handle(wholeID(cells[column], whole))
		p.set.add(handle)
		p.ids = append(p.ids, handle)
		return e.ok(err)
	})
}

// wholeID returns an id without the .0 that all ids of its column end in.
func wholeID(cell []byte, whole bool) []byte {
	if whole {
		return cell[:max(len(cell)-2, 0)]
	}
	return cell
}

// takeFirst decides that the first line is data, or a header.
func (e *edgeList) takeFirst(p *part, header headerState) {
	p.header = header
	if header == isHeader {
		e.check(p.rows > 0 || p.role == "edges", p.Path, "%w after the header", table.ErrNoData)
		return
	}
	for j, cell := range p.First {
		p.counts[j].count(&p.forms, cell)
	}
	switch {
	case p.role == "edges":
		e.addFirstEdge(p)
	case len(p.ends) > 0:
		e.cellIDs(p, p.ends[0])
	}
}

// cellFault says where a cell is: its column, and the node of its row.
func (e *edgeList) cellFault(p *part, faults *table.Faults, row int, line int64, column int, format string, args ...any) bool {
	place := p.title(column)
	if p.header == isHeader {
		place = fmt.Sprintf("column %d (%s)", column+1, place)
	}
	if p.key >= 0 {
		place += ", node " + e.ids.quoted(p.ids[row])
	}
	return faults.Add(line, "%s: %s", place, fmt.Sprintf(format, args...))
}

// describe says how a table was read.
func (e *edgeList) describe(p *part, what string) {
	text := fmt.Sprintf("%s from %s: %s; ", p.role, p.Path, what)
	switch {
	case p.Parquet:
		text += "Parquet"
		if len(p.LeftOut) > 0 {
			text += fmt.Sprintf(", columns of lists or records left out: %.60q", strings.Join(p.LeftOut, ", "))
		}
	case p.header == isHeader:
		text += fmt.Sprintf("header in line %d: %.60q", p.Line, p.firstLine())
	default:
		text += fmt.Sprintf("no header, the first line is %.60q", p.firstLine())
	}
	if p.Width > 1 && !p.Parquet {
		text += ", separator " + separatorName(p.File)
	}
	if n := p.Skipped.Load(); n > 0 {
		text += fmt.Sprintf(", %d lines of comments", n)
	}
	e.note("%s", text)
}
