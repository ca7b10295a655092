package rundir

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"slices"
)

// DecodeConfig reads a configuration, one JSON object. Numbers become
// json.Number, since seeds have 64 bits.
func DecodeConfig(text []byte) (map[string]any, error) {
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	var m map[string]any
	if err := decoder.Decode(&m); err != nil {
		return nil, err
	}
	if m == nil {
		return nil, errors.New("want a JSON object, got null")
	}
	if _, err := decoder.Token(); err != io.EOF {
		return nil, errors.New("something follows the object")
	}
	return m, nil
}

// ThroughJSON encodes m and returns it as DecodeConfig reads it.
func ThroughJSON(m map[string]any) (map[string]any, error) {
	text, err := json.Marshal(m)
	if err != nil {
		return nil, fmt.Errorf("configuration: %w", err)
	}
	return DecodeConfig(text)
}

// SameConfig returns an error about the first field, by name, in which two
// configurations differ. Both must have passed through JSON. The fields in
// mayChange may differ.
func SameConfig(before, now map[string]any, mayChange ...string) error {
	var names []string
	for _, m := range []map[string]any{before, now} {
		for name := range m {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	for _, name := range names {
		was, hadIt := before[name]
		is, hasIt := now[name]
		if slices.Contains(mayChange, name) || hadIt == hasIt && reflect.DeepEqual(was, is) {
			continue
		}
		return fmt.Errorf("%s was %s and is now %s", name, jsonText(was, hadIt), jsonText(is, hasIt))
	}
	return nil
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
