// Package argument finds missing arguments.
package argument

import "reflect"

// Nil reports whether v is nil, or an interface that holds a nil pointer.
func Nil(v any) bool {
	if v == nil {
		return true
	}
	value := reflect.ValueOf(v)
	return value.Kind() == reflect.Pointer && value.IsNil()
}
