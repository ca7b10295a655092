package run

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/gcn-layerwise/gcn/internal/memory"
	"github.com/gcn-layerwise/gcn/internal/rundir"
)

// Value is the value of an option.
type Value struct {
	Option string // its name
	Text   string // as on the command line
	Place  string // FILE:LINE; "": the command line
	saved  bool   // from a run's own config.json
}

// Flag returns the option's flag, without dashes.
func (v Value) Flag() string { return flagOf(v.Option) }

// New returns the default settings.
func New() Settings {
	var s Settings
	setDefaults(&s)
	return s
}

// Set gives options their values, in order. The error is an OptionError.
func (s *Settings) Set(values ...Value) error {
	given := map[string]Value{}
	maps.Copy(given, s.given)
	s.given = given
	for _, v := range values {
		o, known := find(s, v.Option)
		wrong := func(err error) error { return &OptionError{Option: v.Option, Place: v.Place, Saved: v.saved, Err: err} }
		if !known {
			return wrong(unknown(v.Option, Options(s)))
		}
		if err := o.set(s, v.Text); err != nil {
			return wrong(fmt.Errorf("--%s %s: %w", o.Flag(), ShellWord(v.Text), err))
		}
		v.Option = o.Name
		if v.saved && o.isDefault(s) { // a run's file has all options
			delete(given, o.Name)
		} else {
			given[o.Name] = v
		}
	}
	return nil
}

// Given reports whether the option was set.
func (s *Settings) Given(option string) bool {
	_, given := s.given[option]
	return given
}

// Value returns the value of an option. An auto may have become a number since it was set.
func (s *Settings) Value(option string) any {
	o, _ := find(s, option)
	return o.in(s).Interface()
}

// From returns the value that set an option.
func (s *Settings) From(option string) Value { return s.given[option] }

// GivenValues returns the options that were set, in the order of the fields.
func (s *Settings) GivenValues() []Value {
	var values []Value
	for _, o := range Options(s) {
		if v, given := s.given[o.Name]; given {
			values = append(values, v)
		}
	}
	return values
}

// unknown returns the error of a name that no option has.
func unknown(name string, all []Option) error {
	if old := OldFlag(name); old != "" {
		return fmt.Errorf("unknown option %q: it %s", name, old)
	}
	if o, ok := find(&Output{}, name); ok {
		return fmt.Errorf("%q is an option of the command line only: --%s", name, o.Flag())
	}
	var names []string
	for _, o := range all {
		names = append(names, o.Name)
	}
	return fmt.Errorf("unknown option %q%s", name, DidYouMean(nameOf(name), names))
}

// File is the contents of a file of options.
type File struct {
	Path    string
	Values  []Value
	OfRun   bool // it is a run's own config.json
	Derived map[string]string
}

// Has reports whether the file sets an option.
func (f *File) Has(option string) bool {
	return slices.ContainsFunc(f.Values, func(v Value) bool { return v.Option == option })
}

// mostBytes is the largest size of a file of options: the file may be a device that never
// ends.
const mostBytes = 1 << 20

// ReadFile reads a JSON file of options, or a pipe. A folder stands for its config.json. It returns
// when ctx ends, also while an open pipe says nothing.
func ReadFile(ctx context.Context, path string) (*File, error) {
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		path = filepath.Join(path, rundir.ConfigFile)
		if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
			return nil, fmt.Errorf("config: %s: not a regular file", path)
		}
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("config: %w", err)
	}
	defer file.Close()
	defer context.AfterFunc(ctx, func() { file.Close() })()
	text, err := io.ReadAll(io.LimitReader(file, mostBytes+1))
	if err == nil && len(text) > mostBytes {
		err = fmt.Errorf("%s: more than %s: too long for a file of options", path, memory.Text(mostBytes))
	}
	if err = cmp.Or(ctx.Err(), err); err != nil {
		return nil, fmt.Errorf("config: %w", err)
	}
	return Parse(path, text)
}

