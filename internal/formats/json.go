package formats

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/gcn-layerwise/gcn/internal/table"
)

// eachMember reads the members of a file's JSON object one by one, so that the object
// may be larger than memory. visit must take exactly one value from the decoder. A repeated
// key is an error.
func (r *reader) eachMember(path string, visit func(key string, d *json.Decoder) error) {
	if r.err != nil {
		return
	}
	text, err := table.Open(path)
	if !r.ok(err) {
		return
	}
	defer text.Close()
	source := &jsonSource{ctx: r.ctx, text: text}
	d := json.NewDecoder(source)
	source.decoder = d
	seen := make(map[string]bool)
	err = elements(d, '{', func(int) error {
		token, err := d.Token()
		key, _ := token.(string)
		if err == nil && seen[key] {
			err = fmt.Errorf("%.40q is there twice", key)
		}
		if seen[key] = true; err == nil {
			err = visit(key, d)
		}
		return err
	})
	if err == nil {
		if _, err = d.Token(); err == nil {
			err = errors.New("more after the object")
		} else if err == io.EOF {
			return
		}
	}
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		err = errors.New("the file ends within a value")
	}
	at, syntax := d.InputOffset(), new(json.SyntaxError)
	if errors.As(err, &syntax) && errors.As(json.NewDecoder(d.Buffered()).Decode(new(json.RawMessage)), &syntax) {
		at += syntax.Offset // within the value
	}
	r.ok(r.ctx.Err())
	r.check(false, path, "byte %d: %w", at, err)
}

// jsonSource is the text of a decoder. A decoder keeps the value that it decodes in
// memory, so reading fails within a value that is longer than longestValue.
type jsonSource struct {
	ctx     context.Context
	text    io.Reader
	decoder *json.Decoder
	read    int64
}

func (s *jsonSource) Read(b []byte) (int, error) {
	const longestValue = 1 << 24 // bytes
	if err := s.ctx.Err(); err != nil {
		return 0, err
	}
	if s.read-s.decoder.InputOffset() > longestValue {
		return 0, fmt.Errorf("a value of more than %d bytes", longestValue)
	}
	n, err := s.text.Read(b)
	s.read += int64(n)
	return n, err
}

// elements reads an array, or the keys and values of an object. visit takes one element, or a key
// and its value, from the decoder.
func elements(d *json.Decoder, start json.Delim, visit func(k int) error) error {
	if token, err := d.Token(); err != nil || token != start {
		return cmp.Or(err, fmt.Errorf("%s where %q should be", jsonText(token), start.String()))
	}
	for k := 0; d.More(); k++ {
		if err := visit(k); err != nil {
			return err
		}
	}
	_, err := d.Token()
	return err
}

// fields reads the members of an object that have these names, and skips the others. A value that is
// not there is nil, and null is json.RawMessage.
func fields(d *json.Decoder, names ...string) (values []any, err error) {
	values = make([]any, len(names))
	err = elements(d, '{', func(int) error {
		key, err := d.Token()
		k := slices.Index(names, fmt.Sprint(key))
		switch {
		case err != nil:
			return err
		case k < 0:
			return d.Decode(new(json.RawMessage))
		case values[k] != nil:
			return fmt.Errorf("%.40q is there twice", key)
		}
		if err := d.Decode(&values[k]); err != nil {
			return err
		}
		if values[k] == nil {
			values[k] = json.RawMessage("null")
		}
		return nil
	})
	return values, err
}

// decodeNode reads the number of a node below n.
func decodeNode(d *json.Decoder, n int) (int32, error) {
	token, err := d.Token()
	v, isNumber := token.(float64)
	if err == nil && (!isNumber || v != math.Trunc(v) || v < 0 || v >= float64(n)) {
		err = fmt.Errorf("%s where a whole number in [0, %d) should be", jsonText(token), n)
	}
	return int32(v), err
}

// jsonText prints a value within a one-line error.
func jsonText(token any) string {
	switch v := token.(type) {
	case nil:
		return "null"
	case string:
		return fmt.Sprintf("%.40q", v)
	case json.Delim:
		return strconv.Quote(v.String())
	}
	return fmt.Sprintf("%.40v", token)
}

func isJSON(path string) bool {
	return strings.EqualFold(filepath.Ext(strings.TrimSuffix(path, ".gz")), ".json")
}

// readClassMap reads {"id": class} or {"id": [0, 1, …]} for n nodes; classes are numbers, or all
// names. The first value decides. The function node returns the node of an id, or a negative
// number to skip it.
func (r *reader) readClassMap(path string, n int, node func(key string) (int32, error)) {
	m := classMap{path: path, nodes: n}
	r.eachMember(path, func(key string, d *json.Decoder) error {
		var value any
		if err := d.Decode(&value); err != nil {
			return err
		}
		i, err := node(key)
		if err == nil && int(i) >= n {
			err = fmt.Errorf("node %d outside [0, %d)", i, n)
		}
		if err == nil && i >= 0 {
			if err = m.add(int(i), value); err != nil {
				err = fmt.Errorf("node %.40q: %w", key, err)
			}
		}
		return err
	})
	if r.err != nil {
		return
	}
	var err error
	switch {
	case m.names != nil:
		r.Labels, err = namedLabels(path, m.names, false)
	case m.tasks > 0:
		r.Labels, err = rowLabels(path, m.values, m.tasks, "tasks")
	default:
		r.Labels, err = numberLabels(path, m.values, true)
	}
	r.ok(err)
	r.noteLabels(path)
}

// classMap collects the values of a class map: classes, their names, or tasks.
type classMap struct {
	path  string
	nodes int
	first any // value

	names  []string
	tasks  int       // 0: the values are classes
	values []float32 // NaN for unknown
}

// add takes the label of node i.
func (m *classMap) add(i int, value any) (err error) {
	if m.first == nil {
		m.first = value
		list, _ := value.([]any)
		m.tasks = len(list)
		if _, isName := value.(string); isName {
			m.names = make([]string, m.nodes)
		} else {
			m.values, err = unknownRows(m.path, m.nodes, max(m.tasks, 1))
		}
	}
	switch v := value.(type) {
	case string:
		if m.names != nil {
			m.names[i] = labelName(strings.TrimSpace(v))
			return nil
		}
	case float64:
		if m.names == nil && m.tasks == 0 && err == nil && v >= 0 && v < 1<<16 && v == math.Trunc(v) {
			m.values[i] = float32(v)
			return nil
		}
	case []any:
		if err != nil || len(v) != m.tasks || m.tasks == 0 {
			return cmp.Or(err, fmt.Errorf("%d labels, unlike the node before it", len(v)))
		}
		for k, task := range v {
			number, is := task.(float64)
			if !is {
				return fmt.Errorf("task %d: %s where a number should be", k, jsonText(task))
			}
			m.values[i*m.tasks+k] = float32(number)
		}
		return nil
	}
	return cmp.Or(err, fmt.Errorf("class %s, want a whole number in [0, 65536), a name or a list, as the first node has", jsonText(value)))
}
