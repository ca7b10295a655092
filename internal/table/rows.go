package table

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
)

// Separators lists the separators by name, in the order of the search. A semicolon comes
// before a comma, which can be a decimal mark, and a space last, since names can have one.
var Separators = []struct {
	Name string
	Char byte
}{{"tab", '\t'}, {"semicolon", ';'}, {"comma", ','}, {"space", ' '}}

// unit separates the cells of a row of Parquet, in which nothing is quoted.
const unit = 0x1f

// Cut returns the first cell of a line without the quotes and blanks around it, and the rest
// of the line. more says that there was a separator. A cell in quotes may hold separators,
// and quotes written twice. Several spaces separate like one. A dictionary of Python at the
// end of a line, as networkx writes it, is one cell.
func Cut(line []byte, sep byte) (cell, rest []byte, more bool) {
	if sep == unit {
		return bytes.Cut(line, []byte{unit})
	}
	if sep != '\t' {
		line = bytes.TrimLeft(line, " ")
	}
	if len(line) > 1 && line[0] == '"' {
		if cell, rest, more, ok := cutQuoted(line, sep); ok {
			return cell, rest, more
		}
	}
	if len(line) > 1 && line[0] == '{' && line[len(line)-1] == '}' {
		return line, nil, false
	}
	cut := bytes.IndexByte(line, sep)
	if cut < 0 {
		return bytes.TrimSpace(line), nil, false
	}
	cell, rest = line[:cut], line[cut+1:]
	if sep == ' ' {
		if rest = bytes.TrimLeft(rest, " "); len(rest) == 0 {
			return cell, nil, false
		}
	}
	return bytes.TrimSpace(cell), rest, true
}

// cutQuoted is Cut for a line that begins with a quote. ok says that a quote ends the cell.
func cutQuoted(line []byte, sep byte) (cell, rest []byte, more, ok bool) {
	end, twice := 1, false
	for {
		next := bytes.IndexByte(line[end:], '"')
		if next < 0 {
			return nil, nil, false, false
		}
		if end += next; end+1 == len(line) || line[end+1] != '"' {
			break
		}
		end, twice = end+2, true
	}
	cell = line[1:end]
	if twice {
		cell = bytes.ReplaceAll(cell, []byte(`""`), []byte(`"`))
	}
	after := bytes.TrimLeft(line[end+1:], " ")
	switch {
	case len(after) == 0:
		return cell, nil, false, true
	case sep == ' ' && len(after) < len(line)-end-1:
		return cell, after, true, true
	case after[0] == sep:
		return cell, after[1:], true, true
	}
	return nil, nil, false, false
}

// split appends the cells of a line.
func split(cells [][]byte, line []byte, sep byte) [][]byte {
	for more := true; more; {
		var cell []byte
		cell, line, more = Cut(line, sep)
		cells = append(cells, cell)
	}
	return cells
}

// isSign tells whether a line begins as a comment does.
func isSign(line []byte) bool { return len(line) > 0 && (line[0] == '#' || line[0] == '%') }

// isComment tells whether a blank follows the sign of a line, as in a comment.
func isComment(line []byte) bool {
	return isSign(line) && (len(line) == 1 || line[1] == ' ' || line[1] == '\t')
}

// Scan finds the comments at the beginning of the file, the first line of data, the separator
// and the number of cells. prefer is the name of a separator that is tried first, or "".
// comments is "1" if every line that begins with # or % is a comment, "0" if none is; "" asks
// where a line can be both. The error wraps ErrNoData if there is no data.
func (f *File) Scan(prefer, comments string) error {
	f.comments = comments
	f.begin()
	if f.Parquet {
		f.Sep, f.Line = unit, 0
		f.First = f.source.(*parquetSource).names
		f.Width = len(f.First)
		return nil
	}
	var signs []Row // lines that are comments only if they have another number of cells
	for ; ; f.head, f.headErr = f.source.next() {
		switch {
		case f.headErr == io.EOF:
			return fmt.Errorf("datasets: %s: %w", f.Path, ErrNoData)
		case f.headErr != nil:
			return f.headErr
		}
		b := f.head
		for {
			line, found := b.Next()
			switch {
			case !found:
			case len(line) == 0:
				continue
			case isSign(line) && comments != "0":
				f.Skipped.Add(1)
				if comments == "" && !isComment(line) {
					signs = append(signs, Row{Line: b.Number - 1, Cells: [][]byte{bytes.Clone(line)}})
				}
				continue
			default:
				f.Line = b.Number - 1
				f.findSeparator(line, b, prefer)
				f.First = split(nil, bytes.Clone(line), f.Sep)
				f.Width = len(f.First)
				return f.checkSigns(signs)
			}
			break
		}
	}
}

// checkSigns reports lines before the data that can be comments or data.
func (f *File) checkSigns(signs []Row) error {
	faults := &Faults{Path: f.Path}
	for _, s := range signs {
		if len(split(nil, s.Cells[0], f.Sep)) == f.Width {
			faults.Add(s.Line, "%s is a comment, or data: say comments=1 or comments=0", Quote(s.Cells[0]))
		}
	}
	return faults.Err()
}

