package main

import (
	"cmp"
	"context"
	"encoding/json"
	"io"
	"math/rand/v2"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/gcn-layerwise/gcn/datasets"
	"github.com/gcn-layerwise/gcn/graph"
	"github.com/gcn-layerwise/gcn/internal/finite"
	"github.com/gcn-layerwise/gcn/internal/rundir"
	"github.com/gcn-layerwise/gcn/layers"
	"github.com/gcn-layerwise/gcn/run"
	"github.com/gcn-layerwise/gcn/samplers"
	"github.com/gcn-layerwise/gcn/study"
)

func newStudyCommand() *cobra.Command {
	return newGroup("study", "Measure how good a sampler is on a graph, before training",
		`  gcn study advise synth:arxiv
  gcn study approx-error --data synth:arxiv --methods ladies,ladies-flat-debiased
  gcn study assumption --run runs/first`,
		newStudyErrorCommand(), newStudyAssumptionCommand(), newStudyNormsCommand(), newStudyVarianceCommand(), newStudyTheoremCommand(),
		newStudyFeaturesCommand(), newStudyAdviseCommand())
}

type studyOptions struct {
	data   string
	run    string
	layer  int
	hidden int
	batch  int
	seed   uint64
	out    string
	asJSON bool
	pilots bool // the study trains a model of its own
}

// flags registers the options of a study of a graph. oneLayer adds the options of
// studies of a single layer.
func (o *studyOptions) flags(cmd *cobra.Command, oneLayer bool) {
	fs := cmd.Flags()
	fs.SortFlags = false
	o.dataFlag(cmd)
	fs.StringVar(&o.run, "run", "", "folder `DIR` of a training run, for its data and trained weights (default: random weights)")
	o.layer = 1
	if oneLayer {
		fs.IntVar(&o.layer, "layer", 1, "convolution to study, counted from the input; above 1 needs --run")
	}
	fs.IntVar(&o.hidden, "hidden", 256, "columns of the random weight, without --run")
	fs.IntVar(&o.batch, "batch", 512, "training nodes per mini-batch")
	o.resultFlags(cmd)
}

// dataFlag registers --data.
func (o *studyOptions) dataFlag(cmd *cobra.Command) {
	cmd.Flags().StringVar(&o.data, "data", run.New().Data, "data `SPEC`; see gcn datasets list")
	complete(cmd, "data", dataSpecs)
}

// resultFlags registers the seed and the options of the results.
func (o *studyOptions) resultFlags(cmd *cobra.Command) {
	fs := cmd.Flags()
	fs.Uint64Var(&o.seed, "seed", 1, "seed of all random decisions")
	fs.StringVar(&o.out, "out", "", "folder `DIR` for the result's files (default: one under studies/)")
	addJSONFlag(cmd, &o.asJSON)
}

func (o *studyOptions) check() error {
	if err := cmp.Or(atLeast("batch", o.batch, 1), within("hidden", o.hidden, 1, mostHidden), atLeast("layer", o.layer, 1)); err != nil {
		return err
	}
	if o.layer > 1 && o.run == "" && !o.pilots {
		return usagef("--layer %d needs --run: the input of a hidden layer is a trained model's", o.layer)
	}
	return nil
}

// subject is the data and the model that a study examines.
type subject struct {
	spec  string
	data  *datasets.Data
	model *layers.GCN // nil without --run

	noWeight bool // the study has no weight W
	trained  bool // the study trains a model itself
}

// open opens the data, and the model of --run.
func (o *studyOptions) open(ctx context.Context, fs *pflag.FlagSet) (*subject, error) {
	if o.run == "" {
		data, err := openData(ctx, o.data)
		return &subject{spec: o.data, data: data}, err
	}
	spec := ""
	if fs.Changed("data") {
		spec = o.data
	}
	r, err := openRun(ctx, strings.TrimSuffix(o.run, "/"), spec, "cpu", nil)
	if err != nil {
		return nil, err
	}
	return &subject{spec: r.Plan.Data, data: r.Data, model: r.Model}, nil
}

// product returns HW of the layer in the options: with the trained model, or with
// the features and a random weight.
func (o *studyOptions) product(ctx context.Context, s *subject) (*graph.Features, error) {
	p, x := s.data.Laplacian(), s.data.Features
	if s.model != nil {
		return study.LayerProduct(ctx, s.model, p, x, o.layer-1)
	}
	weight := make([]float32, x.Cols*o.hidden)
	layers.GlorotUniform(rand.New(samplers.NewSource(o.seed, 0, 0)), x.Cols, o.hidden, weight, nil)
	return study.Product(x, weight)
}

// norms returns the row norms of HW of every layer.
func (o *studyOptions) norms(ctx context.Context, s *subject) ([]study.LayerNorms, error) {
	if s.model != nil {
		return study.ModelNorms(ctx, s.model, s.data.Laplacian(), s.data.Features)
	}
	hw, err := o.product(ctx, s)
	if err != nil {
		return nil, err
	}
	return []study.LayerNorms{{Name: "layer 1", Norms: study.RowNorms(hw)}}, nil
}

// finish saves a study's table and prints it: as JSON with the fields of the
// subject, or as text.
func (o *studyOptions) finish(cmd *cobra.Command, s *subject, name string, t study.Shown) error {
	dir := o.out
	if dir == "" {
		dir = filepath.Join("studies", rundir.Slug(s.spec))
	}
	if err := study.Save(dir, name, t); err != nil {
		return err
	}
	w := cmd.OutOrStdout()
	if o.asJSON {
		return s.printJSON(w, t, map[string]any{"run_dir": o.run, "saved": filepath.Join(dir, name)})
	}
	if err := printStudy(w, t); err != nil {
		return err
	}
	files := "csv,json,svg,png"
	if t.Figure() == nil {
		files = "csv,json"
	}
	return printLine(w, "saved in %s.{%s}", filepath.Join(dir, name), files)
}

// printJSON prints a table's fields, the subject's and more as one object. Empty
// strings are left out.
func (s *subject) printJSON(w io.Writer, t study.Table, more map[string]any) error {
	text, err := json.Marshal(finite.JSON(t))
	if err != nil {
		return err
	}
	fields := map[string]any{}
	if err := json.Unmarshal(text, &fields); err != nil {
		return err
	}
	fields["dataset"] = s.spec
	more["weights"] = s.weights()
	for name, v := range more {
		if v != "" {
			fields[name] = v
		}
	}
	return printJSON(w, fields)
}

// weights returns "trained" or "glorot", for the weight W, or "" if the study has none.
func (s *subject) weights() string {
	switch {
	case s.noWeight || s.data == nil:
		return ""
	case s.model != nil || s.trained:
		return "trained"
	}
	return "glorot"
}

// printStudy prints a study's table, and the lines below it.
func printStudy(w io.Writer, t study.Shown) error {
	table := newTable(true)
	head, rows, below := t.Lines()
	for _, cells := range append([][]string{head}, rows...) {
		row := make([]any, len(cells)+1) // the last column is not aligned
		for k, cell := range append(cells, "") {
			row[k] = cell
		}
		table.row(row...)
	}
	if err := table.print(w); err != nil {
		return err
	}
	for _, line := range below {
		if err := printLine(w, "%s", line); err != nil {
			return err
		}
	}
	return nil
}
