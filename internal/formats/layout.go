package formats

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// layout says how the lines of one text file are written.
type layout struct {
	path   string
	sep    byte
	header int64    // number of the line of names, the first line of data; 0: none
	names  []string // of the columns, from the header
	first  string   // the first line of data
	begin  int64    // number of the first line of data
	second []string // fields of the second line of data; nil: there is none
	sample []string // fields of a line of data that is not the header
	fields int      // of that line

	sampleLine []byte // that line
	columns    []int  // of the file, in the order to read them; nil: all
	attributed bool   // a dictionary of attributes follows an edge
}

// separators lists the values of the key sep, in the order of the search. A semicolon
// comes before a comma, which can be a decimal mark, and a space last, since names can
// have one.
var separators = []separator{{"tab", '\t'}, {"semicolon", ';'}, {"comma", ','}, {"space", ' '}}

type separator struct {
	name string
	char byte
}

// dataLine is a line of data and its number.
type dataLine struct {
	text   []byte
	number int64
}

// firstData returns a file's first two lines of data, or its only one.
func firstData(path string) ([]dataLine, error) {
	text, err := openText(path)
	if err != nil {
		return nil, err
	}
	defer text.Close()
	var found []dataLine
	err = cutLines(text, path, func(b lines) error {
		for len(found) < 2 {
			line, more := b.nextData()
			if !more {
				return nil
			}
			if len(line) > 0 {
				found = append(found, dataLine{bytes.Clone(line), b.number - 1})
			}
		}
		return errEnoughRead
	})
	if err != nil && err != errEnoughRead {
		return nil, err
	}
	if len(found) == 0 {
		return nil, fmt.Errorf("datasets: %s: %w", path, errNoData)
	}
	return found, nil
}

var (
	errNoData     = errors.New("it holds no data")
	errEnoughRead = errors.New("enough lines read") // stops cutLines early
)

// findLayout finds the separator of a file, and whether it starts with a header. prefer
// is a value of the key sep, or "". words tells that the first column may be names, so that
// a space may separate them. isHeader compares the fields of the first two lines; the
// second is nil in a file of one line. header, "0" or "1", answers instead of it. columns
// names the columns to read, separated by commas, and so says that there is a header; ""
// means all columns.
func findLayout(path, prefer, header, columns string, words bool, isHeader func(first, second []string) bool) (*layout, error) {
	found, err := firstData(path)
	if err != nil {
		return nil, err
	}
	last := found[len(found)-1]
	l := &layout{path: path, sep: findSeparator(withoutQuoted(withoutAttributes(last.text)), prefer, words), first: string(found[0].text), begin: found[0].number}
	first := l.split(withoutAttributes(found[0].text))
	var second []string
	if len(found) > 1 {
		second = l.split(withoutAttributes(found[1].text))
	}
	if columns != "" {
		if header == "0" {
			return nil, fmt.Errorf("datasets: %s: the columns %q need a header", path, columns)
		}
		if err := l.pick(first, columns); err != nil {
			return nil, err
		}
		header, first = "1", l.split(l.picked(found[0].text))
		if second != nil {
			last.text = l.picked(last.text)
			second = l.split(last.text)
		}
	}
	headed := header == "1" || header == "" && isHeader(first, second)
	l.second, l.sample, l.sampleLine = second, first, found[0].text
	if headed {
		l.header, l.names = found[0].number, first
		l.sample, l.sampleLine = second, last.text
		if second == nil {
			return nil, fmt.Errorf("datasets: %s: %w after the header", path, errNoData)
		}
	}
	l.fields = len(l.sample)
	return l, nil
}

// pick sets the columns of a file from their names, separated by commas. names are all
// columns' names.
func (l *layout) pick(names []string, columns string) error {
	for name := range strings.SplitSeq(columns, ",") {
		name = strings.TrimSpace(name)
		k := slices.Index(names, name)
		if k < 0 {
			return fmt.Errorf("datasets: %s: no column %q; the first line has %.200q", l.path, name, strings.Join(names, ", "))
		}
		if slices.Contains(l.columns, k) {
			return fmt.Errorf("datasets: %s: column %q is named twice", l.path, name)
		}
		if slices.Contains(names[k+1:], name) {
			return fmt.Errorf("datasets: %s: two columns %q", l.path, name)
		}
		l.columns = append(l.columns, k)
	}
	return nil
}

// picked returns the columns of a line, in the order to read them. A field with a separator in
// it is in quotes. A short line lacks columns at its end.
func (l *layout) picked(line []byte) []byte {
	var fields [][]byte
	for more := true; more; {
		var field []byte
		field, line, more = cutField(line, l.sep)
		fields = append(fields, field)
	}
	var result []byte
	for k, column := range l.columns {
		if column >= len(fields) {
			break
		}
		if k > 0 {
			result = append(result, l.sep)
		}
		if field := fields[column]; bytes.IndexByte(field, l.sep) >= 0 && bytes.IndexByte(field, '"') < 0 {
			result = append(append(append(result, '"'), field...), '"')
		} else {
			result = append(result, field...)
		}
	}
	return result
}