// findSeparator sets the separator: the first one that cuts the first lines of data into
// equally many cells, or else the first one in the first line; a blank must be in all lines.
func (f *File) findSeparator(first []byte, rest Block, prefer string) {
	const most = 50
	sample := [][]byte{first}
	for len(sample) < most {
		line, found := rest.Next()
		if !found {
			break
		}
		if len(line) > 0 && (!isSign(line) || f.comments == "0") {
			sample = append(sample, line)
		}
	}
	var order []byte
	for _, s := range Separators {
		if s.Name == prefer {
			order = append(order, s.Char)
		}
	}
	for _, s := range Separators {
		order = append(order, s.Char)
	}
	var cells [][]byte
	width := func(line []byte, sep byte) int {
		cells = split(cells[:0], withoutAttributes(line), sep)
		return len(cells)
	}
	for _, f.Sep = range order {
		want := width(first, f.Sep)
		if want > 1 && !slices.ContainsFunc(sample, func(line []byte) bool { return width(line, f.Sep) != want }) {
			return
		}
	}
	for _, f.Sep = range order {
		if width(first, f.Sep) > 1 && (f.Sep != ' ' || !slices.ContainsFunc(sample, func(line []byte) bool { return width(line, ' ') == 1 })) {
			return
		}
	}
	f.Sep = ','
}

// withoutAttributes cuts off the dictionary of attributes that networkx writes after an edge.
func withoutAttributes(line []byte) []byte {
	if at := bytes.IndexByte(line, '{'); at > 0 && line[len(line)-1] == '}' && bytes.IndexByte([]byte(" \t,;"), line[at-1]) >= 0 {
		return bytes.TrimSpace(line[:at])
	}
	return line
}

// Row is one line of data.
type Row struct {
	Line  int64    // its number in the file, from 1
	Cells [][]byte // valid until the next row
}

// Rows cuts the lines of data in a block into cells. It leaves out the first line of data,
// comments and empty lines.
type Rows struct {
	Block
	Row
	File  *File
	Raw   []byte // the row
	Empty int64  // number of the first empty line so far; 0: none

	whole  Block
	faults Faults
	again  bool // the rows were read before
}

// Rows returns the rows of a block of f.
func (f *File) Rows(b Block) *Rows {
	r := &Rows{whole: b, File: f, faults: Faults{Path: f.Path}}
	r.Rewind()
	r.again = false
	return r
}

// Rewind goes back to the first row of the block.
func (r *Rows) Rewind() {
	r.Block, r.Empty, r.again = r.whole, 0, true
	for r.Number <= r.File.Line {
		if _, found := r.Block.Next(); !found {
			return
		}
	}
}

// NextRow goes to the next row. It is false after the last one, and after MostFaults
// faults. A line with another number of cells than the first is a fault, and so is a line
// that is a comment or not.
func (r *Rows) NextRow() bool {
	for len(r.faults.list) <= MostFaults {
		line, found := r.Block.Next()
		if !found {
			return false
		}
		r.Line, r.Raw = r.Number-1, line
		if len(line) == 0 && !r.File.Parquet {
			r.Empty = cmp.Or(r.Empty, r.Line)
			continue
		}
		if isSign(line) && r.File.comments != "0" && !r.File.Parquet {
			if r.File.comments == "1" {
				if !r.again {
					r.File.Skipped.Add(1)
				}
				continue
			}
			if isComment(line) {
				r.Fault("%s is a comment, or data: say comments=1 or comments=0", Quote(line))
				continue
			}
		}
		r.Cells = split(r.Cells[:0], line, r.File.Sep)
		if len(r.Cells) != r.File.Width {
			hint := ""
			switch {
			case bytes.Count(line, []byte{'"'})%2 == 1:
				hint = " (line breaks within quotes are not read)"
			case r.File.Sep == ' ':
				hint = `; blanks within names need another separator; nx.write_edgelist(nx.read_adjlist("FILE"), "edges.txt") converts an adjacency list`
			}
			r.Fault("%s has %d fields, and the first line of data has %d%s", Quote(line), len(r.Cells), r.File.Width, hint)
			continue
		}
		return true
	}
	return false
}

// Fault records a fault of the row.
func (r *Rows) Fault(format string, args ...any) { r.faults.Add(r.Line, format, args...) }

// Bytes returns the size of the block.
func (r *Rows) Bytes() int64 { return int64(len(r.whole.Data)) }

// Err returns the faults of the block, or nil.
func (r *Rows) Err() error { return r.faults.Err() }

// Head returns the rows at the beginning of the file, after the first line of data. It stands
// for the whole file where one reads the file only once.
func (f *File) Head() *Rows { return f.Rows(f.head) }

// EachRows is Lines for rows.
func EachRows[T any](ctx context.Context, f *File, parse func(r *Rows) (T, error), consume func(T) error) error {
	return Lines(ctx, f, func(b Block) (T, error) {
		r := f.Rows(b)
		value, err := parse(r)
		if err == nil {
			err = r.Err()
		}
		return value, err
	}, consume)
}
