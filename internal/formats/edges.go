package formats

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/gcn-layerwise/gcn/graph"
	"github.com/gcn-layerwise/gcn/internal/parallel"
)

// EdgeList says where the parts of an edge list are and how they are written. Any
// of the files may be gzipped.
type EdgeList struct {
	// Edges is a file of two node ids a line. Ids are numbers from 0. In all files but
	// JSON, lines that start with # are comments, and fields may be in double quotes.
	// Required.
	Edges string

	// Labels is a file of labels, "" for none:
	//
	//	.csv   "label", in node order, or "id,label": a class, by number or name; −1, nan
	//	       and an empty field stand for none
	//	       "id,0,1,1": binary tasks; nan and an empty field stand for unknown
	//	.json  {"id": label}: a class; {"id": [label, …]}: a binary task for each label;
	//	       {"id": [0, 1, 1]}: binary tasks (see Lists)
	Labels string

	// Features is a file of features:
	//
	//	.csv   numbers, in node order; after the id if the header's first name is
	//	       id or node_id
	//	.json  {"id": [k, …]}: the features that are 1, the others are 0; or
	//	       {"id": [0, 1, 1]}: the features (see Lists)
	//
	// Without it, each node gets two: 1, and the logarithm of 1 + its degree.
	Features string

	// Weighted says that the edges have a third column: positive weights. Of
	// several edges between the same two nodes, in either direction, the first
	// counts.
	Weighted bool

	// Each file has its own header, a line of names, and its own separator. Both are
	// found in the file. "1" says that there is a header, "0" that there is none; a
	// separator by name, "comma", "tab", "space" or "semicolon", is tried first.
	Header, LabelsHeader, FeaturesHeader string
	Separator                            string

	// Lists says how JSON lists are read: "sets" of labels or of feature numbers, or
	// "multi-hot", a 0 or 1 for each. "" finds it, and is an error where both fit.
	Lists string
}

// edgeList holds the contents of the files before the number of nodes is known.
type edgeList struct {
	EdgeList
	chunks   []weightedArcs
	lines    int64  // of all files
	maxID    int32  // greatest node id so far
	maxIn    string // the file that has it
	classes  *nodeLabels
	tasks    *rowTable   // labels given as binary tasks
	rows     *rowTable   // of features
	multiHot *nodeLabels // features given as lists
	notes    []string
}

// weightedArcs holds the edges of some lines; weights is nil if all are 1.
type weightedArcs struct {
	arcs    []graph.Edge
	weights []float32
}

// Read reads the files. An edge list has no split.
func (l EdgeList) Read(ctx context.Context) (*Set, error) {
	e := &edgeList{EdgeList: l, maxID: -1}
	if err := e.readEdges(ctx, l.Edges); err != nil {
		return nil, err
	}
	if l.Features != "" {
		if err := e.readFeatures(ctx, l.Features); err != nil {
			return nil, err
		}
	}
	if l.Labels != "" {
		if err := e.readLabels(ctx, l.Labels); err != nil {
			return nil, err
		}
	}
	return e.data(ctx)
}

func (e *edgeList) note(text string) { e.notes = append(e.notes, text) }

func isJSON(path string) bool {
	return strings.EqualFold(filepath.Ext(strings.TrimSuffix(path, ".gz")), ".json")
}

// record updates the greatest node id.
func (e *edgeList) record(id int32, path string) {
	if id > e.maxID {
		e.maxID, e.maxIn = id, path
	}
}

func (e *edgeList) readEdges(ctx context.Context, path string) error {
	l, err := findLayout(path, e.Separator, e.Header, func(first, _ []string) bool {
		return len(first) > 1 && !isNumber(first[0]) && !isNumber(first[1])
	})
	if errors.Is(err, errNoData) {
		e.note("no edges in " + path)
		return nil
	}
	if err == nil {
		err = l.checkEdgeHeader()
	}
	if err != nil {
		return err
	}
	tally := newTally(path)
	err = readLines(ctx, path, func(b lines) (part weightedArcs, err error) {
		l.skipHeader(&b)
		if e.Weighted {
			return parseWeightedArcs(b, l.sep)
		}
		if part.arcs, err = parseArcs(b, l.sep, math.MaxInt32); err != nil && l.fields == 3 {
			err = fmt.Errorf("%w (weights=1 reads a third column as weights)", err)
		}
		return part, err
	}, func(part weightedArcs) error {
		if err := tally.Add(edgeBytes*int64(len(part.arcs)) + 4*int64(len(part.weights))); err != nil {
			return err
		}
		for _, a := range part.arcs {
			e.record(max(a.U, a.V), path)
		}
		e.lines += int64(len(part.arcs))
		e.chunks = append(e.chunks, part)
		return nil
	})
	columns := "two node ids a line"
	if e.Weighted {
		columns = "two node ids and a weight a line"
	}
	e.note(l.describe("edges", columns))
	return err
}

