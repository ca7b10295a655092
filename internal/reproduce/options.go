package reproduce

import (
	"context"
	"fmt"
	"slices"
	"strconv"

	"github.com/gcn-layerwise/gcn/datasets"
	"github.com/gcn-layerwise/gcn/run"
)

// Options selects the work. The zero value of a field means the paper's value, if it is not
// required.
type Options struct {
	// Settings are those of all runs; nil means Paper's. The data, the method, the samples and
	// the layers follow from the tables.
	Settings *run.Settings

	// Data are the SPECs of the columns. nil means the paper's data sets: each the
	// original if it is in the cache, else its generated twin. A data set of the
	// paper is left out of the tables and figures in which the paper leaves it out.
	Data    []string
	Methods []string // nil means all of the paper's table; a method that the table lacks gets sizes of 512 a layer, or 2 a node
	Samples []int    // sample sizes, next to the output first; nil means the paper's

	Dir     string       // folder of the results, made if missing; required
	Cells   string       // folder of the cells, made if missing; "" means cells in Dir
	Compute Compute      // the missing cells to compute; required
	Program string       // version of this program, kept in new cells; may be ""
	Log     func(string) // called with a line for each cell that is computed; required

	// Barrier returns when all ranks that share Cells have called it, each when no cell is left to
	// take, or an error if a rank does not answer; nil for one process.
	Barrier func(ctx context.Context) error

	DataOptions datasets.Options // where named data sets lie

	// Open opens a data set; required.
	Open func(ctx context.Context, spec string) (*datasets.Data, error)
}

// Compute selects the missing cells that are computed. A table or figure is made from the
// cells that are there, and says how many are missing.
type Compute string

// The selections.
const (
	ComputeAll    Compute = "all"
	ComputeScores Compute = "scores" // not the times, which need a machine without other work
	ComputeTimes  Compute = "times"  // only the times
	ComputeNone   Compute = "none"
)

// of reports whether missing cells of a kind are computed.
func (c Compute) of(k kind) bool {
	return c == ComputeAll || c == ComputeScores && !k.timed() || c == ComputeTimes && k.timed()
}

// paperRuns is the number of runs behind the paper's accuracies.
const paperRuns = 5

// Paper returns the settings of the paper's runs, with its number of seeds.
func Paper(ctx context.Context) (run.Settings, error) {
	s := run.New()
	recipe, err := run.ReadRecipe(ctx, "paper")
	if err != nil {
		return s, err
	}
	return s, s.Set(append(recipe.Values, run.Value{Option: "runs", Text: strconv.Itoa(paperRuns)})...)
}

// settings returns the settings of all runs, and their options that are neither the paper's nor
// fields of a key.
func (o *Options) settings(ctx context.Context) (s run.Settings, other map[string]string, err error) {
	paper, err := Paper(ctx)
	if err != nil || o.Settings == nil {
		return paper, nil, err
	}
	s, other = *o.Settings, map[string]string{}
	for k, option := range run.Options(&s) {
		text := option.String()
		switch {
		case text == "auto":
			return s, nil, &run.OptionError{Option: option.Name, Place: s.From(option.Name).Place, Err: fmt.Errorf("--%s auto: want numbers from 1 up", option.Flag())}
		case text == run.Options(&paper)[k].String():
		case slices.Contains([]string{"data", "method", "samples", "layers", "exact_input", "device"}, option.Name):
			return s, nil, &run.OptionError{Option: option.Name, Place: s.From(option.Name).Place, Err: fmt.Errorf("%s: reproduce does not take it from a file", option.Name)}
		case !slices.Contains([]string{"batch", "hidden", "max_batches", "patience", "eval_every", "seed", "runs", "workers"}, option.Name):
			other[option.Name] = text
		}
	}
	_, err = s.Plan()
	return s, other, err
}
