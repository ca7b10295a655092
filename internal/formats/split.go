package formats

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/gcn-layerwise/gcn/graph"
	"github.com/gcn-layerwise/gcn/internal/npy"
	"github.com/gcn-layerwise/gcn/internal/table"
)

// NodeList says how the files of a split name nodes.
type NodeList struct {
	Nodes int          // number of nodes of the graph
	Names *graph.Names // ids of the source; nil: numbers from 0

	// Unordered says that the order of the nodes is the reader's own, so that a row for
	// each node in order has no meaning, unless the ids count from 1.
	Unordered bool

	// Notes says which first lines are headers.
	Notes []string

	index map[string]int32 // of Names
}

// find returns the node with an id.
func (l *NodeList) find(id string) (int32, bool) {
	if l.Names == nil {
		i, ok := parseID([]byte(id))
		return i, ok && int(i) < l.Nodes
	}
	if l.index == nil {
		l.index = l.Names.Index()
	}
	i, ok := l.index[id]
	return i, ok
}

// checkOrder reports rows in node order that do not fit the nodes.
func (l *NodeList) checkOrder(path string, rows int) error {
	for i := 0; l.Unordered && i < l.Names.Len(); i++ {
		if l.Names.At(i) != strconv.Itoa(i+1) {
			return fmt.Errorf("datasets: %s: a row for each node, without ids, but the nodes have names: write the names, or say nodes=FILE with the names in the order of the rows", path)
		}
	}
	if rows != l.Nodes {
		return fmt.Errorf("datasets: %s: %d rows in node order for %d nodes", path, rows, l.Nodes)
	}
	return nil
}

// array reads an array of ids, or a mask.
func (l *NodeList) array(r *reader, a *npy.Reader) (nodes []int32) {
	var ids []string
	if !a.Text() {
		r.checkShape(a, []any{"elements"})
		numbers := values[int64](r, a)
		// A list of nodes has none twice, so 0 and 1 for every node are no list.
		if a.Mask() || len(numbers) == l.Nodes && l.Nodes > 2 && !slices.ContainsFunc(numbers, func(v int64) bool { return v != 0 && v != 1 }) {
			r.ok(l.checkOrder(a.Name(), len(numbers)))
			return masked(numbers)
		}
		for _, v := range numbers {
			ids = append(ids, strconv.FormatInt(v, 10))
		}
	} else {
		ids = r.texts(a)
	}
	for k, id := range ids {
		node, found := l.find(id)
		if !r.check(found, a.Name(), "element %d is node %s, which is not in the graph of %d nodes", k, quotedID(id), l.Nodes) {
			break
		}
		nodes = append(nodes, node)
	}
	return nodes
}

// readLines reads all lines of data of a table: at most a header, and a line for each node.
func (l *NodeList) readLines(ctx context.Context, path string) (*part, error) {
	e := &edgeList{reader: newReader(ctx, path, Options{})}
	p := e.openPart("nodes", path)
	if e.err == nil {
		e.hold(p)
		e.check(p.rows <= l.Nodes, path, "more lines than the %d nodes", l.Nodes)
	}
	_, err := e.end()
	return p, err
}

// partWords are the words for the parts of a split, and for none; maskWords are those of a part
// alone.
var (
	partWords = [][]string{{"train", "training", "tr"}, {"valid", "validation", "val", "va", "dev"}, {"test", "testing", "te"}, {"", "none", "nan", "-", "unused"}}
	maskWords = [][]string{{"true"}, {}, {}, {"false"}}
)

// Part reads one part of a split: an array of ids or a mask (.npy), or a table of
// an id, or of true or false for each node, a line.
func (l *NodeList) Part(ctx context.Context, path string) (nodes []int32, err error) {
	if isNPY(path) {
		r := newReader(ctx, path, Options{})
		nodes = l.array(r, r.file(path).array(""))
		_, err := r.end()
		return nodes, err
	}
	lines, err := l.readLines(ctx, path)
	if err != nil {
		return nil, err
	}
	id, word, last := 0, -1, lines.First // the last line decides
	for _, r := range lines.data() {
		last = r.Cells
	}
	if _, isNode := l.find(string(last[0])); !isNode && wordOf(last[0], maskWords) >= 0 {
		id, word = -1, 0
	}
	s, err := l.split(lines, id, word, maskWords, "true or false")
	return s.Train, err
}

// Parts reads a table of an id and a part a line, or of a part a line in node order: train,
// valid, test or none.
func (l *NodeList) Parts(ctx context.Context, path string) (*Split, error) {
	lines, err := l.readLines(ctx, path)
	if err != nil {
		return nil, err
	}
	if lines.Width > 2 {
		return nil, fmt.Errorf("datasets: %s:%d: %d fields, want a node id and its part, or a part", path, lines.Line, lines.Width)
	}
	return l.split(lines, lines.Width-2, lines.Width-1, partWords, "train, valid, test or none")
}

// wordOf returns the number of the part that a word stands for, or −1.
func wordOf(word []byte, words [][]string) int {
	return slices.IndexFunc(words, func(words []string) bool { return slices.Contains(words, strings.ToLower(string(word))) })
}

// split reads lines with a node's id in a column, or in node order if that is −1, and with a word
// for a part in another column, or of the first part if that is −1. A first line that is unlike
// all lines below it is a header.
func (l *NodeList) split(p *part, id, word int, words [][]string, want string) (*Split, error) {
	read := func(row int, cells [][]byte) (node int32, found bool, part int) {
		node, found = int32(row), true
		if id >= 0 {
			node, found = l.find(string(cells[id]))
		}
		if word >= 0 {
			part = wordOf(cells[word], words)
		}
		return node, found, part
	}
	fits := func(cells [][]byte) bool {
		_, found, part := read(0, cells)
		return part >= 0 && (found || word >= 0)
	}
	odd := p.rows == 0 || fits(p.First) || isNumber(p.First[0])
	for _, r := range p.data() {
		odd = odd || !fits(r.Cells)
	}
	if odd {
		p.prepend()
	} else {
		l.Notes = append(l.Notes, fmt.Sprintf("%s: the first line, %.60q, is a header", p.Path, p.firstLine()))
	}
	s, faults := &Split{}, &table.Faults{Path: p.Path}
	for row, r := range p.data() {
		switch node, found, part := read(row, r.Cells); {
		case !found:
			faults.Add(r.Line, "%s is not a node of the graph of %d nodes", table.Quote(r.Cells[id]), l.Nodes)
		case part < 0:
			faults.Add(r.Line, "%s, want %s", table.Quote(r.Cells[word]), want)
		case part < 3:
			to := s.parts()[part]
			*to = append(*to, node)
		}
	}
	if err := faults.Err(); err != nil || id >= 0 {
		return s, err
	}
	return s, l.checkOrder(p.Path, p.rows)
}
