package formats

import (
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

func isJSON(path string) bool {
	return strings.EqualFold(filepath.Ext(strings.TrimSuffix(path, ".gz")), ".json")
}
