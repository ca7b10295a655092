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

// decodeLabels reads a label, a text or a whole number, or a list of labels.
func decodeLabels(d *json.Decoder) (labels []string, isList bool, err error) {
	var value any
	if err := d.Decode(&value); err != nil {
		return nil, false, err
	}
	list, isList := value.([]any)
	if !isList {
		list = []any{value}
	}
	labels = make([]string, len(list))
	for k, value := range list {
		number, isNumber := value.(float64)
		text, isText := value.(string)
		switch {
		case isText:
			labels[k] = labelName(strings.TrimSpace(text))
		case isNumber && number == math.Trunc(number) && math.Abs(number) <= 1<<52:
			labels[k] = strconv.FormatInt(int64(number), 10)
		default:
			return nil, isList, fmt.Errorf("label %s is neither a name nor an integer", jsonText(value))
		}
	}
	return labels, isList, nil
}

// readClassMap reads {"id": class}, a number or a name, or {"id": [0, 1, …]} with a 0 or 1 for
// each task, for n nodes. The function node returns the node of an id, or a negative number to
// skip it.
func (r *reader) readClassMap(path string, n int, node func(key string) (int32, error)) {
	names, rows, tasks := make([]string, n), []float32(nil), -1
	r.eachMember(path, func(key string, d *json.Decoder) error {
		labels, isList, err := decodeLabels(d)
		if err == nil && tasks < 0 { // the first value decides
			if tasks = 0; isList {
				tasks = len(labels)
			}
			rows, err = unknownRows(path, n, tasks)
		}
		if err == nil && (isList != (tasks > 0) || isList && len(labels) != tasks) {
			err = fmt.Errorf("%d labels, unlike the node before it", len(labels))
		}
		if err != nil {
			return fmt.Errorf("node %.40q: %w", key, err)
		}
		i, err := node(key)
		if err == nil && int(i) >= n {
			err = fmt.Errorf("node %d outside [0, %d)", i, n)
		}
		if err != nil || i < 0 {
			return err
		}
		names[i] = labels[0]
		for k := range tasks {
			v, number := parseNumber([]byte(labels[k]))
			if rows[int(i)*tasks+k] = float32(v); !number {
				return fmt.Errorf("node %.40q: task %d is %.40q, want 0 or 1", key, k, labels[k])
			}
		}
		return nil
	})
	if r.err != nil {
		return
	}
	var err error
	if tasks > 0 {
		r.Labels, err = rowLabels(path, rows, tasks, "tasks")
	} else {
		r.Labels, err = namedLabels(path, names, false)
	}
	r.ok(err)
	r.noteLabels(path)
}
