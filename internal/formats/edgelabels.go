package formats

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

func (e *edgeList) readLabels(ctx context.Context, path string) (err error) {
	if isNPY(path) {
		return e.addOrdered(path, "labels")
	}
	if isJSON(path) {
		if e.classes, err = e.readJSONLabels(ctx, path); err == nil && e.classes.multi {
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
func (e *edgeList) readJSONLabels(ctx context.Context, path string) (*nodeLabels, error) {
	l := newNodeLabels(path)
	l.source = &e.ids
	err := eachMember(ctx, path, func(key string, d *json.Decoder) error {
		id, err := e.ids.key(key)
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
		if len(l.ids)+len(l.unlabelled) > 0 && isList != l.multi {
			return fmt.Errorf("node %s: labels must all be lists or none", e.ids.text(id))
		}
		l.multi = isList
		labels := make([]category, len(list))
		for k, v := range list {
			if labels[k], err = categoryOf(v); err != nil {
				return fmt.Errorf("node %s: %w", e.ids.text(id), err)
			}
		}
		if isList {
			return l.addList(id, labels)
		}
		return l.add(id, labels[0])
	})
	return l, err
}

// findLists decides whether lists are sets or multi-hot, by the key lists if it is given. It
// turns multi-hot lists into sets.
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

// findLabelLayout finds the layout of a file of labels. In a single column of labels a
// header looks like a label: maybe is then true, and resolveHeader decides.
func (e *edgeList) findLabelLayout(path string) (l *layout, maybe bool, err error) {
	l, err = findLayout(path, e.Separator, e.LabelsHeader, e.LabelsColumns, e.ids.named() && e.Nodes == "", func(first, second []string) bool {
		if max(len(first), len(second)) > 1 && e.ids.named() {
			_, node := e.ids.index[first[0]]
			return isIDWord(first[0]) || !node && (namesID(first[0]) || e.ids.given != "" || len(first) > 1 && isHeaderWord(first[1]))
		}
		if max(len(first), len(second)) > 1 {
			return !isNumber(first[0]) && (len(first) == 1 || second == nil || len(first) == len(second))
		}
		maybe = second != nil
		return maybe
	})
	if err != nil {
		return nil, false, err
	}
	if l.fields == 1 && e.ids.named() && e.Nodes == "" {
		return nil, false, fmt.Errorf("datasets: %s: labels without node ids, and the ids are names: write id,label, or say nodes=FILE with the names in the order of the labels", path)
	}
	if e.ids.named() && l.fields > 1 && l.header == 0 && e.LabelsHeader == "" {
		if _, known := e.ids.index[l.sample[0]]; !known {
			return nil, false, fmt.Errorf("datasets: %s: its first line, %s, is a header, or labels %.40q, which has no edge: say labels-header=1 or labels-header=0", path, quoteField([]byte(l.first)), l.sample[0])
		}
	}
	if l.fields == 2 && len(l.names) == 2 && !namesID(l.names[0]) && isIDWord(l.names[1]) {
		err = fmt.Errorf("datasets: %s:%d: the columns are %.40q and %.40q, want the node id first", path, l.header, l.names[0], l.names[1])
	}
	return l, maybe, err
}

// headerWords are names of a column of labels.
var headerWords = []string{"label", "labels", "class", "classes", "category", "target", "targets", "y", "kind", "type", "group", "name"}

func isHeaderWord(name string) bool { return slices.Contains(headerWords, strings.ToLower(name)) }

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
	case isHeaderWord(l.names[0]):
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
			return nil
		}
		if e.LabelsColumns == "" {
			err = fmt.Errorf("%w (columns after the id are binary tasks; labels-columns=ID,LABEL reads one label)", err)
		}
		return err
	}
	l := newNodeLabels(path)
	l.source, l.inOrder = &e.ids, width == 1
	e.classes = l
	// block holds the labels of some lines, with each name once.
	type block struct {
		extent     extent
		ids, kinds []int32 // ids is nil if the labels are in node order
		names      []string
		nodes      []string // the names of ids, unless they are numbers
	}
	var whole extent
	err = readLines(ctx, path, func(b lines) (part block, err error) {
		layout.skipHeader(&b)
		kinds := make(map[string]int32)
		var nodes localNames
		defer func() { part.nodes = nodes.names }()
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
				front, rest, more := cutField(line, sep)
				if !more {
					return part, b.fail("%s is not an id and a label", quoteField(line))
				}
				id, err := e.parseID(&nodes, front)
				if err != nil {
					return part, b.fail("%w", err)
				}
				part.ids = append(part.ids, id)
				field = rest
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
		if e.ids.named() {
			ids, err := e.ids.global(part.nodes)
			if err != nil {
				return fmt.Errorf("datasets: %s: %w", path, err)
			}
			for k, id := range part.ids {
				part.ids[k] = ids[id]
			}
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
		err = layout.resolveHeader(l, e.nodesSoFar())
	}
	if err != nil {
		return err
	}
	if width == 1 {
		e.ordered = append(e.ordered, orderedFile{path, len(l.ids) + len(l.unlabelled)})
	}
	columns := "one label a line, in node order"
	if width == 2 {
		columns = "node id, label"
	}
	if v, there := l.fraction(); there {
		e.note(fmt.Sprintf("each number in %s is a class of its own, such as %v; there is no regression", path, v))
	}
	e.note(layout.describe("labels", fmt.Sprintf("%s; %d nodes with one of %d labels, %d without", columns, len(l.ids), len(l.kinds.index), len(l.unlabelled))))
	return nil
}

const noLabel = "no label; write -1 or nan for a node without one"
