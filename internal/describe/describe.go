// Package describe writes the settings of a sampler as text. config.json holds
// this text, and a run is resumed only if it is unchanged, so the texts of the
// samplers in this project must stay as they are.
package describe

import (
	"fmt"
	"reflect"
	"strings"
)

// Text is a name and settings, Name{setting:value setting:value}.
type Text struct {
	name     string
	settings []string
}

// New returns the text of a type without settings.
func New(name string) *Text { return &Text{name: name} }

// Set appends a setting. It leaves out nil, 0, false and "", so that a new setting
// does not change the text of old runs.
func (t *Text) Set(name string, value any) *Text {
	v := reflect.ValueOf(value)
	if v.IsValid() && (v.Kind() == reflect.Struct || !v.IsZero()) {
		t.settings = append(t.settings, name+":"+Value(value))
	}
	return t
}

// String returns the text.
func (t *Text) String() string { return t.name + "{" + strings.Join(t.settings, " ") + "}" }

// Value returns the text of a value: its String method where it has one. A type of a
// user may have none; then the text is made of the names of the type and of its
// exported fields. Pointers among these fields are left out: they are data, such as
// the graph. Functions, channels and maps cannot be compared, and become "_".
func Value(value any) string {
	v := reflect.ValueOf(value)
	if v.Kind() == reflect.Pointer && v.IsNil() {
		return "_"
	}
	if s, ok := value.(fmt.Stringer); ok {
		return s.String()
	}
	switch v = reflect.Indirect(v); v.Kind() {
	case reflect.Struct:
		return fields(v)
	case reflect.Slice, reflect.Array:
		return list(v)
	case reflect.Bool, reflect.String, reflect.Float32, reflect.Float64,
		reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64,
		reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return fmt.Sprint(v)
	default:
		return "_"
	}
}

func fields(v reflect.Value) string {
	t := New(v.Type().Name())
	for k := range v.NumField() {
		field, value := v.Type().Field(k), v.Field(k)
		if field.IsExported() && value.Kind() != reflect.Pointer && !value.IsZero() {
			t.Set(field.Name, value.Interface())
		}
	}
	return t.String()
}

// list returns the first 16 elements, and the length where there are more.
func list(v reflect.Value) string {
	var words []string
	for k := range v.Len() {
		if k == 16 {
			words = append(words, fmt.Sprintf("… %d", v.Len()))
			break
		}
		words = append(words, Value(v.Index(k).Interface()))
	}
	return "[" + strings.Join(words, " ") + "]"
}
