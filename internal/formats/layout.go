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
	fields int      // of a line of data
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
// is a value of the key sep, or "". isHeader compares the fields of the first two lines;
// the second is nil in a file of one line. header, "0" or "1", answers instead of it.
func findLayout(path, prefer, header string, isHeader func(first, second []string) bool) (*layout, error) {
	found, err := firstData(path)
	if err != nil {
		return nil, err
	}
	last := found[len(found)-1]
	l := &layout{path: path, sep: findSeparator(last.text, prefer), first: string(found[0].text)}
	first := l.split(found[0].text)
	var second []string
	if len(found) > 1 {
		second = l.split(found[1].text)
	}
	headed := header == "1" || header == "" && isHeader(first, second)
	l.fields = len(first)
	if headed {
		l.header, l.names = found[0].number, first
		if l.fields = len(second); second == nil {
			return nil, fmt.Errorf("datasets: %s: %w after the header", path, errNoData)
		}
	}
	return l, nil
}

// findSeparator returns the first separator that leaves a number in front, or else the
// first one in the line. A space must leave a number in front.
func findSeparator(line []byte, prefer string) byte {
	present := byte(0)
	try := func(sep byte) bool {
		front, _, there := bytes.Cut(line, []byte{sep})
		if there && present == 0 && sep != ' ' {
			present = sep
		}
		return there && isNumber(string(unquoted(bytes.TrimSpace(front))))
	}
	for _, s := range separators {
		if s.name == prefer && try(s.char) {
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
	parts := bytes.Split(line, []byte{l.sep})
	fields := make([]string, len(parts))
	for k, part := range parts {
		fields[k] = string(unquoted(bytes.TrimSpace(part)))
	}
	return fields
}

// skipHeader cuts off the header, and the comments and empty lines before it.
func (l *layout) skipHeader(b *lines) {
	for b.number <= l.header {
		if _, found := b.next(); !found {
			return
		}
	}
}

// describe says how the file was read; columns says what its columns are.
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

// namesID tells whether a column's name stands for a node id.
func namesID(name string) bool {
	return slices.Contains([]string{"id", "node", "node_id", "nodeid"}, strings.ToLower(name))
}
