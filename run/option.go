package run

import (
	"errors"
	"fmt"
	"math"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gcn-layerwise/gcn/internal/memory"
)

// Option is one field of Settings, or of another struct with the same tags.
type Option struct {
	Name    string // in a file; the flag has - in place of _
	Group   string // of the help
	Rare    bool   // shown by --help-all only
	File    bool   // has no flag
	Whole   bool   // is a whole number
	Default string
	Choices []string // the words that are allowed; nil: all
	Help    string

	auto    bool                    // it may be "auto", which is 0
	opposed string                  // the option where exact input or a control excludes it, for has
	tag     func(key string) string // of the field
	field   []int
}

// Options returns the options of a struct, or of the struct that a pointer points to, in the
// order of its fields.
func Options(of any) []Option {
	var list []Option
	for _, f := range reflect.VisibleFields(reflect.Indirect(reflect.ValueOf(of)).Type()) {
		if f.Tag.Get("json") != "" {
			list = append(list, optionOf(f))
		}
	}
	return list
}

func optionOf(f reflect.StructField) Option {
	tag := f.Tag.Get
	group, where, _ := strings.Cut(tag("group"), ",")
	o := Option{
		Name: tag("json"), Group: group, Rare: where == "rare", File: where == "file", Whole: f.Type.Kind() == reflect.Int,
		Default: tag("default"), Choices: words(tag("choice"), "|"), Help: tag("help"),
		auto: tag("auto") != "", opposed: strings.TrimSuffix(tag("json")+"="+tag("when"), "="), tag: tag, field: f.Index,
	}
	if of, ok := reflect.Zero(f.Type).Interface().(interface{ Values() []string }); ok {
		o.Choices = of.Values()
	}
	return o
}

// words splits a tag, if it has words.
func words(tag, separator string) []string {
	if tag == "" {
		return nil
	}
	return strings.Split(tag, separator)
}

// Flag returns the flag of the option, without dashes.
func (o *Option) Flag() string { return flagOf(o.Name) }

func flagOf(name string) string { return strings.ReplaceAll(name, "_", "-") }

func nameOf(flag string) string { return strings.ReplaceAll(flag, "-", "_") }

// Find returns the option of Settings of that name, or flag.
func Find(name string) (*Option, bool) { return find(&Settings{}, name) }

// find returns the option of that name, or flag, of a struct.
func find(of any, name string) (*Option, bool) {
	list := Options(of)
	k := slices.IndexFunc(list, func(o Option) bool { return o.Name == nameOf(name) })
	if k < 0 {
		return nil, false
	}
	return &list[k], true
}

// in returns the option's field of a struct, given by a pointer.
func (o *Option) in(of any) reflect.Value { return reflect.ValueOf(of).Elem().FieldByIndex(o.field) }

// Text returns the option's value in a struct as on the command line.
func (o *Option) Text(of any) string {
	if text := valueText(o.in(of)); text != "0" || !o.auto {
		return text
	}
	return autoWord
}

// onLine returns the option with its value in a struct as on the command line.
func (o *Option) onLine(of any) string {
	return strings.TrimSuffix("--"+o.Flag()+" "+o.Text(of), " true")
}

// autoWord is the value of an option that follows from the data.
const autoWord = "auto"

func valueText(v reflect.Value) string {
	if s, ok := v.Interface().(fmt.Stringer); ok {
		return s.String()
	}
	if v.Kind() != reflect.Slice {
		return fmt.Sprint(v.Interface())
	}
	words := make([]string, v.Len())
	for k := range words {
		words[k] = valueText(v.Index(k))
	}
	return strings.Join(words, ",")
}

// isDefault reports whether a struct has the option's default.
func (o *Option) isDefault(of any) bool {
	fresh := reflect.New(reflect.TypeOf(of).Elem()).Interface()
	o.setDefault(fresh)
	return o.Text(fresh) == o.Text(of)
}

func (o *Option) setDefault(of any) {
	if o.Default != "" {
		if err := o.parse(o.in(of), o.Default); err != nil {
			panic(err) // a tag is wrong: TestDefaults
		}
	}
}

// set gives the option the value of a text, as on the command line. A wrong one changes nothing.
func (o *Option) set(of any, text string) error {
	field := o.in(of)
	value := reflect.New(field.Type()).Elem()
	value.Set(field)
	if err := o.parse(value, text); err != nil {
		return err
	}
	if err := o.check(value, text); err != nil {
		return err
	}
	field.Set(value)
	return nil
}

// parse sets a field to the value of a text, which may be "auto" for some options.
func (o *Option) parse(field reflect.Value, text string) error {
	if o.auto && text == autoWord {
		text = "0"
	}
	err := parse(field, text)
	if err != nil && o.auto {
		err = fmt.Errorf("%w, or auto", err)
	}
	return err
}

// parse sets a field to the value of a text.
func parse(field reflect.Value, text string) (err error) {
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
		return parseList(field, text)
	}
	if err != nil {
		return errors.New("want " + want)
	}
	return nil
}

