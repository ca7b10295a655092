package formats

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/gcn-layerwise/gcn/graph"
	"github.com/gcn-layerwise/gcn/internal/npy"
)

// Labels are made in three ways: of names, of numbers, and of rows of 0 and 1.

// setLabels takes labels of a file. They have names only if the labels of the file are numbered here.
func (r *reader) setLabels(file string, y *graph.Labels) {
	check(y.Outputs() > 0, file, "no labels")
	tryIn(file, y.Validate())
	most := MostClasses(y.Nodes())
	check(y.Classes <= most, file, "%d classes, more than the %d that are read for %d nodes", y.Classes, most, y.Nodes())
	if r.Labels = y; y.Names != nil {
		r.note("%d kinds of labels, numbered in the order of their names", y.Outputs())
	}
}

// labels reads labels: classes from a vector of numbers or names; or binary
// tasks from a matrix of 0, 1 and, in floats, NaN. A matrix of one column counts as a vector if
// it holds names, or integers of more than a byte. numbered says that the classes have names,
// so that -1 is none.
func (s *source) labels(key string, nodes any, numbered bool) {
	lists := s.keys["lists"]
	check(lists == "" || lists == "tasks", "lists="+lists, "want tasks")
	a := s.array(key, nodes, "tasks")
	shape := a.Shape
	isVector := len(shape) == 1 || shape[1] == 1 && a.Descr[1] == 'i' && a.Descr[2] > '1'
	switch {
	case a.Text():
		names := s.texts(a)
		for k, name := range names {
			names[k] = labelName(strings.TrimSpace(name))
		}
		s.namedLabels(a.Name(), names, false)
	case isVector:
		s.numberLabels(a.Name(), must(npy.All[float32](s.ctx, a)), numbered)
	default:
		s.rowLabels(a.Name(), must(npy.All[float32](s.ctx, a)), shape[1], lists)
	}
}

// labelName returns the label that a text is, "" for a word that stands for none.
func labelName(text string) string {
	if isMissingWord([]byte(text)) {
		return ""
	}
	return text
}

// namedLabels makes classes of the names of the nodes' classes, numbered in order: numbers by
// value, then names. "" stands for none, and so does -1, unless it is a class as the caller
// says, or the only other class is 1. The classes have names unless each is its number.
func (r *reader) namedLabels(file string, names []string, minus bool) {
	kinds := make(map[string]int32)
	for _, name := range names {
		kinds[name] = -1
	}
	delete(kinds, "")
	if _, one := kinds["1"]; !minus && !(one && len(kinds) == 2) {
		delete(kinds, "-1")
	}
	y := &graph.Labels{Classes: len(kinds), Names: numberKinds(kinds), Class: slices.Repeat([]int32{-1}, len(names))}
	for i, name := range names {
		if class, known := kinds[name]; known {
			y.Class[i] = class
		}
	}
	r.setLabels(file, y)
}

// numberKinds numbers names in order: numbers by value, then names. It returns them in order, nil
// if each is its number.
func numberKinds(kinds map[string]int32) (names []string) {
	all := slices.SortedFunc(maps.Keys(kinds), func(a, b string) int {
		return cmp.Or(cmp.Compare(labelValue(a), labelValue(b)), cmp.Compare(a, b))
	})
	for k, name := range all {
		if kinds[name] = int32(k); name != strconv.Itoa(k) {
			names = all
		}
	}
	return names
}

// labelValue returns the number that a label is, +∞ for a name.
func labelValue(label string) float64 {
	v, err := strconv.ParseFloat(label, 64)
	if _, number := parseNumber([]byte(label)); !number || err != nil {
		return math.Inf(1)
	}
	return v
}

// MostClasses bounds the classes of n nodes. Far more classes than nodes mean a damaged file.
func MostClasses(n int) int { return min(max(n, 1<<16), 1<<20) }

// numberLabels makes classes of whole numbers from 0; NaN and -1 stand for none, unless 1 is the
// only other number and the numbers have no names: then both are classes.
func (r *reader) numberLabels(file string, values []float32, numbered bool) {
	y, signs := &graph.Labels{Class: make([]int32, len(values))}, !numbered && slices.Contains(values, -1)
	for i, v := range values {
		class := int32(v)
		switch {
		case v != v: // NaN
			class, signs = -1, false
		case float32(class) != v:
			check(false, file, "label of node %d is %v, want a whole number from 0, the class, or -1 for unknown", i, v)
		default:
			signs = signs && (class == 1 || class == -1)
		}
		y.Class[i], y.Classes = class, max(y.Classes, int(class)+1)
	}
	if signs {
		for i, c := range y.Class {
			y.Class[i] = (c + 1) / 2
		}
		y.Names = []string{"-1", "1"}
	}
	r.setLabels(file, y)
}

// rowLabels makes labels of rows of 0, 1, and NaN for unknown: a class of each column if each row
// has exactly one 1, or only NaN, and lists is not "tasks", else binary tasks.
func (r *reader) rowLabels(file string, values []float32, cols int, lists string) {
	r.setLabels(file, &graph.Labels{Tasks: cols, Multi: values})
	var classes []int32
	labelled := false
	for row := range slices.Chunk(values, cols) {
		sum, known := float32(0), false
		for _, v := range row {
			sum += v
			known = known || v == v
		}
		if known && (sum != 1 || cols < 2) {
			return
		}
		labelled = labelled || known
		classes = append(classes, int32(slices.Index(row, 1)))
	}
	if labelled && lists != "tasks" {
		r.setLabels(file, &graph.Labels{Classes: cols, Class: classes})
		r.note("rows of labels with exactly one 1 each taken as classes (lists=tasks keeps them tasks)")
	}
}

// unknownRows makes rows of NaN, if they fit in memory.
func unknownRows(what string, rows, cols int) []float32 {
	values := zeros(what, rows, cols)
	for k := range values {
		values[k] = float32(math.NaN())
	}
	return values
}

// noteLabels says how many nodes each class has. It warns of labels that are hardly classes.
func (r *reader) noteLabels() {
	y := r.Labels
	if y == nil || y.Tasks > 0 {
		return
	}
	counts := make([]int, y.Classes+1) // nodes without a label, and of each class
	for _, c := range y.Class {
		counts[c+1]++
	}
	const most = 8
	text, used := "", 0
	for c, n := range counts[1:] {
		used += min(n, 1)
		if c < most {
			text += fmt.Sprintf("%.40q %d, ", y.Name(c), n)
		} else if c == most {
			text += "…, "
		}
	}
	r.note("labels: nodes of each class: %snone %d", text, counts[0])
	switch {
	case used == 1:
		r.note("warning: all labels are of one class: nothing is to be learned")
	case y.Classes > 2*used:
		r.note("warning: labels up to %d are %d classes, and %d of them have a node", y.Classes-1, y.Classes, used)
	case 10*used > len(y.Class):
		r.note("warning: %d classes for %d nodes: each value is a class of its own, there is no regression", used, len(y.Class))
	}
}
