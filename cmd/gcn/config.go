package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/gcn-layerwise/gcn/internal/memory"
	"github.com/gcn-layerwise/gcn/internal/rundir"
	"github.com/gcn-layerwise/gcn/samplers"
)

// configFile is the name of the file in a run's folder that holds its options.
const configFile = rundir.ConfigFile

// mostConfig is the largest size of a file of options, in bytes: the file may be a device
// that never ends.
const mostConfig = 1 << 20

// config is the contents of a file of options.
type config struct {
	path   string
	values []configValue
}

// readConfig reads a JSON file of options. A folder stands for its config.json.
func readConfig(ctx context.Context, path string) (*config, error) {
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		path = filepath.Join(path, configFile)
		if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
			return nil, fmt.Errorf("config: %s: not a regular file", path)
		}
	}
	data, err := readAtMost(ctx, path, mostConfig)
	if err != nil {
		return nil, fmt.Errorf("config: %w", err)
	}
	values, err := parseConfig(data)
	if err != nil {
		return nil, fmt.Errorf("config: %s:%w", path, err)
	}
	c := &config{path, values}
	if c.has(fingerprintField) {
		if _, err := rundir.DecodeConfig(data); err != nil {
			return nil, fmt.Errorf("config: %s: %w", path, err)
		}
	}
	return c, nil
}

// apply gives the flags of fs that were not set on the command line the values in
// the file. It knows the flags of a training run and the flags named by more, and skips
// the derived fields of a run's own config.json.
func (c *config) apply(fs *pflag.FlagSet, more ...string) error {
	allowed := pflag.NewFlagSet("", pflag.ContinueOnError)
	new(trainOptions).flags(allowed)
	for _, name := range more {
		allowed.AddFlag(fs.Lookup(name))
	}
	ofRun := c.has(fingerprintField)
	set := map[string]configValue{}
	for _, v := range c.values {
		flag := fs.Lookup(v.flag)
		before, again := set[v.flag]
		wrong := func(format string, args ...any) error {
			return usagef("config: %s:%d: %w", c.path, v.line, fmt.Errorf(format, args...))
		}
		switch {
		case ofRun && slices.Contains(derivedFields, v.name):
			continue
		case slices.Contains(derivedFields, v.name):
			return wrong("%q is no option: it follows from the options and the data", v.name)
		case flag == nil:
			return wrong("unknown option %q%s", v.name, didYouMean(v.flag, flagNames(allowed)))
		case allowed.Lookup(v.flag) == nil:
			return wrong("%q is an option of the command line only", v.name)
		case again:
			return wrong("%q sets --%s again, after line %d", v.name, v.flag, before.line)
		}
		set[v.flag] = v
		if flag.Changed {
			continue
		}
		if err := fs.Set(v.flag, v.text); err != nil {
			return wrong("%s: %w", v.name, flagValueError(err))
		}
	}
	return nil
}

// set gives one flag its value in the file, if there is one.
func (c *config) set(fs *pflag.FlagSet, flag string) error {
	for _, v := range c.values {
		if v.flag == flag {
			return fs.Set(flag, v.text)
		}
	}
	return nil
}

// has reports whether the file has a value for a flag.
func (c *config) has(flag string) bool {
	return slices.ContainsFunc(c.values, func(v configValue) bool { return v.flag == flag })
}

// check returns an error for the first option in the file with a wrong value, also if the
// command line sets this option.
func (c *config) check(more ...string) error {
	fs := pflag.NewFlagSet("", pflag.ContinueOnError)
	var options trainOptions
	options.flags(fs)
	new(outputOptions).flags(fs)
	if err := c.apply(fs, more...); err != nil {
		return err
	}
	options.Auto = false
	options.chooseMethod(fs)
	if err := options.check(fs); err != nil {
		return usagef("config: %s: %w", c.path, noUsage(err))
	}
	return nil
}

// readAtMost reads a file, a pipe or a device. It is an error if there are more than the
// given number of bytes. When ctx ends it returns at once.
func readAtMost(ctx context.Context, path string, most int64) ([]byte, error) {
	return unlessDone(ctx, func() ([]byte, error) {
		file, err := os.Open(path)
		if err != nil {
			return nil, err
		}
		defer file.Close()
		data, err := io.ReadAll(io.LimitReader(file, most+1))
		if err == nil && int64(len(data)) > most {
			err = fmt.Errorf("%s: more than %s: too long for a file of options", path, memory.Text(uint64(most)))
		}
		return data, err
	})
}

// unlessDone returns the result of read, or the error of ctx as soon as ctx ends. Opening
// a pipe without a writer never returns: the goroutine then lives until the process ends.
func unlessDone[T any](ctx context.Context, read func() (T, error)) (T, error) {
	type result struct {
		value T
		err   error
	}
	done := make(chan result, 1)
	go func() {
		value, err := read()
		done <- result{value, err}
	}()
	select {
	case <-ctx.Done():
		var none T
		return none, ctx.Err()
	case r := <-done:
		return r.value, r.err
	}
}

// derivedFields are the fields of a run's config.json that follow from its options
// and data.
var derivedFields = []string{"sampler", "parameters", "metric", "schedule_end", "falls", "classes", "tasks", fingerprintField, rundir.SchemaField}

