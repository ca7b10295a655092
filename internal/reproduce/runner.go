package reproduce

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/gcn-layerwise/gcn/datasets"
	"github.com/gcn-layerwise/gcn/internal/machine"
	"github.com/gcn-layerwise/gcn/samplers"
	"github.com/gcn-layerwise/gcn/train"
)

// Options selects the work. The zero value of a field means the paper's value.
type Options struct {
	Data    []string // SPECs; nil means the experiment's own choice of twins
	Methods []string // nil means the methods of the paper's table that exist here; a method that the paper lacks gets sizes of 512 a layer, or 2 a node
	Setting string   // sample sizes: "fixed", "increasing" or "both"; "" means both
	Samples []int    // sample sizes, next to the output first; nil means the paper's

	Runs   int    // seeds; 0 means 5
	Seed   uint64 // of the first; 0 means 1
	Layers int    // 0 means 2, or 3 for the regression

	Batch      int // training nodes a mini-batch; 0 means 512
	Hidden     int // 0 means 256
	MaxBatches int // limit of a training run; 0 means 1000
	Patience   int // 0 means 200
	EvalEvery  int // batches between evaluations of a training run; 0 means 10
	Batches    int // mini-batches to time; 0 means 200 for sampling, 150 for training
	Repeats    int // mini-batches of the matrix error; 0 means 200

	Dir string       // folder of cells, made if missing; required
	Log func(string) // called with a line for each cell; may be nil

	// Open opens a data set; nil means datasets.Open.
	Open func(ctx context.Context, spec string) (*datasets.Data, error)
}

// Experiment is one table or figure of the paper.
type Experiment struct {
	Name    string
	Summary string
	run     func(context.Context, *runner) (*Report, error)
}

// Experiments lists the experiments of Run.
func Experiments() []Experiment {
	return []Experiment{
		{"accuracy", "test metric of every method, several seeds (the paper's main table)", runAccuracy},
		{"sampling-time", "milliseconds to sample one layer (table of sampling times)", runSamplingTime},
		{"training-time", "milliseconds of a training step, sampling left out (tables of training times)", runTrainingTime},
		{"fastgcn-variants", "test metric of FastGCN with flat probabilities and debiased weights", runFastGCNVariants},
		{"regression", "‖(HW)_[i]‖ regressed on ‖P^[i]‖ and ‖QP^[i]‖ in trained models (tables of coefficients)", runRegression},
		{"matrix-error", "‖QPHW − QPSHW‖_F over the sample size (figure of approximation errors)", runMatrixError},
		{"convergence", "validation metric over batches and seconds (figures of convergence)", runConvergence},
		{"twins", "generated data sets beside the published figures of their originals (not in the paper)", runTwins},
	}
}

// Run runs the experiment of that name, or goes on with it: it does not compute the
// cells that o.Dir already holds. When ctx ends, Run returns ctx's error, and
// finished cells are kept.
func Run(ctx context.Context, name string, o Options) (*Report, error) {
	var names []string
	for _, e := range Experiments() {
		names = append(names, e.Name)
		if e.Name != name {
			continue
		}
		r, err := newRunner(name, o)
		if err != nil {
			return nil, err
		}
		report, err := e.run(ctx, r)
		if err != nil {
			return nil, err
		}
		report.Experiment, report.Source = name, r.paper.Source
		report.Machine, report.Settings = machine.Describe(), r.settings()
		report.Notes = append(r.notes, report.Notes...)
		return report, nil
	}
	return nil, fmt.Errorf("reproduce: unknown experiment %q; known: %s", name, strings.Join(names, ", "))
}

// runner is one call of Run.
type runner struct {
	Options
	name  string
	cells cells
	paper *Paper
	notes []string

	spec        string // of data
	data        *datasets.Data
	fingerprint string // of data
}

func newRunner(name string, o Options) (*runner, error) {
	if o.Dir == "" {
		return nil, errors.New("reproduce: no folder for the cells")
	}
	for _, d := range []struct {
		field *int
		value int
	}{{&o.Runs, paperRuns}, {&o.Batch, 512}, {&o.Hidden, 256}, {&o.MaxBatches, 1000}, {&o.Patience, 200}, {&o.Repeats, 200}} {
		if *d.field == 0 {
			*d.field = d.value
		}
	}
	if o.EvalEvery == paperEvalEvery {
		o.EvalEvery = 0 // as in cells that are older than the option
	}
	if o.Seed == 0 {
		o.Seed = 1
	}
	if o.Layers == 0 {
		o.Layers = 2
		if name == "regression" {
			o.Layers = 3
		}
	}
	switch {
	case !slices.Contains([]string{"", "both", "fixed", "increasing"}, o.Setting):
		return nil, fmt.Errorf("reproduce: setting %q: want fixed, increasing or both", o.Setting)
	case o.EvalEvery < 0:
		return nil, fmt.Errorf("reproduce: an evaluation every %d batches: want at least 1, or 0 for %d", o.EvalEvery, paperEvalEvery)
	case o.Runs < 1 || o.Layers < 1 || o.Batch < 1 || o.Repeats < 2:
		return nil, fmt.Errorf("reproduce: %d runs of %d layers on batches of %d, %d repeats: want at least 1, 1, 1 and 2", o.Runs, o.Layers, o.Batch, o.Repeats)
	}
	if len(o.Data) == 0 {
		o.Data = defaultData(name)
	}
	if o.Open == nil {
		o.Open = func(ctx context.Context, spec string) (*datasets.Data, error) {
			return datasets.Open(ctx, spec, datasets.Options{})
		}
	}
	if o.Log == nil {
		o.Log = func(string) {}
	}
	p, err := PaperNumbers()
	return &runner{Options: o, name: name, cells: cells{filepath.Join(o.Dir, "cells")}, paper: p}, err
}

