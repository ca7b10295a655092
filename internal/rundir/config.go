package rundir

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// DecodeConfig is DecodeObject for a configuration. It gives the fields today's names.
func DecodeConfig(text []byte) (map[string]any, error) {
	m, err := DecodeObject(text)
	return Upgrade(m), err
}

// DecodeObject reads the contents of a run's file, one JSON object with fields. Numbers
// become json.Number, because seeds have 64 bits.
func DecodeObject(text []byte) (map[string]any, error) {
	m, err := decode(text)
	if err == nil && len(m) == 0 {
		return nil, errors.New("an object without fields")
	}
	return m, err
}

// JSONError puts an error of reading a JSON object into words about the text, instead of
// words about Go's types.
func JSONError(err error) error {
	var syntax *json.SyntaxError
	var kind *json.UnmarshalTypeError
	switch {
	case err == io.EOF:
		return errors.New("empty")
	case err == io.ErrUnexpectedEOF, errors.As(err, &syntax) && syntax.Error() == "unexpected end of JSON input":
		return errors.New("cut short")
	case syntax != nil:
		return fmt.Errorf("byte %d: %w", syntax.Offset, err)
	case errors.As(err, &kind) && kind.Field != "":
		return fmt.Errorf("%q has a value of kind %s, which does not fit", kind.Field, kind.Value)
	case kind != nil:
		return fmt.Errorf("want a JSON object, got %s", kind.Value)
	}
	return err
}

func decode(text []byte) (map[string]any, error) {
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	var m map[string]any
	if err := decoder.Decode(&m); err != nil {
		return nil, JSONError(err)
	}
	if m == nil {
		return nil, errors.New("want a JSON object, got null")
	}
	if _, err := decoder.Token(); err != io.EOF {
		return nil, errors.New("something follows the object")
	}
	return m, nil
}

// Upgrade returns a configuration in which Field has renamed all fields. A renamed field
// replaces one that has its name already.
func Upgrade(config map[string]any) map[string]any {
	if config == nil {
		return nil
	}
	upgraded := make(map[string]any, len(config))
	for name := range config {
		today, value, kept := Field(config, name)
		if _, there := upgraded[today]; kept && !(there && today == name) {
			upgraded[today] = value
		}
	}
	return upgraded
}

// Field returns the name and the value that a field of a configuration has today, or
// false if today's configurations do not hold it. Earlier programs wrote batch_size
// for batch, rate for lr, max_epochs for epochs, null for a limit that is off (today
// 0), and for epochs of one pass permute beside the number of batches in a pass
// (today a batches_per_epoch of 0).
func Field(config map[string]any, name string) (today string, value any, kept bool) {
	today, value = name, config[name]
	if renamed, ok := map[string]string{"batch_size": "batch", "rate": "lr", "max_epochs": "epochs"}[name]; ok {
		today = renamed
	}
	switch today {
	case "max_batches", "epochs", "patience":
		if value == nil {
			value = json.Number("0")
		}
	case "batches_per_epoch":
		if config["permute"] == true {
			return "", nil, false
		}
	case "permute":
		switch value {
		case true:
			return "batches_per_epoch", json.Number("0"), true
		case false:
			return "", nil, false
		}
	}
	return today, value, true
}

// ThroughJSON returns m as it is read once it is written.
func ThroughJSON(m map[string]any) (map[string]any, error) {
	text, err := json.Marshal(m)
	if err != nil {
		return nil, fmt.Errorf("configuration: %w", err)
	}
	return decode(text)
}

// SameConfig compares two configurations that went through JSON. Numbers are equal if their
// values are: 0.5 is 0.50. The error names the first field that differs, in alphabetical order.
// Fields that may change are left out.
func SameConfig(before, now map[string]any, mayChange ...string) error {
	var names []string
	for _, m := range []map[string]any{before, now} {
		for name := range m {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	for _, name := range names {
		was, hadIt := fieldOf(before, name)
		is, hasIt := fieldOf(now, name)
		if slices.Contains(mayChange, name) || hadIt == hasIt && same(was, is) {
			continue
		}
		return fmt.Errorf("%s was %s and is now %s", name, jsonText(was, hadIt), jsonText(is, hasIt))
	}
	return nil
}

// same reports whether two values of JSON are equal.
func same(a, b any) bool {
	switch a := a.(type) {
	case json.Number:
		b, ok := b.(json.Number)
		return ok && (a == b || sameNumber(a.String(), b.String()))
	case []any:
		b, ok := b.([]any)
		return ok && slices.EqualFunc(a, b, same)
	case map[string]any:
		b, ok := b.(map[string]any)
		return ok && maps.EqualFunc(a, b, same)
	}
	return reflect.DeepEqual(a, b)
}

// sameNumber reports whether two numbers have the same value. Integers have 64 bits, which a
// float64 does not hold.
func sameNumber(a, b string) bool {
	exact := func(text string) bool { return !strings.ContainsAny(text, ".eE") }
	if exact(a) && exact(b) {
		return false // their texts differ, and JSON has one text for an integer
	}
	x, err := strconv.ParseFloat(a, 64)
	y, wrong := strconv.ParseFloat(b, 64)
	return err == nil && wrong == nil && x == y
}

// fieldOf returns the value of a field. Earlier programs had one model, and did not write
// which.
func fieldOf(config map[string]any, name string) (v any, there bool) {
	if v, there = config[name]; !there && name == "model" {
		return "program", true
	}
	return v, there
}

func jsonText(v any, there bool) string {
	if !there {
		return "not set"
	}
	text, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	return string(text)
}