// fingerprintField is a field of every run's config.json, and of no other file.
const fingerprintField = "fingerprint"

// configValue is one field of a config file.
type configValue struct {
	name string // as in the file
	flag string // the flag that it sets
	text string // its value, as the flag would get it
	line int
}

// parseConfig reads one JSON object of strings, numbers, booleans and lists of
// them, in the file's order. Errors begin with the line.
func parseConfig(data []byte) ([]configValue, error) {
	var whole map[string]any
	if err := json.Unmarshal(data, &whole); err != nil {
		return nil, jsonError(data, err)
	}
	if whole == nil {
		return nil, errors.New("1: want a JSON object")
	}
	// Read the object again token by token: tokens have lines, and show fields that
	// occur twice.
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.UseNumber()
	if _, err := decoder.Token(); err != nil { // the opening brace
		return nil, err
	}
	values := make([]configValue, 0, len(whole))
	for decoder.More() {
		token, err := decoder.Token()
		if err != nil {
			return nil, err
		}
		name, line := token.(string), 1+bytes.Count(data[:decoder.InputOffset()], []byte("\n"))
		var v any
		if err := decoder.Decode(&v); err != nil {
			return nil, err
		}
		if list, ok := v.([]any); ok && len(list) == 0 {
			continue // no samples: the method takes none
		}
		text, err := flagText(v)
		if err != nil {
			return nil, fmt.Errorf("%d: %s: %w", line, name, err)
		}
		values = append(values, configValue{name: name, flag: flagName(name), text: text, line: line})
	}
	return values, nil
}

func flagText(v any) (string, error) {
	switch v := v.(type) {
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

// jsonError puts the line of a JSON error in front of the error.
func jsonError(data []byte, err error) error {
	var syntax *json.SyntaxError
	var kind *json.UnmarshalTypeError
	to := func(offset int64) []byte { return data[:min(int(offset), len(data))] }
	line := func(text []byte) int { return 1 + bytes.Count(text, []byte("\n")) }
	switch {
	case len(bytes.TrimSpace(data)) == 0:
		return errors.New("1: the file is empty")
	case errors.As(err, &syntax):
		return fmt.Errorf("%d: %w", line(to(syntax.Offset)), err)
	case errors.As(err, &kind) && strings.HasPrefix(kind.Value, "number "):
		return fmt.Errorf("%d: %s is too large", line(bytes.TrimRight(to(kind.Offset), "\r\n")), kind.Value)
	case kind != nil:
		return fmt.Errorf("1: want a JSON object, got %s", kind.Value)
	}
	return fmt.Errorf("1: %w", err)
}

// runConfig returns the fields that a run's config.json holds in addition to Fit's own:
// the options of the data, the sampler and the model, in the form that readConfig reads.
func (o *trainOptions) runConfig() map[string]any {
	config := map[string]any{
		"data": o.Data, "samples": []int(o.Samples), "device": o.Device,
		"model": o.Model, "layers": o.Layers, "hidden": o.Hidden, "dropout": o.Dropout, "classifier_dropout": o.ClassifierDropout,
		"activation": o.Activation, "layer_norm": o.LayerNorm, "residual": o.Residual,
	}
	// The method's own parts are left out, so that --config goes with another method or model.
	own := *o
	own.DropoutNoise, own.ControlLinear = "", false
	if err := own.fillOwnParts(pflag.NewFlagSet("", pflag.ContinueOnError)); err != nil || own.DropoutNoise != o.DropoutNoise {
		config["dropout_noise"] = cmp.Or(o.DropoutNoise, samplers.DropoutNoiseSampled)
	}
	if own.ControlLinear != o.ControlLinear {
		config["control_linear"] = o.ControlLinear
	}
	if o.InputDropout > 0 {
		config["input_dropout"] = o.InputDropout
	}
	if o.BiasAfter {
		config["bias_after"] = true
	}
	o.attentionOptions.addTo(config)
	o.partOptions.addTo(config)
	if o.ExactInput && (o.namesParts() || !methodNamed(o.Method).ExactInput) {
		config["exact_input"] = true
	}
	if o.ControlHalf {
		config["control_half"] = true
	}
	if !o.namesParts() {
		config["method"] = o.Method
		return config
	}
	config["importance"], config["flat"] = o.importanceName(), o.Flat
	config["draw"], config["weight"] = cmp.Or(o.Draw, "wrs"), o.weightName()
	if o.nodeWise() {
		config["method"] = o.Method
		return config
	}
	config["neighborhood"], config["population"] = o.Neighborhood, o.Population
	config["include_rows"], config["normalize_rows"] = o.IncludeRows, o.NormalizeRows
	if o.controls() {
		config["control"] = o.Control
	}
	return config
}

func flagNames(fs *pflag.FlagSet) []string {
	var names []string
	fs.VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
	return names
}

// configName returns the name that a flag has in a file of options.
func configName(flag string) string { return strings.ReplaceAll(flag, "-", "_") }

// flagName returns the flag of a name in a file of options.
func flagName(config string) string { return strings.ReplaceAll(config, "_", "-") }
