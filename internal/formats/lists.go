package formats

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/gcn-layerwise/gcn/graph"
)

// jsonLists holds {"id": value} or {"id": [value, …]} of a JSON file.
type jsonLists struct {
	*part  // of the ids
	multi  bool
	values [][]string       // of each id
	kinds  map[string]int32 // of lists
}

// readLists reads a JSON file of labels or of features.
func (e *edgeList) readLists(role, path string) *jsonLists {
	l, ids := &jsonLists{}, []string(nil)
	e.eachMember(path, func(key string, d *json.Decoder) error {
		labels, isList, err := decodeLabels(d)
		if len(ids) == 0 {
			l.multi = isList
		}
		switch {
		case err != nil:
		case key == "":
			return errors.New("an empty id")
		case isList != l.multi:
			err = errors.New("labels must all be lists or none")
		}
		if err != nil {
			return fmt.Errorf("node %s: %w", quotedID(key), err)
		}
		ids, l.values = append(ids, key), append(l.values, labels)
		return nil
	})
	l.part = e.keyed(role, path, ids)
	return l
}

// sets decides whether lists are sets or multi-hot, lists of one length with only 0 and 1, by the
// key lists if it is given. It turns multi-hot lists into sets, and returns the kinds in them. A
// set has no number twice. The error names a file that can be both, or neither.
func (e *edgeList) sets(l *jsonLists, what string) (kinds map[string]int32) {
	kinds = make(map[string]int32)
	width, oneLength, twice := -1, true, -1 // twice: a list that has a number twice
	for k, list := range l.values {
		seen := make(map[string]bool)
		for _, v := range list {
			seen[v], kinds[v] = true, 0
		}
		if len(seen) < len(list) && twice < 0 {
			twice = k
		}
		oneLength = oneLength && len(list) > 0 && (width < 0 || len(list) == width)
		width = len(list)
	}
	other := slices.DeleteFunc(slices.Sorted(maps.Keys(kinds)), func(c string) bool { return c == "0" || c == "1" })
	form := e.keys["lists"]
	if form != "sets" && form != "multi-hot" {
		switch form = "sets"; {
		case !oneLength || width < 0:
		case len(other) > 0:
			if _, number := labelNumber(other[0]); twice >= 0 && number && len(l.ids) > 1 {
				e.check(false, l.Path, "lists of %d numbers each: node %s has a number twice, as in a row of values, but %v is neither 0 nor 1: say lists=sets for sets of labels or features", width, e.ids.quoted(l.ids[twice]), other[0])
			}
		case twice < 0:
			e.check(false, l.Path, "lists of %d numbers, all 0 or 1: say lists=multi-hot (a 0 or 1 for each label or feature) or lists=sets (the labels or features of the node)", width)
		default:
			form = "multi-hot"
		}
	}
	if form == "sets" || e.err != nil {
		e.note("%s from %s: lists of the numbers or names that each node has (lists=sets)", what, l.Path)
		return kinds
	}
	e.check(len(other) == 0, l.Path, "lists=multi-hot, but the lists hold more than 0 and 1")
	kinds = make(map[string]int32)
	for k, list := range l.values {
		if first := len(kinds); k > 0 && len(list) != first {
			e.check(false, l.Path, "node %s has %d numbers, the first node %d (lists=multi-hot)", e.ids.quoted(l.ids[k]), len(list), first)
			break
		}
		var set []string
		for j, v := range list {
			if kinds[strconv.Itoa(j)] = 0; v == "1" {
				set = append(set, strconv.Itoa(j))
			}
		}
		l.values[k] = set
	}
	e.note("%s from %s: lists of a 0 or 1 for each of %d (lists=multi-hot)", what, l.Path, len(kinds))
	return kinds
}

// listLabels makes the labels of n nodes: classes, or a task for each kind of label if the source
// has lists. Nodes that are not in the source have no label.
func (e *edgeList) listLabels(l *jsonLists, n int) {
	var err error
	if !l.multi {
		names := make([]string, n)
		for k, id := range l.ids {
			names[e.order.node(id)] = l.values[k][0]
		}
		e.Labels, err = namedLabels(l.Path, names, false)
		e.ok(err)
		e.noteLabels(l.Path)
		return
	}
	y := &graph.Labels{Tasks: len(l.kinds), Names: numberKinds(l.kinds)}
	e.check(y.Tasks > 0, l.Path, "no labels")
	if y.Multi, err = unknownRows(l.Path, n, y.Tasks); !e.ok(err) {
		return
	}
	for k, id := range l.ids {
		row := y.Multi[int(e.order.node(id))*y.Tasks:][:y.Tasks]
		clear(row)
		for _, v := range l.values[k] {
			row[l.kinds[v]] = 1
		}
	}
	e.Labels = y
	e.noteLabels(l.Path)
}

// readFeatureLists reads {"id": [k, …]}.
func (e *edgeList) readFeatureLists(path string) {
	l := e.readLists("features", path)
	e.check(l.multi, path, "want lists of feature numbers")
	l.kinds = e.sets(l, "features")
	for _, c := range slices.Sorted(maps.Keys(l.kinds)) {
		_, number := numberID([]byte(c))
		e.check(number, path, "feature %q, want numbers from 0", c)
	}
	e.featureLists = l
}

// listFeatures makes sparse features of lists of feature numbers.
func (e *edgeList) listFeatures(l *jsonLists, n int) {
	rows, width, entries := make([][]int32, n), 0, 0
	for c := range l.kinds {
		j, _ := numberID([]byte(c))
		width = max(width, int(j)+1)
	}
	for k, id := range l.ids {
		var columns []int32
		for _, v := range l.values[k] {
			j, _ := numberID([]byte(v))
			columns = append(columns, j)
		}
		slices.Sort(columns)
		columns = slices.Compact(columns) // a number that is there twice means 1
		rows[e.order.node(id)] = columns
		entries += len(columns)
	}
	e.Features = e.sparseFeatures(l.Path, n, width, entries, func(i int) ([]int32, []float32) { return rows[i], nil })
}
