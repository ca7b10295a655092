package run

import (
	"bytes"
	"cmp"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/spf13/pflag"

	"github.com/gcn-layerwise/gcn/internal/memory"
	"github.com/gcn-layerwise/gcn/internal/regularfile"
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

// Values returns the settings that the flags of fs set.
func Values(fs *pflag.FlagSet) []Value {
	var values []Value
	fs.Visit(func(f *pflag.Flag) {
		o, _ := f.Value.(Option)
		if _, isSetting := o.of.(*Settings); isSetting {
			values = append(values, Value{Option: o.Name, Text: o.String()})
		}
	})
	return values
}

// New returns the default settings.
func New() (s Settings) {
	setDefaults(&s)
	return s
}

// Set gives options their values, in order. The error is an OptionError.
func (s *Settings) Set(values ...Value) error {
	s.given = maps.Collect(maps.All(s.given)) // copies of s share the map
	for _, v := range values {
		o, known := find(s, v.Option)
		var err error
		if !known {
			err = unknown(v.Option)
		} else if wrong := o.Set(v.Text); wrong != nil {
			err = fmt.Errorf("--%s %s: %w", o.Flag(), ShellWord(v.Text), wrong)
		}
		if err != nil {
			return &OptionError{Option: v.Option, Place: v.Place, Saved: v.saved, Err: err}
		}
		if v.Option = o.Name; v.saved && o.isDefault() { // a run's file has all options
			delete(s.given, o.Name)
		} else {
			s.given[o.Name] = v
		}
	}
	return nil
}

// unknown returns the error of a name that no setting has.
func unknown(name string) error {
	if where := OldFlag(name); where != "" {
		return fmt.Errorf("unknown option %q: it %s", name, where)
	}
	if o, ok := find(new(Output), name); ok {
		return fmt.Errorf("%q is an option of the command line only: --%s", name, o.Flag())
	}
	var names []string
	for _, o := range Options(new(Settings)) {
		names = append(names, o.Name)
	}
	return fmt.Errorf("unknown option %q%s", name, DidYouMean(name, names))
}

// From returns the value that set an option.
func (s *Settings) From(option string) Value { return s.given[option] }

// Given reports whether the option was set.
func (s *Settings) Given(option string) bool { return s.From(option).Option != "" }

// GivenValues returns the options that were set, in any order.
func (s *Settings) GivenValues() []Value { return slices.Collect(maps.Values(s.given)) }

// File is the contents of a file of options.
type File struct {
	Path        string
	Values      []Value
	OfRun       bool   // it is a run's own config.json
	Fingerprint string // of the run's data
}

// mostBytes is the largest size of a file of options: the file may be a device that never
// ends.
const mostBytes = 1 << 20

// ReadFile reads a JSON file of options, or a pipe. A folder stands for its config.json. It returns
// when ctx ends, also while an open pipe says nothing.
func ReadFile(ctx context.Context, path string) (*File, error) {
	open := os.Open
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		path, open = filepath.Join(path, rundir.ConfigFile), regularfile.Open
	}
	file, err := open(path)
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
	place := func(offset int64) string {
		return fmt.Sprintf("config: %s:%d", path, 1+bytes.Count(text[:offset], []byte("\n")))
	}
	if jsontext.Value(text).Kind() != '{' {
		return nil, fmt.Errorf("%s: want a JSON object", place(0))
	}
	twice := jsontext.AllowDuplicateNames(true)
	if syntax, is := errors.AsType[*jsontext.SyntacticError](json.Unmarshal(text, new(jsontext.Value), twice)); is {
		return nil, fmt.Errorf("%s: %w", place(syntax.ByteOffset), syntax.Err)
	}
	all, f, d := map[string]Value{}, &File{Path: path}, jsontext.NewDecoder(bytes.NewReader(text), twice)
	for _, _ = d.ReadToken(); d.PeekKind() == '"'; { // no read fails
		name, _ := flagText(d)
		v := Value{Option: nameOf(name), Place: place(d.InputOffset())}
		var err error
		if v.Text, err = flagText(d); err != nil {
			return nil, fmt.Errorf("%s: %s: %w", v.Place, name, err)
		}
		if before, again := all[v.Option]; again {
			return nil, fmt.Errorf("%s: %q sets --%s again, after %s", v.Place, name, v.Flag(), strings.TrimPrefix(before.Place, "config: "))
		}
		all[v.Option], f.Values = v, append(f.Values, v)
	}
	fingerprint, there := all["fingerprint"]
	f.Fingerprint, f.OfRun = fingerprint.Text, there
	if !there {
		return f, nil
	}
	if _, err := rundir.DecodeConfig(text); err != nil { // of another schema
		return nil, fmt.Errorf("config: %s: %w", path, err)
	}
	f.Values = slices.DeleteFunc(f.Values, func(v Value) bool { return rundir.Derived(v.Option) })
	for k := range f.Values {
		f.Values[k].saved = true
	}
	return f, nil
}

