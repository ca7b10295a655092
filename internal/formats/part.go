package formats

import (
	"bytes"
	"cmp"
	"fmt"
	"iter"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/gcn-layerwise/gcn/internal/table"
)

// part is one table of an edge list: the edges, or a file beside them. The first line of data
// is kept aside until it is clear whether it is a header.
type part struct {
	*table.File
	content
	role    string   // "edges", "nodes", "labels" or "features"
	prefix  string   // of the keys of the SPEC that belong to the role, such as labels-header
	decimal string   // the key: "comma", "point" or ""
	missing []string // words that stand for no value
	header  headerState
	wanted  []string // the columns that the SPEC picks, by name or number
	inOrder bool     // the SPEC says that the rows are in node order
	index   bool     // the first column is pandas' index

	idColumns int   // number of columns of ids: 2 of the edges, 1 of other tables, 0 of other files
	ends      []int // the columns that can hold ids: idColumns of them, or none
	ids       []int32
	set       idSet // of the ids, without the first line's unless it is data
	key       int   // the column of the ids of a table of nodes; −1: the rows are in node order
}

type headerState int

const (
	unsure headerState = iota
	isData
	isHeader
)

// content is what the rows of a table are like, with the first line once it is data. A table of
// nodes is held in memory. Of the edges it is the content of the beginning of the file.
type content struct {
	blocks []table.Block
	counts []columnCounts // of each column
	rows   int
	empty  int64 // number of the first empty line; 0: none
	last   int64 // number of the last line of data
}

// openPart opens a table and finds how it is written. Tables of nodes can share a file. Edges may
// have no data.
func (e *edgeList) openPart(role, path string) *part {
	p := &part{role: role, key: -1, idColumns: 2}
	if role != "edges" {
		p.prefix, p.idColumns = role+"-", 1
	}
	if k := slices.IndexFunc(e.parts, func(o *part) bool { return filepath.Clean(o.Path) == filepath.Clean(path) && o.role != "edges" }); k >= 0 {
		p.File, p.content = e.parts[k].File, e.parts[k].content
	} else {
		p.File = e.open(path, true)
		try(p.Scan(e.keys["sep"], e.keys["comments"]))
		check(p.First != nil || role == "edges", path, "it holds no data")
	}
	p.decimal, p.missing = e.keys["decimal"], list(e.keys["missing"])
	columns := e.keys[p.prefix+"columns"]
	if p.wanted = list(columns); strings.HasPrefix(columns, ",") {
		p.inOrder, p.wanted = true, p.wanted[1:]
		check(role != "edges", path, "columns=%s: want columns=FROM,TO", columns)
	}
	named := slices.ContainsFunc(p.wanted, func(name string) bool { return !isNumber(name) && p.named(name) >= 0 })
	header := e.keys[p.prefix+"header"]
	p.header = map[string]headerState{"0": isData, "1": isHeader}[header]
	if p.Parquet || header == "" && named {
		p.header = isHeader
	}
	return p
}

// list splits a value of a key at its commas.
func list(text string) (parts []string) {
	if text == "" {
		return nil
	}
	for part := range strings.SplitSeq(text, ",") {
		parts = append(parts, strings.TrimSpace(part))
	}
	return parts
}

// named returns the column that the first line names, or −1.
func (p *part) named(name string) int {
	return slices.IndexFunc(p.First, func(cell []byte) bool { return string(cell) == name })
}

