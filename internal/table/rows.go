package table

import (
	"bytes"
	"cmp"
	"io"
	"slices"
	"unicode/utf8"
)

// Separators lists the separators by name, in the order of the search. A semicolon comes
// before a comma, which can be a decimal mark, and a space last, since names can have one.
var Separators = []struct {
	Name string
	Char byte
}{{"tab", '\t'}, {"semicolon", ';'}, {"comma", ','}, {"space", ' '}}

// unit separates the cells of a row of Parquet, in which nothing is quoted.
const unit = 0x1f

// cut returns the first cell of a line without the quotes and blanks around it, and the rest
// of the line. more says that there was a separator. A cell in quotes may hold separators,
// and quotes written twice. Several spaces separate like one. A dictionary of Python at the
// end of a line, as networkx writes it, is one cell.
func cut(line []byte, sep byte) (cell, rest []byte, more bool) {
	if sep == unit {
		return bytes.Cut(line, []byte{unit})
	}
	if sep != '\t' {
		line = bytes.TrimLeft(line, " ")
	}
	quoted := quotedLength(line, sep)
	if quoted == 0 && IsDictionary(line) {
		return line, nil, false
	}
	cell, rest, more = bytes.Cut(line[quoted:], []byte{sep})
	if quoted == 0 {
		cell = bytes.TrimSpace(cell)
	} else if cell = line[1 : quoted-1]; bytes.IndexByte(cell, '"') >= 0 {
		cell = bytes.ReplaceAll(cell, []byte(`""`), []byte(`"`))
	}
	if sep == ' ' {
		rest = bytes.TrimLeft(rest, " ")
		more = len(rest) > 0
	}
	return cell, rest, more
}

// IsDictionary tells whether a text has the brackets of a dictionary.
func IsDictionary(text []byte) bool {
	return len(text) > 1 && text[0] == '{' && text[len(text)-1] == '}'
}

// quotedLength returns the length of a cell in quotes at the beginning of a line, with both
// quotes. It is 0 if there is none, or if more than blanks follow it before the separator.
func quotedLength(line []byte, sep byte) int {
	if len(line) == 0 || line[0] != '"' {
		return 0
	}
	for end := 1; end < len(line); end++ {
		switch {
		case line[end] != '"':
		case bytes.HasPrefix(line[end:], []byte(`""`)): // a quote in the cell
			end++
		default:
			after, _, _ := bytes.Cut(line[end+1:], []byte{sep})
			if len(bytes.Trim(after, " ")) > 0 {
				return 0
			}
			return end + 1
		}
	}
	return 0
}

// split appends the cells of a line.
func split(cells [][]byte, line []byte, sep byte) [][]byte {
	for more := true; more; {
		var cell []byte
		cell, line, more = cut(line, sep)
		cells = append(cells, cell)
	}
	return cells
}

// isSign tells whether a line begins as a comment does.
func (f *File) isSign(line []byte) bool {
	return f.comments != "0" && len(line) > 0 && (line[0] == '#' || line[0] == '%')
}

// isComment tells whether a blank follows the sign of a line, as in a comment.
func isComment(line []byte) bool { return len(line) == 1 || line[1] == ' ' || line[1] == '\t' }

const askComment = "%.40q is a comment, or data: say comments=1 or comments=0"

// Scan finds the comments at the beginning of the file, the first line of data, the separator
// and the number of cells. prefer is the name of a separator that is tried first, "line" if a
// line is one cell, or "".
// comments is "1" if every line that begins with # or % is a comment, "0" if none is; "" asks
// where a line can be both. Without data First stays nil.
func (f *File) Scan(prefer, comments string) (err error) {
	if f.comments = comments; f.Parquet {
		if f.head, err = f.source(); err != nil && err != io.EOF { // there may be no rows
			return err
		}
	}
	var signs []Block // lines that are comments only if they have another number of cells
	for f.First == nil {
		whole := f.head
		line, found := f.head.Next()
		switch {
		case !found:
			if f.head, err = f.source(); err == io.EOF {
				return nil
			} else if err != nil {
				return err
			}
		case f.isSign(line):
			f.Skipped++
			if comments == "" && !isComment(line) {
				signs = append(signs, Block{whole.Number, bytes.Clone(line)})
			}
		case len(line) > 0:
			f.Line = whole.Number
			f.first = Block{f.Line, whole.Data[:len(whole.Data)-len(f.head.Data)]}
			f.findSeparator(line, prefer)
			f.First = split(nil, bytes.Clone(line), f.Sep)
		}
	}
	f.Width = len(f.First)
	faults := &Faults{Path: f.Path}
	if !utf8.Valid(f.first.Data) {
		faults.addCoded(f.Line, f.first.Data)
	}
	for _, b := range signs {
		if len(split(nil, b.Data, f.Sep)) == f.Width {
			faults.Add(b.Number, askComment, b.Data)
		}
	}
	return faults.Err()
}

