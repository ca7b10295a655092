package formats

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/gcn-layerwise/gcn/graph"
)

// jsonFile is an open file of JSON. Its methods end the reading at a fault, and name the byte. A
// decoder keeps the value that it decodes in memory, so reading fails within a value that is
// longer than longestValue.
type jsonFile struct {
	*json.Decoder
	ctx  context.Context
	path string
	text io.Reader
	read int64 // bytes
}

func (f *jsonFile) Read(b []byte) (int, error) {
	const longestValue = 1 << 24 // bytes
	if err := f.ctx.Err(); err != nil {
		return 0, err
	}
	if f.read-f.InputOffset() > longestValue {
		return 0, fmt.Errorf("a value of more than %d bytes", longestValue)
	}
	n, err := f.text.Read(b)
	f.read += int64(n)
	return n, err
}

// try ends the reading if there is an error. format and args name the place of the value.
func (f *jsonFile) try(err error, format string, args ...any) {
	if err == nil {
		return
	}
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		err = errors.New("the file ends within a value")
	}
	try(f.ctx.Err())
	check(false, f.path, "byte %d: %s%w", f.InputOffset(), fmt.Sprintf(format, args...), err)
}

// check ends the reading with a fault, unless it is good.
func (f *jsonFile) check(good bool, format string, args ...any) {
	if !good {
		f.try(fmt.Errorf(format, args...), "")
	}
}

// eachMember reads the members of a file's JSON object one by one, so that the object
// may be larger than memory. visit must take exactly one value from the file. A repeated
// key is an error.
func (r *reader) eachMember(path string, visit func(key string, f *jsonFile)) {
	f := &jsonFile{ctx: r.ctx, path: path, text: r.open(path, false).Text}
	f.Decoder = json.NewDecoder(f)
	seen := make(map[string]bool)
	f.elements('{', func(int) {
		token, err := f.Token()
		f.try(err, "")
		key, _ := token.(string)
		f.check(!seen[key], "%.40q is there twice", key)
		seen[key] = true
		visit(key, f)
	})
	_, err := f.Token()
	f.check(err != nil, "more after the object")
	if err != io.EOF {
		f.try(err, "")
	}
}

// elements reads an array, or the keys and values of an object. visit takes one element, or a key
// and its value.
func (f *jsonFile) elements(start json.Delim, visit func(k int)) {
	token, err := f.Token()
	f.try(err, "")
	f.check(token == start, "%s where %q should be", jsonText(token), start.String())
	for k := 0; f.More(); k++ {
		visit(k)
	}
	_, err = f.Token()
	f.try(err, "")
}

// node reads the number of a node below n. format and args name its place.
func (f *jsonFile) node(n int, format string, args ...any) int32 {
	token, err := f.Token()
	v, isNumber := token.(float64)
	if err == nil && (!isNumber || v != math.Trunc(v) || v < 0 || v >= float64(n)) {
		err = fmt.Errorf("%s where a whole number in [0, %d) should be", jsonText(token), n)
	}
	f.try(err, format, args...)
	return int32(v)
}

// jsonText prints a value within a one-line error.
func jsonText(value any) string {
	if d, is := value.(json.Delim); is {
		value = d.String()
	}
	text, _ := json.Marshal(value) // what a decoder gives can be written
	return fmt.Sprintf("%.40s", text)
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
		var value any
		f.try(f.Decode(&value), "node %s: ", quotedID(key))
		list, isList := value.([]any)
		if l.areLists = l.areLists || isList && l.ids == nil; !isList {
			list = []any{value}
		}
		f.check(isList == l.areLists, "node %s: labels must all be lists or none", quotedID(key))
		values := make([]int32, len(list))
		for k, value := range list {
			label, err := jsonLabel(value)
			f.try(err, "node %s: ", quotedID(key))
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

// jsonLabel returns the label that a value is.
func jsonLabel(value any) (string, error) {
	switch v := value.(type) {
	case string:
		return labelName(strings.TrimSpace(v)), nil
	case float64:
		if v == math.Trunc(v) && math.Abs(v) <= 1<<52 {
			return strconv.FormatInt(int64(v), 10), nil
		}
	}
	return "", fmt.Errorf("label %s is neither a name nor an integer", jsonText(value))
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
	other := l.otherKind()
	isName := math.IsInf(labelValue(other), 1)
	switch {
	case !oneLength || other != "" && (isName || twice == "" || len(l.ids) == 1):
		return "sets"
	case other != "":
		check(false, l.path, "lists of %d numbers each: node %s has a number twice, as in a row of values, but %v is neither 0 nor 1: say lists=sets for sets of labels or features", width, twice, other)
	case twice == "":
		check(false, l.path, "lists of %d numbers, all 0 or 1: say lists=multi-hot (a 0 or 1 for each label or feature) or lists=sets (the labels or features of the node)", width)
	}
	return "multi-hot"
}

// otherKind returns the first label beside 0 and 1, or "".
func (l *jsonLists) otherKind() string {
	for _, kind := range slices.Sorted(slices.Values(l.kinds)) {
		if kind != "0" && kind != "1" {
			return kind
		}
	}
	return ""
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
	if other := l.otherKind(); other != "" {
		k := slices.IndexFunc(l.values, func(list []int32) bool { return slices.Contains(list, l.places[other]) })
		check(false, l.path, "node %s: lists=multi-hot, but the lists hold more than 0 and 1: %.40q", quotedID(l.ids[k]), other)
	}
	for k, list := range l.values {
		check(len(list) == l.width, l.path, "node %s has %d numbers, the first node %d (lists=multi-hot)", quotedID(l.ids[k]), len(list), l.width)
		columns := list[:0]
		for j, place := range list {
			if l.kinds[place] == "1" {
				columns = append(columns, int32(j))
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
	rows := unknownRows(l.path, n, l.width)
	for k := range l.ids {
		r.poll(k)
		i := int(node(k))
		if i < 0 {
			continue
		}
		row := rows[i*l.width:][:l.width]
		clear(row)
		for _, column := range l.values[k] {
			row[column] = 1
		}
	}
	r.setLabels(l.path, &graph.Labels{Tasks: l.width, Multi: rows, Names: l.columns})
}

// readClassMap reads {"id": class}, a number or a name, or {"id": [0, 1, …]} with a 0 or 1 for
// each task, for n nodes. The function node returns the node of an id, or a negative number to
// skip it.
func (r *reader) readClassMap(path string, n int, node func(key string) (int32, error)) {
	l := r.readLists(path)
	if l.areLists {
		l.makeColumns("multi-hot")
	}
	nodes := make([]int32, len(l.ids))
	for k, id := range l.ids {
		i, err := node(id)
		check(err == nil, path, "node %s: %w", quotedID(id), err)
		check(int(i) < n, path, "node %s: outside [0, %d)", quotedID(id), n)
		nodes[k] = i
	}
	r.listLabels(l, n, func(k int) int32 { return nodes[k] })
}