// takeHeader makes the first line, which findLayout took as data, the header.
func (l *layout) takeHeader() { l.header, l.names, l.sample = l.begin, l.sample, l.second }

// findSeparator returns the first separator that leaves a number in front, or else the
// first one in the line. A space must leave a number in front, unless words is true.
func findSeparator(line []byte, prefer string, words bool) byte {
	present := byte(0)
	try := func(sep byte) bool {
		front, _, there := bytes.Cut(line, []byte{sep})
		if there && present == 0 && (sep != ' ' || words) {
			present = sep
		}
		return there && isNumber(string(unquoted(bytes.TrimSpace(front))))
	}
	for _, s := range separators {
		if s.name == prefer && (try(s.char) || words && present == s.char) {
			return s.char
		}
	}
	for _, s := range separators {
		if try(s.char) {
			return s.char
		}
	}
	if present == 0 {
		return ','
	}
	return present
}

// split returns the fields of a line.
func (l *layout) split(line []byte) []string {
	var fields []string
	for more := true; more; {
		var field []byte
		field, line, more = cutField(line, l.sep)
		fields = append(fields, string(field))
	}
	return fields
}

// cutField returns the first field of a line without the quotes and blanks around it, and
// the rest of the line. more says that there was a separator. A field in quotes may hold
// separators. Several spaces separate like one.
func cutField(line []byte, sep byte) (field, rest []byte, more bool) {
	if sep != '\t' {
		line = bytes.TrimLeft(line, " ")
	}
	if len(line) > 0 && line[0] == '"' {
		if end := bytes.IndexByte(line[1:], '"'); end >= 0 {
			after := bytes.TrimLeft(line[end+2:], " ")
			switch {
			case len(after) == 0:
				return line[1 : end+1], nil, false
			case sep == ' ' && len(after) < len(line)-end-2:
				return line[1 : end+1], after, true
			case after[0] == sep:
				return line[1 : end+1], after[1:], true
			}
		}
	}
	cut := bytes.IndexByte(line, sep)
	if cut < 0 {
		return bytes.TrimSpace(line), nil, false
	}
	field, rest = line[:cut], line[cut+1:]
	if sep == ' ' {
		if rest = bytes.TrimLeft(rest, " "); len(rest) == 0 {
			return field, nil, false
		}
	}
	return bytes.TrimSpace(field), rest, true
}

// withoutQuoted returns a line with an x in place of each field in quotes.
func withoutQuoted(line []byte) []byte {
	if bytes.Count(line, []byte{'"'}) < 2 {
		return line
	}
	parts := bytes.Split(line, []byte{'"'})
	for k := 1; k < len(parts); k += 2 {
		if !isNumber(string(parts[k])) {
			parts[k] = []byte{'x'}
		}
	}
	return bytes.Join(parts, nil)
}

// withoutAttributes cuts off the dictionary of attributes that networkx writes after an
// edge.
func withoutAttributes(line []byte) []byte {
	line = bytes.TrimSpace(line)
	if at := bytes.IndexByte(line, '{'); at > 0 && line[len(line)-1] == '}' && (line[at-1] == ' ' || line[at-1] == '\t' || line[at-1] == ',') {
		return bytes.TrimSpace(line[:at])
	}
	return line
}

// skipHeader cuts off the header, and the comments and empty lines before it. The lines of data
// after it have the columns to read.
func (l *layout) skipHeader(b *lines) {
	for b.number <= l.header {
		if _, found := b.next(); !found {
			return
		}
	}
	if l.columns != nil {
		b.picked = l.picked
	}
}

// describe says how the file was read; columns names its columns.
func (l *layout) describe(what, columns string) string {
	header := "no header"
	if l.header > 0 {
		header = fmt.Sprintf("header in line %d: %.60q", l.header, strings.Join(l.names, ", "))
	}
	if l.fields > 1 {
		k := slices.IndexFunc(separators, func(s separator) bool { return s.char == l.sep })
		header += ", separator " + separators[k].name
	}
	return fmt.Sprintf("%s from %s: %s; %s", what, l.path, columns, header)
}

// isNumber tells whether a field is a number, or a missing one.
func isNumber(field string) bool {
	_, err := strconv.ParseFloat(field, 64)
	return err == nil || field == "" || errors.Is(err, strconv.ErrRange)
}

// isIDWord tells whether a word is a name of a column of node ids, and hardly a node's name.
func isIDWord(name string) bool {
	return slices.Contains([]string{"id", "node", "node_id", "nodeid"}, strings.ToLower(name))
}

// namesID tells whether a column's name can stand for a node id: as isIDWord, or it ends in id
// as a word, such as user_id, "paper id" and authorId.
func namesID(name string) bool {
	if isIDWord(name) {
		return true
	}
	front := len(name) - len("id")
	if front < 1 || !strings.EqualFold(name[front:], "id") {
		return false
	}
	before := name[front-1]
	return strings.IndexByte("_- .", before) >= 0 || name[front] == 'I' && 'a' <= before && before <= 'z'
}
