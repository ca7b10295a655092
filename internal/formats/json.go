package formats

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"

	"github.com/gcn-layerwise/gcn/graph"
	"github.com/gcn-layerwise/gcn/internal/memory"
)

// eachMember reads the members of a file's JSON object one by one, so that the object
// may be larger than memory. visit must take exactly one value from the decoder, and
// report repeated keys.
func eachMember(ctx context.Context, path string, visit func(key string, value *json.Decoder) error) error {
	text, err := openText(path)
	if err != nil {
		return err
	}
	defer text.Close()
	source := &jsonSource{ctx: ctx, text: text}
	d := json.NewDecoder(source)
	source.decoder = d
	if err := members(d, visit); err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return jsonError(path, d, err)
	}
	if _, err := d.Token(); ctx.Err() != nil {
		return ctx.Err()
	} else if err != io.EOF {
		return fmt.Errorf("datasets: %s: byte %d: more after the object", path, d.InputOffset())
	}
	return nil
}

// jsonSource is the text of a decoder. A decoder keeps the value that it decodes in
// memory, so reading fails within a value that is longer than longestLine.
type jsonSource struct {
	ctx     context.Context
	text    io.Reader
	decoder *json.Decoder
	read    int64
}

func (s *jsonSource) Read(b []byte) (int, error) {
	if err := s.ctx.Err(); err != nil {
		return 0, err
	}
	if s.read-s.decoder.InputOffset() > longestLine {
		return 0, fmt.Errorf("a value of more than %d bytes", longestLine)
	}
	n, err := s.text.Read(b)
	s.read += int64(n)
	return n, err
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
		return fmt.Errorf("%s where %q should be", jsonText(token), want.String())
	}
	return nil
}

const deepestJSON = 10_000 // the limit of encoding/json

// skip reads one value of any length and drops it.
func skip(d *json.Decoder) error {
	for depth := 0; ; {
		token, err := d.Token()
		if err != nil {
			return err
		}
		switch token {
		case json.Delim('{'), json.Delim('['):
			depth++
		case json.Delim('}'), json.Delim(']'):
			depth--
		}
		switch {
		case depth == 0:
			return nil
		case depth > deepestJSON:
			return fmt.Errorf("values nested more than %d deep", deepestJSON)
		}
	}
}

// once reports a repeated key; seen is its mark.
func once(seen *bool, key string) error {
	if *seen {
		return fmt.Errorf("%.40q is there twice", key)
	}
	*seen = true
	return nil
}

// decode reads a number or a boolean; kind is its name in errors. Decoder.Decode
// would accept null, and leave the variable as it is.
func decode[T float64 | bool](d *json.Decoder, kind string) (value T, err error) {
	token, err := d.Token()
	if err != nil {
		return value, err
	}
	value, ok := token.(T)
	if !ok {
		return value, fmt.Errorf("%s where a %s should be", jsonText(token), kind)
	}
	return value, nil
}

// decodeInt32 reads an integer.
func decodeInt32(d *json.Decoder) (int32, error) {
	v, err := decode[float64](d, "number")
	if err == nil && (v != math.Trunc(v) || v < math.MinInt32 || v > math.MaxInt32) {
		err = fmt.Errorf("%v where an integer should be", v)
	}
	return int32(v), err
}

// jsonText prints a token within a one-line error.
func jsonText(token json.Token) string {
	switch v := token.(type) {
	case nil:
		return "null"
	case string:
		return fmt.Sprintf("%.40q", v)
	case json.Delim:
		return strconv.Quote(v.String())
	}
	return fmt.Sprint(token)
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

// category is a label: a name or a number.
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
	if value == nil {
		return category{}, errors.New("label null is neither a name nor an integer")
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

// categories numbers the labels of a file: first numbers, then names, each in order.
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
		case a.isNumber && !b.isNumber:
			return -1
		case b.isNumber && !a.isNumber:
			return 1
		}
		return cmp.Or(cmp.Compare(a.number, b.number), cmp.Compare(a.name, b.name))
	})
	final := make([]int32, len(all))
	for k, v := range all {
		final[c.index[v]] = int32(k)
	}
	return final
}

