package formats

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/gcn-layerwise/gcn/graph"
	"github.com/gcn-layerwise/gcn/internal/memory"
	"github.com/gcn-layerwise/gcn/internal/npy"
)

// The values of EdgeList.IDs.
const (
	IDsFrom0 = "from-0" // numbers from 0
	IDsFrom1 = "from-1" // numbers from 1
	IDsNames = "names"  // any text; nodes are numbered as they appear
)

// nodeIDs turns the ids in the files of one data set into the numbers of nodes.
type nodeIDs struct {
	first int32            // the id of node 0, if ids are numbers
	index map[string]int32 // number of each name; nil: ids are numbers
	names graph.Names      // in the order of their numbers
	given string           // the file that lists all names; "" if any file may add one
	tally memory.Tally
}

func (n *nodeIDs) named() bool { return n.index != nil }

// text returns the id of a node as an error names it. A nil n counts from 0.
func (n *nodeIDs) text(node int32) string {
	switch {
	case n == nil:
		return strconv.Itoa(int(node))
	case n.named():
		return fmt.Sprintf("%.40q", n.names.At(int(node)))
	}
	return strconv.Itoa(int(node) + int(n.first))
}

// parse returns the number of an id that is a number.
func (n *nodeIDs) parse(field []byte) (int32, error) {
	id, ok := parseID(field)
	if !ok {
		return 0, fmt.Errorf("%s is not a node id, a whole number from %d (ids=names reads names)", quoteField(field), n.first)
	}
	if id < n.first {
		return 0, fmt.Errorf("node id %d, but ids count from %d (ids=from-1)", id, n.first)
	}
	return id - n.first, nil
}

// number returns the number of a name. A new name gets the next one.
func (n *nodeIDs) number(name string) (int32, error) {
	if id, known := n.index[name]; known {
		return id, nil
	}
	switch {
	case name == "":
		return 0, errors.New("a node's name is empty")
	case n.given != "":
		return 0, fmt.Errorf("node %.40q is not in %s", name, n.given)
	case n.names.Len() == 1<<31-1:
		return 0, errors.New("more than 2³¹−1 nodes")
	}
	id := int32(n.names.Len())
	n.index[name] = id
	n.names.Append(name)
	const entry = 100 // bytes of a growing map, and of the name's end
	return id, n.tally.Add(entry + appendGrowth*int64(len(name)))
}

// key returns the number of an id in a key of JSON.
func (n *nodeIDs) key(text string) (int32, error) {
	if n.named() {
		return n.number(text)
	}
	id, err := n.parse([]byte(text))
	if err != nil {
		err = fmt.Errorf("key %.40q is not a node id", text)
	}
	return id, err
}

// localNames numbers the names in one block of lines.
type localNames struct {
	index map[string]int32
	names []string
}

func (n *localNames) number(name []byte) int32 {
	id, known := n.index[string(name)]
	if !known {
		if n.index == nil {
			n.index = make(map[string]int32)
		}
		id = int32(len(n.names))
		n.names = append(n.names, string(name))
		n.index[n.names[id]] = id
	}
	return id
}

// global returns the numbers of a block's names.
func (n *nodeIDs) global(names []string) ([]int32, error) {
	ids := make([]int32, len(names))
	for k, name := range names {
		var err error
		if ids[k], err = n.number(name); err != nil {
			return nil, err
		}
	}
	return ids, nil
}

// readNames reads the first column of a file, or an array (.npy): the names of all nodes, in
// order.
func (e *edgeList) readNames(ctx context.Context, path string) error {
	if isNPY(path) {
		return e.readNameArray(ctx, path)
	}
	l, err := findLayout(path, e.Separator, "", "", false, func(first, second []string) bool {
		return isIDWord(first[0]) || strings.EqualFold(first[0], "name") && second != nil
	})
	if err != nil {
		return err
	}
	err = readLines(ctx, path, func(b lines) (part []string, err error) {
		l.skipHeader(&b)
		for {
			line, found := b.nextData()
			if !found {
				return part, nil
			}
			if len(line) == 0 {
				continue
			}
			name, _, _ := cutField(line, l.sep)
			if l.fields == 1 {
				name = unquoted(line)
			}
			if len(name) == 0 {
				return part, b.fail("a node's name is empty")
			}
			part = append(part, string(name))
		}
	}, func(part []string) error {
		for _, name := range part {
			if err := e.ids.addNew(name); err != nil {
				return fmt.Errorf("datasets: %s: %w", path, err)
			}
		}
		return nil
	})
	e.ids.given = path
	e.note(l.describe("nodes", fmt.Sprintf("%d names, in the first column", e.ids.names.Len())))
	return err
}

// addNew gives a name the next number.
func (n *nodeIDs) addNew(name string) error {
	before := int32(n.names.Len())
	id, err := n.number(name)
	if err == nil && id < before {
		err = fmt.Errorf("node %.40q is there twice", name)
	}
	return err
}

func (e *edgeList) readNameArray(ctx context.Context, path string) error {
	return withArray(npyFile(path), "", func(r *npy.Reader) error {
		if err := vector(r); err != nil {
			return err
		}
		err := eachName(ctx, r, e.ids.addNew)
		e.ids.given = path
		e.note(fmt.Sprintf("nodes from %s: an array of %d names", path, e.ids.names.Len()))
		return err
	})
}

// eachName calls add with each name of an array of texts, or of whole numbers.
func eachName(ctx context.Context, r *npy.Reader, add func(name string) error) error {
	if r.Text() {
		return r.EachText(ctx, func(element []byte) error { return add(string(element)) })
	}
	if r.Mask() {
		return fmt.Errorf("datasets: %s: booleans where names of nodes should be", r.Name())
	}
	ids, err := r.Int64s(ctx)
	if err != nil {
		return err
	}
	for k, id := range ids {
		if err := add(strconv.FormatInt(id, 10)); err != nil {
			return fmt.Errorf("datasets: %s: element %d: %w", r.Name(), k, err)
		}
	}
	return nil
}