// findSeparator sets the separator: the first one that cuts the first lines of data into
// equally many cells, or else the first one in the first line; a blank must be in all lines.
func (f *File) findSeparator(first []byte, prefer string) {
	if prefer == "line" {
		f.Sep = '\n'
		return
	}
	const most = 50
	sample, rest := [][]byte{withoutAttributes(first)}, f.head
	for line, found := rest.Next(); found && len(sample) < most; line, found = rest.Next() {
		if len(line) > 0 && !f.isSign(line) {
			sample = append(sample, withoutAttributes(line))
		}
	}
	order := slices.Clone(Separators)
	for _, s := range Separators {
		if s.Name == prefer {
			order = slices.Insert(order, 0, s)
		}
	}
	for _, equal := range []bool{true, false} {
		for _, s := range order {
			f.Sep = s.Char
			want := len(split(nil, sample[0], f.Sep))
			if want > 1 && !slices.ContainsFunc(sample, func(line []byte) bool {
				got := len(split(nil, line, f.Sep))
				return equal && got != want || f.Sep == ' ' && got == 1
			}) {
				return
			}
		}
	}
	f.Sep = ','
}

// withoutAttributes cuts off the dictionary of attributes that networkx writes after an edge.
func withoutAttributes(line []byte) []byte {
	if at := bytes.IndexByte(line, '{'); at > 0 && IsDictionary(line[at:]) && bytes.IndexByte([]byte(" \t,;"), line[at-1]) >= 0 {
		return bytes.TrimSpace(line[:at])
	}
	return line
}

// Rows cuts the lines of data in a block into cells. It leaves out comments and empty lines.
type Rows struct {
	Block
	Line   int64    // number of the row's line in the file, from 1
	Cells  [][]byte // of the row; valid until the next row
	Raw    []byte   // the row
	Empty  int64    // number of the first empty line so far; 0: none
	File   *File
	Faults Faults // so far

	skipped int64
	coded   bool // some bytes are not UTF-8
}

// Rows returns the rows of a block of f.
func (f *File) Rows(b Block) *Rows {
	return &Rows{Block: b, File: f, Faults: Faults{Path: f.Path}, coded: !utf8.Valid(b.Data)}
}

// FirstRow returns the first line of data as a block of its own.
func (f *File) FirstRow() *Rows { return f.Rows(f.first) }

// Head returns the rows at the beginning of the file, after the first line of data. It stands
// for the whole file where one reads the file only once.
func (f *File) Head() *Rows { return f.Rows(f.head) }

// Unread makes the first line of data the first row.
func (f *File) Unread() {
	f.head = Block{f.Line, f.first.Data[:len(f.first.Data)+len(f.head.Data)]}
}

// NextRow goes to the next row. It is false after the last one, and after MostFaults
// faults. A line with another number of cells than the first is a fault, and so is a line
// that is a comment or not.
func (r *Rows) NextRow() bool {
	for len(r.Faults.texts) <= MostFaults {
		line, found := r.Block.Next()
		if !found {
			return false
		}
		r.Line, r.Raw = r.Number-1, line
		switch f := r.File; {
		case len(line) == 0 && !f.Parquet:
			r.Empty = cmp.Or(r.Empty, r.Line)
			continue
		case f.Parquet || !f.isSign(line):
		case f.comments == "1":
			r.skipped++
			continue
		case isComment(line):
			r.Fault(askComment, line)
			continue
		}
		if r.coded && !utf8.Valid(line) { // a schema and the server would change the names
			r.Faults.addCoded(r.Line, line)
			continue
		}
		if r.Cells = split(r.Cells[:0], line, r.File.Sep); len(r.Cells) == r.File.Width {
			return true
		}
		switch {
		case bytes.Count(line, []byte{'"'})%2 == 1:
			r.Faults.Hint = " (line breaks within quotes are not read)"
		case r.File.Sep == ' ':
			r.Faults.Hint = `; blanks within names need another separator; nx.write_edgelist(nx.read_adjlist("FILE"), "edges.txt") converts an adjacency list`
		}
		r.Fault("%.40q has %d fields, and the first line of data has %d", line, len(r.Cells), r.File.Width)
	}
	return false
}

// Fault records a fault of the row.
func (r *Rows) Fault(format string, args ...any) { r.Faults.Add(r.Line, format, args...) }