// checkEdgeHeader reports an edge in the place of the header. "0,1" is a header too:
// pandas numbers the columns of a table without names.
func (l *layout) checkEdgeHeader() error {
	if l.header == 0 || len(l.names) < 2 {
		return nil
	}
	_, ok1 := parseID([]byte(l.names[0]))
	_, ok2 := parseID([]byte(l.names[1]))
	if !ok1 || !ok2 || l.names[0] == "0" && l.names[1] == "1" {
		return nil
	}
	return fmt.Errorf("datasets: %s:%d: header=1, but %s is an edge; without the key, headers are found in each file", l.path, l.header, quoteField([]byte(l.first)))
}

// parseWeightedArcs reads lines of two node ids and a weight. Lines that start with #
// are comments.
func parseWeightedArcs(b lines, sep byte) (part weightedArcs, err error) {
	for {
		line, found := b.nextData()
		if !found {
			return part, nil
		}
		if len(line) == 0 {
			continue
		}
		first, rest, _ := bytes.Cut(line, []byte{sep})
		second, third, found := bytes.Cut(rest, []byte{sep})
		from, ok1 := parseID(unquoted(bytes.TrimSpace(first)))
		to, ok2 := parseID(unquoted(bytes.TrimSpace(second)))
		if !ok1 || !ok2 || !found {
			return part, b.fail("%s is not two node ids and a weight", quoteField(line))
		}
		weight, err := strconv.ParseFloat(string(unquoted(bytes.TrimSpace(third))), 32)
		if err != nil || float32(weight) <= 0 || weight != weight || weight > math.MaxFloat32 {
			return part, b.fail("weight %s, want a positive number", quoteField(third))
		}
		part.arcs = append(part.arcs, graph.Edge{U: from, V: to})
		part.weights = append(part.weights, float32(weight))
	}
}

func (e *edgeList) readLabels(ctx context.Context, path string) (err error) {
	if isJSON(path) {
		if e.classes, err = readJSONLabels(ctx, path); err == nil && e.classes.multi {
			err = e.findLists(e.classes, "labels")
		}
	} else {
		err = e.readTextLabels(ctx, path)
	}
	if err != nil {
		return err
	}
	if e.classes != nil {
		for _, id := range slices.Concat(e.classes.ids, e.classes.unlabelled) {
			e.record(id, path)
			e.lines++
		}
	}
	return nil
}

// readJSONLabels reads {"id": label} or {"id": [label, …]}.
func readJSONLabels(ctx context.Context, path string) (*nodeLabels, error) {
	l := newNodeLabels(path)
	err := eachMember(ctx, path, func(key string, d *json.Decoder) error {
		id, err := nodeKey(key)
		if err != nil {
			return err
		}
		var value any
		if err := d.Decode(&value); err != nil {
			return err
		}
		list, isList := value.([]any)
		if !isList {
			list = []any{value}
		}
		if len(l.ids) > 0 && isList != l.multi {
			return fmt.Errorf("node %d: labels must all be lists or none", id)
		}
		l.multi = isList
		labels := make([]category, len(list))
		for k, v := range list {
			if labels[k], err = categoryOf(v); err != nil {
				return fmt.Errorf("node %d: %w", id, err)
			}
		}
		if isList {
			return l.addList(id, labels)
		}
		return l.add(id, labels[0])
	})
	return l, err
}

// extent holds the numbers of a file's first empty line and of its last line of data so
// far. It is 0 for none.
type extent struct{ empty, data int64 }

// grow adds the next block. It returns the empty line before a line of data, or 0. Empty
// lines may only end a file in node order: elsewhere they could stand for a node.
func (x *extent) grow(block extent) int64 {
	if x.empty == 0 {
		x.empty = block.empty
	}
	if x.data = max(x.data, block.data); x.empty > x.data {
		return 0
	}
	return x.empty
}