// renumbered tells whether a category differs from its number.
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
	path       string
	kinds      *categories
	multi      bool
	ids        []int32
	values     []int32 // provisional categories: one for each id, or all lists, concatenated
	ends       []int   // end of each id's list in values; nil unless multi
	unlabelled []int32 // ids with the label −1
	tally      memory.Tally
}

func newNodeLabels(path string) *nodeLabels {
	return &nodeLabels{path: path, kinds: newCategories(), tally: newTally(path)}
}

// isNone tells whether the label is −1, which stands for no label.
func (v category) isNone() bool { return v == category{number: -1, isNumber: true} }

// kind returns a category's provisional number.
func (l *nodeLabels) kind(v category) (int32, error) {
	const most = 1 << 20
	before := len(l.kinds.index)
	k := l.kinds.add(v)
	switch {
	case k < int32(before):
		return k, nil
	case k >= most:
		return 0, fmt.Errorf("datasets: %s: more than %d different labels, which are too many for classes", l.path, most)
	}
	const entry = 256 // bytes, in a growing map and while the kinds are sorted
	return k, l.tally.Add(entry + int64(len(v.name)))
}

// add gives node id one label, −1 for none.
func (l *nodeLabels) add(id int32, label category) error {
	if label.isNone() {
		l.unlabelled = append(l.unlabelled, id)
		return l.tally.Add(appendGrowth * 4)
	}
	k, err := l.kind(label)
	if err != nil {
		return err
	}
	if err := l.tally.Add(appendGrowth * 8); err != nil {
		return err
	}
	l.ids, l.values = append(l.ids, id), append(l.values, k)
	return nil
}

// addList gives node id a list of labels.
func (l *nodeLabels) addList(id int32, labels []category) error {
	for _, v := range labels {
		k, err := l.kind(v)
		if err != nil {
			return err
		}
		l.values = append(l.values, k)
	}
	l.ids, l.ends = append(l.ids, id), append(l.ends, len(l.values))
	return l.tally.Add(appendGrowth * int64(12+4*len(labels)))
}

// list returns the provisional categories of ids[k].
func (l *nodeLabels) list(k int) []int32 {
	from := 0
	if k > 0 {
		from = l.ends[k-1]
	}
	return l.values[from:l.ends[k]]
}

// checkOnce reports a node with labels in two places.
func (l *nodeLabels) checkOnce(n int) error {
	seen := make([]bool, n)
	for _, ids := range [][]int32{l.ids, l.unlabelled} {
		for _, id := range ids {
			if int(id) >= n {
				continue // a node beyond all others, without a label
			}
			if seen[id] {
				return fmt.Errorf("datasets: %s: node %d is there twice", l.path, id)
			}
			seen[id] = true
		}
	}
	return nil
}

// labels makes the labels of n nodes: classes, or a task for each category if the
// source has lists. Nodes that are not in the source have no label.
func (l *nodeLabels) labels(n int) (*graph.Labels, error) {
	final := l.kinds.order()
	if len(final) == 0 {
		return nil, fmt.Errorf("datasets: %s: no labels", l.path)
	}
	if err := l.checkOnce(n); err != nil {
		return nil, err
	}
	if !l.multi {
		y := &graph.Labels{Classes: len(final), Class: slices.Repeat([]int32{-1}, n)}
		for k, id := range l.ids {
			y.Class[id] = final[l.values[k]]
		}
		return y, nil
	}
	tasks := len(final)
	if float64(n)*float64(tasks) > smallMatrix+cellsAnEntry*float64(len(l.ids)) {
		return nil, fmt.Errorf("datasets: %s: %d kinds of labels for %d nodes are too many to hold", l.path, tasks, n)
	}
	values, err := zeros(l.path+": labels", n, tasks)
	if err != nil {
		return nil, err
	}
	y := &graph.Labels{Tasks: tasks, Multi: values}
	unknown := float32(math.NaN())
	for k := range values {
		values[k] = unknown
	}
	for k, id := range l.ids {
		row := values[int(id)*tasks : (int(id)+1)*tasks]
		clear(row)
		for _, v := range l.list(k) {
			row[final[v]] = 1
		}
	}
	return y, nil
}
