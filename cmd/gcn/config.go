package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/pflag"
)

// configFile is the name of the file in a run's folder that holds its options.
const configFile = "config.json"

// readConfig gives the flags of fs that were not set on the command line the
// values that a JSON file holds under their names. A folder stands for its
// config.json, whose other fields (train's own settings) are understood too.
func readConfig(fs *pflag.FlagSet, path string) error {
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		path = filepath.Join(path, configFile)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return fmt.Errorf("config: %w", err)
	}
	values, err := parseConfig(data)
	if err != nil {
		return fmt.Errorf("config: %s: %w", path, err)
	}
	for _, v := range values {
		name := flagOf(v.name)
		flag := fs.Lookup(name)
		switch {
		case flag == nil && slices.Contains(derivedFields, v.name):
			continue
		case flag == nil:
			return usagef("config: %s: unknown option %q%s", path, v.name, didYouMean(name, flagNames(fs)))
		case flag.Changed:
			continue
		}
		if err := fs.Set(name, v.text); err != nil {
			return usagef("config: %s: %s: %w", path, v.name, flagValueError(err))
		}
	}
	return nil
}

// flagOf returns the name of the flag that a field of a config file sets: the
// same words, but for those that train calls otherwise.
func flagOf(field string) string {
	switch name := strings.ReplaceAll(field, "_", "-"); name {
	case "batch-size":
		return "batch"
	case "rate":
		return "lr"
	case "max-epochs":
		return "epochs"
	default:
		return name
	}
}

// derivedFields are what train writes into config.json that no flag sets, or
// that follows from those that do.
var derivedFields = []string{"permute", "beta1", "beta2", "epsilon", "clip", "sampler", "parameters", "metric", "fingerprint"}

// configValue is one option of a config file, as its flag would be given it.
type configValue struct{ name, text string }

// parseConfig reads one JSON object of strings, numbers, booleans and lists of
// them, in the file's order.
func parseConfig(data []byte) ([]configValue, error) {
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.UseNumber()
	var object map[string]any
	if err := decoder.Decode(&object); err != nil {
		return nil, jsonError(data, err)
	}
	if object == nil {
		return nil, errors.New("want a JSON object")
	}
	if decoder.More() {
		return nil, errors.New("want one JSON object, and nothing after it")
	}
	if object["permute"] == true { // as train spells --batches-per-epoch 0
		object["batches_per_epoch"] = json.Number("0")
	}
	values := make([]configValue, 0, len(object))
	for name, v := range object {
		if list, ok := v.([]any); ok && len(list) == 0 {
			continue // as not given: a run by a method that takes no samples says so
		}
		text, err := flagText(v)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		values = append(values, configValue{name, text})
	}
	slices.SortFunc(values, func(a, b configValue) int { return strings.Compare(a.name, b.name) })
	return values, nil
}

func flagText(v any) (string, error) {
	switch v := v.(type) {
	case nil:
		return "0", nil // a limit that is off
	case string:
		return v, nil
	case json.Number:
		return v.String(), nil
	case bool:
		return fmt.Sprint(v), nil
	case []any:
		words := make([]string, len(v))
		for i, element := range v {
			if _, nested := element.([]any); nested {
				return "", errors.New("a list in a list")
			}
			word, err := flagText(element)
			if err != nil {
				return "", err
			}
			words[i] = word
		}
		return strings.Join(words, ","), nil
	default:
		return "", errors.New("want a string, a number, true, false or a list of them")
	}
}

// jsonError names the line where JSON went wrong, where that is known.
func jsonError(data []byte, err error) error {
	var syntax *json.SyntaxError
	var kind *json.UnmarshalTypeError
	switch {
	case errors.As(err, &syntax):
		return fmt.Errorf("line %d: %w", 1+bytes.Count(data[:min(int(syntax.Offset), len(data))], []byte("\n")), err)
	case errors.As(err, &kind):
		return fmt.Errorf("want a JSON object, got %s", kind.Value)
	case len(bytes.TrimSpace(data)) == 0:
		return errors.New("the file is empty")
	}
	return err
}

// runConfig is what a run's config.json holds beside the settings that train
// puts there itself: the options of the data, the sampler and the model, in the
// form in which readConfig reads them.
func (o *trainOptions) runConfig() map[string]any {
	config := map[string]any{
		"data": o.Data, "samples": []int(o.Samples), "device": o.Device,
		"layers": o.Layers, "hidden": o.Hidden, "dropout": o.Dropout, "classifier_dropout": o.ClassifierDropout,
		"activation": o.Activation, "layer_norm": o.LayerNorm, "residual": o.Residual,
	}
	if !o.namesParts() {
		config["method"] = o.Method
		return config
	}
	config["importance"] = cmp.Or(o.Importance, "ladies")
	config["flat"], config["neighborhood"] = o.Flat, o.Neighborhood
	config["draw"], config["weight"], config["population"] = cmp.Or(o.Draw, "wrs"), o.weightName(), o.Population
	config["include_rows"], config["normalize_rows"] = o.IncludeRows, o.NormalizeRows
	return config
}

func flagNames(fs *pflag.FlagSet) []string {
	var names []string
	fs.VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
	return names
}