// findLabelLayout finds the layout of a file of labels. In a single column of labels a
// header looks like a label: maybe is then true, and resolveHeader decides.
func (e *edgeList) findLabelLayout(path string) (l *layout, maybe bool, err error) {
	l, err = findLayout(path, e.Separator, e.LabelsHeader, func(first, second []string) bool {
		if max(len(first), len(second)) > 1 {
			return !isNumber(first[0]) && (len(first) == 1 || second == nil || len(first) == len(second))
		}
		maybe = second != nil
		return maybe
	})
	if err == nil && l.fields == 2 && len(l.names) == 2 && !namesID(l.names[0]) && namesID(l.names[1]) {
		err = fmt.Errorf("datasets: %s:%d: the columns are %.40q and %.40q, want the node id first", path, l.header, l.names[0], l.names[1])
	}
	return l, maybe, err
}

// headerWords are names of a column of labels.
var headerWords = []string{"label", "labels", "class", "classes", "category", "target", "targets", "y", "kind", "type", "group", "name"}

// resolveHeader decides whether the first line of a column of labels, which was left out
// so far, is a header. nodes is the number of nodes that the other files have.
func (l *layout) resolveHeader(labels *nodeLabels, nodes int) error {
	first := parseCategory(l.names[0])
	zero := first == category{isNumber: true} // pandas calls a column without a name 0
	numbers, names := false, false            // in the lines after the first
	for v := range labels.kinds.index {
		numbers, names = numbers || v.isNumber, names || !v.isNumber
	}
	_, again := labels.kinds.index[first]
	after := len(labels.ids) + len(labels.unlabelled)
	switch {
	case zero && names && !numbers, !first.isNumber && numbers && !names:
		return nil
	case zero && after == nodes:
		return l.headerOrLabel(nodes)
	case first.isNumber, again:
	case slices.Contains(headerWords, strings.ToLower(l.names[0])):
		return nil
	case after+1 != nodes:
		return l.headerOrLabel(nodes)
	}
	l.header, l.names = 0, nil
	return labels.addFirst(first)
}

func (l *layout) headerOrLabel(nodes int) error {
	return fmt.Errorf("datasets: %s:%d: %s is a header, or the label of node 0: say labels-header=1 or labels-header=0 (the other files have %d nodes)", l.path, l.header, quoteField([]byte(l.first)), nodes)
}

// readTextLabels reads one label a line, or id and label, or id and tasks.
func (e *edgeList) readTextLabels(ctx context.Context, path string) error {
	layout, maybe, err := e.findLabelLayout(path)
	if err != nil {
		return err
	}
	sep, width := layout.sep, layout.fields
	if width > 2 {
		if e.tasks, err = e.readRows(ctx, layout, true, true); err == nil {
			e.note(layout.describe("labels", fmt.Sprintf("node id, %d binary tasks", e.tasks.width)))
		}
		return err
	}
	l := newNodeLabels(path)
	e.classes = l
	// block holds the labels of some lines, with each name once.
	type block struct {
		extent     extent
		ids, kinds []int32 // ids is nil if the labels are in node order
		names      []string
	}
	var whole extent
	err = readLines(ctx, path, func(b lines) (part block, err error) {
		layout.skipHeader(&b)
		kinds := make(map[string]int32)
		for {
			line, found := b.nextData()
			if !found {
				return part, nil
			}
			if len(line) == 0 {
				if part.extent.empty == 0 {
					part.extent.empty = b.number - 1
				}
				continue
			}
			part.extent.data = b.number - 1
			field := line
			if width == 2 {
				cut := bytes.IndexByte(line, sep)
				if cut < 0 {
					return part, b.fail("%s is not an id and a label", quoteField(line))
				}
				id, ok := parseID(unquoted(bytes.TrimSpace(line[:cut])))
				if !ok {
					return part, b.fail("%s is not a node id", quoteField(line[:cut]))
				}
				part.ids = append(part.ids, id)
				field = line[cut+1:]
			}
			label := bytes.TrimSpace(unquoted(bytes.TrimSpace(field)))
			if len(label) > 0 && label[0] == '"' {
				return part, b.fail("quotes within the label %s, which are not read", quoteField(label))
			}
			if bytes.HasPrefix(label, []byte("\ufeff")) {
				return part, b.fail("a byte-order mark within the file")
			}
			kind, known := kinds[string(label)]
			if !known {
				kind = int32(len(part.names))
				part.names = append(part.names, string(label))
				kinds[part.names[kind]] = kind
			}
			part.kinds = append(part.kinds, kind)
		}
	}, func(part block) error {
		if line := whole.grow(part.extent); width == 1 && line > 0 {
			return fmt.Errorf("datasets: %s:%d: %s", path, line, noLabel)
		}
		labels := make([]category, len(part.names))
		for k, name := range part.names {
			labels[k] = parseCategory(name)
		}
		for k, kind := range part.kinds {
			id := int32(len(l.ids) + len(l.unlabelled))
			if width == 2 {
				id = part.ids[k]
			}
			if err := l.add(id, labels[kind]); err != nil {
				return err
			}
		}
		return nil
	})
	if err == nil && maybe {
		err = layout.resolveHeader(l, int(e.maxID)+1)
	}
	if err != nil {
		return err
	}
	columns := "one label a line, in node order"
	if width == 2 {
		columns = "node id, label"
	}
	e.note(layout.describe("labels", fmt.Sprintf("%s; %d nodes with one of %d labels, %d without", columns, len(l.ids), len(l.kinds.index), len(l.unlabelled))))
	return nil
}

