package formats

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/gcn-layerwise/gcn/graph"
)

// weightedArcs holds the edges of some lines; weights is nil if all are 1.
type weightedArcs struct {
	arcs    []graph.Edge
	weights []float32
}

// findIDs finds the kind of the ids, and how the edges are written. A kind that the key ids
// gives holds for the other files too, if there are no edges.
func (e *edgeList) findIDs(path string) (*layout, error) {
	numbers := func(fields []string) bool {
		return len(fields) > 1 && isNumber(fields[0]) && isNumber(fields[1])
	}
	words := func(fields []string) bool {
		return len(fields) > 1 && !isNumber(fields[0]) && !isNumber(fields[1])
	}
	unsure := false
	l, err := findLayout(path, e.Separator, e.Header, e.Columns, e.IDs == "" || e.IDs == IDsNames, func(first, second []string) bool {
		switch {
		case !words(first):
			return false
		case e.IDs == IDsFrom0 || e.IDs == IDsFrom1 || numbers(second):
			return true
		case endWords(first) || namesID(first[0]) && namesID(first[1]) && second != nil && !namesID(second[0]):
			return true
		}
		unsure = second != nil
		return false
	})
	if e.saidIDs = e.IDs != ""; !e.saidIDs && err == nil {
		e.IDs = IDsFrom0
		if words(l.sample) && !numbers(l.second) {
			e.IDs = IDsNames
		}
	}
	switch e.IDs {
	case IDsFrom1:
		e.ids.first = 1
	case IDsNames:
		e.ids.index = make(map[string]int32)
		if unsure {
			e.unsure = l
		}
	}
	return l, err
}

// endWords tells whether the first two names of a header are usual for the ends of edges.
func endWords(fields []string) bool {
	known := func(name string) bool {
		name = strings.ToLower(strings.TrimRight(name, "_0123456789"))
		return slices.Contains([]string{
			"source", "target", "src", "dst", "from", "to", "u", "v", "node", "id", "nodeid", "node_id", "head", "tail",
			"from_node", "to_node", "fromnodeid", "tonodeid", "source_id", "target_id", "src_id", "dst_id", "citing", "cited",
		}, name)
	}
	return known(fields[0]) && known(fields[1])
}

func (e *edgeList) readEdges(ctx context.Context, path string) error {
	l, err := e.findIDs(path)
	if errors.Is(err, errNoData) {
		e.note("no edges in " + path)
		err = nil
	}
	if err == nil && e.Nodes != "" {
		if !e.ids.named() {
			return fmt.Errorf("datasets: %s: it names the nodes, but the ids in %s are numbers: say ids=names", e.Nodes, path)
		}
		if err = e.readNames(ctx, e.Nodes); err == nil && e.unsure != nil {
			_, known1 := e.ids.index[l.sample[0]]
			_, known2 := e.ids.index[l.sample[1]]
			if e.unsure = nil; !known1 && !known2 {
				l.takeHeader()
			}
		}
	}
	if err == nil && l != nil && !e.ids.named() {
		err = l.checkEdgeHeader()
	}
	if err == nil && l != nil {
		err = e.findWeights(l)
	}
	if err != nil || l == nil {
		return err
	}
	plain := !e.ids.named() && e.ids.first == 0 && e.column == 0 && l.fields <= 2 && !l.attributed && l.columns == nil
	type block struct {
		weightedArcs
		names []string // of the ids in arcs; nil if they are numbers
	}
	tally := newTally(path)
	err = readLines(ctx, path, func(b lines) (part block, err error) {
		l.skipHeader(&b)
		if plain {
			if part.arcs, err = parseArcs(b, l.sep, math.MaxInt32); err != nil {
				err = fmt.Errorf("%w (ids=names reads names)", err)
			}
			return part, err
		}
		part.weightedArcs, part.names, err = e.parseEdges(b, l)
		return part, err
	}, func(part block) error {
		if err := tally.Add(edgeBytes*int64(len(part.arcs)) + 4*int64(len(part.weights))); err != nil {
			return err
		}
		return e.addEdges(part.weightedArcs, part.names, path)
	})
	columns := "two node ids a line"
	if e.ids.named() {
		columns = "two names of nodes a line"
	} else if e.ids.first == 1 {
		columns += ", from 1"
	}
	switch {
	case e.column == attributes:
		columns += ", weights in the attribute weight"
	case e.column > 0:
		columns += fmt.Sprintf(", weights in column %d", e.column+1)
	case l.attributed && l.fields > 2:
		columns += ", attributes left out"
	case l.fields > 2:
		columns += ", other columns left out"
	}
	e.note(l.describe("edges", columns))
	if e.ids.named() {
		e.named = e.ids.names.Len()
	}
	return err
}

