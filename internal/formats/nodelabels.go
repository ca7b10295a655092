package formats

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/gcn-layerwise/gcn/graph"
	"github.com/gcn-layerwise/gcn/internal/memory"
)

// category is a label: a name or a number. A number beyond 2⁵³ keeps its text as its name,
// since it may not be exact.
type category struct {
	name     string
	number   float64
	isNumber bool
}

func (v category) String() string {
	if v.isNumber && v.name == "" {
		return strconv.FormatFloat(v.number, 'g', -1, 64)
	}
	return v.name
}

// categoryOf reads a JSON scalar.
func categoryOf(value any) (category, error) {
	switch v := value.(type) {
	case string:
		return category{name: v}, nil
	case float64:
		if v != math.Trunc(v) || math.Abs(v) > 1<<52 {
			return category{}, fmt.Errorf("label %v is neither a name nor an integer", v)
		}
		return category{number: v, isNumber: true}, nil
	case nil:
		return category{}, errors.New("label null is neither a name nor an integer")
	}
	return category{}, fmt.Errorf("label of kind %T is neither a name nor an integer", value)
}

// none is the label of a node without one.
var none = category{number: -1, isNumber: true}

// parseCategory reads a field of a text file. An empty one, and nan, stand for none.
func parseCategory(field string) category {
	v, err := strconv.ParseFloat(field, 64)
	switch {
	case field == "", err == nil && math.IsNaN(v):
		return none
	case err != nil || math.IsInf(v, 0):
		return category{name: field}
	case math.Abs(v) > 1<<53:
		return category{name: field, number: v, isNumber: true}
	}
	return category{number: v, isNumber: true}
}

// categories numbers the labels of a file: first numbers, then names, each in order.
type categories struct{ index map[category]int32 }

func newCategories() *categories { return &categories{index: make(map[category]int32)} }

// add returns a provisional number for a category.
func (c *categories) add(v category) int32 {
	k, known := c.index[v]
	if !known {
		k = int32(len(c.index))
		c.index[v] = k
	}
	return k
}

// sorted returns the categories in order.
func (c *categories) sorted() []category {
	all := make([]category, 0, len(c.index))
	for v := range c.index {
		all = append(all, v)
	}
	slices.SortFunc(all, func(a, b category) int {
		switch {
		case a.isNumber && !b.isNumber:
			return -1
		case b.isNumber && !a.isNumber:
			return 1
		}
		return cmp.Or(cmp.Compare(a.number, b.number), cmp.Compare(a.name, b.name))
	})
	return all
}

// order returns the final number of each provisional one.
func (c *categories) order() []int32 {
	all := c.sorted()
	final := make([]int32, len(all))
	for k, v := range all {
		final[c.index[v]] = int32(k)
	}
	return final
}

// renumbered tells whether a category differs from its number.
func (c *categories) renumbered() bool {
	final := c.order()
	for v, k := range c.index {
		if !v.isNumber || v.number != float64(final[k]) {
			return true
		}
	}
	return false
}

// names returns the texts of the categories in order.
func (c *categories) names() []string {
	all := c.sorted()
	names := make([]string, len(all))
	for k, v := range all {
		names[k] = v.String()
	}
	return names
}

// nodeLabels collects labels given by node id, before the number of nodes is
// known.
type nodeLabels struct {
	path       string
	source     *nodeIDs // the ids of the data set; nil: numbers from 0
	inOrder    bool     // the file has no ids
	kinds      *categories
	multi      bool
	ids        []int32
	values     []int32 // provisional categories: one for each id, or all lists, concatenated
	ends       []int   // end of each id's list in values; nil unless multi
	unlabelled []int32 // ids with the label −1
	tally      memory.Tally
}

func newNodeLabels(path string) *nodeLabels {
	return &nodeLabels{path: path, kinds: newCategories(), tally: newTally(path)}
}

// isNone tells whether the label is −1, which stands for no label.
func (v category) isNone() bool { return v == none }

// fraction returns the least label that is a number with a fraction.
func (l *nodeLabels) fraction() (least float64, there bool) {
	for v := range l.kinds.index {
		if v.isNumber && v.number != math.Trunc(v.number) && (!there || v.number < least) {
			least, there = v.number, true
		}
	}
	return least, there
}

// kind returns a category's provisional number.
func (l *nodeLabels) kind(v category) (int32, error) {
	const most = 1 << 20
	before := len(l.kinds.index)
	k := l.kinds.add(v)
	switch {
	case k < int32(before):
		return k, nil
	case k >= most:
		return 0, fmt.Errorf("datasets: %s: more than %d different labels, which are too many for classes", l.path, most)
	}
	const entry = 256 // bytes, in a growing map and while the kinds are sorted
	return k, l.tally.Add(entry + int64(len(v.name)))
}

// add gives node id one label, −1 for none.
func (l *nodeLabels) add(id int32, label category) error {
	if label.isNone() {
		l.unlabelled = append(l.unlabelled, id)
		return l.tally.Add(appendGrowth * 4)
	}
	k, err := l.kind(label)
	if err != nil {
		return err
	}
	if err := l.tally.Add(appendGrowth * 8); err != nil {
		return err
	}
	l.ids, l.values = append(l.ids, id), append(l.values, k)
	return nil
}

