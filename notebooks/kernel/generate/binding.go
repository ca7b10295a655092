package main

import (
	"bytes"
	"errors"
	"fmt"
	"go/constant"
	"go/format"
	"go/types"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/cosmos72/gomacro/base/untyped"
	"golang.org/x/tools/go/packages"
)

// load returns the packages in the order of paths, from the compiler's export
// data.
func load(paths []string) ([]*types.Package, error) {
	list, err := packages.Load(&packages.Config{Mode: packages.NeedName | packages.NeedTypes | packages.NeedImports}, paths...)
	if err != nil {
		return nil, err
	}
	found := map[string]*types.Package{}
	for _, p := range list {
		for _, e := range p.Errors { // its module must be in go.mod: go get PATH@VERSION
			err = errors.Join(err, fmt.Errorf("%s: %w", p.PkgPath, e))
		}
		found[p.PkgPath] = p.Types
	}
	var pkgs []*types.Package
	for _, path := range paths {
		if found[path] == nil {
			err = errors.Join(err, fmt.Errorf("%s: not found; its module must be in go.mod (go get %[1]s@VERSION)", path))
		}
		pkgs = append(pkgs, found[path])
	}
	return pkgs, err
}

// binding is one package for the interpreter, in the layout of its type
// imports.Package: every exported name with its reflect.Value or reflect.Type.
type binding struct {
	pkg     *types.Package
	imports map[string]string // import path → name in the file
	names   map[string]bool   // names taken in the file

	values, types   bytes.Buffer // entries of Binds and Types
	proxies         bytes.Buffer // entries of Proxies
	proxyTypes      bytes.Buffer // declarations of the proxies
	constants       bytes.Buffer // entries of Untypeds
	promoted        bytes.Buffer // entries of Wrappers
	skipped         []string     // names without a binding, with the reason
	proxyNamePrefix string
}

func newBinding(pkg *types.Package) *binding {
	b := &binding{
		pkg:             pkg,
		imports:         map[string]string{},
		names:           map[string]bool{"reflect": true, "imports": true},
		proxyNamePrefix: "proxy_" + identifier(pkg.Path()) + "_",
	}
	scope := pkg.Scope()
	for _, name := range scope.Names() {
		if object := scope.Lookup(name); object.Exported() {
			b.add(object)
		}
	}
	return b
}

func (b *binding) add(object types.Object) {
	name := object.Name()
	switch object := object.(type) {
	case *types.Const:
		b.constant(object)
	case *types.Var:
		fmt.Fprintf(&b.values, "%q: reflect.ValueOf(&%s).Elem(),\n", name, b.qualified(name))
	case *types.Func:
		if object.Signature().TypeParams().Len() > 0 {
			b.skip(name, "generic function")
			return
		}
		fmt.Fprintf(&b.values, "%q: reflect.ValueOf(%s),\n", name, b.qualified(name))
	case *types.TypeName:
		b.typeName(object)
	}
}

func (b *binding) skip(name, why string) {
	b.skipped = append(b.skipped, name+": "+why)
}

// constant binds a constant. It binds an untyped constant twice: as a value of a
// type that can hold it, and in full precision as text.
func (b *binding) constant(c *types.Const) {
	convert := "%s"
	if t, ok := c.Type().(*types.Basic); ok && t.Info()&types.IsUntyped != 0 {
		convert = conversion(c.Val())
		if text := untyped.Marshal(untyped.GoUntypedToKind(t.Kind()), c.Val()); text != "" {
			fmt.Fprintf(&b.constants, "%q: %q,\n", c.Name(), text)
		}
	}
	value := fmt.Sprintf(convert, b.qualified(c.Name()))
	fmt.Fprintf(&b.values, "%q: reflect.ValueOf(%s),\n", c.Name(), value)
}

// conversion returns the conversion that lets an untyped constant compile if int
// has 32 bits.
func conversion(v constant.Value) string {
	if v.Kind() != constant.Int {
		return "%s"
	}
	if i, ok := constant.Int64Val(v); ok {
		if i == int64(int32(i)) {
			return "%s"
		}
		return "int64(%s)"
	}
	if _, ok := constant.Uint64Val(v); ok {
		return "uint64(%s)"
	}
	return "float64(%s)"
}

func (b *binding) typeName(object *types.TypeName) {
	name := object.Name()
	t := types.Unalias(object.Type())
	if isGeneric(object.Type()) {
		b.skip(name, "generic type")
		return
	}
	if i, ok := t.Underlying().(*types.Interface); ok && !i.IsMethodSet() {
		b.skip(name, "type constraint")
		return
	}
	fmt.Fprintf(&b.types, "%q: reflect.TypeFor[%s](),\n", name, b.qualified(name))
	switch u := t.Underlying().(type) {
	case *types.Interface:
		b.proxy(name, u)
	case *types.Struct:
		if named, ok := t.(*types.Named); ok {
			if methods := promotedMethods(named); len(methods) > 0 {
				fmt.Fprintf(&b.promoted, "%q: %#v,\n", name, methods)
			}
		}
	}
}

// isGeneric reports whether t lacks type arguments.
func isGeneric(t types.Type) bool {
	switch t := t.(type) {
	case *types.Named:
		return t.TypeParams().Len() > 0 && t.TypeArgs().Len() == 0
	case *types.Alias:
		return t.TypeParams().Len() > 0 && t.TypeArgs().Len() == 0 || isGeneric(t.Rhs())
	}
	return false
}

