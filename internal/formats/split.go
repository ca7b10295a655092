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

	// Unordered says that the user does not know the order of the nodes, so that a row
	// for each node in order has no meaning.
	Unordered bool

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
	if l.Unordered {
		return fmt.Errorf("datasets: %s: a row for each node, without ids, but the nodes have names: write the names, or say nodes=FILE with the names in the order of the rows", path)
	}
	if rows != l.Nodes {
		return fmt.Errorf("datasets: %s: %d rows in node order for %d nodes", path, rows, l.Nodes)
	}
	return nil
}

// named reads an array of ids as texts.
func (l *NodeList) named(ctx context.Context, r *npy.Reader) (nodes []int32, err error) {
	err = r.EachText(ctx, func(element []byte) error {
		node, found := l.find(string(element))
		if !found {
			return fmt.Errorf("%s is not a node of the graph of %d nodes", quoteField(element), l.Nodes)
		}
		nodes = append(nodes, node)
		return nil
	})
	return nodes, err
}

// Part reads one part of a split: an array of ids or a mask of booleans (.npy), or a text
// file of an id, or of true or false for each node, a line.
func (l *NodeList) Part(ctx context.Context, path string) (nodes []int32, err error) {
	if !isNPY(path) {
		return l.partLines(ctx, path)
	}
	err = withArray(npyFile(path), "", func(r *npy.Reader) error {
		if err := vector(r); err != nil {
			return err
		}
		if r.Text() {
			nodes, err = l.named(ctx, r)
			return err
		}
		ids, err := r.Int64s(ctx)
		if err != nil {
			return err
		}
		if r.Mask() {
			for i, in := range ids {
				if in != 0 {
					nodes = append(nodes, int32(i))
				}
			}
			return l.checkOrder(path, len(ids))
		}
		for k, id := range ids {
			node, found := l.find(strconv.FormatInt(id, 10))
			if !found {
				return fmt.Errorf("datasets: %s: element %d is node %d, which is not in the graph of %d nodes", path, k, id, l.Nodes)
			}
			nodes = append(nodes, node)
		}
		return nil
	})
	return nodes, err
}

// fieldLine is the fields of one line of data.
type fieldLine struct {
	number int64
	fields []string
}

// readFieldLines reads the lines of data of a file, after its header.
func readFieldLines(ctx context.Context, l *layout) (all []fieldLine, err error) {
	tally := newTally(l.path)
	err = readLines(ctx, l.path, func(b lines) (part []fieldLine, err error) {
		l.skipHeader(&b)
		for {
			line, found := b.nextData()
			if !found {
				return part, nil
			}
			if len(line) > 0 {
				part = append(part, fieldLine{b.number - 1, l.split(line)})
			}
		}
	}, func(part []fieldLine) error {
		const entry = 96 // bytes of a line's slice and text
		all = append(all, part...)
		return tally.Add(entry * int64(len(part)))
	})
	return all, err
}

func (l *NodeList) partLines(ctx context.Context, path string) (nodes []int32, err error) {
	layout, err := findLayout(path, "", "", "", false, func(first, _ []string) bool {
		_, node := l.find(first[0])
		return !node && (namesID(first[0]) || isHeaderWord(first[0]))
	})
	if err != nil {
		return nil, err
	}
	mask := isBoolean(layout.sample[0])
	if _, node := l.find(layout.sample[0]); node {
		mask = false
	}
	lines, err := readFieldLines(ctx, layout)
	if err != nil {
		return nil, err
	}
	for k, line := range lines {
		field := line.fields[0]
		if l.Names != nil && layout.sep == ',' && len(line.fields) > 1 {
			field = strings.Join(line.fields, ",") // a name with commas and without quotes
			if _, node := l.find(field); !node {
				field = line.fields[0]
			}
		}
		if mask {
			if !isBoolean(field) {
				return nil, fmt.Errorf("datasets: %s:%d: %s where true or false should be", path, line.number, quoteField([]byte(field)))
			}
			if strings.EqualFold(field, "true") {
				nodes = append(nodes, int32(k))
			}
			continue
		}
		node, found := l.find(field)
		if !found {
			return nil, fmt.Errorf("datasets: %s:%d: %s is not a node of the graph of %d nodes", path, line.number, quoteField([]byte(field)), l.Nodes)
		}
		nodes = append(nodes, node)
	}
	if mask {
		err = l.checkOrder(path, len(lines))
	}
	return nodes, err
}

func isBoolean(field string) bool {
	return strings.EqualFold(field, "true") || strings.EqualFold(field, "false")
}

// partWords are the words for the parts of a split, and for none.
var partWords = [4][]string{{"train", "training", "tr"}, {"valid", "validation", "val", "va", "dev"}, {"test", "testing", "te"}, {"", "none", "nan", "-", "unused"}}

// partOf returns the number of the part that a word stands for: 0, 1, 2, or 3 for none, and
// −1 for any other word.
func partOf(word string) int {
	return slices.IndexFunc(partWords[:], func(words []string) bool { return slices.Contains(words, strings.ToLower(word)) })
}

// Parts reads a file of an id and a part a line, or of a part a line in node order: train,
// valid, test or none.
func (l *NodeList) Parts(ctx context.Context, path string) (*Split, error) {
	layout, err := findLayout(path, "", "", "", l.Names != nil, func(first, _ []string) bool {
		return partOf(first[len(first)-1]) < 0
	})
	if err != nil {
		return nil, err
	}
	lines, err := readFieldLines(ctx, layout)
	if err != nil {
		return nil, err
	}
	s := &Split{}
	for k, line := range lines {
		node, found := int32(k), true
		if layout.fields > 1 {
			node, found = l.find(line.fields[0])
		}
		part := partOf(line.fields[len(line.fields)-1])
		switch {
		case len(line.fields) != min(layout.fields, 2):
			return nil, fmt.Errorf("datasets: %s:%d: %d fields, want a node id and its part, or a part", path, line.number, len(line.fields))
		case !found:
			return nil, fmt.Errorf("datasets: %s:%d: %s is not a node of the graph of %d nodes", path, line.number, quoteField([]byte(line.fields[0])), l.Nodes)
		case part < 0:
			return nil, fmt.Errorf("datasets: %s:%d: %s, want train, valid, test or none", path, line.number, quoteField([]byte(line.fields[len(line.fields)-1])))
		case part < 3:
			to := s.parts()[part]
			*to = append(*to, node)
		}
	}
	if layout.fields == 1 {
		return s, l.checkOrder(path, len(lines))
	}
	return s, nil
}
