package rundir

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
)

// Schema is the number of the form of config.json and of checkpoints. It changes with the
// form: this program reads no files of another number.
const Schema = 5

// SchemaField is the field of config.json that holds Schema.
const SchemaField = "schema"

// SchemaError is the error of a file with another number.
func SchemaError(number any) error {
	return fmt.Errorf("its schema is %v and this program's is %d: train again, or use the program that wrote it", number, Schema)
}

// Derived reports whether a field of a run's config.json is no setting: it follows from the
// options and the data, or is control_every, which a run from Go has.
func Derived(name string) bool {
	return slices.Contains([]string{"control_every", "sampler", "parameters", "metric", "schedule_end", "falls", "classes", "tasks", "fingerprint", SchemaField}, name)
}

// DecodeConfig is DecodeObject for a configuration. It must have this program's schema.
func DecodeConfig(text []byte) (map[string]any, error) {
	m, err := DecodeObject(text)
	if err != nil {
		return nil, err
	}
	if number := jsonText(m, SchemaField); number != strconv.Itoa(Schema) {
		return nil, SchemaError(number)
	}
	return m, nil
}

// DecodeObject reads the contents of a run's file, one JSON object with fields. Numbers
// become json.Number, because seeds have 64 bits.
func DecodeObject(text []byte) (m map[string]any, err error) {
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	if err = decoder.Decode(&m); err != nil {
		return nil, fmt.Errorf("damaged: %w", err)
	}
	if _, more := decoder.Token(); more != io.EOF || len(m) == 0 {
		return nil, errors.New("damaged: want one JSON object with fields")
	}
	return m, nil
}

// ThroughJSON returns m as it is read once it is written.
func ThroughJSON(m map[string]any) (map[string]any, error) {
	text, err := json.Marshal(m)
	if err != nil {
		return nil, fmt.Errorf("configuration: %w", err)
	}
	return DecodeObject(text)
}

// SameConfig compares two configurations that went through JSON. The error names the first field
// that differs, in alphabetical order. Fields that may change are left out.
func SameConfig(before, now map[string]any, mayChange ...string) error {
	all := maps.Clone(now)
	maps.Copy(all, before)
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if was, is := jsonText(before, name), jsonText(now, name); was != is && !slices.Contains(mayChange, name) {
			return fmt.Errorf("%s was %s and is now %s", name, was, is)
		}
	}
	return nil
}

// jsonText returns a field of what came from JSON.
func jsonText(m map[string]any, name string) string {
	if _, there := m[name]; !there {
		return "not set"
	}
	text, _ := json.Marshal(m[name])
	return string(text)
}
