package run

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"github.com/gcn-layerwise/gcn/internal/rundir"
	"github.com/gcn-layerwise/gcn/layers"
	"github.com/gcn-layerwise/gcn/ops"
	"github.com/gcn-layerwise/gcn/samplers"
	"github.com/gcn-layerwise/gcn/train"
)

// line returns the settings of flags on a command line, or the flags' error.
func line(t *testing.T, args ...string) (Settings, error) {
	t.Helper()
	fs := pflag.NewFlagSet("", pflag.ContinueOnError)
	AddFlags(fs, new(Settings))
	if err := fs.Parse(args); err != nil {
		return Settings{}, err
	}
	return Load(nil, nil, nil, Values(fs))
}

// wrong returns a value that the option cannot have.
func wrong(o Option) string {
	switch {
	case o.Choices != nil || o.field.Kind() == reflect.Bool, o.Name == "samples", o.Name == "eval_every", o.Name == "method", o.Name == "schedule":
		return "vibes"
	case o.tag("range") != "" || o.Name == "seed":
		return "-1"
	}
	return ""
}

// TestWrongValues gives each option a wrong value, as a flag and in a file: the error is one
// line that names the option, and the place in the file.
func TestWrongValues(t *testing.T) {
	for _, o := range Options(new(Settings)) {
		value := wrong(o)
		if value == "" {
			if o.Name != "data" { // is checked with the data sets
				t.Errorf("%s: no value is wrong", o.Name)
			}
			continue
		}
		check := func(s Settings, err error, words ...string) {
			if err == nil {
				_, err = s.Plan()
			}
			if err == nil || strings.Contains(err.Error(), "\n") {
				t.Errorf("%s %s: %v", o.Name, value, err)
				return
			}
			for _, word := range append(words, "--"+o.Flag()) {
				if !strings.Contains(err.Error(), word) {
					t.Errorf("%s %s: no %q in %v", o.Name, value, word, err)
				}
			}
		}
		if !o.File {
			s, err := line(t, "--"+o.Flag()+"="+value)
			check(s, err)
		}
		file, err := Parse("c.json", fmt.Appendf(nil, "{\n%q: %q}", o.Name, value))
		if err != nil {
			t.Fatal(err)
		}
		s, err := Load(nil, file, nil, nil)
		if err == nil {
			_, err = s.Plan()
		}
		var option *OptionError
		if !errors.As(err, &option) || option.Option != o.Name {
			t.Errorf("%s in a file: %v is about no option", o.Name, err)
		}
		check(s, err, "c.json:2: ")
	}
}

// other returns a value of the option beside its default.
func other(o Option) string {
	for _, choice := range o.Choices {
		if choice != o.Default {
			return choice
		}
	}
	switch o.field.Kind() {
	case reflect.Bool:
		return "true"
	case reflect.Float64:
		return "0.25"
	}
	return "3"
}

