package formats

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/gcn-layerwise/gcn/graph"
	"github.com/gcn-layerwise/gcn/internal/table"
)

// jsonFile is an open file of JSON. Its methods end the reading at a fault, and name the byte and
// the node, or the JSON pointer, of the value before it. A decoder keeps the value that it decodes
// in memory, so reading fails within a value that is longer than longestValue.
type jsonFile struct {
	*jsontext.Decoder
	*table.File
	ctx  context.Context
	read int64 // bytes
	ids  bool  // the keys are ids of nodes
}

func (f *jsonFile) Read(b []byte) (int, error) {
	const longestValue = 1 << 24 // bytes
	if err := f.ctx.Err(); err != nil {
		return 0, err
	}
	if f.read-f.InputOffset() > longestValue {
		return 0, fmt.Errorf("a value of more than %d bytes", longestValue)
	}
	n, err := f.Text.Read(b)
	f.read += int64(n)
	return n, err
}

// check ends the reading with a fault, unless it is good.
func (f *jsonFile) check(good bool, format string, args ...any) {
	if !good {
		try(f.ctx.Err())
		err, pointer := fmt.Errorf(format, args...), f.StackPointer()
		if syntax, is := errors.AsType[*jsontext.SyntacticError](err); is && syntax.Err == jsontext.ErrDuplicateName {
			pointer = syntax.JSONPointer
		}
		for inner := err; inner != nil && strings.HasPrefix(err.Error(), "jsontext: "); inner = errors.Unwrap(err) {
			err = inner
		}
		place := fmt.Sprintf("%.100q", pointer)
		for id := range pointer.Tokens() {
			if f.ids {
				place = "node " + quotedID(id)
			}
			break
		}
		check(false, f.Path, "byte %d, %s: %w", f.InputOffset(), place, err)
	}
}

// token reads a token.
func (f *jsonFile) token() jsontext.Token {
	token, err := f.ReadToken()
	f.check(err == nil, "%w", err)
	return token
}

// value decodes a value.
func (f *jsonFile) value(to any) {
	raw, err := f.ReadValue()
	if err == nil {
		err = json.Unmarshal(raw, to)
	}
	f.check(err == nil, "%w", err)
}

// eachMember reads the members of a file's JSON object one by one, so that the object
// may be larger than memory. visit must take exactly one value from the file. A repeated
// key is an error.
func (r *reader) eachMember(path string, visit func(key string, f *jsonFile)) {
	f := &jsonFile{File: r.open(path, false), ctx: r.ctx}
	f.Decoder = jsontext.NewDecoder(f)
	f.elements('{', func() { visit(f.token().String(), f) })
	_, err := f.ReadToken()
	f.check(err != nil, "more after the object")
	f.check(err == io.EOF, "%w", err)
}

// elements reads an array, or the keys and values of an object. visit takes one element, or a key
// and its value.
func (f *jsonFile) elements(start jsontext.Kind, visit func()) {
	token := f.token()
	f.check(token.Kind() == start, "%.40q where %q should be", token.String(), start.String())
	for end := f.PeekKind(); end != '}' && end != ']'; end = f.PeekKind() {
		visit()
	}
	f.token()
}

// node reads the number of a node below n.
func (f *jsonFile) node(n int) int32 {
	token, v := f.token(), -1.0
	if token.Kind() == '0' {
		v, _ = token.Float() // infinite with an error
	}
	f.check(v == math.Trunc(v) && v >= 0 && v < float64(n), "%.40q where a whole number in [0, %d) should be", token.String(), n)
	return int32(v)
}

func isJSON(path string) bool {
	return strings.EqualFold(filepath.Ext(strings.TrimSuffix(path, ".gz")), ".json")
}

// jsonLists holds {"id": label} or {"id": [label, …]} of a JSON file. A label is a text or a
// whole number.
type jsonLists struct {
	path     string
	areLists bool
	ids      []string
	handles  []int32   // of the ids beside an edge list
	values   [][]int32 // of each id: places in kinds, or, after decide, columns
	kinds    []string  // the different labels
	places   map[string]int32
	columns  []string // of lists; nil: each is its number
	width    int      // number of columns
}

// readLists reads a JSON file of labels or of features.
func (r *reader) readLists(path string) *jsonLists {
	l := &jsonLists{path: path, places: make(map[string]int32)}
	r.eachMember(path, func(key string, f *jsonFile) {
		f.ids = true
		var value any
		f.value(&value)
		list, isList := value.([]any)
		if l.areLists = l.areLists || isList && l.ids == nil; !isList {
			list = []any{value}
		}
		f.check(isList == l.areLists, "labels must all be lists or none")
		values := make([]int32, len(list))
		for k, value := range list {
			text, ok := textOf(value)
			if !ok {
				raw, _ := json.Marshal(value) // no error: the value comes from JSON
				f.check(false, "label %.40s is neither a name nor an integer", raw)
			}
			label := labelName(strings.TrimSpace(text))
			at, known := l.places[label]
			if !known {
				at = int32(len(l.kinds))
				l.places[label], l.kinds = at, append(l.kinds, label)
			}
			values[k] = at
		}
		l.ids, l.values = append(l.ids, key), append(l.values, values)
	})
	return l
}