// defaultData returns the twins on which an experiment takes minutes to hours, not
// days.
func defaultData(name string) []string {
	switch name {
	case "sampling-time", "training-time", "twins":
		return []string{"synth:reddit", "synth:arxiv", "synth:mag", "synth:proteins", "synth:products"}
	}
	return []string{"synth:arxiv"}
}

// settings are the options that the report shows.
func (r *runner) settings() map[string]any {
	return map[string]any{
		"data": r.Data, "runs": r.Runs, "seed": r.Seed, "layers": r.Layers, "batch": r.Batch, "hidden": r.Hidden,
		"max_batches": r.MaxBatches, "patience": r.Patience, "eval_every": cmp.Or(r.EvalEvery, paperEvalEvery), "samples": r.Samples, "setting": r.Setting,
	}
}

// open returns a data set. Only one is in memory at a time.
func (r *runner) open(ctx context.Context, spec string) (*datasets.Data, error) {
	if r.spec == spec && r.data != nil {
		return r.data, nil
	}
	r.data = nil
	data, err := r.Options.Open(ctx, spec)
	if err != nil {
		return nil, err
	}
	r.spec, r.data, r.fingerprint = spec, data, train.Fingerprint(data)
	return data, nil
}

// cell sets result to a cell's result. It loads the cell, or else calls compute,
// which sets result, and saves the cell.
func (r *runner) cell(ctx context.Context, kind string, settings, result any, words []string, compute func() error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	name, err := r.cells.name(kind, settings, words...)
	if err != nil {
		return err
	}
	there, err := r.cells.load(name, settings, result)
	if err != nil {
		return err
	}
	if there {
		return nil
	}
	if err := compute(); err != nil {
		return fmt.Errorf("%s: %w", strings.Join(words, " "), err)
	}
	return r.cells.save(name, settings, result)
}

// choose returns the rows of a table of the paper that the options select, with
// the sample sizes of the options.
func (r *runner) choose(rows []PaperRow) []PaperRow {
	var chosen []PaperRow
	known := map[string]bool{}
	for _, m := range samplers.Methods() {
		known[m.Name] = true
	}
	missing := map[string]bool{}
	for _, row := range rows {
		increasing := strings.Contains(row.Label, "(2)") && row.layerWise()
		switch {
		case len(r.Methods) > 0 && !slices.Contains(r.Methods, row.Method):
			continue
		case !known[row.Method]:
			if !missing[row.Label] {
				r.notes = append(r.notes, fmt.Sprintf("%s is left out: this program has no method %s", row.Label, row.Method))
			}
			missing[row.Label] = true
			continue
		case row.layerWise() && r.Setting == "fixed" && increasing:
			continue
		case row.layerWise() && r.Setting == "increasing" && !increasing:
			continue
		}
		row.Samples = atLayers(row.Samples, r.Layers)
		chosen = append(chosen, row)
	}
	for _, name := range r.Methods { // methods that the paper lacks
		inTable := slices.ContainsFunc(rows, func(row PaperRow) bool { return row.Method == name })
		if !inTable && known[name] {
			chosen = append(chosen, PaperRow{Label: name, Method: name, Samples: ownSizes(name, r.Layers)})
		}
	}
	if len(r.Samples) > 0 {
		chosen = r.resize(chosen)
	}
	return chosen
}

// ownSizes returns the sample sizes of a method that the paper lacks.
func ownSizes(method string, layers int) []int {
	var sizes []int
	for _, m := range samplers.Methods() {
		switch {
		case m.Name != method || m.Sizes == "":
		case strings.Contains(m.Sizes, "layer"):
			sizes = append(sizes, 512)
		default: // a node
			sizes = append(sizes, 2)
		}
	}
	for len(sizes) > 0 && len(sizes) < layers {
		sizes = append(sizes, sizes[0])
	}
	return sizes
}

// atLayers returns one size for each of n layers. It cuts sizes short, or extends
// them by the factor between the last two. Methods without sizes keep none, and
// tables of one layer keep their one size.
func atLayers(sizes []int, n int) []int {
	if len(sizes) < 2 {
		return sizes
	}
	fitted := slices.Clone(sizes[:min(n, len(sizes))])
	for len(fitted) < n {
		last := len(fitted) - 1
		fitted = append(fitted, fitted[last]*sizes[1]/sizes[0])
	}
	return fitted
}

// layerWise reports whether the row's method draws a number of nodes a layer.
func (row *PaperRow) layerWise() bool {
	return strings.HasPrefix(row.Method, "ladies") || strings.HasPrefix(row.Method, "fastgcn") || row.Method == "poisson-ladies"
}

// resize gives layer-wise rows the sizes of the options, one row for each method.
// It removes the paper's values, which are for other sizes.
func (r *runner) resize(rows []PaperRow) []PaperRow {
	var resized []PaperRow
	seen := map[string]bool{}
	for _, row := range rows {
		if row.layerWise() {
			if seen[row.Method] {
				continue
			}
			seen[row.Method] = true
			if before, rest, found := strings.Cut(row.Label, " ("); found {
				_, after, _ := strings.Cut(rest, ")")
				row.Label = before + after // "LADIES (2) w/ flat" is now "LADIES w/ flat"
			}
			row.Samples, row.Values = r.Samples, nil
		}
		resized = append(resized, row)
	}
	return resized
}

// value returns the paper's value of a row for a SPEC, or nil.
func (row *PaperRow) value(spec string) *PaperValue {
	name, _ := paperDataset(spec)
	if v, there := row.Values[name]; there {
		return &v
	}
	return nil
}