// addList gives node id a list of labels.
func (l *nodeLabels) addList(id int32, labels []category) error {
	for _, v := range labels {
		k, err := l.kind(v)
		if err != nil {
			return err
		}
		l.values = append(l.values, k)
	}
	l.ids, l.ends = append(l.ids, id), append(l.ends, len(l.values))
	return l.tally.Add(appendGrowth * int64(12+4*len(labels)))
}

// addFirst puts a label before all others, which are in node order.
func (l *nodeLabels) addFirst(label category) error {
	for _, ids := range [][]int32{l.ids, l.unlabelled} {
		for k := range ids {
			ids[k]++
		}
	}
	return l.add(0, label)
}

// listForm tells whether the lists are "sets" or "multi-hot": lists of one length with
// only 0 and 1. A set has no number twice. The error names a file that can be both, or
// neither.
func (l *nodeLabels) listForm() (string, error) {
	length, twice := -1, int32(-1) // the common length; a node whose list repeats a number
	for k, id := range l.ids {
		list := slices.Clone(l.list(k))
		if length >= 0 && len(list) != length || len(list) == 0 {
			return "sets", nil
		}
		length = len(list)
		if slices.Sort(list); twice < 0 && len(slices.Compact(list)) < length {
			twice = id
		}
	}
	for _, c := range l.kinds.sorted() {
		if c.isNumber && (c.number == 0 || c.number == 1) {
			continue
		}
		if twice >= 0 && c.isNumber && len(l.ids) > 1 {
			return "", fmt.Errorf("datasets: %s: lists of %d numbers each: node %s has a number twice, as in a row of values, but %v is neither 0 nor 1: say lists=sets for sets of labels or features", l.path, length, l.source.text(twice), c)
		}
		return "sets", nil
	}
	switch {
	case length < 0:
		return "sets", nil
	case twice >= 0:
		return "multi-hot", nil
	}
	return "", fmt.Errorf("datasets: %s: lists of %d numbers, all 0 or 1: say lists=multi-hot (a 0 or 1 for each label or feature) or lists=sets (the labels or features of the node)", l.path, length)
}

// fromMultiHot turns lists of a 0 or 1 for each label into sets of the labels.
func (l *nodeLabels) fromMultiHot() error {
	zero, one := category{isNumber: true}, category{number: 1, isNumber: true}
	for c := range l.kinds.index {
		if c != zero && c != one {
			return fmt.Errorf("datasets: %s: lists=multi-hot, but the lists hold more than 0 and 1", l.path)
		}
	}
	set, found := l.kinds.index[one]
	if len(l.ids) == 0 {
		return nil
	}
	width := len(l.list(0))
	l.kinds = newCategories()
	for j := range width {
		l.kinds.add(category{number: float64(j), isNumber: true})
	}
	values := l.values[:0]
	from := 0
	for k, id := range l.ids {
		list := l.values[from:l.ends[k]]
		if from = l.ends[k]; len(list) != width {
			return fmt.Errorf("datasets: %s: node %s has %d numbers, the first node %d (lists=multi-hot)", l.path, l.source.text(id), len(list), width)
		}
		for j, v := range list {
			if found && v == set {
				values = append(values, int32(j))
			}
		}
		l.ends[k] = len(values)
	}
	l.values = values
	return nil
}

// list returns the provisional categories of ids[k].
func (l *nodeLabels) list(k int) []int32 {
	from := 0
	if k > 0 {
		from = l.ends[k-1]
	}
	return l.values[from:l.ends[k]]
}

// checkOnce reports a node with labels in two places.
func (l *nodeLabels) checkOnce(n int) error {
	seen := make([]bool, n)
	for _, ids := range [][]int32{l.ids, l.unlabelled} {
		for _, id := range ids {
			if seen[id] {
				return fmt.Errorf("datasets: %s: node %s is there twice", l.path, l.source.text(id))
			}
			seen[id] = true
		}
	}
	return nil
}

// namedLabels is labels with the names of the classes, unless each is its number.
func (l *nodeLabels) namedLabels(n int) (*graph.Labels, error) {
	y, err := l.labels(n)
	if err == nil && l.kinds.renumbered() {
		y.Names = l.kinds.names()
	}
	return y, err
}

// labels makes the labels of n nodes: classes, or a task for each category if the
// source has lists. Nodes that are not in the source have no label.
func (l *nodeLabels) labels(n int) (*graph.Labels, error) {
	final := l.kinds.order()
	if len(final) == 0 {
		return nil, fmt.Errorf("datasets: %s: no labels", l.path)
	}
	if err := l.checkOnce(n); err != nil {
		return nil, err
	}
	if !l.multi {
		y := &graph.Labels{Classes: len(final), Class: slices.Repeat([]int32{-1}, n)}
		for k, id := range l.ids {
			y.Class[id] = final[l.values[k]]
		}
		return y, nil
	}
	tasks := len(final)
	if float64(n)*float64(tasks) > SmallMatrix+CellsAnEntry*float64(len(l.ids)) {
		return nil, fmt.Errorf("datasets: %s: %d kinds of labels for %d nodes are too many to hold", l.path, tasks, n)
	}
	values, err := zeros(l.path+": labels", n, tasks)
	if err != nil {
		return nil, err
	}
	y := &graph.Labels{Tasks: tasks, Multi: values}
	unknown := float32(math.NaN())
	for k := range values {
		values[k] = unknown
	}
	for k, id := range l.ids {
		row := values[int(id)*tasks : (int(id)+1)*tasks]
		clear(row)
		for _, v := range l.list(k) {
			row[final[v]] = 1
		}
	}
	return y, nil
}