// promotedMethods lists the methods that a struct has only from its embedded fields.
// Reflection cannot distinguish them from the struct's own methods.
func promotedMethods(t *types.Named) []string {
	var names []string
	for method := range types.NewMethodSet(types.NewPointer(t)).Methods() {
		if method.Obj().Exported() && len(method.Index()) > 1 {
			names = append(names, method.Obj().Name())
		}
	}
	return names
}

// proxy declares the type that lets interpreted types implement an interface: a
// struct with a function for each method, which the interpreter fills in. The
// first parameter of those functions is the interpreted value.
func (b *binding) proxy(name string, t *types.Interface) {
	if err := spellable(t, b.pkg); err != nil {
		b.skip(name, "interpreted types cannot implement it: "+err.Error())
		return
	}
	proxy := b.proxyNamePrefix + name
	fmt.Fprintf(&b.proxies, "%q: reflect.TypeFor[%s](),\n", name, proxy)

	var fields, methods bytes.Buffer
	for m := range t.Methods() {
		s := m.Signature()
		parameters, arguments := b.parameters(s)
		results := b.results(s)
		field := append([]string{"any"}, parameters...)
		fmt.Fprintf(&fields, "%s_ func(%s) %s\n", m.Name(), strings.Join(field, ", "), results)

		named := make([]string, len(parameters))
		for k, p := range parameters {
			named[k] = fmt.Sprintf("a%d %s", k, p)
		}
		call := fmt.Sprintf("p.%s_(%s)", m.Name(), strings.Join(append([]string{"p.Object"}, arguments...), ", "))
		if results != "" {
			call = "return " + call
		}
		fmt.Fprintf(&methods, "func (p *%s) %s(%s) %s { %s }\n", proxy, m.Name(), strings.Join(named, ", "), results, call)
	}
	fmt.Fprintf(&b.proxyTypes, "\ntype %s struct {\nObject any\n%s}\n\n%s", proxy, &fields, &methods)
}

// spellable returns an error if code outside t's package cannot name the types in
// its methods.
func spellable(t *types.Interface, in *types.Package) error {
	for m := range t.Methods() {
		if !m.Exported() {
			return errors.New("it has unexported methods")
		}
		var hidden error
		types.TypeString(m.Signature(), func(p *types.Package) string {
			if strings.Contains("/"+p.Path()+"/", "/internal/") && p != in {
				hidden = fmt.Errorf("%s has a type of an internal package", m.Name())
			}
			return ""
		})
		if hidden != nil {
			return hidden
		}
	}
	return nil
}

// parameters returns the types of a signature's parameters as source, and the
// arguments that pass them on.
func (b *binding) parameters(s *types.Signature) (types_, arguments []string) {
	n := s.Params().Len()
	for k := range n {
		t := s.Params().At(k).Type()
		argument := fmt.Sprintf("a%d", k)
		if s.Variadic() && k == n-1 {
			types_ = append(types_, "..."+b.typeString(t.(*types.Slice).Elem()))
			argument += "..."
		} else {
			types_ = append(types_, b.typeString(t))
		}
		arguments = append(arguments, argument)
	}
	return types_, arguments
}

func (b *binding) results(s *types.Signature) string {
	var list []string
	for v := range s.Results().Variables() {
		list = append(list, b.typeString(v.Type()))
	}
	return strings.Replace("("+strings.Join(list, ", ")+")", "()", "", 1)
}

func (b *binding) typeString(t types.Type) string {
	return types.TypeString(t, b.importName)
}

func (b *binding) qualified(name string) string {
	return b.importName(b.pkg) + "." + name
}

// importName imports a package into the file and returns its name there.
func (b *binding) importName(p *types.Package) string {
	if name, ok := b.imports[p.Path()]; ok {
		return name
	}
	name := p.Name()
	for k := 2; b.names[name]; k++ {
		name = p.Name() + strconv.Itoa(k)
	}
	b.names[name] = true
	b.imports[p.Path()] = name
	return name
}

// source returns the file, formatted.
func (b *binding) source() ([]byte, error) {
	var file bytes.Buffer
	fmt.Fprintf(&file, "// Code generated by ./generate from %s; DO NOT EDIT.\n\npackage bindings\n\n", b.pkg.Path())
	fmt.Fprintf(&file, "import (\n\"reflect\"\n\n\"github.com/cosmos72/gomacro/imports\"\n")
	for _, path := range slices.Sorted(maps.Keys(b.imports)) {
		fmt.Fprintf(&file, "%s %q\n", b.imports[path], path)
	}
	fmt.Fprintf(&file, ")\n\nfunc init() {\nimports.Packages[%q] = imports.Package{\nName: %q,\n", b.pkg.Path(), b.pkg.Name())
	for _, part := range []struct {
		field, typ string
		entries    *bytes.Buffer
	}{
		{"Binds", "map[string]reflect.Value", &b.values},
		{"Types", "map[string]reflect.Type", &b.types},
		{"Proxies", "map[string]reflect.Type", &b.proxies},
		{"Untypeds", "map[string]string", &b.constants},
		{"Wrappers", "map[string][]string", &b.promoted},
	} {
		fmt.Fprintf(&file, "%s: %s{\n%s},\n", part.field, part.typ, part.entries)
	}
	fmt.Fprintf(&file, "}\n}\n%s", &b.proxyTypes)
	return format.Source(file.Bytes())
}

// identifier turns an import path into part of a name.
func identifier(path string) string {
	return regexp.MustCompile(`[^a-zA-Z0-9]`).ReplaceAllString(path, "_")
}
