package session

import (
	"fmt"
	"reflect"
	"strings"
)

// most is the largest number of values that Text prints. For more, it prints the type.
const most = 2000

// Text returns the text of a cell's values: as fmt prints them, but without the
// contents of large values. A data set has millions of numbers, and a cell easily
// ends in its name.
func Text(values ...any) string {
	shown := make([]any, len(values))
	for k, v := range values {
		shown[k] = v
		if left := most; !fits(reflect.ValueOf(v), true, &left) {
			shown[k] = fmt.Sprintf("%T (too large to print)", v)
		}
	}
	return strings.TrimSuffix(fmt.Sprintln(shown...), "\n")
}

// fits subtracts from left the number of values that fmt prints for v, and reports
// whether left stays positive. It does not check types that print themselves.
func fits(v reflect.Value, top bool, left *int) bool {
	if *left--; *left < 0 {
		return false
	}
	if !v.IsValid() {
		return true
	}
	if v.CanInterface() {
		switch v.Interface().(type) {
		case fmt.Formatter, fmt.Stringer, error:
			return true
		}
	}
	switch v.Kind() {
	case reflect.Pointer: // followed at the top only, as fmt does
		return !top || fits(v.Elem(), false, left)
	case reflect.Interface:
		return fits(v.Elem(), false, left)
	case reflect.String:
		*left -= v.Len() / 10
		return *left >= 0
	case reflect.Struct:
		for _, field := range v.Fields() {
			if !fits(field, false, left) {
				return false
			}
		}
	case reflect.Slice, reflect.Array, reflect.Map:
		for k, entry := range v.Seq2() {
			if v.Kind() == reflect.Map && !fits(k, false, left) || !fits(entry, false, left) {
				return false
			}
		}
	}
	return true
}
