package run

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/dustin/go-humanize"
	"github.com/dustin/go-humanize/english"
	"github.com/spf13/pflag"

	"github.com/gcn-layerwise/gcn/internal/memory"
)

// Option is one field of Settings, or of another struct with the same tags. As a pflag.Value it is
// the field's value as on the command line.
type Option struct {
	Name    string // in a file; the flag has - in place of _
	Group   string // of the help
	Rare    bool   // shown by --help-all only
	File    bool   // has no flag
	Default string
	Choices []string // the words that are allowed; nil: all
	Help    string

	tag   func(key string) string
	of    any // a pointer to the struct
	field reflect.Value
}

// Options returns the options of the struct that a pointer points to, in the order of its fields.
func Options(of any) []Option {
	var list []Option
	v := reflect.ValueOf(of).Elem()
	for _, f := range reflect.VisibleFields(v.Type()) {
		tag := f.Tag.Get
		if tag("json") == "" {
			continue
		}
		group, where, _ := strings.Cut(tag("group"), ",")
		o := Option{
			Name: tag("json"), Group: group, Rare: where == "rare", File: where == "file",
			Default: tag("default"), Choices: words(tag("choice"), "|"), Help: tag("help"),
			tag: tag, of: of, field: v.FieldByIndex(f.Index),
		}
		if of, ok := o.field.Interface().(interface{ Values() []string }); ok {
			o.Choices = of.Values()
		}
		list = append(list, o)
	}
	return list
}

// words splits a tag, if it has words.
func words(tag, separator string) []string {
	if tag == "" {
		return nil
	}
	return strings.Split(tag, separator)
}

// Flag returns the flag of the option, without dashes.
func (o Option) Flag() string { return flagOf(o.Name) }

func flagOf(name string) string { return strings.ReplaceAll(name, "_", "-") }

func nameOf(flag string) string { return strings.ReplaceAll(flag, "-", "_") }

// find returns the option of that name, or flag, of a struct.
func find(of any, name string) (Option, bool) {
	for _, o := range Options(of) {
		if o.Name == nameOf(name) {
			return o, true
		}
	}
	return Option{}, false
}

// autoWord is the value of an option that follows from the data.
const autoWord = "auto"

// String implements pflag.Value.
func (o Option) String() string {
	if text := valueText(o.field); text == "" || text != o.tag("auto") {
		return text
	}
	return autoWord
}

func valueText(v reflect.Value) string {
	if _, own := v.Interface().(fmt.Stringer); own || v.Kind() != reflect.Slice {
		return fmt.Sprint(v.Interface())
	}
	words := make([]string, v.Len())
	for k := range words {
		words[k] = valueText(v.Index(k))
	}
	return strings.Join(words, ",")
}

// Type implements pflag.Value: it is the word for the value in the help.
func (o Option) Type() string { return cmp.Or(o.tag("arg"), o.field.Kind().String()) }

// value returns what stands on the command line after the flag: a space and the value, or nothing.
func (o Option) value() string { return strings.TrimSuffix(" "+o.String(), " true") }

// onLine returns the option with its value as on the command line.
func (o Option) onLine() string { return "--" + o.Flag() + o.value() }

// isDefault reports whether the value is the default.
func (o Option) isDefault() bool {
	return o.String() == o.Default || o.Default == "" && o.field.IsZero()
}

// Set implements pflag.Value. A wrong text changes nothing.
func (o Option) Set(text string) error {
	if auto := o.tag("auto"); auto != "" && text == autoWord {
		text, o.tag = auto, func(string) string { return "" } // without tags no range refuses it
	}
	before := reflect.ValueOf(o.field.Interface())
	err := o.read(o.field, text)
	if err != nil {
		o.field.Set(before)
	}
	return err
}

// read sets a field, or an element of it, to the value of a text, which must be allowed.
func (o Option) read(field reflect.Value, text string) (err error) {
	want := ""
	switch f := field.Addr().Interface().(type) {
	case *string:
		*f = text
	case *bool:
		want = "true or false"
		*f, err = strconv.ParseBool(text)
	case *int:
		want = "a whole number"
		*f, err = strconv.Atoi(text)
	case *uint64:
		want = "a whole number, at least 0"
		*f, err = strconv.ParseUint(text, 10, 64)
	case *float64:
		want = "a number"
		*f, err = strconv.ParseFloat(text, 64)
	case *time.Duration:
		want = "a time, such as 30s or 5m"
		*f, err = time.ParseDuration(text)
	case interface{ Set(string) error }:
		return f.Set(text)
	default:
		return o.readList(field, text)
	}
	switch {
	case err != nil:
		return errors.New("want " + want + map[bool]string{true: ", or auto"}[o.tag("auto") != ""])
	case o.Choices != nil && text != o.Default && !slices.Contains(o.Choices, text):
		return fmt.Errorf("want %s%s", english.WordSeries(o.Choices, "or"), DidYouMean(text, o.Choices))
	case o.tag("range") != "":
		x := field.Convert(reflect.TypeFor[float64]()).Float() // a duration's text is no number
		return checkRange(x, o.tag("range"))
	}
	return nil
}

