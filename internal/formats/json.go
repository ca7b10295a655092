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
)

// eachMember reads the members of a file's JSON object one by one, so that the object
// may be larger than memory. visit must take exactly one value from the decoder. A repeated
// key is an error.
func (r *reader) eachMember(path string, visit func(key string, d *json.Decoder) error) {
	f := r.open(path, false)
	if r.err != nil {
		return
	}
	source := &jsonSource{ctx: r.ctx, text: f.Text}
	d := json.NewDecoder(source)
	source.decoder = d
	seen := make(map[string]bool)
	err := elements(d, '{', func(int) error {
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
		if _, err = d.Token(); err == io.EOF {
			return
		}
		err = cmp.Or(err, errors.New("more after the object"))
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
func jsonText(value any) string {
	if d, is := value.(json.Delim); is {
		value = d.String()
	}
	text, _ := json.Marshal(value) // what a decoder gives can be written
	return fmt.Sprintf("%.40s", text)
}

func isJSON(path string) bool {
	return strings.EqualFold(filepath.Ext(strings.TrimSuffix(path, ".gz")), ".json")
}

// eachLabels reads {"id": label}, where a label is a text or a whole number, or {"id": [label, …]}.
// It tells which of the two the first value is; the others must be the same.
func (r *reader) eachLabels(path string, visit func(key string, labels []string, areLists bool) error) (areLists bool) {
	first := true
	r.eachMember(path, func(key string, d *json.Decoder) error {
		var value any
		if err := d.Decode(&value); err != nil {
			return fmt.Errorf("node %s: %w", quotedID(key), err)
		}
		list, isList := value.([]any)
		if areLists = areLists || first && isList; !isList {
			list = []any{value}
		}
		first = false
		labels, err := make([]string, len(list)), error(nil)
		if isList != areLists {
			err = errors.New("labels must all be lists or none")
		}
		for k, value := range list {
			number, isNumber := value.(float64)
			text, isText := value.(string)
			switch {
			case isText:
				labels[k] = labelName(strings.TrimSpace(text))
			case isNumber && number == math.Trunc(number) && math.Abs(number) <= 1<<52:
				labels[k] = strconv.FormatInt(int64(number), 10)
			default:
				err = cmp.Or(err, fmt.Errorf("label %s is neither a name nor an integer", jsonText(value)))
			}
		}
		if err == nil {
			err = visit(key, labels, areLists)
		}
		if err != nil {
			err = fmt.Errorf("node %s: %w", quotedID(key), err)
		}
		return err
	})
	return areLists
}

// readClassMap reads {"id": class}, a number or a name, or {"id": [0, 1, …]} with a 0 or 1 for
// each task, for n nodes. The function node returns the node of an id, or a negative number to
// skip it.
func (r *reader) readClassMap(path string, n int, node func(key string) (int32, error)) {
	names, rows, tasks := make([]string, n), []float32(nil), 0
	areLists := r.eachLabels(path, func(key string, labels []string, areLists bool) error {
		if rows == nil && areLists {
			tasks = len(labels) // the first value decides
			rows = r.unknownRows(path, n, tasks)
		}
		i, err := node(key)
		switch {
		case r.err != nil || err != nil:
			return cmp.Or(r.err, err)
		case areLists && len(labels) != tasks:
			return fmt.Errorf("%d labels, unlike the node before it", len(labels))
		case int(i) >= n:
			return fmt.Errorf("outside [0, %d)", n)
		case i < 0:
			return nil
		case !areLists:
			names[i] = labels[0]
		}
		for k := range tasks {
			v, number := parseNumber([]byte(labels[k]))
			if rows[int(i)*tasks+k] = float32(v); !number {
				return fmt.Errorf("task %d is %.40q, want 0 or 1", k, labels[k])
			}
		}
		return nil
	})
	if areLists {
		r.rowLabels(path, rows, tasks, "tasks")
	} else {
		r.namedLabels(path, names, false)
	}
}
