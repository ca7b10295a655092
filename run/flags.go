package run

import (
	"reflect"
	"slices"
	"strings"

	"github.com/spf13/pflag"
)

// The annotations of flags: the group of the help, and whether only --help-all shows it.
const (
	GroupAnnotation = "group"
	RareAnnotation  = "rare"
)

// flagValue is an option as a pflag.Value.
type flagValue struct {
	option Option
	of     any
}

func (f flagValue) String() string {
	if f.of == nil {
		return ""
	}
	return f.option.Text(f.of)
}

func (f flagValue) Set(text string) error { return f.option.set(f.of, text) }

func (f flagValue) Type() string {
	field := f.option.in(f.of)
	if v, ok := field.Addr().Interface().(interface{ Type() string }); ok {
		return v.Type()
	}
	switch element := field.Type(); {
	case f.option.auto && element.Kind() == reflect.Int:
		return "N|auto"
	case element.Kind() != reflect.Slice:
		return field.Kind().String()
	case element.Elem().Kind() == reflect.Int:
		return "N,..." // pflag aligns bytes
	}
	return "NAME,..."
}

// AddFlags gives the options of a struct, a pointer to Settings or Output, their defaults, and
// registers their flags: those that are named or are in a group that is named, or all.
func AddFlags(fs *pflag.FlagSet, of any, only ...string) {
	setDefaults(of)
	for _, o := range Options(of) {
		if o.File || only != nil && !slices.Contains(only, o.Flag()) && !slices.Contains(only, o.Group) {
			continue
		}
		usage := o.Help
		if arg := o.tag("arg"); arg != "" {
			usage = strings.Replace(usage, arg, "`"+arg+"`", 1)
		}
		f := fs.VarPF(flagValue{o, of}, o.Flag(), o.tag("short"), usage)
		if f.Value.Type() == "bool" {
			f.NoOptDefVal = "true"
		}
		f.Annotations = map[string][]string{GroupAnnotation: {o.Group}}
		if o.Rare {
			f.Annotations[RareAnnotation] = nil
		}
	}
}

// Values returns the settings that the flags of fs set.
func Values(fs *pflag.FlagSet) []Value {
	var values []Value
	fs.Visit(func(f *pflag.Flag) {
		if v, ok := f.Value.(flagValue); ok {
			if _, settings := v.of.(*Settings); settings {
				values = append(values, Value{Option: v.option.Name, Text: v.String()})
			}
		}
	})
	return values
}