// readList sets a slice to the values of a text, which are separated by commas.
func (o Option) readList(field reflect.Value, text string) error {
	field.SetZero()
	if text == "" && o.Default != "" {
		return errors.New("want values, separated by commas")
	}
	for _, word := range words(text, ",") {
		element := reflect.New(field.Type().Elem()).Elem()
		if err := o.read(element, strings.TrimSpace(word)); err != nil {
			return fmt.Errorf("%q: %w", word, err)
		}
		field.Set(reflect.Append(field, element))
	}
	return nil
}

// checkRange returns an error for a number outside an interval such as "[0,1)" or "(0,".
func checkRange(x float64, bounds string) error {
	least, most := 0.0, math.Inf(1)
	fmt.Sscanf(bounds[1:], "%g,%g", &least, &most) // there may be no second number
	open, closed := bounds[0] == '(', strings.HasSuffix(bounds, "]")
	switch {
	case (x > least || x == least && !open) && (x < most || x == most && closed):
		return nil
	case !math.IsInf(most, 1):
		return fmt.Errorf("want a number in %s", strings.Replace(bounds, ",", ", ", 1))
	case open:
		return fmt.Errorf("want a number above %v", least)
	}
	return fmt.Errorf("want at least %v", least)
}

// setDefaults gives all options of a struct their defaults.
func setDefaults(of any) {
	for _, o := range Options(of) {
		if o.Default != "" {
			if err := o.Set(o.Default); err != nil {
				panic(err) // a tag is wrong: TestDefaults
			}
		}
	}
}

// AddFlags gives the options of a struct, a pointer to Settings or Output, their defaults, and
// registers their flags: those that are named or are in a group that is named, or all. Each flag's
// Value is an Option.
func AddFlags(fs *pflag.FlagSet, of any, only ...string) {
	setDefaults(of)
	for _, o := range Options(of) {
		if o.File || only != nil && !slices.Contains(only, o.Flag()) && !slices.Contains(only, o.Group) {
			continue
		}
		if f := fs.VarPF(o, o.Flag(), o.tag("short"), o.Help); o.Type() == "bool" {
			f.NoOptDefVal = "true"
		}
	}
}

// Check checks the options of a struct, given by a pointer, beside one another: none is missing,
// lacks an option that it needs, or is beside one that it excludes. The error is an OptionError.
func Check(of any) error {
	s, isSettings := of.(*Settings)
	if !isSettings {
		s = new(Settings) // no file has set the option
	}
	for _, o := range Options(of) {
		if need := o.tag("need"); need != "" && o.String() == "" {
			return s.refuse(o.Name, " is needed: %s", need)
		}
		if o.isDefault() {
			continue
		}
		for _, other := range words(o.tag("with"), ",") {
			if flag, there := has(of, other); !there {
				return s.refuse(o.Name, "%s needs %s", o.value(), flag)
			}
		}
		for _, other := range words(o.tag("without"), ",") {
			if flag, there := has(of, other); there {
				return s.refuse(o.Name, "%s", strings.TrimSuffix(o.value()+" excludes "+flag+": "+o.tag("why"), ": "))
			}
		}
	}
	return nil
}

// has reports whether a struct has an option, given as NAME for any value beside the default,
// or as NAME=VALUE|…. It returns the option as on the command line.
func has(of any, option string) (flag string, there bool) {
	name, values, isValue := strings.Cut(option, "=")
	o, known := find(of, name)
	if !isValue {
		return "--" + flagOf(name), known && !o.isDefault()
	}
	allowed := words(values, "|")
	return "--" + flagOf(name) + " " + english.WordSeries(allowed, "or"), known && slices.Contains(allowed, o.String())
}

// Sizes are numbers of nodes to sample, one a layer, the layer next to the output first. One
// number is for all layers, and none means the method's own. Auto is a list of 0.
type Sizes []int

// Auto reports whether the sizes follow from the data.
func (s Sizes) Auto() bool { return len(s) == 1 && s[0] == 0 }

func (s Sizes) String() string { return valueText(reflect.ValueOf([]int(s))) }

// MarshalJSON writes a list, also if there are no sizes.
func (s Sizes) MarshalJSON() ([]byte, error) { return []byte("[" + s.String() + "]"), nil }

// Bytes is a number of bytes, written as 8GiB or 500MB; 0 means none was given.
type Bytes int64

func (b Bytes) String() string {
	if b == 0 {
		return ""
	}
	return memory.Text(uint64(b))
}

// Set reads a text.
func (b *Bytes) Set(text string) error {
	v, err := humanize.ParseBytes(text)
	if err != nil || v == 0 || strings.Contains(text, ",") || v > math.MaxInt64/2 {
		return errors.New("want a number of bytes, such as 8GiB or 500MB")
	}
	*b = Bytes(v)
	return nil
}

// ShellWord quotes a word for a shell if necessary.
func ShellWord(word string) string {
	if regexp.MustCompile(`^[\pL\pN_./:=,-]+$`).MatchString(word) {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}