const noLabel = "no label; write -1 or nan for a node without one"

// rowTable holds rows of numbers by node.
type rowTable struct {
	path   string
	width  int
	ids    []int32 // nil: rows are in node order
	values []float32
}

func (t *rowTable) rows() int { return len(t.values) / t.width }

// readRows reads rows of finite numbers, after an id if withID. If missing, a field may
// be NaN, or empty, which stands for NaN.
func (e *edgeList) readRows(ctx context.Context, l *layout, withID, missing bool) (*rowTable, error) {
	path, sep := l.path, l.sep
	t := &rowTable{path: path, width: l.fields}
	column := 1 // of the first number
	if withID {
		if t.width--; t.width == 0 {
			return nil, fmt.Errorf("datasets: %s: nothing after the id", path)
		}
		t.ids, column = []int32{}, 2
	}
	tally := newTally(path)
	var whole extent
	type part struct {
		extent extent
		ids    []int32
		values []float32
	}
	err := readLines(ctx, path, func(b lines) (part, error) {
		var p part
		l.skipHeader(&b)
		row := make([]float32, t.width)
		for {
			line, found := b.nextData()
			if !found {
				return p, nil
			}
			if len(line) == 0 {
				if p.extent.empty == 0 {
					p.extent.empty = b.number - 1
				}
				continue
			}
			p.extent.data = b.number - 1
			if withID {
				field, rest, _ := bytes.Cut(line, []byte{sep})
				id, ok := parseID(unquoted(bytes.TrimSpace(field)))
				if !ok {
					return p, b.fail("%s is not a node id", quoteField(field))
				}
				p.ids, line = append(p.ids, id), rest
			}
			count, err := parseFloats(&b, line, numbers{sep: sep, column: column, missing: missing}, row)
			if err != nil {
				return p, err
			}
			if count != t.width {
				return p, b.fail("%d numbers, want %d as in the first row", count, t.width)
			}
			p.values = append(p.values, row...)
		}
	}, func(p part) error {
		if line := whole.grow(p.extent); !withID && line > 0 {
			return fmt.Errorf("datasets: %s:%d: no numbers", path, line)
		}
		if err := tally.Add(appendGrowth * 4 * int64(len(p.ids)+len(p.values))); err != nil {
			return err
		}
		t.ids, t.values = append(t.ids, p.ids...), append(t.values, p.values...)
		return nil
	})
	if err != nil {
		return nil, err
	}
	for _, id := range t.ids {
		e.record(id, path)
	}
	if !withID {
		t.ids = nil
		e.record(int32(min(t.rows(), math.MaxInt32)-1), path)
	}
	e.lines += int64(t.rows())
	return t, nil
}

