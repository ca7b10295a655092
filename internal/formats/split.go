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
func (l *NodeList) checkOrder(path string, rows int) {
	for i := 0; l.Unordered && i < l.Names.Len(); i++ {
		check(l.Names.At(i) == strconv.Itoa(i+1), path, "a row for each node, without ids, but the nodes have names: write the names, or say nodes=FILE with the names in the order of the rows")
	}
	check(rows == l.Nodes, path, "%d rows in node order for %d nodes", rows, l.Nodes)
}

// array reads an array of ids, or a mask.
func (l *NodeList) array(r *reader, a *npy.Reader) (nodes []int32) {
	ids := r.texts(a)
	// A list of nodes has none twice, so 0 and 1 for every node are no list.
	if a.Mask() || !a.Text() && len(ids) == l.Nodes && l.Nodes > 2 && !slices.ContainsFunc(ids, func(id string) bool { return id != "0" && id != "1" }) {
		l.checkOrder(a.Name(), len(ids))
		return masked(ids, "0")
	}
	for k, id := range ids {
		node, found := l.find(id)
		check(found, a.Name(), "element %d is node %s, which is not in the graph of %d nodes", k, quotedID(id), l.Nodes)
		nodes = append(nodes, node)
	}
	return nodes
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
	if !isNPY(path) {
		s, err := l.read(ctx, path, "line", maskWords, "true or false")
		return s[0], err
	}
	_, err = readSet(ctx, path, Options{}, func(r *reader) { nodes = l.array(r, r.file(path).array("")) })
	return nodes, err
}

// Parts reads a table of an id and a part a line, or of a part a line in node order: train,
// valid, test or none.
func (l *NodeList) Parts(ctx context.Context, path string) (*Split, error) {
	return l.read(ctx, path, "", partWords, "train, valid, test or none")
}

// wordOf returns the number of the part that a word stands for, or −1.
func wordOf(word []byte, words [][]string) int {
	return slices.IndexFunc(words, func(words []string) bool { return slices.Contains(words, strings.ToLower(string(word))) })
}

// read reads lines of a node's id, a word for a part, or both. Lines without an id are in node
// order; lines without a word name the first part: the second line says which they are. A first
// line that is unlike all lines below it is a header. sep is for table.File.Scan.
func (l *NodeList) read(ctx context.Context, path, sep string, words [][]string, want string) (*Split, error) {
	s := new(Split)
	_, err := readSet(ctx, path, Options{Keys: map[string]string{"sep": sep}}, func(r *reader) {
		e := &edgeList{reader: r}
		p := e.openPart("nodes", path)
		e.hold(p)
		check(p.rows <= l.Nodes, path, "more lines than the %d nodes", l.Nodes)
		check(p.Width == 1 || p.Width == 2 && sep == "", path, "%d columns, want a node id, its part, or for split= both", p.Width)
		second := p.example()[0]
		_, isNode := l.find(string(second))
		hasWords := sep == "" || !isNode && wordOf(second, words) >= 0
		hasIDs := p.Width == 2 || !hasWords
		l.readRows(p, s, want, func(row int, cells [][]byte) (node int32, part int) {
			if node = int32(row); hasIDs {
				var found bool
				if node, found = l.find(string(cells[0])); !found {
					node = -1
				}
			}
			if hasWords {
				part = wordOf(cells[p.Width-1], words)
			}
			return node, part
		})
		if !hasIDs {
			l.checkOrder(path, p.rows)
		}
	})
	return s, err
}

// readRows adds the nodes of all rows to their parts. parse returns the node and the part of a row:
// −1 for a cell that names no node, or no part.
func (l *NodeList) readRows(p *part, s *Split, want string, parse func(row int, cells [][]byte) (node int32, part int)) {
	fits := func(cells [][]byte) bool {
		node, part := parse(0, cells)
		return node >= 0 && part >= 0 || p.Width == 2 && (node >= 0 || part >= 0)
	}
	_, number := parseNumber(p.First[0])
	isHeader := p.rows > 0 && !number && !fits(p.First)
	for _, r := range p.data() {
		isHeader = isHeader && fits(r.Cells)
	}
	if !isHeader {
		p.prepend()
	} else {
		l.Notes = append(l.Notes, fmt.Sprintf("%s: the first line, %.60q, is a header", p.Path, p.firstLine()))
	}
	for row, r := range p.data() {
		switch node, part := parse(row, r.Cells); {
		case node < 0:
			r.Fault("%s is not a node of the graph of %d nodes", table.Quote(r.Cells[0]), l.Nodes)
		case part < 0:
			r.Fault("%s, want %s", table.Quote(r.Cells[p.Width-1]), want)
		case part < 3:
			s[part] = append(s[part], node)
		}
	}
}