// addEdges adds the edges of one block. names holds the names of its ids, unless they are
// numbers.
func (e *edgeList) addEdges(part weightedArcs, names []string, path string) error {
	if len(part.arcs) == 0 {
		return nil // a block of comments
	}
	if e.ids.named() {
		ids, err := e.ids.global(names)
		if err != nil {
			return fmt.Errorf("datasets: %s: %w", path, err)
		}
		for k, a := range part.arcs {
			part.arcs[k] = graph.Edge{U: ids[a.U], V: ids[a.V]}
		}
	}
	for _, a := range part.arcs {
		e.lowest = min(e.lowest, a.U, a.V)
		e.record(max(a.U, a.V), path)
	}
	e.lines += int64(len(part.arcs))
	e.chunks = append(e.chunks, part)
	return nil
}

// attributes is the number of the column that stands for networkx's attributes.
const attributes = -1

// findWeights sets the column of the weights. It reports columns that can be weights, if
// the key weights does not say whether they are.
func (e *edgeList) findWeights(l *layout) error {
	last := bytes.TrimSpace(l.sampleLine)
	l.attributed = len(withoutAttributes(last)) < len(last)
	weighted := e.Weights == "1"
	if l.attributed {
		_, there := attributeWeight(last)
		switch {
		case weighted:
			e.column = attributes
		case there && e.Weights == "":
			return fmt.Errorf("datasets: %s: its edges have the attribute weight: say weights=1 to read it, or weights=0", l.path)
		}
		return nil
	}
	if l.header > 0 && len(l.names) > 2 && l.names[0] == "" {
		return fmt.Errorf("datasets: %s:%d: the first column has no name, as pandas writes its index: save the table with index=False", l.path, l.header)
	}
	column := slices.IndexFunc(l.names, func(name string) bool { return strings.EqualFold(name, "weight") || strings.EqualFold(name, "weights") })
	switch {
	case weighted && l.header > 0 && len(l.names) != l.fields && l.fields > 2:
		return fmt.Errorf("datasets: %s:%d: the header has %d names, and the first edge %d columns", l.path, l.header, len(l.names), l.fields)
	case weighted && column >= 2:
		e.column = column
	case weighted && l.fields < 3:
		return fmt.Errorf("datasets: %s: weights=1, but %q has no third column", l.path, strings.TrimSpace(string(l.sampleLine)))
	case weighted && l.fields > 3:
		return fmt.Errorf("datasets: %s: weights=1, but it has %d columns, and no header that names one weight: say columns=FROM,TO,WEIGHT", l.path, l.fields)
	case weighted:
		e.column = 2
	case l.fields > 2 && e.Weights == "":
		return fmt.Errorf("datasets: %s: %s is not two node ids: weights=1 reads a third column as weights, weights=0 leaves it out", l.path, quoteField(l.sampleLine))
	}
	return nil
}