// parseList sets a slice to the values of a text, which are separated by commas.
func parseList(field reflect.Value, text string) error {
	list := reflect.Zero(field.Type())
	if text == "" {
		field.Set(list)
		return nil
	}
	for word := range strings.SplitSeq(text, ",") {
		element := reflect.New(field.Type().Elem()).Elem()
		if err := parse(element, strings.TrimSpace(word)); err != nil {
			return fmt.Errorf("%q: %w", word, err)
		}
		list = reflect.Append(list, element)
	}
	field.Set(list)
	return nil
}

// check returns an error for a value outside the option's range, or that is none of its
// choices. All elements of a list are checked.
func (o *Option) check(field reflect.Value, text string) error {
	switch {
	case o.auto && text == autoWord:
		return nil
	case field.Kind() == reflect.Slice && field.Len() == 0 && o.Default != "":
		return errors.New("want values, separated by commas")
	case field.Kind() == reflect.Slice:
		for k := range field.Len() {
			if err := o.check(field.Index(k), valueText(field.Index(k))); err != nil {
				return err
			}
		}
		return nil
	case o.Choices != nil && text != o.Default && !slices.Contains(o.Choices, text):
		return fmt.Errorf("want %s%s", either(o.Choices), DidYouMean(text, o.Choices))
	}
	bounds := o.tag("range")
	if bounds == "" {
		return nil
	}
	x := field.Convert(reflect.TypeFor[float64]()).Float() // a duration's text is no number
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

// Check checks the options of a struct, given by a pointer, beside one another: none is missing,
// lacks an option that it needs, or is beside one that it excludes. The error is an OptionError.
func Check(of any) error {
	s, isSettings := of.(*Settings)
	if !isSettings {
		s = new(Settings) // no file has set the option
	}
	for _, o := range Options(of) {
		text := " " + o.Text(of)
		switch {
		case o.tag("need") != "" && text == " ":
			return s.refuse(o.Name, " is needed: %s", o.tag("need"))
		case o.isDefault(of):
			continue
		case text == " true":
			text = ""
		}
		for _, other := range words(o.tag("with"), ",") {
			if flag, there := has(of, other); !there {
				return s.refuse(o.Name, "%s needs %s", text, flag)
			}
		}
		for _, other := range words(o.tag("without"), ",") {
			if flag, there := has(of, other); there {
				return s.refuse(o.Name, "%s", strings.TrimSuffix(text+" excludes "+flag+": "+o.tag("why"), ": "))
			}
		}
	}
	return nil
}

// has reports whether a struct has an option, given as NAME for any value beside the default,
// or as NAME=VALUE|…. It returns the option as on the command line.
func has(of any, option string) (flag string, there bool) {
	name, words, isWord := strings.Cut(option, "=")
	flag = "--" + flagOf(name)
	if isWord {
		flag += " " + strings.ReplaceAll(strings.TrimSuffix(words, "|"), "|", " or ")
	}
	o, known := find(of, name)
	if !known {
		return flag, false
	}
	if isWord {
		return flag, slices.Contains(strings.Split(words, "|"), o.Text(of))
	}
	return flag, !o.isDefault(of)
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
// number is for all layers, and none means the method's own. Auto is a list of 0.
type Sizes []int

// Auto reports whether the sizes follow from the data.
func (s Sizes) Auto() bool { return len(s) == 1 && s[0] == 0 }

func (s Sizes) String() string { return valueText(reflect.ValueOf([]int(s))) }

// MarshalJSON writes a list, also if there are no sizes.
func (s Sizes) MarshalJSON() ([]byte, error) { return []byte("[" + s.String() + "]"), nil }

// Bytes is a number of bytes, written as 8GiB, 500MB or 1e9; 0 means none was given.
type Bytes int64

// String implements pflag.Value.
func (b Bytes) String() string {
	if b == 0 {
		return ""
	}
	return memory.Text(uint64(b))
}

// Set implements pflag.Value.
func (b *Bytes) Set(text string) error {
	scale := 1.0
	number := strings.Replace(strings.TrimSuffix(text, "B"), "K", "k", 1) // KiB, and KB for kB
	for k, unit := range []string{"ki", "Mi", "Gi", "Ti", "k", "M", "G", "T"} {
		if n, found := strings.CutSuffix(number, unit); found {
			number, scale = n, math.Pow([]float64{1024, 1000}[k/4], float64(k%4+1))
		}
	}
	v, err := strconv.ParseFloat(number, 64)
	if v *= scale; err != nil || !(v >= 1) || v > math.MaxInt64/2 {
		return errors.New("want a number of bytes, such as 8GiB or 500MB")
	}
	*b = Bytes(v)
	return nil
}

// Type implements pflag.Value.
func (*Bytes) Type() string { return "string" }

// ShellWord quotes a word for a shell if necessary.
func ShellWord(word string) string {
	if regexp.MustCompile(`^[\pL\pN_./:=,-]+$`).MatchString(word) {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}