// TestWrongCompany gives each option that needs others alone.
func TestWrongCompany(t *testing.T) {
	count := 0
	for _, o := range Options(new(Settings)) {
		if o.tag("with") == "" || words(o.tag("with"), ",")[0] == "conv=gcn" || words(o.tag("with"), ",")[0] == "model=program" {
			continue
		}
		count++
		value := other(o)
		file, err := Parse("c.json", fmt.Appendf(nil, "{\n\n%q: %q}", o.Name, value))
		if err != nil {
			t.Fatal(err)
		}
		s, err := Load(nil, file, nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.Plan(); err == nil || !strings.Contains(err.Error(), "c.json:3: --"+o.Flag()+" ") {
			t.Errorf("%s alone: %v", o.Name, err)
		}
	}
	if count < 6 {
		t.Errorf("%d options need others", count)
	}
}

// TestRandomSettings draws sets of options: they are a plan, whose config.json gives the same
// plan, or are refused with an error about one of them.
func TestRandomSettings(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	all := Options(new(Settings))
	methods := append(MethodNames(), "", "ladies?flat=1&draw=poisson", "ladies-debiased?control=refresh&half=1", "ladies-cv?linear=0&every=9", "neighbor?importance=ladies", "uniform?rows=1", "ladies?population=nodes", "ladies-cv?linear=1")
	plans := 0
	for range 1000 {
		var values []Value
		for range 1 + rng.IntN(5) {
			o := all[rng.IntN(len(all))]
			text := other(o)
			switch o.Name {
			case "data", "device":
				continue
			case "method":
				text = methods[rng.IntN(len(methods))]
			case "schedule":
				text = []string{"none", "none?warm-up=0", "cosine?warm-up=3"}[rng.IntN(3)]
			case "samples":
				text = []string{"3", "3,4", "auto", "3,4,5"}[rng.IntN(4)]
			}
			values = append(values, Value{Option: o.Name, Text: text})
		}
		s, err := Load(nil, nil, nil, values)
		if err != nil {
			t.Fatalf("%v: %v", values, err)
		}
		p, err := s.Plan()
		var option *OptionError
		if err != nil {
			if !errors.As(err, &option) || strings.Contains(err.Error(), "\n") || option.Place != "" {
				t.Errorf("%v: %v", values, err)
			}
			continue
		}
		plans++
		saved := p.Saved()
		if saved.Samples.Auto() {
			continue
		}
		config := p.Fit().Config
		config["fingerprint"], config["schema"] = "", rundir.Schema
		text, err := json.Marshal(config)
		if err != nil {
			t.Fatal(err)
		}
		file, err := Parse("config.json", text)
		if err != nil {
			t.Fatal(err)
		}
		again, err := Load(nil, nil, file, nil)
		if err != nil {
			t.Fatalf("%v: %v", values, err)
		}
		q, err := again.Plan()
		if err != nil {
			t.Errorf("%v: config.json is refused: %v", values, err)
			continue
		}
		again.given, saved.given = nil, nil
		if twice := q.Saved(); fmt.Sprint(q.Fit()) != fmt.Sprint(p.Fit()) || !reflect.DeepEqual(q.modelOptions(), p.modelOptions()) || twice.Method != saved.Method || !slices.Equal(q.Samples, p.Samples) {
			t.Errorf("%v: config.json gives another plan:\n%+v\n%+v", values, p, q)
		}
	}
	if plans < 200 {
		t.Errorf("%d of 1000 sets are plans", plans)
	}
}

// TestChoices compares the words in the tags with those of the packages that have a meaning
// for them.
func TestChoices(t *testing.T) {
	var activations []string
	for _, a := range ops.Activations() {
		activations = append(activations, a.String())
	}
	for _, c := range []struct {
		of    any
		name  string
		words []string
	}{
		{new(Settings), "activation", activations}, {new(Settings), "hidden_residual", layers.ResidualNames()},
		{new(Keys), "draw", slices.Collect(maps.Keys(samplers.Draws()))}, {new(Keys), "weight", slices.Collect(maps.Keys(samplers.Weights()))},
		{new(Keys), "importance", slices.Collect(maps.Keys(samplers.Importances(false)))}, {new(Keys), "control", []string{none, string(samplers.ControlRefresh), string(samplers.ControlRolling)}},
	} {
		list := Options(c.of)
		words := slices.Clone(list[slices.IndexFunc(list, func(o Option) bool { return o.Name == c.name })].Choices)
		want := slices.Clone(c.words)
		slices.Sort(words)
		slices.Sort(want)
		if !slices.Equal(words, want) {
			t.Errorf("%s: the tag has %v, the package %v", c.name, words, want)
		}
	}
}

// TestDefaults checks that each default can be read, is allowed, and has the form of a value.
func TestDefaults(t *testing.T) {
	for _, of := range []any{new(Settings), new(Output), new(Keys), new(ScheduleKeys)} {
		setDefaults(of)
		for _, o := range Options(of) {
			if !o.isDefault() {
				t.Errorf("%s: the default %q is read as %q", o.Name, o.Default, o)
			}
		}
	}
	s := New()
	if _, err := s.Plan(); err != nil {
		t.Error(err)
	}
}

// TestOneName checks that the options of train.Fit have the names of settings.
func TestOneName(t *testing.T) {
	elsewhere := []string{"Adam", "Dir", "Progress", "Begin", "Result", "Config", "Group", "Resume", "Overwrite", "ControlEvery", "LR"}
	for _, of := range []any{train.Options{}, train.Adam{}} {
		for _, field := range reflect.VisibleFields(reflect.TypeOf(of)) {
			if _, there := find(new(Settings), nameInFile(field.Name)); !there && !slices.Contains(elsewhere, field.Name) {
				t.Errorf("%T has %s, which is no setting", of, field.Name)
			}
		}
	}
}

// TestOrder checks that the command line comes before a saved run, a file and a recipe, in
// this order, and that auto does not replace what a saved run has chosen.
func TestOrder(t *testing.T) {
	parse := func(path, text string) *File {
		f, err := Parse(path, []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		return f
	}
	recipe := parse("r", `{"lr": 0.1, "hidden": 1, "batch": 1, "patience": 1, "samples": 64}`)
	file := parse("f", `{"lr": 0.2, "hidden": 2, "batch": 2}`)
	saved := parse("s", `{"lr": 0.3, "hidden": 3, "eval_every": 7}`)
	s, err := Load(recipe, file, saved, []Value{{Option: "lr", Text: "0.4"}, {Option: "eval_every", Text: "auto"}, {Option: "method", Text: "neighbor"}})
	if err != nil || s.LR != 0.4 || s.Hidden != 3 || s.Batch != 2 || s.Patience != 1 || s.EvalEvery != 7 {
		t.Errorf("%+v, %v", s, err)
	}
	if s.Samples != nil { // they count nodes a layer
		t.Errorf("neighbor has samples %v of another method", s.Samples)
	}
	if New().LR != 0.03 || s.From("batch").Place != "config: f:1" {
		t.Errorf("the batch is from %+v", s.From("batch"))
	}
}

func TestMeant(t *testing.T) {
	names := []string{"ladies", "ladies-flat", "fastgcn", "full", "batch"}
	for given, want := range map[string]string{
		"ladeis": "ladies", "LADIES": "ladies", "fast": "fastgcn", "fulll": "full", "neighbor": "", "": "", "x": "", "batch-size": "batch", "batch_size": "batch",
	} {
		if got := Meant(given, names); got != want {
			t.Errorf("Meant(%q) = %q, want %q", given, got, want)
		}
	}
}

// FuzzParse checks that a text is options, or an error of one line that begins with the file.
func FuzzParse(f *testing.F) {
	for _, text := range []string{"", "{}", "null", "[1]", `{"lr": 0.1, "samples": [1, 2]}`, "{\n\"lr\": \"\\ud800\"}", `{"fingerprint": "x", "schema": 5, "seed": 1}`, `{"a": 1, "a": 2} {`} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		file, err := Parse("f", text)
		if (file == nil) == (err == nil) || err != nil && (!strings.HasPrefix(err.Error(), "config: f:") || strings.Contains(err.Error(), "\n")) {
			t.Errorf("%q: %v, %v", text, file, err)
		}
	})
}
