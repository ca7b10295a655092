package session

import (
	"fmt"
	"reflect"
	"strings"
	"unicode"

	"github.com/cosmos72/gomacro/base"
	"github.com/cosmos72/gomacro/fast"
	"github.com/cosmos72/gomacro/imports"
)

// private is the prefix of gomacro's names for unexported fields of types declared in
// cells.
const private = base.StrGensymPrivate

// Request answers requests that gophernotes does not answer: the description of the
// name at the cursor (Shift+Tab), and requests with an empty answer, so that no front
// end waits. It returns the reply's type and content, or false for an unknown
// request.
func Request(ir *fast.Interp, request string, content any) (reply string, answer map[string]any, known bool) {
	answer = map[string]any{"status": "ok"}
	switch request {
	case "inspect_request":
		asked, _ := content.(map[string]any)
		code, _ := asked["code"].(string)
		cursor, _ := asked["cursor_pos"].(float64)
		text := describe(ir, wordAt([]rune(code), int(cursor)))
		answer["found"], answer["metadata"], answer["data"] = text != "", map[string]any{}, map[string]any{}
		if text != "" {
			answer["data"] = map[string]any{"text/plain": text}
		}
	case "comm_info_request":
		answer["comms"] = map[string]any{}
	case "history_request":
		answer["history"] = []any{}
	default:
		return "", nil, false
	}
	return strings.TrimSuffix(request, "request") + "reply", answer, true
}

// wordAt returns the dotted name at or before the cursor. It ignores a parenthesis
// between the name and the cursor.
func wordAt(code []rune, cursor int) string {
	cursor = max(0, min(cursor, len(code)))
	name := func(c rune) bool { return c == '_' || unicode.IsLetter(c) || unicode.IsDigit(c) }
	if cursor > 0 && code[cursor-1] == '(' {
		cursor--
	}
	from, to := cursor, cursor
	for from > 0 && (name(code[from-1]) || code[from-1] == '.') {
		from--
	}
	for to < len(code) && name(code[to]) {
		to++
	}
	return strings.Trim(string(code[from:to]), ".")
}

// describe describes the name of a variable, a package, a field or a method. It
// returns "" for an unknown name.
func describe(ir *fast.Interp, word string) string {
	names := strings.Split(word, ".")
	if t := ir.Comp.TryResolveType(names[0]); t != nil && len(names) == 1 {
		return describeType(names[0], t.ReflectType())
	}
	symbol := ir.Comp.TryResolve(names[0])
	if symbol == nil || symbol.Type == nil {
		return ""
	}
	imported, ok := symbol.Value.(*fast.Import)
	if !ok {
		return describeValue(word, symbol.Type.ReflectType(), names[1:])
	}
	pkg := imports.Packages[imported.Path]
	if len(names) == 1 {
		return fmt.Sprintf("package %s // %q", imported.Name, imported.Path)
	}
	if t := pkg.Types[names[1]]; t != nil && len(names) == 2 {
		return describeType(word, t)
	}
	if v := pkg.Binds[names[1]]; v.IsValid() {
		return describeValue(word, v.Type(), names[2:])
	}
	return ""
}

// describeValue follows fields and methods from a value of type t.
func describeValue(word string, t reflect.Type, path []string) string {
	for _, name := range path {
		if m, ok := t.MethodByName(name); ok {
			t = m.Type
			continue
		}
		if t.Kind() == reflect.Pointer {
			t = t.Elem()
		}
		if t.Kind() != reflect.Struct {
			return ""
		}
		f, ok := t.FieldByNameFunc(func(field string) bool { return field == name || field == private+name })
		if !ok {
			return ""
		}
		t = f.Type
	}
	return word + " " + t.String()
}

// describeType lists a type's exported fields and methods.
func describeType(word string, t reflect.Type) string {
	var b strings.Builder
	fmt.Fprintf(&b, "type %s %s", word, t.Kind())
	if t.Kind() == reflect.Struct {
		b.WriteString(" {\n")
		for _, f := range reflect.VisibleFields(t) {
			if f.IsExported() && len(f.Index) == 1 {
				fmt.Fprintf(&b, "\t%s %s\n", strings.TrimPrefix(f.Name, private), f.Type)
			}
		}
		b.WriteString("}")
	}
	if t.Kind() != reflect.Interface {
		t = reflect.PointerTo(t)
	}
	for k := range t.NumMethod() {
		fmt.Fprintf(&b, "\n%s %s", t.Method(k).Name, t.Method(k).Type)
	}
	return b.String()
}
