package datasets

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"

	"github.com/gcn-layerwise/gcn/graph"
)

// eachMember reads the members of the JSON object that a file holds, one by one,
// so that files larger than memory's worth of values pass. visit must take
// exactly one value from the decoder.
func eachMember(path string, visit func(key string, value *json.Decoder) error) error {
	text, err := openText(path)
	if err != nil {
		return err
	}
	defer text.Close()
	d := json.NewDecoder(text)
	if err := members(d, visit); err != nil {
		return jsonError(path, d, err)
	}
	if _, err := d.Token(); err != io.EOF {
		return fmt.Errorf("datasets: %s: byte %d: more after the object", path, d.InputOffset())
	}
	return nil
}

// members reads one object from a decoder.
func members(d *json.Decoder, visit func(key string, value *json.Decoder) error) error {
	if err := delimiter(d, '{'); err != nil {
		return err
	}
	for d.More() {
		token, err := d.Token()
		if err != nil {
			return err
		}
		key, isString := token.(string)
		if !isString {
			return fmt.Errorf("key %v is not a string", token)
		}
		if err := visit(key, d); err != nil {
			return err
		}
	}
	return delimiter(d, '}')
}

// elements reads one array from a decoder.
func elements(d *json.Decoder, visit func(k int) error) error {
	if err := delimiter(d, '['); err != nil {
		return err
	}
	for k := 0; d.More(); k++ {
		if err := visit(k); err != nil {
			return err
		}
	}
	return delimiter(d, ']')
}

func delimiter(d *json.Decoder, want json.Delim) error {
	token, err := d.Token()
	if err != nil {
		return err
	}
	if token != want {
		return fmt.Errorf("%.40q where %q should be", fmt.Sprint(token), want.String())
	}
	return nil
}

// skip passes over one value.
func skip(d *json.Decoder) error {
	var ignored json.RawMessage
	return d.Decode(&ignored)
}

func jsonError(path string, d *json.Decoder, err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		err = errors.New("the file ends within a value")
	}
	return fmt.Errorf("datasets: %s: byte %d: %w", path, d.InputOffset(), err)
}

// nodeKey reads a node id from an object's key.
func nodeKey(key string) (int32, error) {
	id, ok := parseID([]byte(key))
	if !ok {
		return 0, fmt.Errorf("key %.40q is not a node id", key)
	}
	return id, nil
}

// category is a label of an unordered kind: a name, or a number.
type category struct {
	name     string
	number   int64
	isNumber bool
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
		return category{number: int64(v), isNumber: true}, nil
	}
	return category{}, fmt.Errorf("label of kind %T is neither a name nor an integer", value)
}

// parseCategory reads a field of a text file.
func parseCategory(field string) category {
	if n, err := strconv.ParseInt(field, 10, 64); err == nil {
		return category{number: n, isNumber: true}
	}
	return category{name: field}
}

// categories numbers the labels met, numbers before names, each in order.
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

// order returns the final number of each provisional one.
func (c *categories) order() []int32 {
	all := make([]category, 0, len(c.index))
	for v := range c.index {
		all = append(all, v)
	}
	slices.SortFunc(all, func(a, b category) int {
		switch {
		case a.isNumber && b.isNumber:
			return int(min(max(a.number-b.number, -1), 1))
		case a.isNumber:
			return -1
		case b.isNumber:
			return 1
		case a.name < b.name:
			return -1
		}
		return 1
	})
	final := make([]int32, len(all))
	for k, v := range all {
		final[c.index[v]] = int32(k)
	}
	return final
}

// renumbered tells whether some category is not its own number.
func (c *categories) renumbered() bool {
	final := c.order()
	for v, k := range c.index {
		if !v.isNumber || v.number != int64(final[k]) {
			return true
		}
	}
	return false
}

// nodeLabels collects labels given by node id, before the number of nodes is
// known.
type nodeLabels struct {
	path  string
	kinds *categories
	multi bool
	ids   []int32
	lists [][]int32 // provisional categories of ids[k], one each unless multi
}

// add gives node id one label, −1 for none, or a list of them.
func (l *nodeLabels) add(id int32, labels ...category) {
	if !l.multi && labels[0] == (category{number: -1, isNumber: true}) {
		return
	}
	list := make([]int32, len(labels))
	for k, v := range labels {
		list[k] = l.kinds.add(v)
	}
	l.ids, l.lists = append(l.ids, id), append(l.lists, list)
}

// labels makes the labels of n nodes: classes, or a task each category if the
// source gave lists. Nodes not given have no label.
func (l *nodeLabels) labels(n int) (*graph.Labels, error) {
	final := l.kinds.order()
	if len(final) == 0 {
		return nil, fmt.Errorf("datasets: %s: no labels", l.path)
	}
	seen := make([]bool, n)
	for _, id := range l.ids {
		if seen[id] {
			return nil, fmt.Errorf("datasets: %s: node %d is there twice", l.path, id)
		}
		seen[id] = true
	}
	if !l.multi {
		y := &graph.Labels{Classes: len(final), Class: slices.Repeat([]int32{-1}, n)}
		for k, id := range l.ids {
			y.Class[id] = final[l.lists[k][0]]
		}
		return y, nil
	}
	tasks := len(final)
	if float64(n)*float64(tasks) > smallDense+emptiestRows*float64(len(l.ids)) {
		return nil, fmt.Errorf("datasets: %s: %d kinds of labels for %d nodes are too many to hold", l.path, tasks, n)
	}
	y := &graph.Labels{Tasks: tasks, Multi: slices.Repeat([]float32{float32(math.NaN())}, n*tasks)}
	for k, id := range l.ids {
		row := y.Multi[int(id)*tasks : (int(id)+1)*tasks]
		clear(row)
		for _, v := range l.lists[k] {
			row[final[v]] = 1
		}
	}
	return y, nil
}