// columns returns columns by their names in the header, or by their numbers from 1.
func (p *part) columns(names []string) (found []int) {
	for _, name := range names {
		j := p.named(name)
		if j < 0 || p.header == isData {
			check(j < 0 || isNumber(name), p.Path, "the column %q needs a header, and a key says that there is none", name)
			number, ok := numberID([]byte(name))
			check(ok && number >= 1 && int(number) <= p.Width, p.Path, "no column %q; the first line has %.200q", name, p.firstLine())
			j = int(number) - 1
		} else {
			again := slices.ContainsFunc(p.First[j+1:], func(cell []byte) bool { return string(cell) == name })
			check(!again, p.Path, "two columns %q", name)
		}
		check(!slices.Contains(found, j), p.Path, "column %q is named twice", name)
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

func (p *part) firstLine() string { return string(bytes.Join(p.First, []byte(", "))) }

// count returns the content of a block.
func (p *part) count(r *table.Rows) content {
	c := content{blocks: []table.Block{r.Block}, counts: make([]columnCounts, p.Width)}
	for ; r.NextRow(); c.rows++ {
		c.last = r.Line
		for j, cell := range r.Cells {
			p.countCell(&c.counts[j], cell, p.First[j])
		}
	}
	c.empty = r.Empty
	return c
}

// add adds the content of the rows after those of c.
func (c *content) add(o content) {
	c.empty, c.last = cmp.Or(c.empty, o.empty), cmp.Or(o.last, c.last)
	for j := range c.counts {
		for kind, n := range o.counts[j] {
			c.counts[j][kind] += n
		}
	}
	c.rows += o.rows
	c.blocks = append(c.blocks, o.blocks...)
}

// example returns the first row, or else the first line.
func (p *part) example() [][]byte {
	for _, r := range p.data() {
		return slices.Clone(r.Cells)
	}
	return p.First
}

// prepend makes the first line data.
func (p *part) prepend() {
	first := p.count(p.FirstRow())
	first.add(p.content)
	p.content = first
}

// hold reads a table of nodes into memory, unless another part has it.
func (e *edgeList) hold(p *part) {
	if p.counts == nil {
		p.counts = make([]columnCounts, p.Width)
		try(table.EachRows(e.ctx, p.File, p.count, func(c content) error {
			p.add(c)
			e.take(len(c.blocks[0].Data))
			return nil
		}))
	}
	e.findEnds(p)
}

// counted tells whether the first column counts the rows from a number on.
func (p *part) counted(from int) bool {
	for row, r := range p.data() {
		if string(r.Cells[0]) != strconv.Itoa(from+row) {
			return false
		}
	}
	return p.rows > 0
}

// findEnds sets the columns that can hold ids. The first column is the index that pandas writes if
// it has no name and counts the rows.
func (e *edgeList) findEnds(p *part) {
	name := string(p.First[0])
	p.index = (name == "" || name == "Unnamed: 0") && p.Width > 1 && p.counted(0)
	rest := p.others()
	switch {
	case len(p.wanted) > 0 && !p.inOrder:
		check(len(p.wanted) >= p.idColumns, p.Path, "columns=%s names one column: want columns=FROM,TO", p.wanted[0])
		p.ends = p.columns(p.wanted)[:p.idColumns]
	case p.inOrder, p.Width == 1 && p.role != "nodes" && p.role != "edges":
	case len(rest) < p.idColumns:
		p.ask(" is not two node ids")
	default:
		p.ends = rest[:p.idColumns]
	}
}

// data visits the rows in order. If the caller has recorded faults of rows, the reading ends after
// the last row.
func (p *part) data() iter.Seq2[int, *table.Rows] {
	return func(yield func(int, *table.Rows) bool) {
		row, r := 0, p.Rows(table.Block{})
		for _, r.Block = range p.blocks {
			for ; r.NextRow(); row++ {
				if !yield(row, r) {
					return
				}
			}
		}
		try(r.Faults.Err())
	}
}

// cellIDs gives the cells of a column handles.
func (e *edgeList) cellIDs(p *part, column int) {
	whole := p.counts[column].isWhole()
	p.ids, p.set = make([]int32, p.rows), idSet{}
	for row, r := range p.data() {
		p.ids[row] = e.ids.handle(wholeID(r.Cells[column], whole))
		p.set.add(p.ids[row])
	}
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
		check(p.rows > 0 || p.role == "edges", p.Path, "it holds no data after the header")
		return
	}
	p.prepend()
	if p.role == "edges" {
		first := p.FirstRow()
		arcs := e.parseArcs(first)
		try(first.Faults.Err())
		e.addArcs(0, arcs)
	} else if len(p.ends) > 0 {
		e.cellIDs(p, p.ends[0])
	}
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
	for _, s := range table.Separators {
		if s.Char == p.Sep && p.Width > 1 && !p.Parquet {
			text += ", separator " + s.Name
		}
	}
	if p.Skipped > 0 {
		text += fmt.Sprintf(", %d lines of comments", p.Skipped)
	}
	e.note("%s", text)
}

// missingWords stand for no value, in any case, as an empty cell does.
var missingWords = []string{"nan", "na", "n/a", "none", "null"}

func isMissingWord(cell []byte) bool {
	return len(cell) == 0 || len(cell) <= 4 && cell[0]|0x20 == 'n' && slices.ContainsFunc(missingWords, func(word string) bool { return strings.EqualFold(word, string(cell)) })
}

// isMissing tells whether a cell stands for no value.
func (p *part) isMissing(cell []byte) bool {
	return isMissingWord(cell) || len(p.missing) > 0 && slices.Contains(p.missing, string(cell))
}

// number reads a number, which may be infinite. With a decimal comma it is read as decimals,
// or as thousands if the key decimal says so; ok says that it is a number in either way.
func (p *part) number(cell []byte) (v float64, ok bool) {
	if v, ok := parseNumber(cell); ok {
		return v, true
	}
	whole, fraction, found := bytes.Cut(cell, []byte{','})
	switch {
	case !found:
		return 0, false
	case p.decimal != "point":
		return parseNumber(slices.Concat(whole, []byte{'.'}, fraction))
	case inThousands(cell):
		return parseNumber(bytes.ReplaceAll(cell, []byte{','}, nil))
	}
	return 0, false
}

// inThousands tells whether each comma of a number is before three digits of its whole part.
func inThousands(cell []byte) bool {
	whole, fraction, _ := bytes.Cut(cell, []byte{'.'})
	groups := bytes.Split(whole, []byte{','})
	return bytes.IndexByte(fraction, ',') < 0 && !slices.ContainsFunc(groups[1:], func(group []byte) bool { return len(group) != 3 })
}

// parseNumber reads a decimal number in single precision.
func parseNumber(cell []byte) (float64, bool) {
	if len(cell) == 0 || len(bytes.Trim(cell, "0123456789.+-eE")) > 0 { // strconv reads some words and hexadecimal numbers, too
		return 0, false
	}
	// The compiler allocates no string here.
	v, err := strconv.ParseFloat(string(cell), 32)
	return v, err == nil || v-v != 0 // a number beyond single precision is infinite
}

// The kinds of cells in a column that are counted. A cell can be of several.
const (
	presentCells = iota // that are not missing
	numberCells         // in any form
	idCells             // numbers in the form of ids
	decimalCells        // numbers whose comma can only be a decimal mark
	wholeCells          // cells that end in .0
	againCells          // texts that are in the first line, too
	cellKinds
)

// columnCounts counts the cells of a column by kind.
type columnCounts [cellKinds]int

// countCell counts a cell. first is the cell of the column in the first line.
func (p *part) countCell(c *columnCounts, cell, first []byte) {
	missing, isID := p.isMissing(cell), isNumber(cell)
	if isID && !missing { // most cells of most edge lists
		c[presentCells]++
		c[numberCells]++
		c[idCells]++
		return
	}
	_, number := p.number(cell)
	number = number && !missing
	for kind, is := range [cellKinds]bool{
		presentCells: !missing,
		numberCells:  number,
		decimalCells: number && bytes.IndexByte(cell, ',') >= 0 && !inThousands(cell),
		wholeCells:   !missing && bytes.HasSuffix(cell, []byte(".0")),
		againCells:   !number && len(cell) > 0 && bytes.Equal(cell, first),
	} {
		if is {
			c[kind]++
		}
	}
}

// numeric tells whether more than half of the cells that are there are numbers.
func (c *columnCounts) numeric() bool { return 2*c[numberCells] > c[presentCells] }

// isWhole tells whether all cells that are there end in .0, as pandas writes whole numbers
// beside missing ones.
func (c *columnCounts) isWhole() bool {
	return c[wholeCells] > 0 && c[wholeCells] == c[presentCells]
}