// textOf returns a text, or a whole number as a text.
func textOf(value any) (text string, ok bool) {
	number, isNumber := value.(float64)
	if isNumber && number == math.Trunc(number) && math.Abs(number) < 1<<53 {
		return strconv.FormatInt(int64(number), 10), true
	}
	text, ok = value.(string)
	return text, ok
}

// decide decides whether lists are sets or multi-hot, lists of one length with only 0 and 1, if the
// key lists does not say it. The error names a file that can be both, or neither.
func (r *reader) decide(l *jsonLists) (form string) {
	if form = r.keys["lists"]; form == "sets" || form == "multi-hot" {
		return form
	}
	width, oneLength, twice := len(l.values[0]), true, "" // twice: a node whose list has a number twice
	for k, list := range l.values {
		oneLength = oneLength && len(list) > 0 && len(list) == width
		if len(slices.Compact(slices.Sorted(slices.Values(list)))) < len(list) {
			twice = cmp.Or(twice, quotedID(l.ids[k]))
		}
	}
	others := slices.DeleteFunc(slices.Clone(l.kinds), func(kind string) bool { return kind == "0" || kind == "1" })
	named := slices.ContainsFunc(others, func(kind string) bool { return math.IsInf(labelValue(kind), 1) })
	switch {
	case !oneLength || named || len(others) > 0 && (twice == "" || len(l.ids) == 1):
		return "sets"
	case len(others) > 0:
		check(false, l.path, "lists of %d numbers each: node %s has a number twice, as in a row of values, but %v is neither 0 nor 1: say lists=sets for sets of labels or features", width, twice, others[0])
	case twice == "":
		check(false, l.path, "lists of %d numbers, all 0 or 1: say lists=multi-hot (a 0 or 1 for each label or feature) or lists=sets (the labels or features of the node)", width)
	}
	return "multi-hot"
}

// makeColumns makes lists of columns of sets, in the order of their names, or of multi-hot lists.
func (l *jsonLists) makeColumns(form string) {
	if form == "sets" {
		l.columns, l.width = numberKinds(l.places), len(l.kinds)
		for _, list := range l.values {
			for k, place := range list {
				list[k] = l.places[l.kinds[place]]
			}
		}
		return
	}
	l.width = len(l.values[0])
	for k, list := range l.values {
		check(len(list) == l.width, l.path, "node %s has %d numbers, the first node %d (lists=multi-hot)", quotedID(l.ids[k]), len(list), l.width)
		columns := list[:0]
		for j, place := range list {
			if kind := l.kinds[place]; kind == "1" {
				columns = append(columns, int32(j))
			} else if kind != "0" {
				check(false, l.path, "node %s: lists=multi-hot, but the lists hold more than 0 and 1: %.40q", quotedID(l.ids[k]), kind)
			}
		}
		l.values[k] = columns
	}
}

// listLabels makes the labels of n nodes: classes, or a task for each column of lists. The function
// node returns the node of the id at a place, a negative number to skip it; other nodes have no label.
func (r *reader) listLabels(l *jsonLists, n int, node func(k int) int32) {
	if !l.areLists {
		names := make([]string, n)
		for k := range l.ids {
			if i := node(k); i >= 0 {
				names[i] = l.kinds[l.values[k][0]]
			}
		}
		r.namedLabels(l.path, names, false)
		return
	}
	rows := unknownRows(l.path+": labels", n, l.width)
	for k := range l.ids {
		r.poll(k)
		if i := int(node(k)); i >= 0 {
			row := rows[i*l.width:][:l.width]
			clear(row)
			for _, column := range l.values[k] {
				row[column] = 1
			}
		}
	}
	r.setLabels(l.path, &graph.Labels{Tasks: l.width, Multi: rows, Names: l.columns})
}

// readClassMap reads {"id": class}, a number or a name, or {"id": [0, 1, …]} with a 0 or 1 for
// each task, for n nodes. The function node returns the node of a known id, or a negative number
// to skip it.
func (r *reader) readClassMap(path string, n int, node func(id string) (i int32, known bool)) {
	l := r.readLists(path)
	if l.areLists {
		l.makeColumns("multi-hot")
	}
	r.listLabels(l, n, func(k int) int32 {
		i, known := node(l.ids[k])
		check(known, path, "node %s is not in the graph of %d nodes", quotedID(l.ids[k]), n)
		return i
	})
}
