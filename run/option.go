package run

import (
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unicode"
)

// Option is one field of Settings, or of another struct with the same tags.
type Option struct {
	Name    string // in a file; the flag has - in place of _
	Group   string // of the help
	Rare    bool   // shown by --help-all only
	File    bool   // has no flag
	Default string
	Choices []string // the words that are allowed; nil: all
	Help    string

	bounds, arg, short string
	with               []string // options that it needs
	field              []int
}

// Options returns the options of a struct, or of the struct that a pointer points to, in the
// order of its fields.
func Options(of any) []Option {
	var list []Option
	for _, f := range fields(of) {
		list = append(list, optionOf(f))
	}
	return list
}

// fields returns the fields of a struct that are options.
func fields(of any) []reflect.StructField {
	kind := reflect.TypeOf(of)
	if kind.Kind() == reflect.Pointer {
		kind = kind.Elem()
	}
	return slices.DeleteFunc(reflect.VisibleFields(kind), func(f reflect.StructField) bool { return f.Anonymous || f.Tag.Get("json") == "" })
}

func optionOf(f reflect.StructField) Option {
	group, where, _ := strings.Cut(f.Tag.Get("group"), ",")
	o := Option{
		Name: f.Tag.Get("json"), Group: group, Rare: where == "rare", File: where == "file", Default: f.Tag.Get("default"), Help: f.Tag.Get("help"),
		bounds: f.Tag.Get("range"), arg: f.Tag.Get("arg"), short: f.Tag.Get("short"), field: f.Index,
	}
	if words := f.Tag.Get("choice"); words != "" {
		o.Choices = strings.Split(words, "|")
	}
	if needs := f.Tag.Get("with"); needs != "" {
		o.with = strings.Split(needs, ",")
	}
	return o
}

// Flag returns the flag of the option, without dashes.
func (o *Option) Flag() string { return flagOf(o.Name) }

func flagOf(name string) string { return strings.ReplaceAll(name, "_", "-") }

func nameOf(flag string) string { return strings.ReplaceAll(flag, "-", "_") }

// Whole reports whether the option is a whole number.
func (o *Option) Whole() bool {
	return reflect.TypeFor[Settings]().FieldByIndex(o.field).Type.Kind() == reflect.Int
}

// Find returns the option of Settings of that name, or flag.
func Find(name string) (*Option, bool) { return find(&Settings{}, name) }

// find returns the option of that name, or flag, of a struct.
func find(of any, name string) (*Option, bool) {
	for _, f := range fields(of) {
		if f.Tag.Get("json") == nameOf(name) {
			o := optionOf(f)
			return &o, true
		}
	}
	return nil, false
}

// names returns the names of options.
func names(list []Option) []string {
	var words []string
	for _, o := range list {
		words = append(words, o.Name)
	}
	return words
}

// in returns the option's field of a struct, given by a pointer.
func (o *Option) in(of any) reflect.Value { return reflect.ValueOf(of).Elem().FieldByIndex(o.field) }

// Text returns the option's value in a struct as on the command line.
func (o *Option) Text(of any) string { return valueText(o.in(of)) }

func valueText(v reflect.Value) string {
	if s, ok := v.Interface().(fmt.Stringer); ok {
		return s.String()
	}
	return fmt.Sprint(v.Interface())
}

// isDefault reports whether a struct has the option's default.
func (o *Option) isDefault(of any) bool {
	fresh := reflect.New(reflect.TypeOf(of).Elem()).Interface()
	o.setDefault(fresh)
	return o.Text(fresh) == o.Text(of)
}

func (o *Option) setDefault(of any) {
	if o.Default != "" {
		if err := parse(o.in(of), o.Default); err != nil {
			panic(err) // a tag is wrong: TestDefaults
		}
	}
}

// set gives the option the value of a text, as on the command line.
func (o *Option) set(of any, text string) error {
	field := o.in(of)
	before := reflect.New(field.Type()).Elem()
	before.Set(field)
	err := parse(field, text)
	if err == nil {
		err = o.check(field, text)
	}
	if err != nil {
		field.Set(before)
	}
	return err
}

// parse sets a field to the value of a text.
func parse(field reflect.Value, text string) (err error) {
	switch f := field.Addr().Interface().(type) {
	case *string:
		*f = text
	case *bool:
		if *f, err = strconv.ParseBool(text); err != nil {
			return errors.New("want true or false")
		}
	case *int:
		if *f, err = strconv.Atoi(text); err != nil {
			return errors.New("want a whole number")
		}
	case *uint64:
		if *f, err = strconv.ParseUint(text, 10, 64); err != nil {
			return errors.New("want a whole number, at least 0")
		}
	case *float64:
		if *f, err = strconv.ParseFloat(text, 64); err != nil {
			return errors.New("want a number")
		}
	case interface{ Set(string) error }:
		return f.Set(text)
	default:
		return fmt.Errorf("an option of type %s", field.Type())
	}
	return nil
}

