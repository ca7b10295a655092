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

// private begins the names that gomacro gives to unexported fields of types that
// are declared in cells.
const private = base.StrGensymPrivate

// Request answers the requests that gophernotes leaves open: the name at the cursor
// (the tool tip of Shift+Tab), and, so that no front end waits, requests for which
// this kernel has only an empty answer. It returns the reply's type and content, or false
// for a request that it does not know either.
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

// wordAt returns the names joined by dots that the cursor is in, or that end before
// it, apart from an opening parenthesis.
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

// describe describes a name in the notebook, of a package, a field or a method. It
// returns "" if there is no such name.
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
		f, ok := t.FieldByName(name)
		if !ok {
			f, ok = t.FieldByName(private + name)
		}
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
	methods := t
	switch t.Kind() {
	case reflect.Struct:
		b.WriteString(" {\n")
		for k := range t.NumField() {
			if f := t.Field(k); f.IsExported() {
				fmt.Fprintf(&b, "\t%s %s\n", strings.TrimPrefix(f.Name, private), f.Type)
			}
		}
		b.WriteString("}")
		methods = reflect.PointerTo(t)
	case reflect.Interface:
	default:
		methods = reflect.PointerTo(t)
	}
	for k := range methods.NumMethod() {
		m := methods.Method(k)
		fmt.Fprintf(&b, "\n%s %s", m.Name, m.Type)
	}
	return b.String()
}
