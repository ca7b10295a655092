package formats

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/gcn-layerwise/gcn/graph"
	"github.com/gcn-layerwise/gcn/internal/npy"
)

// NodeList says how the files of a split name nodes.
type NodeList struct {
	Nodes int          // number of nodes of the graph
	Names *graph.Names // ids of the source; nil: numbers from 0

	// Unordered says that the order of the nodes is the reader's own, so that a mask has no
	// meaning, unless the ids count from 1.
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

// array reads an array of ids, or a mask.
func (l *NodeList) array(r *reader, a *npy.Reader) (nodes []int32) {
	ids := r.texts(a)
	// A list of nodes has none twice, so 0 and 1 for every node are no list.
	if a.Mask() || !a.Text() && len(ids) == l.Nodes && l.Nodes > 2 && !slices.ContainsFunc(ids, func(id string) bool { return id != "0" && id != "1" }) {
		for i := 0; l.Unordered && i < l.Names.Len(); i++ {
			check(l.Names.At(i) == strconv.Itoa(i+1), a.Name(), "a row for each node, without ids, but the nodes have names: write the names, or say nodes=FILE with the names in the order of the rows")
		}
		check(len(ids) == l.Nodes, a.Name(), "%d rows in node order for %d nodes", len(ids), l.Nodes)
		return masked(ids, "0")
	}
	for k, id := range ids {
		node, found := l.find(id)
		check(found, a.Name(), "element %d is node %s, which is not in the graph of %d nodes", k, quotedID(id), l.Nodes)
		nodes = append(nodes, node)
	}
	return nodes
}

// partWords are the words for the parts of a split, and for none.
var partWords = [][]string{{"train", "training", "tr"}, {"valid", "validation", "val", "va", "dev"}, {"test", "testing", "te"}, {"", "none", "nan", "-", "unused"}}

// Part reads one part of a split: an array of ids or a mask (.npy), or a table of an id a line.
func (l *NodeList) Part(ctx context.Context, path string) (nodes []int32, err error) {
	_, err = readSet(ctx, path, Options{Keys: map[string]string{"sep": "line"}}, func(r *reader) {
		if isNPY(path) {
			nodes = l.array(r, r.file(path).array(""))
		} else {
			nodes = l.read(r, path, 1)[0]
		}
	})
	return nodes, err
}

// Parts reads a table of an id and a part a line: train, valid, test or none.
func (l *NodeList) Parts(ctx context.Context, path string) (s *Split, err error) {
	_, err = readSet(ctx, path, Options{}, func(r *reader) { s = l.read(r, path, 2) })
	return s, err
}

// read reads lines of a node's id and, in the second of two columns, its part; without one it is
// the first. A first line that is unlike the second one is a header.
func (l *NodeList) read(r *reader, path string, width int) *Split {
	e, s := &edgeList{reader: r}, new(Split)
	p := e.openPart("nodes", path)
	e.hold(p)
	check(p.rows <= l.Nodes, path, "more lines than the %d nodes", l.Nodes)
	check(p.Width == width, path, "%d columns, want a node id and, for split=, its part", p.Width)
	parse := func(cells [][]byte) (node int32, part int) { // −1 for none
		node, found := l.find(string(cells[0]))
		if !found {
			node = -1
		}
		if width == 2 {
			part = slices.IndexFunc(partWords, func(words []string) bool { return slices.Contains(words, strings.ToLower(string(cells[1]))) })
		}
		return node, part
	}
	fits := func(cells [][]byte) bool {
		node, part := parse(cells)
		return node >= 0 || width == 2 && part >= 0
	}
	if _, number := parseNumber(p.First[0]); number || fits(p.First) || !fits(p.example()) {
		p.prepend()
	} else {
		l.Notes = append(l.Notes, fmt.Sprintf("%s: the first line, %.60q, is a header", path, p.firstLine()))
	}
	for _, row := range p.data() {
		switch node, part := parse(row.Cells); {
		case node < 0:
			row.Fault("%.40q is not a node of the graph of %d nodes", row.Cells[0], l.Nodes)
		case part < 0:
			row.Fault("%.40q, want train, valid, test or none", row.Cells[1])
		case part < 3:
			s[part] = append(s[part], node)
		}
	}
	return s
}
