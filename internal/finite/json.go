package finite

import (
	"encoding"
	"encoding/json"
	"errors"
	"math"
	"reflect"
	"slices"
)

// Number is a float64 that JSON shows as null if it is not finite. Null reads as
// NaN.
type Number float64

func (x Number) MarshalJSON() ([]byte, error)     { return marshal(float64(x)) }
func (x *Number) UnmarshalJSON(text []byte) error { return unmarshal(text, (*float64)(x)) }

// number32 is Number in single precision.
type number32 float32

func (x number32) MarshalJSON() ([]byte, error)     { return marshal(float32(x)) }
func (x *number32) UnmarshalJSON(text []byte) error { return unmarshal(text, (*float32)(x)) }

func marshal[T float32 | float64](x T) ([]byte, error) {
	if !Is(float64(x)) {
		return []byte("null"), nil
	}
	return json.Marshal(x)
}

func unmarshal[T float32 | float64](text []byte, x *T) error {
	if string(text) == "null" {
		*x = T(math.NaN())
		return nil
	}
	return json.Unmarshal(text, x)
}

// JSON returns a copy of v for encoding/json in which numbers that are not finite
// become null. It leaves alone types with a MarshalJSON or MarshalText of their own,
// and structs that embed unexported types or contain themselves.
func JSON(v any) any {
	if v == nil {
		return nil
	}
	from := reflect.ValueOf(v)
	to := reflect.New(shadow(from.Type(), nil)).Elem()
	convert(to, from)
	return to.Interface()
}

// Unmarshal is json.Unmarshal, except that null sets a number to NaN. v is a
// pointer.
func Unmarshal(text []byte, v any) error {
	to := reflect.ValueOf(v)
	if to.Kind() != reflect.Pointer || to.IsNil() {
		return errors.New("finite: Unmarshal needs a pointer")
	}
	from := reflect.New(shadow(to.Type().Elem(), nil))
	convert(from.Elem(), to.Elem()) // fields that the text does not name keep their values
	if err := json.Unmarshal(text, from.Interface()); err != nil {
		return err
	}
	convert(to.Elem(), from.Elem())
	return nil
}

// shadow returns a type that encoding/json treats as t, with Number in the place
// of float64. above are the types that t is in.
func shadow(t reflect.Type, above []reflect.Type) reflect.Type {
	if writesItself(t) || slices.Contains(above, t) {
		return t
	}
	above = append(slices.Clip(above), t)
	switch t.Kind() {
	case reflect.Float64:
		return reflect.TypeFor[Number]()
	case reflect.Float32:
		return reflect.TypeFor[number32]()
	case reflect.Interface:
		return reflect.TypeFor[any]()
	case reflect.Pointer:
		return reflect.PointerTo(shadow(t.Elem(), above))
	case reflect.Slice:
		return reflect.SliceOf(shadow(t.Elem(), above))
	case reflect.Array:
		return reflect.ArrayOf(t.Len(), shadow(t.Elem(), above))
	case reflect.Map:
		return reflect.MapOf(t.Key(), shadow(t.Elem(), above))
	case reflect.Struct:
		return shadowStruct(t, above)
	}
	return t
}

func shadowStruct(t reflect.Type, above []reflect.Type) reflect.Type {
	var fields []reflect.StructField
	for k := range t.NumField() {
		f := t.Field(k)
		if f.Anonymous && (!f.IsExported() || writesItself(f.Type)) {
			return t
		}
		if f.IsExported() {
			fields = append(fields, reflect.StructField{Name: f.Name, Type: shadow(f.Type, above), Tag: f.Tag, Anonymous: f.Anonymous})
		}
	}
	return reflect.StructOf(fields)
}

// writesItself tells whether encoding/json calls a method of t or *t.
func writesItself(t reflect.Type) bool {
	for _, kind := range []reflect.Type{
		reflect.TypeFor[json.Marshaler](), reflect.TypeFor[json.Unmarshaler](),
		reflect.TypeFor[encoding.TextMarshaler](), reflect.TypeFor[encoding.TextUnmarshaler](),
	} {
		if t.Implements(kind) || t.Kind() != reflect.Interface && reflect.PointerTo(t).Implements(kind) {
			return true
		}
	}
	return false
}

// convert copies a value to one of its shadow type, or back.
func convert(to, from reflect.Value) {
	switch kind := from.Kind(); {
	case to.Type() == from.Type() && kind != reflect.Interface:
		to.Set(from)
	case kind == reflect.Float64 || kind == reflect.Float32:
		to.SetFloat(from.Float())
	case kind == reflect.Struct:
		convertStruct(to, from)
	case kind == reflect.Array:
		for k := range from.Len() {
			convert(to.Index(k), from.Index(k))
		}
	case from.IsNil():
		to.SetZero()
	case kind == reflect.Interface:
		inner := reflect.New(shadow(from.Elem().Type(), nil)).Elem()
		convert(inner, from.Elem())
		if inner.Type().AssignableTo(to.Type()) {
			to.Set(inner)
		}
	case kind == reflect.Pointer:
		to.Set(reflect.New(to.Type().Elem()))
		convert(to.Elem(), from.Elem())
	case kind == reflect.Slice:
		to.Set(reflect.MakeSlice(to.Type(), from.Len(), from.Len()))
		for k := range from.Len() {
			convert(to.Index(k), from.Index(k))
		}
	case kind == reflect.Map:
		to.Set(reflect.MakeMapWithSize(to.Type(), from.Len()))
		for entries := from.MapRange(); entries.Next(); {
			value := reflect.New(to.Type().Elem()).Elem()
			convert(value, entries.Value())
			to.SetMapIndex(entries.Key(), value)
		}
	}
}

// convertStruct copies the exported fields, which are the same in both.
func convertStruct(to, from reflect.Value) {
	k := 0
	for j := range from.NumField() {
		if !from.Type().Field(j).IsExported() {
			continue
		}
		for !to.Type().Field(k).IsExported() {
			k++
		}
		convert(to.Field(k), from.Field(j))
		k++
	}
}