// Parse reads one JSON object of strings, numbers, booleans and lists of them. Errors begin
// with the path and the line.
func Parse(path string, text []byte) (*File, error) {
	f := &File{Path: path, Derived: map[string]string{}}
	place := func(offset int64) string {
		return fmt.Sprintf("config: %s:%d", path, 1+bytes.Count(text[:offset], []byte("\n")))
	}
	lines := map[string]string{}
	field := func(d *jsontext.Decoder, _ *Value) error {
		name := d.StackPointer().LastToken()
		v := Value{Option: nameOf(name), Place: place(d.InputOffset())}
		raw, err := d.ReadValue()
		if err != nil {
			return err
		}
		if v.Text, err = flagText(raw); err != nil {
			return fmt.Errorf("%s: %s: %w", v.Place, name, err)
		}
		if before, again := lines[v.Option]; again {
			return fmt.Errorf("%s: %q sets --%s again, after %s", v.Place, name, flagOf(name), strings.TrimPrefix(before, "config: "))
		}
		if lines[v.Option] = v.Place; rundir.Derived(name) {
			f.Derived[name] = v.Text
		} else {
			f.Values = append(f.Values, v)
		}
		return nil
	}
	if jsontext.Value(text).Kind() != '{' {
		return nil, fmt.Errorf("%s: want a JSON object", place(0))
	}
	err := json.Unmarshal(text, &map[string]Value{}, json.WithUnmarshalers(json.UnmarshalFromFunc(field)), jsontext.AllowDuplicateNames(true))
	var syntax *jsontext.SyntacticError
	var wrong *json.SemanticError
	switch {
	case errors.As(err, &syntax):
		return nil, fmt.Errorf("%s: %w", place(syntax.ByteOffset), syntax.Err)
	case errors.As(err, &wrong):
		return nil, wrong.Err // of field
	}
	if _, f.OfRun = f.Derived["fingerprint"]; !f.OfRun {
		for name := range f.Derived {
			return nil, &OptionError{Option: name, Place: lines[name], Err: fmt.Errorf("%q is no option: it follows from the options and the data", name)}
		}
		return f, nil
	}
	if number := cmp.Or(f.Derived[rundir.SchemaField], "not set"); number != strconv.Itoa(rundir.Schema) {
		return nil, fmt.Errorf("config: %s: %w", path, rundir.SchemaError(number))
	}
	for k := range f.Values {
		f.Values[k].saved = true
	}
	return f, nil
}

// flagText returns a JSON value as a flag would get it.
func flagText(raw jsontext.Value) (string, error) {
	switch raw.Kind() {
	case '"':
		text, err := jsontext.AppendUnquote(nil, raw)
		return string(text), err
	case '0', 't', 'f':
		return string(raw), nil
	case '[':
		var list []jsontext.Value
		err := json.Unmarshal(raw, &list)
		words := make([]string, len(list))
		for k := 0; k < len(list) && err == nil; k++ {
			if list[k].Kind() == '[' {
				return "", errors.New("a list in a list")
			}
			words[k], err = flagText(list[k])
		}
		return strings.Join(words, ","), err
	}
	return "", errors.New("want a string, a number, true, false or a list of them")
}

// Load makes settings of the sources: the defaults, then a recipe, a file, a saved run and
// the command line, each over the ones before. Files may be nil. Auto on the command line
// does not replace what a saved run has chosen.
func Load(recipe, file, saved *File, line []Value) (Settings, error) {
	s := New()
	for _, f := range []*File{recipe, file, saved} {
		if f == nil {
			continue
		}
		if err := s.Set(f.Values...); err != nil {
			return s, err
		}
	}
	own := s.Method
	for _, v := range line {
		if saved != nil && v.Text == autoWord {
			continue
		}
		if err := s.Set(v); err != nil {
			return s, err
		}
	}
	// Sizes in a file count what its method draws, not another one.
	if v := s.given["samples"]; v.Place != "" && own != s.Method {
		was, err := ParseMethod(cmp.Or(own, DefaultMethod))
		now, err2 := ParseMethod(cmp.Or(s.Method, DefaultMethod))
		if err == nil && err2 == nil && was.Sizes != now.Sizes {
			s.Samples = nil
			delete(s.given, "samples")
		}
	}
	return s, nil
}