// attributeWeight returns the value of weight in a dictionary of Python.
func attributeWeight(line []byte) (value []byte, there bool) {
	for _, key := range []string{"'weight':", "\"weight\":"} {
		if _, after, found := bytes.Cut(line, []byte(key)); found {
			if end := bytes.IndexAny(after, ",}"); end >= 0 {
				after = after[:end]
			}
			return bytes.TrimSpace(after), true
		}
	}
	return nil, false
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

// parseEdges reads lines of two ids, and of weights if there are any. If ids are names, it
// returns them, and the arcs hold their places. Lines that start with # are comments.
func (e *edgeList) parseEdges(b lines, l *layout) (part weightedArcs, names []string, err error) {
	var local localNames
	for {
		line, found := b.nextData()
		if !found {
			return part, local.names, nil
		}
		if len(line) == 0 {
			continue
		}
		whole := line
		if l.attributed {
			line = withoutAttributes(line)
		}
		from, rest, more := cutField(line, l.sep)
		to, rest, further := cutField(rest, l.sep)
		if !more || len(to) == 0 || further && l.fields < 3 && !l.attributed {
			return part, nil, b.fail("%s is not two node ids", quoteField(whole))
		}
		var a graph.Edge
		if e.ids.named() {
			if len(from) == 0 {
				return part, nil, b.fail("a node's name is empty")
			}
			a = graph.Edge{U: local.number(from), V: local.number(to)}
		} else {
			var err1, err2 error
			a.U, err1 = e.ids.parse(from)
			a.V, err2 = e.ids.parse(to)
			if err := cmp.Or(err1, err2); err != nil {
				what := "two node ids"
				if e.column != 0 {
					what += " and a weight"
				}
				return part, nil, b.fail("%s is not %s: %w", quoteField(whole), what, err)
			}
		}
		part.arcs = append(part.arcs, a)
		if e.column == 0 {
			continue
		}
		var field []byte
		if e.column == attributes {
			field, found = attributeWeight(whole)
		} else {
			found = false
			for k := 2; k <= e.column && further; k++ {
				field, rest, further = cutField(rest, l.sep)
				found = k == e.column
			}
			if further && l.fields == e.column+1 {
				return part, nil, b.fail("%s has more columns than the first edge", quoteField(whole))
			}
		}
		if !found {
			return part, nil, b.fail("%s is not two node ids and a weight", quoteField(whole))
		}
		weight, err := strconv.ParseFloat(string(field), 32)
		if err != nil || float32(weight) <= 0 || weight != weight || weight > math.MaxFloat32 {
			return part, nil, b.fail("weight %s, want a positive number", quoteField(field))
		}
		part.weights = append(part.weights, float32(weight))
	}
}

// parseID returns the number of an id in a block of lines, or its place in local if ids are
// names.
func (e *edgeList) parseID(local *localNames, field []byte) (int32, error) {
	if !e.ids.named() {
		return e.ids.parse(field)
	}
	if len(field) == 0 {
		return 0, errors.New("a node's name is empty")
	}
	return local.number(field), nil
}

// checkFirstLine reports a first line of the edges that can be a header: two names that no
// other line has. The first lines of the other files do not count, since they can be
// headers too.
func (e *edgeList) checkFirstLine() error {
	l := e.unsure
	if l == nil {
		return nil
	}
	first := e.chunks[0].arcs[0]
	isEnd := func(id int32) bool { return id == first.U || id == first.V }
	for k, part := range e.chunks {
		arcs := part.arcs
		if k == 0 {
			arcs = arcs[1:]
		}
		if slices.ContainsFunc(arcs, func(a graph.Edge) bool { return isEnd(a.U) || isEnd(a.V) }) {
			return nil
		}
	}
	for _, ids := range e.idLists() {
		if len(ids) > 1 && slices.ContainsFunc(ids[1:], isEnd) {
			return nil
		}
	}
	return fmt.Errorf("datasets: %s: its first line, %s, is a header, or an edge of two nodes that no other line names: say header=1 or header=0", l.path, quoteField([]byte(l.first)))
}