func (e *edgeList) readFeatures(ctx context.Context, path string) error {
	if isJSON(path) {
		return e.readFeatureLists(ctx, path)
	}
	l, err := findLayout(path, e.Separator, e.FeaturesHeader, func(first, _ []string) bool {
		return namesID(first[0]) || !slices.ContainsFunc(first, isNumber)
	})
	if err != nil {
		return err
	}
	withID, nodes := l.header > 0 && namesID(l.names[0]), int(e.maxID)+1
	if e.rows, err = e.readRows(ctx, l, withID, false); err != nil {
		return err
	}
	if e.FeaturesHeader == "" && l.startsWithNumbers() && e.rows.rows() != nodes {
		return fmt.Errorf("datasets: %s: the first line, %s, is a row, or a header without names: say features-header=0 or features-header=1 (%d rows, %d nodes in the edge list)", path, quoteField([]byte(l.first)), e.rows.rows(), nodes)
	}
	columns := fmt.Sprintf("%d numbers a line, in node order", e.rows.width)
	if withID {
		columns = fmt.Sprintf("node id, %d numbers", e.rows.width)
	}
	e.note(l.describe("features", columns))
	return nil
}

// startsWithNumbers tells whether the first line is 0, 1, 2, …, as pandas names columns
// without names.
func (l *layout) startsWithNumbers() bool {
	fields := l.split([]byte(l.first))
	for k, field := range fields {
		if field != strconv.Itoa(k) {
			return false
		}
	}
	return len(fields) > 1
}

// readFeatureLists reads {"id": [k, …]}.
func (e *edgeList) readFeatureLists(ctx context.Context, path string) (err error) {
	if e.multiHot, err = readJSONLabels(ctx, path); err != nil {
		return err
	}
	if !e.multiHot.multi {
		return fmt.Errorf("datasets: %s: want lists of feature numbers", path)
	}
	for _, c := range e.multiHot.kinds.sorted() {
		if !c.isNumber || c.number < 0 || c.number > math.MaxInt32 || c.number != math.Trunc(c.number) {
			return fmt.Errorf("datasets: %s: feature %q, want numbers from 0", path, c)
		}
	}
	if err := e.findLists(e.multiHot, "features"); err != nil {
		return err
	}
	for _, id := range e.multiHot.ids {
		e.record(id, path)
	}
	e.lines += int64(len(e.multiHot.ids))
	return nil
}

// findLists decides whether lists are sets or multi-hot, by the key lists if it is given,
// and makes sets of the latter.
func (e *edgeList) findLists(l *nodeLabels, what string) error {
	form := e.Lists
	if form == "" {
		var err error
		if form, err = l.listForm(); err != nil {
			return err
		}
	}
	if form == "multi-hot" {
		if err := l.fromMultiHot(); err != nil {
			return err
		}
		e.note(fmt.Sprintf("%s from %s: lists of a 0 or 1 for each of %d (lists=multi-hot)", what, l.path, len(l.kinds.index)))
		return nil
	}
	e.note(fmt.Sprintf("%s from %s: lists of the numbers or names that each node has (lists=sets)", what, l.path))
	return nil
}