// flagText reads a name or a value, or the elements of a list, as a flag would get it. No read fails.
func flagText(d *jsontext.Decoder) (string, error) {
	var words []string
	for {
		token, _ := d.ReadToken()
		switch kind := token.Kind(); {
		case kind == 'n' || kind == '{' || d.StackDepth() > 2: // 2: in a list
			return "", errors.New("want a string, a number, true, false or a list of them")
		case kind != '[' && kind != ']':
			words = append(words, token.String())
		}
		if d.StackDepth() == 1 {
			return strings.Join(words, ","), nil
		}
	}
}

//go:embed recipes.json
var recipesFile []byte

// Recipe is a published setting of a model and its training. A recipe names no data.
type Recipe struct {
	Name    string         `json:"name"`
	Source  string         `json:"source"`
	Differs string         `json:"differs"` // from the source
	Options jsontext.Value `json:"options"` // a file of options
}

// Recipes returns the shipped recipes.
func Recipes() (list []Recipe) {
	if err := json.Unmarshal(recipesFile, &list); err != nil {
		panic(err) // TestRecipes
	}
	return list
}

// RecipeNames returns the names of the shipped recipes.
func RecipeNames() []string {
	var names []string
	for _, r := range Recipes() {
		names = append(names, r.Name)
	}
	return names
}

// ReadRecipe reads a shipped recipe, or a file of options.
func ReadRecipe(ctx context.Context, name string) (*File, error) {
	for _, r := range Recipes() {
		if r.Name == name {
			return Parse("recipe "+name, r.Options)
		}
	}
	if _, err := os.Stat(name); err != nil && filepath.Ext(name) != ".json" {
		known := RecipeNames()
		return nil, &OptionError{Option: "recipe", Err: fmt.Errorf("--recipe %q%s; there are: %s; or name a JSON file of options", name, DidYouMean(name, known), strings.Join(known, ", "))}
	}
	return ReadFile(ctx, name)
}

// Files reads the recipe, the file of options and the run to resume; nil: none.
func (o *Output) Files(ctx context.Context) (recipe, file, saved *File, err error) {
	if o.Recipe != "" {
		recipe, err = ReadRecipe(ctx, o.Recipe)
	}
	if err == nil && o.Config != "" {
		file, err = ReadFile(ctx, o.Config)
	}
	switch {
	case err != nil || !Taken(o.Out) || o.Overwrite:
	case !o.Resume:
		err = takenError(o.Out)
	default:
		saved, err = ReadFile(ctx, o.Out)
	}
	return recipe, file, saved, err
}

// Load makes settings of the sources: the defaults, then a recipe, a file, a saved run and
// the command line, each over the ones before. Files may be nil. Auto on the command line
// does not replace what a saved run has chosen.
func Load(recipe, file, saved *File, line []Value) (Settings, error) {
	s := New()
	counts := func() string { // nodes of a layer, or neighbours of a node
		m, _ := ParseMethod(cmp.Or(s.Method, DefaultMethod)) // Plan refuses a wrong one
		return m.Sizes
	}
	line = slices.DeleteFunc(slices.Clone(line), func(v Value) bool { return saved != nil && v.Text == autoWord })
	var before string // counts() before the last source is read
	for _, f := range []*File{recipe, file, saved, {Values: line}} {
		before = counts()
		if err := s.Set(cmp.Or(f, new(File)).Values...); err != nil {
			return s, err
		}
	}
	if s.From("samples").Place != "" && counts() != before { // sizes in a file are of its method
		s.Samples = nil
		delete(s.given, "samples")
	}
	return s, nil
}