// check returns an error for a value outside the option's range, or that is none of its
// choices.
func (o *Option) check(field reflect.Value, text string) error {
	if o.Choices != nil && text != o.Default && !slices.Contains(o.Choices, text) {
		return fmt.Errorf("want %s%s", either(o.Choices), DidYouMean(text, o.Choices))
	}
	if o.bounds == "" {
		return nil
	}
	var x float64
	switch v := field.Interface().(type) {
	case int:
		x = float64(v)
	case float64:
		x = v
	}
	low, high, _ := strings.Cut(o.bounds[1:], ",")
	least, _ := strconv.ParseFloat(low, 64)
	open := o.bounds[0] == '('
	if high == "" {
		if x > least || x == least && !open {
			if !math.IsInf(x, 0) {
				return nil
			}
		}
		switch {
		case field.Kind() != reflect.Float64:
			return fmt.Errorf("want at least %s", low)
		case open:
			return errors.New("want a positive number")
		}
		return errors.New("want a positive number or 0")
	}
	most, _ := strconv.ParseFloat(high[:len(high)-1], 64)
	inside := (x > least || x == least && !open) && (x < most || x == most && high[len(high)-1] == ']')
	switch {
	case inside:
		return nil
	case field.Kind() == reflect.Int && x < least:
		return fmt.Errorf("want at least %s", low)
	case field.Kind() == reflect.Int:
		return fmt.Errorf("want at most %.0f", most)
	}
	return fmt.Errorf("want a number in %s, %s", o.bounds[:1]+low, high)
}

// either joins words to "a, b or c".
func either(words []string) string {
	if n := len(words); n > 1 {
		return strings.Join(words[:n-1], ", ") + " or " + words[n-1]
	}
	return strings.Join(words, "")
}

// setDefaults gives all options of a struct their defaults.
func setDefaults(of any) {
	for _, o := range Options(of) {
		o.setDefault(of)
	}
}

// Sizes are numbers of nodes to sample, one a layer, the layer next to the output first. One
// number is for all layers, and none means the method's own. Auto is a list of its own.
type Sizes []int

const autoWord = "auto"

// Auto reports whether the sizes follow from the data.
func (s Sizes) Auto() bool { return len(s) == 1 && s[0] == 0 }

// String implements pflag.Value.
func (s Sizes) String() string {
	if s.Auto() {
		return autoWord
	}
	words := make([]string, len(s))
	for k, n := range s {
		words[k] = strconv.Itoa(n)
	}
	return strings.Join(words, ",")
}

// Set implements pflag.Value.
func (s *Sizes) Set(text string) error {
	switch text {
	case autoWord:
		*s = Sizes{0}
		return nil
	case "":
		*s = nil
		return nil
	}
	var sizes Sizes
	for word := range strings.SplitSeq(text, ",") {
		n, err := strconv.Atoi(strings.TrimSpace(word))
		switch {
		case err != nil:
			return fmt.Errorf("%q is not a whole number in range", word)
		case n <= 0:
			return fmt.Errorf("%d: want at least 1", n)
		}
		sizes = append(sizes, n)
	}
	*s = sizes
	return nil
}

// Type implements pflag.Value.
func (*Sizes) Type() string { return "N,..." } // pflag aligns bytes

// MarshalJSON writes the numbers as a list, or "auto".
func (s Sizes) MarshalJSON() ([]byte, error) {
	if s.Auto() {
		return []byte(`"auto"`), nil
	}
	return []byte("[" + s.String() + "]"), nil
}

// Interval is a number of mini-batches, or auto.
type Interval int

// Auto is the interval that follows from the model and the data.
const Auto Interval = -1

// String implements pflag.Value.
func (i Interval) String() string {
	if i == Auto {
		return autoWord
	}
	return strconv.Itoa(int(i))
}

// Set implements pflag.Value.
func (i *Interval) Set(text string) error {
	n, err := strconv.Atoi(text)
	switch {
	case text == autoWord:
		n = int(Auto)
	case err != nil:
		return errors.New("want a whole number or auto")
	case n < 1:
		return errors.New("want at least 1, or auto")
	}
	*i = Interval(n)
	return nil
}

// Type implements pflag.Value.
func (*Interval) Type() string { return "N|auto" }

// MarshalJSON writes the number, or "auto".
func (i Interval) MarshalJSON() ([]byte, error) {
	if i == Auto {
		return []byte(`"auto"`), nil
	}
	return []byte(i.String()), nil
}

// ShellWord quotes a word for a shell if necessary.
func ShellWord(word string) string {
	if word != "" && strings.IndexFunc(word, func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("-_./:=,", r)
	}) < 0 {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}
