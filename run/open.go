package run

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"

	"github.com/gcn-layerwise/gcn/datasets"
	"github.com/gcn-layerwise/gcn/internal/rundir"
	"github.com/gcn-layerwise/gcn/layers"
	"github.com/gcn-layerwise/gcn/train"
)

// Opened is a trained model with its data.
type Opened struct {
	Dir         string
	Plan        *Plan
	Data        *datasets.Data
	Model       *layers.GCN // with the parameters of the best validation score
	Checkpoint  train.CheckpointInfo
	Fingerprint string // of the data that it was trained on
}

// OpenOptions are the options of Open.
type OpenOptions struct {
	Data    string           // the data's SPEC; "": the run's own
	Device  string           // "" means cpu, also for a run that was trained on a GPU
	Options datasets.Options // of opening the data; the schema is the run's
	Like    *Opened          // share its data, which must be the same; nil: open them
}

// Open returns the model of a run that gcn train made, from its folder, and its data, mapped
// by the run's schema. Data that do not fit are an error, as is a model that this program
// does not know.
func Open(ctx context.Context, dir string, o OpenOptions) (*Opened, error) {
	saved, err := ReadFile(ctx, dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("%w; want the folder of a training run, as gcn train --out names it", err)
	case err != nil:
		return nil, err
	case !saved.OfRun:
		return nil, fmt.Errorf("%s: %w", saved.Path, rundir.SchemaError("not set"))
	}
	s, err := Load(nil, nil, saved, nil)
	if err != nil {
		return nil, err
	}
	s.Method = cmp.Or(s.Method, "full") // a run from Go has none, or an empty one
	s.Device = "cpu"
	r := &Opened{Dir: dir, Fingerprint: saved.Fingerprint}
	switch {
	case s.Runs > 1:
		return nil, fmt.Errorf("%s holds several runs: name one or more, such as %s", dir, filepath.Join(dir, SeedFolder(s.Seed)))
	case o.Data != "":
		s.Data = o.Data
	case !slices.ContainsFunc(saved.Values, func(v Value) bool { return v.Option == "data" }):
		return nil, fmt.Errorf("%s has no \"data\": name the data of the run by --data", saved.Path)
	}
	if r.Plan, err = s.Plan(); err != nil {
		if wrong, is := errors.AsType[*OptionError](err); is && !wrong.Saved {
			err = fmt.Errorf("%s: %v", saved.Path, err)
		}
		return nil, err
	}
	r.Plan.Device = cmp.Or(o.Device, "cpu")
	if r.Data, err = r.open(ctx, o); err != nil {
		if errors.As(err, new(datasets.SpecError)) && o.Data == "" { // the command line is right
			err = fmt.Errorf("%s: %v", saved.Path, err)
		}
		return nil, err
	}
	if r.Model, err = r.Plan.NewModel(ctx, r.Data); err == nil {
		r.Checkpoint, err = train.LoadParameters(dir, r.Model)
	}
	if err != nil && o.Like == nil {
		r.Data.Close() // it was only read
	}
	return r, err
}

// open opens the run's device and data.
func (r *Opened) open(ctx context.Context, o OpenOptions) (data *datasets.Data, err error) {
	if o.Options.Schema, err = train.ReadSchema(r.Dir); err != nil {
		return nil, err
	}
	if first := o.Like; first != nil {
		if r.Plan.Data != first.Plan.Data {
			return nil, fmt.Errorf("%s was trained on %s, %s on %s: name the data for all runs by --data", r.Dir, r.Plan.Data, first.Dir, first.Plan.Data)
		}
		r.Plan.GPU, r.Plan.Exact = first.Plan.GPU, first.Plan.Exact
		if err := o.Options.Schema.Check(first.Data); err != nil {
			return nil, fmt.Errorf("%s: %w", r.Dir, err)
		}
		return first.Data, nil
	}
	if err := r.Plan.Open(); err != nil {
		return nil, err
	}
	o.Options.Unlabelled = true
	data, err = datasets.Open(ctx, r.Plan.Data, o.Options)
	if o.Data == "" {
		err = IfMoved(err)
	}
	return data, err
}

// IfMoved completes the error of opening the data that a run's config.json names.
func IfMoved(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%w; --data names the data of a run in another place, or if the run was trained in another folder", err)
	}
	return err
}

// SeedFolder returns the name of one run's folder inside the folder of several runs.
func SeedFolder(seed uint64) string { return fmt.Sprintf("seed-%d", seed) }
