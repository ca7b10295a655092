package main

import (
	"cmp"
	"context"
	"encoding/json"
	"io"
	"path/filepath"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/gcn-layerwise/gcn/datasets"
	"github.com/gcn-layerwise/gcn/graph"
	"github.com/gcn-layerwise/gcn/internal/finite"
	"github.com/gcn-layerwise/gcn/internal/rundir"
	"github.com/gcn-layerwise/gcn/layers"
	"github.com/gcn-layerwise/gcn/run"
	"github.com/gcn-layerwise/gcn/study"
)

// subjectOptions are the data of a study, and the options of its results.
type subjectOptions struct {
	Data string `json:"data" arg:"SPEC" help:"data SPEC; see gcn datasets list (default: of --run, else synth:demo)"`
	Run  string `json:"run" arg:"DIR" help:"folder DIR of a training run, for its data and trained weights (default: random weights)"`
	Seed uint64 `json:"seed" default:"1" help:"seed of all random decisions"`
	Out  string `json:"out" arg:"DIR" help:"folder DIR for the result's files (default: one under studies/)"`
	resultOptions
}

// studyOptions are the options of a study of a layer.
type studyOptions struct {
	subjectOptions
	Hidden int `json:"hidden" default:"256" range:"[1,65536]" help:"columns of the random weight, without --run"`
	Batch  int `json:"batch" default:"512" range:"[1," help:"training nodes per mini-batch"`
}

// subject is the data and the model that a study examines.
type subject struct {
	spec    string
	data    *datasets.Data
	model   *layers.GCN // nil without --run
	weights string      // "trained" or "glorot"; "" for a study without the weight W
	stderr  io.Writer   // for the progress
}

// open opens the data, and the model of --run.
func (o *subjectOptions) open(ctx context.Context) (*subject, error) {
	if o.Run == "" {
		spec := cmp.Or(o.Data, run.New().Data)
		data, err := openData(ctx, spec)
		return &subject{spec: spec, data: data, weights: "glorot"}, err
	}
	r, err := openRun(ctx, o.Run, run.OpenOptions{Data: o.Data})
	if err != nil {
		return nil, err
	}
	return &subject{spec: r.Plan.Data, data: r.Data, model: r.Model, weights: "trained"}, nil
}

// product returns HW of a layer, counted from 1: with the trained model, or with the features
// and a random weight.
func (o *studyOptions) product(ctx context.Context, s *subject, layer int) (*graph.Features, error) {
	if s.model != nil {
		return study.LayerProduct(ctx, s.model, s.data.Laplacian(), s.data.Features, layer-1, nil)
	}
	return run.RandomProduct(s.data, o.Hidden, o.Seed)
}

// norms returns the row norms of HW of every layer.
func (o *studyOptions) norms(ctx context.Context, s *subject) ([][]float64, error) {
	if s.model != nil {
		return study.ModelNorms(ctx, s.model, s.data.Laplacian(), s.data.Features)
	}
	hw, err := o.product(ctx, s, 1)
	if err != nil {
		return nil, err
	}
	return [][]float64{study.RowNorms(hw)}, nil
}

// newStudy returns the command of a study: it opens the subject, measures it, and saves and
// prints the table.
func newStudy(name string, o interface {
	open(ctx context.Context) (*subject, error)
	save(name string, s *subject, t study.Table) (any, error)
}, measure func(ctx context.Context, s *subject) (study.Table, error)) *cobra.Command {
	return newCommand(name, o, func(cmd *cobra.Command) (any, error) {
		s, err := o.open(cmd.Context())
		if err != nil {
			return nil, err
		}
		s.stderr = cmd.ErrOrStderr()
		t, err := measure(cmd.Context(), s)
		if err != nil {
			return nil, err
		}
		return o.save(name, s, t)
	})
}

// save saves the table of a study and returns the result: its JSON has the fields of the subject,
// too.
func (o *subjectOptions) save(name string, s *subject, t study.Table) (any, error) {
	dir := cmp.Or(o.Out, filepath.Join("studies", rundir.Slug(s.spec)))
	if err := study.Save(dir, name, t); err != nil {
		return nil, err
	}
	base, fields := filepath.Join(dir, name), map[string]any{}
	text, _ := finite.JSON(t).MarshalJSON() // as in the file
	_ = json.Unmarshal(text, &fields)
	for name, v := range map[string]string{"dataset": s.spec, "weights": s.weights, "run_dir": o.Run, "saved": base} {
		if v != "" {
			fields[name] = v
		}
	}
	return worded{fields, func(w io.Writer) {
		printStudy(w, t)
		say(w, "saved in %s.csv, .json, …", base)
	}}, nil
}

// printStudy prints a study's table, and the lines below it.
func printStudy(w io.Writer, t study.Table) {
	l := t.List()
	append(table{l.Titles}, l.Shown...).align(w, tabwriter.AlignRight)
	for _, line := range l.Below {
		say(w, "%s", line)
	}
}

func newStudyFeaturesCommand() *cobra.Command {
	var o struct {
		subjectOptions
		Hops []int `json:"hops" arg:"N,..." default:"0,1,2" range:"[0," help:"largest powers of P in the inputs; 0: the features alone"`
		Runs int   `json:"runs" default:"1" range:"[1," help:"training runs, with seeds seed, seed+1, …"`
	}
	return newStudy("features", &o, func(ctx context.Context, s *subject) (study.Table, error) {
		s.weights = ""
		gcn, _ := run.New().Plan() // the defaults fit together
		gcn.Seed = o.Seed
		gcn.ChooseLimits(s.data)
		alone := study.FeaturesAlone{
			Data:    s.data,
			Hops:    o.Hops,
			Runs:    o.Runs,
			Options: gcn.Fit(),
			Trained: s.model,
		}
		if s.model == nil {
			alone.Model = func(ctx context.Context, seed uint64) (*layers.GCN, error) {
				gcn.Seed = seed
				return gcn.NewModel(ctx, s.data)
			}
		}
		alone.Options.Progress = trainingMeter(s.stderr, "") // of one run after another
		return alone.Run(ctx)
	})
}