// data makes the set of all parts.
func (e *edgeList) data(ctx context.Context) (*Set, error) {
	n := int(e.maxID) + 1
	// Ids far above the number of lines would claim memory for nothing.
	if int64(n) > 1<<20+64*e.lines {
		return nil, fmt.Errorf("datasets: %s: node %d, but the files have only %d lines; number the nodes from 0", e.maxIn, e.maxID, e.lines)
	}
	if err := checkGraph(e.maxIn, n, 0); err != nil { // a tally has counted the edges
		return nil, err
	}
	b, err := graph.NewBuilder(n)
	if err != nil {
		return nil, fmt.Errorf("datasets: %s: %w", e.maxIn, err)
	}
	for k, part := range e.chunks {
		if part.weights == nil {
			err = addArcs(b, e.maxIn, part.arcs)
		}
		for i, w := range part.weights {
			if err = b.AddWeighted(part.arcs[i].U, part.arcs[i].V, w); err != nil {
				err = fmt.Errorf("datasets: %s: %w", e.maxIn, err)
				break
			}
		}
		if err != nil {
			return nil, err
		}
		e.chunks[k] = weightedArcs{}
	}
	d := &Set{Notes: e.notes}
	d.build(b)
	if e.Weighted {
		d.Notes = append(d.Notes, "edges weighted by the third column; of repeated ones the first counts")
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if e.classes != nil {
		if d.Labels, err = e.classes.labels(n); err != nil {
			return nil, err
		}
		if e.classes.kinds.renumbered() {
			d.Labels.Names = e.classes.kinds.names()
			d.Notes = append(d.Notes, fmt.Sprintf("%d kinds of labels, numbered in the order of their names", d.Labels.Outputs()))
		}
	} else if e.tasks != nil {
		if d.Labels, err = e.tasks.labels(n); err != nil {
			return nil, err
		}
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	switch {
	case e.rows != nil:
		d.Features, err = e.rows.matrix(n)
	case e.multiHot != nil:
		d.Features, err = e.multiHot.matrix(n)
	default:
		d.Features, err = degreeFeatures(ctx, d.Graph)
		d.Notes = append(d.Notes, "no features in the source: each node has 1 and the logarithm of 1 + its degree")
	}
	return d, err
}

// labels makes binary tasks of the rows. Tasks of nodes without a row are unknown.
func (t *rowTable) labels(n int) (*graph.Labels, error) {
	if _, err := taskLabels(t.path, t.values, t.width); err != nil {
		return nil, err
	}
	if n > (smallMatrix+cellsAnEntry*len(t.values))/t.width {
		return nil, fmt.Errorf("datasets: %s: %d rows of labels for %d nodes", t.path, t.rows(), n)
	}
	values, err := zeros(t.path+": labels", n, t.width)
	if err != nil {
		return nil, err
	}
	unknown := float32(math.NaN())
	for k := range values {
		values[k] = unknown
	}
	return &graph.Labels{Tasks: t.width, Multi: values}, t.place(values, n)
}

// matrix makes features of the rows. Every node must have one.
func (t *rowTable) matrix(n int) (*graph.Features, error) {
	if t.rows() != n {
		return nil, fmt.Errorf("datasets: %s: %d rows for %d nodes", t.path, t.rows(), n)
	}
	x := &graph.Features{Rows: n, Cols: t.width, Data: t.values}
	if t.ids != nil {
		var err error
		if x.Data, err = zeros(t.path+": features", n, t.width); err != nil {
			return nil, err
		}
		if err := t.place(x.Data, n); err != nil {
			return nil, err
		}
	}
	return x, nil
}

// place copies each row to its node's row of the matrix to.
func (t *rowTable) place(to []float32, n int) error {
	seen := make([]bool, n)
	for k := range t.rows() {
		id := k
		if t.ids != nil {
			id = int(t.ids[k])
		}
		if seen[id] {
			return fmt.Errorf("datasets: %s: node %d is there twice", t.path, id)
		}
		seen[id] = true
		copy(to[id*t.width:(id+1)*t.width], t.values[k*t.width:])
	}
	return nil
}

// matrix makes features of lists of feature numbers.
func (l *nodeLabels) matrix(n int) (*graph.Features, error) {
	number := make([]int, len(l.kinds.index)) // feature number of each provisional number
	width, entries := 0, len(l.values)
	for c, k := range l.kinds.index {
		number[k] = int(c.number)
		width = max(width, int(c.number)+1)
	}
	if err := l.checkOnce(n); err != nil {
		return nil, err
	}
	if width == 0 || n > (smallMatrix+cellsAnEntry*entries)/width {
		return nil, fmt.Errorf("datasets: %s: %d×%d features with %d entries are too sparse to hold densely, or none", l.path, n, width, entries)
	}
	values, err := zeros(l.path+": features", n, width)
	if err != nil {
		return nil, err
	}
	for k, id := range l.ids {
		for _, v := range l.list(k) {
			values[int(id)*width+number[v]] = 1
		}
	}
	return &graph.Features{Rows: n, Cols: width, Data: values}, nil
}

// degreeFeatures returns the features for nodes without any: 1, and the logarithm of
// 1 + the degree.
func degreeFeatures(ctx context.Context, a *graph.CSR) (*graph.Features, error) {
	const rows = 1 << 14
	x := &graph.Features{Rows: a.Rows, Cols: 2, Data: make([]float32, 2*a.Rows)}
	return x, parallel.Chunks(ctx, (a.Rows+rows-1)/rows, func(chunk int) error {
		for i := chunk * rows; i < min((chunk+1)*rows, a.Rows); i++ {
			x.Data[2*i] = 1
			x.Data[2*i+1] = float32(math.Log1p(float64(a.Degree(i))))
		}
		return nil
	})
}
